use super::{CHAIN, order, run};
use crate::config::settings::{SETTERS, Settings};
use crate::cri::{Image, RuntimeFeatures, RuntimeHandler, RuntimeStatus, RuntimeVersion};
use crate::gather::{Reading, RuntimeReadings, Snapshot};
use crate::host::cpu::CpuList;
use crate::host::filesystem::Filesystem;
use crate::host::memory::Memory;
use crate::host::network::Routes;
use crate::source::Uname;
use crate::status::testing::{World, interface};
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeSpec, NodeStatus, Taint};

fn names(settings: &Settings) -> Vec<&'static str> {
    order(settings).iter().map(|setter| setter.name).collect()
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A machine that answers everything.
fn world() -> World {
    let mut world = World::new();
    world.interfaces(&[interface("eth0", &["192.0.2.7/24"])]);
    world.settings.max_pods = 110;
    world.settings.port = Some(10250);
    world.settings.volume_limits = [("attachable-volumes-csi-x".to_owned(), 39)].into();
    let snapshot = &mut world.snapshot;
    snapshot.routes = Reading::of(Routes {
        v4: None,
        v6: vec![],
    });
    snapshot.cpus = Reading::of(CpuList::parse("0-1").unwrap());
    snapshot.memory = Reading::of(Memory {
        total_bytes: 1 << 30,
        ..Memory::default()
    });
    snapshot.root_filesystem = Reading::of(Filesystem {
        capacity_bytes: 1 << 30,
        ..Filesystem::default()
    });
    snapshot.huge_pages = Reading::of(vec![]);
    snapshot.machine_id = Reading::of("machine".to_owned());
    snapshot.system_uuid = Reading::of("uuid".to_owned());
    snapshot.boot_id = Reading::of("boot".to_owned());
    snapshot.os_image = Reading::of("Linux".to_owned());
    snapshot.uname = Reading::of(Uname {
        sysname: "Linux".to_owned(),
        release: "6.1.0".to_owned(),
        machine: "x86_64".to_owned(),
    });
    let runtime = world.runtime();
    runtime.version = Reading::of(RuntimeVersion {
        name: "containerd".to_owned(),
        version: "2.3.7".to_owned(),
    });
    runtime.status = Reading::of(RuntimeStatus {
        handlers: vec![RuntimeHandler::default()],
        features: Some(RuntimeFeatures::default()),
        ..RuntimeStatus::default()
    });
    runtime.images = Reading::of(vec![Image {
        repo_tags: vec!["a:v1".to_owned()],
        ..Image::default()
    }]);
    world
}

/// A Node with something of everything that is not a setter's.
fn stored() -> Node {
    let taint = Taint {
        key: "a".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    };
    let spec = NodeSpec {
        pod_cidr: Some("10.0.0.0/24".to_owned()),
        provider_id: Some("x://1".to_owned()),
        taints: Some(vec![taint]),
        unschedulable: Some(true),
        ..NodeSpec::default()
    };
    let foreign = NodeCondition {
        type_: "KernelDeadlock".to_owned(),
        status: "False".to_owned(),
        ..NodeCondition::default()
    };
    let status = NodeStatus {
        conditions: Some(vec![foreign]),
        volumes_in_use: Some(owned(&["foo"])),
        declared_features: Some(owned(&["X"])),
        phase: Some("Running".to_owned()),
        ..NodeStatus::default()
    };
    Node {
        spec: Some(spec),
        status: Some(status),
        ..Node::default()
    }
}

#[test]
fn the_chain_is_in_kubelet_s_order() {
    // Two names of the configuration stand for nothing that is written: the volumes in use are left alone, and
    // schedulability is only told in events.
    let written = SETTERS
        .into_iter()
        .filter(|name| !["volumesInUse", "schedulable"].contains(name));
    assert_eq!(
        CHAIN.map(|setter| setter.name).to_vec(),
        written.collect::<Vec<_>>()
    );
    assert!(
        !names(&Settings::default()).contains(&"volumeLimits"),
        "off unless asked for"
    );
    assert_eq!(names(&Settings::default()).len(), CHAIN.len() - 1);
}

