//! A Node comes to be, or is found and brought up to date, by a real nodelet on a real apiserver. Tests named after a
//! row (R1 to R12) are those of kubelet's own registration tests.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails the test")]

mod support;

use std::fs;
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use nodelet::quantity::Quantity;
use serde_json::{Value, json};
use support::audit::Entry;
use support::controlplane::ControlPlane;
use support::daemon::Daemon;
use support::nodes::{
    OWN_CONDITIONS, await_ready, await_renewals, await_reports, bare, condition, is_ready, lease,
    owners, reports, status_path, stored, taints, uid,
};
use support::scratch::Scratch;
use support::wait::{eventually, full_length};

/// To the end of a nodelet that ends by itself.
const SOON: Duration = Duration::from_secs(30);

const NOT_READY: &str = "node.kubernetes.io/not-ready:NoSchedule";
const NO_PODS: &str = "nodelet/no-pods:NoSchedule";

/// The creations of Nodes that the apiserver was asked for by the Node's own identity.
fn creations(cluster: &ControlPlane, name: &str) -> Vec<Entry> {
    let audit = cluster.audit().node(name).verb("create");
    audit.resource("nodes").entries()
}

/// The Node as it was stored at its creation, before any controller looked at it.
fn created(cluster: &ControlPlane, name: &str) -> Value {
    creations(cluster, name)[0].response_object.clone().unwrap()
}

fn keys(object: &Value) -> Vec<&str> {
    let fields = object.as_object().unwrap();
    fields.keys().map(String::as_str).collect()
}

