//! What was read of the host, as one [`Snapshot`]; [`Gatherer`] runs the readers.
//!
//! Every reading is taken again each round; one that fails or hangs costs only its own value, of which the last
//! good one stays, marked stale.

mod gatherer;

pub use gatherer::Gatherer;

use crate::cri::{Image, ImageFilesystems, RuntimeStatus, RuntimeVersion};
use crate::host::cgroup::RootMemory;
use crate::host::cpu::CpuList;
use crate::host::filesystem::Filesystem;
use crate::host::hugepages::HugePages;
use crate::host::memory::Memory;
use crate::host::network::Routes;
use crate::host::pids::Pids;
use crate::host::pressure::Pressure;
use crate::source::{Interface, Log, Uname};
use std::net::IpAddr;

/// One value of the host, and how it was come by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading<T> {
    /// The value: this round's, or the last good one where this round's failed.
    pub value: Option<T>,
    /// Why this round has no value of its own.
    pub error: Option<String>,
    /// What the value was read from, and what did not answer on the way.
    pub log: Log,
    /// Whether `value` is left from an earlier round.
    pub stale: bool,
}

impl<T> Default for Reading<T> {
    fn default() -> Self {
        Self {
            value: None,
            error: None,
            log: Log::default(),
            stale: false,
        }
    }
}

impl<T> Reading<T> {
    /// A reading that is just a value, as tables of tests use it.
    pub fn of(value: T) -> Self {
        Self {
            value: Some(value),
            ..Self::default()
        }
    }

    /// A reading that failed and has no earlier value.
    pub fn failed(error: impl Into<String>) -> Self {
        Self {
            error: Some(error.into()),
            ..Self::default()
        }
    }

    /// The value, if there ever was one.
    pub fn get(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// Why this round has no value of its own, if it has none.
    pub fn fault(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The value, or why there is none.
    pub fn required(&self) -> Result<&T, &str> {
        self.value
            .as_ref()
            .ok_or(self.error.as_deref().unwrap_or("not read"))
    }
}

/// What the container runtime said in this round.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuntimeReadings {
    /// `Version`.
    pub version: Reading<RuntimeVersion>,
    /// `Status`.
    pub status: Reading<RuntimeStatus>,
    /// `ListImages`.
    pub images: Reading<Vec<Image>>,
    /// `ImageFsInfo`.
    pub filesystems: Reading<ImageFilesystems>,
}

/// The host at one instant, as plain data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The host name, untrimmed.
    pub hostname: Reading<String>,
    /// The online CPUs.
    pub cpus: Reading<CpuList>,
    /// `/proc/meminfo`.
    pub memory: Reading<Memory>,
    /// Huge pages by size.
    pub huge_pages: Reading<Vec<HugePages>>,
    /// The filesystem of `rootDirectory`: kubelet's nodefs.
    pub root_filesystem: Reading<Filesystem>,
    /// The filesystem of the runtime's images, where there is a runtime.
    pub image_filesystem: Option<Reading<Filesystem>>,
    /// `/etc/machine-id` or its second place.
    pub machine_id: Reading<String>,
    /// The DMI product UUID or what stands in for it; empty where the machine has none.
    pub system_uuid: Reading<String>,
    /// The kernel's boot id.
    pub boot_id: Reading<String>,
    /// `PRETTY_NAME` of os-release; `Linux` where the file has none.
    pub os_image: Reading<String>,
    /// uname(2).
    pub uname: Reading<Uname>,
    /// The network interfaces.
    pub interfaces: Reading<Vec<Interface>>,
    /// The default routes.
    pub routes: Reading<Routes>,
    /// What the resolver says of the node's name.
    pub lookup: Reading<Vec<IpAddr>>,
    /// PIDs in use and their limit.
    pub pids: Reading<Pids>,
    /// Memory in use by the root cgroup.
    pub root_memory: Reading<RootMemory>,
    /// Pressure stall information.
    pub pressure: Reading<Pressure>,
    /// The container runtime, where the host has one.
    pub runtime: Option<RuntimeReadings>,
}

impl Snapshot {
    /// Whether the host has a container runtime that says how it is.
    pub fn runtime_answers(&self) -> bool {
        self.runtime
            .as_ref()
            .is_some_and(|runtime| runtime.status.get().is_some())
    }

    /// The readings that failed in this round, by name, with the reason. The resolver is left out: most names that
    /// it does not know are not meant to be known to it.
    pub fn faults(&self) -> Vec<(&'static str, &str)> {
        let runtime = self.runtime.as_ref();
        [
            ("hostname", self.hostname.fault()),
            ("cpus", self.cpus.fault()),
            ("memory", self.memory.fault()),
            ("hugePages", self.huge_pages.fault()),
            ("rootFilesystem", self.root_filesystem.fault()),
            (
                "imageFilesystem",
                self.image_filesystem.as_ref().and_then(Reading::fault),
            ),
            ("machineID", self.machine_id.fault()),
            ("systemUUID", self.system_uuid.fault()),
            ("bootID", self.boot_id.fault()),
            ("osImage", self.os_image.fault()),
            ("uname", self.uname.fault()),
            ("interfaces", self.interfaces.fault()),
            ("routes", self.routes.fault()),
            ("pids", self.pids.fault()),
            ("rootMemory", self.root_memory.fault()),
            ("pressure", self.pressure.fault()),
            (
                "runtimeVersion",
                runtime.and_then(|runtime| runtime.version.fault()),
            ),
            (
                "runtimeStatus",
                runtime.and_then(|runtime| runtime.status.fault()),
            ),
            ("images", runtime.and_then(|runtime| runtime.images.fault())),
            (
                "imageFilesystems",
                runtime.and_then(|runtime| runtime.filesystems.fault()),
            ),
        ]
        .into_iter()
        .filter_map(|(name, fault)| Some((name, fault?)))
        .collect()
    }
}
