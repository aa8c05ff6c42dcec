//! Settings written as a configuration file again, for `--check-config`.

use super::file::{API_VERSION, KIND};
use super::go_duration;
use super::settings::{Contention, Settings, Word, word_of};
use crate::eviction::thresholds::Threshold;
use crate::quantity::Quantity;
use k8s_openapi::api::core::v1::Taint;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// The effective configuration as a file that is read as the same settings again. What only flags can say stands in
/// comments in front.
pub fn effective_yaml(settings: &Settings) -> String {
    let mut yaml = String::new();
    let mut flag = |flag: &str, value: &str| {
        // Writing into a String cannot fail.
        let _ = writeln!(yaml, "{}", format!("# {flag} {value}").trim_end());
    };
    flag("--root", &settings.root.display().to_string());
    if let Some(path) = &settings.kubeconfig {
        flag("--kubeconfig", &path.display().to_string());
    }
    if settings.takeover {
        flag("--takeover", "");
    }
    // Nothing but texts, numbers, booleans, lists and mappings with text keys: all have a form in YAML.
    yaml.push_str(&serde_saphyr::to_string(&configuration(settings)).unwrap_or_default());
    yaml
}

/// The same as a value, as the `settings` of a recording hold it.
pub fn configuration(settings: &Settings) -> Value {
    let head = vec![("kind", json!(KIND)), ("apiVersion", json!(API_VERSION))];
    let groups = [
        head,
        node(settings),
        addresses(settings),
        capacity(settings),
        evictions(settings),
        own(settings),
    ];
    let entries = groups
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.to_owned(), value));
    Value::Object(entries.collect())
}

