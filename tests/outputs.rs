//! The outputs of `--sync-once` are a contract (DESIGN §1): what each prints, where, and with which exit code.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that fails fails the test"
)]

mod support;

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::controlplane::ControlPlane;
use support::nodelet::{Finished, Nodelet};
use support::recording::Recording;
use support::scratch::Scratch;

const TIMEOUT: Duration = Duration::from_mins(1);

fn host(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/hosts")
        .join(name)
}

fn replay(dir: &Path, output: &str) -> Finished {
    Nodelet::new()
        .args(["--sync-once", "-o", output, "--replay"])
        .arg(dir)
        .run(TIMEOUT)
}

#[test]
fn json_is_a_list_of_the_node_and_its_lease() {
    let finished = replay(&host("v2-vm"), "json");
    assert!(finished.status.success(), "{}", finished.stderr);
    let list: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(
        (&list["apiVersion"], &list["kind"]),
        (&json!("v1"), &json!("List"))
    );
    let kinds: Vec<&Value> = list["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| &item["kind"])
        .collect();
    assert_eq!(kinds, ["Node", "Lease"]);
    let lease = &list["items"][1];
    assert_eq!(lease["metadata"]["namespace"], "kube-node-lease");
    assert_eq!(
        lease["metadata"]["name"],
        list["items"][0]["metadata"]["name"]
    );
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 40);
}

#[test]
fn equal_input_gives_byte_equal_output() {
    for output in ["json", "yaml", "patch", "diff", "explain"] {
        let runs = [
            replay(&host("numa2"), output),
            replay(&host("numa2"), output),
        ];
        assert_eq!(runs[0].stdout, runs[1].stdout, "{output}");
        assert!(!runs[0].stdout.is_empty(), "{output}");
    }
}

#[test]
fn yaml_says_what_json_says() {
    let json: Value =
        serde_json::from_str(&replay(&host("dual-stack"), "json").stdout).expect("JSON");
    let yaml: Value =
        serde_saphyr::from_str(&replay(&host("dual-stack"), "yaml").stdout).expect("YAML");
    assert_eq!(yaml, json);
}

#[test]
fn patch_prints_the_requests_in_the_order_of_sending() {
    let new = replay(&host("ipv6-only"), "patch").lines();
    assert_eq!(new.len(), 2);
    assert_eq!(
        (&new[0]["verb"], &new[0]["path"]),
        (&json!("create"), &json!("/api/v1/nodes"))
    );
    assert_eq!(new[0]["query"], "fieldManager=nodelet&timeout=10s");
    assert_eq!(new[0]["contentType"], "application/json");
    assert_eq!(new[0]["body"]["status"]["conditions"][3]["type"], "Ready");
    assert_eq!(
        (&new[1]["verb"], &new[1]["path"]),
        (
            &json!("create"),
            &json!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")
        )
    );

    let dir = host("dual-stack");
    let recording: Value =
        serde_json::from_str(&fs::read_to_string(dir.join("recording.json")).expect("a recording"))
            .expect("JSON");
    let node = &recording["cluster"]["node"];
    let name = node["metadata"]["name"].as_str().expect("a name");
    let existing = replay(&dir, "patch").lines();
    assert_eq!(existing.len(), 2);
    assert_eq!(
        (&existing[0]["verb"], &existing[0]["path"]),
        (
            &json!("patch"),
            &json!(format!("/api/v1/nodes/{name}/status"))
        )
    );
    assert_eq!(
        existing[0]["contentType"],
        "application/strategic-merge-patch+json"
    );
    assert_eq!(
        existing[0]["body"]["metadata"]["uid"],
        node["metadata"]["uid"]
    );
    assert_eq!(existing[1]["verb"], "update");
    assert_eq!(
        existing[1]["body"]["metadata"]["ownerReferences"][0]["uid"],
        node["metadata"]["uid"]
    );
}

