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

#[cfg(test)]
mod testing;

use crate::config::settings::Settings;
use crate::eviction::signals::Pressures;
use crate::gather::{Reading, Snapshot};
use k8s_openapi::api::core::v1::{Node, NodeStatus, NodeSystemInfo};
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

/// What a setter could not come by, while it does all the rest.
#[derive(Debug, Default)]
struct Missing(Vec<String>);

impl Missing {
    /// The value of `reading`; where there is none, that is noted under the name `what`.
    fn take<'a, T>(&mut self, what: &str, reading: &'a Reading<T>) -> Option<&'a T> {
        match reading.required() {
            Ok(value) => Some(value),
            Err(reason) => {
                self.note(format!("{what}: {reason}"));
                None
            }
        }
    }

    fn note(&mut self, problem: String) {
        self.0.push(problem);
    }

    fn into_result(self) -> Result<(), SetterError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(SetterError(self.0.join("; ")))
        }
    }
}

/// The status of `node`; one without any is treated as empty.
fn status_of(node: &mut Node) -> &mut NodeStatus {
    node.status.get_or_insert_default()
}

/// `nodeInfo` of `node`, treated in the same way.
fn node_info_of(node: &mut Node) -> &mut NodeSystemInfo {
    status_of(node).node_info.get_or_insert_default()
}

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

impl Explanation {
    /// A value that `rule` gave, out of nothing that was read.
    fn ruled(path: impl Into<String>, rule: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            rule: rule.into(),
            sources: Vec::new(),
            rejected: Vec::new(),
            stale: false,
        }
    }

    /// A value that `rule` made of `reading`; none where there was no reading, for then nothing was set.
    fn read<T>(
        path: impl Into<String>,
        rule: impl Into<String>,
        reading: &Reading<T>,
    ) -> Option<Self> {
        reading
            .get()
            .map(|_| Self::ruled(path, rule).with_reading(reading))
    }

    /// The same, with `reading` among what it was made of.
    fn with_reading<T>(mut self, reading: &Reading<T>) -> Self {
        self.sources.extend(reading.log.sources.iter().cloned());
        let failures = reading.log.failures.iter();
        self.rejected
            .extend(failures.map(|(value, reason)| Rejected {
                value: value.clone(),
                reason: reason.clone(),
            }));
        self.stale |= reading.stale;
        self
    }

    /// The same, with a key of the configuration among what it was made of.
    fn with_setting(mut self, key: &str) -> Self {
        self.sources.push(format!("config:{key}"));
        self
    }
}

/// A candidate that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The candidate.
    pub value: String,
    /// Why not.
    pub reason: String,
}
