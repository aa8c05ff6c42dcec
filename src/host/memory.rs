//! `/proc/meminfo` (kernel `Documentation/filesystems/proc.rst`): RAM and swap.
//!
//! The parser is our own: each known field stands or falls by its own line, whatever the other lines hold.

use super::ReadError;
use crate::source::Tracked;

/// The kernel's account of memory.
pub const MEMINFO: &str = "/proc/meminfo";

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

impl Memory {
    /// Parses the text of `/proc/meminfo`. `MemTotal` is required; a line that is not understood costs only itself.
    pub fn parse(text: &str) -> Result<Self, String> {
        let total_bytes = match field(text, "MemTotal") {
            None => return Err("no MemTotal".to_owned()),
            Some(value) => match bytes(value) {
                None | Some(0) => return Err(format!("MemTotal is {value:?}")),
                Some(total) => total,
            },
        };
        let optional = |name| field(text, name).and_then(bytes);
        let swap_total_bytes = optional("SwapTotal").unwrap_or(0);
        Ok(Self {
            total_bytes,
            free_bytes: optional("MemFree"),
            available_bytes: optional("MemAvailable"),
            swap_total_bytes,
            swap_free_bytes: optional("SwapFree").unwrap_or(0).min(swap_total_bytes),
        })
    }

    /// Memory that is not available to new work: `MemTotal` without `MemAvailable`, never below 0; `None` where the
    /// kernel does not say what is available.
    pub fn used_bytes(&self) -> Option<u64> {
        self.available_bytes
            .map(|available| self.total_bytes.saturating_sub(available))
    }
}

/// What stands after the colon of the first line called `name`; wide numbers leave no blank there.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// A number with the unit `kB`, which the kernel means as 1024 bytes, or with none.
fn bytes(value: &str) -> Option<u64> {
    let mut words = value.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    match (words.next(), words.next()) {
        (None, _) => Some(number),
        (Some("kB"), None) => Some(number.saturating_mul(1024)),
        _ => None,
    }
}

/// The machine's memory.
pub fn read(source: &Tracked<'_>) -> Result<Memory, ReadError> {
    let text = source.read_text(MEMINFO)?;
    Memory::parse(&text).map_err(|problem| ReadError::malformed(MEMINFO, problem))
}

#[cfg(test)]
mod tests {
    use super::{MEMINFO, Memory, read};
    use crate::host::ReadError;
    use crate::host::fake::FakeSource;

    const KIB: u64 = 1024;

    #[test]
    fn c01_value_that_swallows_the_blank() {
        let text = "MemTotal:       16000000 kB\nMemFree:          891564 kB\nMemAvailable:    1200000 kB\n\
                    SwapTotal:      22806844 kB\nSwapFree:18014398503714728 kB\n";
        let memory = Memory::parse(text).unwrap();
        assert_eq!(memory.total_bytes, 16_384_000_000);
        assert_eq!(memory.swap_total_bytes, 22_806_844 * KIB);
        assert_eq!(
            memory.swap_free_bytes, memory.swap_total_bytes,
            "swap in use is 0, not a huge number"
        );
    }

    #[test]
    fn c02_unneeded_field_without_blank() {
        let text = "MemTotal:       64000000 kB\nMemFree:        30000000 kB\nMemAvailable:   50000000 kB\n\
                    KernelStack:       20000 kB\nShadowCallStack:10373888 kB\nPageTables:       100000 kB\n";
        let expected = Memory {
            total_bytes: 64_000_000 * KIB,
            free_bytes: Some(30_000_000 * KIB),
            available_bytes: Some(50_000_000 * KIB),
            swap_total_bytes: 0,
            swap_free_bytes: 0,
        };
        assert_eq!(Memory::parse(text), Ok(expected));
    }

    #[test]
    fn c04_blank_line_at_the_end() {
        let text = "MemTotal:       131895300 kB\nDirectMap4k:      585388 kB\nDirectMap1G:    53477376 kB\n\n";
        let memory = Memory::parse(text).unwrap();
        assert_eq!(memory.total_bytes, 131_895_300 * KIB);
        assert_eq!((memory.free_bytes, memory.available_bytes), (None, None));
    }

    #[test]
    fn c05_zero_padded_numbers_are_decimal() {
        let text = "MemTotal:       03944876 kB\nMemFree:        03484312 kB\nMemAvailable:   03674800 kB\n\
                    SwapTotal:      00000000 kB\n";
        let memory = Memory::parse(text).unwrap();
        assert_eq!(memory.total_bytes, 4_039_553_024);
        assert_eq!(memory.available_bytes, Some(3_674_800 * KIB));
        assert_eq!(memory.swap_total_bytes, 0);
    }

    #[test]
    fn c07_counts_have_no_unit_and_kb_means_1024() {
        let text = "MemTotal:        8388608 kB\nHugePages_Total:    1024\nHugePages_Free:     1000\n\
                    Hugepagesize:       2048 kB\n";
        assert_eq!(Memory::parse(text).unwrap().total_bytes, 8 << 30);
        assert_eq!(super::bytes("1024"), Some(1024));
        assert_eq!(super::bytes("2048 kB"), Some(2048 * KIB));
    }

    #[test]
    fn c08_numbers_that_contradict_each_other_never_wrap() {
        let text = "MemTotal:         262144 kB\nMemFree:          173640 kB\nMemAvailable:     173640 kB\n\
                    Buffers:               0 kB\nCached:            58916 kB\nActive:           830952 kB\n\
                    Active(file):     719504 kB\nInactive(file):    71800 kB\nSReclaimable:     101908 kB\n";
        assert_eq!(
            Memory::parse(text).unwrap().used_bytes(),
            Some(88_504 * KIB)
        );
        let more_available_than_there_is = "MemTotal: 1 kB\nMemAvailable: 2 kB\n";
        assert_eq!(
            Memory::parse(more_available_than_there_is)
                .unwrap()
                .used_bytes(),
            Some(0)
        );
    }

    #[test]
    fn no_total_is_an_error_that_shows_what_was_there() {
        for (text, shown) in [
            ("", "no MemTotal"),
            ("MemTotal\n", "no MemTotal"),
            ("MemTotal:\n", "\"\""),
            ("MemTotal: 0 kB\n", "0 kB"),
            ("MemTotal: many kB\n", "many"),
            ("MemTotal: 1 MB\n", "1 MB"),
            ("MemTotal: -1 kB\n", "-1"),
        ] {
            assert!(Memory::parse(text).unwrap_err().contains(shown), "{text:?}");
        }
    }

    #[test]
    fn an_odd_optional_field_is_left_out() {
        let memory =
            Memory::parse("MemTotal: 9 kB\nMemFree: x kB\nSwapTotal:\nSwapFree: 4 kB\n").unwrap();
        assert_eq!(
            (
                memory.free_bytes,
                memory.swap_total_bytes,
                memory.swap_free_bytes
            ),
            (None, 0, 0)
        );
    }

    #[test]
    fn the_error_names_the_file() {
        let source = FakeSource::new().file(MEMINFO, "MemFree: 1 kB\n");
        let error = read(&source.tracked()).unwrap_err();
        assert_eq!(error, ReadError::malformed(MEMINFO, "no MemTotal"));
        let source = FakeSource::new();
        assert!(
            matches!(read(&source.tracked()), Err(ReadError::Source(error)) if error.is_absent())
        );
    }
}
