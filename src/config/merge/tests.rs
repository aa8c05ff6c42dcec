use super::*;
use crate::config::settings::Role;
use clap::Parser;

fn layer(source: &str, text: &str) -> Node {
    let mut faults = Vec::new();
    let node = file::read_yaml(source, text, &mut faults);
    assert!(faults.is_empty(), "{faults:?}");
    node
}

fn cli(arguments: &[&str]) -> Cli {
    Cli::try_parse_from(["nodelet"].iter().chain(arguments)).unwrap()
}

fn settings(layers: &[&str], arguments: &[&str], node_name: Option<&str>) -> Settings {
    let environment = Environment {
        node_name: node_name.map(str::to_owned),
        ..Environment::default()
    };
    let layers = layers.iter().map(|text| layer("f.yaml", text));
    Settings::validate(&merge(layers, &cli(arguments), &environment)).unwrap()
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let file = "{nodeName: file, role: owner}";
    let name = |layers: &[&str], arguments: &[&str], environment| {
        settings(layers, arguments, environment).node_name.unwrap()
    };
    assert_eq!(name(&[file], &[], None), "file");
    assert_eq!(name(&[file], &[], Some("environment")), "environment");
    assert_eq!(
        name(&[file], &["--node-name", "flag"], Some("environment")),
        "flag"
    );
    assert_eq!(settings(&[file], &[], None).role, Role::Owner);
    assert_eq!(
        settings(&[file], &["--role", "companion"], None).role,
        Role::Companion
    );
    assert_eq!(settings(&[], &[], None).role, Role::Auto);
}

#[test]
fn flags_that_no_file_can_say() {
    let environment = Environment {
        kubeconfig: Some("/from/environment".into()),
        ..Environment::default()
    };
    let settings =
        |arguments: &[&str]| Settings::validate(&merge([], &cli(arguments), &environment)).unwrap();
    let all = settings(&[
        "--root",
        "/host",
        "--kubeconfig",
        "/from/flag",
        "--takeover",
    ]);
    assert_eq!((all.root, all.takeover), ("/host".into(), true));
    assert_eq!(all.kubeconfig, Some("/from/flag".into()));
    let none = settings(&[]);
    assert_eq!((none.root, none.takeover), ("/".into(), false));
    assert_eq!(none.kubeconfig, Some("/from/environment".into()));
}

#[test]
fn a_later_layer_wins_key_by_key() {
    let merged = settings(
        &[
            "maxPods: 10\npodsPerCore: 1\nevictionHard: {memory.available: 1Gi, nodefs.available: 10%}\n\
             setters: {disable: [images]}\nnodeLabels: {a: '1'}\ntimeouts: {api: 1s, cri: 1s}",
            "maxPods: 20\nevictionHard: {memory.available: 2Gi}\nsetters: {disable: [ready]}\n\
             nodeLabels: {b: '2'}\ntimeouts: {api: 2s}\npodsPerCore: null",
            "nodeLabels:\n",
        ],
        &[],
        None,
    );
    assert_eq!((merged.max_pods, merged.pods_per_core), (20, 1));
    let hard: Vec<_> = merged
        .eviction_hard
        .iter()
        .map(|hard| format!("{}<{}", hard.signal, hard.value))
        .collect();
    assert_eq!(hard, ["memory.available<2Gi", "nodefs.available<10%"]);
    assert!(merged.setters_disabled.iter().eq(["ready"]));
    let labels: Vec<_> = merged.node_labels.into_iter().collect();
    assert_eq!(labels, [("a".into(), "1".into()), ("b".into(), "2".into())]);
    let seconds = std::time::Duration::from_secs;
    assert_eq!(
        (merged.timeouts.api, merged.timeouts.cri),
        (seconds(2), seconds(1))
    );
}

#[test]
fn a_fault_names_the_layer_that_the_value_came_from() {
    let layers = [
        layer(
            "base.yaml",
            "maxPods: -1\nport: 1\nevictionHard:\n  memory.available: 0\n",
        ),
        layer(
            "d/10.yaml",
            "\n\nport: 0\nevictionHard:\n  nodefs.available: 200%\n",
        ),
    ];
    let environment = Environment {
        node_name: Some("a_b".to_owned()),
        ..Environment::default()
    };
    let mut faults = Settings::validate(&merge(layers, &cli(&[]), &environment)).unwrap_err();
    faults.sort();
    let places: Vec<_> = faults
        .iter()
        .map(|fault| (fault.source.as_str(), fault.line, fault.key.as_str()))
        .collect();
    assert_eq!(
        places,
        [
            ("NODE_NAME", 0, "nodeName"),
            ("base.yaml", 1, "maxPods"),
            ("base.yaml", 4, "evictionHard.memory.available"),
            ("d/10.yaml", 3, "port"),
            ("d/10.yaml", 5, "evictionHard.nodefs.available"),
        ]
    );
    assert!(
        faults[0]
            .to_string()
            .starts_with("NODE_NAME: nodeName: \"a_b\" cannot be the name")
    );
}
