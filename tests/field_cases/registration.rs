//! Labels at registration, and equal output for equal input.

use crate::support::recording::{Recording, interface};
use serde_json::{Value, json};

#[test]
fn c118_labels_that_a_node_may_not_set_are_refused_at_start() {
    for (key, value) in [
        ("node-role.kubernetes.io/worker", ""),
        ("example.com.node-restriction.kubernetes.io/group", "a"),
        ("foo.k8s.io/x", "y"),
    ] {
        let refused = Recording::new()
            .setting("nodeLabels", json!({key: value}))
            .replay("patch");
        assert_eq!(
            (refused.status.code(), refused.stdout.as_str()),
            (Some(2), ""),
            "{key}"
        );
        for said in [
            key,
            "kubelet.kubernetes.io",
            "node.kubernetes.io",
            "topology.kubernetes.io/zone",
        ] {
            assert!(refused.stderr.contains(said), "{key}: {}", refused.stderr);
        }
    }
    for (key, value) in [
        ("node.kubernetes.io/pool", "a"),
        ("sub.kubelet.kubernetes.io/x", "y"),
        ("topology.kubernetes.io/zone", "z1"),
        ("example.com/x", "y"),
    ] {
        let node = Recording::new()
            .setting("nodeLabels", json!({key: value}))
            .node();
        assert_eq!(node["metadata"]["labels"][key], value);
    }
    let both = json!({"foo.k8s.io/x": "y", "node-role.kubernetes.io/worker": ""});
    let refused = Recording::new()
        .setting("nodeLabels", both)
        .replay("patch")
        .stderr;
    assert!(
        refused.contains("foo.k8s.io/x") && refused.contains("node-role.kubernetes.io/worker"),
        "{refused}"
    );
}

/// Everything that has an order where it comes from, in twenty orders.
#[test]
fn c121_the_order_of_the_input_does_not_show() {
    let image = |number: u32| json!({"id": format!("sha256:{number}"), "repoTags": [format!("registry.example.com/i{number}:v1")], "size": 1000});
    let handler = |name: &str| json!({"name": name, "recursiveReadOnlyMounts": true});
    let mut images: Vec<Value> = (0..10).map(image).collect();
    let mut handlers: Vec<Value> = ["", "runc", "kata", "gvisor", "youki"].map(handler).into();
    let mut interfaces = vec![
        interface("eth0", &["192.0.2.13"]),
        interface("docker0", &["198.51.100.1"]),
        interface("eth0.5", &["fe80::1"]),
    ];
    let mut cpus = ["0", "1", "2-3", "5", "7"];
    let mut recording = Recording::new().fact("lookups", json!({"n1": ["192.0.2.13"]}));
    let mut previous = None;
    for round in 0..20 {
        images.rotate_left(1 + round % 3);
        handlers.rotate_left(1);
        interfaces.rotate_left(1);
        cpus.rotate_left(1);
        if round % 2 == 1 {
            images.reverse();
        }
        let runtime = json!({"images": images, "status": {"runtimeHandlers": handlers}});
        recording = recording
            .fact("cri", runtime)
            .fact("interfaces", json!(interfaces))
            .file("sys/devices/system/cpu/online", cpus.join(","));
        let printed = recording.replay("json").stdout;
        assert_eq!(
            previous.as_ref().unwrap_or(&printed),
            &printed,
            "round {round}"
        );
        previous = Some(printed);
    }
}
