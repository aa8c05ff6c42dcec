//! Machine info: what the machine is and how much of everything it has
//! (`pkg/kubelet/nodestatus/setters.go`, `MachineInfo`; `pkg/kubelet/cadvisor/util.go`).
//!
//! Capacity is what the host says. Keys that others put there (extended resources, volume limits) stay, except for
//! huge pages of a size that the machine no longer has. Differences from kubelet, all on purpose:
//! - a reading that failed costs only its own value; kubelet publishes 0 CPUs and no memory then;
//! - huge pages that are gone are removed in every round, not only at registration;
//! - swap that was switched off is removed; kubelet leaves the old number.

pub mod allocatable;

use super::{Explanation, Inputs, Missing, SetterError, node_info_of, status_of};
use crate::gather::Reading;
use crate::host::hugepages::HugePages;
use crate::quantity::Quantity;
use k8s_openapi::api::core::v1::{Node, NodeStatus, NodeSwapStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use std::collections::BTreeMap;

/// Cores.
pub const CPU: &str = "cpu";
/// RAM, bytes.
pub const MEMORY: &str = "memory";
/// How many pods may run.
pub const PODS: &str = "pods";
/// The filesystem of `rootDirectory`, bytes.
pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
/// What the name of every huge-page resource begins with; the size of a page follows.
pub const HUGE_PAGES_PREFIX: &str = "hugepages-";

/// A resource list, as it stands in a Node.
type Resources = BTreeMap<String, ApiQuantity>;

/// Sets `nodeInfo.machineID`, `systemUUID`, `bootID` and `swap`, `capacity` and `allocatable`.
pub fn set(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    let mut missing = Missing::default();
    set_node_info(inputs, node, &mut missing);
    let status = status_of(node);
    let amounts = read_capacity(inputs, &mut missing);
    let capacity = status.capacity.get_or_insert_default();
    capacity.extend(
        amounts
            .iter()
            .map(|(name, amount)| (name.clone(), amount.into())),
    );
    if let Some(sizes) = inputs.snapshot.huge_pages.get() {
        remove_huge_pages(sizes, status);
    }
    for problem in allocatable::set(inputs.settings, status, &amounts) {
        missing.note(problem);
    }
    missing.into_result()
}

fn set_node_info(inputs: &Inputs<'_>, node: &mut Node, missing: &mut Missing) {
    let snapshot = inputs.snapshot;
    let info = node_info_of(node);
    if let Some(id) = missing.take("machine id", &snapshot.machine_id) {
        info.machine_id.clone_from(id);
    }
    if let Some(uuid) = missing.take("system UUID", &snapshot.system_uuid) {
        info.system_uuid.clone_from(uuid);
    }
    if let Some(id) = missing.take("boot id", &snapshot.boot_id) {
        info.boot_id.clone_from(id);
    }
    // A memory reading that failed is named once, with the capacity that it costs.
    if let Some(memory) = snapshot.memory.get() {
        info.swap = (memory.swap_total_bytes > 0).then(|| NodeSwapStatus {
            capacity: Some(i64::try_from(memory.swap_total_bytes).unwrap_or(i64::MAX)),
        });
    }
}

/// What this round knows of the capacity, for a check of the reservations at start.
pub fn capacity(inputs: &Inputs<'_>) -> BTreeMap<String, Quantity> {
    read_capacity(inputs, &mut Missing::default())
}

fn read_capacity(inputs: &Inputs<'_>, missing: &mut Missing) -> BTreeMap<String, Quantity> {
    let (settings, snapshot) = (inputs.settings, inputs.snapshot);
    let mut amounts = BTreeMap::new();
    let mut put = |name: &str, amount: Quantity| amounts.insert(name.to_owned(), amount);
    let cpu = settings.capacity_override.cpu.or_else(|| {
        let cpus = missing.take("online CPUs", &snapshot.cpus)?;
        Some(Quantity::milli(whole(cpus.len()) * 1000))
    });
    if let Some(cpu) = cpu {
        put(CPU, cpu);
        put(PODS, pods(settings.max_pods, settings.pods_per_core, &cpu));
    } else if settings.pods_per_core == 0 {
        put(PODS, Quantity::count(settings.max_pods.into()));
    }
    let memory = settings.capacity_override.memory.or_else(|| {
        let memory = missing.take("memory", &snapshot.memory)?;
        Some(Quantity::bytes(memory.total_bytes.into()))
    });
    if let Some(memory) = memory {
        put(MEMORY, memory);
    }
    if settings.local_storage_capacity_isolation
        && let Some(filesystem) = missing.take("root filesystem", &snapshot.root_filesystem)
    {
        if filesystem.capacity_bytes == 0 {
            // A size of 0 would have every pod evicted.
            missing.note(format!("root filesystem: {} has no size", filesystem.path));
        } else {
            put(
                EPHEMERAL_STORAGE,
                Quantity::bytes(filesystem.capacity_bytes.into()),
            );
        }
    }
    for pages in missing
        .take("huge pages", &snapshot.huge_pages)
        .into_iter()
        .flatten()
    {
        let name = huge_pages_name(pages);
        if let Some(count) = pages.count {
            put(&name, huge_pages_amount(pages.page_size_kib, count));
        } else {
            missing.note(format!("huge pages: no number of {name}"));
        }
    }
    amounts
}

/// Takes the sizes off that the machine has not.
fn remove_huge_pages(sizes: &[HugePages], status: &mut NodeStatus) {
    let present: Vec<_> = sizes.iter().map(huge_pages_name).collect();
    for resources in [&mut status.capacity, &mut status.allocatable]
        .into_iter()
        .flatten()
    {
        resources.retain(|name, _| !name.starts_with(HUGE_PAGES_PREFIX) || present.contains(name));
    }
}

/// `hugepages-2Mi`.
fn huge_pages_name(pages: &HugePages) -> String {
    format!(
        "{HUGE_PAGES_PREFIX}{}",
        Quantity::bytes(i128::from(pages.page_size_kib) * 1024)
    )
}

fn huge_pages_amount(page_size_kib: u64, count: u64) -> Quantity {
    let page_bytes = i128::from(page_size_kib) * 1024;
    Quantity::bytes(page_bytes.saturating_mul(count.into()))
}

fn pods(max_pods: u32, pods_per_core: u32, cpu: &Quantity) -> Quantity {
    let most = i128::from(max_pods);
    match pods_per_core {
        0 => Quantity::count(most),
        each => Quantity::count(most.min(cpu.milli_value() / 1000 * i128::from(each))),
    }
}

fn whole(n: usize) -> i128 {
    i128::try_from(n).unwrap_or(i128::MAX / 1000)
}

/// Where the values of this setter come from.
pub fn explain(inputs: &Inputs<'_>, node: &Node) -> Vec<Explanation> {
    let snapshot = inputs.snapshot;
    let mut explained = Vec::new();
    let info = [
        ("machineID", &snapshot.machine_id),
        ("systemUUID", &snapshot.system_uuid),
        ("bootID", &snapshot.boot_id),
    ];
    for (field, reading) in info {
        explained.extend(Explanation::read(
            format!("/status/nodeInfo/{field}"),
            format!("nodeInfo.{field}"),
            reading,
        ));
    }
    if snapshot
        .memory
        .get()
        .is_some_and(|memory| memory.swap_total_bytes > 0)
    {
        explained.extend(Explanation::read(
            "/status/nodeInfo/swap/capacity",
            "nodeInfo.swap",
            &snapshot.memory,
        ));
    }
    let capacities = explain_capacity(inputs);
    let known = |name: &str| capacities.iter().any(|(known, _)| known == name);
    let gone = |name: &str| {
        let sizes = snapshot.huge_pages.get();
        name.starts_with(HUGE_PAGES_PREFIX)
            && sizes.is_some_and(|sizes| !sizes.iter().any(|size| huge_pages_name(size) == name))
    };
    let stored = node
        .status
        .iter()
        .filter_map(|status| status.capacity.as_ref());
    for name in stored
        .flat_map(BTreeMap::keys)
        .filter(|name| !known(name) && !gone(name))
    {
        let rule = format!("allocatable.{name}");
        let mut explanation = Explanation::ruled(pointer("allocatable", name), rule);
        explanation
            .sources
            .push(format!("node:{}", pointer("capacity", name)));
        explained.push(explanation);
    }
    for (name, explanation) in capacities {
        explained.push(allocatable::explain(inputs, &name, &explanation));
        explained.push(explanation);
    }
    explained
}

fn explain_capacity(inputs: &Inputs<'_>) -> Vec<(String, Explanation)> {
    let (settings, snapshot) = (inputs.settings, inputs.snapshot);
    let over = &settings.capacity_override;
    let mut explained = Vec::new();
    explained.extend(explain_reading(CPU, over.cpu.is_some(), &snapshot.cpus));
    let pods =
        Explanation::ruled(pointer("capacity", PODS), "capacity.pods").with_setting("maxPods");
    let pods = match settings.pods_per_core {
        0 => pods,
        _ => pods
            .with_setting("podsPerCore")
            .with_reading(&snapshot.cpus),
    };
    explained.push((PODS.to_owned(), pods));
    explained.extend(explain_reading(
        MEMORY,
        over.memory.is_some(),
        &snapshot.memory,
    ));
    if settings.local_storage_capacity_isolation {
        explained.extend(explain_reading(
            EPHEMERAL_STORAGE,
            false,
            &snapshot.root_filesystem,
        ));
    }
    let sizes = snapshot.huge_pages.get().into_iter().flatten();
    for pages in sizes.filter(|pages| pages.count.is_some()) {
        explained.extend(explain_reading(
            &huge_pages_name(pages),
            false,
            &snapshot.huge_pages,
        ));
    }
    explained
}

fn explain_reading<T>(
    name: &str,
    overridden: bool,
    reading: &Reading<T>,
) -> Option<(String, Explanation)> {
    let path = pointer("capacity", name);
    let explanation = if overridden {
        let key = format!("capacityOverride.{name}");
        Explanation::ruled(path, key.clone()).with_setting(&key)
    } else {
        Explanation::read(path, format!("capacity.{name}"), reading)?
    };
    Some((name.to_owned(), explanation))
}

/// The JSON pointer of an entry of `capacity` or `allocatable`.
fn pointer(list: &str, name: &str) -> String {
    format!(
        "/status/{list}/{}",
        name.replace('~', "~0").replace('/', "~1")
    )
}

#[cfg(test)]
mod tests;
