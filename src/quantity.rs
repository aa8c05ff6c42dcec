//! Exact Kubernetes quantities: parsing, arithmetic and the canonical text.
//!
//! It owns the number and the family of suffixes it is written with; it never uses floats and never panics on any
//! input. The behaviour is that of apimachinery's `pkg/api/resource` (`quantity.go`, `suffix.go`, `amount.go`),
//! with three deliberate differences:
//!
//! - A quantity is a whole number of nano-units in an `i128`, so magnitudes end at about 1.7e29 and saturate there.
//!   Go's numbers are unbounded, except that it cuts binary ones at 2^63-1 as they are parsed, and so does this.
//! - The text is always canonical. Go gives some parsed texts back as they were written (`+5`, `1E3`, `1.500`).
//! - Go forgets the suffix above the largest one (it prints 1000E as `1`); here the number is kept whole.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

const NANO: i128 = 1_000_000_000;
const NANO_PER_MILLI: i128 = 1_000_000;

/// The largest magnitude that a binary quantity keeps when it is parsed, in nano-units.
const LARGEST_BINARY: u128 = i64::MAX as u128 * NANO as u128;

/// Decimal suffixes with their power of ten, ascending.
const DECIMAL_SUFFIXES: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

/// Binary suffixes; each is 1024 times the one before, the first is 1024.
const BINARY_SUFFIXES: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// The family of suffixes that a quantity is written with (`resource.Format`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// `1500m`, `12`, `3k`.
    #[default]
    DecimalSi,
    /// `64Ki`, `8Gi`. A number below 1024 or with a fraction is written in the decimal family instead.
    BinarySi,
    /// `12e3`.
    DecimalExponent,
}

/// Why a text is no quantity. Each carries the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// There is something other than a sign, digits, a point and a suffix.
    #[error("{0:?} is not a quantity: expected a number and a suffix")]
    Malformed(String),
    /// There are no digits where a number is needed.
    #[error("{0:?} is not a quantity: it has no digits")]
    NoDigits(String),
    /// The suffix is none that Kubernetes knows.
    #[error("{0:?} is not a quantity: unknown suffix")]
    UnknownSuffix(String),
}

/// An amount of a resource, exact to a nano-unit (`resource.Quantity`).
///
/// Equality and order are those of the number; the format plays no part in them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

impl Quantity {
    /// A whole number of bytes, written with binary suffixes.
    pub const fn bytes(v: i128) -> Self {
        Self {
            nano: v.saturating_mul(NANO),
            format: Format::BinarySi,
        }
    }

    /// A whole number of things, written with decimal suffixes.
    pub const fn count(v: i128) -> Self {
        Self {
            nano: v.saturating_mul(NANO),
            format: Format::DecimalSi,
        }
    }

    /// Thousandths (such as milli-cores), written with decimal suffixes.
    pub const fn milli(v: i128) -> Self {
        Self {
            nano: v.saturating_mul(NANO_PER_MILLI),
            format: Format::DecimalSi,
        }
    }

