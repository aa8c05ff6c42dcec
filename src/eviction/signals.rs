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
mod tests;
