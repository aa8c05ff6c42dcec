//! `recording.json`, key for key. Every part may be left out, which is a failed reading; a key that is not here, or a
//! `null` where none is meant, is an error.

use super::device::Device;
use super::question::{Fault, Question, normal_path};
use crate::cri;
use crate::source::{Statfs, Uname};
use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::path::{Component, PathBuf};

/// The version of the format.
pub const VERSION: u32 = 1;

/// `recording.json`, and with fewer keys allowed `frames[].set`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Recording {
    /// [`VERSION`].
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub version: Option<u32>,
    /// When it was taken.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub taken_at: Option<Timestamp>,
    /// The kernel's host name, untrimmed.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub hostname: Option<String>,
    /// `sysconf(_SC_CLK_TCK)`.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub clock_ticks_per_second: Option<NonZeroU64>,
    /// `sysconf(_SC_PAGESIZE)`, bytes.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub page_size: Option<NonZeroU64>,
    /// uname(2).
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub uname: Option<Uname>,
    /// statvfs(3) by path.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub statfs: Option<BTreeMap<HostPath, Statfs>>,
    /// The network interfaces.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub interfaces: Option<Vec<Device>>,
    /// The resolver's answers by name.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub lookups: Option<BTreeMap<String, Vec<IpAddr>>>,
    /// The container runtime; absent where the host has none.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub cri: Option<Cri>,
    /// adjtimex(2).
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub clock: Option<KernelClock>,
    /// Whether the machine was about to shut down.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub shutdown: Option<bool>,
    /// Directories that the tree of files does not hold.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub directories: Option<Vec<InnerPath>>,
    /// Questions without an answer.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub errors: Option<BTreeMap<Question, Fault>>,
    /// The configuration, as it would be written.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub settings: Option<Value>,
    /// What the cluster held; absent without a cluster.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub cluster: Option<Cluster>,
    /// Later instants.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub frames: Option<Vec<Frame>>,
}

/// `cri`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Cri {
    /// `Version`
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub version: Option<cri::RuntimeVersion>,
    /// `Status`
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub status: Option<cri::RuntimeStatus>,
    /// `RuntimeConfig`
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub runtime_config: Option<RuntimeConfig>,
    /// `ListImages`
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub images: Option<Vec<cri::Image>>,
    /// `image_filesystems` of `ImageFsInfo`
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub image_fs: Option<Vec<Mountpoint>>,
    /// `container_filesystems` of `ImageFsInfo`
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub container_fs: Option<Vec<Mountpoint>>,
}

impl Cri {
    /// Both lists of `ImageFsInfo`, absent where neither is given.
    pub fn image_filesystems(&self) -> Option<cri::ImageFilesystems> {
        let paths = |list: &Option<Vec<Mountpoint>>| {
            list.iter()
                .flatten()
                .map(|filesystem| filesystem.mountpoint.clone())
                .collect()
        };
        let given = self.image_fs.is_some() || self.container_fs.is_some();
        given.then(|| cri::ImageFilesystems {
            image: paths(&self.image_fs),
            container: paths(&self.container_fs),
        })
    }
}

/// `cri.runtimeConfig`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuntimeConfig {
    /// `systemd` or `cgroupfs`.
    pub cgroup_driver: String,
}

/// One of `cri.imageFs` and `cri.containerFs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mountpoint {
    /// A path of the host.
    pub mountpoint: String,
}

impl Mountpoint {
    /// One for each of `paths`.
    pub fn all(paths: &[String]) -> Vec<Self> {
        paths
            .iter()
            .map(|path| Self {
                mountpoint: path.clone(),
            })
            .collect()
    }
}

/// `clock`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelClock {
    /// `STA_UNSYNC`.
    pub unsynchronized: bool,
}

/// What a cluster held. Of an object, absent means that it was not asked for, `Some(None)` (`null` in the file) that
/// the apiserver answered 404.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Cluster {
    /// The own Node.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub node: Option<Option<Value>>,
    /// The own Lease.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub lease: Option<Option<Value>>,
    /// The own NodeMetric.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub node_metric: Option<Option<Value>>,
    /// The own `NodeSLO`.
    #[serde(rename = "nodeSLO")]
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub node_slo: Option<Option<Value>>,
    /// Koordinator's `ConfigMap`.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub config_map: Option<Option<Value>>,
    /// The Pods of the Node.
    #[serde(deserialize_with = "given", skip_serializing_if = "absent")]
    pub pods: Option<Vec<Value>>,
}

/// A later instant, laid over the ones before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Frame {
    /// How long after `takenAt`, milliseconds.
    pub after_ms: u64,
    /// Files that shadow those before, relative to the recording.
    #[serde(default, deserialize_with = "given")]
    #[serde(skip_serializing_if = "absent")]
    pub root: Option<InnerPath>,
    /// Paths of the host that are gone, with everything below.
    #[serde(default)]
    pub deleted: Vec<InnerPath>,
    /// Keys that replace those before.
    #[serde(default)]
    pub set: Recording,
}

