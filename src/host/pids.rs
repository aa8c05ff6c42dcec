//! PIDs in use and their limit: `/proc/sys/kernel/pid_max`, `threads-max`, `/proc/loadavg`.

/// Tasks and how many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pids {
    /// The lesser of `pid_max` and `threads-max`; `None` where neither is readable.
    pub limit: Option<u64>,
    /// All tasks: the number after the slash in field 4 of `/proc/loadavg`.
    pub tasks: u64,
}
