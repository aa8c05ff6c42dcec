#![expect(clippy::too_many_lines, reason = "tables")]

use super::*;
use crate::cli::{Cli, Environment};
use crate::config::file;
use crate::config::merge::merge;
use crate::config::settings::{NodeMetricReport, NodeMetricScope, Role};
use crate::eviction::thresholds::Signal;
use clap::Parser;
use k8s_openapi::api::core::v1::Taint;

/// The settings of one file, or its faults without the file's name; faults of shape come first.
fn settings(text: &str) -> Result<Settings, Vec<String>> {
    let mut faults = Vec::new();
    let layer = file::read_yaml("f", text, &mut faults);
    let cli = Cli::try_parse_from(["nodelet"]).unwrap();
    let result = Settings::validate(&merge([layer], &cli, &Environment::default()));
    match result {
        Ok(settings) if faults.is_empty() => Ok(settings),
        Ok(_) => Err(texts(&faults)),
        Err(more) => Err(texts(&[faults, more].concat())),
    }
}

fn texts(faults: &[Fault]) -> Vec<String> {
    faults
        .iter()
        .map(|fault| fault.to_string().trim_start_matches("f:").to_owned())
        .collect()
}

fn ok(text: &str) -> Settings {
    settings(text).unwrap()
}

#[test]
fn nothing_configured_is_the_default() {
    assert_eq!(ok(""), Settings::default());
}