    /// The same number, written in another format.
    #[must_use]
    pub fn with_format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// The format that this quantity is written in.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Reads a quantity as `resource.ParseQuantity` does: what is finer than a nano-unit is rounded away from zero,
    /// and a binary quantity is cut at 2^63-1.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let parts = Parts::split(text)?;
        let (scale, mut format) = Scale::of_suffix(parts.suffix)
            .ok_or_else(|| QuantityError::UnknownSuffix(text.to_owned()))?;
        if !parts.has_digits() && !scale.allows_no_digits() {
            return Err(QuantityError::NoDigits(text.to_owned()));
        }
        let mut magnitude = parts.nano(scale);
        if format == Format::BinarySi {
            magnitude = magnitude.min(LARGEST_BINARY);
            if magnitude > 0 && magnitude < NANO.unsigned_abs() {
                format = Format::DecimalSi;
            }
        }
        let nano = i128::try_from(magnitude).unwrap_or(i128::MAX);
        Ok(Self {
            nano: if parts.negative { -nano } else { nano },
            format,
        })
    }

    /// Whether the number is zero.
    pub fn is_zero(&self) -> bool {
        self.nano == 0
    }

    /// Whether the number is below zero.
    pub fn is_negative(&self) -> bool {
        self.nano < 0
    }

    /// The number in whole units, a fraction rounded away from zero.
    pub fn value(&self) -> i128 {
        divide_away_from_zero(self.nano, NANO)
    }

    /// The number in thousandths, a finer fraction rounded away from zero.
    pub fn milli_value(&self) -> i128 {
        divide_away_from_zero(self.nano, NANO_PER_MILLI)
    }

    /// The sum. A zero on the left takes the format of the right.
    #[must_use]
    pub fn add(&self, other: &Quantity) -> Quantity {
        Self {
            nano: self.nano.saturating_add(other.nano),
            format: self.format_beside(other),
        }
    }

    /// The difference. A zero on the left takes the format of the right.
    #[must_use]
    pub fn sub(&self, other: &Quantity) -> Quantity {
        Self {
            nano: self.nano.saturating_sub(other.nano),
            format: self.format_beside(other),
        }
    }

    /// The number itself, or zero in place of one below it; the format is kept.
    #[must_use]
    pub fn at_least_zero(self) -> Quantity {
        Self {
            nano: self.nano.max(0),
            ..self
        }
    }

    fn format_beside(&self, other: &Quantity) -> Format {
        if self.is_zero() {
            other.format
        } else {
            self.format
        }
    }

    /// The whole number, when it is one and large enough to be written with a binary suffix.
    fn binary_integer(&self) -> Option<i128> {
        let whole = self.nano / NANO;
        let exact = self.nano % NANO == 0;
        (exact && whole.unsigned_abs() >= 1024).then_some(whole)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

/// The canonical text of `Quantity.String()`.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        if self.format == Format::BinarySi
            && let Some(whole) = self.binary_integer()
        {
            let (number, times) = strip_factor(whole, 1024, BINARY_SUFFIXES.len());
            let suffix = times.checked_sub(1).map_or("", |i| BINARY_SUFFIXES[i]);
            return write!(f, "{number}{suffix}");
        }
        if self.format == Format::DecimalExponent {
            let (number, times) = strip_factor(self.nano, 1000, usize::MAX);
            return match 3 * times {
                9 => write!(f, "{number}"),
                exponent if exponent > 9 => write!(f, "{number}e{}", exponent - 9),
                exponent => write!(f, "{number}e-{}", 9 - exponent),
            };
        }
        let (number, times) = strip_factor(self.nano, 1000, DECIMAL_SUFFIXES.len() - 1);
        write!(f, "{number}{}", DECIMAL_SUFFIXES[times].0)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl From<&Quantity> for ApiQuantity {
    fn from(quantity: &Quantity) -> Self {
        Self(quantity.to_string())
    }
}

impl TryFrom<&ApiQuantity> for Quantity {
    type Error = QuantityError;

    fn try_from(quantity: &ApiQuantity) -> Result<Self, Self::Error> {
        Self::parse(&quantity.0)
    }
}

/// What one unit of the number in front of a suffix is worth.
#[derive(Debug, Clone, Copy)]
enum Scale {
    PowerOfTen(i64),
    PowerOfTwo(u32),
}

impl Scale {
    fn of_suffix(suffix: &str) -> Option<(Self, Format)> {
        if let Some((_, exponent)) = DECIMAL_SUFFIXES.iter().find(|(name, _)| *name == suffix) {
            return Some((Self::PowerOfTen(i64::from(*exponent)), Format::DecimalSi));
        }
        let exponents = (10..).step_by(10);
        if let Some((_, exponent)) = BINARY_SUFFIXES
            .iter()
            .zip(exponents)
            .find(|(name, _)| **name == suffix)
        {
            return Some((Self::PowerOfTwo(exponent), Format::BinarySi));
        }
        let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
        Some((Self::PowerOfTen(exponent), Format::DecimalExponent))
    }

    /// Go reads a text without digits (`.`, `-`, `Ki`) as zero wherever its fast path is wide enough for the suffix.
    fn allows_no_digits(self) -> bool {
        match self {
            Self::PowerOfTen(exponent) => exponent >= -9,
            Self::PowerOfTwo(exponent) => exponent < 50,
        }
    }
}

/// The pieces of a quantity's text.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, QuantityError> {
        let malformed = || QuantityError::Malformed(text.to_owned());
        if text.is_empty() {
            return Err(malformed());
        }
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, rest) = split_digits(unsigned);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);

        let exponent = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if !exponent.bytes().all(|b| b.is_ascii_digit()) {
            return Err(malformed());
        }
        Ok(Self {
            negative,
            whole,
            fraction,
            suffix,
        })
    }

    fn has_digits(&self) -> bool {
        !(self.whole.is_empty() && self.fraction.is_empty())
    }

    /// The magnitude in nano-units, rounded up, saturating.
    fn nano(&self, scale: Scale) -> u128 {
        let (multiplier, exponent) = match scale {
            Scale::PowerOfTen(exponent) => (1, exponent),
            Scale::PowerOfTwo(exponent) => (1_u128 << exponent, 0),
        };
        // Long multiplication, least digit first, so that a number of any length stays exact.
        let mut digits = Vec::with_capacity(self.whole.len() + self.fraction.len() + 20);
        let mut carry = 0_u128;
        for digit in self.whole.bytes().chain(self.fraction.bytes()).rev() {
            carry += u128::from(digit - b'0') * multiplier;
            digits.push(carry % 10);
            carry /= 10;
        }
        while carry > 0 {
            digits.push(carry % 10);
            carry /= 10;
        }

        let fraction_digits = i64::try_from(self.fraction.len()).unwrap_or(i64::MAX);
        let shift = exponent.saturating_add(9).saturating_sub(fraction_digits);
        let cut = usize::try_from(shift.min(0).unsigned_abs())
            .unwrap_or(usize::MAX)
            .min(digits.len());
        let (below_nano, whole) = digits.split_at(cut);
        let rounds_up = below_nano.iter().any(|digit| *digit != 0);
        let power = u32::try_from(shift.max(0)).unwrap_or(u32::MAX);
        whole
            .iter()
            .rev()
            .fold(0_u128, |sum, digit| {
                sum.saturating_mul(10).saturating_add(*digit)
            })
            .saturating_mul(10_u128.saturating_pow(power))
            .saturating_add(u128::from(rounds_up))
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(end)
}

