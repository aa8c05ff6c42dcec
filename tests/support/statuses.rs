//! Random Nodes and statuses. The seed is printed; give a failing one back in `NODELET_TEST_SEED`.

use fastrand::Rng;
use serde_json::{Map, Value, json};

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

pub fn seeded() -> Rng {
    let seed = match std::env::var("NODELET_TEST_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => fastrand::u64(..),
    };
    println!("NODELET_TEST_SEED={seed}");
    Rng::with_seed(seed)
}

pub fn one_of(random: &mut Rng, texts: &[&str]) -> String {
    texts[random.usize(..texts.len())].to_owned()
}

pub fn some_of(random: &mut Rng, texts: &[&str]) -> Vec<String> {
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

pub const STATUS_FIELDS: [&str; 13] = [
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

pub fn conditions_of(object: &mut Value) -> Option<&mut Vec<Value>> {
    object.pointer_mut("/status/conditions")?.as_array_mut()
}

pub fn set(object: &mut Value, name: &str, value: Option<Value>) {
    let fields = object.as_object_mut().unwrap();
    match value {
        Some(value) => fields.insert(name.to_owned(), value),
        None => fields.remove(name),
    };
}

pub fn node(random: &mut Rng) -> Value {
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
pub fn change_rest(random: &mut Rng, node: &mut Value) {
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
pub fn changed_status(random: &mut Rng, node: &Value) -> Value {
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
pub fn repeat_conditions(random: &mut Rng, node: &mut Value) {
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
