//! PIDs, the root cgroup, pressure stall information. What is not in a Node shows in the condition that it decides.

use crate::support::recording::Recording;
use crate::{assert_pressures, capacity, condition};

const PID_MAX: &str = "proc/sys/kernel/pid_max";
const THREADS_MAX: &str = "proc/sys/kernel/threads-max";
const LOADAVG: &str = "proc/loadavg";

/// A host on cgroup v1.
fn v1(usage: &str, stat: &str) -> Recording {
    Recording::new()
        .without("sys/fs/cgroup/cgroup.controllers")
        .without("sys/fs/cgroup/memory.stat")
        .file("sys/fs/cgroup/memory/memory.usage_in_bytes", usage)
        .file("sys/fs/cgroup/memory/memory.stat", stat)
}

#[test]
fn c64_the_lesser_of_the_limits() {
    let host = || Recording::new().file(LOADAVG, "0.50 0.40 0.30 3/20000 123456\n");
    let of_30000 = [
        ("10000", "False"),
        ("10001", "True"),
        ("33%", "False"),
        ("34%", "True"),
    ];
    let both = host()
        .file(PID_MAX, "4194304\n")
        .file(THREADS_MAX, "30000\n");
    assert_pressures(both, "PIDPressure", "pid.available", &of_30000);
    let other = host()
        .file(PID_MAX, "4194304\n")
        .file(THREADS_MAX, "30000\n");
    assert_pressures(
        other.error("/proc/sys/kernel/pid_max", "EACCES"),
        "PIDPressure",
        "pid.available",
        &of_30000,
    );
    let only_pid_max = host().file(PID_MAX, "30000\n");
    assert_pressures(only_pid_max, "PIDPressure", "pid.available", &of_30000);
    assert_pressures(
        host(),
        "PIDPressure",
        "pid.available",
        &[("1", "False"), ("100%", "False")],
    );
}

#[test]
fn c65_more_tasks_than_16_bits_hold() {
    let recording = Recording::new()
        .file(LOADAVG, "0.50 0.40 0.30 3/70000 123456\n")
        .file(PID_MAX, "75000\n")
        .file(THREADS_MAX, "4194304\n");
    let rows = [("5000", "False"), ("5001", "True")];
    assert_pressures(recording, "PIDPressure", "pid.available", &rows);
}

/// Usage is `anon` and `file`; 8000000 KiB without the 3000000 bytes of them that are not inactive files are left.
#[test]
fn c67_the_root_of_v2_has_no_usage_of_its_own() {
    let recording = Recording::new().file(
        "sys/fs/cgroup/memory.stat",
        "anon 1000000\nfile 5000000\ninactive_file 3000000\n",
    );
    assert_eq!(recording.replay("json").status.code(), Some(0));
    let rows = [("8189000000", "False"), ("8189000001", "True")];
    assert_pressures(recording, "MemoryPressure", "memory.available", &rows);
}

#[test]
fn c68_more_inactive_files_than_usage() {
    let recording = v1("3233787904\n", "total_inactive_file 3827683328\n");
    let node = recording.node();
    assert_eq!(capacity(&node, "memory"), "8000000Ki");
    assert_eq!(capacity(&node, "ephemeral-storage"), "4000000Ki");
    let rows = [("8000000Ki", "False"), ("8000001Ki", "True")];
    assert_pressures(recording, "MemoryPressure", "memory.available", &rows);
}

#[test]
fn c70_no_limit_is_the_memory_of_the_machine() {
    let meminfo = "MemTotal: 129000000 kB\nMemAvailable: 100000000 kB\n";
    for recording in [
        Recording::new().file("sys/fs/cgroup/memory.max", "max\n"),
        v1("1000000\n", "total_inactive_file 0\n").file(
            "sys/fs/cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        ),
    ] {
        let node = recording.file("proc/meminfo", meminfo).node();
        assert_eq!(capacity(&node, "memory"), "129000000Ki");
        assert_eq!(condition(&node, "MemoryPressure"), "False");
    }
}

#[test]
fn c71_pressure_that_is_not_reported_is_no_failure() {
    let some = "some avg10=0.10 avg60=0.21 avg300=0.25 total=73759571709\n";
    for recording in [
        Recording::new()
            .file("proc/pressure/cpu", some)
            .error("/proc/pressure/cpu", "EOPNOTSUPP"),
        Recording::new().file("proc/pressure/cpu", some),
        Recording::new()
            .file("proc/pressure/cpu", some)
            .error("/proc/pressure/irq", "ENOENT"),
        Recording::new(),
    ] {
        let finished = recording.replay("json");
        assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
        assert!(!finished.stderr.contains("pressure"), "{}", finished.stderr);
        assert_eq!(condition(&finished.list()[0], "Ready"), "True");
    }
}

/// (a) a working set of 2 EiB, (b) a usage above all memory: neither can be true, and 76 % and 75 % are available.
#[test]
fn c122_a_usage_that_cannot_be_true() {
    let a = v1("2148104375149318144\n", "total_inactive_file 0\n").file(
        "proc/meminfo",
        "MemTotal: 134217728 kB\nMemAvailable: 100000000 kB\n",
    );
    let b = v1("9663676416\n", "total_inactive_file 0\n").file(
        "proc/meminfo",
        "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\n",
    );
    for (recording, rows) in [
        (
            a,
            [
                ("100Mi", "False"),
                ("100000000Ki", "False"),
                ("100000001Ki", "True"),
            ],
        ),
        (
            b,
            [
                ("100Mi", "False"),
                ("6000000Ki", "False"),
                ("6000001Ki", "True"),
            ],
        ),
    ] {
        assert_pressures(recording, "MemoryPressure", "memory.available", &rows);
    }
    // The same on v2, where the parts may add up to more than 64 bits.
    let v2 = Recording::new().file(
        "sys/fs/cgroup/memory.stat",
        format!("anon {0}\nfile {0}\ninactive_file 0\n", u64::MAX),
    );
    let rows = [("6000000Ki", "False"), ("6000001Ki", "True")];
    assert_pressures(v2, "MemoryPressure", "memory.available", &rows);
}