type Entries = Vec<(&'static str, Value)>;

fn node(settings: &Settings) -> Entries {
    let mut entries = vec![
        ("kubeletVersion", json!(settings.kubelet_version)),
        ("nodeLabels", json!(settings.node_labels)),
        (
            "nodeLeaseDurationSeconds",
            json!(settings.node_lease_duration_seconds),
        ),
        (
            "nodeName",
            json!(settings.node_name.as_deref().unwrap_or_default()),
        ),
        (
            "nodeStatusReportFrequency",
            duration(settings.node_status_report_frequency),
        ),
        (
            "nodeStatusUpdateFrequency",
            duration(settings.node_status_update_frequency),
        ),
        (
            "providerID",
            json!(settings.provider_id.as_deref().unwrap_or_default()),
        ),
        ("reRegister", json!(settings.re_register)),
        ("registerNode", json!(settings.register_node)),
        ("role", word(settings.role)),
        (
            "shutdownGracePeriod",
            duration(settings.shutdown_grace_period),
        ),
    ];
    let taint = |taint: &Taint| {
        let value = taint.value.as_deref().unwrap_or_default();
        json!({"key": taint.key, "value": value, "effect": taint.effect})
    };
    let taints = settings.register_with_taints.as_ref();
    entries.extend(taints.map(|taints| ("registerWithTaints", taints.iter().map(taint).collect())));
    entries.extend(settings.port.map(|port| ("port", json!(port))));
    entries.extend(
        settings
            .kubelet_config
            .as_ref()
            .map(|path| ("kubeletConfig", json!(path))),
    );
    let endpoint = settings.container_runtime_endpoint.as_ref();
    entries.extend(endpoint.map(|endpoint| ("containerRuntimeEndpoint", json!(endpoint))));
    entries
}

fn addresses(settings: &Settings) -> Entries {
    let cloud_provider = if settings.cloud_provider_external {
        "external"
    } else {
        ""
    };
    vec![
        ("cloudProvider", json!(cloud_provider)),
        ("nodeIP", json!(joined(&settings.node_ips))),
        ("nodeIPCIDR", json!(joined(&settings.node_ip_cidrs))),
        (
            "nodeIPInterface",
            json!(settings.node_ip_interface.as_deref().unwrap_or_default()),
        ),
    ]
}

fn capacity(settings: &Settings) -> Entries {
    let replaced = [
        ("cpu", settings.capacity_override.cpu),
        ("memory", settings.capacity_override.memory),
    ];
    let replaced = replaced
        .into_iter()
        .filter_map(|(key, quantity)| Some((key.to_owned(), quantity?)));
    let cpus = settings
        .reserved_system_cpus
        .as_ref()
        .map(ToString::to_string);
    vec![
        ("capacityOverride", quantities(&replaced.collect())),
        ("kubeReserved", quantities(&settings.kube_reserved)),
        (
            "localStorageCapacityIsolation",
            json!(settings.local_storage_capacity_isolation),
        ),
        ("maxPods", json!(settings.max_pods)),
        (
            "nodeStatusMaxImages",
            settings
                .node_status_max_images
                .map_or(json!(-1), |most| json!(most)),
        ),
        ("podsPerCore", json!(settings.pods_per_core)),
        ("reservedSystemCPUs", json!(cpus.unwrap_or_default())),
        ("rootDirectory", json!(settings.root_directory)),
        ("systemReserved", quantities(&settings.system_reserved)),
        ("volumeLimits", json!(settings.volume_limits)),
    ]
}

fn evictions(settings: &Settings) -> Entries {
    let (hard, soft) = (&settings.eviction_hard, &settings.eviction_soft);
    let value = |threshold: &Threshold| Some(threshold.value.to_string());
    let period = |threshold: &Threshold| threshold.grace_period.map(go_duration::format);
    let reclaim = |threshold: &Threshold| threshold.min_reclaim.as_ref().map(ToString::to_string);
    vec![
        ("evictionHard", by_signal(hard, value)),
        (
            "evictionMinimumReclaim",
            by_signal(hard.iter().chain(soft), reclaim),
        ),
        (
            "evictionPressureTransitionPeriod",
            duration(settings.eviction_pressure_transition_period),
        ),
        ("evictionSoft", by_signal(soft, value)),
        ("evictionSoftGracePeriod", by_signal(soft, period)),
    ]
}

fn own(settings: &Settings) -> Entries {
    let (conditions, metric) = (&settings.conditions, &settings.node_metric);
    let timeouts = &settings.timeouts;
    vec![
        (
            "conditions",
            json!({
                "readonlyFilesystem": conditions.readonly_filesystem,
                "memoryContention": contention(&conditions.memory_contention),
                "diskContention": contention(&conditions.disk_contention),
                "clockUnsynchronized": conditions.clock_unsynchronized,
            }),
        ),
        ("listenAddress", json!(settings.listen_address.to_string())),
        (
            "nodeMetric",
            json!({
                "scope": word(metric.scope),
                "report": word(metric.report),
                "sampleInterval": duration(metric.sample_interval),
            }),
        ),
        (
            "setters",
            json!({"disable": settings.setters_disabled, "order": settings.setters_order}),
        ),
        (
            "timeouts",
            json!({
                "api": duration(timeouts.api),
                "connect": duration(timeouts.connect),
                "cri": duration(timeouts.cri),
                "statfs": duration(timeouts.statfs),
            }),
        ),
    ]
}

fn contention(contention: &Contention) -> Value {
    json!({
        "enabled": contention.enabled,
        "psiFull10s": contention.psi_full_10s_percent,
        "for": duration(contention.raise_after),
        "clearFor": duration(contention.clear_after),
    })
}

fn by_signal<'a>(
    thresholds: impl IntoIterator<Item = &'a Threshold>,
    text: impl Fn(&Threshold) -> Option<String>,
) -> Value {
    let texts = thresholds.into_iter().filter_map(|threshold| {
        Some((threshold.signal.name().to_owned(), json!(text(threshold)?)))
    });
    texts.collect::<Map<_, _>>().into()
}

fn quantities(quantities: &BTreeMap<String, Quantity>) -> Value {
    let texts = quantities
        .iter()
        .map(|(name, quantity)| (name.clone(), json!(quantity.to_string())));
    texts.collect::<Map<_, _>>().into()
}

fn duration(duration: Duration) -> Value {
    go_duration::format(duration).into()
}

fn word<T: Word + PartialEq>(value: T) -> Value {
    word_of(value).into()
}

fn joined<T: ToString>(items: &[T]) -> String {
    let texts: Vec<_> = items.iter().map(ToString::to_string).collect();
    texts.join(",")
}

#[cfg(test)]
mod tests;
