//! PIDs in use and their limit: `/proc/sys/kernel/pid_max`, `threads-max`, `/proc/loadavg`
//! (`proc_sys_kernel(5)`, `proc_loadavg(5)`), as `pkg/kubelet/stats/pidlimit` reads them.

use super::ReadError;
use crate::source::Tracked;

/// One more than the highest PID.
pub const PID_MAX: &str = "/proc/sys/kernel/pid_max";
/// How many tasks the kernel creates at most.
pub const THREADS_MAX: &str = "/proc/sys/kernel/threads-max";
/// Its fourth field is `running/all` tasks; sysinfo(2) counts in 16 bits and is not used.
pub const LOADAVG: &str = "/proc/loadavg";

/// Tasks and how many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pids {
    /// The lesser of `pid_max` and `threads-max`; `None` where neither is readable.
    pub limit: Option<u64>,
    /// All tasks: the number after the slash in field 4 of `/proc/loadavg`.
    pub tasks: u64,
}

/// The number of all tasks in the text of `/proc/loadavg`.
pub fn parse_tasks(loadavg: &str) -> Result<u64, String> {
    loadavg
        .split_whitespace()
        .nth(3)
        .and_then(|field| field.split_once('/'))
        .and_then(|(_, tasks)| tasks.parse().ok())
        .ok_or_else(|| format!("no number of tasks in {:?}", loadavg.trim()))
}

/// The tasks of the machine and their limit. Only a missing number of tasks is an error.
pub fn read(source: &Tracked<'_>) -> Result<Pids, ReadError> {
    let limit = |path| {
        let text = source.read_text(path).ok()?;
        text.trim().parse::<u64>().ok().filter(|limit| *limit > 0)
    };
    let limit = [PID_MAX, THREADS_MAX].into_iter().filter_map(limit).min();
    let loadavg = source.read_text(LOADAVG)?;
    let tasks = parse_tasks(&loadavg).map_err(|problem| ReadError::malformed(LOADAVG, problem))?;
    Ok(Pids { limit, tasks })
}

#[cfg(test)]
mod tests {
    use super::{LOADAVG, PID_MAX, Pids, THREADS_MAX, parse_tasks, read};
    use crate::host::fake::FakeSource;
    use rustix::io::Errno;

    const LOAD: &str = "0.50 0.40 0.30 3/70000 123456\n";

    #[test]
    fn c64_the_lesser_limit_counts() {
        let host = || FakeSource::new().file(LOADAVG, LOAD);
        for (source, limit) in [
            (
                host()
                    .file(PID_MAX, "4194304\n")
                    .file(THREADS_MAX, "30000\n"),
                Some(30_000),
            ),
            (
                host()
                    .file(PID_MAX, "32768\n")
                    .file(THREADS_MAX, "255816\n"),
                Some(32_768),
            ),
            (
                host()
                    .file(PID_MAX, "32768\n")
                    .error(THREADS_MAX, Errno::ACCESS),
                Some(32_768),
            ),
            (
                host().file(PID_MAX, "lots\n").file(THREADS_MAX, "30000\n"),
                Some(30_000),
            ),
            (
                host().file(PID_MAX, "0\n").file(THREADS_MAX, "30000\n"),
                Some(30_000),
            ),
            (host(), None),
        ] {
            assert_eq!(
                read(&source.tracked()),
                Ok(Pids {
                    limit,
                    tasks: 70_000
                }),
                "{source:?}"
            );
        }
    }

    #[test]
    fn c65_tasks_beyond_16_bits() {
        assert_eq!(parse_tasks(LOAD), Ok(70_000));
    }

    #[test]
    fn without_a_number_of_tasks_there_is_no_reading() {
        for text in [
            "",
            "0.50 0.40 0.30",
            "0.50 0.40 0.30 3 1",
            "0.50 0.40 0.30 3/x 1",
            "0.50 0.40 0.30 3/ 1",
        ] {
            assert!(parse_tasks(text).unwrap_err().contains(text), "{text:?}");
        }
        assert!(read(&FakeSource::new().file(PID_MAX, "32768").tracked()).is_err());
    }
}
