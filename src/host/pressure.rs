//! Pressure stall information: `/proc/pressure/{cpu,memory,io,irq}` (kernel `Documentation/accounting/psi.rst`).

/// Averages are shares of wall time in hundredths of a percent; `total_usec` is microseconds stalled since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stall {
    /// Over the last 10 seconds.
    pub avg10: u32,
    /// Over the last 60 seconds.
    pub avg60: u32,
    /// Over the last 300 seconds.
    pub avg300: u32,
    /// Since boot, microseconds.
    pub total_usec: u64,
}

/// The lines of one resource; the kernel may lack either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stalls {
    /// Some tasks were stalled.
    pub some: Option<Stall>,
    /// All tasks were stalled.
    pub full: Option<Stall>,
}

/// What the kernel reports; `None` is "not reported", never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pressure {
    /// `cpu`.
    pub cpu: Option<Stalls>,
    /// `memory`.
    pub memory: Option<Stalls>,
    /// `io`.
    pub io: Option<Stalls>,
    /// `irq` (6.1 and newer).
    pub irq: Option<Stalls>,
}
