//! What others write on the Node stays, what is nodelet's comes back, and what changes on the host is reported.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails the test")]

mod support;

use std::fs;

use serde_json::{Map, Value, json};
use support::controlplane::ControlPlane;
use support::daemon::Daemon;
use support::nodelet::Running;
use support::nodes::{
    MERGE, OWN_CONDITIONS, STRATEGIC_MERGE, await_ready, await_renewals, await_reports, condition,
    is_ready, node_path, reports, status_path, stored,
};
use support::scratch::Scratch;

/// What is on the Node that nodelet does not own, `round` being what its owners change.
fn foreign(round: usize) -> Value {
    let time = format!("2026-11-30T10:00:{round:02}Z");
    json!({
        "metadata": {
            "labels": {"example.com/pool": format!("p{round}"), "feature.node.kubernetes.io/x": ""},
            "annotations": {"example.com/note": format!("{{\"round\": {round}}}"), "other/x": "\u{fc}ber <&>"},
        },
        "spec": {"taints": [{"key": "example.com/round", "value": format!("{round}"), "effect": "NoSchedule"}]},
        "status": {
            "conditions": [
                {"type": "KernelDeadlock", "status": if round.is_multiple_of(2) { "True" } else { "False" },
                 "reason": "R", "message": format!("round {round}"),
                 "lastHeartbeatTime": time, "lastTransitionTime": time},
                {"type": "NetworkUnavailable", "status": "False", "reason": "RouteCreated", "message": "m",
                 "lastHeartbeatTime": "2026-11-30T09:00:00Z", "lastTransitionTime": "2026-11-30T09:00:00Z"},
            ],
            "capacity": {"example.com/gpu": format!("{round}"), "example.com/hugepages-1Gi": "1"},
            "allocatable": {"example.com/gpu": format!("{round}"), "example.com/hugepages-1Gi": "1"},
            "volumesInUse": ["kubernetes.io/csi/example^v1"],
            "volumesAttached": [{"name": "kubernetes.io/csi/example^v1", "devicePath": format!("/dev/{round}")}],
            "declaredFeatures": ["ExampleFeature"],
        },
    })
}

/// Writes it as its owners do: metadata and spec on the Node, the rest on its status.
fn write_foreign(cluster: &ControlPlane, name: &str, round: usize) {
    let admin = cluster.admin();
    let mut foreign = foreign(round);
    let status = json!({"status": foreign.as_object_mut().unwrap().remove("status").unwrap()});
    admin
        .patch(&node_path(name), STRATEGIC_MERGE, &foreign)
        .ok();
    admin
        .patch(&status_path(name), STRATEGIC_MERGE, &status)
        .ok();
}

/// The part of `node` that `foreign` speaks of.
fn same_part(node: &Value, foreign: &Value) -> Value {
    match foreign {
        Value::Object(fields) => {
            let part = fields
                .iter()
                .map(|(name, value)| (name.clone(), same_part(&node[name], value)));
            Value::Object(part.collect::<Map<_, _>>())
        }
        Value::Array(list) if list.iter().all(|element| element["type"].is_string()) => list
            .iter()
            .map(|element| {
                let wanted = |other: &&Value| other["type"] == element["type"];
                let stored = node.as_array().unwrap().iter().find(wanted);
                stored.cloned().unwrap_or_default()
            })
            .collect(),
        _ => node.clone(),
    }
}