#[test]
fn diff_has_a_line_for_each_difference_and_none_for_clockwork() {
    let lines = replay(&host("numa2"), "diff").lines();
    let paths: Vec<&str> = lines
        .iter()
        .filter(|line| {
            line["object"]
                .as_str()
                .expect("an object")
                .starts_with("Node/")
        })
        .map(|line| line["path"].as_str().expect("a path"))
        .collect();
    assert!(
        paths.contains(&"/status/capacity/hugepages-1Gi"),
        "{paths:?}"
    );
    assert!(
        !paths.iter().any(|path| path.contains("lastHeartbeatTime")),
        "{paths:?}"
    );
    for line in &lines {
        let keys: Vec<&String> = line.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["cluster", "computed", "keptBy", "object", "path"]);
        assert_ne!(line["cluster"], line["computed"]);
    }
}

#[test]
fn explain_says_where_each_value_comes_from() {
    let lines = replay(&host("v2-vm"), "explain").lines();
    let line = |path: &str| {
        lines
            .iter()
            .find(|line| line["path"] == path)
            .unwrap_or_else(|| panic!("{path}: {lines:#?}"))
    };
    let memory = line("/status/capacity/memory");
    assert_eq!(memory["sources"], json!(["file:/proc/meminfo"]));
    assert_eq!(memory["rule"], "capacity.memory");
    assert_eq!(
        (&memory["second"], &memory["stale"]),
        (&Value::Null, &json!(false))
    );
    let address = line("/status/addresses/InternalIP/address");
    assert!(
        address["rejected"]
            .as_array()
            .is_some_and(|rejected| !rejected.is_empty()),
        "{address}"
    );
    for line in &lines {
        let keys: Vec<&String> = line.as_object().expect("an object").keys().collect();
        assert_eq!(
            keys,
            [
                "object", "path", "rejected", "rule", "second", "sources", "stale", "value"
            ]
        );
    }
}

#[test]
fn the_second_reader_agrees_about_this_machine() {
    let finished = Nodelet::new()
        .args(["--sync-once", "-o", "explain"])
        .run(TIMEOUT);
    let opinions: Vec<Value> = finished
        .lines()
        .into_iter()
        .filter(|line| !line["second"].is_null())
        .collect();
    assert!(
        opinions
            .iter()
            .any(|line| line["path"] == "/status/capacity/memory"),
        "{}",
        finished.stdout
    );
    for line in opinions {
        assert_eq!(line["second"]["agrees"], true, "{line}");
    }
}

