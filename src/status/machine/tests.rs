use super::{explain, set};
use crate::config::settings::Settings;
use crate::gather::Reading;
use crate::host::cpu::CpuList;
use crate::host::filesystem::Filesystem;
use crate::host::hugepages::HugePages;
use crate::host::memory::Memory;
use crate::quantity::Quantity;
use crate::status::testing::World;
use k8s_openapi::api::core::v1::{Node, NodeStatus, NodeSystemInfo};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use std::collections::BTreeMap;

type Table<'a> = &'a [(&'a str, &'a str)];

/// The machine of upstream's table: 2 cores, 1024 bytes, 110 pods.
fn world() -> World {
    let mut world = World::new();
    world.settings.max_pods = 110;
    let snapshot = &mut world.snapshot;
    snapshot.cpus = Reading::of(CpuList::parse("0-1").unwrap());
    snapshot.memory = Reading::of(Memory {
        total_bytes: 1024,
        ..Memory::default()
    });
    snapshot.machine_id = Reading::of("MachineID".to_owned());
    snapshot.system_uuid = Reading::of("SystemUUID".to_owned());
    snapshot.boot_id = Reading::of("BootID".to_owned());
    snapshot.root_filesystem = Reading::failed("EIO");
    snapshot.huge_pages = Reading::failed("EIO");
    world
}

fn resources(table: Table<'_>) -> BTreeMap<String, ApiQuantity> {
    table
        .iter()
        .map(|(name, amount)| ((*name).to_owned(), ApiQuantity((*amount).to_owned())))
        .collect()
}

fn stored(capacity: Table<'_>, allocatable: Table<'_>) -> Node {
    let status = NodeStatus {
        capacity: Some(resources(capacity)),
        allocatable: Some(resources(allocatable)),
        ..NodeStatus::default()
    };
    Node {
        status: Some(status),
        ..Node::default()
    }
}

fn done(world: &World, mut node: Node) -> NodeStatus {
    // What is missing has a test of its own.
    let _ = set(&world.inputs(), &mut node);
    node.status.unwrap()
}

fn check(row: &str, status: &NodeStatus, capacity: Table<'_>, allocatable: Table<'_>) {
    assert_eq!(
        status.capacity,
        Some(resources(capacity)),
        "{row}: capacity"
    );
    assert_eq!(
        status.allocatable,
        Some(resources(allocatable)),
        "{row}: allocatable"
    );
}

#[test]
fn test_machine_info_m1_ids() {
    let status = done(&world(), Node::default());
    let base: Table<'_> = &[("cpu", "2"), ("memory", "1Ki"), ("pods", "110")];
    check("M1", &status, base, base);
    let info = status.node_info.unwrap();
    let ids = (
        info.machine_id.as_str(),
        info.system_uuid.as_str(),
        info.boot_id.as_str(),
    );
    assert_eq!(ids, ("MachineID", "SystemUUID", "BootID"));
}

#[test]
fn test_machine_info_m2_m3_pods_per_core() {
    for (row, per_core, pods) in [("M2", 4, "8"), ("M3", 6, "10")] {
        let mut world = world();
        world.settings.max_pods = 10;
        world.settings.pods_per_core = per_core;
        let expected: Table<'_> = &[("cpu", "2"), ("memory", "1Ki"), ("pods", pods)];
        check(row, &done(&world, Node::default()), expected, expected);
    }
}

#[test]
fn test_machine_info_m4_reservation() {
    let mut world = world();
    world.settings.system_reserved = [
        ("cpu", Quantity::milli(1)),
        ("memory", Quantity::bytes(1)),
        ("pods", Quantity::count(1)),
        ("ephemeral-storage", Quantity::bytes(1)),
    ]
    .map(|(name, amount)| (name.to_owned(), amount))
    .into();
    check(
        "M4",
        &done(&world, Node::default()),
        &[("cpu", "2"), ("memory", "1Ki"), ("pods", "110")],
        &[("cpu", "1999m"), ("memory", "1023"), ("pods", "109")],
    );
}

