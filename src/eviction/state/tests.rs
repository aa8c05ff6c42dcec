use super::State;
use crate::eviction::signals::{Observation, Observations, Pressures};
use crate::eviction::thresholds::{Signal, Threshold, ThresholdValue};
use crate::quantity::Quantity;
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use std::time::Duration;

const PERIOD: Duration = Duration::from_mins(5);
const MINUTE: Duration = Duration::from_mins(1);

fn bytes(text: &str) -> i128 {
    Quantity::parse(text).unwrap().value()
}

fn quantity(text: &str) -> ThresholdValue {
    ThresholdValue::Quantity(Quantity::parse(text).unwrap())
}

fn hard(signal: Signal, value: &str) -> Threshold {
    Threshold {
        signal,
        value: quantity(value),
        grace_period: None,
        min_reclaim: None,
    }
}

fn soft(signal: Signal, value: &str, grace: Duration) -> Threshold {
    Threshold {
        grace_period: Some(grace),
        ..hard(signal, value)
    }
}

fn left(signal: Signal, available: i128, capacity: i128) -> Observations {
    [(
        signal,
        Observation {
            available,
            capacity,
        },
    )]
    .into_iter()
    .collect()
}

/// Runs the steps (elapsed minutes after the one before, available, expected) of a time line.
fn time_line(
    signal: Signal,
    thresholds: &[Threshold],
    capacity: &str,
    of: fn(Pressures) -> bool,
    steps: &[(u32, &str, bool)],
) {
    let mut state = State::default();
    let mut now = Duration::ZERO;
    for (step, (minutes, available, expected)) in steps.iter().enumerate() {
        now += MINUTE * *minutes;
        let observed = left(signal, bytes(available), bytes(capacity));
        let reported = state.pass(now, thresholds, PERIOD, &observed);
        assert_eq!(
            of(reported),
            *expected,
            "step {step}: {available} left at {now:?}"
        );
    }
}

#[test]
fn test_memory_pressure() {
    let signal = Signal::MemoryAvailable;
    let thresholds = [hard(signal, "1Gi"), soft(signal, "2Gi", 2 * MINUTE)];
    time_line(
        signal,
        &thresholds,
        "4Gi",
        |p| p.memory,
        &[
            (0, "2Gi", false),
            (1, "1500Mi", true),
            (3, "1500Mi", true),
            (20, "3Gi", false),
            (1, "500Mi", true),
            (1, "2Gi", true),
            (5, "2Gi", false),
        ],
    );
}

#[test]
fn test_pid_pressure() {
    let signal = Signal::PidAvailable;
    let thresholds = [hard(signal, "1200"), soft(signal, "1500", 2 * MINUTE)];
    time_line(
        signal,
        &thresholds,
        "2000",
        |p| p.pid,
        &[
            (0, "1700", false),
            (1, "1300", true),
            (3, "1300", true),
            (20, "1700", false),
            (1, "800", true),
            (1, "1700", true),
            (5, "1700", false),
        ],
    );
}

#[test]
fn test_disk_pressure_node_fs() {
    for signal in [
        Signal::NodefsAvailable,
        Signal::ImagefsAvailable,
        Signal::ContainerfsAvailable,
    ] {
        let thresholds = [hard(signal, "1Gi"), soft(signal, "2Gi", 2 * MINUTE)];
        time_line(
            signal,
            &thresholds,
            "200Gi",
            |p| p.disk,
            &[
                (0, "16Gi", false),
                (1, "1536Mi", true),
                (3, "1536Mi", true),
                (20, "16Gi", false),
                (1, "750Mi", true),
                (1, "16Gi", true),
                (5, "16Gi", false),
            ],
        );
    }
}

#[test]
fn test_min_reclaim() {
    let signal = Signal::MemoryAvailable;
    let threshold = Threshold {
        min_reclaim: Some(quantity("500Mi")),
        ..hard(signal, "1Gi")
    };
    // 1.2Gi is above the threshold, but not by the minimum reclaim: still a sighting, so the hold ends later.
    time_line(
        signal,
        &[threshold],
        "4Gi",
        |p| p.memory,
        &[
            (0, "2Gi", false),
            (1, "500Mi", true),
            (1, "1288490189", true),
            (1, "2Gi", true),
            (4, "2Gi", false),
        ],
    );
}

#[test]
fn test_allocatable_memory_pressure() {
    let signal = Signal::AllocatableMemoryAvailable;
    time_line(
        signal,
        &[hard(signal, "1Gi")],
        "5Gi",
        |p| p.memory,
        &[
            (0, "4Gi", false),
            (1, "500Mi", true),
            (1, "2Gi", true),
            (5, "2Gi", false),
        ],
    );
}

