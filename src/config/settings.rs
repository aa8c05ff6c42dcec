//! The validated configuration: plain data with a value for everything.
//!
//! Owns meanings, units and defaults; reads nothing. The keys are those of KubeletConfiguration
//! (`kubelet/config/v1beta1/types.go`) wherever one exists, and kubelet's flags (`cmd/kubelet/app/options`).

use super::node_ip::Cidr;
use crate::eviction::thresholds::{self, Threshold};
use crate::host::cpu::CpuList;
use crate::quantity::Quantity;
use clap::ValueEnum;
use k8s_openapi::api::core::v1::Taint;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The version of kubelet whose behaviour is implemented, and nodelet's own behind it.
pub const KUBELET_VERSION: &str = concat!("v1.36.0-nodelet.", env!("CARGO_PKG_VERSION"));

/// The names of all setters, in kubelet's order; what `setters.disable` and `setters.order` may name.
pub const SETTERS: [&str; 15] = [
    "addresses",
    "machineInfo",
    "versionInfo",
    "daemonEndpoints",
    "images",
    "goRuntime",
    "runtimeHandlers",
    "nodeFeatures",
    "volumeLimits",
    "memoryPressure",
    "diskPressure",
    "pidPressure",
    "ready",
    "volumesInUse",
    "schedulable",
];

/// All that can be configured.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of the configuration that stands alone"
)]
pub struct Settings {
    /// `nodeName`, as [`super::node_name::node_name_from`] makes it; the host name decides where there is none.
    pub node_name: Option<String>,
    /// `role`.
    pub role: Role,
    /// `reRegister`: whether a Node that was deleted while nodelet runs is created again.
    pub re_register: bool,
    /// `registerNode`: whether an owner creates its Node.
    pub register_node: bool,
    /// `--takeover`: become owner of a Node that another manager kept.
    pub takeover: bool,
    /// `--kubeconfig`, or else `KUBECONFIG`.
    pub kubeconfig: Option<PathBuf>,
    /// `--root`: where the host's `/` is seen.
    pub root: PathBuf,
    /// `rootDirectory`: a host path whose filesystem is the node's.
    pub root_directory: String,
    /// `nodeStatusUpdateFrequency`: how often the status is computed.
    pub node_status_update_frequency: Duration,
    /// `nodeStatusReportFrequency`: how often it is sent although nothing changed. Where only the update frequency is
    /// configured, it is that one.
    pub node_status_report_frequency: Duration,
    /// `nodeLeaseDurationSeconds`.
    pub node_lease_duration_seconds: u32,
    /// `nodeStatusMaxImages`: `None` (written as -1) is no limit, 0 is no images at all.
    pub node_status_max_images: Option<usize>,
    /// `maxPods`.
    pub max_pods: u32,
    /// `podsPerCore`; 0 is no limit.
    pub pods_per_core: u32,
    /// `systemReserved`: `cpu`, `memory`, `ephemeral-storage`, `pid`.
    pub system_reserved: BTreeMap<String, Quantity>,
    /// `kubeReserved`, likewise.
    pub kube_reserved: BTreeMap<String, Quantity>,
    /// `reservedSystemCPUs`: takes the place of the `cpu` of both.
    pub reserved_system_cpus: Option<CpuList>,
    /// `evictionHard`, with `evictionMinimumReclaim`.
    pub eviction_hard: Vec<Threshold>,
    /// `evictionSoft`, with `evictionSoftGracePeriod` and `evictionMinimumReclaim`.
    pub eviction_soft: Vec<Threshold>,
    /// `evictionPressureTransitionPeriod`: how long a pressure is held after it was last seen.
    pub eviction_pressure_transition_period: Duration,
    /// `registerWithTaints`; `None` where it is not configured, so that an owner takes its own default.
    pub register_with_taints: Option<Vec<Taint>>,
    /// `providerID`.
    pub provider_id: Option<String>,
    /// `cloudProvider: external`: the addresses are the cloud's.
    pub cloud_provider_external: bool,
    /// `nodeIP`: at most one of each family, the primary one first; all zeros only prefer a family.
    pub node_ips: Vec<IpAddr>,
    /// `nodeIPInterface`: the interface whose address is taken.
    pub node_ip_interface: Option<String>,
    /// `nodeIPCIDR`: the networks, at most one of each family, in which the address is taken.
    pub node_ip_cidrs: Vec<Cidr>,
    /// `nodeLabels`: labels that a Node is registered with and keeps.
    pub node_labels: BTreeMap<String, String>,
    /// `containerRuntimeEndpoint`: `None` looks at the default place, an empty one is no runtime.
    pub container_runtime_endpoint: Option<String>,
    /// `port`, published as the kubelet's; `None` publishes nothing.
    pub port: Option<u16>,
    /// `shutdownGracePeriod`; zero is off.
    pub shutdown_grace_period: Duration,
    /// `localStorageCapacityIsolation`: whether the Node has `ephemeral-storage`.
    pub local_storage_capacity_isolation: bool,
    /// `capacityOverride`.
    pub capacity_override: CapacityOverride,
    /// `setters.disable`: names out of [`SETTERS`].
    pub setters_disabled: BTreeSet<String>,
    /// `setters.order`: these run first, in this order; the others follow in kubelet's.
    pub setters_order: Vec<String>,
    /// `volumeLimits`: `attachable-volumes-…` to the number of volumes.
    pub volume_limits: BTreeMap<String, u32>,
    /// `conditions`.
    pub conditions: OwnConditions,
    /// `nodeMetric`.
    pub node_metric: NodeMetricSettings,
    /// `listenAddress`.
    pub listen_address: ListenAddress,
    /// `timeouts`.
    pub timeouts: Timeouts,
    /// `kubeletConfig`: a KubeletConfiguration to inherit from.
    pub kubelet_config: Option<PathBuf>,
    /// `kubeletVersion`, as `nodeInfo` has it.
    pub kubelet_version: String,
}