/// An absolute path of the host, in normal form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPath(pub String);

/// A path below a root; a leading slash changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "PathBuf", into = "PathBuf")]
pub struct InnerPath(pub PathBuf);

#[expect(
    clippy::ref_option,
    reason = "serde hands over a reference to the field"
)]
fn absent<T>(part: &Option<T>) -> bool {
    part.is_none()
}

/// Takes a key that is there for `Some`, also where the value may be `null` itself.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

impl Recording {
    /// Reads the text of `recording.json`. `name` is the file's name in the faults, each with its line or its key.
    pub fn parse(name: &str, text: &str) -> Result<Self, Vec<String>> {
        let recording: Self = serde_json::from_str(text).map_err(|error| {
            let place = format!(" at line {} column {}", error.line(), error.column());
            let what = error.to_string();
            vec![format!(
                "{name}:{}: {}",
                error.line(),
                what.strip_suffix(&place).unwrap_or(&what)
            )]
        })?;
        let faults = recording.faults();
        if faults.is_empty() {
            return Ok(recording);
        }
        Err(faults
            .into_iter()
            .map(|fault| format!("{name}: {fault}"))
            .collect())
    }

    /// What the shapes alone do not rule out.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        match self.version {
            Some(VERSION) => {}
            Some(other) => faults.push(format!("version: {other} is not known, only {VERSION} is")),
            None => faults.push(format!("version: missing, must be {VERSION}")),
        }
        if self
            .settings
            .as_ref()
            .is_some_and(|settings| !settings.is_object())
        {
            faults.push("settings: must be an object".to_owned());
        }
        let mut before = None;
        for (index, frame) in self.frames.iter().flatten().enumerate() {
            if before.is_some_and(|before| frame.after_ms <= before) {
                faults.push(format!(
                    "frames[{index}].afterMs: must be later than the frame before"
                ));
            }
            before = Some(frame.after_ms);
            for key in frame.set.fixed_keys() {
                faults.push(format!(
                    "frames[{index}].set.{key}: holds for the whole recording"
                ));
            }
        }
        faults
    }

    /// The keys that are given here and that a frame cannot replace.
    fn fixed_keys(&self) -> impl Iterator<Item = &'static str> {
        [
            ("version", self.version.is_some()),
            ("takenAt", self.taken_at.is_some()),
            ("settings", self.settings.is_some()),
            ("cluster", self.cluster.is_some()),
            ("frames", self.frames.is_some()),
        ]
        .into_iter()
        .filter_map(|(key, given)| given.then_some(key))
    }

    /// Replaces the keys that `set` gives.
    pub fn lay_over(&mut self, set: Self) {
        let Self {
            hostname,
            clock_ticks_per_second,
            page_size,
            uname,
            statfs,
            interfaces,
            lookups,
            cri,
            clock,
            shutdown,
            directories,
            errors,
            // Fixed, see `fixed_keys`.
            version: _,
            taken_at: _,
            settings: _,
            cluster: _,
            frames: _,
        } = set;
        replace(&mut self.hostname, hostname);
        replace(&mut self.clock_ticks_per_second, clock_ticks_per_second);
        replace(&mut self.page_size, page_size);
        replace(&mut self.uname, uname);
        replace(&mut self.statfs, statfs);
        replace(&mut self.interfaces, interfaces);
        replace(&mut self.lookups, lookups);
        replace(&mut self.cri, cri);
        replace(&mut self.clock, clock);
        replace(&mut self.shutdown, shutdown);
        replace(&mut self.directories, directories);
        replace(&mut self.errors, errors);
    }
}

fn replace<T>(old: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *old = new;
    }
}

impl TryFrom<String> for HostPath {
    type Error = String;

    fn try_from(path: String) -> Result<Self, String> {
        if !path.starts_with('/') {
            return Err(format!("`{path}`: the path must begin with `/`"));
        }
        Ok(Self(normal_path(&path)))
    }
}

impl From<HostPath> for String {
    fn from(path: HostPath) -> Self {
        path.0
    }
}

impl TryFrom<PathBuf> for InnerPath {
    type Error = String;

    fn try_from(path: PathBuf) -> Result<Self, String> {
        if path
            .components()
            .any(|component| component == Component::ParentDir)
        {
            return Err(format!(
                "`{}`: a path with `..` can lead out of its root",
                path.display()
            ));
        }
        let names = path
            .components()
            .filter(|component| matches!(component, Component::Normal(_)));
        Ok(Self(names.collect()))
    }
}

impl From<InnerPath> for PathBuf {
    fn from(path: InnerPath) -> Self {
        path.0
    }
}
