use super::{impossible_reservations, is_extended_resource, reservation};
use crate::config::settings::Settings;
use crate::eviction::thresholds::{Signal, Threshold, ThresholdValue};
use crate::host::cpu::CpuList;
use crate::quantity::Quantity;
use std::collections::BTreeMap;

type Table<'a> = &'a [(&'a str, &'a str)];

fn resources(table: Table<'_>) -> BTreeMap<String, Quantity> {
    table
        .iter()
        .map(|(name, text)| ((*name).to_owned(), Quantity::parse(text).unwrap()))
        .collect()
}

fn threshold(signal: Signal, value: &str) -> Threshold {
    let value = match value {
        "5%" => ThresholdValue::Percentage(0.05),
        text => ThresholdValue::Quantity(Quantity::parse(text).unwrap()),
    };
    Threshold {
        signal,
        value,
        grace_period: None,
        min_reclaim: None,
    }
}

fn settings(kube: Table<'_>, system: Table<'_>, hard: Vec<Threshold>) -> Settings {
    Settings {
        kube_reserved: resources(kube),
        system_reserved: resources(system),
        eviction_hard: hard,
        ..Settings::default()
    }
}

fn texts(amounts: &BTreeMap<String, Quantity>) -> Vec<(&str, String)> {
    amounts
        .iter()
        .map(|(name, amount)| (name.as_str(), amount.to_string()))
        .collect()
}

#[test]
fn test_node_allocatable_reservation_for_scheduling() {
    let (memory, nodefs) = (Signal::MemoryAvailable, Signal::NodefsAvailable);
    let both: Table<'_> = &[("cpu", "10"), ("memory", "10Gi")];
    let kube: Table<'_> = &[("cpu", "100m"), ("memory", "100Mi")];
    let system: Table<'_> = &[("cpu", "50m"), ("memory", "50Mi")];
    let storage: Table<'_> = &[("ephemeral-storage", "10Gi")];
    let rows: [(Table<'_>, Table<'_>, Table<'_>, Vec<Threshold>, Table<'_>); 11] = [
        (
            kube,
            system,
            both,
            vec![],
            &[("cpu", "150m"), ("memory", "150Mi")],
        ),
        (
            kube,
            system,
            both,
            vec![threshold(memory, "100Mi")],
            &[("cpu", "150m"), ("memory", "250Mi")],
        ),
        (
            kube,
            system,
            both,
            vec![threshold(memory, "5%")],
            &[("cpu", "150m"), ("memory", "694157320")],
        ),
        (&[], &[], both, vec![], &[]),
        (
            &[("memory", "100Mi")],
            system,
            both,
            vec![],
            &[("cpu", "50m"), ("memory", "150Mi")],
        ),
        (
            &[("cpu", "50m"), ("memory", "100Mi")],
            &[("memory", "50Mi")],
            both,
            vec![],
            &[("cpu", "50m"), ("memory", "150Mi")],
        ),
        (
            &[("memory", "100Mi")],
            &[("memory", "50Mi")],
            &[("cpu", "10")],
            vec![],
            &[],
        ),
        (
            &[("ephemeral-storage", "100Mi")],
            &[],
            storage,
            vec![],
            &[("ephemeral-storage", "100Mi")],
        ),
        (
            &[("ephemeral-storage", "100Mi")],
            &[],
            storage,
            vec![threshold(nodefs, "100Mi")],
            &[("ephemeral-storage", "200Mi")],
        ),
        (
            &[("ephemeral-storage", "150Mi")],
            &[],
            storage,
            vec![threshold(nodefs, "5%")],
            &[("ephemeral-storage", "694157320")],
        ),
        (&[], &[], storage, vec![], &[]),
    ];
    for (row, (kube, system, capacity, hard, expected)) in rows.into_iter().enumerate() {
        let reserved = reservation(&settings(kube, system, hard), &resources(capacity));
        let expected: Vec<_> = expected
            .iter()
            .map(|(k, v)| (*k, (*v).to_owned()))
            .collect();
        assert_eq!(texts(&reserved), expected, "row {row}");
    }
}

#[test]
fn the_last_of_several_thresholds_and_named_cpus_count() {
    let hard = vec![
        threshold(Signal::MemoryAvailable, "1Gi"),
        threshold(Signal::MemoryAvailable, "100Mi"),
    ];
    let settings = Settings {
        reserved_system_cpus: Some(CpuList::parse("0-2").unwrap()),
        ..settings(&[("cpu", "1")], &[("cpu", "500m")], hard)
    };
    let reserved = reservation(&settings, &resources(&[("cpu", "8"), ("memory", "10Gi")]));
    assert_eq!(
        texts(&reserved),
        [("cpu", "3".to_owned()), ("memory", "100Mi".to_owned())]
    );
}

#[test]
fn test_node_allocatable_input_validation() {
    let half: Table<'_> = &[("cpu", "5"), ("memory", "5Gi")];
    let whole: Table<'_> = &[("cpu", "10"), ("memory", "11Gi")];
    let invalid = |settings: &Settings, capacity: Table<'_>| {
        impossible_reservations(settings, &resources(capacity))
    };
    assert_eq!(
        invalid(&settings(half, half, vec![]), whole),
        [""; 0],
        "cpu equal to the capacity"
    );
    let hard = vec![threshold(Signal::MemoryAvailable, "2Gi")];
    assert_eq!(
        invalid(&settings(half, half, hard), whole),
        [
            "invalid Node Allocatable configuration. Resource \"memory\" has a reservation of 12Gi but capacity of \
         11Gi. Expected capacity >= reservation."
        ]
    );
    let hard = vec![threshold(Signal::NodefsAvailable, "100Mi")];
    let storage: Table<'_> = &[("ephemeral-storage", "20Gi")];
    assert_eq!(
        invalid(&settings(storage, &[], hard), storage).len(),
        1,
        "storage and its threshold"
    );
}

#[test]
fn test_is_native_resource() {
    for (name, extended) in [
        ("pod.alpha.kubernetes.io/opaque-int-resource-foo", false),
        ("kubernetes.io/resource-foo", false),
        ("foo", false),
        ("a/b", true),
        ("", false),
        ("requests.example.com/gpu", false),
    ] {
        assert_eq!(is_extended_resource(name), extended, "{name:?}");
    }
}