#[test]
fn a_node_registers_with_its_whole_status_and_is_ready() {
    const NAME: &str = "reg-new";
    let cluster = ControlPlane::shared();
    let mut nodelet = Daemon::owner(cluster, NAME).spawn();
    let node = await_ready(cluster, NAME, &mut nodelet);

    let kubectl = cluster.kubectl(&["get", "node", NAME, "--no-headers"]);
    let line = String::from_utf8(kubectl.stdout).unwrap();
    let columns: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(columns[..2], [NAME, "Ready"], "{line}");
    let version = format!("v1.36.0-nodelet.{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(columns.last(), Some(&version.as_str()), "{line}");

    let creations = creations(cluster, NAME);
    assert_eq!(creations.len(), 1);
    assert_eq!(creations[0].response_status.code, 201);
    assert!(creations[0].request_uri.contains("fieldManager=nodelet"));
    let sent = creations[0].request_object.as_ref().unwrap();
    let architecture = sent["status"]["nodeInfo"]["architecture"].clone();
    assert_eq!(
        sent["metadata"]["labels"],
        json!({
            "beta.kubernetes.io/arch": architecture, "beta.kubernetes.io/os": "linux",
            "kubernetes.io/arch": architecture, "kubernetes.io/hostname": NAME,
            "kubernetes.io/os": "linux",
        })
    );
    assert_eq!(taints(sent), [NO_PODS]);
    assert_eq!(taints(&created(cluster, NAME)), [NOT_READY, NO_PODS]);
    assert_eq!(sent["spec"].get("providerID"), None);
    // Another one would promise that nodelet attaches volumes.
    assert_eq!(keys(&sent["metadata"]["annotations"]), ["nodelet/instance"]);
    let instance = sent["metadata"]["annotations"]["nodelet/instance"]
        .as_str()
        .unwrap();
    if let Ok(machine_id) = fs::read_to_string("/etc/machine-id") {
        assert!(
            !instance.contains(machine_id.trim()),
            "the machine-id itself is told"
        );
    }
    assert!(instance.len() >= 8, "{instance}");
    is_whole_and_true(&sent["status"], NAME);
    assert_eq!(owners(&lease(cluster, NAME).unwrap()), [uid(&node)]);
}

fn is_whole_and_true(status: &Value, name: &str) {
    let types: Vec<&Value> = status["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|condition| &condition["type"])
        .collect();
    assert_eq!(types, OWN_CONDITIONS);
    assert_eq!(status["conditions"][3]["reason"], "KubeletReady");
    let resources = keys(&status["capacity"]);
    assert_eq!(keys(&status["allocatable"]), resources);
    for resource in ["cpu", "ephemeral-storage", "memory", "pods"] {
        assert!(
            resources.contains(&resource),
            "{resource} is not in {resources:?}"
        );
    }
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap();
    let total = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .unwrap();
    let total_kib: i128 = total.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    let memory: Quantity = status["capacity"]["memory"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(memory, Quantity::bytes(total_kib * 1024));
    assert_eq!(status["capacity"]["pods"], "110");

    let info = &status["nodeInfo"];
    let file = |path: &str| fs::read_to_string(path).unwrap().trim().to_owned();
    assert_eq!(info["bootID"], file("/proc/sys/kernel/random/boot_id"));
    assert_eq!(info["kernelVersion"], file("/proc/sys/kernel/osrelease"));
    assert_eq!(info["operatingSystem"], "linux");
    assert_ne!(info["osImage"], "");
    let addresses = status["addresses"].as_array().unwrap();
    assert_eq!(
        addresses.last().unwrap(),
        &json!({"type": "Hostname", "address": name})
    );
    // There is no port that a kubelet would answer on; 0 is how Go writes that.
    let port = &status["daemonEndpoints"]["kubeletEndpoint"]["Port"];
    assert!(port.is_null() || port == 0, "{port}");
}

/// The node lifecycle controller is told to call a Node dead after four seconds, and watches for many of those; for four
/// minutes where the test has its full length.
#[test]
fn a_not_ready_taint_goes_away_and_none_comes_back() {
    const NAME: &str = "reg-taint";
    let grace_periods: usize = if full_length() { 60 } else { 5 };
    // Of its own: so hasty a controller must not judge the Nodes of other tests.
    let cluster = &ControlPlane::start();
    let _controller_manager = cluster.start_controller_manager(&[
        "--node-monitor-period=1s",
        "--node-monitor-grace-period=4s",
        "--node-startup-grace-period=20s",
    ]);
    let mut nodelet = Daemon::owner(cluster, NAME).spawn();
    await_ready(cluster, NAME, &mut nodelet);
    let untainted = nodelet.eventually("only the own taint is left", || {
        stored(cluster, NAME).filter(|node| taints(node) == [NO_PODS])
    });
    assert_eq!(taints(&created(cluster, NAME)), [NOT_READY, NO_PODS]);

    // Four renewals are one grace period.
    await_renewals(cluster, NAME, &mut nodelet, 4 * grace_periods);
    let version = |node: &Value| -> u64 {
        let version = node["metadata"]["resourceVersion"].as_str().unwrap();
        version.parse().unwrap()
    };
    let mut versions: Vec<Value> = cluster
        .audit()
        .entries()
        .into_iter()
        .filter(|entry| entry.object_ref.name == NAME && entry.object_ref.resource == "nodes")
        .filter(|entry| entry.response_status.code == 200)
        .filter_map(|entry| entry.response_object)
        .filter(|node| version(node) > version(&untainted))
        .collect();
    versions.push(stored(cluster, NAME).unwrap());
    assert!(
        versions.len() > 4 * grace_periods / 2,
        "{} versions",
        versions.len()
    );
    for node in &versions {
        assert_eq!(taints(node), [NO_PODS]);
        assert!(is_ready(node), "{node}");
    }
}

#[test]
fn a_new_node_is_as_configured() {
    const NAME: &str = "reg-configured";
    let cluster = ControlPlane::shared();
    let mut nodelet = Daemon::owner(cluster, NAME)
        .set(
            "nodeLabels",
            json!({"example.com/pool": "blue", "node.kubernetes.io/zone": "z"}),
        )
        .set(
            "registerWithTaints",
            json!([
                {"key": "example.com/gpu", "value": "yes", "effect": "NoExecute"},
                {"key": "example.com/new", "effect": "PreferNoSchedule"},
            ]),
        )
        .set("providerID", "example://a/b")
        .spawn();
    let node = await_ready(cluster, NAME, &mut nodelet);
    assert_eq!(node["metadata"]["labels"]["example.com/pool"], "blue");
    assert_eq!(node["metadata"]["labels"]["node.kubernetes.io/zone"], "z");
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], NAME);
    assert_eq!(
        taints(&created(cluster, NAME)),
        [
            "example.com/gpu:NoExecute",
            "example.com/new:PreferNoSchedule",
            NOT_READY
        ]
    );
    assert_eq!(node["spec"]["taints"][0]["value"], "yes");
    assert_eq!(node["spec"]["providerID"], "example://a/b");
}

#[test]
fn r12_a_new_node_carries_the_taints_to_register_with() {
    const NAME: &str = "reg-r12";
    let cluster = ControlPlane::shared();
    let taint = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"});
    let mut nodelet = Daemon::owner(cluster, NAME)
        .set("registerWithTaints", json!([taint]))
        .spawn();
    await_ready(cluster, NAME, &mut nodelet);
    let sent = creations(cluster, NAME)[0].request_object.clone().unwrap();
    assert_eq!(
        taints(&sent),
        ["node.kubernetes.io/unschedulable:NoSchedule"]
    );
}

#[test]
fn a_new_node_without_taints_is_possible() {
    const NAME: &str = "reg-no-taints";
    let cluster = ControlPlane::shared();
    let mut nodelet = Daemon::owner(cluster, NAME)
        .set("registerWithTaints", json!([]))
        .spawn();
    await_ready(cluster, NAME, &mut nodelet);
    assert_eq!(taints(&created(cluster, NAME)), [NOT_READY]);
}

/// A Node as an administrator may have made it, with things in it that are not nodelet's.
fn existing(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": "old", "beta.kubernetes.io/os": "plan9", "please-persist": "foo"},
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": {"taints": [{"key": "example.com/theirs", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"hugepages-64Ki": "0", "example.com/gpu": "2"},
            "allocatable": {"hugepages-64Ki": "0", "example.com/gpu": "2"},
        },
    })
}

