//! Pressure stall information: `/proc/pressure/{cpu,memory,io,irq}` (kernel `Documentation/accounting/psi.rst`).
//!
//! Each resource stands on its own: one that the kernel lacks, or was told not to account for, is not reported.

use super::ReadError;
use crate::source::{Reason, SourceError, Tracked};

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

impl Stalls {
    /// Parses the text of one file. A line that is not understood counts as missing.
    pub fn parse(text: &str) -> Self {
        let line = |kind| {
            text.lines()
                .filter_map(|line| line.trim().split_once(' '))
                .find(|(name, _)| *name == kind)
                .and_then(|(_, values)| Stall::parse(values))
        };
        Self {
            some: line("some"),
            full: line("full"),
        }
    }
}

impl Stall {
    /// Parses `avg10=0.10 avg60=0.21 avg300=0.25 total=73759571709`, in any order.
    fn parse(values: &str) -> Option<Self> {
        let value = |name| {
            values
                .split_whitespace()
                .filter_map(|pair| pair.split_once('='))
                .find(|(key, _)| *key == name)
        };
        let average = |name| value(name).and_then(|(_, text)| hundredths(text));
        Some(Self {
            avg10: average("avg10")?,
            avg60: average("avg60")?,
            avg300: average("avg300")?,
            total_usec: value("total")?.1.parse().ok()?,
        })
    }
}

/// A decimal number in hundredths; further digits are cut off.
fn hundredths(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let fraction: u32 = format!("{fraction:0<2}")[..2].parse().ok()?;
    whole
        .parse::<u32>()
        .ok()?
        .checked_mul(100)?
        .checked_add(fraction)
}

/// Whether the kernel says that it does not account for this: the file is missing, or PSI is compiled in but off.
fn is_unsupported(error: &SourceError) -> bool {
    error.is_absent() || error.reason == Reason::Errno(rustix::io::Errno::OPNOTSUPP.raw_os_error())
}

/// The pressure on each resource. An error only where no resource is reported and one of them for another reason than
/// that the kernel does not support it.
pub fn read(source: &Tracked<'_>) -> Result<Pressure, ReadError> {
    let mut failure = None;
    let mut stalls = |resource| match source.read_text(&format!("/proc/pressure/{resource}")) {
        Ok(text) => Some(Stalls::parse(&text)).filter(|stalls| *stalls != Stalls::default()),
        Err(error) if is_unsupported(&error) => None,
        Err(error) => {
            failure.get_or_insert(error);
            None
        }
    };
    let pressure = Pressure {
        cpu: stalls("cpu"),
        memory: stalls("memory"),
        io: stalls("io"),
        irq: stalls("irq"),
    };
    match failure {
        Some(error) if pressure == Pressure::default() => Err(error.into()),
        _ => Ok(pressure),
    }
}

#[cfg(test)]
mod tests {
    use super::{Pressure, Stall, Stalls, hundredths, read};
    use crate::host::fake::FakeSource;
    use rustix::io::Errno;

    const CPU: &str = "/proc/pressure/cpu";
    const MEMORY: &str = "/proc/pressure/memory";
    const IO: &str = "/proc/pressure/io";
    const IRQ: &str = "/proc/pressure/irq";
    const SOME: &str = "some avg10=0.10 avg60=0.21 avg300=0.25 total=73759571709\n";
    const FULL: &str = "full avg10=100.00 avg60=9.05 avg300=0.00 total=0\n";

    const STALL: Stall = Stall {
        avg10: 10,
        avg60: 21,
        avg300: 25,
        total_usec: 73_759_571_709,
    };
    const ONLY_SOME: Stalls = Stalls {
        some: Some(STALL),
        full: None,
    };

    #[test]
    fn both_lines_of_a_resource() {
        let full = Stall {
            avg10: 10_000,
            avg60: 905,
            avg300: 0,
            total_usec: 0,
        };
        assert_eq!(
            Stalls::parse(&format!("{SOME}{FULL}")),
            Stalls {
                some: Some(STALL),
                full: Some(full)
            }
        );
    }

    #[test]
    fn c71_each_resource_on_its_own() {
        let host = || FakeSource::new().file(MEMORY, SOME).file(IO, SOME);
        let others = Pressure {
            memory: Some(ONLY_SOME),
            io: Some(ONLY_SOME),
            ..Pressure::default()
        };
        for (source, expected) in [
            (host().error(CPU, Errno::OPNOTSUPP), others),
            (
                host().file(CPU, SOME),
                Pressure {
                    cpu: Some(ONLY_SOME),
                    ..others
                },
            ),
            (host().error(IRQ, Errno::NOENT), others),
            (
                host()
                    .file(IRQ, FULL.replace("100.00", "0.10"))
                    .file(CPU, ""),
                {
                    let full = Stall {
                        avg10: 10,
                        avg60: 905,
                        avg300: 0,
                        total_usec: 0,
                    };
                    Pressure {
                        irq: Some(Stalls {
                            some: None,
                            full: Some(full),
                        }),
                        ..others
                    }
                },
            ),
            (host().error(CPU, Errno::IO), others),
            (FakeSource::new(), Pressure::default()),
            (
                FakeSource::new().error(CPU, Errno::OPNOTSUPP),
                Pressure::default(),
            ),
        ] {
            assert_eq!(read(&source.tracked()), Ok(expected), "{source:?}");
        }
    }

    #[test]
    fn nothing_but_real_failures_is_an_error() {
        let error = read(&FakeSource::new().error(IO, Errno::ACCESS).tracked()).unwrap_err();
        assert!(error.to_string().contains(IO), "{error}");
    }

    #[test]
    fn a_malformed_line_is_not_reported() {
        for text in [
            "some avg10=0.10 avg60=0.21 avg300=0.25\n",
            "some avg10=x avg60=0.21 avg300=0.25 total=1\n",
            "some avg10=0.10 avg60=0.21 avg300=0.25 total=-1\n",
            "some\n",
            "something avg10=0.10 avg60=0.21 avg300=0.25 total=1\n",
        ] {
            assert_eq!(Stalls::parse(text), Stalls::default(), "{text:?}");
        }
        assert_eq!(Stalls::parse(&format!("some\n\nfull x\n{SOME}")).full, None);
    }

    #[test]
    fn averages_are_hundredths() {
        for (text, expected) in [
            ("0.00", Some(0)),
            ("0.10", Some(10)),
            ("7", Some(700)),
            ("7.5", Some(750)),
            ("7.559", Some(755)),
            ("100.00", Some(10_000)),
            ("", None),
            (".5", None),
            ("5.", None),
            ("-1.00", None),
            ("+1.00", None),
            ("1.+5", None),
            ("4294967295.00", None),
        ] {
            assert_eq!(hundredths(text), expected, "{text:?}");
        }
    }
}
