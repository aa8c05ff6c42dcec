//! The mount table and the numbers of a filesystem (proc_pid_mountinfo(5), statvfs(3)).

/// A filesystem's size, bytes and inodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filesystem {
    /// The path that was measured.
    pub path: String,
    /// The type by name (`ext4`), empty where unknown.
    pub fs_type: String,
    /// Size.
    pub capacity_bytes: u64,
    /// Left for an unprivileged user.
    pub available_bytes: u64,
    /// Inodes in all; 0 where the filesystem has no fixed number.
    pub inodes: u64,
    /// Inodes left.
    pub inodes_free: u64,
    /// Whether it is mounted read-only.
    pub read_only: bool,
}