#[test]
fn every_key_reaches_the_settings() {
    let settings = ok("
role: companion
nodeName: ' Node-A '
kubeletVersion: v1.30.1
rootDirectory: /data/kubelet
containerRuntimeEndpoint: unix:///run/x.sock
nodeStatusUpdateFrequency: 20s
nodeStatusReportFrequency: 10m
nodeLeaseDurationSeconds: 60
nodeStatusMaxImages: 0
maxPods: 250
podsPerCore: 10
systemReserved: {cpu: 500m, memory: 1Gi, ephemeral-storage: 2Gi, pid: 100}
kubeReserved: {cpu: 1}
reservedSystemCPUs: 0-3,7
evictionHard: {memory.available: 200Mi}
evictionSoft: {nodefs.available: 20%}
evictionSoftGracePeriod: {nodefs.available: 2m}
evictionMinimumReclaim: {memory.available: 50Mi}
evictionPressureTransitionPeriod: 30s
reRegister: true
registerNode: false
registerWithTaints: [{key: a.b/c, value: d, effect: NoExecute}, {key: e, effect: NoSchedule}]
providerID: cloud://1
cloudProvider: external
nodeIP: 192.0.2.1,2001:db8::1
nodeLabels: {example.com/a: b, empty: ''}
port: 10250
shutdownGracePeriod: 1m30s
localStorageCapacityIsolation: false
capacityOverride: {cpu: 8, memory: 16Gi}
setters: {disable: [images], order: [machineInfo, ready]}
volumeLimits: {attachable-volumes-csi-x: 39}
conditions:
  readonlyFilesystem: true
  memoryContention: {enabled: false, psiFull10s: 25, for: 0s, clearFor: 1s}
  clockUnsynchronized: false
nodeMetric: {scope: node, report: false, sampleInterval: 2s}
listenAddress: unix:/run/nodelet/http.sock
timeouts: {api: 1s, connect: 2s, cri: 3s, statfs: 4s}
");
    let seconds = Duration::from_secs;
    let quantity = |text: &str| Quantity::parse(text).unwrap();
    let resources = |table: &[(&str, &str)]| -> BTreeMap<String, Quantity> {
        table
            .iter()
            .map(|(name, text)| ((*name).to_owned(), quantity(text)))
            .collect()
    };
    assert_eq!(settings.role, Role::Companion);
    assert_eq!(settings.node_name.as_deref(), Some("node-a"));
    assert_eq!(settings.kubelet_version, "v1.30.1");
    assert_eq!(settings.root_directory, "/data/kubelet");
    assert_eq!(
        settings.container_runtime_endpoint.as_deref(),
        Some("unix:///run/x.sock")
    );
    assert_eq!(settings.node_status_update_frequency, seconds(20));
    assert_eq!(settings.node_status_report_frequency, seconds(600));
    assert_eq!(settings.node_lease_duration_seconds, 60);
    assert_eq!(settings.node_status_max_images, Some(0));
    assert_eq!((settings.max_pods, settings.pods_per_core), (250, 10));
    let system = [
        ("cpu", "500m"),
        ("memory", "1Gi"),
        ("ephemeral-storage", "2Gi"),
        ("pid", "100"),
    ];
    assert_eq!(settings.system_reserved, resources(&system));
    assert_eq!(settings.kube_reserved, resources(&[("cpu", "1")]));
    assert_eq!(
        settings.reserved_system_cpus,
        Some(CpuList::parse("0-3,7").unwrap())
    );
    let [hard] = &settings.eviction_hard[..] else {
        panic!("{:?}", settings.eviction_hard)
    };
    assert_eq!(
        (hard.signal, hard.grace_period),
        (Signal::MemoryAvailable, None)
    );
    assert_eq!(hard.min_reclaim.as_ref().unwrap().to_string(), "50Mi");
    let [soft] = &settings.eviction_soft[..] else {
        panic!("{:?}", settings.eviction_soft)
    };
    assert_eq!(
        (soft.signal, soft.grace_period),
        (Signal::NodefsAvailable, Some(seconds(120)))
    );
    assert_eq!(settings.eviction_pressure_transition_period, seconds(30));
    assert!(settings.re_register && !settings.register_node);
    let taint = |key: &str, value: Option<&str>, effect: &str| Taint {
        key: key.to_owned(),
        value: value.map(str::to_owned),
        effect: effect.to_owned(),
        time_added: None,
    };
    let taints = vec![
        taint("a.b/c", Some("d"), "NoExecute"),
        taint("e", None, "NoSchedule"),
    ];
    assert_eq!(settings.register_with_taints, Some(taints));
    assert_eq!(settings.provider_id.as_deref(), Some("cloud://1"));
    assert!(settings.cloud_provider_external);
    let ips: Vec<_> = settings.node_ips.iter().map(ToString::to_string).collect();
    assert_eq!(ips, ["192.0.2.1", "2001:db8::1"]);
    let labels: Vec<_> = settings.node_labels.into_iter().collect();
    assert_eq!(
        labels,
        [
            ("empty".into(), String::new()),
            ("example.com/a".into(), "b".into())
        ]
    );
    assert_eq!(settings.port, Some(10250));
    assert_eq!(settings.shutdown_grace_period, seconds(90));
    assert!(!settings.local_storage_capacity_isolation);
    let capacity = (
        settings.capacity_override.cpu,
        settings.capacity_override.memory,
    );
    assert_eq!(capacity, (Some(quantity("8")), Some(quantity("16Gi"))));
    assert!(settings.setters_disabled.iter().eq(["images"]));
    assert_eq!(settings.setters_order, ["machineInfo", "ready"]);
    assert_eq!(
        settings.volume_limits,
        [("attachable-volumes-csi-x".to_owned(), 39)].into()
    );
    let conditions = settings.conditions;
    assert!(conditions.readonly_filesystem && !conditions.clock_unsynchronized);
    let memory = Contention {
        enabled: false,
        psi_full_10s_percent: 25,
        raise_after: Duration::ZERO,
        clear_after: seconds(1),
    };
    assert_eq!(conditions.memory_contention, memory);
    assert_eq!(conditions.disk_contention, Contention::default());
    let metric = settings.node_metric;
    assert_eq!(
        (metric.scope, metric.report),
        (NodeMetricScope::Node, NodeMetricReport::Off)
    );
    assert_eq!(metric.sample_interval, seconds(2));
    assert_eq!(
        settings.listen_address,
        ListenAddress::Unix("/run/nodelet/http.sock".into())
    );
    let timeouts = settings.timeouts;
    let timeouts = (
        timeouts.api,
        timeouts.connect,
        timeouts.cri,
        timeouts.statfs,
    );
    assert_eq!(timeouts, (seconds(1), seconds(2), seconds(3), seconds(4)));
}

#[test]
fn impossible_values_are_refused_where_they_stand() {
    for (text, expected) in [
        (
            "role: kubelet",
            "1: role: must be one of auto, owner, companion, not \"kubelet\"",
        ),
        ("nodeName: ' '", "1: nodeName: empty hostname is invalid"),
        (
            "kubeletVersion: '1.36'",
            "1: kubeletVersion: \"1.36\" is not a version such as v1.36.0",
        ),
        (
            "kubeletConfig: /k",
            "1: kubeletConfig: inheriting from a KubeletConfiguration is not supported yet",
        ),
        (
            "rootDirectory: kubelet",
            "1: rootDirectory: \"kubelet\" is not an absolute path",
        ),
        (
            "containerRuntimeEndpoint: tcp://x",
            "1: containerRuntimeEndpoint: \"tcp://x\" is not a socket such as unix:///run/containerd/containerd.sock",
        ),
        (
            "nodeStatusUpdateFrequency: 0s",
            "1: nodeStatusUpdateFrequency: must be at least 10ms, not 0s",
        ),
        (
            "nodeStatusReportFrequency: -1s",
            "1: nodeStatusReportFrequency: must be at least 10ms, not -1s",
        ),
        (
            "evictionPressureTransitionPeriod: 0s",
            "1: evictionPressureTransitionPeriod: must be at least 10ms, not 0s",
        ),
        (
            "nodeMetric: {sampleInterval: 1ns}",
            "1: nodeMetric.sampleInterval: must be at least 10ms, not 1ns",
        ),
        (
            "timeouts: {statfs: 0s}",
            "1: timeouts.statfs: must be at least 1ms, not 0s",
        ),
        (
            "shutdownGracePeriod: 500ms",
            "1: shutdownGracePeriod: must be either zero or otherwise >= 1 sec",
        ),
        (
            "shutdownGracePeriod: -1s",
            "1: shutdownGracePeriod: must be at least 0s, not -1s",
        ),
        (
            "nodeLeaseDurationSeconds: 0",
            "1: nodeLeaseDurationSeconds: must be from 1 to 2147483647, not 0",
        ),
        (
            "nodeStatusMaxImages: -2",
            "1: nodeStatusMaxImages: must be from -1 to 2147483647, not -2",
        ),
        (
            "maxPods: -1",
            "1: maxPods: must be from 0 to 2147483647, not -1",
        ),
        (
            "maxPods: 4294967296",
            "1: maxPods: must be from 0 to 2147483647, not 4294967296",
        ),
        ("port: 65536", "1: port: must be from 1 to 65535, not 65536"),
        (
            "systemReserved:\n  gpu: 1",
            "2: systemReserved.gpu: cannot reserve \"gpu\" resource",
        ),
        (
            "kubeReserved:\n  cpu: -1",
            "2: kubeReserved.cpu: resource quantity for \"cpu\" cannot be negative: -1",
        ),
        (
            "reservedSystemCPUs: 3-1",
            "1: reservedSystemCPUs: \"3-1\" runs backwards",
        ),
        (
            "reservedSystemCPUs: ','",
            "1: reservedSystemCPUs: \",\" names no CPU",
        ),
        (
            "capacityOverride: {cpu: 0}",
            "1: capacityOverride.cpu: must be greater than 0, not 0",
        ),
        (
            "evictionSoft:\n  memory.available: 1Gi",
            "2: evictionSoft.memory.available: grace period must be specified for the soft eviction threshold memory.available",
        ),
        (
            "evictionHard: {memory.available: lots%}",
            "1: evictionHard.memory.available: strconv.ParseFloat: parsing \"lots\": invalid syntax",
        ),
        (
            "registerWithTaints:\n- key: a\n  effect: Never",
            "3: registerWithTaints[0].effect: must be one of NoSchedule, PreferNoSchedule, NoExecute, not \"Never\"",
        ),
        (
            "registerWithTaints:\n- {key: a, effect: NoSchedule}\n- {key: a, value: b, effect: NoSchedule}",
            "3: registerWithTaints[1].key: taints must be unique by key and effect pair",
        ),
        (
            "cloudProvider: gce",
            "1: cloudProvider: must be external or empty, not \"gce\"",
        ),
        ("nodeIP: blah", "1: nodeIP: \"blah\" is not an IP address"),
        (
            "nodeIP: 192.0.2.1,192.0.2.2",
            "1: nodeIP: must contain either a single IP or a dual-stack pair of IPs",
        ),
        (
            "nodeIP: '192.0.2.1,::'",
            "1: nodeIP: dual-stack node IP cannot include '0.0.0.0' or '::'",
        ),
        (
            "nodeIPCIDR: 192.0.2.1",
            "1: nodeIPCIDR: \"192.0.2.1\" is not a network such as 192.0.2.0/24",
        ),
        (
            "nodeIPCIDR: 10.0.0.0/8,11.0.0.0/8",
            "1: nodeIPCIDR: must be a single network or one of each family",
        ),
        (
            "nodeIP: 192.0.2.1\nnodeIPInterface: eth0",
            "2: nodeIPInterface: cannot be used together with nodeIP",
        ),
        (
            "nodeIPInterface: eth0\nnodeIPCIDR: '::/0'",
            "2: nodeIPCIDR: cannot be used together with nodeIPInterface",
        ),
        (
            "volumeLimits: {x: 1}",
            "1: volumeLimits.x: the name must begin with attachable-volumes-, as in attachable-volumes-csi-x",
        ),
        (
            "volumeLimits: {attachable-volumes-x: -1}",
            "1: volumeLimits.attachable-volumes-x: must be from 0 to 2147483647, not -1",
        ),
        (
            "setters:\n  order:\n  - images\n  - images",
            "4: setters.order[1]: images is listed twice",
        ),
        (
            "setters: {order: [ready]}",
            "1: setters.order: ready must stay after machineInfo, whose capacity it checks",
        ),
        (
            "setters: {order: [ready, machineInfo]}",
            "1: setters.order: ready must stay after machineInfo, whose capacity it checks",
        ),
        (
            "conditions: {diskContention: {psiFull10s: 101}}",
            "1: conditions.diskContention.psiFull10s: must be from 1 to 100, not 101",
        ),
        (
            "nodeMetric: {scope: all}",
            "1: nodeMetric.scope: must be one of auto, off, node, cluster, not \"all\"",
        ),
        (
            "nodeMetric: {report: maybe}",
            "1: nodeMetric.report: must be one of auto, true, false, not \"maybe\"",
        ),
        (
            "listenAddress: ':9478'",
            "1: listenAddress: \":9478\" is neither address:port, nor unix:/path, nor empty for no listener",
        ),
    ] {
        assert_eq!(settings(text), Err(vec![expected.to_owned()]), "{text}");
    }
    let unknown = settings("setters: {disable: [image]}").unwrap_err();
    assert!(
        unknown[0].starts_with(
            "1: setters.disable[0]: there is no setter \"image\"; there are addresses, "
        )
    );
}

#[test]
fn all_faults_are_found_at_once() {
    let found =
        settings("maxPods: -1\nrole: king\nnodeIP: fe80::1\nport: none\ntimeouts: {api: -1s}")
            .unwrap_err();
    let mut keys: Vec<_> = found
        .iter()
        .map(|fault| fault.split(':').take(2).collect::<Vec<_>>().join(":"))
        .collect();
    keys.sort();
    assert_eq!(
        keys,
        [
            "1: maxPods",
            "2: role",
            "3: nodeIP",
            "4: port",
            "5: timeouts.api"
        ]
    );
}

#[test]
fn the_report_period_follows_an_update_period_that_alone_is_configured() {
    let seconds = Duration::from_secs;
    for (text, update, report) in [
        ("", 10, 300),
        ("nodeStatusUpdateFrequency: 20s", 20, 20),
        ("nodeStatusReportFrequency: 1m", 10, 60),
        (
            "nodeStatusUpdateFrequency: 20s\nnodeStatusReportFrequency: 1m",
            20,
            60,
        ),
        (
            "nodeStatusUpdateFrequency: 20s\nnodeStatusReportFrequency: null",
            20,
            20,
        ),
    ] {
        let settings = ok(text);
        let periods = (
            settings.node_status_update_frequency,
            settings.node_status_report_frequency,
        );
        assert_eq!(periods, (seconds(update), seconds(report)), "{text}");
    }
}

#[test]
fn explicit_eviction_tables_replace_the_defaults() {
    assert_eq!(ok("evictionHard: {}").eviction_hard, []);
    assert_eq!(
        ok("evictionHard: null").eviction_hard,
        Settings::default().eviction_hard
    );
    assert_eq!(
        ok("evictionHard: {pid.available: 10%}").eviction_hard.len(),
        1
    );
}

#[test]
fn empty_texts_are_no_values_except_for_the_runtime() {
    let settings = ok(
        "nodeName: ''\nkubeletConfig: ''\nproviderID: ''\nnodeIP: ''\nnodeIPInterface: ''\nnodeIPCIDR: ''\ncloudProvider: ''\n\
         reservedSystemCPUs: ''\nlistenAddress: ''\ncontainerRuntimeEndpoint: ''\n",
    );
    let expected = Settings {
        listen_address: ListenAddress::Off,
        container_runtime_endpoint: Some(String::new()),
        ..Settings::default()
    };
    assert_eq!(settings, expected);
}

#[test]
fn volume_limits_that_are_configured_are_published() {
    let disabled = |text: &str| ok(text).setters_disabled.into_iter().collect::<Vec<_>>();
    let limits = "volumeLimits: {attachable-volumes-csi-x: 1}\n";
    assert_eq!(disabled(""), ["volumeLimits", "volumesInUse"]);
    assert_eq!(disabled(limits), ["volumesInUse"]);
    assert_eq!(
        disabled(&format!("{limits}setters: {{disable: [volumeLimits]}}")),
        ["volumeLimits"]
    );
    assert_eq!(disabled("setters: {disable: []}"), [""; 0]);
}

#[test]
fn setters_may_be_ordered_as_long_as_ready_stays_behind() {
    for order in ["[images, addresses]", "[machineInfo, ready]", "[]"] {
        ok(&format!("setters: {{order: {order}}}"));
    }
    ok("setters: {disable: [machineInfo], order: [ready]}");
}

#[test]
fn a_family_may_be_preferred_beside_an_interface() {
    assert_eq!(ok("nodeIP: '::'\nnodeIPInterface: eth0").node_ips.len(), 1);
    assert_eq!(
        ok("nodeIPCIDR: 10.0.0.0/8, 2001:db8::/32")
            .node_ip_cidrs
            .len(),
        2
    );
}

#[test]
fn c53_link_local_node_ip_is_refused_with_the_reason() {
    for (text, expected) in [
        (
            "fe80::1",
            "1: nodeIP: nodeIP can't be a link-local unicast address: fe80::1",
        ),
        (
            "192.0.2.10,fe80::1",
            "1: nodeIP: nodeIP can't be a link-local unicast address: fe80::1",
        ),
        (
            "127.0.0.1",
            "1: nodeIP: nodeIP can't be loopback address: 127.0.0.1",
        ),
        (
            "224.0.0.1",
            "1: nodeIP: nodeIP can't be a multicast address: 224.0.0.1",
        ),
    ] {
        assert_eq!(
            settings(&format!("nodeIP: '{text}'")),
            Err(vec![expected.to_owned()])
        );
    }
}

#[test]
fn c118_each_reserved_label_is_named() {
    let found = settings(
        "nodeLabels:\n  node-role.kubernetes.io/worker: ''\n  example.com/ok: a\n  foo.k8s.io/x: y\n",
    );
    let found = found.unwrap_err();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0]
            .starts_with("4: nodeLabels.foo.k8s.io/x: a node may not set the label foo.k8s.io/x")
    );
    assert!(
        found[1].starts_with("2: nodeLabels.node-role.kubernetes.io/worker: a node may not set")
    );
}
