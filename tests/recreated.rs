//! The Node is deleted, or deleted and created again, under a running nodelet.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper that fails fails the test"
)]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::audit::Entry;
use support::controlplane::ControlPlane;
use support::daemon::Daemon;
use support::nodelet::Running;
use support::nodes::{
    await_ready, await_renewals, await_reports, bare, is_ready, lease, lease_path, node_path,
    owners, stored, taints, uid,
};
use support::proxy::Proxy;
use support::wait::throughout;

/// Many rounds of nodelet and renewals of its Lease, which come each second.
const MANY_ROUNDS: Duration = Duration::from_secs(6);

fn delete(cluster: &ControlPlane, path: &str) {
    cluster.admin().delete(path).ok();
}

/// What the Node's own identity asked for and got.
fn accepted(cluster: &ControlPlane, name: &str, verbs: &[&str]) -> Vec<Entry> {
    let mut entries = cluster.audit().node(name).entries();
    entries.retain(|entry| {
        verbs.contains(&entry.verb.as_str()) && (200..300).contains(&entry.response_status.code)
    });
    entries
}

/// No write that names one UID has ever landed on a Node of another, and no Lease was ever written for another owner
/// than the Node of its time.
fn assert_each_write_was_for_its_node(cluster: &ControlPlane, name: &str) {
    let admin = cluster
        .audit()
        .user("admin")
        .verb("create")
        .resource("nodes");
    let mut creations: Vec<Entry> = admin.entries();
    creations.extend(
        accepted(cluster, name, &["create"])
            .into_iter()
            .filter(|entry| entry.resource() == "nodes"),
    );
    creations.retain(|entry| entry.response_status.code == 201);
    let mut patches = 0;
    for entry in accepted(cluster, name, &["create", "update", "patch"]) {
        let sent = entry.request_object.as_ref().unwrap();
        let stored = entry.response_object.as_ref().unwrap();
        match entry.resource().as_str() {
            "nodes/status" => {
                patches += 1;
                assert_eq!(uid(sent), uid(stored), "{entry:?}");
            }
            "leases" => {
                let [owner] = owners(sent)[..] else {
                    panic!("a Lease with other than one owner: {entry:?}");
                };
                // Its owner is the newest Node, or one that was newest when the request left.
                let known = creations.iter().any(|creation| {
                    creation.request_received_timestamp <= entry.stage_timestamp
                        && uid(creation.response_object.as_ref().unwrap()) == owner
                });
                assert!(known, "{entry:?}");
            }
            _ => {}
        }
    }
    assert!(patches > 0);
}

/// Waits until everything is kept for the Node with this UID.
fn await_kept(cluster: &ControlPlane, name: &str, nodelet: &mut Running, wanted: &str) {
    nodelet.eventually("the new Node is Ready", || {
        stored(cluster, name).filter(|node| is_ready(node) && uid(node) == wanted)
    });
    nodelet.eventually("the new Node owns the Lease", || {
        lease(cluster, name).filter(|lease| owners(lease) == [wanted])
    });
    await_reports(cluster, name, nodelet, 2);
}

/// C95, C96 and C97, with the garbage collector that takes the Lease of a Node that is gone.
#[test]
fn c95_a_deleted_node_stays_deleted_until_an_admin_creates_it_again() {
    const NAME: &str = "rec-deleted";
    let cluster = ControlPlane::shared();
    let _controller_manager = cluster.start_controller_manager(&[]);
    let mut nodelet = Daemon::owner(cluster, NAME).spawn();
    let old = await_ready(cluster, NAME, &mut nodelet);
    assert_eq!(owners(&lease(cluster, NAME).unwrap()), [uid(&old)]);

    delete(cluster, &node_path(NAME));
    nodelet.eventually("the garbage collector takes the Lease", || {
        lease(cluster, NAME).is_none().then_some(())
    });
    let writes = accepted(cluster, NAME, &["create", "update", "patch"]).len();
    throughout(MANY_ROUNDS, "neither Node nor Lease", || {
        stored(cluster, NAME).is_none() && lease(cluster, NAME).is_none()
    });
    nodelet.assert_running();
    assert_eq!(
        accepted(cluster, NAME, &["create", "update", "patch"]).len(),
        writes
    );
    let creations = cluster
        .audit()
        .node(NAME)
        .verb("create")
        .resource("nodes")
        .entries();
    assert_eq!(creations.len(), 1, "it registered once");

    let new = cluster.admin().post("/api/v1/nodes", &bare(NAME)).ok();
    assert_ne!(uid(&new), uid(&old));
    await_kept(cluster, NAME, &mut nodelet, uid(&new));
    let node = stored(cluster, NAME).unwrap();
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/os"], "linux");
    assert!(node["status"]["capacity"]["memory"].is_string(), "{node}");
    assert_each_write_was_for_its_node(cluster, NAME);
}

