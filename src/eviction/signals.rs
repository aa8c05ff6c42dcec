//! What the eviction signals are at one instant (`pkg/kubelet/eviction/helpers.go`, `makeSignalObservations`).
//!
//! It only looks; what the figures mean is decided in [`super::state`]. A figure that the host did not give makes no
//! observation, never one of 0.

use super::thresholds::Signal;
use crate::gather::Snapshot;
use crate::host::filesystem::Filesystem;

/// Which pressures are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pressures {
    /// `MemoryPressure`.
    pub memory: bool,
    /// `DiskPressure`.
    pub disk: bool,
    /// `PIDPressure`.
    pub pid: bool,
}

/// How much of a resource is left, in the unit of its signal: bytes, inodes or PIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// What is left, never below 0.
    pub available: i128,
    /// All there is.
    pub capacity: i128,
}

/// The signals that could be observed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observations(Vec<(Signal, Observation)>);

impl Observations {
    /// The observation of `signal`, where there is one.
    pub fn get(&self, signal: Signal) -> Option<Observation> {
        self.0
            .iter()
            .find(|(known, _)| *known == signal)
            .map(|(_, observation)| *observation)
    }

    /// Whether nothing could be observed at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn note(&mut self, signal: Signal, available: u64, capacity: u64) {
        let observation = Observation {
            available: available.into(),
            capacity: capacity.into(),
        };
        self.0.push((signal, observation));
    }
}

impl FromIterator<(Signal, Observation)> for Observations {
    fn from_iter<I: IntoIterator<Item = (Signal, Observation)>>(observed: I) -> Self {
        Self(observed.into_iter().collect())
    }
}

/// What the snapshot says of each signal. `allocatableMemory.available` needs the cgroup of the pods, which a node
/// without a pod loop does not have.
pub fn observe(snapshot: &Snapshot) -> Observations {
    let mut observations = Observations::default();
    if let Some((available, total)) = memory(snapshot) {
        observations.note(Signal::MemoryAvailable, available, total);
    }
    if let Some(filesystem) = snapshot.root_filesystem.get() {
        let signals = (Signal::NodefsAvailable, Signal::NodefsInodesFree);
        note_filesystem(&mut observations, signals, filesystem);
    }
    if let Some(filesystem) = snapshot
        .image_filesystem
        .as_ref()
        .and_then(|reading| reading.get())
    {
        let signals = (Signal::ImagefsAvailable, Signal::ImagefsInodesFree);
        note_filesystem(&mut observations, signals, filesystem);
    }
    if let Some(pids) = snapshot.pids.get()
        && let Some(limit) = pids.limit
    {
        observations.note(
            Signal::PidAvailable,
            limit.saturating_sub(pids.tasks),
            limit,
        );
    }
    observations
}

/// Memory left and in all, bytes. The root cgroup's working set counts, unless it cannot be true: a usage above
/// `MemTotal` comes from counters of dead cgroups or of another machine's view, and `MemAvailable` stands in for it.
fn memory(snapshot: &Snapshot) -> Option<(u64, u64)> {
    let memory = snapshot.memory.get()?;
    let total = memory.total_bytes;
    let believable = snapshot
        .root_memory
        .get()
        .filter(|root| root.usage_bytes <= total);
    let available = match believable {
        Some(root) => total.saturating_sub(root.working_set_bytes()),
        None => memory.available_bytes?.min(total),
    };
    Some((available, total))
}

fn note_filesystem(
    observations: &mut Observations,
    (bytes, inodes): (Signal, Signal),
    filesystem: &Filesystem,
) {
    if filesystem.capacity_bytes > 0 {
        let available = left(filesystem.available_bytes, filesystem.capacity_bytes);
        observations.note(bytes, available, filesystem.capacity_bytes);
    }
    // A filesystem that makes inodes as it needs them has no number of them to run out of.
    if filesystem.inodes > 0 {
        let free = left(filesystem.inodes_free, filesystem.inodes);
        observations.note(inodes, free, filesystem.inodes);
    }
}

/// More left than there is means that the kernel went below zero: the reserved blocks of a full ext4 are in use.
fn left(available: u64, capacity: u64) -> u64 {
    if available > capacity { 0 } else { available }
}

#[cfg(test)]
mod tests {
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
            let available =
                seen(&snapshot, Signal::MemoryAvailable).map(|(available, _)| available);
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
}
