//! Strategic merge patches of Nodes, held against the real Go package and a real apiserver on random Nodes. The seed
//! is printed; give a failing one back in `NODELET_TEST_SEED`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a helper that fails fails the test, and the seed is for the reader of a failure"
)]

mod support;

use fastrand::Rng;
use nodelet::node::patch::{NODE, apply, node_status_patch, two_way_merge_diff};
use serde_json::{Map, Value, json};
use support::controlplane::ControlPlane;
use support::oracle::Oracle;

const ROUNDS: usize = 1500;
const STRATEGIC_MERGE: &str = "application/strategic-merge-patch+json";

const CONDITIONS: [&str; 9] = [
    "MemoryPressure",
    "DiskPressure",
    "PIDPressure",
    "Ready",
    "NetworkUnavailable",
    "KernelDeadlock",
    "nodelet/ClockUnsynchronized",
    "Ready2",
    "aLowerCase",
];

fn seeded() -> Rng {
    let seed = match std::env::var("NODELET_TEST_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => fastrand::u64(..),
    };
    println!("NODELET_TEST_SEED={seed}");
    Rng::with_seed(seed)
}

fn one_of(random: &mut Rng, texts: &[&str]) -> String {
    texts[random.usize(..texts.len())].to_owned()
}

fn some_of(random: &mut Rng, texts: &[&str]) -> Vec<String> {
    let mut chosen: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    random.shuffle(&mut chosen);
    chosen.truncate(random.usize(..=texts.len()));
    chosen
}

fn some_keys(random: &mut Rng, keys: &[&str], values: &[&str]) -> Value {
    let mut map = Map::new();
    for key in some_of(random, keys) {
        map.insert(key, json!(one_of(random, values)));
    }
    Value::Object(map)
}

fn condition(random: &mut Rng, type_: &str) -> Value {
    let mut condition = json!({
        "type": type_,
        "status": one_of(random, &["True", "False", "Unknown"]),
        "lastHeartbeatTime": format!("2026-11-30T07:00:{:02}Z", random.u8(..60)),
        "lastTransitionTime": format!("2026-11-30T06:00:{:02}Z", random.u8(..3)),
    });
    if random.bool() {
        condition["reason"] = json!(one_of(random, &["KubeletReady", "KubeletNotReady"]));
        condition["message"] = json!(one_of(random, &["<ok> & well", "\u{fc}ber", ""]));
    }
    condition
}

fn conditions(random: &mut Rng) -> Value {
    let types = some_of(random, &CONDITIONS);
    types.iter().map(|type_| condition(random, type_)).collect()
}

fn address(random: &mut Rng) -> Value {
    json!({
        "type": one_of(random, &["InternalIP", "InternalIP", "ExternalIP", "Hostname"]),
        "address": format!("192.0.2.{}", random.u8(..4)),
    })
}

fn few<T>(random: &mut Rng, most: usize, make: impl Fn(&mut Rng) -> T) -> Vec<T> {
    (0..random.usize(..=most)).map(|_| make(random)).collect()
}

fn image(random: &mut Rng) -> Value {
    json!({"names": some_of(random, &["a:v1", "b:v1", "c:v1"]), "sizeBytes": random.u8(..3)})
}

fn quantities(random: &mut Rng) -> Value {
    some_keys(
        random,
        &[
            "cpu",
            "memory",
            "pods",
            "ephemeral-storage",
            "hugepages-2Mi",
            "example.com/gpu",
        ],
        &["0", "4", "1800m", "8Gi", "8388608Ki"],
    )
}

fn node_info(random: &mut Rng) -> Value {
    some_keys(
        random,
        &[
            "machineID",
            "bootID",
            "kernelVersion",
            "osImage",
            "kubeletVersion",
            "architecture",
        ],
        &["a", "b", ""],
    )
}

/// One field of a status; `None` for a field that this status does not have.
fn status_field(random: &mut Rng, name: &str) -> Option<Value> {
    if random.u8(..6) == 0 {
        return None;
    }
    Some(match name {
        "conditions" => conditions(random),
        "addresses" => json!(few(random, 4, address)),
        "capacity" | "allocatable" => quantities(random),
        "images" => json!(few(random, 3, image)),
        "nodeInfo" => node_info(random),
        "phase" => json!(one_of(random, &["Pending", "Running"])),
        "daemonEndpoints" => json!({"kubeletEndpoint": {"Port": random.u16(10250..10252)}}),
        "features" => json!({"supplementalGroupsPolicy": random.bool()}),
        "runtimeHandlers" => json!(few(random, 2, |random| json!({
            "name": one_of(random, &["", "kata"]),
            "features": {"userNamespaces": random.bool()},
        }))),
        "volumesAttached" => json!(few(random, 2, |random| json!({
            "name": one_of(random, &["v1", "v2"]), "devicePath": "",
        }))),
        _ => json!(some_of(random, &["v1", "v2", "v3"])),
    })
}

