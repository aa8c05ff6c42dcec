//! The pressure conditions, and what all conditions of a Node have in common
//! (`pkg/kubelet/nodestatus/setters.go`, `MemoryPressureCondition` and its two siblings).
//!
//! Conditions of other types belong to others and are never touched.

use super::{Explanation, Inputs, SetterError, status_of};
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

/// The type of the condition that says whether pods can run.
pub const READY: &str = "Ready";
/// The type of the condition that says whether memory runs short.
pub const MEMORY_PRESSURE: &str = "MemoryPressure";
/// The type of the condition that says whether a filesystem runs full.
pub const DISK_PRESSURE: &str = "DiskPressure";
/// The type of the condition that says whether PIDs run short.
pub const PID_PRESSURE: &str = "PIDPressure";

/// It holds.
pub const TRUE: &str = "True";
/// It does not hold.
pub const FALSE: &str = "False";

/// Reason and message of a condition in one of its statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    /// `reason`.
    pub reason: &'static str,
    /// `message`.
    pub message: &'static str,
}

/// A pressure condition and its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pressure {
    /// `type`.
    pub kind: &'static str,
    /// Under pressure.
    pub raised: Text,
    /// Not under pressure.
    pub clear: Text,
}

/// `MemoryPressure`.
pub const MEMORY: Pressure = Pressure {
    kind: MEMORY_PRESSURE,
    raised: Text {
        reason: "KubeletHasInsufficientMemory",
        message: "kubelet has insufficient memory available",
    },
    clear: Text {
        reason: "KubeletHasSufficientMemory",
        message: "kubelet has sufficient memory available",
    },
};

/// `DiskPressure`.
pub const DISK: Pressure = Pressure {
    kind: DISK_PRESSURE,
    raised: Text {
        reason: "KubeletHasDiskPressure",
        message: "kubelet has disk pressure",
    },
    clear: Text {
        reason: "KubeletHasNoDiskPressure",
        message: "kubelet has no disk pressure",
    },
};

/// `PIDPressure`.
pub const PID: Pressure = Pressure {
    kind: PID_PRESSURE,
    raised: Text {
        reason: "KubeletHasInsufficientPID",
        message: "kubelet has insufficient PID available",
    },
    clear: Text {
        reason: "KubeletHasSufficientPID",
        message: "kubelet has sufficient PID available",
    },
};

/// Sets `MemoryPressure`.
pub fn set_memory(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    set_pressure(node, &MEMORY, inputs.pressures.memory, inputs.now);
    Ok(())
}

/// Sets `DiskPressure`.
pub fn set_disk(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    set_pressure(node, &DISK, inputs.pressures.disk, inputs.now);
    Ok(())
}

/// Sets `PIDPressure`.
pub fn set_pid(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    set_pressure(node, &PID, inputs.pressures.pid, inputs.now);
    Ok(())
}

/// Reason and message stay while the status stays, also those that another version wrote.
fn set_pressure(node: &mut Node, pressure: &Pressure, raised: bool, now: Timestamp) {
    let (status, text) = if raised {
        (TRUE, pressure.raised)
    } else {
        (FALSE, pressure.clear)
    };
    update(node, pressure.kind, now, |condition| {
        if condition.status != status {
            condition.reason = Some(text.reason.to_owned());
            condition.message = Some(text.message.to_owned());
        }
        status
    });
}

/// Changes the condition `kind` in its place, or appends it. `change` gets it as it is and says its status.
///
/// The heartbeat is now; the transition moves only with the status, and never backwards, whatever the clock does.
/// A type that stands in the list more than once is left there once, with what the last one said.
pub(super) fn update(
    node: &mut Node,
    kind: &'static str,
    now: Timestamp,
    change: impl FnOnce(&mut NodeCondition) -> &'static str,
) {
    let conditions = status_of(node).conditions.get_or_insert_default();
    let stored = conditions
        .iter()
        .rfind(|condition| condition.type_ == kind)
        .cloned();
    let mut condition = stored.unwrap_or_else(|| NodeCondition {
        type_: kind.to_owned(),
        status: "Unknown".to_owned(),
        ..NodeCondition::default()
    });
    let status = change(&mut condition);
    if condition.status != status {
        status.clone_into(&mut condition.status);
        let before = condition.last_transition_time.map(|time| time.0);
        condition.last_transition_time = Some(Time(before.map_or(now, |before| before.max(now))));
    }
    condition.last_heartbeat_time = Some(Time(now));
    match conditions
        .iter()
        .position(|condition| condition.type_ == kind)
    {
        Some(place) => {
            let mut index = 0;
            conditions.retain(|other| {
                let keep = other.type_ != kind || index == place;
                index += 1;
                keep
            });
            conditions[place] = condition;
        }
        None => conditions.push(condition),
    }
}

/// Where `MemoryPressure` comes from.
pub fn explain_memory(inputs: &Inputs<'_>, _node: &Node) -> Vec<Explanation> {
    let snapshot = inputs.snapshot;
    vec![
        explanation(&MEMORY)
            .with_reading(&snapshot.memory)
            .with_reading(&snapshot.root_memory),
    ]
}

/// Where `DiskPressure` comes from.
pub fn explain_disk(inputs: &Inputs<'_>, _node: &Node) -> Vec<Explanation> {
    let snapshot = inputs.snapshot;
    let root = explanation(&DISK).with_reading(&snapshot.root_filesystem);
    vec![match &snapshot.image_filesystem {
        Some(reading) => root.with_reading(reading),
        None => root,
    }]
}

