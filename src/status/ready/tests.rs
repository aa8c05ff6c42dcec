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

fn check(row: &str, world: &World, mut node: Node, status: &str, message: &str, transition: i64) {
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
    let mut shared = World::new();
    shared.settings.local_storage_capacity_isolation = false;
    check(
        "Y7",
        &shared,
        node(&["cpu", "memory", "pods"]),
        "True",
        FINE,
        0,
    );
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
