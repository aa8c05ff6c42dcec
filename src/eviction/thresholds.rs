//! Eviction thresholds as configured: parsing, defaults and arithmetic.
//!
//! Owns what a threshold is; never looks at the host. Defined by `pkg/kubelet/eviction/helpers.go`
//! (`ParseThresholdConfig`), `pkg/kubelet/eviction/api/types.go` and `defaults_linux.go`.

use crate::config::go_duration::{self, DurationError};
use crate::quantity::{Quantity, QuantityError};
use std::collections::BTreeMap;
use std::fmt;
use std::num::ParseFloatError;
use std::time::Duration;

/// What is observed and held against a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// Memory that is not in the working set of the root cgroup, in bytes.
    MemoryAvailable,
    /// Free space of the filesystem that holds kubelet's root directory, in bytes.
    NodefsAvailable,
    /// Free inodes of that filesystem.
    NodefsInodesFree,
    /// Free space of the filesystem that holds the images, in bytes.
    ImagefsAvailable,
    /// Free inodes of that filesystem.
    ImagefsInodesFree,
    /// Free space of the filesystem that holds the writable layers, in bytes.
    ContainerfsAvailable,
    /// Free inodes of that filesystem.
    ContainerfsInodesFree,
    /// Process ids that are left.
    PidAvailable,
    /// Memory that is left to the cgroup of all pods, in bytes.
    AllocatableMemoryAvailable,
}

impl Signal {
    /// All signals.
    pub const ALL: [Self; 9] = [
        Self::MemoryAvailable,
        Self::NodefsAvailable,
        Self::NodefsInodesFree,
        Self::ImagefsAvailable,
        Self::ImagefsInodesFree,
        Self::ContainerfsAvailable,
        Self::ContainerfsInodesFree,
        Self::PidAvailable,
        Self::AllocatableMemoryAvailable,
    ];

    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::MemoryAvailable => "memory.available",
            Self::NodefsAvailable => "nodefs.available",
            Self::NodefsInodesFree => "nodefs.inodesFree",
            Self::ImagefsAvailable => "imagefs.available",
            Self::ImagefsInodesFree => "imagefs.inodesFree",
            Self::ContainerfsAvailable => "containerfs.available",
            Self::ContainerfsInodesFree => "containerfs.inodesFree",
            Self::PidAvailable => "pid.available",
            Self::AllocatableMemoryAvailable => "allocatableMemory.available",
        }
    }

    /// The signal of that name.
    pub fn from_name(name: &str) -> Result<Self, ThresholdError> {
        let found = Self::ALL.into_iter().find(|signal| signal.name() == name);
        found.ok_or_else(|| ThresholdError::UnsupportedSignal(name.to_owned()))
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much: outright, or as a part of the capacity.
#[derive(Debug, Clone, PartialEq)]
pub enum ThresholdValue {
    /// Bytes, inodes or process ids.
    Quantity(Quantity),
    /// A part of the capacity, 1 being all of it. The only floating-point number in nodelet: kubelet keeps the part in
    /// single precision and multiplies in double precision, which shows in the result (5 % of 10Gi is 536870920).
    Percentage(f32),
}

impl ThresholdValue {
    /// The amount for a thing with that `capacity`, in the signal's unit (`GetThresholdQuantity`).
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "kubelet's arithmetic, to the bit: int64(float64(capacity) * float64(percentage))"
    )]
    pub fn amount_of(&self, capacity: i128) -> i128 {
        match self {
            Self::Quantity(quantity) => quantity.value(),
            Self::Percentage(part) => ((capacity as f64 * f64::from(*part)) as i64).into(),
        }
    }
}

impl fmt::Display for ThresholdValue {
    /// Writes the value as it can be configured.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantity(quantity) => quantity.fmt(f),
            Self::Percentage(part) => write!(f, "{}%", percent(*part)),
        }
    }
}

/// The shortest number of percent that is read as `part` again.
fn percent(part: f32) -> f32 {
    let near = part * 100.0;
    let rounded = (0..7).map(|places| {
        let scale = 10_f32.powi(places);
        (near * scale).round() / scale
    });
    let neighbours = [near, near.next_down(), near.next_up()];
    let exact = |percent: &f32| (percent / 100.0).to_bits() == part.to_bits();
    rounded.chain(neighbours).find(exact).unwrap_or(near)
}

/// A limit which a signal must not fall below.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// What is observed.
    pub signal: Signal,
    /// The least that must be available.
    pub value: ThresholdValue,
    /// How long a soft threshold may be crossed before anything is evicted; `None` for a hard one.
    pub grace_period: Option<Duration>,
    /// How much more must be available until the threshold counts as no longer met.
    pub min_reclaim: Option<ThresholdValue>,
}

