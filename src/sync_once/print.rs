//! What one round prints: the chosen output of it.

use super::{Round, SyncOnce, second};
use crate::cli::Output;
use crate::lease;
use crate::node::role::Standing;
use crate::output::{self, diff, explain};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use std::fmt::Write;

impl SyncOnce {
    /// What belongs on stdout.
    pub(super) fn print(&self, round: &Round<'_>) -> String {
        let Round {
            stored,
            standing,
            snapshot,
            computed,
            sent,
            now,
        } = *round;
        let node = serde_json::to_value(&computed.node).unwrap_or_default();
        let node_object = format!("Node/{}", self.node_name);
        let uid = computed.node.metadata.uid.as_deref();
        match self.output {
            Output::Json | Output::Yaml => {
                let mut items = vec![output::readable(node, "v1", "Node")];
                if standing == Standing::Owner {
                    items.push(self.readable_lease(stored.lease.as_ref(), uid, now));
                }
                let list = output::list(&items);
                if self.output == Output::Yaml {
                    return serde_saphyr::to_string(&list).unwrap_or_default();
                }
                serde_json::to_string_pretty(&list).unwrap_or_default() + "\n"
            }
            Output::Patch => json_lines(
                &sent
                    .iter()
                    .map(|(request, _)| request.to_line())
                    .collect::<Vec<_>>(),
            ),
            Output::Diff if !self.cluster.is_there() => {
                tracing::info!("There is no cluster to compare with");
                String::new()
            }
            Output::Diff => {
                let mut lines = diff::lines(&node_object, stored.node.as_ref(), &node);
                if standing == Standing::Owner {
                    let lease = self.readable_lease(stored.lease.as_ref(), uid, now);
                    lines.extend(diff::lines(
                        &format!("Lease/{}", self.node_name),
                        stored.lease.as_ref(),
                        &lease,
                    ));
                }
                json_lines(&lines)
            }
            Output::Explain => {
                let second = if self.live {
                    second::opinions(snapshot)
                } else {
                    Vec::new()
                };
                let lines = explain::lines(&node_object, &node, &computed.explanations, &second);
                if self.terminal {
                    explain::table(&lines)
                } else {
                    json_lines(&lines)
                }
            }
            Output::Summary => {
                let role = match standing {
                    Standing::Owner => "owner",
                    Standing::Companion => "companion",
                };
                output::summary::table(&self.node_name, role, &computed.setters, sent)
            }
        }
    }

    /// The Lease for reading. Without a UID it names no owner: the apiserver takes no owner without one.
    fn readable_lease(&self, stored: Option<&Value>, uid: Option<&str>, now: Timestamp) -> Value {
        let mut lease =
            lease::object::renewed(stored, &self.lease_settings(), uid.unwrap_or_default(), now);
        if uid.is_none()
            && let Some(metadata) = lease["metadata"].as_object_mut()
        {
            metadata.remove("ownerReferences");
        }
        output::readable(lease, "coordination.k8s.io/v1", "Lease")
    }
}

/// One JSON a line.
fn json_lines(lines: &[Value]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
        text
    })
}
