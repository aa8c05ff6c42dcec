//! Configuration out of files: which are read, in which order, and what is said of those that are wrong.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use clap::Parser;
use nodelet::cli::{Cli, Environment};
use nodelet::config::effective::effective_yaml;
use nodelet::config::merge::load;
use nodelet::config::settings::{Role, Settings};
use serde_json::json;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A directory with these files, and directories where a name has a slash.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = TempDir::new().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

fn cli(arguments: &[&str]) -> Cli {
    Cli::try_parse_from(["nodelet"].iter().chain(arguments)).unwrap()
}

fn path(directory: &TempDir, name: &str) -> String {
    directory.path().join(name).display().to_string()
}

/// What is loaded with these arguments; faults are shown without the directory.
fn loaded(directory: &TempDir, arguments: &[&str]) -> Result<Settings, Vec<String>> {
    load(&cli(arguments), &Environment::default(), None).map_err(|faults| {
        let prefix = format!("{}/", directory.path().display());
        faults
            .iter()
            .map(|fault| fault.to_string().replace(&prefix, ""))
            .collect()
    })
}

#[test]
fn the_example_is_the_default() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/nodelet.yaml");
    let cli = cli(&["--config", &example.display().to_string()]);
    assert_eq!(
        load(&cli, &Environment::default(), None).unwrap(),
        Settings::default()
    );
}

#[test]
fn drop_ins_are_laid_over_the_file_in_the_order_of_their_names() {
    let files = directory(&[
        (
            "nodelet.yaml",
            "maxPods: 1\nrole: owner\nnodeLabels: {a: file, b: file}\n",
        ),
        ("d/20-last.yaml", "maxPods: 20\nnodeLabels: {c: last}\n"),
        (
            "d/10-first.yaml",
            "maxPods: 10\npodsPerCore: 10\nnodeLabels: {b: first, c: first}\n",
        ),
        ("d/30.yml", "maxPods: 30\n"),
        ("d/40.conf", "maxPods: 40\n"),
        ("d/50.yaml.bak", "maxPods: 50\n"),
        ("d/.60.yaml", "maxPods: 60\n"),
    ]);
    let (file, drop_ins) = (path(&files, "nodelet.yaml"), path(&files, "d"));
    let settings = loaded(&files, &["--config", &file, "--config-dir", &drop_ins]).unwrap();
    assert_eq!(
        (settings.max_pods, settings.pods_per_core, settings.role),
        (20, 10, Role::Owner)
    );
    let labels: Vec<_> = settings
        .node_labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(labels, ["a=file", "b=first", "c=last"]);
}

#[test]
fn the_faults_of_all_files_are_reported_at_once() {
    let files = directory(&[
        (
            "a.yaml",
            "maxPods: many\n\nmaxPodz: 1\nevictionSoft:\n  memory.available: 1Gi\n",
        ),
        (
            "d/1.yaml",
            "nodeIP: fe80::1\nregisterWithTaints:\n- key: a\n  effect: b\n",
        ),
        ("d/2.yaml", "role: owner\nport: [\n"),
    ]);
    let (file, drop_ins) = (path(&files, "a.yaml"), path(&files, "d"));
    let faults = loaded(
        &files,
        &[
            "--config",
            &file,
            "--config-dir",
            &drop_ins,
            "--node-name",
            "a_b",
        ],
    );
    let faults = faults.unwrap_err();
    let expected = [
        "--node-name: nodeName: \"a_b\" cannot be the name of a Node",
        "a.yaml:1: maxPods: must be a whole number, not \"many\"",
        "a.yaml:3: maxPodz: unknown key; did you mean maxPods?",
        "a.yaml:5: evictionSoft.memory.available: grace period must be specified",
        "d/1.yaml:1: nodeIP: nodeIP can't be a link-local unicast address: fe80::1",
        "d/1.yaml:4: registerWithTaints[0].effect: must be one of",
        "d/2.yaml:2: not YAML: ",
    ];
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault} is not {expected}");
    }
}

#[test]
fn what_cannot_be_read_is_a_fault() {
    let files = directory(&[("latin1.yaml", "")]);
    fs::write(files.path().join("latin1.yaml"), b"nodeName: \xe4\n").unwrap();
    let (absent, latin1) = (path(&files, "absent"), path(&files, "latin1.yaml"));
    let faults = loaded(&files, &["--config", &latin1, "--config-dir", &absent]).unwrap_err();
    assert_eq!(faults[1], "latin1.yaml: cannot be read: not UTF-8");
    assert!(
        faults[0].starts_with("absent: cannot be read: No such file"),
        "{faults:?}"
    );
    let faults = loaded(&files, &["--config", &absent]).unwrap_err();
    assert!(
        faults[0].starts_with("absent: cannot be read: No such file"),
        "{faults:?}"
    );
    let directory = files.path().display().to_string();
    assert_eq!(
        loaded(&files, &["--config", &directory]).unwrap_err().len(),
        1
    );
}

#[test]
fn a_recordings_settings_lie_below_a_configuration_file() {
    let files = directory(&[("nodelet.yaml", "maxPods: 7\n")]);
    let file = path(&files, "nodelet.yaml");
    let recorded = json!({"maxPods": 5, "podsPerCore": 2});
    let pods = |arguments: &[&str]| {
        let arguments = ["--sync-once", "--replay", "recording"]
            .iter()
            .chain(arguments);
        let cli = Cli::try_parse_from(["nodelet"].iter().chain(arguments)).unwrap();
        let settings = load(&cli, &Environment::default(), Some(&recorded)).unwrap();
        (settings.max_pods, settings.pods_per_core)
    };
    assert_eq!(pods(&[]), (5, 2));
    assert_eq!(pods(&["--config", &file]), (7, 2));
    let wrong = json!({"maxPods": -1, "bogus": true});
    let faults = load(
        &cli(&["--sync-once", "--replay", "r"]),
        &Environment::default(),
        Some(&wrong),
    );
    let faults: Vec<_> = faults
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        faults,
        [
            "recording.json: bogus: unknown key",
            "recording.json: maxPods: must be from 0 to 2147483647, not -1",
        ]
    );
}

#[test]
fn the_effective_configuration_is_a_file_again() {
    let files = directory(&[(
        "nodelet.yaml",
        "maxPods: 7\nevictionHard: {memory.available: 10.5%}\nport: 10250\n",
    )]);
    let file = path(&files, "nodelet.yaml");
    let settings = loaded(
        &files,
        &["--config", &file, "--node-name", "N1", "--role", "owner"],
    )
    .unwrap();
    assert_eq!(settings.node_name.as_deref(), Some("n1"));
    fs::write(
        files.path().join("effective.yaml"),
        effective_yaml(&settings),
    )
    .unwrap();
    let effective = path(&files, "effective.yaml");
    assert_eq!(loaded(&files, &["--config", &effective]), Ok(settings));
}
