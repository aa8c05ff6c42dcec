//! Memory of the root cgroup, whichever of the three hierarchies the host has (kernel
//! `Documentation/admin-guide/cgroup-v1/memory.rst`, `cgroup-v2.rst`).
//!
//! The hierarchy is told by the files it has, so that a recording tells it like a host. Limits are not read: that of
//! the root cgroup is always the machine's memory.

use super::ReadError;
use crate::source::Tracked;

/// Exists where the whole host is on cgroup v2.
const V2_CONTROLLERS: &str = "/sys/fs/cgroup/cgroup.controllers";
/// Usage of a v2 cgroup; a real root has none, the root of a cgroup namespace has it.
const V2_CURRENT: &str = "/sys/fs/cgroup/memory.current";
/// The parts that v2's usage is made of.
const V2_STAT: &str = "/sys/fs/cgroup/memory.stat";
/// Usage of v1's root.
const V1_USAGE: &str = "/sys/fs/cgroup/memory/memory.usage_in_bytes";
/// The parts that v1's usage is made of.
const V1_STAT: &str = "/sys/fs/cgroup/memory/memory.stat";
/// Exists where systemd keeps a v2 hierarchy beside the v1 controllers.
const HYBRID_CONTROLLERS: &str = "/sys/fs/cgroup/unified/cgroup.controllers";

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

/// The value of `key` in a text of lines `key value`, as `memory.stat` is.
pub fn parse_stat(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == key)
        .and_then(|(_, value)| value.trim().parse().ok())
}

/// Memory in use by the root cgroup.
///
/// On v1 and hybrid hosts usage is `memory.usage_in_bytes`. The root of v2 has no `memory.current`; there it is the
/// sum of `anon` and `file` in `memory.stat`, as kubelet takes it (opencontainers `cgroups/fs2/memory.go`), which
/// leaves out the kernel's own memory. A `memory.stat` without inactive file cache counts as having none.
pub fn read(source: &Tracked<'_>) -> Result<RootMemory, ReadError> {
    if optional(source, V2_CONTROLLERS)?.is_some() {
        return read_v2(source);
    }
    let Some(usage) = optional(source, V1_USAGE)? else {
        let problem = format!("no memory controller: neither this file nor {V1_USAGE} exists");
        return Err(ReadError::malformed(V2_CONTROLLERS, problem));
    };
    let stat = source.read_text(V1_STAT)?;
    let hybrid = optional(source, HYBRID_CONTROLLERS)?.is_some();
    Ok(RootMemory {
        hierarchy: if hybrid {
            Hierarchy::Hybrid
        } else {
            Hierarchy::V1
        },
        usage_bytes: number(V1_USAGE, &usage)?,
        inactive_file_bytes: parse_stat(&stat, "total_inactive_file").unwrap_or(0),
    })
}

fn read_v2(source: &Tracked<'_>) -> Result<RootMemory, ReadError> {
    let current = optional(source, V2_CURRENT)?;
    let stat = source.read_text(V2_STAT)?;
    let part = |key| {
        parse_stat(&stat, key)
            .ok_or_else(|| ReadError::malformed(V2_STAT, format!("no value of {key}")))
    };
    let usage_bytes = match current {
        Some(text) => number(V2_CURRENT, &text)?,
        None => part("anon")?.saturating_add(part("file")?),
    };
    let inactive_file_bytes = parse_stat(&stat, "inactive_file").unwrap_or(0);
    Ok(RootMemory {
        hierarchy: Hierarchy::V2,
        usage_bytes,
        inactive_file_bytes,
    })
}

