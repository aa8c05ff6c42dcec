//! Which CPUs are online: `/sys/devices/system/cpu/online` decides (kernel `Documentation/admin-guide/cputopology.rst`);
//! a CPU's own `online` file may be missing and `/proc/cpuinfo` differs by architecture.

use super::ReadError;
use crate::source::Tracked;
use std::fmt;

/// The kernel's list of online CPUs.
pub const ONLINE: &str = "/sys/devices/system/cpu/online";

/// The highest CPU number that a list may hold; the kernel's own limit (`NR_CPUS`) is 8192.
const HIGHEST_CPU: u32 = 65_535;

/// A set of CPU numbers, written as the kernel writes it: `0-2,4-23`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuList(Vec<u32>);

impl CpuList {
    /// Parses the kernel's list format; blanks around items are allowed, an empty text is an empty set.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut cpus = Vec::new();
        for item in text.trim().split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let number = |text: &str| {
                text.trim().parse::<u32>().ok().filter(|n| *n <= HIGHEST_CPU)
                    .ok_or_else(|| format!("{item:?} is no CPU number or range"))
            };
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("{item:?} runs backwards"));
            }
            cpus.extend(first..=last);
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(Self(cpus))
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
            let run = rest.iter().zip(first..).take_while(|(cpu, expected)| **cpu == *expected).count();
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

/// The online CPUs.
pub fn read(source: &Tracked<'_>) -> Result<CpuList, ReadError> {
    let text = source.read_text(ONLINE)?;
    let online = CpuList::parse(&text).map_err(|problem| ReadError::malformed(ONLINE, problem))?;
    if online.is_empty() {
        return Err(ReadError::malformed(ONLINE, "no CPU is online"));
    }
    Ok(online)
}

#[cfg(test)]
mod tests {
    use super::CpuList;

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
            assert_eq!((list.len(), list.to_string().as_str()), (count, printed), "{text:?}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_offending_item() {
        for (text, item) in [("0-", "0-"), ("a", "a"), ("3-1", "3-1"), ("0-99999999", "0-99999999"), ("-1", "-1")] {
            assert!(CpuList::parse(text).unwrap_err().contains(item), "{text:?}");
        }
    }
}