const STATUS_FIELDS: [&str; 13] = [
    "conditions",
    "addresses",
    "capacity",
    "allocatable",
    "images",
    "nodeInfo",
    "phase",
    "daemonEndpoints",
    "features",
    "runtimeHandlers",
    "volumesAttached",
    "volumesInUse",
    "declaredFeatures",
];

fn conditions_of(object: &mut Value) -> Option<&mut Vec<Value>> {
    object.pointer_mut("/status/conditions")?.as_array_mut()
}

fn set(object: &mut Value, name: &str, value: Option<Value>) {
    let fields = object.as_object_mut().unwrap();
    match value {
        Some(value) => fields.insert(name.to_owned(), value),
        None => fields.remove(name),
    };
}

fn node(random: &mut Rng) -> Value {
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n1", "uid": "5d0e8a2e", "creationTimestamp": null},
        "spec": {}, "status": {},
    });
    for name in STATUS_FIELDS {
        let value = status_field(random, name);
        set(&mut node["status"], name, value);
    }
    change_labels(random, &mut node);
    change_rest(random, &mut node);
    node
}

fn change_labels(random: &mut Rng, node: &mut Value) {
    for name in ["labels", "annotations"] {
        let keys = [
            "kubernetes.io/os",
            "kubernetes.io/arch",
            "a~b",
            "nodelet/instance",
        ];
        let values = some_keys(random, &keys, &["linux", "amd64", ""]);
        set(&mut node["metadata"], name, random.bool().then_some(values));
    }
}

/// What a status patch never touches.
fn change_rest(random: &mut Rng, node: &mut Value) {
    let owners = few(
        random,
        3,
        |random| json!({"uid": random.u32(..).to_string(), "name": one_of(random, &["a", "b"])}),
    );
    node["metadata"]["ownerReferences"] = json!(owners);
    node["metadata"]["finalizers"] = json!(some_of(random, &["f/a", "f/b", "f/c"]));
    node["spec"]["podCIDRs"] = json!(some_of(random, &["fd00::/64", "10.0.0.0/24"]));
    node["spec"]["taints"] = json!(few(
        random,
        2,
        |random| json!({"key": one_of(random, &["a", "b"]), "effect": "NoSchedule"})
    ));
    set(
        &mut node["spec"],
        "unschedulable",
        random.bool().then_some(json!(true)),
    );
}

/// Changes some elements of a list of conditions, its length and its order.
fn change_conditions(random: &mut Rng, node: &mut Value) {
    let Some(list) = conditions_of(node) else {
        return;
    };
    for condition in list.iter_mut() {
        match random.u8(..4) {
            0 => condition["lastHeartbeatTime"] = json!("2026-11-30T08:00:00Z"),
            1 => condition["message"] = json!("changed"),
            2 => set(condition, "reason", None),
            _ => {}
        }
    }
    if random.bool() && !list.is_empty() {
        list.remove(random.usize(..list.len()));
    }
    if random.u8(..4) == 0 {
        random.shuffle(list);
    }
}

/// A Node that shares much with the given one; labels, annotations and status may differ.
fn changed_status(random: &mut Rng, node: &Value) -> Value {
    let mut node = node.clone();
    change_conditions(random, &mut node);
    for name in STATUS_FIELDS {
        if random.u8(..4) == 0 {
            let value = status_field(random, name);
            set(&mut node["status"], name, value);
        }
    }
    if random.u8(..3) == 0 {
        change_labels(random, &mut node);
    }
    node
}

/// Puts some conditions in a second time, with other contents or the same.
fn repeat_conditions(random: &mut Rng, node: &mut Value) {
    let Some(list) = conditions_of(node) else {
        return;
    };
    list.truncate(6);
    for _ in 0..random.usize(..4) {
        if list.is_empty() {
            return;
        }
        let type_ = list[random.usize(..list.len())]["type"].clone();
        let again = condition(random, type_.as_str().unwrap());
        list.insert(random.usize(..=list.len()), again);
    }
}

