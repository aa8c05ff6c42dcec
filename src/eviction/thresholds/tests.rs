#![expect(clippy::too_many_lines, reason = "tables")]

use super::*;
use proptest::prelude::*;

type Table<'a> = &'a [(&'a str, &'a str)];

fn statements(table: Table<'_>) -> Statements {
    table
        .iter()
        .map(|(signal, value)| ((*signal).to_owned(), (*value).to_owned()))
        .collect()
}

fn parse(
    hard: Table<'_>,
    soft: Table<'_>,
    grace: Table<'_>,
    reclaim: Table<'_>,
) -> Result<Vec<Threshold>, Vec<Refused>> {
    let (hard, soft) = parse_threshold_config(
        Some(&statements(hard)),
        &statements(soft),
        &statements(grace),
        &statements(reclaim),
    )?;
    Ok(hard.into_iter().chain(soft).collect())
}

fn value(text: &str) -> ThresholdValue {
    match text.strip_prefix('.') {
        Some(_) => ThresholdValue::Percentage(text.parse().unwrap()),
        None => ThresholdValue::Quantity(Quantity::parse(text).unwrap()),
    }
}

/// The signal, its value, the seconds of grace, the minimum reclaim; parts are written with a leading point.
type Row<'a> = (Signal, &'a str, Option<u64>, &'a str);

fn threshold((signal, amount, grace, reclaim): Row<'_>) -> Threshold {
    Threshold {
        signal,
        value: value(amount),
        grace_period: grace.map(Duration::from_secs),
        min_reclaim: (!reclaim.is_empty()).then(|| value(reclaim)),
    }
}

use Signal::{
    AllocatableMemoryAvailable as Allocatable, ImagefsAvailable as Imagefs,
    ImagefsInodesFree as ImagefsInodes, MemoryAvailable as Memory, NodefsAvailable as Nodefs,
    NodefsInodesFree as NodefsInodes,
};

#[test]
fn test_parse_threshold_config() {
    let accepted: [(&str, [Table<'_>; 4], &[Row<'_>]); 7] = [
        ("no values", [&[], &[], &[], &[]], &[]),
        (
            "all memory eviction values in percentages",
            [
                &[("memory.available", "10%")],
                &[("memory.available", "30%")],
                &[("memory.available", "30s")],
                &[("memory.available", "5%")],
            ],
            &[(Memory, ".1", None, ".05"), (Memory, ".3", Some(30), ".05")],
        ),
        (
            "disk eviction values",
            [
                &[
                    ("imagefs.available", "150Mi"),
                    ("nodefs.available", "100Mi"),
                ],
                &[
                    ("imagefs.available", "300Mi"),
                    ("nodefs.available", "200Mi"),
                ],
                &[("imagefs.available", "30s"), ("nodefs.available", "30s")],
                &[("imagefs.available", "2Gi"), ("nodefs.available", "1Gi")],
            ],
            &[
                (Nodefs, "100Mi", None, "1Gi"),
                (Imagefs, "150Mi", None, "2Gi"),
                (Nodefs, "200Mi", Some(30), "1Gi"),
                (Imagefs, "300Mi", Some(30), "2Gi"),
            ],
        ),
        (
            "disk eviction values in percentages",
            [
                &[("imagefs.available", "15%"), ("nodefs.available", "10.5%")],
                &[("imagefs.available", "30%"), ("nodefs.available", "20.5%")],
                &[("imagefs.available", "30s"), ("nodefs.available", "30s")],
                &[("imagefs.available", "10%"), ("nodefs.available", "5%")],
            ],
            &[
                (Nodefs, ".105", None, ".05"),
                (Imagefs, ".15", None, ".1"),
                (Nodefs, ".205", Some(30), ".05"),
                (Imagefs, ".3", Some(30), ".1"),
            ],
        ),
        (
            "inode eviction values",
            [
                &[
                    ("imagefs.inodesFree", "150Mi"),
                    ("nodefs.inodesFree", "100Mi"),
                ],
                &[
                    ("imagefs.inodesFree", "300Mi"),
                    ("nodefs.inodesFree", "200Mi"),
                ],
                &[("imagefs.inodesFree", "30s"), ("nodefs.inodesFree", "30s")],
                &[("imagefs.inodesFree", "2Gi"), ("nodefs.inodesFree", "1Gi")],
            ],
            &[
                (NodefsInodes, "100Mi", None, "1Gi"),
                (ImagefsInodes, "150Mi", None, "2Gi"),
                (NodefsInodes, "200Mi", Some(30), "1Gi"),
                (ImagefsInodes, "300Mi", Some(30), "2Gi"),
            ],
        ),
        (
            "disable via 0%",
            [
                &[("memory.available", "0%")],
                &[("memory.available", "0%")],
                &[],
                &[],
            ],
            &[],
        ),
        (
            "disable via 100%",
            [
                &[("memory.available", "100%")],
                &[("memory.available", "100%")],
                &[],
                &[],
            ],
            &[],
        ),
    ];
    for (name, [hard, soft, grace, reclaim], expected) in accepted {
        let expected: Vec<_> = expected.iter().copied().map(threshold).collect();
        assert_eq!(parse(hard, soft, grace, reclaim), Ok(expected), "{name}");
    }

    let with_pods = parse(
        &[("memory.available", "150Mi")],
        &[("memory.available", "300Mi")],
        &[("memory.available", "30s")],
        &[("memory.available", "0")],
    );
    let expected = [
        (Memory, "150Mi", None, "0"),
        (Memory, "300Mi", Some(30), "0"),
        (Allocatable, "150Mi", None, "0"),
    ];
    assert_eq!(
        add_allocatable_thresholds(&with_pods.unwrap()),
        expected.map(threshold),
        "all memory eviction values"
    );
}

