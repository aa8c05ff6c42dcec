//! From the merged tree to [`Settings`]: every value is judged, and all faults are reported at once, each where its
//! value was written. Values of a wrong shape were reported when their file was read, and are passed over here.
//!
//! Judges nothing that needs a reading of the host. Defined by `kubelet/apis/config/validation/validation.go` for the
//! keys that kubelet has.

mod node;

use super::labels;
use super::merge::Merged;
use super::reader::{Reader, out_of, text_of};
use super::settings::{Contention, ListenAddress, SETTERS, Settings};
use super::tree::{Fault, entry_key, item_key};
use crate::eviction::thresholds::{self, Statements};
use crate::host::cpu::CpuList;
use crate::quantity::Quantity;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// The shortest period of anything periodic: a shorter one would do nothing but burn a core.
const SHORTEST_PERIOD: Duration = Duration::from_millis(10);
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);
/// KubeletConfiguration's numbers are of 32 bits.
const NUMBER: RangeInclusive<i64> = 0..=2_147_483_647;

impl Settings {
    /// Judges the merged configuration.
    pub fn validate(merged: &Merged) -> Result<Self, Vec<Fault>> {
        let mut settings = Self {
            root: merged.root.clone(),
            kubeconfig: merged.kubeconfig.clone(),
            takeover: merged.takeover,
            ..Self::default()
        };
        let mut reader = Reader::new(&merged.tree);
        reader.identity(&mut settings);
        reader.periods(&mut settings);
        reader.capacity(&mut settings);
        reader.evictions(&mut settings);
        reader.registration(&mut settings);
        reader.addresses(&mut settings);
        reader.setters(&mut settings);
        reader.own(&mut settings);
        if reader.faults.is_empty() {
            Ok(settings)
        } else {
            Err(reader.faults)
        }
    }
}