/// What nodelet is for its Node (DESIGN §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Role {
    /// Owner of a Node that nodelet itself kept before, companion of every other.
    #[default]
    Auto,
    /// Keeps the whole Node and its Lease; creates them.
    Owner,
    /// Writes nothing that another manager owns.
    Companion,
}

/// Capacity that replaces what was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CapacityOverride {
    /// CPUs.
    pub cpu: Option<Quantity>,
    /// Memory, in bytes.
    pub memory: Option<Quantity>,
}

/// The conditions that are nodelet's own, each on or off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnConditions {
    /// `readonlyFilesystem`.
    pub readonly_filesystem: bool,
    /// `memoryContention`.
    pub memory_contention: Contention,
    /// `diskContention`.
    pub disk_contention: Contention,
    /// `clockUnsynchronized`.
    pub clock_unsynchronized: bool,
}

/// When a resource counts as contended, by pressure stall information (`Documentation/accounting/psi.rst`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contention {
    /// `enabled`.
    pub enabled: bool,
    /// `psiFull10s`: percent of time, over ten seconds, in which all tasks stall.
    pub psi_full_10s_percent: u32,
    /// `for`: how long it must last until the condition is raised.
    pub raise_after: Duration,
    /// `clearFor`: how long it must be over until the condition is taken back.
    pub clear_after: Duration,
}

/// What is done about the NodeMetric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeMetricSettings {
    /// `scope`: whose specs are reconciled.
    pub scope: NodeMetricScope,
    /// `report`: whether the status of the own one is reported.
    pub report: NodeMetricReport,
    /// `sampleInterval`.
    pub sample_interval: Duration,
}

/// Of which nodes the NodeMetric is reconciled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeMetricScope {
    /// The own one, where no other manager does it.
    #[default]
    Auto,
    /// None.
    Off,
    /// The own one.
    Node,
    /// Those of all nodes, under leader election.
    Cluster,
}

/// Whether usage is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeMetricReport {
    /// Where no other manager does it.
    #[default]
    Auto,
    /// Yes (`true`).
    On,
    /// No (`false`).
    Off,
}

/// Where health and metrics are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// Nowhere; written as an empty text.
    Off,
    /// `address:port`.
    Tcp(SocketAddr),
    /// `unix:/path`.
    Unix(PathBuf),
}

