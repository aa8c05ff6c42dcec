//! The setters: pure functions that bring a Node up to what was read.
//!
//! A setter is `fn(&Inputs, &mut Node) -> Result<(), SetterError>`: no I/O, no clock, no logging. [`chain`] holds
//! them in kubelet's order (`pkg/kubelet/kubelet_node_status.go`, `pkg/kubelet/nodestatus/setters.go`).

pub mod addresses;
pub mod chain;
pub mod conditions;
pub mod endpoints;
pub mod images;
pub mod machine;
pub mod ready;
pub mod runtime_info;
pub mod versions;
pub mod volumes;

use crate::config::settings::Settings;
use crate::eviction::signals::Pressures;
use crate::gather::Snapshot;
use k8s_openapi::jiff::Timestamp;

/// All that a setter may look at.
#[derive(Debug)]
pub struct Inputs<'a> {
    /// The wall time, whole seconds.
    pub now: Timestamp,
    /// The Node's name, which is also its host name.
    pub node_name: &'a str,
    /// The configuration.
    pub settings: &'a Settings,
    /// What the host said.
    pub snapshot: &'a Snapshot,
    /// What the eviction thresholds say.
    pub pressures: Pressures,
    /// Whether this process, or the stored Node, has ever seen a container runtime.
    pub runtime_seen: bool,
    /// Why the host is going down, if it is.
    pub shutdown: Option<&'a str>,
}

/// Why a setter could not do all of its work; what it could not do it left as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SetterError(pub String);

/// Where one value of the Node came from, for `-o explain` (DESIGN §1).
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// JSON pointer; list elements with a merge key are addressed by it.
    pub path: String,
    /// `capacity.memory`, `addresses.defaultRoute`, …
    pub rule: String,
    /// What it was read from.
    pub sources: Vec<String>,
    /// What was looked at and not taken, with the reason.
    pub rejected: Vec<Rejected>,
    /// Whether the value is left from an earlier round.
    pub stale: bool,
}

/// A candidate that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The candidate.
    pub value: String,
    /// Why not.
    pub reason: String,
}
