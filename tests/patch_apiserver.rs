//! The strategic merge patch of a status does on a real apiserver what it is made for, on random statuses. The seed is
//! printed; give a failing one back in `NODELET_TEST_SEED`.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails the test")]

mod support;

use fastrand::Rng;
use nodelet::node::patch::node_status_patch;
use serde_json::{Value, json};
use support::client::Client;
use support::controlplane::ControlPlane;
use support::nodes::{STRATEGIC_MERGE, bare, condition, node_path, status_path};
use support::oracle::Oracle;
use support::statuses::{changed_status, node, seeded, set, some_of};

/// Pairs of each of the four threads.
const PAIRS: usize = 32;

/// Makes a random Node one that the apiserver takes as it is, and that has what each Node of an owner has.
fn made_valid(random: &mut Rng, node: &mut Value) {
    for (field, key) in [
        ("labels", "kubernetes.io/os"),
        ("annotations", "nodelet/instance"),
    ] {
        let fields = &mut node["metadata"][field];
        fields[key] = json!("x");
        fields.as_object_mut().unwrap().remove("a~b");
    }
    let status = &mut node["status"];
    // Native resources but the CPU come in whole numbers.
    for field in ["capacity", "allocatable"] {
        status[field]["cpu"] = json!("1800m");
        for (resource, quantity) in status[field].as_object_mut().unwrap() {
            if resource != "cpu" && quantity == "1800m" {
                *quantity = json!("1800");
            }
        }
    }
    let has_ready = condition(&json!({"status": status}), "Ready").is_object();
    if !has_ready {
        let ready = json!({"type": "Ready", "status": "True", "reason": "R", "message": "m",
            "lastHeartbeatTime": "2026-11-30T07:00:00Z", "lastTransitionTime": "2026-11-30T07:00:00Z"});
        match status["conditions"].as_array_mut() {
            Some(conditions) => conditions.push(ready),
            None => status["conditions"] = json!([ready]),
        }
    }
    // No address twice, and those of one type together: the server moves them so when it patches a list.
    if let Some(addresses) = status["addresses"].as_array_mut() {
        let types: Vec<Value> = addresses
            .iter()
            .map(|address| address["type"].clone())
            .collect();
        addresses.sort_by_key(|address| types.iter().position(|type_| *type_ == address["type"]));
        let mut seen = Vec::new();
        addresses.retain(|address| {
            let new = !seen.contains(address);
            seen.push(address.clone());
            new
        });
    }
    // Sorted names of a certain form.
    let mut features = some_of(random, &["FeatureA", "FeatureB", "FeatureC"]);
    features.sort();
    set(
        status,
        "declaredFeatures",
        random.bool().then_some(json!(features)),
    );
}

/// The Node as an administrator would create it: with the status, labels and annotations of `node`.
fn to_create(name: &str, node: &Value) -> Value {
    let mut created = bare(name);
    for field in ["labels", "annotations"] {
        set(
            &mut created["metadata"],
            field,
            node["metadata"].get(field).cloned(),
        );
    }
    created["status"] = node["status"].clone();
    created
}

/// What others add between nodelet's look at the Node and its patch.
fn add_foreign(admin: &Client, name: &str) -> Value {
    let foreign = json!({
        "metadata": {"labels": {"example.com/theirs": "x"}, "annotations": {"example.com/theirs": "y"}},
        "status": {
            "conditions": [{"type": "Theirs", "status": "True", "reason": "R", "message": "m",
                "lastHeartbeatTime": "2026-11-30T07:00:00Z", "lastTransitionTime": "2026-11-30T07:00:00Z"}],
            "capacity": {"example.com/theirs": "1"},
            "allocatable": {"example.com/theirs": "1"},
        },
    });
    admin
        .patch(&status_path(name), STRATEGIC_MERGE, &foreign)
        .ok();
    foreign["status"]["conditions"][0].clone()
}