#[test]
fn summary_is_the_default_and_names_every_setter() {
    let finished = Nodelet::new().arg("--sync-once").run(TIMEOUT);
    assert!(finished.status.success(), "{}", finished.stderr);
    for name in ["addresses", "machineInfo", "memoryPressure", "ready"] {
        assert!(
            finished.stdout.contains(name),
            "{name}: {}",
            finished.stdout
        );
    }
    assert!(
        finished.stderr.contains("Nothing was sent"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_recording_of_this_machine_replays_to_the_same_node() {
    let scratch = Scratch::new();
    let dir = scratch.path().join("recording");
    let live = Nodelet::new()
        .args(["--sync-once", "-o", "json", "--record"])
        .arg(&dir)
        .run(TIMEOUT);
    assert!(live.status.success(), "{}", live.stderr);
    let replayed = replay(&dir, "json");
    assert!(replayed.status.success(), "{}", replayed.stderr);
    let items = |text: &str| serde_json::from_str::<Value>(text).expect("JSON")["items"].clone();
    let (mut live, mut replayed) = (items(&live.stdout), items(&replayed.stdout));
    for node in [&mut live[0], &mut replayed[0]] {
        for condition in node["status"]["conditions"]
            .as_array_mut()
            .expect("conditions")
        {
            condition["lastHeartbeatTime"] = Value::Null;
            condition["lastTransitionTime"] = Value::Null;
        }
    }
    assert_eq!(replayed[0], live[0]);
}

#[test]
fn a_required_reading_that_fails_is_exit_code_1_and_the_rest_is_still_printed() {
    for (row, recording) in [
        ("MemTotal", Recording::new().error("/proc/meminfo", "EIO")),
        (
            "online CPUs",
            Recording::new().file("sys/devices/system/cpu/online", "nonsense\n"),
        ),
    ] {
        let finished = recording.replay("json");
        assert_eq!(
            finished.status.code(),
            Some(1),
            "{row}: {}",
            finished.stderr
        );
        assert!(finished.stderr.contains(row), "{row}: {}", finished.stderr);
        assert_eq!(
            finished.list()[0]["status"]["addresses"][0]["address"],
            "192.0.2.13",
            "{row}"
        );
    }
}

#[test]
fn any_other_reading_that_fails_or_hangs_only_warns() {
    for (path, error) in [
        ("/etc/machine-id", "EACCES"),
        ("statfs:/var/lib/kubelet", "hang"),
        ("interfaces", "EIO"),
    ] {
        let finished = Recording::new()
            .error(path, error)
            .setting("timeouts", json!({"statfs": "200ms"}))
            .replay("json");
        assert_eq!(
            finished.status.code(),
            Some(0),
            "{path}: {}",
            finished.stderr
        );
        assert_eq!(
            finished.list()[0]["status"]["capacity"]["memory"],
            "8000000Ki",
            "{path}"
        );
    }
}

#[test]
fn c49_c50_a_host_name_that_cannot_name_a_node_is_said_before_anything_else() {
    let long = "i-0123456789abcdef0-abc-abcdefg-abcd-abcdefghij-1-17-abcd-abcdef";
    for (hostname, said) in [
        ("node_b", "node_b"),
        (long, "kubernetes.io/hostname"),
        ("  ", "empty hostname"),
    ] {
        let finished = Recording::new()
            .fact("hostname", json!(hostname))
            .replay("json");
        assert_eq!(
            finished.status.code(),
            Some(1),
            "{hostname}: {}",
            finished.stderr
        );
        assert!(
            finished.stderr.contains(said),
            "{hostname}: {}",
            finished.stderr
        );
        assert_eq!(finished.stdout, "", "{hostname}");
    }
    let items = Recording::new()
        .fact("hostname", json!("Node-A.Example.COM\n"))
        .items();
    for item in items {
        assert_eq!(item["metadata"]["name"], "node-a.example.com");
    }
}

#[test]
fn a_node_that_another_keeps_is_refused_but_not_in_a_dry_run() {
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n1", "uid": "u1", "managedFields": [
            {"manager": "kubelet", "operation": "Update", "subresource": "status", "apiVersion": "v1",
             "fieldsType": "FieldsV1",
             "fieldsV1": {"f:status": {"f:capacity": {"f:memory": {}},
                          "f:conditions": {"k:{\"type\":\"Ready\"}": {"f:lastHeartbeatTime": {}}}}}}]},
        "spec": {},
        "status": {"capacity": {"memory": "1Gi"}, "conditions": [{"type": "Ready", "status": "True"}]},
    });
    let recording = Recording::new().stored(&node);
    let finished = recording.replay("patch");
    // A replay is a dry run: the conflict is only said.
    assert_eq!(finished.status.code(), Some(0));
    assert!(
        finished.stderr.contains("kubelet keeps this Node"),
        "{}",
        finished.stderr
    );
    assert_eq!(finished.lines().len(), 2);

    let recording = recording.setting("role", json!("auto"));
    let finished = recording.replay("patch");
    assert_eq!(
        (finished.status.code(), finished.stdout.as_str()),
        (Some(0), ""),
        "{}",
        finished.stderr
    );
    let lines = recording.lines("diff");
    let memory = lines
        .iter()
        .find(|line| line["path"] == "/status/capacity/memory")
        .expect("the memory differs");
    assert_eq!(
        memory,
        &json!({"object": "Node/n1", "path": "/status/capacity/memory", "cluster": "1Gi",
                "computed": "8000000Ki", "keptBy": "kubelet"})
    );
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure_and_a_reader_that_went_away_is_none() {
    let nodelet = env!("CARGO_BIN_EXE_nodelet");
    for (target, code) in [("> /dev/full", Some(1)), ("| true", Some(0))] {
        let line =
            format!("set -o pipefail; \"{nodelet}\" --sync-once -o yaml 2>/dev/null {target}");
        let status = std::process::Command::new("bash")
            .args(["-c", &line])
            .status()
            .expect("bash");
        assert_eq!(status.code(), code, "{target}");
    }
}

