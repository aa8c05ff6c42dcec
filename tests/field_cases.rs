//! Field cases: inputs that broke other programs of this kind, each from a public bug report, through the whole path
//! from a recorded host to what is printed. A test is named after its case.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that fails fails the test"
)]

mod support;

mod field_cases {
    mod addresses;
    mod conditions;
    mod cpu;
    mod filesystems;
    mod hugepages;
    mod identity;
    mod images;
    mod leases;
    mod memory;
    mod odd_inputs;
    mod pids_and_cgroups;
    mod registration;
}

use serde_json::{Value, json};
use support::recording::Recording;

/// What the Node has of a resource.
fn capacity(node: &Value, resource: &str) -> Value {
    node["status"]["capacity"][resource].clone()
}

/// The status of the only condition of a type.
fn condition(node: &Value, kind: &str) -> Value {
    let conditions = node["status"]["conditions"]
        .as_array()
        .expect("a Node has conditions");
    let mut found = conditions
        .iter()
        .filter(|condition| condition["type"] == kind);
    let status = found.next().expect("the condition is there")["status"].clone();
    assert!(found.next().is_none(), "{kind} is there twice");
    status
}

/// A Node as the cluster may hold it: one that nodelet has kept.
fn stored_node(status: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u1"}, "spec": {}, "status": status,
    })
}

/// The four conditions of a good Node, as they were last changed and reported at these times.
fn good_conditions(changed: &str, reported: &str) -> Vec<Value> {
    [
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        (
            "DiskPressure",
            "False",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure",
        ),
        (
            "PIDPressure",
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ),
        (
            "Ready",
            "True",
            "KubeletReady",
            "kubelet is posting ready status",
        ),
    ]
    .map(|(kind, status, reason, message)| {
        json!({"type": kind, "status": status, "reason": reason, "message": message,
               "lastTransitionTime": changed, "lastHeartbeatTime": reported})
    })
    .to_vec()
}

/// Replays with one eviction threshold after the other; beside each stands the status of the condition that it gives.
#[track_caller]
fn assert_pressures(mut recording: Recording, kind: &str, signal: &str, rows: &[(&str, &str)]) {
    for (threshold, status) in rows {
        recording = recording.setting("evictionHard", json!({signal: threshold}));
        assert_eq!(condition(&recording.node(), kind), *status, "{threshold}");
    }
}
