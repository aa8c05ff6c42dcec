use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    ContainerImage, DaemonEndpoint, NodeAddress, NodeDaemonEndpoints, NodeFeatures,
    NodeRuntimeHandler, NodeSystemInfo,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

const NIL: Option<&NodeStatus> = None;
const NOW: &str = "2015-01-01T12:00:00Z";
const A_MINUTE_LATER: &str = "2015-01-01T12:01:00Z";

fn time(text: &str) -> Time {
    Time(text.parse().unwrap())
}

fn condition(type_: &str) -> NodeCondition {
    NodeCondition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        last_heartbeat_time: Some(time(NOW)),
        last_transition_time: Some(time(NOW)),
        ..NodeCondition::default()
    }
}

fn ready() -> NodeCondition {
    condition("Ready")
}

fn memory_pressure() -> NodeCondition {
    condition("MemoryPressure")
}

fn with_conditions<const N: usize>(conditions: [NodeCondition; N]) -> NodeStatus {
    NodeStatus {
        conditions: Some(conditions.into()),
        ..NodeStatus::default()
    }
}

fn with_capacity<const N: usize>(capacity: [(&str, &str); N]) -> NodeStatus {
    let quantities = capacity.map(|(name, text)| (name.to_owned(), ApiQuantity(text.to_owned())));
    NodeStatus {
        capacity: Some(BTreeMap::from(quantities)),
        ..NodeStatus::default()
    }
}

/// Asks in both directions, and makes sure that the inputs stay as they were.
fn changed(old: &NodeStatus, new: &NodeStatus) -> bool {
    let before = (old.clone(), new.clone());
    let answer = node_status_has_changed(old, new);
    assert_eq!(node_status_has_changed(new, old), answer);
    assert_eq!((old, new), (&before.0, &before.1));
    answer
}

#[test]
fn test_node_status_has_changed_not_with_nil_status() {
    assert!(!node_status_has_changed(NIL, NIL));
}

#[test]
fn test_node_status_has_changed_not_with_default_status() {
    assert!(!changed(&NodeStatus::default(), &NodeStatus::default()));
}

#[test]
fn test_node_status_has_changed_with_nil_and_default_status() {
    let empty = NodeStatus::default();
    assert!(node_status_has_changed(NIL, &empty));
    assert!(node_status_has_changed(&empty, NIL));
}

#[test]
fn test_node_status_has_changed_with_nil_and_status() {
    assert!(node_status_has_changed(
        NIL,
        &with_conditions([ready(), memory_pressure()])
    ));
}

#[test]
fn test_node_status_has_changed_not_with_empty_conditions() {
    assert!(!changed(&with_conditions([]), &with_conditions([])));
    assert!(!changed(&NodeStatus::default(), &with_conditions([])));
}

#[test]
fn test_node_status_has_changed_not_when_equal() {
    let status = with_conditions([ready(), memory_pressure()]);
    assert!(!changed(&status, &status.clone()));
}

#[test]
fn test_node_status_has_changed_not_with_heartbeat_time() {
    let later = NodeCondition {
        last_heartbeat_time: Some(time(A_MINUTE_LATER)),
        ..ready()
    };
    let old = with_conditions([ready(), memory_pressure()]);
    assert!(!changed(&old, &with_conditions([later, memory_pressure()])));
}

#[test]
fn test_node_status_has_changed_not_with_order_of_conditions() {
    let later = NodeCondition {
        last_heartbeat_time: Some(time(A_MINUTE_LATER)),
        ..ready()
    };
    let old = with_conditions([ready(), memory_pressure()]);
    assert!(!changed(&old, &with_conditions([memory_pressure(), later])));
}

#[test]
fn test_node_status_has_changed_with_condition_status() {
    let not_ready = NodeCondition {
        status: "False".to_owned(),
        ..ready()
    };
    let old = with_conditions([ready(), memory_pressure()]);
    assert!(changed(
        &old,
        &with_conditions([not_ready, memory_pressure()])
    ));
}

#[test]
fn test_node_status_has_changed_with_transition_time() {
    let moved = NodeCondition {
        last_heartbeat_time: Some(time(A_MINUTE_LATER)),
        last_transition_time: Some(time(A_MINUTE_LATER)),
        ..ready()
    };
    let old = with_conditions([ready(), memory_pressure()]);
    assert!(changed(&old, &with_conditions([moved, memory_pressure()])));
}

#[test]
fn test_node_status_has_changed_with_number_of_conditions() {
    let old = with_conditions([ready()]);
    assert!(changed(
        &old,
        &with_conditions([ready(), memory_pressure()])
    ));
}

#[test]
fn test_node_status_has_changed_with_phase() {
    let in_phase = |phase: &str| NodeStatus {
        phase: Some(phase.to_owned()),
        ..with_conditions([ready()])
    };
    assert!(changed(&in_phase("Pending"), &in_phase("Running")));
    assert!(!changed(&in_phase(""), &with_conditions([ready()])));
}

#[test]
fn test_node_status_has_changed_not_with_quantity_format() {
    let old = with_capacity([("memory", "1024Mi"), ("cpu", "4")]);
    assert!(!changed(
        &old,
        &with_capacity([("memory", "1Gi"), ("cpu", "4000m")])
    ));
    assert!(changed(
        &old,
        &with_capacity([("memory", "1Gi"), ("cpu", "4001m")])
    ));
    assert!(changed(&old, &with_capacity([("memory", "1Gi")])));
    let mut allocatable = NodeStatus::default();
    allocatable.allocatable.clone_from(&old.capacity);
    assert!(changed(&old, &allocatable));
    assert!(!changed(&with_capacity([]), &NodeStatus::default()));
}

