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

/// Without these in its capacity a Node is of no use to the scheduler.
const REQUIRED_CAPACITY: [&str; 4] = [CPU, MEMORY, PODS, EPHEMERAL_STORAGE];

/// Sets Ready. It looks at the capacity, so it comes after the machine's own setter. Reason and message are those of
/// this round, whether the status changed or not.
pub fn set(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    let mut problems = runtime_problems(inputs);
    problems.extend(inputs.shutdown.map(str::to_owned));
    problems.extend(missing_capacity(node));
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

fn missing_capacity(node: &Node) -> Option<String> {
    let capacity = node
        .status
        .as_ref()
        .and_then(|status| status.capacity.as_ref());
    let there = |name: &str| capacity.is_some_and(|capacity| capacity.contains_key(name));
    let missing: Vec<_> = REQUIRED_CAPACITY
        .into_iter()
        .filter(|name| !there(name))
        .collect();
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
mod tests {
    use super::{RuntimeCondition, SHUTTING_DOWN, aggregate, set, text_of};
    use crate::cri::RuntimeStatus;
    use crate::gather::Reading;
    use crate::status::testing::{World, at};
    use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeStatus};
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    const FINE: &str = "kubelet is posting ready status";

    fn node(capacity: &[&str]) -> Node {
        let capacity = capacity
            .iter()
            .map(|name| ((*name).to_owned(), Quantity("1".to_owned())));
        let status = NodeStatus {
            capacity: Some(capacity.collect()),
            ..NodeStatus::default()
        };
        Node {
            status: Some(status),
            ..Node::default()
        }
    }

    fn whole() -> Node {
        node(&["cpu", "memory", "pods", "ephemeral-storage"])
    }

    fn with_ready(status: &str) -> Node {
        let mut node = whole();
        node.status.as_mut().unwrap().conditions = Some(vec![NodeCondition {
            type_: "Ready".to_owned(),
            status: status.to_owned(),
            message: Some(String::new()),
            last_heartbeat_time: Some(Time(at(-1))),
            last_transition_time: Some(Time(at(-1))),
            ..NodeCondition::default()
        }]);
        node
    }

    fn condition(kind: &str, status: bool, reason: &str, message: &str) -> RuntimeCondition {
        RuntimeCondition {
            kind: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }

    fn with_runtime(conditions: &[RuntimeCondition]) -> World {
        let mut world = World::new();
        world.runtime().status = Reading::of(RuntimeStatus {
            conditions: conditions.to_vec(),
            ..RuntimeStatus::default()
        });
        world
    }

    fn check(
        row: &str,
        world: &World,
        mut node: Node,
        status: &str,
        message: &str,
        transition: i64,
    ) {
        set(&world.inputs(), &mut node).unwrap();
        let conditions = node.status.unwrap().conditions.unwrap();
        assert_eq!(conditions.len(), 1, "{row}");
        let reason = if status == "True" {
            "KubeletReady"
        } else {
            "KubeletNotReady"
        };
        assert_eq!(
            conditions[0],
            NodeCondition {
                type_: "Ready".to_owned(),
                status: status.to_owned(),
                reason: Some(reason.to_owned()),
                message: Some(message.to_owned()),
                last_transition_time: Some(Time(at(transition))),
                last_heartbeat_time: Some(Time(at(0))),
            },
            "{row}"
        );
    }

    #[test]
    fn test_ready_condition() {
        let fine = World::new();
        let mut going_down = World::new();
        going_down.shutdown = Some(SHUTTING_DOWN);
        let mut down = World::new();
        down.runtime_seen = true;
        let broken = with_runtime(&[
            condition("RuntimeReady", false, "a", "b"),
            condition("NetworkReady", false, "c", "d"),
        ]);
        let none = "missing node capacity for resources: cpu, memory, pods, ephemeral-storage";
        check("Y1", &fine, whole(), "True", FINE, 0);
        check(
            "Y4",
            &going_down,
            whole(),
            "False",
            "node is shutting down",
            0,
        );
        check(
            "Y5",
            &broken,
            whole(),
            "False",
            "[container runtime not ready: RuntimeReady=false reason:a message:b, \
             container runtime network not ready: NetworkReady=false reason:c message:d]",
            0,
        );
        check("Y6", &fine, Node::default(), "False", none, 0);
        check("Y8", &fine, with_ready("False"), "True", FINE, 0);
        check(
            "Y9",
            &down,
            with_ready("True"),
            "False",
            "container runtime is down",
            0,
        );
        check("Y10", &fine, with_ready("True"), "True", FINE, -1);
        check(
            "Y11",
            &down,
            with_ready("False"),
            "False",
            "container runtime is down",
            -1,
        );
        check(
            "dead kubelet",
            &fine,
            with_ready("Unknown"),
            "True",
            FINE,
            0,
        );
    }

    #[test]
    fn a_runtime_counts_once_it_was_seen() {
        let ready = [
            condition("RuntimeReady", true, "", ""),
            condition("NetworkReady", true, "", ""),
        ];
        let silent = |seen: bool| {
            let mut world = World::new();
            world.runtime_seen = seen;
            world.runtime().status = Reading::failed("deadline");
            world
        };
        let unchecked =
            "[container runtime status check may not have completed yet, network state unknown]";
        let nothing =
            "[container runtime not ready: <nil>, container runtime network not ready: <nil>]";
        check(
            "none was ever seen",
            &World::new(),
            whole(),
            "True",
            FINE,
            0,
        );
        check("ready", &with_runtime(&ready), whole(), "True", FINE, 0);
        check(
            "never answered",
            &silent(false),
            whole(),
            "False",
            unchecked,
            0,
        );
        check(
            "no longer answers",
            &silent(true),
            whole(),
            "False",
            "container runtime is down",
            0,
        );
        check(
            "says nothing",
            &with_runtime(&[]),
            whole(),
            "False",
            nothing,
            0,
        );
    }

    #[test]
    fn missing_capacity_is_named_in_order() {
        let message = "missing node capacity for resources: memory, ephemeral-storage";
        check(
            "two",
            &World::new(),
            node(&["pods", "cpu"]),
            "False",
            message,
            0,
        );
    }

    #[test]
    fn test_runtime_condition_string() {
        for (condition, expected) in [
            (
                condition("RuntimeReady", true, "ready", "runtime is ready"),
                "RuntimeReady=true reason:ready message:runtime is ready",
            ),
            (
                condition("NetworkReady", false, "not ready", "network is not ready"),
                "NetworkReady=false reason:not ready message:network is not ready",
            ),
        ] {
            assert_eq!(text_of(&condition), expected);
        }
    }

    #[test]
    fn messages_are_aggregated_as_go_does() {
        for (messages, expected) in [
            (&[][..], None),
            (&["a"], Some("a")),
            (&["a", "a"], Some("a")),
            (&["a", "b", "a"], Some("[a, b]")),
        ] {
            let messages = messages
                .iter()
                .map(|message| (*message).to_owned())
                .collect();
            assert_eq!(aggregate(messages).as_deref(), expected);
        }
    }
}