#[test]
fn disabled_setters_are_left_out_and_ordered_ones_come_first() {
    let mut settings = Settings {
        setters_disabled: owned(&["volumeLimits", "volumesInUse", "images"])
            .into_iter()
            .collect(),
        setters_order: owned(&["ready", "goRuntime"]),
        ..Settings::default()
    };
    assert_eq!(
        names(&settings),
        [
            "goRuntime",
            "addresses",
            "machineInfo",
            "ready",
            "versionInfo",
            "daemonEndpoints",
            "runtimeHandlers",
            "nodeFeatures",
            "memoryPressure",
            "diskPressure",
            "pidPressure",
        ]
    );
    settings.setters_disabled.insert("machineInfo".to_owned());
    assert_eq!(names(&settings)[0], "ready", "nothing to wait for");
}

#[test]
fn nothing_but_the_status_is_touched() {
    let world = world();
    let before = stored();
    let mut node = before.clone();
    for (name, result) in run(&world.inputs(), &mut node, &order(&world.settings)) {
        assert_eq!(result, Ok(()), "{name}");
    }
    assert_eq!(node.spec, before.spec);
    assert_eq!(node.metadata, before.metadata);
    let (after, before) = (node.status.unwrap(), before.status.unwrap());
    assert_eq!(
        after.volumes_in_use, before.volumes_in_use,
        "TestVolumesInUse, not synced"
    );
    assert_eq!(after.declared_features, before.declared_features);
    assert_eq!(after.phase, before.phase);
    assert_eq!(after.conditions.unwrap()[0], before.conditions.unwrap()[0]);
}

#[test]
fn a_new_node_gets_its_conditions_in_kubelet_s_order() {
    let world = world();
    let mut node = Node::default();
    run(&world.inputs(), &mut node, &order(&world.settings));
    let conditions = node.status.unwrap().conditions.unwrap();
    let kinds: Vec<_> = conditions
        .iter()
        .map(|condition| condition.type_.as_str())
        .collect();
    assert_eq!(
        kinds,
        ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    );
}

#[test]
fn a_setter_that_fails_does_not_stop_the_others() {
    let mut world = world();
    world.snapshot = Snapshot {
        runtime: Some(RuntimeReadings::default()),
        ..Snapshot::default()
    };
    let mut node = Node::default();
    let results = run(&world.inputs(), &mut node, &order(&world.settings));
    let failed: Vec<_> = results
        .iter()
        .filter(|(_, result)| result.is_err())
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(
        failed,
        [
            "addresses",
            "machineInfo",
            "versionInfo",
            "images",
            "goRuntime",
            "runtimeHandlers",
            "nodeFeatures",
        ]
    );
    let conditions = node.status.unwrap().conditions.unwrap();
    assert_eq!(
        conditions.len(),
        4,
        "the conditions are posted all the same"
    );
}

#[test]
fn equal_input_gives_byte_equal_json() {
    let world = world();
    let mut once = Node::default();
    run(&world.inputs(), &mut once, &order(&world.settings));
    let mut again = once.clone();
    run(&world.inputs(), &mut again, &order(&world.settings));
    let text = |node: &Node| serde_json::to_string(node).unwrap();
    assert_eq!(text(&once), text(&again));
}

/// The value at an explanation's path: a JSON pointer, but a list element is found by its merge key.
fn at_path<'a>(node: &'a serde_json::Value, path: &str) -> Option<&'a serde_json::Value> {
    path.split('/')
        .skip(1)
        .try_fold(node, |value, part| match value {
            serde_json::Value::Array(items) => items.iter().find(|item| item["type"] == part),
            value => value.get(part),
        })
}

#[test]
fn what_is_explained_is_what_is_set() {
    let world = world();
    let before = Node::default();
    let mut node = before.clone();
    for setter in order(&world.settings) {
        let explained = (setter.explain)(&world.inputs(), &before);
        assert!(!explained.is_empty(), "{}", setter.name);
        (setter.set)(&world.inputs(), &mut node).unwrap();
        let json = serde_json::to_value(&node).unwrap();
        for explanation in explained {
            let found = at_path(&json, &explanation.path);
            assert!(
                found.is_some(),
                "{}: nothing at {}",
                setter.name,
                explanation.path
            );
        }
    }
    assert_eq!(CHAIN.len(), order(&world.settings).len());
}