/// Rows R1, R3 and R7: what kubelet reconciles is reconciled (but for the attach-detach annotation, which an owner
/// without volumes leaves alone), and nothing else.
#[test]
fn r1_r3_an_existing_node_is_reconciled_and_not_created_again() {
    const NAME: &str = "reg-existing";
    let cluster = ControlPlane::shared();
    let before = cluster.admin().post("/api/v1/nodes", &existing(NAME)).ok();
    let mut nodelet = Daemon::owner(cluster, NAME)
        .set("nodeLabels", json!({"example.com/pool": "blue"}))
        .set("providerID", "example://a/b")
        .spawn();
    let node = await_ready(cluster, NAME, &mut nodelet);

    assert_eq!(uid(&node), uid(&before));
    for creation in creations(cluster, NAME) {
        assert_eq!(creation.response_status.code, 409);
    }
    let labels = &node["metadata"]["labels"];
    assert_eq!(labels["kubernetes.io/hostname"], NAME);
    assert_eq!(labels["beta.kubernetes.io/os"], "linux");
    assert_eq!(labels["kubernetes.io/os"], "linux");
    assert_eq!(labels["please-persist"], "foo");
    assert_eq!(
        labels.get("example.com/pool"),
        None,
        "only a new Node gets it"
    );
    assert_eq!(
        node["spec"].get("providerID"),
        None,
        "only a new Node gets it"
    );
    assert_eq!(
        taints(&node),
        taints(&before),
        "a node identity may not change them"
    );
    let annotations = &node["metadata"]["annotations"];
    assert_eq!(
        annotations["volumes.kubernetes.io/controller-managed-attach-detach"],
        "true"
    );
    assert!(annotations["nodelet/instance"].is_string(), "{annotations}");
    for resources in [&node["status"]["capacity"], &node["status"]["allocatable"]] {
        assert_eq!(
            resources.get("hugepages-64Ki"),
            None,
            "this machine has none of that size"
        );
        assert_eq!(resources["example.com/gpu"], "2");
        assert!(resources["memory"].is_string(), "{resources}");
    }
}