#[test]
fn test_machine_info_m5_m7_stored_huge_pages() {
    // The sizes that the machine has could not be read, so the stored key stays, as it does with kubelet.
    for (row, pages, memory) in [("M5", "1", "1023"), ("M7", "1025", "0")] {
        check(
            row,
            &done(&world(), stored(&[("hugepages-test", pages)], &[])),
            &[
                ("cpu", "2"),
                ("hugepages-test", pages),
                ("memory", "1Ki"),
                ("pods", "110"),
            ],
            &[
                ("cpu", "2"),
                ("hugepages-test", pages),
                ("memory", memory),
                ("pods", "110"),
            ],
        );
    }
}

#[test]
fn test_machine_info_m6_negative_resource() {
    let status = done(&world(), stored(&[("negative-resource", "-1")], &[]));
    assert_eq!(status.capacity.unwrap()["negative-resource"].0, "-1");
    assert_eq!(status.allocatable.unwrap()["negative-resource"].0, "0");
}

#[test]
fn test_machine_info_m8_ephemeral_storage() {
    let mut world = world();
    world.snapshot.root_filesystem = Reading::of(Filesystem {
        capacity_bytes: 5000,
        ..Filesystem::default()
    });
    let expected: Table<'_> = &[
        ("cpu", "2"),
        ("ephemeral-storage", "5000"),
        ("memory", "1Ki"),
        ("pods", "110"),
    ];
    check("M8", &done(&world, Node::default()), expected, expected);
}

#[test]
fn test_machine_info_m9_without_local_storage_isolation() {
    // kubelet leaves the key out of the capacity that it hands to this setter; nodelet leaves it out here.
    let mut world = world();
    world.settings.local_storage_capacity_isolation = false;
    world.snapshot.root_filesystem = Reading::of(Filesystem {
        capacity_bytes: 5000,
        ..Filesystem::default()
    });
    let capacity = done(&world, Node::default()).capacity.unwrap();
    assert!(!capacity.contains_key("ephemeral-storage"));
}

#[test]
fn test_machine_info_m12_extended_resource_without_capacity() {
    let node = stored(&[], &[("example.com/extended", "1"), ("foreign", "1")]);
    let allocatable = done(&world(), node).allocatable.unwrap();
    assert!(!allocatable.contains_key("example.com/extended"));
    assert!(
        allocatable.contains_key("foreign"),
        "only extended resources follow the capacity"
    );
}

#[test]
fn test_machine_info_m13_what_could_not_be_read_stays() {
    // kubelet publishes cpu 0 and memory 0 here, and returns no error.
    let mut world = world();
    world.settings.pods_per_core = 1;
    world.snapshot.cpus = Reading::failed("no online CPUs");
    world.snapshot.memory = Reading::failed("no MemTotal");
    world.snapshot.boot_id = Reading::failed("no boot id");
    let mut node = stored(&[("cpu", "4"), ("memory", "2Ki"), ("pods", "7")], &[]);
    node.status.as_mut().unwrap().node_info = Some(NodeSystemInfo {
        boot_id: "before".to_owned(),
        ..NodeSystemInfo::default()
    });
    let error = set(&world.inputs(), &mut node).unwrap_err().0;
    for named in [
        "online CPUs: no online",
        "memory: no MemTotal",
        "boot id: no boot id",
    ] {
        assert!(error.contains(named), "{named:?} in {error:?}");
    }
    let status = node.status.unwrap();
    let kept: Table<'_> = &[("cpu", "4"), ("memory", "2Ki"), ("pods", "7")];
    check("M13", &status, kept, kept);
    let info = status.node_info.unwrap();
    assert_eq!(
        (info.machine_id.as_str(), info.boot_id.as_str()),
        ("MachineID", "before")
    );
    let fresh = done(&world, Node::default());
    assert_eq!(
        fresh.capacity,
        Some(BTreeMap::new()),
        "nothing is published as 0"
    );
}

#[test]
fn test_machine_info_m14_boot_id() {
    let mut node = stored(&[], &[]);
    node.status.as_mut().unwrap().node_info = Some(NodeSystemInfo {
        boot_id: "foo".to_owned(),
        ..NodeSystemInfo::default()
    });
    let mut world = world();
    world.snapshot.boot_id = Reading::of("bar".to_owned());
    assert_eq!(done(&world, node).node_info.unwrap().boot_id, "bar");
}