/// The Lease may also go first, by anybody's hand.
#[test]
fn c95_a_lease_that_is_deleted_after_its_node_is_not_made_again() {
    const NAME: &str = "rec-lease";
    let cluster = ControlPlane::shared();
    let mut nodelet = Daemon::owner(cluster, NAME).spawn();
    let node = await_ready(cluster, NAME, &mut nodelet);

    delete(cluster, &lease_path(NAME));
    let again = nodelet.eventually("the Lease of a living Node is made again", || {
        lease(cluster, NAME)
    });
    assert_eq!(owners(&again), [uid(&node)]);

    delete(cluster, &node_path(NAME));
    // The garbage collector may run for another test; whoever is first.
    let answer = cluster.admin().delete(&lease_path(NAME));
    assert!([200, 404].contains(&answer.status), "{answer:?}");
    // A renewal that was on its way may have brought it back before nodelet saw the deletion; never with another
    // owner than the Node that is gone, and never twice.
    throughout(MANY_ROUNDS, "no Lease without an owner", || {
        lease(cluster, NAME).is_none_or(|lease| owners(&lease) == [uid(&node)])
    });
    let _ = cluster.admin().delete(&lease_path(NAME));
    let writes = accepted(cluster, NAME, &["create", "update", "patch"]).len();
    throughout(MANY_ROUNDS, "no Lease", || lease(cluster, NAME).is_none());
    nodelet.assert_running();
    assert_eq!(
        accepted(cluster, NAME, &["create", "update", "patch"]).len(),
        writes
    );
}

/// The Node is replaced faster than a watch can tell, while patches are on their way.
#[test]
fn c96_a_replaced_node_is_never_written_for_the_old_one() {
    const NAME: &str = "rec-replaced";
    let cluster = ControlPlane::shared();
    let admin = cluster.admin();
    let mut nodelet = Daemon::owner(cluster, NAME)
        .set("nodeStatusUpdateFrequency", "200ms")
        .set("nodeStatusReportFrequency", "200ms")
        .spawn();
    await_ready(cluster, NAME, &mut nodelet);
    for _ in 0..5 {
        delete(cluster, &node_path(NAME));
        let new = admin.post("/api/v1/nodes", &bare(NAME)).ok();
        await_kept(cluster, NAME, &mut nodelet, uid(&new));
    }
    assert_each_write_was_for_its_node(cluster, NAME);
    let creations = cluster
        .audit()
        .node(NAME)
        .verb("create")
        .resource("nodes")
        .entries();
    assert_eq!(creations.len(), 1, "it registered once");
}

/// The watch is silent, so that nodelet does not hear of it at all: only the UID in the patch keeps the old status
/// from the new Node.
#[test]
fn c96_a_node_that_was_replaced_unseen_refuses_what_was_meant_for_the_old_one() {
    const NAME: &str = "rec-unseen";
    let cluster = ControlPlane::shared();
    let proxy = Proxy::start(&cluster.server_url());
    let mut nodelet = Daemon::owner(cluster, NAME)
        .kubeconfig(cluster.node_kubeconfig_at(NAME, &proxy.url()))
        .set("timeouts", json!({"api": "1s", "connect": "1s"}))
        .spawn();
    await_ready(cluster, NAME, &mut nodelet);
    await_reports(cluster, NAME, &mut nodelet, 1);
    // Reports and renewals go over new connections; the watch does not know yet that it is dead.
    proxy.silence_open_connections();
    await_reports(cluster, NAME, &mut nodelet, 2);
    await_renewals(cluster, NAME, &mut nodelet, 2);

    delete(cluster, &node_path(NAME));
    let new = cluster.admin().post("/api/v1/nodes", &bare(NAME)).ok();
    await_kept(cluster, NAME, &mut nodelet, uid(&new));
    let audit = cluster.audit().node(NAME).verb("patch");
    let refused = audit.resource("nodes/status").entries();
    let refused = refused
        .iter()
        .filter(|entry| entry.response_status.code == 422);
    assert!(
        refused.count() > 0,
        "nodelet heard of it before its next report"
    );
    assert_each_write_was_for_its_node(cluster, NAME);
}

#[test]
fn c97_with_re_register_it_comes_back_by_itself() {
    const NAME: &str = "rec-again";
    let cluster = ControlPlane::shared();
    let mut nodelet = Daemon::owner(cluster, NAME)
        .set("reRegister", true)
        .set("nodeLabels", json!({"example.com/pool": "blue"}))
        .spawn();
    let old = await_ready(cluster, NAME, &mut nodelet);
    delete(cluster, &node_path(NAME));
    let new = nodelet.eventually("another Node under the same name", || {
        stored(cluster, NAME).filter(|node| uid(node) != uid(&old))
    });
    await_kept(cluster, NAME, &mut nodelet, uid(&new));
    let node = stored(cluster, NAME).unwrap();
    assert_eq!(node["metadata"]["labels"], old["metadata"]["labels"]);
    let instance = |node: &Value| node["metadata"]["annotations"]["nodelet/instance"].clone();
    assert_eq!(instance(&node), instance(&old));
    assert!(taints(&node).contains(&"nodelet/no-pods:NoSchedule".to_owned()));
    assert_each_write_was_for_its_node(cluster, NAME);
}