/// How long a call may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// `api`: a request to the API server.
    pub api: Duration,
    /// `connect`: the connection to it.
    pub connect: Duration,
    /// `cri`: a call of the container runtime.
    pub cri: Duration,
    /// `statfs`: a question to the kernel about the host.
    pub statfs: Duration,
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

impl Settings {
    /// All eviction thresholds, hard ones first.
    pub fn thresholds(&self) -> Vec<Threshold> {
        self.eviction_hard
            .iter()
            .chain(&self.eviction_soft)
            .cloned()
            .collect()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            node_name: None,
            role: Role::Auto,
            re_register: false,
            register_node: true,
            takeover: false,
            kubeconfig: None,
            root: PathBuf::from("/"),
            root_directory: "/var/lib/kubelet".to_owned(),
            node_status_update_frequency: seconds(10),
            node_status_report_frequency: seconds(300),
            node_lease_duration_seconds: 40,
            node_status_max_images: Some(50),
            max_pods: 110,
            pods_per_core: 0,
            system_reserved: BTreeMap::new(),
            kube_reserved: BTreeMap::new(),
            reserved_system_cpus: None,
            eviction_hard: thresholds::default_hard(),
            eviction_soft: Vec::new(),
            eviction_pressure_transition_period: seconds(300),
            register_with_taints: None,
            provider_id: None,
            cloud_provider_external: false,
            node_ips: Vec::new(),
            node_ip_interface: None,
            node_ip_cidrs: Vec::new(),
            node_labels: BTreeMap::new(),
            container_runtime_endpoint: None,
            port: None,
            shutdown_grace_period: Duration::ZERO,
            local_storage_capacity_isolation: true,
            capacity_override: CapacityOverride::default(),
            setters_disabled: ["volumeLimits", "volumesInUse"].map(str::to_owned).into(),
            setters_order: Vec::new(),
            volume_limits: BTreeMap::new(),
            conditions: OwnConditions::default(),
            node_metric: NodeMetricSettings::default(),
            listen_address: ListenAddress::default(),
            timeouts: Timeouts::default(),
            kubelet_config: None,
            kubelet_version: KUBELET_VERSION.to_owned(),
        }
    }
}

impl Default for OwnConditions {
    fn default() -> Self {
        Self {
            readonly_filesystem: false,
            memory_contention: Contention::default(),
            disk_contention: Contention::default(),
            clock_unsynchronized: true,
        }
    }
}

impl Default for Contention {
    fn default() -> Self {
        Self {
            enabled: true,
            psi_full_10s_percent: 10,
            raise_after: seconds(60),
            clear_after: seconds(300),
        }
    }
}

impl Default for NodeMetricSettings {
    fn default() -> Self {
        Self {
            scope: NodeMetricScope::Auto,
            report: NodeMetricReport::Auto,
            sample_interval: seconds(1),
        }
    }
}

impl Default for ListenAddress {
    fn default() -> Self {
        Self::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 9478)))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => Ok(()),
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            api: seconds(10),
            connect: seconds(5),
            cri: seconds(10),
            statfs: seconds(2),
        }
    }
}

/// A value that is one of a few words.
pub(super) trait Word: Copy + Sized + 'static {
    /// Every value and its word.
    const WORDS: &'static [(&'static str, Self)];

    /// The value of a word.
    fn from_word(word: &str) -> Option<Self> {
        Self::WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, value)| *value)
    }
}

impl Word for Role {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("owner", Self::Owner),
        ("companion", Self::Companion),
    ];
}

impl Word for NodeMetricScope {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("off", Self::Off),
        ("node", Self::Node),
        ("cluster", Self::Cluster),
    ];
}

impl Word for NodeMetricReport {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("true", Self::On),
        ("false", Self::Off),
    ];
}

/// The word of a value.
pub(super) fn word_of<T: Word + PartialEq>(value: T) -> &'static str {
    T::WORDS
        .iter()
        .find(|(_, known)| *known == value)
        .map_or("", |(word, _)| word)
}