/// Grants `rights` (`verbs resource`, comma-separated verbs) to `user`, in addition to what it has.
fn grant(cluster: &ControlPlane, user: &str, step: &str, rights: &[&str]) {
    let rules: Value = rights
        .iter()
        .map(|right| {
            let (verbs, resource) = right.split_once(' ').unwrap();
            let verbs: Vec<&str> = verbs.split(',').collect();
            let group = if resource == "leases" {
                "coordination.k8s.io"
            } else {
                ""
            };
            json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
        })
        .collect();
    let name = format!("{user}-{step}");
    let admin = cluster.admin();
    let api = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": name}, "rules": rules});
    admin.post(&format!("{api}/clusterroles"), &role).ok();
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    });
    admin
        .post(&format!("{api}/clusterrolebindings"), &binding)
        .ok();
}

/// How often `user` was refused `verb` on `resource`.
fn refusals(cluster: &ControlPlane, user: &str, verb: &str, resource: &str) -> usize {
    let audit = cluster.audit().user(user).verb(verb).resource(resource);
    let entries = audit.entries();
    entries
        .iter()
        .filter(|entry| entry.response_status.code == 403)
        .count()
}

const LEASES: &str = "get,create,update leases";
const EVENTS: &str = "create,patch events";

/// Rows R4 and R9: Forbidden means that the Node may be there all the same.
#[test]
fn r4_r9_an_identity_that_may_not_create_waits_for_the_node() {
    const NAME: &str = "reg-forbidden";
    let cluster = ControlPlane::shared();
    grant(
        cluster,
        NAME,
        "all-but-create",
        &["get,list,watch nodes", "patch nodes/status", LEASES, EVENTS],
    );
    let mut nodelet = Daemon::owner(cluster, NAME)
        .kubeconfig(cluster.kubeconfig(NAME, None))
        .spawn();
    nodelet.eventually("a second refused creation", || {
        (refusals(cluster, NAME, "create", "nodes") >= 2).then_some(())
    });
    assert_eq!(lease(cluster, NAME), None);

    let created = cluster.admin().post("/api/v1/nodes", &bare(NAME)).ok();
    let node = await_ready(cluster, NAME, &mut nodelet);
    assert_eq!(uid(&node), uid(&created));
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], NAME);
}

/// Rows R10 and R11: each refused step ends the try, and the next try comes.
#[test]
fn r10_r11_registration_is_tried_until_every_step_is_allowed() {
    const NAME: &str = "reg-stepwise";
    let cluster = ControlPlane::shared();
    cluster.admin().post("/api/v1/nodes", &existing(NAME)).ok();
    grant(cluster, NAME, "create", &["create nodes", LEASES, EVENTS]);
    let mut nodelet = Daemon::owner(cluster, NAME)
        .kubeconfig(cluster.kubeconfig(NAME, None))
        .spawn();
    let refused = |verb, resource| refusals(cluster, NAME, verb, resource);
    nodelet.eventually("two refused looks at the Node", || {
        let looks = refused("get", "nodes") + refused("list", "nodes");
        (looks >= 2).then_some(())
    });
    grant(cluster, NAME, "look", &["get,list,watch nodes"]);
    nodelet.eventually("two refused patches", || {
        (refused("patch", "nodes/status") >= 2).then_some(())
    });
    assert!(!is_ready(&stored(cluster, NAME).unwrap()));
    grant(cluster, NAME, "patch", &["patch nodes/status"]);
    let node = await_ready(cluster, NAME, &mut nodelet);
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], NAME);
    assert_eq!(node["status"]["capacity"].get("hugepages-64Ki"), None);
}

