//! The apiserver goes away, the connection goes silent, the credential changes: nodelet stays, and is there again as
//! soon as it can be, without a restart.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails the test")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use support::audit::Entry;
use support::controlplane::ControlPlane;
use support::daemon::Daemon;
use support::nodelet::Running;
use support::nodes::{await_ready, await_renewals, await_reports, reports, stored, uid};
use support::proxy::Proxy;
use support::wait::{full_length, throughout};

/// Eight rounds of a second each, as an outage of 80 seconds has with the usual ones; or a whole minute of them.
fn outage() -> Duration {
    if full_length() {
        Duration::from_mins(1)
    } else {
        Duration::from_secs(8)
    }
}

/// One update period is a second; a busy machine gets three times that.
const RETURN: SignedDuration = SignedDuration::from_secs(3);

/// What may be allocated in an outage and not given back: less than one answer with a Node and its buffers for each
/// round of it would leave behind.
const GROWTH_KIB: u64 = 512;

/// Anonymous memory: what is mapped from the binary comes with the code that runs for the first time.
fn anonymous_kib(nodelet: &Running) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", nodelet.pid())).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    line.unwrap()
        .trim()
        .strip_suffix(" kB")
        .unwrap()
        .parse()
        .unwrap()
}

/// The first accepted request of the Node with this verb and resource that was received after `time`.
fn first_after(
    cluster: &ControlPlane,
    name: &str,
    verb: &str,
    resource: &str,
    time: Timestamp,
) -> Option<Entry> {
    let audit = cluster.audit().node(name).verb(verb).resource(resource);
    audit.entries().into_iter().find(|entry| {
        entry.response_status.code == 200 && entry.request_received_timestamp > MicroTime(time)
    })
}

#[test]
fn an_outage_is_survived_and_ends_with_a_heartbeat() {
    const NAME: &str = "out-apiserver";
    let cluster = ControlPlane::start();
    let mut nodelet = Daemon::owner(&cluster, NAME).spawn();
    let node = await_ready(&cluster, NAME, &mut nodelet);
    await_reports(&cluster, NAME, &mut nodelet, 5);

    cluster.stop_apiserver();
    let stopped = Timestamp::now();
    // The first failures set up what the later ones use again.
    throughout(outage() / 4, "nodelet runs", || nodelet.status().is_none());
    let early_kib = anonymous_kib(&nodelet);
    throughout(outage(), "nodelet runs", || nodelet.status().is_none());
    let late_kib = anonymous_kib(&nodelet);
    assert!(
        late_kib <= early_kib + GROWTH_KIB,
        "grew from {early_kib} KiB to {late_kib} KiB"
    );

    cluster.start_apiserver();
    let back = Timestamp::now();
    for (verb, resource) in [("update", "leases"), ("patch", "nodes/status")] {
        let first = nodelet.eventually(resource, || {
            first_after(&cluster, NAME, verb, resource, stopped)
        });
        let after = first.request_received_timestamp.0.duration_since(back);
        assert!(after <= RETURN, "{resource}: {after:?} after the return");
    }
    await_reports(&cluster, NAME, &mut nodelet, 2);
    assert_eq!(uid(&stored(&cluster, NAME).unwrap()), uid(&node));
    let creations = cluster
        .audit()
        .node(NAME)
        .verb("create")
        .resource("nodes")
        .entries();
    assert_eq!(creations.len(), 1, "it did not register again");
    let after_kib = anonymous_kib(&nodelet);
    assert!(
        after_kib <= early_kib + GROWTH_KIB,
        "grew from {early_kib} KiB to {after_kib} KiB"
    );
}

/// C102: the connections stay open and nothing comes through any more; new ones would work.
#[test]
fn c102_silent_connections_are_given_up() {
    const NAME: &str = "out-silent";
    let cluster = ControlPlane::shared();
    let proxy = Proxy::start(&cluster.server_url());
    let mut nodelet = Daemon::owner(cluster, NAME)
        .kubeconfig(cluster.node_kubeconfig_at(NAME, &proxy.url()))
        .set("timeouts", json!({"api": "1s", "connect": "1s"}))
        .spawn();
    await_ready(cluster, NAME, &mut nodelet);
    await_reports(cluster, NAME, &mut nodelet, 2);

    proxy.silence_open_connections();
    let silent = Timestamp::now();
    for (verb, resource) in [("update", "leases"), ("patch", "nodes/status")] {
        let first = nodelet.eventually(resource, || {
            first_after(cluster, NAME, verb, resource, silent)
        });
        let after = first.request_received_timestamp.0.duration_since(silent);
        assert!(
            after < SignedDuration::from_secs(30),
            "{resource}: {after:?}"
        );
    }
    assert!(proxy.swallowed() > 0, "nothing was lost in the silence");
}

/// Writes the kubeconfig of an identity that has a token file.
fn token_kubeconfig(cluster: &ControlPlane, name: &str, token_file: &Path) -> std::path::PathBuf {
    let path = cluster.directory().join(format!("{name}.kubeconfig"));
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {
            "server": cluster.server_url(), "certificate-authority": cluster.pki().file("ca.crt"),
        }}],
        "users": [{"name": name, "user": {"tokenFile": token_file}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
    });
    fs::write(&path, kubeconfig.to_string()).unwrap();
    path
}

/// A new service account, and a token of it.
fn new_service_account(cluster: &ControlPlane, name: &str) -> String {
    let admin = cluster.admin();
    let path = "/api/v1/namespaces/default/serviceaccounts";
    admin.post(path, &json!({"metadata": {"name": name}})).ok();
    let request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let token = admin.post(&format!("{path}/{name}/token"), &request).ok();
    token["status"]["token"].as_str().unwrap().to_owned()
}

