//! Every fixture host, replayed by the real program, gives the Node that was worked out by hand from its files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that fails fails the test"
)]

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::nodelet::Nodelet;

fn hosts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hosts")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Where `actual` differs from `expected`, a line for each place.
fn differences(path: &str, expected: &Value, actual: &Value, lines: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left
                .keys()
                .chain(right.keys().filter(|key| !left.contains_key(*key)))
            {
                let of = |map: &serde_json::Map<String, Value>| {
                    map.get(key).cloned().unwrap_or_default()
                };
                differences(&format!("{path}/{key}"), &of(left), &of(right), lines);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                differences(&format!("{path}/{index}"), left, right, lines);
            }
        }
        _ if expected == actual => {}
        _ => lines.push(format!("{path}: expected {expected}, got {actual}")),
    }
}

fn check(host: &str) {
    let dir = hosts().join(host);
    let expected = json(&fs::read_to_string(dir.join("expected.json")).expect("expected.json"));
    let finished = Nodelet::new()
        .args(["--sync-once", "-o", "json", "--replay"])
        .arg(&dir)
        .run(Duration::from_secs(30));
    assert!(finished.status.success(), "{host}: {}", finished.stderr);
    let list = json(&finished.stdout);
    assert_eq!(list["kind"], "List", "{host}");
    let mut lines = Vec::new();
    differences("", &expected["node"], &list["items"][0], &mut lines);
    assert!(
        lines.is_empty(),
        "{host}:\n{}\n{}",
        lines.join("\n"),
        finished.stderr
    );
}

macro_rules! hosts {
    ($($test:ident: $host:literal,)*) => {
        const TESTED: &[&str] = &[$($host),*];
        $(
            #[test]
            fn $test() {
                check($host);
            }
        )*
    };
}

hosts! {
    arm64: "arm64",
    container_host: "container-host",
    dual_stack: "dual-stack",
    huge_pages: "huge-pages",
    hybrid: "hybrid",
    ipv6_only: "ipv6-only",
    numa2: "numa2",
    offline_cpus: "offline-cpus",
    s390x: "s390x",
    swap: "swap",
    this_machine: "this-machine",
    v1: "v1",
    v2_vm: "v2-vm",
}

#[test]
fn every_host_is_tested() {
    let mut found: Vec<String> = fs::read_dir(hosts())
        .expect("the hosts")
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().join("expected.json").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, TESTED);
}