#[test]
fn test_machine_info_m15_swap() {
    let mut world = world();
    let swap = |bytes| {
        Reading::of(Memory {
            total_bytes: 0,
            swap_total_bytes: bytes,
            ..Memory::default()
        })
    };
    world.settings.max_pods = 0;
    world.snapshot.cpus = Reading::of(CpuList::default());
    world.snapshot.memory = swap(21_474_836_480);
    let status = done(&world, Node::default());
    let zero: Table<'_> = &[("cpu", "0"), ("memory", "0"), ("pods", "0")];
    check("M15", &status, zero, zero);
    let capacity = |status: &NodeStatus| {
        status
            .node_info
            .clone()
            .unwrap()
            .swap
            .and_then(|s| s.capacity)
    };
    assert_eq!(capacity(&status), Some(21_474_836_480));

    let node = Node {
        status: Some(status),
        ..Node::default()
    };
    world.snapshot.memory = Reading::failed("EIO");
    let unread = done(&world, node.clone());
    assert_eq!(
        capacity(&unread),
        Some(21_474_836_480),
        "no reading, no change"
    );
    world.snapshot.memory = swap(0);
    assert_eq!(capacity(&done(&world, node)), None, "swap was switched off");
}

#[test]
fn test_capacity_from_machine_info_with_huge_pages_enable() {
    let mut world = world();
    world.snapshot.memory = Reading::of(Memory {
        total_bytes: 2048,
        ..Memory::default()
    });
    world.snapshot.huge_pages = Reading::of(vec![HugePages {
        page_size_kib: 5,
        count: Some(10),
    }]);
    let capacity = done(&world, Node::default()).capacity.unwrap();
    assert_eq!(capacity["hugepages-5Ki"], ApiQuantity("50Ki".to_owned()));
    assert_eq!(
        Quantity::try_from(&capacity["hugepages-5Ki"])
            .unwrap()
            .value(),
        51_200
    );
}

#[test]
fn c76_every_size_is_reported_and_one_that_is_gone_goes_away() {
    let mut world = world();
    let pages = |page_size_kib, count| HugePages {
        page_size_kib,
        count: Some(count),
    };
    world.snapshot.memory = Reading::of(Memory {
        total_bytes: 64 << 30,
        ..Memory::default()
    });
    world.snapshot.huge_pages = Reading::of(vec![pages(1_048_576, 16), pages(2048, 48)]);
    let stale: Table<'_> = &[("hugepages-64Ki", "64Ki"), ("example.com/gpu", "2")];
    let status = done(&world, stored(stale, stale));
    check(
        "C76",
        &status,
        &[
            ("cpu", "2"),
            ("example.com/gpu", "2"),
            ("hugepages-1Gi", "16Gi"),
            ("hugepages-2Mi", "96Mi"),
            ("memory", "64Gi"),
            ("pods", "110"),
        ],
        &[
            ("cpu", "2"),
            ("example.com/gpu", "2"),
            ("hugepages-1Gi", "16Gi"),
            ("hugepages-2Mi", "96Mi"),
            ("memory", "49056Mi"),
            ("pods", "110"),
        ],
    );
    world.snapshot.huge_pages = Reading::of(vec![pages(2048, 0)]);
    let status = done(
        &world,
        Node {
            status: Some(status),
            ..Node::default()
        },
    );
    let capacity = status.capacity.unwrap();
    assert_eq!(capacity["hugepages-2Mi"].0, "0");
    assert!(!capacity.contains_key("hugepages-1Gi"));
    assert!(!status.allocatable.unwrap().contains_key("hugepages-1Gi"));
}

#[test]
fn c40_a_filesystem_without_a_size_leaves_the_stored_one() {
    let mut world = world();
    let node = stored(&[("ephemeral-storage", "20Gi")], &[]);
    for (bytes, expected) in [(0, "20Gi"), (42_949_672_960, "40Gi")] {
        world.snapshot.root_filesystem = Reading::of(Filesystem {
            capacity_bytes: bytes,
            ..Filesystem::default()
        });
        let status = done(&world, node.clone());
        assert_eq!(
            status.capacity.unwrap()["ephemeral-storage"].0,
            expected,
            "{bytes} bytes"
        );
    }
}