#[test]
fn test_parse_threshold_config_errors() {
    let memory = "memory.available";
    let refused: [(&str, [Table<'_>; 4], &str, &str); 18] = [
        (
            "invalid-signal",
            [&[("mem.available", "150Mi")], &[], &[], &[]],
            "evictionHard",
            "unsupported eviction signal mem.available",
        ),
        (
            "hard-signal-negative",
            [&[(memory, "-150Mi")], &[], &[], &[]],
            "evictionHard",
            "eviction threshold memory.available must be positive: -150Mi",
        ),
        (
            "zero",
            [&[(memory, "0")], &[], &[], &[]],
            "evictionHard",
            "eviction threshold memory.available must be positive: 0",
        ),
        (
            "hard-signal-negative-percentage",
            [&[(memory, "-15%")], &[], &[], &[]],
            "evictionHard",
            "eviction percentage threshold memory.available must be >= 0%: -15%",
        ),
        (
            "hard-signal-percentage-greater-than-100%",
            [&[(memory, "150%")], &[], &[], &[]],
            "evictionHard",
            "eviction percentage threshold memory.available must be <= 100%: 150%",
        ),
        (
            "soft-signal-negative",
            [&[], &[(memory, "-150Mi")], &[(memory, "1s")], &[]],
            "evictionSoft",
            "eviction threshold memory.available must be positive: -150Mi",
        ),
        (
            "valid-and-invalid-signal",
            [
                &[(memory, "150Mi"), ("invalid.foo", "150Mi")],
                &[],
                &[],
                &[],
            ],
            "evictionHard",
            "unsupported eviction signal invalid.foo",
        ),
        (
            "soft-no-grace-period",
            [&[], &[(memory, "150Mi")], &[], &[]],
            "evictionSoft",
            "grace period must be specified for the soft eviction threshold memory.available",
        ),
        (
            "soft-negative-grace-period",
            [&[], &[(memory, "150Mi")], &[(memory, "-30s")], &[]],
            "evictionSoftGracePeriod",
            "invalid eviction grace period specified: -30s, must be a positive value",
        ),
        (
            "negative-reclaim",
            [&[], &[], &[], &[(memory, "-300Mi")]],
            "evictionMinimumReclaim",
            "negative eviction minimum reclaim specified for memory.available",
        ),
        (
            "min-reclaim-invalid-signal",
            [&[], &[], &[], &[("mem.available", "300Mi")]],
            "evictionMinimumReclaim",
            "unsupported eviction signal mem.available",
        ),
        (
            "min-reclaim-empty-value",
            [&[], &[], &[], &[(memory, "")]],
            "evictionMinimumReclaim",
            "\"\" is not a quantity",
        ),
        (
            "min-reclaim-negative-percentage",
            [&[], &[], &[], &[(memory, "-15%")]],
            "evictionMinimumReclaim",
            "eviction percentage minimum reclaim memory.available must be positive: -15%",
        ),
        (
            "min-reclaim-invalid-percentage",
            [&[], &[], &[], &[(memory, "10..5%")]],
            "evictionMinimumReclaim",
            "strconv.ParseFloat: parsing \"10..5\": invalid syntax",
        ),
        (
            "hard-signal-empty-eviction-value",
            [&[(memory, "")], &[], &[], &[]],
            "evictionHard",
            "\"\" is not a quantity",
        ),
        (
            "hard-signal-invalid-float-percentage",
            [&[(memory, "10..5%")], &[], &[], &[]],
            "evictionHard",
            "strconv.ParseFloat: parsing \"10..5\": invalid syntax",
        ),
        (
            "soft-grace-period-invalid-signal",
            [
                &[],
                &[(memory, "150Mi")],
                &[(memory, "1s"), ("mem.available", "30s")],
                &[],
            ],
            "evictionSoftGracePeriod",
            "unsupported eviction signal mem.available",
        ),
        (
            "soft-invalid-grace-period",
            [&[], &[(memory, "150Mi")], &[(memory, "30mins")], &[]],
            "evictionSoftGracePeriod",
            "time: unknown unit \"mins\" in duration \"30mins\"",
        ),
    ];
    for (name, [hard, soft, grace, reclaim], table, message) in refused {
        let refused = parse(hard, soft, grace, reclaim).unwrap_err();
        assert_eq!(refused.len(), 1, "{name}: {refused:?}");
        assert_eq!(refused[0].table, table, "{name}");
        assert!(
            refused[0].error.to_string().starts_with(message),
            "{name}: {}",
            refused[0].error
        );
    }
}

#[test]
fn all_refused_statements_are_reported_at_once() {
    let refused = parse(
        &[("x", "1"), ("memory.available", "-1")],
        &[("nodefs.available", "1Gi")],
        &[("memory.available", "1")],
        &[("y", "1")],
    );
    let refused: Vec<_> = refused
        .unwrap_err()
        .into_iter()
        .map(|refused| (refused.table, refused.signal))
        .collect();
    let expected = [
        ("evictionHard", "memory.available"),
        ("evictionHard", "x"),
        ("evictionSoftGracePeriod", "memory.available"),
        ("evictionMinimumReclaim", "y"),
        ("evictionSoft", "nodefs.available"),
    ];
    assert_eq!(
        refused,
        expected.map(|(table, signal)| (table, signal.to_owned()))
    );
}

#[test]
fn the_defaults_are_kubelets_and_take_a_minimum_reclaim() {
    let none = Statements::new();
    let reclaim = statements(&[("nodefs.available", "1Gi")]);
    let (hard, soft) = parse_threshold_config(None, &none, &none, &reclaim).unwrap();
    let expected = [
        (Memory, "100Mi", None, ""),
        (Nodefs, ".1", None, "1Gi"),
        (NodefsInodes, ".05", None, ""),
        (Imagefs, ".15", None, ""),
        (ImagefsInodes, ".05", None, ""),
    ];
    assert_eq!((hard, soft), (expected.map(threshold).into(), Vec::new()));
}

#[test]
fn test_add_allocatable_thresholds() {
    let cases: [(&str, &[Row<'_>], &[Row<'_>]); 4] = [
        ("non-memory-signal", &[(Imagefs, "150Mi", None, "0")], &[]),
        (
            "memory-signal-with-grace",
            &[(Memory, "150Mi", Some(10), "0")],
            &[],
        ),
        (
            "memory-signal-without-grace",
            &[(Memory, "150Mi", None, "0")],
            &[(Allocatable, "150Mi", None, "0")],
        ),
        (
            "memory-signal-without-grace-two-thresholds",
            &[
                (Memory, "150Mi", Some(0), "0"),
                (Memory, "200Mi", None, "1Gi"),
            ],
            &[
                (Allocatable, "150Mi", None, "0"),
                (Allocatable, "200Mi", None, "1Gi"),
            ],
        ),
    ];
    for (name, given, added) in cases {
        let given: Vec<_> = given.iter().copied().map(threshold).collect();
        let expected: Vec<_> = given
            .iter()
            .cloned()
            .chain(added.iter().copied().map(threshold))
            .collect();
        assert_eq!(add_allocatable_thresholds(&given), expected, "{name}");
    }
}

#[test]
fn test_parse_percentage() {
    assert_eq!(parse_percentage("25.5%"), Ok(0.255));
    for text in ["blah", "foo%", "12%345", "%", "nan%", "inf%", "1e99%"] {
        assert!(parse_percentage(text).is_err(), "{text:?}");
    }
}

#[test]
fn test_compare_threshold_value() {
    let quantity = |number| ThresholdValue::Quantity(Quantity::bytes(number));
    let percentage = ThresholdValue::Percentage;
    for (a, b, equal) in [
        (quantity(123), quantity(123), true),
        (quantity(123), quantity(456), false),
        (quantity(123), percentage(0.1), false),
        (percentage(0.1), percentage(0.1), true),
        (percentage(0.2), percentage(0.1), false),
    ] {
        assert_eq!((a == b, b == a), (equal, equal), "{a:?} {b:?}");
    }
}

#[test]
fn a_percentage_is_taken_in_kubelets_arithmetic() {
    let part = |text| parse_statement(Memory, text).unwrap().unwrap();
    // 5 % in single precision is a little more than 5 %.
    assert_eq!(part("5%").amount_of(10 << 30), 536_870_920);
    assert_eq!(part("10%").amount_of(10 << 30), 1_073_741_840);
    assert_eq!(part("15%").amount_of(0), 0);
    assert_eq!(part("150Mi").amount_of(1), 157_286_400);
}

#[test]
fn every_signal_is_found_by_its_name() {
    for signal in Signal::ALL {
        assert_eq!(Signal::from_name(signal.name()), Ok(signal));
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(hundredths in 1_u32..=10_000) {
        let text = format!("{}.{:02}%", hundredths / 100, hundredths % 100);
        let part = ThresholdValue::Percentage(parse_percentage(&text).unwrap());
        let written = part.to_string();
        let read = ThresholdValue::Percentage(parse_percentage(&written).unwrap());
        prop_assert_eq!(read, part, "{} written as {}", text, written);
    }

    #[test]
    fn any_part_is_written_so_that_it_is_read_again(percent in 0.000_1_f32..=100.0) {
        let part = percent / 100.0;
        let written = ThresholdValue::Percentage(part).to_string();
        prop_assert_eq!(parse_percentage(&written).unwrap().to_bits(), part.to_bits(), "{}", written);
    }

    #[test]
    fn never_panics(signal in ".*", text in ".*", number in "[-+0-9.eEKMGi%]{0,12}") {
        for text in [&text, &number] {
            let table = [(signal.as_str(), text.as_str()), ("memory.available", text.as_str())];
            let _ = (parse(&table, &table, &table, &table), parse_percentage(text));
        }
    }
}
