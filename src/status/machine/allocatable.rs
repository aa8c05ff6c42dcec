//! What of the capacity is left for pods (`pkg/kubelet/cm/node_container_manager_linux.go`,
//! `pkg/kubelet/nodestatus/setters.go`).

use super::{CPU, EPHEMERAL_STORAGE, HUGE_PAGES_PREFIX, MEMORY, Resources, pointer};
use crate::config::settings::Settings;
use crate::eviction::thresholds::Signal;
use crate::quantity::Quantity;
use crate::status::{Explanation, Inputs};
use k8s_openapi::api::core::v1::NodeStatus;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use std::collections::BTreeMap;

/// Brings `allocatable` up to `capacity`, and says which amounts of it make no sense. `fresh` are the amounts of this
/// round: they know how they are written, which a text such as `5000` does not say.
pub(super) fn set(
    settings: &Settings,
    status: &mut NodeStatus,
    fresh: &BTreeMap<String, Quantity>,
) -> Vec<String> {
    let capacity = status.capacity.get_or_insert_default();
    let (mut amounts, problems) = parsed(capacity);
    amounts.extend(fresh.clone());
    let reserved = reservation(settings, &amounts);
    let allocatable = status.allocatable.get_or_insert_default();
    allocatable.retain(|name, _| capacity.contains_key(name) || !is_extended_resource(name));
    for (name, amount) in left_over(&amounts, &reserved) {
        allocatable.insert(name, ApiQuantity::from(&amount));
    }
    problems
}

/// The amounts of a resource list, and those that make no sense.
fn parsed(resources: &Resources) -> (BTreeMap<String, Quantity>, Vec<String>) {
    let mut amounts = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, amount) in resources {
        match Quantity::try_from(amount) {
            Ok(amount) => {
                amounts.insert(name.clone(), amount);
            }
            Err(problem) => problems.push(format!("capacity of {name}: {problem}")),
        }
    }
    (amounts, problems)
}

/// Capacity less what is reserved, never below 0; huge pages are also taken off the memory.
fn left_over(
    capacity: &BTreeMap<String, Quantity>,
    reserved: &BTreeMap<String, Quantity>,
) -> BTreeMap<String, Quantity> {
    let mut left: BTreeMap<String, Quantity> = capacity
        .iter()
        .map(|(name, amount)| {
            let reserved = reserved.get(name).copied().unwrap_or_default();
            (name.clone(), amount.sub(&reserved).at_least_zero())
        })
        .collect();
    if let Some(memory) = left.get_mut(MEMORY) {
        for (_, pages) in capacity
            .iter()
            .filter(|(name, _)| name.starts_with(HUGE_PAGES_PREFIX))
        {
            *memory = memory.sub(pages).at_least_zero();
        }
    }
    left
}

/// What is kept from pods, of each resource in `capacity`: reserved for the system and for Kubernetes, and what the
/// hard eviction thresholds keep free (`GetNodeAllocatableReservation`). Resources with none are left out.
pub fn reservation(
    settings: &Settings,
    capacity: &BTreeMap<String, Quantity>,
) -> BTreeMap<String, Quantity> {
    capacity
        .iter()
        .map(|(name, amount)| {
            let parts = [
                system_reserved(settings, name),
                kube_reserved(settings, name),
                kept_free(settings, name, amount),
            ];
            let sum = parts
                .iter()
                .flatten()
                .fold(Quantity::default(), |sum, part| sum.add(part));
            (name.clone(), sum)
        })
        .filter(|(_, amount)| !amount.is_zero())
        .collect()
}

/// Which reservations are larger than the capacity, in kubelet's words; checked at start.
pub fn impossible_reservations(
    settings: &Settings,
    capacity: &BTreeMap<String, Quantity>,
) -> Vec<String> {
    reservation(settings, capacity)
        .into_iter()
        .filter_map(|(name, reserved)| {
            let capacity = capacity.get(&name).copied().unwrap_or_default();
            (reserved > capacity).then(|| {
                format!(
                    "invalid Node Allocatable configuration. Resource {name:?} has a reservation of {reserved} \
                     but capacity of {capacity}. Expected capacity >= reservation."
                )
            })
        })
        .collect()
}

/// `systemReserved`, whose CPUs are those of `reservedSystemCPUs` where these are named.
fn system_reserved(settings: &Settings, name: &str) -> Option<Quantity> {
    match &settings.reserved_system_cpus {
        Some(cpus) if name == CPU => Some(Quantity::count(super::whole(cpus.len()))),
        _ => settings.system_reserved.get(name).copied(),
    }
}

/// `kubeReserved`, which has no CPUs of its own where `reservedSystemCPUs` names them.
fn kube_reserved(settings: &Settings, name: &str) -> Option<Quantity> {
    if name == CPU && settings.reserved_system_cpus.is_some() {
        return None;
    }
    settings.kube_reserved.get(name).copied()
}

/// What the last hard threshold on `name` keeps free.
fn kept_free(settings: &Settings, name: &str, capacity: &Quantity) -> Option<Quantity> {
    let signal = match name {
        MEMORY => Signal::MemoryAvailable,
        EPHEMERAL_STORAGE => Signal::NodefsAvailable,
        _ => return None,
    };
    let threshold = settings
        .eviction_hard
        .iter()
        .rev()
        .find(|threshold| threshold.signal == signal)?;
    Some(Quantity::bytes(threshold.value.amount_of(capacity.value())))
}

/// Whether `name` is a resource that Kubernetes itself gives no meaning (`IsExtendedResourceName`). The server has
/// checked its form; only the length that a quota on it would have is left to check.
fn is_extended_resource(name: &str) -> bool {
    const QUOTA_PREFIX: &str = "requests.";
    const LONGEST_DOMAIN: usize = 253;
    name.split_once('/').is_some_and(|(domain, _)| {
        !name.contains("kubernetes.io/")
            && !name.starts_with(QUOTA_PREFIX)
            && QUOTA_PREFIX.len() + domain.len() <= LONGEST_DOMAIN
    })
}

/// Where the allocatable amount of `name` comes from, beside what its capacity comes from.
pub(super) fn explain(inputs: &Inputs<'_>, name: &str, capacity: &Explanation) -> Explanation {
    let settings = inputs.settings;
    let mut explanation = Explanation {
        path: pointer("allocatable", name),
        rule: format!("allocatable.{name}"),
        ..capacity.clone()
    };
    let reserved = [
        (
            "reservedSystemCPUs",
            name == CPU && settings.reserved_system_cpus.is_some(),
        ),
        (
            "systemReserved",
            settings.system_reserved.contains_key(name),
        ),
        ("kubeReserved", settings.kube_reserved.contains_key(name)),
        (
            "evictionHard",
            kept_free(settings, name, &Quantity::default()).is_some(),
        ),
    ];
    for (key, _) in reserved.into_iter().filter(|(_, used)| *used) {
        explanation = explanation.with_setting(key);
    }
    if name == MEMORY {
        explanation = explanation.with_reading(&inputs.snapshot.huge_pages);
    }
    explanation
}

#[cfg(test)]
mod tests;
