//! Inputs that no host has, but a broken disk or a hand may make: the program says so and never crashes.

use crate::capacity;
use crate::support::recording::{Recording, disk_of};
use serde_json::{Value, json};

const OUTPUTS: [&str; 6] = ["summary", "json", "yaml", "patch", "diff", "explain"];

const FILES: [&str; 17] = [
    "etc/machine-id",
    "etc/os-release",
    "proc/1/mountinfo",
    "proc/1/mounts",
    "proc/1/net/ipv6_route",
    "proc/1/net/route",
    "proc/loadavg",
    "proc/meminfo",
    "proc/pressure/cpu",
    "proc/sys/kernel/pid_max",
    "proc/sys/kernel/random/boot_id",
    "proc/sys/kernel/threads-max",
    "sys/class/dmi/id/product_uuid",
    "sys/devices/system/cpu/online",
    "sys/fs/cgroup/cgroup.controllers",
    "sys/fs/cgroup/memory.stat",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
];

#[test]
fn binary_garbage_in_every_file() {
    // Every byte and many pairs of them, without a pattern that a parser could take for something.
    let garbage: Vec<u8> = (0..5000_u32)
        .map(|i| (i * i * 31 + i * 7 + 255).to_le_bytes()[i as usize % 2])
        .collect();
    let recording = FILES.iter().fold(Recording::new(), |recording, path| {
        recording.file(path, &garbage)
    });
    for output in OUTPUTS {
        let finished = recording.replay(output);
        assert_eq!(
            finished.status.code(),
            Some(1),
            "{output}: {}",
            finished.stderr
        );
        for line in finished.stderr.lines() {
            assert!(line.len() < 4000, "a whole file in the log: {line}");
        }
    }
    let node = &recording.replay("json").list()[0];
    assert_eq!(node["status"]["nodeInfo"]["machineID"], "");
    assert_eq!(node["status"]["nodeInfo"]["bootID"], "");
    for resource in ["cpu", "memory", "hugepages-2Mi"] {
        assert_eq!(capacity(node, resource), Value::Null, "{resource}");
    }
}

#[test]
fn the_greatest_numbers_there_are() {
    let max = u64::MAX;
    let mut disk = disk_of(max, max);
    for key in [
        "blockSize",
        "fragmentSize",
        "blocksFree",
        "files",
        "filesFree",
    ] {
        disk[key] = json!(max);
    }
    let recording = Recording::new()
        .entry("statfs", "/", disk)
        .fact("cri", json!({"images": [{"id": "x", "repoTags": ["a:b"], "size": max}], "imageFs": [{"mountpoint": "/"}]}))
        .file("proc/meminfo", format!("MemTotal: {max} kB\nSwapTotal: {max} kB\nMemAvailable: {max} kB\n"))
        .file(&format!("sys/kernel/mm/hugepages/hugepages-{max}kB/nr_hugepages"), max.to_string())
        .file("proc/loadavg", format!("0 0 0 1/{max} 1\n"))
        .file("proc/sys/kernel/pid_max", max.to_string())
        .file("sys/fs/cgroup/memory.stat", format!("anon {max}\nfile {max}\ninactive_file {max}\n"));
    for output in OUTPUTS {
        let finished = recording.replay(output);
        assert_eq!(
            finished.status.code(),
            Some(0),
            "{output}: {}",
            finished.stderr
        );
    }
}

/// A damaged machine id is not published in place of the one that is known.
#[test]
fn an_identity_that_is_no_text_leaves_the_stored_one() {
    let stored =
        crate::stored_node(&json!({"nodeInfo": Recording::new().node()["status"]["nodeInfo"]}));
    let node = Recording::new()
        .stored(&stored)
        .file("etc/machine-id", b"\x01\x02\xff")
        .node();
    assert_eq!(
        node["status"]["nodeInfo"]["machineID"],
        "0123456789abcdef0123456789abcdef"
    );
}

#[test]
fn a_recording_of_nothing_has_no_node() {
    let mut recording = Recording::new();
    for key in [
        "takenAt",
        "hostname",
        "uname",
        "statfs",
        "interfaces",
        "settings",
    ] {
        recording = recording.without_fact(key);
    }
    let finished = recording.replay("json");
    assert_eq!(
        (finished.status.code(), finished.stdout.as_str()),
        (Some(1), "")
    );
    assert!(
        finished
            .stderr
            .contains("no node name: hostname: not in the recording"),
        "{}",
        finished.stderr
    );
}