#[test]
fn test_thresholds_met() {
    let signal = Signal::MemoryAvailable;
    let threshold = Threshold {
        min_reclaim: Some(quantity("500Mi")),
        ..hard(signal, "1Gi")
    };
    let thresholds = [threshold];
    let met = |state: &State| !state.met.is_empty();
    let observed = |available: &str| left(signal, bytes(available), bytes("4Gi"));

    let mut state = State::default();
    state.pass(MINUTE, &[], PERIOD, &observed("500Mi"));
    assert!(!met(&state), "no threshold");
    for (available, enforced, expected) in [
        ("500Mi", false, true),
        ("2Gi", false, false),
        ("1Gi", false, false),
        ("1050Mi", true, true),
        ("2Gi", true, false),
    ] {
        let mut state = State::default();
        if enforced {
            state.pass(Duration::ZERO, &thresholds, PERIOD, &observed("500Mi"));
        }
        state.pass(MINUTE, &thresholds, PERIOD, &observed(available));
        assert_eq!(
            met(&state),
            expected,
            "{available}, reclaim enforced: {enforced}"
        );
    }
}

#[test]
fn test_percentage_thresholds_met() {
    let thresholds = [
        Threshold {
            signal: Signal::MemoryAvailable,
            value: ThresholdValue::Percentage(0.2),
            grace_period: None,
            min_reclaim: Some(ThresholdValue::Percentage(0.05)),
        },
        Threshold {
            signal: Signal::NodefsAvailable,
            value: ThresholdValue::Percentage(0.3),
            grace_period: None,
            min_reclaim: None,
        },
    ];
    let observed = |memory: &str, nodefs: Option<&str>| -> Observations {
        let memory = Observation {
            available: bytes(memory),
            capacity: bytes("1000Mi"),
        };
        let nodefs = nodefs
            .map(|left| Observation {
                available: bytes(left),
                capacity: bytes("1000Gi"),
            })
            .map(|observation| (Signal::NodefsAvailable, observation));
        std::iter::once((Signal::MemoryAvailable, memory))
            .chain(nodefs)
            .collect()
    };
    let (memory, nodefs) = (Signal::MemoryAvailable, Signal::NodefsAvailable);
    for (before, now, expected) in [
        (None, observed("100Mi", Some("100Gi")), vec![memory, nodefs]),
        (None, observed("300Mi", Some("400Gi")), vec![]),
        (None, observed("300Mi", Some("100Gi")), vec![nodefs]),
        (None, observed("100Mi", Some("400Gi")), vec![memory]),
        (
            Some(observed("100Mi", None)),
            observed("225Mi", None),
            vec![memory],
        ),
        (
            Some(observed("100Mi", None)),
            observed("300Mi", None),
            vec![],
        ),
    ] {
        let mut state = State::default();
        if let Some(before) = &before {
            state.pass(Duration::ZERO, &thresholds, PERIOD, before);
        }
        state.pass(MINUTE, &thresholds, PERIOD, &now);
        let met: Vec<_> = state.met.iter().map(|met| met.threshold.signal).collect();
        assert_eq!(met, expected, "{now:?} after {before:?}");
    }
}

#[test]
fn test_thresholds_first_observed_at() {
    let signal = Signal::MemoryAvailable;
    let thresholds = [soft(signal, "1Gi", MINUTE)];
    let mut state = State::default();
    let since = |state: &State| state.met.first().map(|met| met.since);
    let low = left(signal, 0, 1);
    let high = left(signal, bytes("2Gi"), bytes("4Gi"));
    assert_eq!(since(&state), None);
    state.pass(MINUTE, &thresholds, PERIOD, &low);
    assert_eq!(since(&state), Some(Duration::ZERO), "new");
    state.pass(2 * MINUTE, &thresholds, PERIOD, &low);
    assert_eq!(since(&state), Some(Duration::ZERO), "seen before");
    state.pass(3 * MINUTE, &thresholds, PERIOD, &high);
    assert_eq!(since(&state), None, "left");
}

#[test]
fn test_thresholds_met_grace_period() {
    let signal = Signal::MemoryAvailable;
    let low = left(signal, 0, 1);
    for (name, threshold, expected) in [
        ("hard", hard(signal, "1Gi"), [true, true, true]),
        ("soft", soft(signal, "1Gi", MINUTE), [false, true, true]),
    ] {
        let mut state = State::default();
        for (minutes, expected) in (0..).zip(expected) {
            state.pass(
                MINUTE * minutes,
                std::slice::from_ref(&threshold),
                PERIOD,
                &low,
            );
            assert_eq!(
                state.met[0].past_grace, expected,
                "{name} after {minutes} min"
            );
        }
    }
}

#[test]
fn test_node_conditions_observed_since() {
    let signal = Signal::MemoryAvailable;
    let thresholds = [hard(signal, "1Gi")];
    for (period, expected) in [(2 * MINUTE, true), (MINUTE, false), (MINUTE / 2, false)] {
        let mut state = State::default();
        state.pass(Duration::ZERO, &thresholds, period, &left(signal, 0, 1));
        let after = state.pass(
            MINUTE,
            &thresholds,
            period,
            &left(signal, bytes("2Gi"), bytes("4Gi")),
        );
        assert_eq!(
            after.memory, expected,
            "one minute after the sighting, period {period:?}"
        );
    }
}