fn go_diff(old: &Value, new: &Value) -> Value {
    let answer = Oracle::shared().ask(&json!({"op": "diff", "old": old, "new": new}));
    assert_eq!(answer["error"], Value::Null, "{old}\n{new}");
    answer["value"].clone()
}

fn go_apply(old: &Value, patch: &Value) -> Result<Value, String> {
    let answer = Oracle::shared().ask(&json!({"op": "apply", "old": old, "patch": patch}));
    match answer["error"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(answer["value"].clone()),
    }
}

/// Without the empty lists and maps that Go's encoding leaves out.
fn pruned(node: &Value) -> Value {
    let mut node = node.clone();
    for (part, fields) in [
        ("metadata", &["labels", "annotations"][..]),
        ("status", &STATUS_FIELDS),
    ] {
        for name in fields {
            let value = &node[part][name];
            let empty = value.as_object().is_some_and(Map::is_empty)
                || value.as_array().is_some_and(Vec::is_empty);
            if empty && *name != "nodeInfo" {
                set(&mut node[part], name, None);
            }
        }
    }
    node
}

/// As the server stores it: it brings the addresses of a replaced list together by type.
fn stored(node: &Value) -> Value {
    let mut node = pruned(node);
    if let Some(list) = node.pointer_mut("/status/addresses") {
        let list = list.as_array_mut().unwrap();
        let types: Vec<Value> = list.iter().map(|address| address["type"].clone()).collect();
        list.sort_by_key(|address| types.iter().position(|type_| *type_ == address["type"]));
    }
    node
}

fn sorted_by_type(node: &Value) -> Value {
    let mut node = stored(node);
    if let Some(list) = conditions_of(&mut node) {
        list.sort_by_key(|condition| condition["type"].as_str().unwrap().to_owned());
    }
    node
}

fn sorted_conditions(node: &Value) -> Value {
    sorted_by_type(node)["status"]["conditions"].clone()
}

#[test]
fn differences_are_those_of_go() {
    let mut random = seeded();
    for round in 0..ROUNDS {
        let mut old = node(&mut random);
        let mut new = if random.bool() {
            changed_status(&mut random, &old)
        } else {
            node(&mut random)
        };
        if random.bool() {
            change_rest(&mut random, &mut new);
        }
        if random.u8(..4) == 0 {
            repeat_conditions(&mut random, &mut old);
            repeat_conditions(&mut random, &mut new);
        }
        let ours = two_way_merge_diff(&old, &new, &NODE);
        assert_eq!(
            ours,
            go_diff(&old, &new),
            "round {round}\nold {old}\nnew {new}"
        );
    }
}

/// What kubelet would send: component-helpers' recipe over Go's own difference.
fn kubelet_patch(old: &Value, new: &Value) -> Value {
    let (old, mut new) = (pruned(old), pruned(new));
    let addresses = new["status"]["addresses"].clone();
    let stored = old["status"]["addresses"].as_array();
    let replaces = stored.is_some_and(|stored| addresses.as_array() != Some(stored));
    new["spec"] = old["spec"].clone();
    if replaces {
        new["status"]["addresses"] = old["status"]["addresses"].clone();
    }
    let mut patch = go_diff(&old, &new);
    if replaces {
        let mut list = addresses.as_array().cloned().unwrap_or_default();
        list.push(json!({"$patch": "replace"}));
        patch["status"]["addresses"] = json!(list);
    }
    // Orders of lists that did not change, which Go names when they are not sorted.
    set(&mut patch, "spec", None);
    if let Some(metadata) = patch["metadata"].as_object_mut() {
        metadata.remove("$setElementOrder/finalizers");
    }
    if patch["metadata"].as_object().is_none_or(Map::is_empty) {
        set(&mut patch, "metadata", None);
    }
    patch
}

#[test]
fn a_status_patch_is_what_kubelet_sends_and_makes_the_wanted_node() {
    let mut random = seeded();
    let mut unchanged = 0;
    for round in 0..ROUNDS {
        let old = node(&mut random);
        let new = if round % 20 == 0 {
            old.clone()
        } else {
            changed_status(&mut random, &old)
        };
        let kubelets = kubelet_patch(&old, &new);
        let Some(mut patch) = node_status_patch(&old, &new) else {
            unchanged += 1;
            assert_eq!(kubelets, json!({}), "round {round}\nold {old}\nnew {new}");
            continue;
        };
        let patched = go_apply(&pruned(&old), &patch).unwrap();
        assert_eq!(
            stored(&patched),
            stored(&new),
            "round {round}\nold {old}\npatch {patch}"
        );

        assert_eq!(patch["metadata"]["uid"], old["metadata"]["uid"]);
        set(&mut patch["metadata"], "uid", None);
        if patch["metadata"] == json!({}) {
            set(&mut patch, "metadata", None);
        }
        assert_eq!(patch, kubelets, "round {round}\nold {old}\nnew {new}");
    }
    assert!(
        (ROUNDS / 20..ROUNDS / 2).contains(&unchanged),
        "{unchanged}"
    );
}