#[test]
fn c43_a_machine_without_uuid_costs_nothing() {
    let mut world = world();
    world.snapshot.system_uuid = Reading::of(String::new());
    let status = done(&world, Node::default());
    assert_eq!(status.node_info.unwrap().system_uuid, "");
    assert!(status.capacity.unwrap().contains_key("cpu"));
}

#[test]
fn c79_a_node_without_status_is_filled() {
    let bare = Node::default();
    assert!(bare.status.is_none());
    let status = done(&world(), bare);
    assert!(
        status.capacity.is_some() && status.allocatable.is_some() && status.node_info.is_some()
    );
}

#[test]
fn an_override_replaces_the_reading() {
    let mut world = world();
    let over = &mut world.settings.capacity_override;
    over.cpu = Some(Quantity::parse("8").unwrap());
    over.memory = Some(Quantity::parse("16Gi").unwrap());
    world.settings.pods_per_core = 2;
    let expected: Table<'_> = &[("cpu", "8"), ("memory", "16Gi"), ("pods", "16")];
    check(
        "override",
        &done(&world, Node::default()),
        expected,
        expected,
    );
    let explained = explain(&world.inputs(), &Node::default());
    let memory = explained
        .iter()
        .find(|e| e.path == "/status/capacity/memory")
        .unwrap();
    assert_eq!(memory.rule, "capacityOverride.memory");
    assert_eq!(memory.sources, ["config:capacityOverride.memory"]);
}

#[test]
fn kubelet_capture_of_this_kind_of_machine() {
    // What kubelet 1.36.3 wrote on a machine with these readings and its default thresholds.
    let mut world = world();
    world.settings = Settings::default();
    let snapshot = &mut world.snapshot;
    snapshot.memory = Reading::of(Memory {
        total_bytes: 24_683_656 * 1024,
        ..Memory::default()
    });
    snapshot.root_filesystem = Reading::of(Filesystem {
        capacity_bytes: 264_212_084 * 1024,
        ..Filesystem::default()
    });
    snapshot.huge_pages = Reading::of(vec![
        HugePages {
            page_size_kib: 1_048_576,
            count: Some(0),
        },
        HugePages {
            page_size_kib: 2048,
            count: Some(0),
        },
    ]);
    let mut node = Node::default();
    set(&world.inputs(), &mut node).unwrap();
    check(
        "capture",
        &node.status.unwrap(),
        &[
            ("cpu", "2"),
            ("ephemeral-storage", "264212084Ki"),
            ("hugepages-1Gi", "0"),
            ("hugepages-2Mi", "0"),
            ("memory", "24683656Ki"),
            ("pods", "110"),
        ],
        &[
            ("cpu", "2"),
            ("ephemeral-storage", "243497856212"),
            ("hugepages-1Gi", "0"),
            ("hugepages-2Mi", "0"),
            ("memory", "24581256Ki"),
            ("pods", "110"),
        ],
    );
}

#[test]
fn what_others_put_into_the_capacity_is_explained_by_it() {
    let node = stored(&[("example.com/gpu", "2"), ("hugepages-64Ki", "0")], &[]);
    let mut world = world();
    world.snapshot.huge_pages = Reading::of(vec![]);
    let explained = explain(&world.inputs(), &node);
    let gpu = explained
        .iter()
        .find(|e| e.path == "/status/allocatable/example.com~1gpu");
    assert_eq!(
        gpu.unwrap().sources,
        ["node:/status/capacity/example.com~1gpu"]
    );
    assert!(
        !explained.iter().any(|e| e.path.contains("hugepages-64Ki")),
        "it is gone"
    );
}

/// The machine of [`world`] with these huge pages, by size in KiB and number.
fn world_with_pages(pages: &[(u64, u64)]) -> World {
    let mut world = world();
    let pages = pages.iter().map(|&(page_size_kib, count)| HugePages {
        page_size_kib,
        count: Some(count),
    });
    world.snapshot.huge_pages = Reading::of(pages.collect());
    world
}

