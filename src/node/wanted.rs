//! The Node as it ought to be, computed from the Node as it is and from what was read
//! (`pkg/kubelet/kubelet_node_status.go`, `updateNode`). Pure.

use super::changed::node_status_has_changed;
use super::patch::node_status_patch;
use super::register::{heal_labels, reconcile, set_instance};
use crate::status::chain::{self, Setter};
use crate::status::{Inputs, SetterError};
use k8s_openapi::api::core::v1::Node;
use serde_json::Value;

/// What one setter did.
pub type Outcome = (&'static str, Result<(), SetterError>);

/// What a Node ought to be.
#[derive(Debug)]
pub struct Wanted {
    /// The whole Node.
    pub node: Node,
    /// Whether it says something new, so that it is reported before the period is over.
    pub changed: bool,
}

/// What is brought in order beside the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// What registration does once to a Node that exists already.
    Registration,
    /// What every round does.
    Round,
}

/// What `original` ought to be. `each` hears of every setter as it ends.
pub fn wanted(
    original: &Node,
    inputs: &Inputs<'_>,
    scope: Scope,
    setters: &[&Setter],
    mut each: impl FnMut(Outcome),
) -> Wanted {
    let mut node = original.clone();
    let mut changed = match scope {
        Scope::Registration => reconcile(inputs, &mut node),
        Scope::Round => false,
    };
    changed |= heal_labels(inputs, &mut node);
    // Like any annotation it is no reason to report; it goes with the next one.
    set_instance(inputs, &mut node);
    for setter in setters {
        chain::run(inputs, &mut node, &[setter])
            .into_iter()
            .for_each(&mut each);
    }
    changed |= node_status_has_changed(original.status.as_ref(), node.status.as_ref());
    Wanted { node, changed }
}

/// The pod CIDRs of a Node as kubelet keeps them: joined by commas, empty where there are none.
pub fn pod_cidrs(node: &Node) -> String {
    node.spec
        .as_ref()
        .and_then(|spec| spec.pod_cidrs.as_ref())
        .map(|cidrs| cidrs.join(","))
        .unwrap_or_default()
}

/// Whether the Node's container runtime was seen by whoever wrote its status.
pub fn names_runtime(node: &Node) -> bool {
    node.status
        .as_ref()
        .and_then(|status| status.node_info.as_ref())
        .is_some_and(|info| !info.container_runtime_version.is_empty())
}

/// The patch that makes `original` what `wanted` is; `None` where nothing differs.
///
/// # Errors
/// Never for Nodes that came from an apiserver; a Node that is no JSON is said, not sent.
pub fn patch(original: &Node, wanted: &Node) -> serde_json::Result<Option<Value>> {
    Ok(node_status_patch(
        &serde_json::to_value(original)?,
        &serde_json::to_value(wanted)?,
    ))
}
