//! `/proc/meminfo` (kernel `Documentation/filesystems/proc.rst`): RAM and swap.

/// RAM and swap, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// `MemTotal`.
    pub total_bytes: u64,
    /// `MemFree`, where the file has it.
    pub free_bytes: Option<u64>,
    /// `MemAvailable`, where the kernel has it.
    pub available_bytes: Option<u64>,
    /// `SwapTotal`; 0 where the kernel has no swap.
    pub swap_total_bytes: u64,
    /// `SwapFree`, never more than the total.
    pub swap_free_bytes: u64,
}
