//! Huge pages.

use crate::support::recording::Recording;
use crate::{capacity, condition, stored_node};
use serde_json::{Value, json};

fn with(pages: &[(&str, &str)]) -> Recording {
    pages
        .iter()
        .fold(Recording::new(), |recording, (size, count)| {
            recording.file(
                &format!("sys/kernel/mm/hugepages/hugepages-{size}/nr_hugepages"),
                count,
            )
        })
}

/// The huge pages in the capacity, with their names.
fn pages(node: &Value) -> Value {
    let capacity = node["status"]["capacity"]
        .as_object()
        .expect("a Node has a capacity");
    capacity
        .iter()
        .filter(|(name, _)| name.starts_with("hugepages-"))
        .map(|(name, amount)| (name.clone(), amount.clone()))
        .collect()
}

#[test]
fn c76_every_size_also_without_pages() {
    let two = with(&[("2048kB", "48\n"), ("1048576kB", "16\n")]);
    // There has to be more memory than what lies in huge pages for anything to be left.
    assert_eq!(
        pages(&two.node()),
        json!({"hugepages-2Mi": "96Mi", "hugepages-1Gi": "16Gi"})
    );
    let none = with(&[("2048kB", "48\n"), ("1048576kB", "0\n")]);
    assert_eq!(
        pages(&none.node()),
        json!({"hugepages-2Mi": "96Mi", "hugepages-1Gi": "0"})
    );
}

#[test]
fn c77_odd_sizes_and_bad_entries() {
    let recording = with(&[
        ("64kB", "0"),
        ("2048kB", "4"),
        ("32768kB", "2"),
        ("16777216kB", "1"),
    ])
    .file(
        "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
        "1",
    )
    .error(
        "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
        "EIO",
    )
    .file("sys/kernel/mm/hugepages/README", "")
    .fact(
        "directories",
        json!(["sys/kernel/mm/hugepages/hugepages-foo"]),
    );
    let expected = json!({
        "hugepages-64Ki": "0", "hugepages-2Mi": "8Mi", "hugepages-32Mi": "64Mi", "hugepages-16Gi": "16Gi",
    });
    assert_eq!(pages(&recording.node()), expected);
    assert_eq!(pages(&Recording::new().node()), json!({}));
}

/// An entry that cannot be read in one round says nothing about its pages: what is published of them stays.
#[test]
fn c77_a_size_that_cannot_be_read_keeps_its_value() {
    let stored = with(&[("2048kB", "4"), ("1048576kB", "1")]);
    let stored = stored_node(&stored.node()["status"]);
    let unreadable = with(&[("2048kB", "4"), ("1048576kB", "1")])
        .error(
            "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
            "EIO",
        )
        .stored(&stored);
    assert_eq!(
        pages(&unreadable.node()),
        json!({"hugepages-2Mi": "8Mi", "hugepages-1Gi": "1Gi"})
    );
    // A size that is gone is gone.
    let gone = with(&[("2048kB", "4")]).stored(&stored);
    assert_eq!(pages(&gone.node()), json!({"hugepages-2Mi": "8Mi"}));
}

#[test]
fn c79_a_stored_node_with_nothing_in_it() {
    for status in [json!({}), Value::Null] {
        let node = json!({"metadata": {"name": "n1", "uid": "u1"}, "spec": {}, "status": status});
        let node = with(&[("2048kB", "4")]).stored(&node).node();
        assert_eq!(capacity(&node, "cpu"), "4");
        assert_eq!(pages(&node), json!({"hugepages-2Mi": "8Mi"}));
        assert_eq!(condition(&node, "Ready"), "True");
        assert_eq!(node["status"]["nodeInfo"]["kernelVersion"], "6.1.0");
    }
}
