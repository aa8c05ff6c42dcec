//! What holds for every reader: whatever bytes its files hold, it answers, and never panics.

use super::fake::FakeSource;
use super::{cgroup, cpu, filesystem, hugepages, identity, memory, network, os, pids, pressure};
use proptest::prelude::*;

/// Every file that a reader asks for.
const FILES: [&str; 25] = [
    cpu::ONLINE,
    memory::MEMINFO,
    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
    filesystem::MOUNTINFO,
    network::ROUTE,
    network::IPV6_ROUTE,
    identity::MACHINE_ID[0],
    identity::MACHINE_ID[1],
    identity::SYSTEM_UUID[0],
    identity::SYSTEM_UUID[1],
    identity::SYSTEM_UUID[2],
    identity::BOOT_ID,
    os::OS_RELEASE[0],
    pids::PID_MAX,
    pids::THREADS_MAX,
    pids::LOADAVG,
    "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    "/sys/fs/cgroup/memory/memory.stat",
    "/sys/fs/cgroup/memory.current",
    "/sys/fs/cgroup/memory.stat",
    "/sys/fs/cgroup/unified/cgroup.controllers",
    "/proc/pressure/cpu",
    "/proc/pressure/memory",
    "/proc/pressure/io",
    "/proc/pressure/irq",
];

fn host(bytes: &[u8]) -> FakeSource {
    FILES
        .iter()
        .fold(FakeSource::new(), |source, path| source.file(path, bytes))
}

/// Asks every reader; what they say does not matter.
fn ask_all(source: &FakeSource) {
    let tracked = source.tracked();
    let _ = cpu::read(&tracked);
    let _ = memory::read(&tracked).map(|memory| memory.used_bytes());
    let _ = hugepages::read(&tracked);
    let _ = filesystem::read(&tracked, "/var/lib/kubelet");
    let _ = network::read(&tracked);
    let _ = identity::machine_id(&tracked);
    let _ = identity::system_uuid(&tracked);
    let _ = identity::boot_id(&tracked);
    let _ = os::read(&tracked);
    let _ = pids::read(&tracked);
    let _ = cgroup::read(&tracked).map(|memory| memory.working_set_bytes());
    let _ = pressure::read(&tracked);
}

/// Texts that resemble what the files hold, so that a parser is not left at its first check.
fn near_text() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just("MemTotal:"),
        Just("SwapFree:"),
        Just("kB"),
        Just("PRETTY_NAME="),
        Just("\""),
        Just("'"),
        Just("\\"),
        Just("\\0"),
        Just("\\377"),
        Just("some"),
        Just("full"),
        Just("avg10="),
        Just("avg60=."),
        Just("total="),
        Just("anon"),
        Just("file"),
        Just("total_inactive_file"),
        Just("Iface"),
        Just("eth0"),
        Just("00000000"),
        Just("00000000000000000000000000000000"),
        Just("18446744073709551615"),
        Just("18446744073709551616"),
        Just("0"),
        Just("1"),
        Just("-"),
        Just("/"),
        Just(":"),
        Just(","),
        Just("."),
        Just(" "),
        Just("\t"),
        Just("\n"),
        Just("\0"),
        Just("é"),
        Just("\u{2003}"),
    ];
    proptest::collection::vec(word, 0..60).prop_map(|words| words.concat().into_bytes())
}

proptest! {
    #[test]
    fn no_reader_panics_on_arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        ask_all(&host(&bytes));
        ask_all(&host(&bytes).file("/sys/fs/cgroup/cgroup.controllers", "memory"));
    }

    #[test]
    fn no_reader_panics_on_text_that_looks_right(bytes in near_text()) {
        ask_all(&host(&bytes));
        ask_all(&host(&bytes).file("/sys/fs/cgroup/cgroup.controllers", "memory"));
    }
}
