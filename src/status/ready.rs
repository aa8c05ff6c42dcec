//! Ready: whether pods can run on the node (`pkg/kubelet/nodestatus/setters.go`, `ReadyCondition`;
//! `pkg/kubelet/runtime.go`, `pkg/kubelet/kubelet.go`).
//!
//! A machine without a container runtime has nothing to say about one, so its part is left out until a runtime has
//! been seen. How long a runtime may be silent before it counts as down is decided where its readings are kept: a
//! status that is still there counts, one that was dropped is "down".

use super::conditions::{FALSE, READY, TRUE, Text, update};
use super::machine::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS};
use super::{Explanation, Inputs, SetterError};
use crate::cri::{RuntimeCondition, RuntimeStatus};
use k8s_openapi::api::core::v1::Node;

/// Nothing is wrong.
pub const IS_READY: Text = Text {
    reason: "KubeletReady",
    message: "kubelet is posting ready status",
};
/// Something is wrong; the message says what.
pub const NOT_READY_REASON: &str = "KubeletNotReady";
/// The message of a node that goes down (`pkg/kubelet/nodeshutdown`).
pub const SHUTTING_DOWN: &str = "node is shutting down";

const RUNTIME_DOWN: &str = "container runtime is down";
const RUNTIME_NEVER_CHECKED: &str = "container runtime status check may not have completed yet";
const NETWORK_UNKNOWN: &str = "network state unknown";

/// Without these in its capacity a Node is of no use to the scheduler; storage counts only where it is isolated.
const REQUIRED_CAPACITY: [&str; 4] = [CPU, MEMORY, PODS, EPHEMERAL_STORAGE];

/// Sets Ready. It looks at the capacity, so it comes after the machine's own setter. Reason and message are those of
/// this round, whether the status changed or not.
pub fn set(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    let mut problems = runtime_problems(inputs);
    problems.extend(inputs.shutdown.map(str::to_owned));
    problems.extend(missing_capacity(inputs, node));
    let (status, reason, message) = match aggregate(problems) {
        Some(message) => (FALSE, NOT_READY_REASON, message),
        None => (TRUE, IS_READY.reason, IS_READY.message.to_owned()),
    };
    update(node, READY, inputs.now, |condition| {
        condition.reason = Some(reason.to_owned());
        condition.message = Some(message);
        status
    });
    Ok(())
}

/// What is wrong with the runtime and its network.
fn runtime_problems(inputs: &Inputs<'_>) -> Vec<String> {
    let Some(runtime) = &inputs.snapshot.runtime else {
        return if inputs.runtime_seen {
            vec![RUNTIME_DOWN.to_owned()]
        } else {
            Vec::new()
        };
    };
    match runtime.status.get() {
        Some(status) => [
            ("RuntimeReady", "runtime"),
            ("NetworkReady", "runtime network"),
        ]
        .into_iter()
        .filter_map(|(kind, what)| not_ready(status, kind, what))
        .collect(),
        None if inputs.runtime_seen => vec![RUNTIME_DOWN.to_owned()],
        None => vec![RUNTIME_NEVER_CHECKED.to_owned(), NETWORK_UNKNOWN.to_owned()],
    }
}

fn not_ready(status: &RuntimeStatus, kind: &str, what: &str) -> Option<String> {
    let condition = status
        .conditions
        .iter()
        .find(|condition| condition.kind == kind);
    if condition.is_some_and(|condition| condition.status) {
        return None;
    }
    let said = condition.map_or_else(|| "<nil>".to_owned(), text_of);
    Some(format!("container {what} not ready: {said}"))
}

/// `NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized`.
fn text_of(condition: &RuntimeCondition) -> String {
    let RuntimeCondition {
        kind,
        status,
        reason,
        message,
    } = condition;
    format!("{kind}={status} reason:{reason} message:{message}")
}

fn missing_capacity(inputs: &Inputs<'_>, node: &Node) -> Option<String> {
    let capacity = node
        .status
        .as_ref()
        .and_then(|status| status.capacity.as_ref());
    let isolation = inputs.settings.local_storage_capacity_isolation;
    let wanted = |name: &str| name != EPHEMERAL_STORAGE || isolation;
    let there = |name: &str| capacity.is_some_and(|capacity| capacity.contains_key(name));
    let missing = REQUIRED_CAPACITY
        .into_iter()
        .filter(|name| wanted(name) && !there(name));
    let missing: Vec<_> = missing.collect();
    let names = missing.join(", ");
    (!missing.is_empty()).then(|| format!("missing node capacity for resources: {names}"))
}

/// All messages in one, each once: a single one bare, several in brackets (`apimachinery/pkg/util/errors`).
fn aggregate(messages: Vec<String>) -> Option<String> {
    let mut distinct: Vec<String> = Vec::new();
    for message in messages {
        if !distinct.contains(&message) {
            distinct.push(message);
        }
    }
    match distinct.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

/// Where Ready comes from.
pub fn explain(inputs: &Inputs<'_>, _node: &Node) -> Vec<Explanation> {
    let explanation = Explanation::ruled("/status/conditions/Ready/status", "conditions.Ready");
    vec![match &inputs.snapshot.runtime {
        Some(runtime) => explanation.with_reading(&runtime.status),
        None => explanation,
    }]
}

#[cfg(test)]
mod tests;