impl Threshold {
    /// Whether it acts at once; kubelet takes a soft threshold without grace for a hard one.
    pub fn is_hard(&self) -> bool {
        self.grace_period.is_none_or(|period| period.is_zero())
    }
}

/// Why a statement about a threshold is refused, in kubelet's words.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ThresholdError {
    /// No such signal.
    #[error("unsupported eviction signal {0}")]
    UnsupportedSignal(String),
    /// Neither a percentage nor a quantity.
    #[error("{0}")]
    Quantity(#[from] QuantityError),
    /// Ends in `%`, and the rest is no number.
    #[error("strconv.ParseFloat: parsing {0:?}: invalid syntax")]
    Percentage(String),
    /// A part of the capacity below nothing.
    #[error("eviction percentage threshold {0} must be >= 0%: {1}")]
    PercentageBelowZero(Signal, String),
    /// A part of the capacity above all of it.
    #[error("eviction percentage threshold {0} must be <= 100%: {1}")]
    PercentageAboveAll(Signal, String),
    /// A threshold of nothing.
    #[error("eviction threshold {0} must be positive: {1}")]
    NotPositive(Signal, Quantity),
    /// A grace period that is no duration.
    #[error("{0}")]
    Duration(#[from] DurationError),
    /// A grace period below nothing.
    #[error("invalid eviction grace period specified: {0}, must be a positive value")]
    NegativeGracePeriod(String),
    /// A soft threshold that has no grace period.
    #[error("grace period must be specified for the soft eviction threshold {0}")]
    NoGracePeriod(Signal),
    /// A part to reclaim that is nothing or less.
    #[error("eviction percentage minimum reclaim {0} must be positive: {1}")]
    ReclaimPercentageNotPositive(Signal, String),
    /// An amount to reclaim that is below nothing.
    #[error("negative eviction minimum reclaim specified for {0}")]
    NegativeReclaim(Signal),
}

/// Statements as configured: signal to value.
pub type Statements = BTreeMap<String, String>;

/// A statement that is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The key of the configuration that holds it: `evictionHard`, `evictionSoftGracePeriod`, …
    pub table: &'static str,
    /// The signal, as written.
    pub signal: String,
    /// Why.
    pub error: ThresholdError,
}

/// kubelet's hard thresholds where none are configured (`DefaultEvictionHard` on Linux).
pub fn default_hard() -> Vec<Threshold> {
    let of_memory = ThresholdValue::Quantity(Quantity::bytes(100 << 20));
    let defaults = [
        (Signal::MemoryAvailable, of_memory),
        (
            Signal::NodefsAvailable,
            ThresholdValue::Percentage(10.0 / 100.0),
        ),
        (
            Signal::NodefsInodesFree,
            ThresholdValue::Percentage(5.0 / 100.0),
        ),
        (
            Signal::ImagefsAvailable,
            ThresholdValue::Percentage(15.0 / 100.0),
        ),
        (
            Signal::ImagefsInodesFree,
            ThresholdValue::Percentage(5.0 / 100.0),
        ),
    ];
    let hard = |(signal, value)| Threshold {
        signal,
        value,
        grace_period: None,
        min_reclaim: None,
    };
    defaults.map(hard).into()
}

/// Parses the four tables of the configuration (`ParseThresholdConfig`); without the first kubelet's defaults are taken.
/// Returns the hard thresholds and the soft ones, both in the order of [`Signal`]. All refused statements are reported
/// at once.
pub fn parse_threshold_config(
    hard: Option<&Statements>,
    soft: &Statements,
    soft_grace_period: &Statements,
    minimum_reclaim: &Statements,
) -> Result<(Vec<Threshold>, Vec<Threshold>), Vec<Refused>> {
    let mut refused = Vec::new();
    let hard = match hard {
        Some(hard) => parse_all("evictionHard", hard, &mut refused, parse_statement),
        None => default_hard()
            .into_iter()
            .map(|hard| (hard.signal, Some(hard.value)))
            .collect(),
    };
    let soft = parse_all("evictionSoft", soft, &mut refused, parse_statement);
    let periods = parse_all(
        "evictionSoftGracePeriod",
        soft_grace_period,
        &mut refused,
        |_, text| parse_grace_period(text),
    );
    let reclaims = parse_all(
        "evictionMinimumReclaim",
        minimum_reclaim,
        &mut refused,
        parse_min_reclaim,
    );
    // A grace period that is there and was refused is a fault already.
    let without_period = |signal: &&Signal| !soft_grace_period.contains_key(signal.name());
    let soft_signals = soft
        .iter()
        .filter(|(_, value)| value.is_some())
        .map(|(signal, _)| signal);
    refused.extend(soft_signals.filter(without_period).map(|signal| Refused {
        table: "evictionSoft",
        signal: signal.name().to_owned(),
        error: ThresholdError::NoGracePeriod(*signal),
    }));
    if !refused.is_empty() {
        return Err(refused);
    }
    let complete = |values: BTreeMap<Signal, Option<ThresholdValue>>, periods: &BTreeMap<_, _>| {
        let enabled = values
            .into_iter()
            .filter_map(|(signal, value)| Some((signal, value?)));
        let thresholds = enabled.map(|(signal, value)| Threshold {
            signal,
            value,
            grace_period: periods.get(&signal).copied(),
            min_reclaim: reclaims.get(&signal).cloned(),
        });
        thresholds.collect()
    };
    Ok((complete(hard, &BTreeMap::new()), complete(soft, &periods)))
}

