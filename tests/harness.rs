//! Shows that the real parts which the other tests rely on start, answer and go away.

mod support;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use support::audit::Entry;
use support::controlplane::ControlPlane;
use support::oracle::Oracle;
use support::process;
use support::scratch::Scratch;
use support::wait::eventually;

const SOON: Duration = Duration::from_secs(30);
const STRATEGIC_MERGE: &str = "application/strategic-merge-patch+json";

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
}

#[test]
fn the_oracle_answers_with_the_go_packages() {
    let oracle = Oracle::start();
    let sum = oracle.ask(&json!({"op": "add", "a": "1Gi", "b": "1"}));
    assert_eq!(sum["text"], "1073741825");
    let refused = oracle.ask(&json!({"op": "parse", "a": "1Zi"}));
    assert!(refused["error"].is_string(), "{refused}");
    let patch = oracle.ask(&json!({
        "op": "diff",
        "old": {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        "new": {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
    }));
    assert_eq!(
        patch["value"]["status"]["conditions"],
        json!([{"type": "Ready", "status": "True"}]),
    );
}

#[test]
fn a_node_identity_creates_its_own_node_and_no_other() {
    let cluster = ControlPlane::shared();
    let myself = cluster.node("harness-own");

    let created = myself.post("/api/v1/nodes", &node("harness-own")).ok();
    assert_eq!(
        created["spec"]["taints"][0]["key"],
        "node.kubernetes.io/not-ready"
    );
    let refused = myself.post("/api/v1/nodes", &node("harness-other"));
    assert_eq!(refused.status, 403, "{refused:?}");
    let reason = refused.body["message"].as_str().unwrap_or_default();
    assert!(
        reason.contains("is not allowed to modify node"),
        "{refused:?}"
    );

    let kubectl = cluster.kubectl(&["get", "node", "harness-own", "-o", "name"]);
    assert_eq!(
        String::from_utf8_lossy(&kubectl.stdout),
        "node/harness-own\n"
    );

    let creations = || {
        let audit = cluster
            .audit()
            .node("harness-own")
            .verb("create")
            .resource("nodes");
        let entries = audit.entries();
        (entries.len() == 2).then_some(entries)
    };
    let [accepted, forbidden]: [Entry; 2] =
        eventually(SOON, "both creations in the audit log", creations)
            .try_into()
            .unwrap();
    assert_eq!(accepted.response_status.code, 201);
    assert_eq!(
        accepted.request_object.unwrap()["metadata"]["name"],
        "harness-own"
    );
    assert_eq!(forbidden.response_status.code, 403);
    assert!(accepted.request_received_timestamp <= forbidden.request_received_timestamp);
}

#[test]
fn the_apiserver_stops_and_comes_back_with_its_data() {
    let cluster = ControlPlane::start();
    let admin = cluster.admin();
    admin.post("/api/v1/nodes", &node("n1")).ok();

    cluster.stop_apiserver();
    let refused = admin.send(http::Method::GET, "/api/v1/nodes/n1", "", None);
    assert!(refused.is_err(), "{refused:?}");

    cluster.start_apiserver();
    assert_eq!(admin.get("/api/v1/nodes/n1").ok()["metadata"]["name"], "n1");
}

#[test]
fn the_node_lifecycle_controller_takes_and_gives_the_not_ready_taint() {
    let cluster = ControlPlane::shared();
    let myself = cluster.node("harness-taint");
    myself.post("/api/v1/nodes", &node("harness-taint")).ok();
    let _controller_manager = cluster.start_controller_manager(&["--node-monitor-period=1s"]);

    for (ready, tainted) in [("True", false), ("False", true)] {
        let status = json!({"status": {"conditions": [{"type": "Ready", "status": ready}]}});
        myself
            .patch(
                "/api/v1/nodes/harness-taint/status",
                STRATEGIC_MERGE,
                &status,
            )
            .ok();
        let what = format!("Ready {ready}: not-ready taint {tainted}");
        eventually(SOON, &what, || {
            let node = cluster.admin().get("/api/v1/nodes/harness-taint").ok();
            let has_taint = node["spec"]["taints"]
                .as_array()
                .is_some_and(|taints| taints.iter().any(is_not_ready));
            (has_taint == tainted).then_some(())
        });
    }
}

/// Runs in two processes: this one, and one like it that holds a child and a directory and is killed.
#[test]
fn a_killed_test_binary_leaves_no_process_and_no_file() {
    const TEST: &str = "a_killed_test_binary_leaves_no_process_and_no_file";
    const REPORT_TO: &str = "NODELET_TEST_REPORT_TO";
    if let Some(report) = std::env::var_os(REPORT_TO) {
        let scratch = Scratch::new();
        let mut sleep = process::command("sleep");
        sleep.arg("3600");
        let mut child = process::spawn(sleep);
        let held = format!("{} {}", child.id(), scratch.path().display());
        fs::write(scratch.path().join("file"), "").unwrap();
        let unfinished = scratch.path().join("report");
        fs::write(&unfinished, held).unwrap();
        fs::rename(unfinished, report).unwrap();
        child.wait().unwrap();
        return;
    }

    let scratch = Scratch::new();
    let report = scratch.path().join("report");
    let mut command = process::command(std::env::current_exe().unwrap());
    command
        .args(["--exact", TEST])
        .env(REPORT_TO, &report)
        .stdout(Stdio::null());
    let mut other = process::spawn(command);
    let held = eventually(SOON, "the report of the other process", || {
        fs::read_to_string(&report).ok()
    });
    let (pid, directory) = held.split_once(' ').unwrap();
    assert!(is_running(pid));
    assert!(Path::new(directory).is_dir());

    other.kill().unwrap();
    other.wait().unwrap();
    eventually(SOON, "the end of its child", || {
        (!is_running(pid)).then_some(())
    });
    eventually(SOON, "the removal of its directory", || {
        (!Path::new(directory).exists()).then_some(())
    });
}

/// Whether the process exists and is more than an exit status that nobody asked for yet.
fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn is_not_ready(taint: &Value) -> bool {
    taint["key"] == "node.kubernetes.io/not-ready"
}
