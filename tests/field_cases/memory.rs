//! `/proc/meminfo`. Quantities are compared as they are printed: `15625Mi` is 16000000 KiB in Kubernetes' shortest form.

use crate::support::recording::Recording;
use crate::{assert_pressures, capacity, condition};
use serde_json::{Value, json};

fn with(meminfo: &str) -> Recording {
    Recording::new().file("proc/meminfo", meminfo)
}

fn memory(meminfo: &str) -> Value {
    capacity(&with(meminfo).node(), "memory")
}

#[test]
fn c01_a_value_that_swallows_the_blank_after_the_colon() {
    let node = with(
        "MemTotal:       16000000 kB\nMemFree:          891564 kB\nMemAvailable:    1200000 kB\n\
         SwapTotal:      22806844 kB\nSwapFree:18014398503714728 kB\n",
    )
    .node();
    assert_eq!(capacity(&node, "memory"), "15625Mi");
    assert_eq!(
        node["status"]["nodeInfo"]["swap"],
        json!({"capacity": 22_806_844_u64 * 1024})
    );
}

#[test]
fn c02_an_unneeded_field_without_a_blank() {
    let meminfo = "MemTotal:       64000000 kB\nMemFree:        30000000 kB\nMemAvailable:   50000000 kB\n\
                   KernelStack:       20000 kB\nShadowCallStack:10373888 kB\nPageTables:       100000 kB\n";
    assert_eq!(memory(meminfo), "62500Mi");
}

#[test]
fn c04_blank_and_short_lines() {
    let meminfo = "MemTotal:       131895300 kB\nDirectMap4k:      585388 kB\nDirectMap1G:    53477376 kB\n\n";
    assert_eq!(memory(meminfo), "131895300Ki");
    assert_eq!(
        memory(&format!("\nFoo:\n:\nBar\n{meminfo}Baz:")),
        "131895300Ki"
    );
}

#[test]
fn c05_numbers_with_leading_zeros_are_decimal() {
    let node = with(
        "MemTotal:       03944876 kB\nMemFree:        03484312 kB\nMemAvailable:   03674800 kB\n\
         SwapTotal:      00000000 kB\n",
    )
    .node();
    assert_eq!(capacity(&node, "memory"), "3944876Ki");
    assert_eq!(node["status"]["nodeInfo"]["swap"], Value::Null);
}

#[test]
fn c07_lines_without_a_unit_are_counts() {
    let node = with(
        "MemTotal:        8388608 kB\nHugePages_Total:    1024\nHugePages_Free:     1000\n\
         Hugepagesize:       2048 kB\n",
    )
    .file(
        "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
        "1024\n",
    )
    .node();
    assert_eq!(capacity(&node, "memory"), "8Gi");
    assert_eq!(capacity(&node, "hugepages-2Mi"), "2Gi");
    // Huge pages are not for other memory, nor are the 100Mi of the default eviction threshold.
    assert_eq!(node["status"]["allocatable"]["memory"], "6044Mi");
}

/// Used is 88504 kB: 173640 of 262144 kB are available, whatever the cgroup of another machine says.
#[test]
fn c08_a_containers_view_that_does_not_add_up() {
    let meminfo = "MemTotal:         262144 kB\nMemFree:          173640 kB\nMemAvailable:     173640 kB\n\
                   Buffers:               0 kB\nCached:            58916 kB\nActive:           830952 kB\n\
                   Active(file):     719504 kB\nInactive(file):    71800 kB\nSReclaimable:     101908 kB\n\n";
    let recording = with(meminfo).file(
        "sys/fs/cgroup/memory.stat",
        "anon 114122752\nfile 736772096\ninactive_file 73523200\n",
    );
    assert_eq!(capacity(&recording.node(), "memory"), "256Mi");
    let rows = [("173640Ki", "False"), ("173641Ki", "True")];
    assert_pressures(recording, "MemoryPressure", "memory.available", &rows);
}

#[test]
fn without_a_readable_total_nothing_is_made_up() {
    for meminfo in ["", "MemTotal: lots\n", "MemTotal:\n", "MemTotal: 0 kB\n"] {
        let finished = with(meminfo).replay("json");
        assert_eq!(finished.status.code(), Some(1), "{meminfo:?}");
        let node = &finished.list()[0];
        assert_eq!(capacity(node, "memory"), Value::Null, "{meminfo:?}");
        assert_eq!(capacity(node, "cpu"), "4", "{meminfo:?}");
        assert_eq!(condition(node, "Ready"), "False", "{meminfo:?}");
    }
}