#[test]
fn test_node_conditions() {
    let mut state = State::default();
    let thresholds = [hard(Signal::MemoryAvailable, "1Gi")];
    let none = state.pass(
        Duration::ZERO,
        &thresholds,
        PERIOD,
        &left(Signal::PidAvailable, 0, 1),
    );
    assert_eq!(none, Pressures::default());
    let memory = state.pass(
        MINUTE,
        &thresholds,
        PERIOD,
        &left(Signal::MemoryAvailable, 0, 1),
    );
    assert_eq!(
        memory,
        Pressures {
            memory: true,
            ..Pressures::default()
        }
    );
}

#[test]
fn c89_a_value_around_the_threshold_does_not_flip() {
    let signal = Signal::NodefsAvailable;
    let thresholds = [Threshold {
        signal,
        value: ThresholdValue::Percentage(0.1),
        grace_period: None,
        min_reclaim: None,
    }];
    let mut state = State::default();
    for (round, percent) in [11, 9, 11, 9]
        .into_iter()
        .chain(std::iter::repeat_n(11, 31))
        .enumerate()
    {
        let at = Duration::from_secs(10) * u32::try_from(round).unwrap();
        let reported = state.pass(at, &thresholds, PERIOD, &left(signal, percent, 100));
        let expected = at >= Duration::from_secs(10) && at < Duration::from_secs(330);
        assert_eq!(reported.disk, expected, "at {at:?}");
    }
}

#[test]
fn without_any_observation_the_last_pressures_stay() {
    let signal = Signal::MemoryAvailable;
    let thresholds = [hard(signal, "1Gi")];
    let mut state = State::default();
    assert!(
        state
            .pass(Duration::ZERO, &thresholds, PERIOD, &left(signal, 0, 1))
            .memory
    );
    assert!(
        state
            .pass(PERIOD * 2, &thresholds, PERIOD, &Observations::default())
            .memory
    );
}

fn node_under(memory: &str, since: Timestamp) -> Node {
    let condition = NodeCondition {
        type_: "MemoryPressure".to_owned(),
        status: memory.to_owned(),
        last_transition_time: Some(Time(since)),
        ..NodeCondition::default()
    };
    let status = NodeStatus {
        conditions: Some(vec![condition]),
        ..NodeStatus::default()
    };
    Node {
        status: Some(status),
        ..Node::default()
    }
}

#[test]
fn a_new_process_holds_what_the_node_has_from_its_transition_time() {
    let now = Timestamp::from_second(1_800_000_000).unwrap();
    let signal = Signal::MemoryAvailable;
    let thresholds = [hard(signal, "1Gi")];
    let enough = left(signal, bytes("2Gi"), bytes("4Gi"));
    for (status, age_secs, elapsed_secs, expected) in [
        ("True", 60, 0, true),
        ("True", 60, 239, true),
        ("True", 60, 240, false),
        ("True", 300, 0, false),
        ("True", -60, 299, true),
        ("True", -60, 300, false),
        ("False", 60, 0, false),
        ("Unknown", 60, 0, false),
    ] {
        let node = node_under(status, now - SignedDuration::from_secs(age_secs));
        let mut state = State::from_node(&node, now, PERIOD);
        // The process has been up for a while when it makes its first pass.
        state.pass(MINUTE, &thresholds, PERIOD, &enough);
        let at = MINUTE + Duration::from_secs(elapsed_secs);
        let reported = state.pass(at, &thresholds, PERIOD, &enough);
        assert_eq!(
            reported.memory, expected,
            "{status} for {age_secs} s, looked at after {at:?}"
        );
    }
}

#[test]
fn one_pass_does_not_judge_a_grace_period() {
    let now = Timestamp::from_second(1_800_000_000).unwrap();
    let hour_ago = now - SignedDuration::from_hours(1);
    let signal = Signal::MemoryAvailable;
    let low = left(signal, 0, 1);
    for (status, threshold, expected) in [
        ("False", soft(signal, "1Gi", MINUTE), false),
        ("True", soft(signal, "1Gi", MINUTE), true),
        ("False", hard(signal, "1Gi"), true),
        ("False", soft(signal, "1Gi", Duration::ZERO), true),
    ] {
        let node = node_under(status, hour_ago);
        let mut state = State::for_one_pass(&node, now, PERIOD);
        let reported = state.pass(
            Duration::ZERO,
            std::slice::from_ref(&threshold),
            PERIOD,
            &low,
        );
        assert_eq!(
            reported.memory, expected,
            "{status} on the Node, {threshold:?}"
        );
    }
}