#[test]
fn without_register_node_nothing_is_created() {
    const NAME: &str = "reg-waits";
    let cluster = ControlPlane::shared();
    let mut nodelet = Daemon::owner(cluster, NAME)
        .set("registerNode", false)
        .spawn();
    nodelet.eventually("a look at the Nodes", || {
        (!cluster.audit().node(NAME).entries().is_empty()).then_some(())
    });
    let created = cluster.admin().post("/api/v1/nodes", &bare(NAME)).ok();
    let node = await_ready(cluster, NAME, &mut nodelet);
    assert_eq!(uid(&node), uid(&created));
    assert!(creations(cluster, NAME).is_empty());
}

/// Every write under the Node's own identity, refused ones too.
fn writes(cluster: &ControlPlane, name: &str) -> Vec<String> {
    let mut entries = cluster.audit().node(name).entries();
    entries.retain(|entry| !["get", "list", "watch"].contains(&entry.verb.as_str()));
    entries
        .iter()
        .map(|entry| format!("{} {}", entry.verb, entry.resource()))
        .collect()
}

#[test]
fn a_node_that_another_manager_keeps_is_refused_and_left_alone() {
    const NAME: &str = "reg-kubelets";
    let cluster = ControlPlane::shared();
    let admin = cluster.admin();
    // With a label, as a kubelet creates it: the apiserver does not track the managers of an object that began
    // with nothing to manage.
    let mut node = bare(NAME);
    node["metadata"]["labels"] = json!({"kubernetes.io/os": "linux"});
    admin.post("/api/v1/nodes", &node).ok();
    let status = json!({"status": {"conditions": [{
        "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
        "lastHeartbeatTime": "2026-11-30T06:19:21Z", "lastTransitionTime": "2026-11-30T06:19:21Z",
    }]}});
    let path = format!("{}?fieldManager=kubelet", status_path(NAME));
    let kept = admin
        .patch(&path, support::nodes::STRATEGIC_MERGE, &status)
        .ok();

    let finished = Daemon::owner(cluster, NAME).run(SOON);
    assert_eq!(finished.status.code(), Some(3), "{}", finished.stderr);
    assert!(finished.stderr.contains("kubelet"), "{}", finished.stderr);
    assert_eq!(stored(cluster, NAME), Some(kept));
    assert_eq!(lease(cluster, NAME), None);
    // A creation is how the look may begin, and it is refused when the Node is there.
    let mut writes = writes(cluster, NAME);
    writes.retain(|write| write != "create nodes");
    assert!(writes.is_empty(), "{writes:?}");
    for creation in creations(cluster, NAME) {
        assert_eq!(creation.response_status.code, 409);
    }
}

/// The apiserver tracks no managers of an object that began with nothing but a name; a Lease that somebody renews tells
/// all the same.
#[test]
fn a_node_that_does_not_say_who_keeps_it_is_refused_while_its_lease_lives() {
    const NAME: &str = "reg-untracked";
    let cluster = ControlPlane::shared();
    let admin = cluster.admin();
    let node = admin.post("/api/v1/nodes", &bare(NAME)).ok();
    assert_eq!(node["metadata"].get("managedFields"), None);
    let renewed = Timestamp::now() + SignedDuration::from_mins(5);
    let lease_of_another = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NAME},
        "spec": {"holderIdentity": NAME, "leaseDurationSeconds": 40,
            "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()},
    });
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let kept = admin.post(leases, &lease_of_another).ok();

    let finished = Daemon::owner(cluster, NAME).run(SOON);
    assert_eq!(finished.status.code(), Some(3), "{}", finished.stderr);
    assert_eq!(stored(cluster, NAME), Some(node));
    assert_eq!(lease(cluster, NAME), Some(kept));

    admin.delete(&format!("{leases}/{NAME}")).ok();
    let mut nodelet = Daemon::owner(cluster, NAME).spawn();
    await_ready(cluster, NAME, &mut nodelet);
}