#[test]
fn c86_what_others_wrote_survives_ten_rounds() {
    const NAME: &str = "sur-foreign";
    let cluster = ControlPlane::shared();
    let mut nodelet = Daemon::owner(cluster, NAME).spawn();
    await_ready(cluster, NAME, &mut nodelet);
    let before = reports(cluster, NAME).len();
    for round in 0..10 {
        write_foreign(cluster, NAME, round);
        await_reports(cluster, NAME, &mut nodelet, 1);
        let node = stored(cluster, NAME).unwrap();
        assert_eq!(
            same_part(&node, &foreign(round)),
            foreign(round),
            "round {round}"
        );
        assert!(is_ready(&node));
    }
    for report in &reports(cluster, NAME)[before..] {
        let sent = report.request_object.as_ref().unwrap();
        let fields: Vec<&String> = sent.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["metadata", "status"], "{sent}");
        assert_eq!(
            sent["metadata"].as_object().unwrap().len(),
            1,
            "more than the UID: {sent}"
        );
        for condition in sent["status"]["conditions"].as_array().unwrap() {
            assert!(
                OWN_CONDITIONS.contains(&condition["type"].as_str().unwrap()),
                "{sent}"
            );
        }
        for field in [
            "capacity",
            "allocatable",
            "volumesInUse",
            "volumesAttached",
            "declaredFeatures",
        ] {
            assert_eq!(sent["status"].get(field), None, "{sent}");
        }
    }
}

#[test]
fn c92_types_that_are_stored_twice_do_not_stop_the_writes() {
    const NAME: &str = "sur-twice";
    let cluster = ControlPlane::shared();
    let of_type = |type_: &str, message: &str| {
        json!({"type": type_, "status": "False", "reason": "R", "message": message,
            "lastHeartbeatTime": "2026-11-30T06:00:00Z", "lastTransitionTime": "2026-11-30T06:00:00Z"})
    };
    let twice = json!([
        of_type("CpuPressure", "1"),
        of_type("CpuUnderload", "2"),
        of_type("CpuPressure", "3"),
        of_type("CpuUnderload", "4"),
        of_type("MemoryPressure", "5"),
        of_type("Ready", "6"),
        of_type("Ready", "7"),
    ]);
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME}, "status": {"conditions": twice}});
    let created = cluster.admin().post("/api/v1/nodes", &node).ok();
    assert_eq!(created["status"]["conditions"], twice);

    let mut nodelet = Daemon::owner(cluster, NAME).spawn();
    await_ready(cluster, NAME, &mut nodelet);
    await_reports(cluster, NAME, &mut nodelet, 3);
    let node = stored(cluster, NAME).unwrap();
    let conditions = node["status"]["conditions"].as_array().unwrap();
    let of_types = |types: &[&str]| -> Vec<&Value> {
        let wanted = |condition: &&Value| types.contains(&condition["type"].as_str().unwrap());
        conditions.iter().filter(wanted).collect()
    };
    let theirs = of_types(&["CpuPressure", "CpuUnderload"]);
    // The server puts those of one type beside each other.
    assert_eq!(theirs, [&twice[0], &twice[2], &twice[1], &twice[3]]);
    assert_eq!(
        of_types(&["Ready"]).len(),
        1,
        "the own one that was there twice: {conditions:?}"
    );
    assert_eq!(conditions.len(), 4 + OWN_CONDITIONS.len());
    let sent = cluster
        .audit()
        .node(NAME)
        .verb("patch")
        .resource("nodes/status");
    for entry in sent.entries() {
        assert_eq!(entry.response_status.code, 200, "{entry:?}");
    }
}

/// A period in which nothing is reported unless something has changed.
const NEVER: &str = "24h";

/// Keeps the Node `name`, with the reports of the start behind it: from here on each report is one of a change.
fn settled(cluster: &ControlPlane, name: &str, daemon: Daemon) -> Running {
    let mut nodelet = daemon.set("nodeStatusReportFrequency", NEVER).spawn();
    await_ready(cluster, name, &mut nodelet);
    // Renewals come as often as rounds.
    await_renewals(cluster, name, &mut nodelet, 3);
    nodelet
}