/// The text of a file that tells something also by its absence.
fn optional(source: &Tracked<'_>, path: &str) -> Result<Option<String>, ReadError> {
    match source.read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn number(path: &str, text: &str) -> Result<u64, ReadError> {
    let text = text.trim();
    text.parse()
        .map_err(|_| ReadError::malformed(path, format!("{text:?} is no number of bytes")))
}

#[cfg(test)]
mod tests {
    use super::{
        HYBRID_CONTROLLERS, Hierarchy, RootMemory, V1_STAT, V1_USAGE, V2_CONTROLLERS, V2_CURRENT,
        V2_STAT, parse_stat, read,
    };
    use crate::host::fake::FakeSource;
    use rustix::io::Errno;

    fn v1() -> FakeSource {
        FakeSource::new().file(V1_USAGE, "9663676416\n").file(
            V1_STAT,
            "cache 7\ninactive_file 5\ntotal_cache 7\ntotal_inactive_file 1048576\n",
        )
    }

    fn v2() -> FakeSource {
        FakeSource::new()
            .file(V2_CONTROLLERS, "cpuset cpu io memory pids\n")
            .file(
                V2_STAT,
                "anon 1000000\nfile 5000000\ninactive_file 3000000\n",
            )
    }

    #[test]
    fn the_files_tell_the_hierarchy() {
        for (source, hierarchy, usage_bytes, inactive_file_bytes) in [
            (v1(), Hierarchy::V1, 9_663_676_416, 1_048_576),
            (
                v1().file(HYBRID_CONTROLLERS, ""),
                Hierarchy::Hybrid,
                9_663_676_416,
                1_048_576,
            ),
            (v2(), Hierarchy::V2, 6_000_000, 3_000_000),
            (
                v2().file(V2_CURRENT, "7000000\n"),
                Hierarchy::V2,
                7_000_000,
                3_000_000,
            ),
        ] {
            let expected = RootMemory {
                hierarchy,
                usage_bytes,
                inactive_file_bytes,
            };
            assert_eq!(read(&source.tracked()), Ok(expected), "{source:?}");
        }
    }

    #[test]
    fn c67_root_of_v2_without_memory_current() {
        let memory = read(&v2().tracked()).unwrap();
        assert_eq!(memory.usage_bytes, 6_000_000);
        assert_eq!(memory.working_set_bytes(), 3_000_000);
    }

    #[test]
    fn c68_more_inactive_file_than_usage() {
        let source = FakeSource::new()
            .file(V1_USAGE, "3233787904\n")
            .file(V1_STAT, "total_inactive_file 3827683328\n");
        let memory = read(&source.tracked()).unwrap();
        assert_eq!(
            (memory.usage_bytes, memory.inactive_file_bytes),
            (3_233_787_904, 3_827_683_328)
        );
        assert_eq!(memory.working_set_bytes(), 0);
    }

    #[test]
    fn c70_no_limit_is_read() {
        let source = v1().file(
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        );
        let tracked = source.tracked();
        assert_eq!(read(&tracked).unwrap().usage_bytes, 9_663_676_416);
        assert_eq!(
            tracked.into_log().sources,
            [format!("file:{V1_USAGE}"), format!("file:{V1_STAT}")]
        );
    }

    #[test]
    fn a_stat_without_inactive_file_counts_as_none() {
        let source = FakeSource::new()
            .file(V1_USAGE, "5\n")
            .file(V1_STAT, "cache 1\n");
        assert_eq!(read(&source.tracked()).unwrap().working_set_bytes(), 5);
    }

    #[test]
    fn what_is_missing_or_malformed_is_named() {
        for (source, named) in [
            (FakeSource::new(), vec![V2_CONTROLLERS, V1_USAGE]),
            (
                FakeSource::new().file(V2_CONTROLLERS, "cpu\n"),
                vec![V2_STAT],
            ),
            (
                FakeSource::new().error(V2_CONTROLLERS, Errno::ACCESS),
                vec![V2_CONTROLLERS, "EACCES"],
            ),
            (v2().file(V2_STAT, "anon 1\n"), vec![V2_STAT, "file"]),
            (
                v2().file(V2_STAT, "anon x\nfile 1\n"),
                vec![V2_STAT, "anon"],
            ),
            (v2().file(V2_CURRENT, "max\n"), vec![V2_CURRENT, "max"]),
            (v1().file(V1_USAGE, "-1\n"), vec![V1_USAGE, "-1"]),
            (v1().error(V1_STAT, Errno::IO), vec![V1_STAT, "EIO"]),
        ] {
            let error = read(&source.tracked()).unwrap_err().to_string();
            assert!(named.iter().all(|name| error.contains(name)), "{error}");
        }
    }

    #[test]
    fn a_key_is_matched_as_a_whole() {
        let text = "total_file 1\nfile_mapped 2\nfile 3\nempty\nbad x\n";
        assert_eq!(parse_stat(text, "file"), Some(3));
        assert_eq!(parse_stat(text, "empty"), None);
        assert_eq!(parse_stat(text, "bad"), None);
    }
}