fn allow_to_be_an_owner(cluster: &ControlPlane, service_account: &str) {
    let api = "/apis/rbac.authorization.k8s.io/v1";
    let rules = json!([
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["create", "get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "update"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    ]);
    let admin = cluster.admin();
    let metadata = json!({"name": service_account});
    admin
        .post(
            &format!("{api}/clusterroles"),
            &json!({"metadata": metadata, "rules": rules}),
        )
        .ok();
    let binding = json!({
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": service_account},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": service_account}],
    });
    admin
        .post(&format!("{api}/clusterrolebindings"), &binding)
        .ok();
}

/// Requests about the Node, or its Lease, that were refused because nobody knows who asked.
fn unauthorized(cluster: &ControlPlane, name: &str) -> usize {
    // The apiserver logs the begin of such an answer, never its end.
    let entries = cluster.audit().started().entries();
    let refused = |entry: &&Entry| {
        entry.response_status.code == 401 && entry.request_uri.contains(&format!("/{name}"))
    };
    entries.iter().filter(refused).count()
}

fn heartbeat(cluster: &ControlPlane, name: &str) -> Value {
    let node = stored(cluster, name).unwrap();
    support::nodes::condition(&node, "Ready")["lastHeartbeatTime"].clone()
}

/// Waits until the Node's heartbeat and its Lease move.
fn await_heartbeats(cluster: &ControlPlane, name: &str, nodelet: &mut Running) {
    let before = heartbeat(cluster, name);
    nodelet.eventually("a heartbeat of the status", || {
        (heartbeat(cluster, name) != before).then_some(())
    });
    await_renewals(cluster, name, nodelet, 2);
}

/// C105: the token lies behind a link that is swapped, as kubelet does it in a pod.
#[test]
fn c105_a_token_that_is_replaced_on_disk_is_read_again() {
    const NAME: &str = "out-token";
    let cluster = ControlPlane::shared();
    let volume = cluster.directory().join("out-token-volume");
    let token_file = volume.join("token");
    fs::create_dir_all(&volume).unwrap();
    symlink("..data/token", &token_file).unwrap();
    let put = |version: &str, token: &str| {
        fs::create_dir(volume.join(version)).unwrap();
        fs::write(volume.join(version).join("token"), token).unwrap();
        symlink(version, volume.join("..data_tmp")).unwrap();
        fs::rename(volume.join("..data_tmp"), volume.join("..data")).unwrap();
    };
    allow_to_be_an_owner(cluster, NAME);
    put("..1", &new_service_account(cluster, NAME));
    let mut nodelet = Daemon::owner(cluster, NAME)
        .kubeconfig(token_kubeconfig(cluster, NAME, &token_file))
        .spawn();
    await_ready(cluster, NAME, &mut nodelet);

    // Another account of the same name: the old token is not good any more.
    let admin = cluster.admin();
    admin
        .delete(&format!(
            "/api/v1/namespaces/default/serviceaccounts/{NAME}"
        ))
        .ok();
    let token = new_service_account(cluster, NAME);
    nodelet.eventually("the old token is refused", || {
        (unauthorized(cluster, NAME) > 0).then_some(())
    });
    put("..2", &token);
    await_heartbeats(cluster, NAME, &mut nodelet);
}

/// C106: the certificate runs out, and is replaced afterwards.
#[test]
fn c106_a_certificate_that_ran_out_is_replaced_without_a_restart() {
    const NAME: &str = "out-expired";
    const LIFETIME: Duration = Duration::from_secs(15);
    let cluster = ControlPlane::shared();
    let user = format!("system:node:{NAME}");
    let kubeconfig = cluster.node_kubeconfig(NAME);
    cluster.pki().renew(&user, "system:nodes", LIFETIME);
    let mut nodelet = Daemon::owner(cluster, NAME).kubeconfig(kubeconfig).spawn();
    await_ready(cluster, NAME, &mut nodelet);
    nodelet.eventually("the certificate is refused", || {
        (unauthorized(cluster, NAME) > 0).then_some(())
    });
    cluster
        .pki()
        .renew(&user, "system:nodes", Duration::from_hours(1));
    await_heartbeats(cluster, NAME, &mut nodelet);
}

/// The certificate that a request was sent with.
fn credential(entry: &Entry) -> Value {
    let ids = &entry.user.extra["authentication.kubernetes.io/credential-id"];
    assert!(ids.is_array(), "{:?}", entry.user);
    ids.clone()
}

/// A certificate is rotated long before it runs out: nothing fails, and what is sent from then on is sent with the
/// new one.
#[test]
fn a_certificate_that_is_rotated_is_used_at_once() {
    const NAME: &str = "out-rotated";
    let cluster = ControlPlane::shared();
    let mut nodelet = Daemon::owner(cluster, NAME).spawn();
    await_ready(cluster, NAME, &mut nodelet);
    await_reports(cluster, NAME, &mut nodelet, 1);
    let old = credential(&reports(cluster, NAME)[0]);
    let user = format!("system:node:{NAME}");
    cluster
        .pki()
        .renew(&user, "system:nodes", Duration::from_hours(1));
    let is_new = |entry: &Entry| credential(entry) != old;
    nodelet.eventually("a report with the new certificate", || {
        reports(cluster, NAME).iter().any(is_new).then_some(())
    });
    nodelet.eventually("a renewal with the new certificate", || {
        let audit = cluster.audit().node(NAME).verb("update").resource("leases");
        audit.entries().iter().any(is_new).then_some(())
    });
    assert_eq!(unauthorized(cluster, NAME), 0);
}
