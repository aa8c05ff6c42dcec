//! Which CPUs are online: `/sys/devices/system/cpu/online` decides (kernel `Documentation/admin-guide/cputopology.rst`);
//! a CPU's own `online` file may be missing. Where there is no such directory, `/proc/cpuinfo` has to do, whose shape
//! differs by architecture.

use super::ReadError;
use crate::source::Tracked;
use std::collections::BTreeSet;
use std::fmt;

/// The kernel's list of online CPUs.
pub const ONLINE: &str = "/sys/devices/system/cpu/online";

/// The kernel's description of each CPU that runs.
pub const CPUINFO: &str = "/proc/cpuinfo";

/// The highest CPU number that a list may hold; the kernel's own limit (`NR_CPUS`) is 8192.
const HIGHEST_CPU: u32 = 65_535;

/// A set of CPU numbers, written as the kernel writes it: `0-2,4-23`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuList(Vec<u32>);

impl CpuList {
    /// Parses the kernel's list format; blanks around items are allowed, an empty text is an empty set.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut cpus = BTreeSet::new();
        for item in text
            .trim()
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let number = |text: &str| {
                text.trim()
                    .parse::<u32>()
                    .ok()
                    .filter(|n| *n <= HIGHEST_CPU)
                    .ok_or_else(|| format!("{item:?} is no CPU number or range"))
            };
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("{item:?} runs backwards"));
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus.into_iter().collect()))
    }

    /// How many CPUs there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The CPU numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut separator = "";
        while let Some(&first) = rest.first() {
            let run = rest
                .iter()
                .zip(first..)
                .take_while(|(cpu, expected)| **cpu == *expected)
                .count();
            let last = first + u32::try_from(run).map_or(0, |run| run - 1);
            if first == last {
                write!(f, "{separator}{first}")?;
            } else {
                write!(f, "{separator}{first}-{last}")?;
            }
            separator = ",";
            rest = &rest[run..];
        }
        Ok(())
    }
}

/// The CPUs that `/proc/cpuinfo` lists: `processor : 0` on most architectures, `processor 0: version = …` on s390x.
pub fn parse_cpuinfo(text: &str) -> CpuList {
    let mut cpus: Vec<u32> = text
        .lines()
        .filter_map(|line| {
            let (key, value) = line.split_once(':')?;
            let rest = key.strip_prefix("processor")?.trim();
            let number = if rest.is_empty() { value.trim() } else { rest };
            number.parse().ok().filter(|cpu| *cpu <= HIGHEST_CPU)
        })
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    CpuList(cpus)
}

/// The online CPUs.
pub fn read(source: &Tracked<'_>) -> Result<CpuList, ReadError> {
    let (path, online) = match source.read_text(ONLINE) {
        Ok(text) => (
            ONLINE,
            CpuList::parse(&text).map_err(|problem| ReadError::malformed(ONLINE, problem))?,
        ),
        Err(error) if error.is_absent() => (CPUINFO, parse_cpuinfo(&source.read_text(CPUINFO)?)),
        Err(error) => return Err(error.into()),
    };
    if online.is_empty() {
        return Err(ReadError::malformed(path, "no CPU is online"));
    }
    Ok(online)
}

#[cfg(test)]
mod tests {
    use super::{CPUINFO, CpuList, ONLINE, parse_cpuinfo, read};
    use crate::host::fake::FakeSource;
    use rustix::io::Errno;

    #[test]
    fn a_list_counts_cpus_and_prints_as_the_kernel_writes_it() {
        for (text, count, printed) in [
            ("0-2,4-23\n", 23, "0-2,4-23"),
            ("0", 1, "0"),
            ("0,2-3", 3, "0,2-3"),
            ("", 0, ""),
            ("\n", 0, ""),
            ("3,1,2,2", 3, "1-3"),
        ] {
            let list = CpuList::parse(text).unwrap();
            assert_eq!(
                (list.len(), list.to_string().as_str()),
                (count, printed),
                "{text:?}"
            );
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_offending_item() {
        for (text, item) in [
            ("0-", "0-"),
            ("a", "a"),
            ("3-1", "3-1"),
            ("0-99999999", "0-99999999"),
            ("-1", "-1"),
        ] {
            assert!(CpuList::parse(text).unwrap_err().contains(item), "{text:?}");
        }
    }

    #[test]
    fn c10_cpuinfo_of_s390x_counts_each_cpu_once() {
        let text = "vendor_id       : IBM/S390\n# processors    : 2\nmax thread id   : 0\n\
                    processor 0: version = FF,  identification = 000001,  machine = 2964\n\
                    processor 1: version = FF,  identification = 000001,  machine = 2964\n\n\
                    cpu number      : 0\ncpu MHz static  : 5000\n\ncpu number      : 1\n";
        assert_eq!(parse_cpuinfo(text).to_string(), "0-1");
    }

    #[test]
    fn c11_a_block_about_the_board_is_no_cpu() {
        let text = "processor\t: 0\nmodel name\t: ARMv7 Processor rev 4 (v7l)\n\nprocessor\t: 1\n\n\
                    Hardware\t: BCM2835\nRevision\t: a00000\nSerial\t\t: 0000000000000000\n";
        assert_eq!(parse_cpuinfo(text).to_string(), "0-1");
    }

    #[test]
    fn cpuinfo_is_asked_only_where_there_is_no_list() {
        let cpuinfo = "processor : 0\nprocessor : 1\n";
        let both = FakeSource::default()
            .file(ONLINE, "0-2\n")
            .file(CPUINFO, cpuinfo);
        assert_eq!(read(&both.tracked()).unwrap().len(), 3);
        let absent = FakeSource::default().file(CPUINFO, cpuinfo);
        assert_eq!(read(&absent.tracked()).unwrap().len(), 2);
        let unreadable = FakeSource::default()
            .error(ONLINE, Errno::IO)
            .file(CPUINFO, cpuinfo);
        assert!(read(&unreadable.tracked()).is_err());
        assert!(read(&FakeSource::default().file(ONLINE, "\n").tracked()).is_err());
    }
}
