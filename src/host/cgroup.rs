//! Memory of the root cgroup, whichever of the three hierarchies the host has (kernel
//! `Documentation/admin-guide/cgroup-v1/memory.rst`, `cgroup-v2.rst`).

/// Which hierarchy holds the memory controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hierarchy {
    /// Only cgroup v1.
    V1,
    /// Only cgroup v2.
    V2,
    /// v1 controllers beside a v2 hierarchy of their own: memory is on v1.
    Hybrid,
}

/// Memory in use by the root cgroup, both numbers of the same instant and cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootMemory {
    /// Where it was read.
    pub hierarchy: Hierarchy,
    /// Memory in use, page cache included.
    pub usage_bytes: u64,
    /// The part of it that the kernel would reclaim first.
    pub inactive_file_bytes: u64,
}

impl RootMemory {
    /// Memory in use that cannot simply be dropped: usage without the inactive file cache, never below 0.
    pub fn working_set_bytes(&self) -> u64 {
        self.usage_bytes.saturating_sub(self.inactive_file_bytes)
    }
}
