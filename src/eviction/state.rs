//! From observations to pressures: which thresholds are met, and for how long a pressure is held once it was seen
//! (`pkg/kubelet/eviction/eviction_manager.go`, `synchronize`).
//!
//! A pressure is reported at once, also for a soft threshold: grace periods delay evictions, and nodelet evicts
//! nothing. It is held for the transition period after its last sighting. Time is elapsed time, given by the caller.

use super::signals::{Observations, Pressures};
use super::thresholds::{Signal, Threshold, ThresholdValue};
use crate::status::conditions::{DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::Timestamp;
use std::time::Duration;

/// What is remembered from pass to pass.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// When the first pass was; the times below count from then.
    began: Option<Duration>,
    met: Vec<Met>,
    /// Until when each pressure is held, in the order of [`KINDS`].
    held_until: [Option<Duration>; KINDS.len()],
    reported: Pressures,
    /// What the Node says, for a state that has no memory of its own and cannot know how long a threshold was met.
    present: Option<Pressures>,
}

/// A threshold that is met.
#[derive(Debug, Clone)]
struct Met {
    threshold: Threshold,
    since: Duration,
    /// Whether the grace period was over in the last pass: from then on the minimum reclaim counts.
    past_grace: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Memory,
    Disk,
    Pid,
}

const KINDS: [Kind; 3] = [Kind::Memory, Kind::Disk, Kind::Pid];

impl Kind {
    fn of(signal: Signal) -> Self {
        match signal {
            Signal::MemoryAvailable | Signal::AllocatableMemoryAvailable => Self::Memory,
            Signal::NodefsAvailable
            | Signal::NodefsInodesFree
            | Signal::ImagefsAvailable
            | Signal::ImagefsInodesFree
            | Signal::ContainerfsAvailable
            | Signal::ContainerfsInodesFree => Self::Disk,
            Signal::PidAvailable => Self::Pid,
        }
    }

    fn condition(self) -> &'static str {
        match self {
            Self::Memory => MEMORY_PRESSURE,
            Self::Disk => DISK_PRESSURE,
            Self::Pid => PID_PRESSURE,
        }
    }

    fn of_pressures(self, pressures: Pressures) -> bool {
        match self {
            Self::Memory => pressures.memory,
            Self::Disk => pressures.disk,
            Self::Pid => pressures.pid,
        }
    }
}

/// The pressures for which `holds` is true.
fn pressures(mut holds: impl FnMut(Kind) -> bool) -> Pressures {
    Pressures {
        memory: holds(Kind::Memory),
        disk: holds(Kind::Disk),
        pid: holds(Kind::Pid),
    }
}

impl State {
    /// The state of a process that makes its first pass now, beside a Node that has conditions already: a pressure that
    /// is on it was last seen when it began, and is held from then.
    pub fn from_node(node: &Node, now: Timestamp, transition_period: Duration) -> Self {
        let held_until = KINDS.map(|kind| {
            let began = raised_since(node, kind)?;
            let age = Duration::try_from(now.duration_since(began)).unwrap_or_default();
            transition_period.checked_sub(age)
        });
        let reported = pressures(|kind| raised_since(node, kind).is_some());
        Self {
            held_until,
            reported,
            ..Self::default()
        }
    }

    /// [`State::from_node`] for a process that makes one pass and ends. It cannot know how long a soft threshold was
    /// met before, so one with a grace period leaves the status that the Node has.
    pub fn for_one_pass(node: &Node, now: Timestamp, transition_period: Duration) -> Self {
        let state = Self::from_node(node, now, transition_period);
        Self {
            present: Some(state.reported),
            ..state
        }
    }

    /// One pass at `now`, the time that has elapsed since any fixed moment. A signal without an observation has no threshold met; without any
    /// observation the last pressures stay.
    pub fn pass(
        &mut self,
        now: Duration,
        thresholds: &[Threshold],
        transition_period: Duration,
        observations: &Observations,
    ) -> Pressures {
        let now = now.saturating_sub(*self.began.get_or_insert(now));
        if observations.is_empty() {
            return self.reported;
        }
        self.met = thresholds
            .iter()
            .filter_map(|threshold| self.meet(threshold, now, observations))
            .collect();
        let seen = pressures(|kind| self.met.iter().any(|met| self.shows(kind, met)));
        for (kind, held_until) in KINDS.into_iter().zip(&mut self.held_until) {
            if kind.of_pressures(seen) {
                *held_until = Some(now.saturating_add(transition_period));
            }
        }
        self.reported = pressures(|kind| {
            kind.of_pressures(seen)
                || self.held_until[kind as usize].is_some_and(|until| now < until)
        });
        self.reported
    }

    /// `threshold` as met at `now`, if it is: crossed, or crossed before and not yet reclaimed enough.
    fn meet(
        &self,
        threshold: &Threshold,
        now: Duration,
        observations: &Observations,
    ) -> Option<Met> {
        let observed = observations.get(threshold.signal)?;
        let before = self.met.iter().find(|met| met.threshold == *threshold);
        let mut least = threshold.value.amount_of(observed.capacity);
        if before.is_some_and(|met| met.past_grace) {
            let reclaim = threshold.min_reclaim.as_ref();
            let reclaim = reclaim.map_or(0, |value: &ThresholdValue| {
                value.amount_of(observed.capacity)
            });
            least = least.saturating_add(reclaim);
        }
        if observed.available >= least {
            return None;
        }
        let since = before.map_or(now, |met| met.since);
        let past_grace = now.saturating_sub(since) >= threshold.grace_period.unwrap_or_default();
        Some(Met {
            threshold: threshold.clone(),
            since,
            past_grace,
        })
    }

    /// Whether `met` is a sighting of the pressure `kind`.
    fn shows(&self, kind: Kind, met: &Met) -> bool {
        Kind::of(met.threshold.signal) == kind
            && (met.past_grace
                || self
                    .present
                    .is_none_or(|present| kind.of_pressures(present)))
    }
}

/// Since when the Node has had the pressure, if it has it.
fn raised_since(node: &Node, kind: Kind) -> Option<Timestamp> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let condition = conditions
        .iter()
        .rev()
        .find(|condition| condition.type_ == kind.condition())?;
    (condition.status == "True").then(|| {
        condition
            .last_transition_time
            .as_ref()
            .map_or(Timestamp::UNIX_EPOCH, |time| time.0)
    })
}

#[cfg(test)]
mod tests;