#[test]
fn a_recording_that_makes_no_sense_is_bad_usage() {
    let scratch = Scratch::new();
    let finished = Recording::new().fact("unknownKey", json!(1)).replay("json");
    assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("unknownKey"),
        "{}",
        finished.stderr
    );
    assert_eq!(
        replay(&scratch.path().join("nowhere"), "json")
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn bad_configuration_lists_all_its_faults_with_file_line_and_key() {
    let scratch = Scratch::new();
    let file = scratch.path().join("nodelet.yaml");
    fs::write(&file, "role: owner\nnodeStatusUpdateFrequency: ten\nmaxPodz: 5\nevictionHard:\n  memory.available: -5Mi\n")
        .expect("a file");
    let finished = Nodelet::new()
        .arg("--check-config")
        .arg("--config")
        .arg(&file)
        .run(TIMEOUT);
    assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr);
    let name = file.display();
    for fault in [
        format!("{name}:2: nodeStatusUpdateFrequency"),
        format!("{name}:3: maxPodz"),
        format!("{name}:5: evictionHard.memory.available"),
    ] {
        assert!(
            finished.stderr.contains(&fault),
            "{fault}: {}",
            finished.stderr
        );
    }
    assert_eq!(finished.stdout, "");
}

#[test]
fn check_config_prints_the_effective_configuration_which_is_one_again() {
    let scratch = Scratch::new();
    let file = scratch.path().join("nodelet.yaml");
    fs::write(&file, "role: owner\nmaxPods: 7\n").expect("a file");
    let first = Nodelet::new()
        .arg("--check-config")
        .arg("--config")
        .arg(&file)
        .run(TIMEOUT);
    assert!(first.status.success(), "{}", first.stderr);
    assert!(first.stdout.contains("maxPods: 7"), "{}", first.stdout);
    fs::write(&file, &first.stdout).expect("a file");
    let second = Nodelet::new()
        .arg("--check-config")
        .arg("--config")
        .arg(&file)
        .run(TIMEOUT);
    assert_eq!(
        (second.stdout, second.status.code()),
        (first.stdout, Some(0)),
        "{}",
        second.stderr
    );
}

#[test]
fn what_json_prints_passes_a_server_side_dry_run() {
    let cluster = ControlPlane::shared();
    let scratch = Scratch::new();
    let file = scratch.path().join("list.json");
    for name in ["v2-vm", "huge-pages", "swap"] {
        fs::write(&file, replay(&host(name), "json").stdout).expect("a file");
        let created = cluster.kubectl(&[
            "create",
            "--dry-run=server",
            "-f",
            &file.display().to_string(),
        ]);
        assert!(
            created.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&created.stderr)
        );
    }
}

#[test]
fn one_round_against_a_real_apiserver_registers_then_has_nothing_new_to_say() {
    let cluster = ControlPlane::shared();
    let name = "sync-once-node";
    let kubeconfig = cluster.node_kubeconfig(name);
    let round = |output: &str| {
        Nodelet::new()
            .args([
                "--sync-once",
                "--role",
                "owner",
                "--node-name",
                name,
                "-o",
                output,
                "--kubeconfig",
            ])
            .arg(&kubeconfig)
            .run(TIMEOUT)
    };
    let first = round("patch");
    assert!(first.status.success(), "{}", first.stderr);
    let sent = first.lines();
    assert_eq!(
        sent.iter().map(|line| &line["verb"]).collect::<Vec<_>>(),
        ["create", "create"]
    );
    let node = cluster.admin().get(&format!("/api/v1/nodes/{name}")).ok();
    assert_eq!(
        sent[1]["body"]["metadata"]["ownerReferences"][0]["uid"],
        node["metadata"]["uid"]
    );
    assert_eq!(node["status"]["conditions"][3]["status"], "True");

    let diff = round("diff");
    assert!(diff.status.success(), "{}", diff.stderr);
    assert_eq!(diff.stdout, "", "nothing but clockwork differs");

    let dry = Nodelet::new()
        .args([
            "--sync-once",
            "--dry-run",
            "--role",
            "owner",
            "--node-name",
            "never",
            "--kubeconfig",
        ])
        .arg(&kubeconfig)
        .run(TIMEOUT);
    assert_eq!(
        dry.status.code(),
        Some(1),
        "another's Node cannot even be read: {}",
        dry.stderr
    );
}
