//! The mount table and the numbers of a filesystem (`proc_pid_mountinfo(5)`, statvfs(3)).
//!
//! The parser is our own: mount points are bytes, sources may be empty, and a line that is not understood costs only
//! itself. Devices are never looked up by number and never summed: what is measured is the directory that is asked for.

use super::ReadError;
use crate::source::{Statfs, Tracked};

/// The host's mount table; `/proc/self` would be that of this process' container.
pub const MOUNTINFO: &str = "/proc/1/mountinfo";
/// The same in the format of fstab(5), for a host where the other is missing.
pub const MOUNTS: &str = "/proc/1/mounts";

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

impl Filesystem {
    /// The filesystem that holds `path`, from its numbers in blocks.
    pub fn new(path: &str, numbers: Statfs) -> Self {
        let block_bytes = if numbers.fragment_size > 0 {
            numbers.fragment_size
        } else {
            numbers.block_size
        };
        // A filesystem that is filled beyond the reserve of root counts below 0 and wraps.
        let available = Some(numbers.blocks_available)
            .filter(|available| *available <= numbers.blocks)
            .unwrap_or(0);
        Self {
            path: path.to_owned(),
            fs_type: numbers.fs_type,
            capacity_bytes: numbers.blocks.saturating_mul(block_bytes),
            available_bytes: available.saturating_mul(block_bytes),
            inodes: numbers.files,
            inodes_free: numbers.files_free,
            read_only: numbers.read_only,
        }
    }
}

/// A line of the mount table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted; any bytes but NUL.
    pub mount_point: Vec<u8>,
    /// The type by name (`ext4`, `fuse.sshfs`).
    pub fs_type: String,
    /// What is mounted (`/dev/vda1`, `overlay`); may be empty.
    pub source: Vec<u8>,
    /// Whether the mount or the filesystem under it is read-only.
    pub read_only: bool,
    /// Major and minor number of the device; not in the format of [`MOUNTS`].
    pub device: Option<(u32, u32)>,
}

/// Parses the format of `/proc/<pid>/mountinfo`, in the order of the file.
pub fn parse_mountinfo(table: &[u8]) -> Vec<Mount> {
    table
        .split(|byte| *byte == b'\n')
        .filter_map(parse_mountinfo_line)
        .collect()
}

/// Parses the format of `/proc/<pid>/mounts`, in the order of the file.
pub fn parse_mounts(table: &[u8]) -> Vec<Mount> {
    table
        .split(|byte| *byte == b'\n')
        .filter_map(parse_mounts_line)
        .collect()
}

// Fields are parted by exactly one blank, since an empty one leaves two side by side.
fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b' ')
}

fn parse_mountinfo_line(line: &[u8]) -> Option<Mount> {
    let mut fields = fields(line);
    let device = str::from_utf8(fields.nth(2)?).ok()?;
    let (major, minor) = device.split_once(':')?;
    let mount_point = unescape(fields.nth(1)?);
    let mount_options = fields.next()?;
    // Optional fields, any number of them, end with a single hyphen.
    fields.find(|field| *field == b"-")?;
    let (fs_type, source, super_options) = (fields.next()?, fields.next()?, fields.next()?);
    Some(Mount {
        mount_point,
        fs_type: String::from_utf8_lossy(&unescape(fs_type)).into_owned(),
        source: unescape(source),
        read_only: is_read_only(mount_options) || is_read_only(super_options),
        device: Some((major.parse().ok()?, minor.parse().ok()?)),
    })
}

fn parse_mounts_line(line: &[u8]) -> Option<Mount> {
    let mut fields = fields(line);
    let (source, mount_point, fs_type, options) = (
        fields.next()?,
        fields.next()?,
        fields.next()?,
        fields.next()?,
    );
    Some(Mount {
        mount_point: unescape(mount_point),
        fs_type: String::from_utf8_lossy(&unescape(fs_type)).into_owned(),
        source: unescape(source),
        read_only: is_read_only(options),
        device: None,
    })
}

fn is_read_only(options: &[u8]) -> bool {
    options
        .split(|byte| *byte == b',')
        .any(|option| option == b"ro")
}

/// Decodes the kernel's `\ooo`, once and from left to right; any other backslash stands for itself.
fn unescape(mut field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    while let [first, rest @ ..] = field {
        field = match rest {
            [
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                after @ ..,
            ] if *first == b'\\' => {
                plain.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                after
            }
            _ => {
                plain.push(*first);
                rest
            }
        };
    }
    plain
}

/// The mount whose filesystem holds `path`: the one with the longest mount point, and of those with the same the last,
/// which lies over the others.
pub fn covering<'a>(mounts: &'a [Mount], path: &str) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|mount| is_within(path.as_bytes(), &mount.mount_point))
        .max_by_key(|mount| mount.mount_point.len())
}

/// Whether `path` is `directory` or lies below it.
fn is_within(path: &[u8], directory: &[u8]) -> bool {
    let below = path.strip_prefix(directory.strip_suffix(b"/").unwrap_or(directory));
    below.is_some_and(|below| below.is_empty() || below.starts_with(b"/"))
}

/// The host's mount table.
pub fn mounts(source: &Tracked<'_>) -> Result<Vec<Mount>, ReadError> {
    match source.read(MOUNTINFO) {
        Err(error) if error.is_absent() => Ok(parse_mounts(&source.read(MOUNTS)?)),
        table => Ok(parse_mountinfo(&table?)),
    }
}

/// The filesystem of `directory`, which is kubelet's nodefs when that is `rootDirectory`. While it does not exist, its
/// nearest existing parent on the same mount is measured; a parent on another mount would be another filesystem.
pub fn read(source: &Tracked<'_>, directory: &str) -> Result<Filesystem, ReadError> {
    let directory = match directory.trim_end_matches('/') {
        "" => "/",
        trimmed => trimmed,
    };
    let missing = match source.statfs(directory) {
        Err(error) if error.is_absent() => error,
        numbers => return measured(directory, numbers?),
    };
    let mounts = mounts(source)?;
    let mount = covering(&mounts, directory)
        .ok_or_else(|| ReadError::malformed(MOUNTINFO, format!("no mount holds {directory}")))?;
    let parents = std::iter::successors(parent(directory), |path| parent(path));
    for path in parents.take_while(|path| is_within(path.as_bytes(), &mount.mount_point)) {
        match source.statfs(path) {
            Err(error) if error.is_absent() => {}
            numbers => return measured(path, numbers?),
        }
    }
    Err(missing.into())
}

fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/')? {
        ("", "") => None,
        ("", _) => Some("/"),
        (parent, _) => Some(parent),
    }
}

/// Numbers without any block are no measure: published, they would evict every pod.
fn measured(path: &str, numbers: Statfs) -> Result<Filesystem, ReadError> {
    if numbers.blocks == 0 {
        return Err(ReadError::malformed(path, "a filesystem without blocks"));
    }
    Ok(Filesystem::new(path, numbers))
}

#[cfg(test)]
mod tests;
