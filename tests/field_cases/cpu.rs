//! Online CPUs.

use crate::support::recording::Recording;
use crate::{capacity, stored_node};
use serde_json::{Value, json};

const ONLINE: &str = "sys/devices/system/cpu/online";

fn cpus(recording: &Recording) -> Value {
    capacity(&recording.node(), "cpu")
}

/// Four blocks without `core id` and `physical id`, as on arm64.
fn arm64_cpuinfo() -> String {
    (0..4).fold(String::new(), |text, cpu| {
        format!("{text}processor\t: {cpu}\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\n")
    })
}

/// The topology of four CPUs in sockets, without any `cpuN/online` file, cache directory or NUMA node.
fn topology(recording: Recording, sockets: [u32; 4]) -> Recording {
    sockets
        .iter()
        .enumerate()
        .fold(recording, |recording, (cpu, socket)| {
            let directory = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            recording
                .file(&format!("{directory}/core_id"), format!("{cpu}\n"))
                .file(
                    &format!("{directory}/physical_package_id"),
                    format!("{socket}\n"),
                )
        })
}

#[test]
fn c10_s390x_describes_its_processors_otherwise() {
    let cpuinfo = "vendor_id       : IBM/S390\n# processors    : 4\nbogomips per cpu: 3033.00\nmax thread id   : 0\n\
                   features\t: esan3 zarch stfle msa\n\
                   cache0          : level=1 type=Data scope=Private size=128K line_size=256 associativity=8\n\
                   processor 0: version = FF,  identification = 000001,  machine = 2964\n\
                   processor 1: version = FF,  identification = 000001,  machine = 2964\n\
                   processor 2: version = FF,  identification = 000001,  machine = 2964\n\
                   processor 3: version = FF,  identification = 000001,  machine = 2964\n\n\
                   cpu number      : 0\ncpu MHz static  : 5000\n\ncpu number      : 1\ncpu MHz static  : 5000\n\n\
                   cpu number      : 2\ncpu MHz static  : 5000\n\ncpu number      : 3\ncpu MHz static  : 5000\n\n";
    let recording = Recording::new().file("proc/cpuinfo", cpuinfo).fact(
        "uname",
        json!({"sysname": "Linux", "release": "6.1.0", "machine": "s390x"}),
    );
    assert_eq!(cpus(&recording), "4");
    let node = recording.without(ONLINE).node();
    assert_eq!(capacity(&node, "cpu"), "4");
    assert_eq!(node["status"]["nodeInfo"]["architecture"], "s390x");
}

#[test]
fn c11_the_block_of_the_board_is_no_cpu() {
    let cpuinfo = "processor\t: 0\nmodel name\t: ARMv7 Processor rev 4 (v7l)\nBogoMIPS\t: 89.60\nCPU part\t: 0xd03\n\n\
                   processor\t: 1\nmodel name\t: ARMv7 Processor rev 4 (v7l)\nBogoMIPS\t: 89.60\nCPU part\t: 0xd03\n\n\
                   Hardware\t: BCM2835\nRevision\t: a00000\nSerial\t\t: 0000000000000000\n";
    let node = Recording::new()
        .file("proc/cpuinfo", cpuinfo)
        .without(ONLINE)
        .fact(
            "uname",
            json!({"sysname": "Linux", "release": "6.1.0", "machine": "armv7l"}),
        )
        .node();
    assert_eq!(capacity(&node, "cpu"), "2");
    assert_eq!(node["status"]["nodeInfo"]["architecture"], "arm");
}

#[test]
fn c13_no_core_and_package_in_cpuinfo() {
    let recording = topology(Recording::new(), [0; 4]).file("proc/cpuinfo", arm64_cpuinfo());
    assert_eq!(cpus(&recording), "4");
    assert_eq!(cpus(&recording.without(ONLINE)), "4");
}

#[test]
fn c14_a_cpu_without_an_online_file_is_online() {
    let recording = topology(Recording::new(), [0; 4]);
    assert_eq!(cpus(&recording), "4");
    let stderr = recording.replay("json").stderr;
    assert!(!stderr.contains("cpu"), "{stderr}");
}

#[test]
fn c16_a_list_with_more_than_one_range() {
    for (online, count) in [
        ("0-2,4-23\n", "23"),
        ("0", "1"),
        ("0,2-3", "3"),
        ("0-3\n", "4"),
    ] {
        let recording = Recording::new().file(ONLINE, online);
        assert_eq!(cpus(&recording), count, "{online:?}");
    }
    // An empty list can be read, but no machine runs without a CPU.
    let finished = Recording::new().file(ONLINE, "\n").replay("json");
    assert_eq!(finished.status.code(), Some(1));
    assert_eq!(capacity(&finished.list()[0], "cpu"), Value::Null);
}

#[test]
fn c17_cpus_and_memory_that_come_and_go_are_reported_at_once() {
    let at_start = Recording::new();
    let stored = stored_node(&at_start.node()["status"]);
    let patch = at_start
        .stored(&stored)
        .file(ONLINE, "0-1,3\n")
        .file(
            "proc/meminfo",
            "MemTotal: 9000000 kB\nMemAvailable: 7000000 kB\n",
        )
        .patch();
    assert_eq!(
        patch["status"]["capacity"],
        json!({"cpu": "3", "memory": "9000000Ki"})
    );
    assert_eq!(
        patch["status"]["allocatable"],
        json!({"cpu": "3", "memory": "8897600Ki"})
    );
}

#[test]
fn c19_no_level_3_cache() {
    let recording = topology(Recording::new(), [0, 0, 1, 1]);
    assert_eq!(cpus(&recording), "4");
    assert_eq!(recording.replay("json").status.code(), Some(0));
}

#[test]
fn c20_cores_with_one_thread_and_with_two() {
    let cores = [16, 8, 8, 20, 24, 16];
    let recording = cores.iter().enumerate().fold(
        Recording::new().file(ONLINE, "0-5\n"),
        |recording, (cpu, core)| {
            let directory = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            recording
                .file(&format!("{directory}/core_id"), format!("{core}\n"))
                .file(&format!("{directory}/physical_package_id"), "0\n")
        },
    );
    assert_eq!(cpus(&recording), "6");
}
