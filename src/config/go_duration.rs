//! Durations as Go writes and reads them (`time.ParseDuration`, `Duration.String`), which is the form of every
//! duration in a KubeletConfiguration: `10s`, `5m0s`, `1h30m`.

use std::time::Duration;

/// Why a text is no duration, in Go's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Not of the form `[-+]?([0-9]*(\.[0-9]*)?[a-z]+)+`, or longer than about 292 years.
    #[error("time: invalid duration {0:?}")]
    Invalid(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {0:?}")]
    MissingUnit(String),
    /// A unit other than ns, us, µs, ms, s, m, h.
    #[error("time: unknown unit {unit:?} in duration {text:?}")]
    UnknownUnit {
        /// The unit.
        unit: String,
        /// The whole text.
        text: String,
    },
}

const SECOND: u64 = 1_000_000_000;

/// Parses a Go duration; the result is in nanoseconds and may be negative.
pub fn parse_nanoseconds(text: &str) -> Result<i64, DurationError> {
    let invalid = || DurationError::Invalid(text.to_owned());
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (whole, after_whole) = leading_digits(rest);
        let (fraction, after_number) = match after_whole.strip_prefix('.') {
            Some(after_point) => leading_digits(after_point),
            None => ("", after_whole),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let unit_ends = after_number
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after_number.len());
        let (unit, next) = after_number.split_at(unit_ends);
        let scale = match unit {
            "" => return Err(DurationError::MissingUnit(text.to_owned())),
            "ns" => 1,
            // The micro sign and the Greek letter.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => SECOND,
            "m" => 60 * SECOND,
            "h" => 3600 * SECOND,
            _ => {
                return Err(DurationError::UnknownUnit {
                    unit: unit.to_owned(),
                    text: text.to_owned(),
                });
            }
        };
        let whole: i128 = match whole {
            "" => 0,
            digits => digits.parse::<i64>().map_err(|_| invalid())?.into(),
        };
        total += whole * i128::from(scale) + of_fraction(fraction, scale);
        if total > i128::from(i64::MAX) {
            return Err(invalid());
        }
        rest = next;
    }
    let signed = if negative { -total } else { total };
    i64::try_from(signed).map_err(|_| invalid())
}

/// Writes a duration as Go does: `5m0s`, `1.5s`, `100ms`, `0s`.
pub fn format(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos();
    let second = u128::from(SECOND);
    if nanoseconds < second {
        return match nanoseconds {
            0 => "0s".to_owned(),
            n if n < 1_000 => format!("{n}ns"),
            n if n < 1_000_000 => format!("{}\u{b5}s", with_fraction(n, 1_000)),
            n => format!("{}ms", with_fraction(n, 1_000_000)),
        };
    }
    let minutes = nanoseconds / (60 * second);
    let seconds = with_fraction(nanoseconds % (60 * second), second);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

fn leading_digits(text: &str) -> (&str, &str) {
    text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    )
}

/// The nanoseconds in the fraction `digits` of a unit; what is smaller than a nanosecond is cut off.
fn of_fraction(digits: &str, scale: u64) -> i128 {
    let (sum, _) =
        digits
            .bytes()
            .fold((0, i128::from(scale) * 1_000_000), |(sum, place), digit| {
                let place = place / 10;
                (sum + place * i128::from(digit - b'0'), place)
            });
    sum / 1_000_000
}

fn with_fraction(nanoseconds: u128, unit: u128) -> String {
    let (whole, part) = (nanoseconds / unit, nanoseconds % unit);
    if part == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    let fraction = format!("{part:0width$}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parses_as_go_does() {
        let second = 1_000_000_000;
        for (text, expected) in [
            ("0", 0),
            ("-0", 0),
            ("5s", 5 * second),
            ("30s", 30 * second),
            ("5m0s", 300 * second),
            ("1h30m", 5400 * second),
            ("-5s", -5 * second),
            ("+5s", 5 * second),
            ("5.0s", 5 * second),
            ("5.s", 5 * second),
            (".5s", second / 2),
            ("1.00s", second),
            ("1.004s", 1_004_000_000),
            ("10ns", 10),
            ("11us", 11_000),
            ("12µs", 12_000),
            ("12\u{3bc}s", 12_000),
            ("13ms", 13_000_000),
            ("3h30m", 12_600 * second),
            ("10.5s4m", 250_500_000_000),
            ("9007199254740993ns", 9_007_199_254_740_993),
            ("9223372036854775807ns", i64::MAX),
            ("2540400h10m10s", 9_145_440_610 * second),
        ] {
            assert_eq!(parse_nanoseconds(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn refuses_in_the_words_of_go() {
        for (text, expected) in [
            ("", "time: invalid duration \"\""),
            ("3", "time: missing unit in duration \"3\""),
            ("-", "time: invalid duration \"-\""),
            ("s", "time: invalid duration \"s\""),
            (".", "time: invalid duration \".\""),
            (".s", "time: invalid duration \".s\""),
            ("5s-3s", "time: unknown unit \"s-\" in duration \"5s-3s\""),
            (
                "30mins",
                "time: unknown unit \"mins\" in duration \"30mins\"",
            ),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("3000000h", "time: invalid duration \"3000000h\""),
            (
                "9223372036854775808ns",
                "time: invalid duration \"9223372036854775808ns\"",
            ),
            (
                "99999999999999999999999999999999999999999h",
                "time: invalid duration \"99999999999999999999999999999999999999999h\"",
            ),
        ] {
            let error = parse_nanoseconds(text).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn writes_as_go_does() {
        for (nanoseconds, expected) in [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (2_200_000, "2.2ms"),
            (3_300_000_000, "3.3s"),
            (245_000_000_000, "4m5s"),
            (300_000_000_000, "5m0s"),
            (245_001_000_000, "4m5.001s"),
            (18_367_001_000_000, "5h6m7.001s"),
        ] {
            assert_eq!(format(Duration::from_nanos(nanoseconds)), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(nanoseconds in 0..=i64::MAX) {
            let duration = Duration::from_nanos(nanoseconds.unsigned_abs());
            prop_assert_eq!(parse_nanoseconds(&format(duration)), Ok(nanoseconds));
        }

        #[test]
        fn never_panics(text in "[-+0-9.hmsnuµd]{0,40}", any in ".*") {
            let _ = (parse_nanoseconds(&text), parse_nanoseconds(&any));
        }
    }
}