impl Reader<'_> {
    fn periods(&mut self, settings: &mut Settings) {
        let update = &mut settings.node_status_update_frequency;
        self.duration("nodeStatusUpdateFrequency", SHORTEST_PERIOD, update);
        let report = &mut settings.node_status_report_frequency;
        if self.node("nodeStatusReportFrequency").is_some() {
            self.duration("nodeStatusReportFrequency", SHORTEST_PERIOD, report);
        } else if self.node("nodeStatusUpdateFrequency").is_some() {
            *report = *update;
        }
        self.whole(
            "nodeLeaseDurationSeconds",
            1..=*NUMBER.end(),
            &mut settings.node_lease_duration_seconds,
        );
        let timeouts = &mut settings.timeouts;
        self.duration("timeouts.api", SHORTEST_TIMEOUT, &mut timeouts.api);
        self.duration("timeouts.connect", SHORTEST_TIMEOUT, &mut timeouts.connect);
        self.duration("timeouts.cri", SHORTEST_TIMEOUT, &mut timeouts.cri);
        self.duration("timeouts.statfs", SHORTEST_TIMEOUT, &mut timeouts.statfs);
        let grace = &mut settings.shutdown_grace_period;
        self.duration("shutdownGracePeriod", Duration::ZERO, grace);
        if !grace.is_zero() && *grace < Duration::from_secs(1) {
            self.refuse(
                "shutdownGracePeriod",
                "must be either zero or otherwise >= 1 sec",
            );
        }
    }

    fn capacity(&mut self, settings: &mut Settings) {
        let mut images: i64 = 50;
        self.whole("nodeStatusMaxImages", -1..=*NUMBER.end(), &mut images);
        settings.node_status_max_images = usize::try_from(images).ok();
        self.whole("maxPods", NUMBER, &mut settings.max_pods);
        self.whole("podsPerCore", NUMBER, &mut settings.pods_per_core);
        settings.system_reserved = self.reserved("systemReserved");
        settings.kube_reserved = self.reserved("kubeReserved");
        if let Some(cpus) = self
            .text("reservedSystemCPUs")
            .filter(|cpus| !cpus.is_empty())
        {
            settings.reserved_system_cpus = self.accept("reservedSystemCPUs", CpuList::parse(cpus));
            if settings
                .reserved_system_cpus
                .as_ref()
                .is_some_and(CpuList::is_empty)
            {
                self.refuse("reservedSystemCPUs", format!("{cpus:?} names no CPU"));
            }
        }
        settings.capacity_override.cpu = self.more_than_nothing("capacityOverride.cpu");
        settings.capacity_override.memory = self.more_than_nothing("capacityOverride.memory");
        self.boolean(
            "localStorageCapacityIsolation",
            &mut settings.local_storage_capacity_isolation,
        );
    }

    fn reserved(&mut self, key: &str) -> BTreeMap<String, Quantity> {
        let mut reserved = BTreeMap::new();
        for (name, node) in self.entries(key) {
            let Some(quantity) = text_of(node).and_then(|text| Quantity::parse(text).ok()) else {
                continue;
            };
            if !["cpu", "memory", "ephemeral-storage", "pid"].contains(&name) {
                self.refuse_entry(key, name, node, format!("cannot reserve {name:?} resource"));
            } else if quantity.is_negative() {
                let message =
                    format!("resource quantity for {name:?} cannot be negative: {quantity}");
                self.refuse_entry(key, name, node, message);
            } else {
                reserved.insert(name.to_owned(), quantity);
            }
        }
        reserved
    }

    fn more_than_nothing(&mut self, key: &str) -> Option<Quantity> {
        let quantity = Quantity::parse(self.text(key)?).ok()?;
        if quantity.is_negative() || quantity.is_zero() {
            self.refuse(key, format!("must be greater than 0, not {quantity}"));
            return None;
        }
        Some(quantity)
    }

    fn evictions(&mut self, settings: &mut Settings) {
        let period = &mut settings.eviction_pressure_transition_period;
        self.duration("evictionPressureTransitionPeriod", SHORTEST_PERIOD, period);
        let statements = |key: &str| -> Option<Statements> {
            self.node(key)?;
            let entries = self.entries(key).into_iter();
            let texts = entries
                .filter_map(|(name, node)| Some((name.to_owned(), text_of(node)?.to_owned())));
            Some(texts.collect())
        };
        let parsed = thresholds::parse_threshold_config(
            statements("evictionHard").as_ref(),
            &statements("evictionSoft").unwrap_or_default(),
            &statements("evictionSoftGracePeriod").unwrap_or_default(),
            &statements("evictionMinimumReclaim").unwrap_or_default(),
        );
        match parsed {
            Ok((hard, soft)) => (settings.eviction_hard, settings.eviction_soft) = (hard, soft),
            Err(refused) => {
                for refused in refused {
                    let node = self
                        .node(refused.table)
                        .and_then(|table| table.get(&refused.signal));
                    if let Some(node) = node {
                        self.refuse_entry(refused.table, &refused.signal, node, refused.error);
                    }
                }
            }
        }
    }

    fn setters(&mut self, settings: &mut Settings) {
        for (name, node) in self.entries("volumeLimits") {
            let Some(limit) = text_of(node).and_then(|text| text.parse::<i64>().ok()) else {
                continue;
            };
            let named_well = name
                .strip_prefix("attachable-volumes-")
                .is_some_and(|rest| !rest.is_empty());
            if !named_well || labels::check_key(name).is_err() {
                let message =
                    "the name must begin with attachable-volumes-, as in attachable-volumes-csi-x";
                self.refuse_entry("volumeLimits", name, node, message);
            }
            match u32::try_from(limit) {
                Ok(limit) if NUMBER.contains(&limit.into()) => {
                    settings.volume_limits.insert(name.to_owned(), limit);
                }
                _ => self.refuse_entry("volumeLimits", name, node, out_of(&NUMBER, limit)),
            }
        }
        // Limits that are configured are meant to be published.
        if !settings.volume_limits.is_empty() {
            settings.setters_disabled.remove("volumeLimits");
        }
        if let Some(disabled) = self.setter_names("setters.disable") {
            settings.setters_disabled = disabled.into_iter().collect::<BTreeSet<_>>();
        }
        if let Some(order) = self.setter_names("setters.order") {
            settings.setters_order = order;
        }
        let place = |name: &str| {
            let enabled = !settings.setters_disabled.contains(name);
            enabled.then(|| {
                settings
                    .setters_order
                    .iter()
                    .position(|listed| listed == name)
            })
        };
        // What is not listed runs after all that is.
        let ready_first = match (place("ready"), place("machineInfo")) {
            (Some(Some(ready)), Some(machine)) => machine.is_none_or(|machine| ready < machine),
            _ => false,
        };
        if ready_first {
            self.refuse(
                "setters.order",
                "ready must stay after machineInfo, whose capacity it checks",
            );
        }
    }

    fn setter_names(&mut self, key: &str) -> Option<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        for (index, item) in self.items(key)?.iter().enumerate() {
            let name = text_of(item).unwrap_or_default();
            let message = if !SETTERS.contains(&name) {
                format!(
                    "there is no setter {name:?}; there are {}",
                    SETTERS.join(", ")
                )
            } else if names.iter().any(|other| other == name) {
                format!("{name} is listed twice")
            } else {
                names.push(name.to_owned());
                continue;
            };
            self.faults
                .push(Fault::new(&item.origin, item_key(key, index), message));
        }
        Some(names)
    }

    fn own(&mut self, settings: &mut Settings) {
        let conditions = &mut settings.conditions;
        self.boolean(
            "conditions.readonlyFilesystem",
            &mut conditions.readonly_filesystem,
        );
        self.boolean(
            "conditions.clockUnsynchronized",
            &mut conditions.clock_unsynchronized,
        );
        self.contention(
            "conditions.memoryContention",
            &mut conditions.memory_contention,
        );
        self.contention("conditions.diskContention", &mut conditions.disk_contention);
        let metric = &mut settings.node_metric;
        self.word("nodeMetric.scope", &mut metric.scope);
        self.word("nodeMetric.report", &mut metric.report);
        self.duration(
            "nodeMetric.sampleInterval",
            SHORTEST_PERIOD,
            &mut metric.sample_interval,
        );
        if let Some(text) = self.text("listenAddress") {
            if let Some(address) = listen_address(text) {
                settings.listen_address = address;
            } else {
                let message = "is neither address:port, nor unix:/path, nor empty for no listener";
                self.refuse("listenAddress", format!("{text:?} {message}"));
            }
        }
    }

    fn contention(&mut self, key: &str, contention: &mut Contention) {
        let key = |name| entry_key(key, name);
        self.boolean(&key("enabled"), &mut contention.enabled);
        self.whole(
            &key("psiFull10s"),
            1..=100,
            &mut contention.psi_full_10s_percent,
        );
        self.duration(&key("for"), Duration::ZERO, &mut contention.raise_after);
        self.duration(
            &key("clearFor"),
            Duration::ZERO,
            &mut contention.clear_after,
        );
    }
}

fn listen_address(text: &str) -> Option<ListenAddress> {
    if text.is_empty() {
        return Some(ListenAddress::Off);
    }
    match text.strip_prefix("unix:") {
        Some(path) => path
            .starts_with('/')
            .then(|| ListenAddress::Unix(PathBuf::from(path))),
        None => text.parse::<SocketAddr>().ok().map(ListenAddress::Tcp),
    }
}

#[cfg(test)]
mod tests;