#[test]
fn labels_of_the_operating_system_and_architecture_are_healed() {
    const NAME: &str = "sur-labels";
    let cluster = ControlPlane::shared();
    let mut nodelet = settled(cluster, NAME, Daemon::owner(cluster, NAME));
    let right = stored(cluster, NAME).unwrap()["metadata"]["labels"].clone();
    let wrong = json!({"metadata": {"labels": {
        "kubernetes.io/os": "windows", "kubernetes.io/arch": null, "kubernetes.io/hostname": "theirs",
    }}});
    cluster.admin().patch(&node_path(NAME), MERGE, &wrong).ok();
    let labels = nodelet.eventually("both labels are right again", || {
        let labels = stored(cluster, NAME).unwrap()["metadata"]["labels"].clone();
        let healed =
            ["kubernetes.io/os", "kubernetes.io/arch"].map(|key| labels[key] == right[key]);
        (healed == [true, true]).then_some(labels)
    });
    assert_eq!(
        labels["kubernetes.io/hostname"], "theirs",
        "kubelet heals it only at registration"
    );
}

/// Rows S7e and S7f.
#[test]
fn s7_a_pod_cidr_makes_one_report() {
    const NAME: &str = "sur-cidr";
    let cluster = ControlPlane::shared();
    let mut nodelet = settled(cluster, NAME, Daemon::owner(cluster, NAME));
    let heartbeat = |node: &Value| condition(node, "Ready")["lastHeartbeatTime"].clone();
    let before = stored(cluster, NAME).unwrap();
    let count = reports(cluster, NAME).len();
    let cidrs =
        json!({"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}});
    cluster.admin().patch(&node_path(NAME), MERGE, &cidrs).ok();
    nodelet.eventually("a report", || {
        (reports(cluster, NAME).len() > count).then_some(())
    });
    assert_ne!(
        heartbeat(&stored(cluster, NAME).unwrap()),
        heartbeat(&before)
    );

    // Rounds come as often as renewals.
    await_renewals(cluster, NAME, &mut nodelet, 3);
    assert_eq!(reports(cluster, NAME).len(), count + 1);
}

/// C17 too: what changes on the host is seen without a restart and reported without waiting for the period.
#[test]
fn c17_huge_pages_and_cpus_that_come_and_go_are_reported() {
    const NAME: &str = "sur-host";
    let cluster = ControlPlane::shared();
    let scratch = Scratch::with_host("huge-pages");
    let huge_pages = scratch.path().join("sys/kernel/mm/hugepages");
    let count_of = |size: &str| huge_pages.join(size).join("nr_hugepages");
    fs::write(count_of("hugepages-2048kB"), "100\n").unwrap();
    fs::write(count_of("hugepages-1048576kB"), "2\n").unwrap();

    let daemon = Daemon::owner(cluster, NAME).root(scratch.path());
    let mut nodelet = settled(cluster, NAME, daemon);
    let quantities = |key: &str| {
        let status = stored(cluster, NAME).unwrap()["status"].clone();
        ["capacity", "allocatable"].map(|field| status[field].get(key).cloned())
    };
    let both = |value: &str| [Some(json!(value)), Some(json!(value))];
    assert_eq!(quantities("cpu")[0], Some(json!("16")));
    assert_eq!(quantities("hugepages-2Mi"), both("200Mi"));
    assert_eq!(quantities("hugepages-1Gi"), both("2Gi"));
    let memory = quantities("memory");

    fs::write(count_of("hugepages-2048kB"), "150\n").unwrap();
    nodelet.eventually("more huge pages", || {
        (quantities("hugepages-2Mi") == both("300Mi")).then_some(())
    });
    fs::remove_dir_all(huge_pages.join("hugepages-1048576kB")).unwrap();
    nodelet.eventually("a size of huge pages is gone", || {
        (quantities("hugepages-1Gi") == [None, None]).then_some(())
    });
    assert_eq!(quantities("hugepages-2Mi"), both("300Mi"));
    assert_eq!(quantities("memory")[0], memory[0]);

    fs::write(
        scratch.path().join("sys/devices/system/cpu/online"),
        "0-5,7-14\n",
    )
    .unwrap();
    nodelet.eventually("fewer CPUs", || {
        (quantities("cpu")[0] == Some(json!("14"))).then_some(())
    });
}