#[test]
fn a_patch_over_conditions_of_one_type_makes_the_wanted_node() {
    let mut random = seeded();
    for round in 0..ROUNDS {
        let mut old = node(&mut random);
        repeat_conditions(&mut random, &mut old);
        let mut new = changed_status(&mut random, &old);
        if random.u8(..4) == 0 {
            repeat_conditions(&mut random, &mut new);
        }
        let Some(patch) = node_status_patch(&old, &new) else {
            continue;
        };
        let patched = go_apply(&pruned(&old), &patch)
            .unwrap_or_else(|error| panic!("round {round}: {error}\nold {old}\npatch {patch}"));
        assert_eq!(
            sorted_by_type(&patched),
            sorted_by_type(&new),
            "round {round}\nold {old}\npatch {patch}"
        );
    }
}

#[test]
fn patches_are_applied_as_go_does() {
    let mut random = seeded();
    let mut refused = 0;
    for round in 0..ROUNDS {
        let old = node(&mut random);
        let new = changed_status(&mut random, &old);
        let mut stored = if random.bool() {
            changed_status(&mut random, &old)
        } else {
            old.clone()
        };
        if random.u8(..4) == 0 {
            repeat_conditions(&mut random, &mut stored);
        }
        let mut patch = two_way_merge_diff(&old, &new, &NODE);
        if random.u8(..4) == 0
            && let Some(list) = conditions_of(&mut patch)
        {
            random.shuffle(list);
        }
        let ours = apply(&stored, &patch, &NODE);
        let go = go_apply(&stored, &patch);
        match (ours, go) {
            (Ok(ours), Ok(go)) => {
                assert_eq!(ours, go, "round {round}\nstored {stored}\npatch {patch}");
            }
            (Err(_), Err(_)) => refused += 1,
            (ours, go) => {
                panic!("round {round}: ours {ours:?}, Go's {go:?}\nstored {stored}\npatch {patch}")
            }
        }
    }
    assert!(refused > 0 && refused < ROUNDS / 2, "{refused} refused");
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
    let status = "/api/v1/nodes/c92/status";
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
    let kubelets = go_diff(&stored, &all_changed);
    let refused = admin.patch(status, STRATEGIC_MERGE, &kubelets);
    assert!(!(200..300).contains(&refused.status), "{refused:?}");

    let mut wanted = stored.clone();
    wanted["status"]["conditions"] = list(before, after);
    let patch = node_status_patch(&stored, &wanted).unwrap();
    let patched = admin.patch(status, STRATEGIC_MERGE, &patch).ok();
    assert_eq!(sorted_conditions(&patched), sorted_conditions(&wanted));

    let mut collapsed = patched.clone();
    collapsed["status"]["conditions"] = json!([
        condition("CpuPressure", after),
        condition("CpuUnderload", after),
        condition("MemoryPressure", after),
        condition("Ready", after),
    ]);
    let patch = node_status_patch(&patched, &collapsed).unwrap();
    let patched = admin.patch(status, STRATEGIC_MERGE, &patch).ok();
    assert_eq!(sorted_conditions(&patched), sorted_conditions(&collapsed));
}

/// A Node that was created anew has another UID, and the server says 422 to a patch that was made for the old one.
#[test]
fn a_patch_does_not_land_on_a_node_that_was_created_anew() {
    let cluster = ControlPlane::shared();
    let admin = cluster.admin();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "anew"}});
    let first = admin.post("/api/v1/nodes", &node).ok();
    let mut wanted = first.clone();
    wanted["status"]["phase"] = json!("Running");
    let patch = node_status_patch(&first, &wanted).unwrap();
    admin.delete("/api/v1/nodes/anew").ok();
    admin.post("/api/v1/nodes", &node).ok();
    let refused = admin.patch("/api/v1/nodes/anew/status", STRATEGIC_MERGE, &patch);
    assert_eq!(refused.status, 422, "{refused:?}");
}
