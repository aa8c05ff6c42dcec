use super::*;
use serde_json::json;

fn faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    read_yaml("f.yaml", text, &mut faults);
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn unknown_keys_are_named_with_the_nearest_known_one() {
    for (text, expected) in [
        (
            "maxpods: 1",
            "f.yaml:1: maxpods: unknown key; did you mean maxPods?",
        ),
        (
            "maxPod: 1",
            "f.yaml:1: maxPod: unknown key; did you mean maxPods?",
        ),
        (
            "nodeIp: x",
            "f.yaml:1: nodeIp: unknown key; did you mean nodeIP?",
        ),
        (
            "timeouts: {ctri: 1s}",
            "f.yaml:1: timeouts.ctri: unknown key; did you mean cri?",
        ),
        ("featureGates: {}", "f.yaml:1: featureGates: unknown key"),
        (
            "conditions:\n  memoryContention:\n    clearfor: 1s",
            "f.yaml:3: conditions.memoryContention.clearfor: unknown key; did you mean clearFor?",
        ),
        (
            "registerWithTaints:\n- key: a\n  effects: x",
            "f.yaml:3: registerWithTaints[0].effects: unknown key; did you mean effect?",
        ),
    ] {
        assert_eq!(faults(text), [expected]);
    }
}

#[test]
fn wrong_types_are_named() {
    for (text, expected) in [
        (
            "maxPods: many",
            "f.yaml:1: maxPods: must be a whole number, not \"many\"",
        ),
        (
            "maxPods: \"1\"",
            "f.yaml:1: maxPods: must be a whole number, not \"1\" in quotes",
        ),
        (
            "maxPods: 1.5",
            "f.yaml:1: maxPods: must be a whole number, not \"1.5\"",
        ),
        (
            "maxPods: [1]",
            "f.yaml:1: maxPods: must be a whole number, not a list",
        ),
        (
            "reRegister: yes",
            "f.yaml:1: reRegister: must be true or false, not \"yes\"",
        ),
        (
            "nodeName: {a: b}",
            "f.yaml:1: nodeName: must be a text, not a mapping",
        ),
        (
            "evictionHard: 100Mi",
            "f.yaml:1: evictionHard: must be a mapping, not \"100Mi\"",
        ),
        (
            "setters: {order: ready}",
            "f.yaml:1: setters.order: must be a list, not \"ready\"",
        ),
        ("- a", "f.yaml:1: must be a mapping, not a list"),
        (
            "kind: KubeletConfiguration",
            "f.yaml:1: kind: must be NodeletConfiguration, not \"KubeletConfiguration\"",
        ),
        (
            "apiVersion: v1",
            "f.yaml:1: apiVersion: must be nodelet/v1, not \"v1\"",
        ),
        (
            "nodeStatusUpdateFrequency: 10",
            "f.yaml:1: nodeStatusUpdateFrequency: time: missing unit in duration \"10\"",
        ),
        (
            "systemReserved: {memory: 1GB}",
            "f.yaml:1: systemReserved.memory: \"1GB\" is not a quantity: expected a number and a suffix",
        ),
    ] {
        let found = faults(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        let start = expected.split(" is not a quantity").next().unwrap();
        assert!(found[0].starts_with(start), "{text}: {found:?}");
    }
}

#[test]
fn all_faults_are_found_at_once() {
    let text =
        "maxPods: x\nbogus: 1\ntimeouts:\n  api: soon\n  api: 1s\nsystemReserved:\n  cpu: lots\n";
    let mut found = faults(text);
    found.sort();
    let lines: Vec<_> = found
        .iter()
        .map(|fault| fault.split(": ").take(2).collect::<Vec<_>>().join(": "))
        .collect();
    // The value of a key that was given twice is the last one, so the first is not judged.
    assert_eq!(
        lines,
        [
            "f.yaml:1: maxPods",
            "f.yaml:2: bogus",
            "f.yaml:5: timeouts.api",
            "f.yaml:7: systemReserved.cpu"
        ]
    );
}

#[test]
fn numbers_and_booleans_are_taken_as_texts_where_texts_are_wanted() {
    let text = "kind: NodeletConfiguration\napiVersion: nodelet/v1\nnodeName: 7\nsystemReserved: {cpu: 1, memory: 1Gi}\n\
                nodeLabels: {a: true, b: 1}\nevictionHard: {memory.available: 100}\nmaxPods:\nrole: null\n";
    assert_eq!(faults(text), [""; 0]);
}

#[test]
fn a_recordings_settings_are_read_by_the_same_rules() {
    let mut found = Vec::new();
    let json = json!({"maxPods": 5, "timeouts": {"api": "soon"}, "reRegister": "true", "bogus": 1});
    let node = read_json("recording.json", &json, &mut found);
    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "recording.json: bogus: unknown key",
            "recording.json: reRegister: must be true or false, not \"true\" in quotes",
            "recording.json: timeouts.api: time: invalid duration \"soon\"",
        ]
    );
    assert!(node.get("maxPods").is_some());
}

#[test]
fn distances() {
    for (a, b, expected) in [
        ("", "", 0),
        ("abc", "", 3),
        ("", "abc", 3),
        ("ABC", "abc", 0),
        ("kitten", "sitting", 3),
        ("ab", "ba", 2),
    ] {
        assert_eq!(distance(a, b), expected, "{a} {b}");
    }
}

#[test]
fn the_example_shows_every_key() {
    let example = include_str!("../../../config/nodelet.yaml");
    let Keys(keys) = CONFIGURATION else {
        panic!("the configuration has keys")
    };
    for (key, _) in keys {
        let shown = example.lines().any(|line| {
            line.trim_start_matches("# ")
                .starts_with(&format!("{key}:"))
        });
        assert!(shown, "{key}");
    }
}