/// Divides by `factor` while that is exact, at most `limit` times; returns the rest and how often.
fn strip_factor(mut number: i128, factor: i128, limit: usize) -> (i128, usize) {
    let mut times = 0;
    while times < limit && number != 0 && number % factor == 0 {
        number /= factor;
        times += 1;
    }
    (number, times)
}

fn divide_away_from_zero(number: i128, divisor: i128) -> i128 {
    let rest = number % divisor;
    number / divisor + rest.signum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> String {
        Quantity::parse(text).unwrap().to_string()
    }

    #[test]
    fn prints_the_canonical_text() {
        for (input, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("0Ki", "0"),
            ("0.000e-30", "0"),
            ("4000m", "4"),
            ("1800m", "1800m"),
            ("1.5", "1500m"),
            ("-1.5", "-1500m"),
            ("1.500", "1500m"),
            ("+5", "5"),
            ("007", "7"),
            ("100k", "100k"),
            ("1000k", "1M"),
            ("1500M", "1500M"),
            ("0.1m", "100u"),
            ("0.1n", "1n"),
            ("-0.1n", "-1n"),
            ("1.0000000001", "1000000001n"),
            ("1E", "1E"),
            ("1000E", "1000E"),
            ("1e3", "1e3"),
            ("1E3", "1e3"),
            ("12e4", "120e3"),
            ("1.5e3", "1500"),
            ("1e-3", "1e-3"),
            ("1e-30", "1e-9"),
            ("1e21", "1e21"),
            ("1.5Gi", "1536Mi"),
            ("1Ki", "1Ki"),
            ("1023Ki", "1023Ki"),
            ("1024Ki", "1Mi"),
            ("0.5Ki", "512"),
            ("0.1Ki", "102400m"),
            ("0.0001Ki", "102400u"),
            ("1.1Ki", "1126400m"),
            ("8Ei", "9223372036854775807"),
            ("-8Ei", "-9223372036854775807"),
            ("7Ei", "7Ei"),
            (
                "0.00000000000000000000000000000000000000000000000000001Ei",
                "1n",
            ),
            (".5", "500m"),
            ("5.", "5"),
            (".", "0"),
            ("+", "0"),
            ("Ki", "0"),
        ] {
            assert_eq!(printed(input), expected, "{input}");
        }
    }

    #[test]
    fn the_canonical_encodings_of_the_node_metric_reference() {
        for (milli, expected) in [
            (0, "0"),
            (1, "1m"),
            (999, "999m"),
            (1_000, "1"),
            (1_234, "1234m"),
            (1_500, "1500m"),
            (10_000, "10"),
            (999_999, "999999m"),
            (1_000_000, "1k"),
            (1_000_000_000, "1M"),
        ] {
            assert_eq!(Quantity::milli(milli).to_string(), expected);
        }
        for (bytes, expected) in [
            (0, "0"),
            (512, "512"),
            (1_000, "1k"),
            (1_024, "1Ki"),
            (1_536, "1536"),
            (1_572_864, "1536Ki"),
            (3_221_225_472, "3Gi"),
            (12_345_678, "12345678"),
            (1_264_196_608, "1234567Ki"),
            (1_099_511_627_776, "1Ti"),
        ] {
            assert_eq!(Quantity::bytes(bytes).to_string(), expected);
        }
    }

    #[test]
    fn a_binary_quantity_with_a_fraction_is_printed_in_the_decimal_family() {
        let half = Quantity::milli(2_048_500).with_format(Format::BinarySi);
        assert_eq!(half.to_string(), "2048500m");
        assert_eq!(half.format(), Format::BinarySi);
    }

    #[test]
    fn refuses_what_is_no_quantity() {
        for text in ["", " 1", "1 ", "1.2.3", "1x", "1-1-", "1_000", "1é", "é"] {
            let refused = Quantity::parse(text);
            assert!(
                matches!(refused, Err(QuantityError::Malformed(ref t)) if t == text),
                "{text:?}: {refused:?}"
            );
        }
        for text in [
            "1K",
            "1mi",
            "1e",
            "1e+",
            "1ee3",
            "1KiMi",
            "1i",
            "1-1",
            "--1",
            "1e99999999999999999999",
            "1k3",
        ] {
            let refused = Quantity::parse(text);
            assert!(
                matches!(refused, Err(QuantityError::UnknownSuffix(ref t)) if t == text),
                "{text:?}: {refused:?}"
            );
        }
        for text in ["Pi", "+Ei", ".e-10"] {
            assert_eq!(
                Quantity::parse(text),
                Err(QuantityError::NoDigits(text.to_owned()))
            );
        }
    }

    #[test]
    fn huge_and_tiny_numbers_saturate_without_a_panic() {
        let most = Quantity::parse("1e40").unwrap();
        assert_eq!(most, Quantity::parse(&"9".repeat(400)).unwrap());
        assert_eq!(most, Quantity::parse("1e9223372036854775807").unwrap());
        assert_eq!(most, Quantity::count(i128::MAX));
        assert_eq!(most.add(&most), most);
        let least = Quantity::parse("-1e40").unwrap();
        assert!(least.sub(&most).is_negative());
        assert_eq!(
            Quantity::parse("1e-9223372036854775808")
                .unwrap()
                .to_string(),
            "1e-9"
        );
        for v in [i128::MIN, i128::MAX] {
            for quantity in [Quantity::bytes(v), Quantity::count(v), Quantity::milli(v)] {
                assert!(Quantity::parse(&quantity.to_string()).is_ok());
                assert_eq!(quantity.value().signum(), v.signum());
            }
        }
    }

    #[test]
    fn values_round_away_from_zero() {
        for (text, value, milli) in [
            ("0", 0, 0),
            ("1n", 1, 1),
            ("-1n", -1, -1),
            ("1500m", 2, 1500),
            ("-1500m", -2, -1500),
            ("1.5Gi", 1_610_612_736, 1_610_612_736_000),
            ("100u", 1, 1),
        ] {
            let quantity = Quantity::parse(text).unwrap();
            assert_eq!(
                (quantity.value(), quantity.milli_value()),
                (value, milli),
                "{text}"
            );
        }
    }

    #[test]
    fn a_zero_on_the_left_takes_the_format_of_the_right() {
        let zero = Quantity::count(0);
        assert_eq!(zero.add(&Quantity::bytes(2048)).to_string(), "2Ki");
        assert_eq!(zero.sub(&Quantity::bytes(2048)).to_string(), "-2Ki");
        assert_eq!(
            Quantity::count(2048)
                .add(&Quantity::bytes(2048))
                .to_string(),
            "4096"
        );
        assert_eq!(
            Quantity::bytes(2048)
                .sub(&Quantity::bytes(4096))
                .to_string(),
            "-2Ki"
        );
    }

    #[test]
    fn at_least_zero_keeps_the_format() {
        let clamped = Quantity::bytes(-5).at_least_zero();
        assert!(clamped.is_zero());
        assert_eq!(clamped.format(), Format::BinarySi);
        assert_eq!(Quantity::bytes(5).at_least_zero(), Quantity::bytes(5));
    }

    #[test]
    fn equality_and_order_are_those_of_the_number() {
        assert_eq!(
            Quantity::parse("1Ki").unwrap(),
            Quantity::parse("1024").unwrap()
        );
        assert_eq!(
            Quantity::parse("4").unwrap(),
            Quantity::parse("4000m").unwrap()
        );
        assert!(Quantity::parse("1k").unwrap() < Quantity::parse("1Ki").unwrap());
        assert!(Quantity::parse("-1").unwrap() < Quantity::default());
    }

    #[test]
    fn converts_to_and_from_the_api_type() {
        let api = ApiQuantity::from(&Quantity::bytes(8 << 30));
        assert_eq!(api.0, "8Gi");
        assert_eq!(Quantity::try_from(&api), Ok(Quantity::bytes(8 << 30)));
        assert!(Quantity::try_from(&ApiQuantity("eight".to_owned())).is_err());
        assert_eq!("8Gi".parse(), Ok(Quantity::bytes(8 << 30)));
    }
}