/// `thresholds`, and behind them one for the memory of all pods for each hard one of memory
/// (`addAllocatableThresholds`, where `enforceNodeAllocatable` names `pods`).
pub fn add_allocatable_thresholds(thresholds: &[Threshold]) -> Vec<Threshold> {
    let of_memory = thresholds
        .iter()
        .filter(|threshold| threshold.signal == Signal::MemoryAvailable && threshold.is_hard());
    let of_pods = of_memory.map(|threshold| Threshold {
        signal: Signal::AllocatableMemoryAvailable,
        grace_period: None,
        ..threshold.clone()
    });
    thresholds.iter().cloned().chain(of_pods).collect()
}

fn parse_all<T>(
    table: &'static str,
    statements: &Statements,
    refused: &mut Vec<Refused>,
    parse: impl Fn(Signal, &str) -> Result<T, ThresholdError>,
) -> BTreeMap<Signal, T> {
    let mut parsed = BTreeMap::new();
    for (name, text) in statements {
        let result = Signal::from_name(name).and_then(|signal| Ok((signal, parse(signal, text)?)));
        match result {
            Ok((signal, value)) => {
                parsed.insert(signal, value);
            }
            Err(error) => refused.push(Refused {
                table,
                signal: name.clone(),
                error,
            }),
        }
    }
    parsed
}

/// The value of a threshold; `None` where it is switched off with `0%` or `100%`.
fn parse_statement(signal: Signal, text: &str) -> Result<Option<ThresholdValue>, ThresholdError> {
    if text == "0%" || text == "100%" {
        return Ok(None);
    }
    if text.ends_with('%') {
        let part = parse_percentage(text)?;
        if part < 0.0 {
            return Err(ThresholdError::PercentageBelowZero(signal, text.to_owned()));
        }
        if part > 1.0 {
            return Err(ThresholdError::PercentageAboveAll(signal, text.to_owned()));
        }
        return Ok(Some(ThresholdValue::Percentage(part)));
    }
    let quantity = Quantity::parse(text)?;
    if quantity.is_negative() || quantity.is_zero() {
        return Err(ThresholdError::NotPositive(signal, quantity));
    }
    Ok(Some(ThresholdValue::Quantity(quantity)))
}

fn parse_grace_period(text: &str) -> Result<Duration, ThresholdError> {
    let nanoseconds = go_duration::parse_nanoseconds(text)?;
    match u64::try_from(nanoseconds) {
        Ok(nanoseconds) => Ok(Duration::from_nanos(nanoseconds)),
        Err(_) => Err(ThresholdError::NegativeGracePeriod(text.to_owned())),
    }
}

fn parse_min_reclaim(signal: Signal, text: &str) -> Result<ThresholdValue, ThresholdError> {
    if text.ends_with('%') {
        let part = parse_percentage(text)?;
        if part <= 0.0 {
            return Err(ThresholdError::ReclaimPercentageNotPositive(
                signal,
                text.to_owned(),
            ));
        }
        return Ok(ThresholdValue::Percentage(part));
    }
    let quantity = Quantity::parse(text)?;
    if quantity.is_negative() {
        return Err(ThresholdError::NegativeReclaim(signal));
    }
    Ok(ThresholdValue::Quantity(quantity))
}

/// `25.5%` is 0.255. Unlike Go, infinity and "not a number" are refused.
fn parse_percentage(text: &str) -> Result<f32, ThresholdError> {
    let number = text.trim_end_matches('%');
    let parsed: Result<f32, ParseFloatError> = number.parse();
    match parsed {
        Ok(percent) if percent.is_finite() => Ok(percent / 100.0),
        _ => Err(ThresholdError::Percentage(number.to_owned())),
    }
}

#[cfg(test)]
mod tests;
