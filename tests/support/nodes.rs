//! What the tests ask of a Node, its Lease and the requests of the nodelet that keeps them.

use serde_json::{Value, json};

use super::audit::Entry;
use super::controlplane::ControlPlane;
use super::nodelet::Running;

pub const STRATEGIC_MERGE: &str = "application/strategic-merge-patch+json";
pub const MERGE: &str = "application/merge-patch+json";

/// The conditions of every Node that nodelet owns, in their order.
pub const OWN_CONDITIONS: [&str; 4] = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];

pub fn node_path(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
}

pub fn status_path(name: &str) -> String {
    format!("/api/v1/nodes/{name}/status")
}

pub fn lease_path(name: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}")
}

/// A Node with nothing but a name.
pub fn bare(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
}

/// The Node as it is stored, if it is.
#[track_caller]
pub fn stored(cluster: &ControlPlane, name: &str) -> Option<Value> {
    found(cluster, &node_path(name))
}

/// The Node's Lease as it is stored, if it is.
#[track_caller]
pub fn lease(cluster: &ControlPlane, name: &str) -> Option<Value> {
    found(cluster, &lease_path(name))
}

#[track_caller]
fn found(cluster: &ControlPlane, path: &str) -> Option<Value> {
    let answer = cluster.admin().get(path);
    (answer.status != 404).then(|| answer.ok())
}

/// The first condition of this type, or null.
pub fn condition<'a>(node: &'a Value, type_: &str) -> &'a Value {
    let conditions = node["status"]["conditions"].as_array();
    conditions
        .and_then(|list| list.iter().find(|condition| condition["type"] == type_))
        .unwrap_or(&Value::Null)
}

pub fn is_ready(node: &Value) -> bool {
    condition(node, "Ready")["status"] == "True"
}

/// Each taint as `key:effect`, sorted.
pub fn taints(node: &Value) -> Vec<String> {
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut taints: Vec<String> = taints
        .map(|taint| format!("{}:{}", text(&taint["key"]), text(&taint["effect"])))
        .collect();
    taints.sort();
    taints
}

pub fn uid(object: &Value) -> &str {
    object["metadata"]["uid"]
        .as_str()
        .expect("a stored object has a UID")
}

/// The UIDs that own the Lease.
pub fn owners(lease: &Value) -> Vec<&str> {
    let owners = lease["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .map(|owner| owner["uid"].as_str().expect("an owner has a UID"))
        .collect()
}

/// The status patches that the Node's own identity sent and the apiserver accepted.
pub fn reports(cluster: &ControlPlane, name: &str) -> Vec<Entry> {
    let audit = cluster.audit().node(name).verb("patch");
    let mut entries = audit.resource("nodes/status").entries();
    entries.retain(|entry| entry.response_status.code == 200);
    entries
}

/// Waits until the Node is Ready and its Lease is there; gives the Node.
#[track_caller]
pub fn await_ready(cluster: &ControlPlane, name: &str, nodelet: &mut Running) -> Value {
    nodelet.eventually("the Lease", || lease(cluster, name));
    nodelet.eventually("the Node is Ready", || {
        stored(cluster, name).filter(is_ready)
    })
}

/// Waits for `count` more status patches.
#[track_caller]
pub fn await_reports(cluster: &ControlPlane, name: &str, nodelet: &mut Running, count: usize) {
    let before = reports(cluster, name).len();
    let what = format!("{count} more reports");
    nodelet.eventually(&what, || {
        (reports(cluster, name).len() >= before + count).then_some(())
    });
}

/// Waits until the Lease was renewed `count` times more.
#[track_caller]
pub fn await_renewals(cluster: &ControlPlane, name: &str, nodelet: &mut Running, count: usize) {
    let renew_time = || lease(cluster, name).map(|lease| lease["spec"]["renewTime"].clone());
    let mut last = renew_time();
    for _ in 0..count {
        nodelet.eventually("a renewal of the Lease", || {
            let now = renew_time();
            let renewed = now.is_some() && now != last;
            last = now;
            renewed.then_some(())
        });
    }
}