/// Takes the foreign things out of `node`. Panics when one of them is missing or changed.
fn take_foreign(node: &mut Value, theirs: &Value) {
    assert_eq!(condition(node, "Theirs"), theirs);
    let conditions = node["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|condition| condition["type"] != "Theirs");
    for (pointer, value) in [
        ("/metadata/labels", "x"),
        ("/metadata/annotations", "y"),
        ("/status/capacity", "1"),
        ("/status/allocatable", "1"),
    ] {
        let fields = node.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
        assert_eq!(
            fields.remove("example.com/theirs"),
            Some(json!(value)),
            "{pointer}"
        );
    }
}

/// Without lists and maps that are empty, which the server stores as absent or not by their history.
fn pruned(mut node: Value) -> Value {
    for part in ["metadata", "status"] {
        let fields = node[part].as_object_mut().unwrap();
        fields.retain(|_, value| *value != json!([]) && *value != json!({}));
    }
    node
}

/// Patches one Node and creates another one as it should become; the server's own defaults are in both.
fn a_patched_node_is_as_one_that_was_created(thread: &str) {
    let mut random = seeded();
    let admin = ControlPlane::shared().admin();
    let mut different = 0;
    for round in 0..PAIRS {
        let mut old = node(&mut random);
        made_valid(&mut random, &mut old);
        let mut new = changed_status(&mut random, &old);
        made_valid(&mut random, &mut new);
        let (patched_name, created_name) = (
            format!("patched-{thread}-{round}"),
            format!("created-{thread}-{round}"),
        );
        let stored = admin
            .post("/api/v1/nodes", &to_create(&patched_name, &old))
            .ok();
        let created = admin
            .post("/api/v1/nodes", &to_create(&created_name, &new))
            .ok();
        let mut wanted = stored.clone();
        wanted["status"] = new["status"].clone();
        for field in ["labels", "annotations"] {
            set(
                &mut wanted["metadata"],
                field,
                new["metadata"].get(field).cloned(),
            );
        }
        let Some(patch) = node_status_patch(&stored, &wanted) else {
            assert_eq!(stored["status"], created["status"], "{stored}\n{wanted}");
            continue;
        };
        different += 1;
        let theirs = random.bool().then(|| add_foreign(&admin, &patched_name));
        let answer = admin.patch(&status_path(&patched_name), STRATEGIC_MERGE, &patch);
        assert_eq!(
            answer.status, 200,
            "{answer:?}\nstored {stored}\npatch {patch}"
        );
        let mut patched = answer.body;
        if let Some(theirs) = &theirs {
            take_foreign(&mut patched, theirs);
        }
        let (patched, created) = (pruned(patched), pruned(created));
        assert_eq!(
            patched["status"], created["status"],
            "stored {stored}\npatch {patch}"
        );
        for field in ["labels", "annotations"] {
            assert_eq!(
                patched["metadata"].get(field),
                created["metadata"].get(field),
                "patch {patch}"
            );
        }
        assert_eq!(patched["spec"], stored["spec"]);
        for name in [patched_name, created_name] {
            admin.delete(&node_path(&name)).ok();
        }
    }
    assert!(different > PAIRS / 2, "{different} of {PAIRS} pairs differ");
}

#[test]
fn a_patched_node_is_as_one_that_was_created_1() {
    a_patched_node_is_as_one_that_was_created("one");
}

#[test]
fn a_patched_node_is_as_one_that_was_created_2() {
    a_patched_node_is_as_one_that_was_created("two");
}

#[test]
fn a_patched_node_is_as_one_that_was_created_3() {
    a_patched_node_is_as_one_that_was_created("three");
}

#[test]
fn a_patched_node_is_as_one_that_was_created_4() {
    a_patched_node_is_as_one_that_was_created("four");
}

/// The conditions, sorted by type: in what order those of one type stand is the server's affair.
fn by_type(node: &Value) -> Vec<Value> {
    let mut conditions = node["status"]["conditions"].as_array().unwrap().clone();
    conditions.sort_by_key(|condition| condition["type"].as_str().unwrap().to_owned());
    conditions
}

/// C92, on a real server: first that kubelet's patch is refused, then that ours is taken.
#[test]
fn c92_a_type_stored_twice_is_patched_on_a_real_apiserver() {
    let cluster = ControlPlane::shared();
    let admin = cluster.admin();
    let condition = |type_: &str, heartbeat: &str| {
        json!({"type": type_, "status": "True", "reason": "R", "message": "m",
            "lastHeartbeatTime": heartbeat, "lastTransitionTime": "2026-11-30T06:00:00Z"})
    };
    let list = |heartbeat: &str, own: &str| {
        let types = ["CpuPressure", "CpuUnderload", "CpuPressure", "CpuUnderload"];
        let mut list: Vec<Value> = types
            .iter()
            .map(|type_| condition(type_, heartbeat))
            .collect();
        list.extend(["MemoryPressure", "Ready"].map(|type_| condition(type_, own)));
        json!(list)
    };
    let (before, after) = ("2026-11-30T07:00:00Z", "2026-11-30T07:05:00Z");
    let status = status_path("c92");
    let stored = admin
        .post(
            "/api/v1/nodes",
            &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "c92"},
                "status": {"conditions": list(before, before)}}),
        )
        .ok();
    assert_eq!(stored["status"]["conditions"], list(before, before));

    let mut all_changed = stored.clone();
    all_changed["status"]["conditions"] = list(after, after);
    let question = json!({"op": "diff", "old": stored, "new": all_changed});
    let kubelets = Oracle::shared().ask(&question)["value"].clone();
    let refused = admin.patch(&status, STRATEGIC_MERGE, &kubelets);
    assert!(refused.status >= 400, "{refused:?}");

    let mut wanted = stored.clone();
    wanted["status"]["conditions"] = list(before, after);
    let patch = node_status_patch(&stored, &wanted).unwrap();
    let patched = admin.patch(&status, STRATEGIC_MERGE, &patch).ok();
    assert_eq!(by_type(&patched), by_type(&wanted));

    let mut collapsed = patched.clone();
    collapsed["status"]["conditions"] = json!([
        condition("CpuPressure", after),
        condition("CpuUnderload", after),
        condition("MemoryPressure", after),
        condition("Ready", after),
    ]);
    let patch = node_status_patch(&patched, &collapsed).unwrap();
    let patched = admin.patch(&status, STRATEGIC_MERGE, &patch).ok();
    let types: Vec<&Value> = patched["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|condition| &condition["type"])
        .collect();
    assert_eq!(types.len(), 4, "{types:?}");
    assert_eq!(patched["status"]["conditions"].as_array().unwrap().len(), 4);
}

/// A Node that was created anew has another UID, and the server says 422 to a patch that was made for the old one.
#[test]
fn a_patch_does_not_land_on_a_node_that_was_created_anew() {
    let admin = ControlPlane::shared().admin();
    let first = admin.post("/api/v1/nodes", &bare("anew")).ok();
    let mut wanted = first.clone();
    wanted["status"]["phase"] = json!("Running");
    let patch = node_status_patch(&first, &wanted).unwrap();
    admin.delete(&node_path("anew")).ok();
    let second = admin.post("/api/v1/nodes", &bare("anew")).ok();
    let refused = admin.patch(&status_path("anew"), STRATEGIC_MERGE, &patch);
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(admin.get(&node_path("anew")).ok(), second);
}
