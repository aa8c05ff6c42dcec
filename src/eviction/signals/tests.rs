use super::{Observation, observe};
use crate::eviction::thresholds::Signal;
use crate::gather::{Reading, Snapshot};
use crate::host::cgroup::{Hierarchy, RootMemory};
use crate::host::filesystem::Filesystem;
use crate::host::memory::Memory;
use crate::host::pids::Pids;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn filesystem(available: u64, capacity: u64, inodes_free: u64, inodes: u64) -> Filesystem {
    Filesystem {
        available_bytes: available,
        capacity_bytes: capacity,
        inodes_free,
        inodes,
        ..Filesystem::default()
    }
}

fn memory(total_kib: u64, available_kib: Option<u64>, root: Option<(u64, u64)>) -> Snapshot {
    Snapshot {
        memory: Reading::of(Memory {
            total_bytes: total_kib * 1024,
            available_bytes: available_kib.map(|kib| kib * 1024),
            ..Memory::default()
        }),
        root_memory: root.map_or_else(Reading::default, |(usage, inactive)| {
            Reading::of(RootMemory {
                hierarchy: Hierarchy::V1,
                usage_bytes: usage,
                inactive_file_bytes: inactive,
            })
        }),
        ..Snapshot::default()
    }
}

fn seen(snapshot: &Snapshot, signal: Signal) -> Option<(i128, i128)> {
    observe(snapshot).get(signal).map(
        |Observation {
             available,
             capacity,
         }| (available, capacity),
    )
}

#[test]
fn test_make_signal_observations() {
    let snapshot = Snapshot {
        root_filesystem: Reading::of(filesystem(1024, 2048, 1024, MIB)),
        image_filesystem: Some(Reading::of(filesystem(MIB, 2 * MIB, 1024, MIB))),
        pids: Reading::of(Pids {
            limit: Some(255_816),
            tasks: 1000,
        }),
        ..memory(2 << 20, None, Some((GIB, 0)))
    };
    let (mib, gib) = (i128::from(MIB), i128::from(GIB));
    for (signal, expected) in [
        (Signal::MemoryAvailable, Some((gib, 2 * gib))),
        (Signal::NodefsAvailable, Some((1024, 2048))),
        (Signal::NodefsInodesFree, Some((1024, mib))),
        (Signal::ImagefsAvailable, Some((mib, 2 * mib))),
        (Signal::ImagefsInodesFree, Some((1024, mib))),
        (Signal::PidAvailable, Some((254_816, 255_816))),
        (Signal::AllocatableMemoryAvailable, None),
    ] {
        assert_eq!(seen(&snapshot, signal), expected, "{signal:?}");
    }
}

#[test]
fn what_the_host_does_not_say_is_not_observed() {
    assert!(observe(&Snapshot::default()).is_empty());
    let no_inodes = Snapshot {
        root_filesystem: Reading::of(filesystem(1, 2, 0, 0)),
        ..Snapshot::default()
    };
    assert_eq!(seen(&no_inodes, Signal::NodefsInodesFree), None);
    assert_eq!(
        seen(&memory(1024, None, None), Signal::MemoryAvailable),
        None
    );
}

#[test]
fn c64_pids_without_a_limit_cannot_run_short() {
    let pids = |limit| Snapshot {
        pids: Reading::of(Pids {
            limit,
            tasks: 31_000,
        }),
        ..Snapshot::default()
    };
    assert_eq!(seen(&pids(None), Signal::PidAvailable), None);
    assert_eq!(
        seen(&pids(Some(30_000)), Signal::PidAvailable),
        Some((0, 30_000))
    );
}

#[test]
fn c08_c122_a_usage_that_cannot_be_true_gives_way_to_mem_available() {
    let kib = |n: i128| n * 1024;
    for (case, snapshot, expected) in [
        (
            "C08",
            memory(262_144, Some(173_640), Some((719_504 * 1024, 0))),
            kib(173_640),
        ),
        (
            "C122 a",
            memory(
                134_217_728,
                Some(100_000_000),
                Some((2_148_104_375_149_318_144, 0)),
            ),
            kib(100_000_000),
        ),
        (
            "C122 b",
            memory(8_000_000, Some(6_000_000), Some((9_663_676_416, 0))),
            kib(6_000_000),
        ),
        (
            "available above the total",
            memory(1000, Some(2000), None),
            kib(1000),
        ),
        (
            "cache larger than usage",
            memory(1000, None, Some((500, 600))),
            kib(1000),
        ),
    ] {
        let available = seen(&snapshot, Signal::MemoryAvailable).map(|(available, _)| available);
        assert_eq!(available, Some(expected), "{case}");
    }
}

#[test]
fn c35_available_blocks_below_zero_are_none() {
    let snapshot = Snapshot {
        root_filesystem: Reading::of(filesystem(u64::MAX - 4095, 1 << 40, 5, 10)),
        ..Snapshot::default()
    };
    assert_eq!(seen(&snapshot, Signal::NodefsAvailable), Some((0, 1 << 40)));
}