#[test]
fn test_node_status_has_changed_with_unparsable_quantity_text() {
    let old = with_capacity([("memory", "lots")]);
    assert!(!changed(&old, &with_capacity([("memory", "lots")])));
    assert!(changed(&old, &with_capacity([("memory", "more")])));
    assert!(changed(&old, &with_capacity([("memory", "0")])));
    assert!(!changed(
        &with_capacity([("memory", "")]),
        &with_capacity([("memory", "0")])
    ));
}

#[test]
fn test_node_status_has_changed_with_order_of_images() {
    let image = |name: &str| ContainerImage {
        names: Some(vec![name.to_owned()]),
        size_bytes: Some(1),
    };
    let with_images = |images| NodeStatus {
        images: Some(images),
        ..NodeStatus::default()
    };
    let old = with_images(vec![image("a"), image("b")]);
    assert!(changed(&old, &with_images(vec![image("b"), image("a")])));
    assert!(changed(&old, &with_images(vec![image("a")])));
    assert!(!changed(&with_images(vec![]), &NodeStatus::default()));
    let nameless = ContainerImage {
        names: Some(vec![]),
        size_bytes: Some(0),
    };
    let bare = with_images(vec![ContainerImage::default()]);
    assert!(!changed(&with_images(vec![nameless]), &bare));
}

#[test]
fn test_node_status_has_changed_with_features() {
    let with_features = |supplemental_groups_policy| NodeStatus {
        features: Some(NodeFeatures {
            supplemental_groups_policy,
        }),
        ..NodeStatus::default()
    };
    assert!(changed(&NodeStatus::default(), &with_features(Some(false))));
    assert!(changed(&NodeStatus::default(), &with_features(None)));
    assert!(changed(&with_features(None), &with_features(Some(false))));
    assert!(!changed(
        &with_features(Some(true)),
        &with_features(Some(true))
    ));
}

#[test]
fn test_node_status_has_changed_with_message() {
    let says = |message: &str| {
        with_conditions([NodeCondition {
            message: Some(message.to_owned()),
            ..ready()
        }])
    };
    assert!(changed(&says("one"), &says("another")));
    assert!(!changed(&says(""), &with_conditions([ready()])));
}

#[test]
fn test_node_status_has_changed_with_reason() {
    let because = |reason: &str| {
        with_conditions([NodeCondition {
            reason: Some(reason.to_owned()),
            ..ready()
        }])
    };
    assert!(changed(
        &because("KubeletReady"),
        &because("KubeletNotReady")
    ));
}

#[test]
fn test_node_status_has_changed_with_order_of_addresses() {
    let address = |address: &str| NodeAddress {
        type_: "InternalIP".to_owned(),
        address: address.to_owned(),
    };
    let with_addresses = |addresses| NodeStatus {
        addresses: Some(addresses),
        ..NodeStatus::default()
    };
    let old = with_addresses(vec![address("192.0.2.1"), address("2001:db8::1")]);
    let new = with_addresses(vec![address("2001:db8::1"), address("192.0.2.1")]);
    assert!(changed(&old, &new));
}

#[test]
fn test_node_status_has_changed_with_order_of_a_type_that_is_there_twice() {
    let first = NodeCondition {
        message: Some("first".to_owned()),
        ..ready()
    };
    let second = NodeCondition {
        message: Some("second".to_owned()),
        ..ready()
    };
    let old = with_conditions([first.clone(), memory_pressure(), second.clone()]);
    let same = with_conditions([memory_pressure(), first.clone(), second.clone()]);
    assert!(!changed(&old, &same));
    assert!(changed(
        &old,
        &with_conditions([second, memory_pressure(), first])
    ));
}

#[test]
fn test_node_status_has_changed_not_with_time_zone() {
    let zoned = NodeCondition {
        last_transition_time: Some(time("2015-01-01T14:00:00+02:00")),
        ..ready()
    };
    assert!(!changed(
        &with_conditions([ready()]),
        &with_conditions([zoned])
    ));
}

#[test]
fn test_node_status_has_changed_with_volumes_runtime_and_endpoints() {
    let empty = NodeStatus::default();
    let volumes = NodeStatus {
        volumes_in_use: Some(vec!["v".to_owned()]),
        ..NodeStatus::default()
    };
    assert!(changed(&empty, &volumes));
    let handlers = NodeStatus {
        runtime_handlers: Some(vec![NodeRuntimeHandler::default()]),
        ..NodeStatus::default()
    };
    assert!(changed(&empty, &handlers));
    let endpoint = |port| NodeStatus {
        daemon_endpoints: Some(NodeDaemonEndpoints {
            kubelet_endpoint: Some(DaemonEndpoint { port }),
        }),
        ..NodeStatus::default()
    };
    assert!(!changed(&empty, &endpoint(0)));
    assert!(changed(&empty, &endpoint(10250)));
    let info = |kubelet_version: &str| NodeStatus {
        node_info: Some(NodeSystemInfo {
            kubelet_version: kubelet_version.to_owned(),
            ..NodeSystemInfo::default()
        }),
        ..NodeStatus::default()
    };
    assert!(!changed(&empty, &info("")));
    assert!(changed(&empty, &info("v1.36.0")));
}
