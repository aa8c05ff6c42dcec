//! Settings written as a configuration file again, for `--check-config`.

use super::file::{API_VERSION, KIND};
use super::go_duration;
use super::settings::{Contention, Settings, Word, word_of};
use crate::eviction::thresholds::Threshold;
use crate::quantity::Quantity;
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
    let mut map = Map::new();
    let mut set = |key: &str, value: Value| map.insert(key.to_owned(), value);
    set("kind", json!(KIND));
    set("apiVersion", json!(API_VERSION));
    let capacity = &settings.capacity_override;
    let capacity = [("cpu", capacity.cpu), ("memory", capacity.memory)];
    set(
        "capacityOverride",
        capacity
            .into_iter()
            .filter_map(|(key, quantity)| Some((key.to_owned(), json!(quantity?.to_string()))))
            .collect::<Map<_, _>>()
            .into(),
    );
    set("cloudProvider", json!(if settings.cloud_provider_external { "external" } else { "" }));
    let conditions = &settings.conditions;
    set(
        "conditions",
        json!({
            "readonlyFilesystem": conditions.readonly_filesystem,
            "memoryContention": contention(&conditions.memory_contention),
            "diskContention": contention(&conditions.disk_contention),
            "clockUnsynchronized": conditions.clock_unsynchronized,
        }),
    );
    if let Some(endpoint) = &settings.container_runtime_endpoint {
        set("containerRuntimeEndpoint", json!(endpoint));
    }
    set("evictionHard", by_signal(&settings.eviction_hard, |hard| Some(hard.value.to_string())));
    set("evictionSoft", by_signal(&settings.eviction_soft, |soft| Some(soft.value.to_string())));
    set(
        "evictionSoftGracePeriod",
        by_signal(&settings.eviction_soft, |soft| soft.grace_period.map(go_duration::format)),
    );
    set(
        "evictionMinimumReclaim",
        by_signal(settings.eviction_hard.iter().chain(&settings.eviction_soft), |threshold| {
            threshold.min_reclaim.as_ref().map(ToString::to_string)
        }),
    );
    set("evictionPressureTransitionPeriod", duration(settings.eviction_pressure_transition_period));
    set("kubeReserved", quantities(&settings.kube_reserved));
    if let Some(path) = &settings.kubelet_config {
        set("kubeletConfig", json!(path));
    }
    set("kubeletVersion", json!(settings.kubelet_version));
    set("listenAddress", json!(settings.listen_address.to_string()));
    set("localStorageCapacityIsolation", json!(settings.local_storage_capacity_isolation));
    set("maxPods", json!(settings.max_pods));
    set("nodeIP", json!(joined(&settings.node_ips)));
    set("nodeIPCIDR", json!(joined(&settings.node_ip_cidrs)));
    set("nodeIPInterface", json!(settings.node_ip_interface.as_deref().unwrap_or_default()));
    set("nodeLabels", json!(settings.node_labels));
    set("nodeLeaseDurationSeconds", json!(settings.node_lease_duration_seconds));
    let metric = &settings.node_metric;
    set(
        "nodeMetric",
        json!({
            "scope": word(metric.scope),
            "report": word(metric.report),
            "sampleInterval": duration(metric.sample_interval),
        }),
    );
    set("nodeName", json!(settings.node_name.as_deref().unwrap_or_default()));
    set("nodeStatusMaxImages", settings.node_status_max_images.map_or(json!(-1), |most| json!(most)));
    set("nodeStatusReportFrequency", duration(settings.node_status_report_frequency));
    set("nodeStatusUpdateFrequency", duration(settings.node_status_update_frequency));
    set("podsPerCore", json!(settings.pods_per_core));
    if let Some(port) = settings.port {
        set("port", json!(port));
    }
    set("providerID", json!(settings.provider_id.as_deref().unwrap_or_default()));
    set("reRegister", json!(settings.re_register));
    set("registerNode", json!(settings.register_node));
    if let Some(taints) = &settings.register_with_taints {
        let taints = taints.iter().map(|taint| {
            json!({
                "key": taint.key,
                "value": taint.value.as_deref().unwrap_or_default(),
                "effect": taint.effect,
            })
        });
        set("registerWithTaints", taints.collect());
    }
    let cpus = settings.reserved_system_cpus.as_ref().map(ToString::to_string);
    set("reservedSystemCPUs", json!(cpus.unwrap_or_default()));
    set("role", word(settings.role));
    set("rootDirectory", json!(settings.root_directory));
    set("setters", json!({"disable": settings.setters_disabled, "order": settings.setters_order}));
    set("shutdownGracePeriod", duration(settings.shutdown_grace_period));
    set("systemReserved", quantities(&settings.system_reserved));
    let timeouts = &settings.timeouts;
    set(
        "timeouts",
        json!({
            "api": duration(timeouts.api),
            "connect": duration(timeouts.connect),
            "cri": duration(timeouts.cri),
            "statfs": duration(timeouts.statfs),
        }),
    );
    set("volumeLimits", json!(settings.volume_limits));
    Value::Object(map)
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
    let texts = thresholds
        .into_iter()
        .filter_map(|threshold| Some((threshold.signal.name().to_owned(), json!(text(threshold)?))));
    texts.collect::<Map<_, _>>().into()
}

fn quantities(quantities: &BTreeMap<String, Quantity>) -> Value {
    let texts = quantities.iter().map(|(name, quantity)| (name.clone(), json!(quantity.to_string())));
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