/// Two machines that were given one name: the second is refused while the first lives, and may have the Node once the
/// Lease of the first has run out.
#[test]
fn a_second_machine_of_one_name_is_refused_while_the_first_lives() {
    const NAME: &str = "reg-twins";
    let cluster = ControlPlane::shared();
    let [first, second] = ["a", "b"].map(|digit| {
        let host = Scratch::with_host("huge-pages");
        fs::write(host.path().join("etc/machine-id"), digit.repeat(32) + "\n").unwrap();
        host
    });
    let owner = |host: &Scratch| Daemon::owner(cluster, NAME).root(host.path());
    let mut living = owner(&first).spawn();
    let before = await_ready(cluster, NAME, &mut living);
    await_renewals(cluster, NAME, &mut living, 1);
    let instance = |node: &Value| node["metadata"]["annotations"]["nodelet/instance"].clone();

    let refused = owner(&second).run(SOON);
    assert_eq!(refused.status.code(), Some(3), "{}", refused.stderr);
    let node = stored(cluster, NAME).unwrap();
    assert_eq!(instance(&node), instance(&before));

    drop(living);
    // Refused as long as the Lease of the dead one lasts.
    let mut nodelet = eventually(SOON, "the end of the Lease", || {
        let mut nodelet = owner(&second).spawn();
        let taken = || {
            let node = stored(cluster, NAME).unwrap();
            (instance(&node) != instance(&before)).then_some(true)
        };
        let took = eventually(SOON, "a refusal or a new owner", || {
            taken().or_else(|| nodelet.status().map(|status| status.code() != Some(3)))
        });
        took.then_some(nodelet)
    });
    await_reports(cluster, NAME, &mut nodelet, 1);
}

/// C88: a new process begins with the Node that is there.
#[test]
fn c88_a_restart_moves_only_the_heartbeats() {
    const NAME: &str = "reg-restart";
    let cluster = ControlPlane::shared();
    let mut nodelet = Daemon::owner(cluster, NAME).spawn();
    await_ready(cluster, NAME, &mut nodelet);
    await_reports(cluster, NAME, &mut nodelet, 1);
    nodelet.terminate();
    assert_eq!(nodelet.wait(SOON).code(), Some(0), "{}", nodelet.stderr());
    let before = stored(cluster, NAME).unwrap();
    let earlier = reports(cluster, NAME).len();

    let mut nodelet = Daemon::owner(cluster, NAME).spawn();
    await_reports(cluster, NAME, &mut nodelet, 2);
    for report in &reports(cluster, NAME)[earlier..] {
        let node = report.response_object.as_ref().unwrap();
        for type_ in OWN_CONDITIONS {
            for field in ["status", "reason", "message", "lastTransitionTime"] {
                assert_eq!(
                    condition(node, type_)[field],
                    condition(&before, type_)[field]
                );
            }
        }
        assert_eq!(node["spec"], before["spec"]);
        assert_eq!(node["metadata"]["labels"], before["metadata"]["labels"]);
    }
    let heartbeat = |node: &Value| condition(node, "Ready")["lastHeartbeatTime"].clone();
    assert_ne!(
        heartbeat(&stored(cluster, NAME).unwrap()),
        heartbeat(&before)
    );
}

/// C119: the certificate names the Node in another spelling.
#[test]
fn c119_an_identity_of_another_name_is_told_both_names() {
    const NAME: &str = "reg-c119.example.internal";
    let cluster = ControlPlane::shared();
    let mut nodelet = Daemon::owner(cluster, NAME)
        .kubeconfig(cluster.node_kubeconfig("reg-c119"))
        .spawn();
    eventually(SOON, "one line with both names", || {
        let said = nodelet.stderr();
        let mut lines = said.lines();
        lines
            .any(|line| line.contains(NAME) && line.contains("system:node:reg-c119"))
            .then_some(())
    });
    nodelet.assert_running();
    assert_eq!(stored(cluster, NAME), None);
}
