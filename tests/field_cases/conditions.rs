//! Conditions and the patch of the status.

use crate::support::recording::{Recording, disk_of};
use crate::{condition, good_conditions, stored_node};
use serde_json::{Value, json};

const LONG_AGO: &str = "2024-01-01T00:00:00Z";
const LAST_ROUND: &str = "2026-11-30T06:59:50Z";
const NOW: &str = "2026-11-30T07:00:00Z";

/// A host whose disk has `percent` available, under a threshold of 10 %.
fn with_disk(percent: u64) -> Recording {
    Recording::new()
        .entry("statfs", "/", disk_of(100_000, percent * 1000))
        .setting("evictionHard", json!({"nodefs.available": "10%"}))
}

/// A Node whose disk has been under pressure since `changed`.
fn under_disk_pressure(changed: &str) -> Value {
    let mut conditions = good_conditions(LONG_AGO, LAST_ROUND);
    conditions[1] = json!({
        "type": "DiskPressure", "status": "True", "reason": "KubeletHasDiskPressure",
        "message": "kubelet has disk pressure", "lastTransitionTime": changed, "lastHeartbeatTime": LAST_ROUND,
    });
    stored_node(&json!({"conditions": conditions}))
}

fn types(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list of conditions");
    list.iter()
        .map(|condition| condition["type"].as_str().expect("a type"))
        .collect()
}

#[test]
fn c86_the_patch_holds_only_own_types() {
    let mut conditions = vec![json!({
        "type": "KernelDeadlock", "status": "False", "reason": "KernelHasNoDeadlock",
        "lastHeartbeatTime": LAST_ROUND, "lastTransitionTime": LONG_AGO,
    })];
    conditions.extend(good_conditions(LONG_AGO, LAST_ROUND));
    let recording = Recording::new().stored(&stored_node(&json!({"conditions": conditions})));
    let patch = recording.patch();
    let own = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];
    assert_eq!(types(&patch["status"]["conditions"]), own);
    assert_eq!(recording.node()["status"]["conditions"][0], conditions[0]);
}

#[test]
fn c88_a_restart_moves_only_the_heartbeat() {
    let stored = stored_node(&json!({"conditions": good_conditions(LONG_AGO, LAST_ROUND)}));
    let recording = Recording::new().stored(&stored);
    let expected = good_conditions(LONG_AGO, NOW);
    assert_eq!(recording.node()["status"]["conditions"], json!(expected));
    let patch = recording.patch();
    for change in patch["status"]["conditions"]
        .as_array()
        .expect("conditions")
    {
        assert_eq!(
            change,
            &json!({"type": change["type"], "lastHeartbeatTime": NOW})
        );
    }
}

/// One round of it at a time: what the Node says stands for what was seen before.
#[test]
fn c89_a_pressure_is_true_at_once_and_false_after_the_whole_period() {
    let good = stored_node(&json!({"conditions": good_conditions(LONG_AGO, LAST_ROUND)}));
    for (row, percent, stored, expected) in [
        ("0 s", 11, good.clone(), "False"),
        ("10 s", 9, good, "True"),
        (
            "20 s",
            11,
            under_disk_pressure("2026-11-30T06:59:50Z"),
            "True",
        ),
        (
            "309 s",
            11,
            under_disk_pressure("2026-11-30T06:55:01Z"),
            "True",
        ),
        (
            "310 s",
            11,
            under_disk_pressure("2026-11-30T06:55:00Z"),
            "False",
        ),
        (
            "still crossed",
            9,
            under_disk_pressure("2026-11-30T06:50:00Z"),
            "True",
        ),
    ] {
        let node = with_disk(percent).stored(&stored).node();
        assert_eq!(condition(&node, "DiskPressure"), expected, "{row}");
    }
    let node = with_disk(9)
        .stored(&under_disk_pressure("2026-11-30T06:50:00Z"))
        .node();
    assert_eq!(
        node["status"]["conditions"][1]["lastTransitionTime"],
        "2026-11-30T06:50:00Z"
    );
}

#[test]
fn c91_conditions_that_the_controller_set_to_unknown() {
    let conditions: Vec<Value> = good_conditions(LONG_AGO, LONG_AGO)
        .into_iter()
        .map(|mut condition| {
            condition["status"] = json!("Unknown");
            condition["reason"] = json!("NodeStatusUnknown");
            condition["message"] = json!("Kubelet stopped posting node status.");
            condition
        })
        .collect();
    let node = Recording::new()
        .stored(&stored_node(&json!({"conditions": conditions})))
        .node();
    assert_eq!(
        node["status"]["conditions"],
        json!(good_conditions(NOW, NOW))
    );
}

#[test]
fn c92_a_type_that_is_there_twice() {
    let foreign =
        |kind: &str, reason: &str| json!({"type": kind, "status": "False", "reason": reason});
    let good = good_conditions(LONG_AGO, LAST_ROUND);
    let stored = vec![
        foreign("CpuPressure", "First"),
        foreign("CpuUnderload", "First"),
        foreign("CpuPressure", "Second"),
        foreign("CpuUnderload", "Second"),
        good[0].clone(),
        good[3].clone(),
    ];
    let recording = Recording::new().stored(&stored_node(&json!({"conditions": stored})));
    let patch = recording.patch();
    assert_eq!(patch["status"]["$setElementOrder/conditions"], Value::Null);
    let mut sent = types(&patch["status"]["conditions"]);
    sent.sort_unstable();
    assert_eq!(
        sent,
        ["DiskPressure", "MemoryPressure", "PIDPressure", "Ready"]
    );
    assert_eq!(
        recording.node()["status"]["conditions"]
            .as_array()
            .expect("conditions")[..4],
        stored[..4]
    );

    // An own type that is there twice is there once afterwards.
    let mut twice = good.clone();
    twice.push(good[3].clone());
    let recording = Recording::new().stored(&stored_node(&json!({"conditions": twice})));
    assert_eq!(condition(&recording.node(), "Ready"), "True");
    assert_eq!(
        recording.patch()["status"]["$setElementOrder/conditions"],
        Value::Null
    );

    // Without duplicates the order is sent.
    let recording = Recording::new().stored(&stored_node(&json!({"conditions": good})));
    let order = &recording.patch()["status"]["$setElementOrder/conditions"];
    assert_eq!(
        types(order),
        ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    );
}

#[test]
fn ready_is_the_last_of_the_own_conditions() {
    let node = Recording::new().node();
    let all = types(&node["status"]["conditions"]);
    assert_eq!(
        all,
        ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    );
}
