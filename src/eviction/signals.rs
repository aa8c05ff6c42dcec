//! What the eviction signals are at one instant (`pkg/kubelet/eviction/helpers.go`).

/// Which pressures are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pressures {
    /// MemoryPressure.
    pub memory: bool,
    /// DiskPressure.
    pub disk: bool,
    /// PIDPressure.
    pub pid: bool,
}