/// kubelet reconciles huge pages at registration only; here every round does.
#[test]
fn test_reconcile_huge_page_resource() {
    let gib = 1 << 20;
    for (row, existing, pages, expected) in [
        (
            "no update",
            vec![("hugepages-2Mi", "100Mi"), ("hugepages-64Ki", "0")],
            vec![(64, 0), (2048, 50)],
            vec![("hugepages-2Mi", "100Mi"), ("hugepages-64Ki", "0")],
        ),
        (
            "changed and added",
            vec![("hugepages-2Mi", "100Mi")],
            vec![(2048, 0), (gib, 2)],
            vec![("hugepages-1Gi", "2Gi"), ("hugepages-2Mi", "0")],
        ),
        (
            "grown",
            vec![("hugepages-1Gi", "2Gi")],
            vec![(gib, 4)],
            vec![("hugepages-1Gi", "4Gi")],
        ),
        (
            "removed from both",
            vec![("hugepages-2Mi", "0"), ("hugepages-1Gi", "2Gi")],
            vec![(gib, 2)],
            vec![("hugepages-1Gi", "2Gi")],
        ),
    ] {
        let status = done(&world_with_pages(&pages), stored(&existing, &existing));
        for (name, resources) in [
            ("capacity", &status.capacity),
            ("allocatable", &status.allocatable),
        ] {
            let found: Vec<(&str, &str)> = resources
                .iter()
                .flatten()
                .filter(|(name, _)| name.starts_with("hugepages-"))
                .map(|(name, amount)| (name.as_str(), amount.0.as_str()))
                .collect();
            assert_eq!(found, expected, "{row}: {name}");
        }
    }
}

/// A size whose number cannot be read is still there.
#[test]
fn c77_a_size_without_a_number_keeps_what_is_stored() {
    let mut world = world();
    world.snapshot.huge_pages = Reading::of(vec![HugePages {
        page_size_kib: 1_048_576,
        count: None,
    }]);
    let table: Table<'_> = &[("hugepages-1Gi", "2Gi"), ("hugepages-64Ki", "0")];
    let mut node = stored(table, table);
    let paths: Vec<String> = explain(&world.inputs(), &node)
        .into_iter()
        .map(|explanation| explanation.path)
        .filter(|path| path.contains("hugepages"))
        .collect();
    assert_eq!(paths, ["/status/allocatable/hugepages-1Gi"]);
    let error = set(&world.inputs(), &mut node).unwrap_err();
    assert!(error.0.contains("hugepages-1Gi"), "{error}");
    let status = node.status.unwrap();
    for resources in [status.capacity, status.allocatable] {
        let resources = resources.unwrap();
        assert_eq!(resources["hugepages-1Gi"].0, "2Gi");
        assert!(!resources.contains_key("hugepages-64Ki"));
    }
    let new = set(&world.inputs(), &mut Node::default());
    assert!(new.is_err());
}

/// C79: a Node without capacity, without allocatable, or without any status gets both.
#[test]
fn test_update_default_resources() {
    let base: Table<'_> = &[("cpu", "2"), ("memory", "1Ki"), ("pods", "110")];
    let with = |capacity: Option<Table<'_>>, allocatable: Option<Table<'_>>| {
        let status = NodeStatus {
            capacity: capacity.map(resources),
            allocatable: allocatable.map(resources),
            ..NodeStatus::default()
        };
        Node {
            status: Some(status),
            ..Node::default()
        }
    };
    for (row, node) in [
        ("no status", Node::default()),
        ("both missing", with(None, None)),
        ("no capacity", with(None, Some(base))),
        ("no allocatable", with(Some(base), None)),
        ("both there", with(Some(base), Some(base))),
    ] {
        check(row, &done(&world(), node), base, base);
    }
}

/// kubelet zeroes extended resources when its device manager was reset. nodelet has none: they are others' to change.
#[test]
fn test_reconcile_extended_resource_is_left_alone() {
    let existing: Table<'_> = &[("test.com/resource1", "2"), ("test.com/resource2", "10")];
    let status = done(&world(), stored(existing, existing));
    for resources in [status.capacity.unwrap(), status.allocatable.unwrap()] {
        for (name, amount) in existing {
            assert_eq!(resources[*name].0, *amount);
        }
    }
}