/// Where `PIDPressure` comes from.
pub fn explain_pid(inputs: &Inputs<'_>, _node: &Node) -> Vec<Explanation> {
    vec![explanation(&PID).with_reading(&inputs.snapshot.pids)]
}

fn explanation(pressure: &Pressure) -> Explanation {
    let kind = pressure.kind;
    Explanation::ruled(
        format!("/status/conditions/{kind}/status"),
        format!("conditions.{kind}"),
    )
    .with_setting("evictionHard")
    .with_setting("evictionSoft")
}

#[cfg(test)]
mod tests {
    use super::{DISK, FALSE, MEMORY, PID, Pressure, TRUE, set_disk, set_memory, set_pid};
    use crate::status::testing::{World, at};
    use crate::status::{Inputs, SetterError};
    use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeStatus};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;

    type Set = fn(&Inputs<'_>, &mut Node) -> Result<(), SetterError>;

    const SETTERS: [(&Pressure, Set); 3] =
        [(&MEMORY, set_memory), (&DISK, set_disk), (&PID, set_pid)];

    fn condition(kind: &str, status: &str, since: Timestamp) -> NodeCondition {
        NodeCondition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: Some("OldReason".to_owned()),
            message: Some("old message".to_owned()),
            last_heartbeat_time: Some(Time(since)),
            last_transition_time: Some(Time(since)),
        }
    }

    fn node(conditions: Vec<NodeCondition>) -> Node {
        let status = NodeStatus {
            conditions: Some(conditions),
            ..NodeStatus::default()
        };
        Node {
            status: Some(status),
            ..Node::default()
        }
    }

    fn conditions(node: Node) -> Vec<NodeCondition> {
        node.status.unwrap().conditions.unwrap()
    }

    fn under(raised: bool) -> World {
        let mut world = World::new();
        world.pressures.memory = raised;
        world.pressures.disk = raised;
        world.pressures.pid = raised;
        world
    }

    #[test]
    fn test_pressure_conditions() {
        for (pressure, set) in SETTERS {
            for (existing, raised, status, transition) in [
                (None, false, FALSE, 0),
                (None, true, TRUE, 0),
                (Some(FALSE), true, TRUE, 0),
                (Some(TRUE), false, FALSE, 0),
                (Some(TRUE), true, TRUE, -1),
                (Some(FALSE), false, FALSE, -1),
                (Some("Unknown"), false, FALSE, 0),
            ] {
                let row = format!("{} {existing:?} {raised}", pressure.kind);
                let existing = existing.map(|status| condition(pressure.kind, status, at(-1)));
                let mut node = node(existing.into_iter().collect());
                set(&under(raised).inputs(), &mut node).unwrap();
                let conditions = conditions(node);
                assert_eq!(conditions.len(), 1, "{row}");
                let found = &conditions[0];
                let text = if raised {
                    pressure.raised
                } else {
                    pressure.clear
                };
                let (reason, message) = if transition == 0 {
                    (text.reason, text.message)
                } else {
                    ("OldReason", "old message")
                };
                assert_eq!(
                    (found.type_.as_str(), found.status.as_str()),
                    (pressure.kind, status),
                    "{row}"
                );
                assert_eq!(found.reason.as_deref(), Some(reason), "{row}");
                assert_eq!(found.message.as_deref(), Some(message), "{row}");
                assert_eq!(
                    found.last_transition_time,
                    Some(Time(at(transition))),
                    "{row}"
                );
                assert_eq!(found.last_heartbeat_time, Some(Time(at(0))), "{row}");
            }
        }
    }

    #[test]
    fn c88_the_transition_time_of_the_stored_condition_stays() {
        let year_ago = at(-31_536_000);
        let mut node = node(vec![condition("MemoryPressure", FALSE, year_ago)]);
        set_memory(&under(false).inputs(), &mut node).unwrap();
        assert_eq!(
            conditions(node)[0].last_transition_time,
            Some(Time(year_ago))
        );
    }

    #[test]
    fn c92_own_duplicates_collapse_and_foreign_ones_stay() {
        let before = vec![
            condition("CpuPressure", TRUE, at(-9)),
            condition("MemoryPressure", TRUE, at(-8)),
            condition("CpuPressure", FALSE, at(-7)),
            condition("MemoryPressure", FALSE, at(-6)),
            condition("Ready", TRUE, at(-5)),
        ];
        let mut node = node(before.clone());
        set_memory(&under(false).inputs(), &mut node).unwrap();
        let after = conditions(node);
        let kinds: Vec<_> = after
            .iter()
            .map(|condition| condition.type_.as_str())
            .collect();
        assert_eq!(
            kinds,
            ["CpuPressure", "MemoryPressure", "CpuPressure", "Ready"]
        );
        assert_eq!(
            after[1].last_transition_time,
            Some(Time(at(-6))),
            "the last one counts"
        );
        assert_eq!(
            [&after[0], &after[2], &after[3]],
            [&before[0], &before[2], &before[4]]
        );
    }

    #[test]
    fn c98_a_clock_set_back_does_not_take_the_transition_back() {
        let mut node = node(vec![condition("DiskPressure", FALSE, at(3600))]);
        set_disk(&under(true).inputs(), &mut node).unwrap();
        let found = &conditions(node)[0];
        assert_eq!(found.status, TRUE);
        assert_eq!(found.last_transition_time, Some(Time(at(3600))));
    }
}
