//! Huge pages: `/sys/kernel/mm/hugepages/hugepages-<N>kB/nr_hugepages` (kernel `Documentation/admin-guide/mm/hugetlbpage.rst`).

/// The pages of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HugePages {
    /// Size of a page, KiB.
    pub page_size_kib: u64,
    /// How many the kernel holds, in use or not.
    pub count: u64,
}
