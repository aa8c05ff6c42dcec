//! Runs the readers, each with a deadline, each at its own expense.

use super::{Reading, RuntimeReadings, Snapshot};
use crate::config::settings::Settings;
use crate::cri::ImageFilesystems;
use crate::host::{
    ReadError, cgroup, cpu, filesystem, hugepages, identity, memory, network, os, pids, pressure,
};
use crate::probe::Prober;
use crate::source::{Source, Tracked};
use std::sync::Arc;
use std::time::Duration;

/// Calls that may hang at the same time; beyond it a further hang is answered at once.
const THREADS: usize = 8;

/// Takes snapshots of one source, and remembers the last one.
#[derive(Debug)]
pub struct Gatherer {
    source: Arc<dyn Source>,
    prober: Prober,
    last: Snapshot,
}

/// Where one reading stands: what it had before, and how long it may take.
struct Reader<'a> {
    source: &'a Arc<dyn Source>,
    prober: &'a Prober,
    deadline: Duration,
}

impl Gatherer {
    /// A gatherer that has not read anything yet.
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self {
            source,
            prober: Prober::new(THREADS),
            last: Snapshot::default(),
        }
    }

    /// The host name alone: what the node's name is made of where it is not configured.
    pub async fn hostname(&self, settings: &Settings) -> Reading<String> {
        self.reader(settings)
            .take("hostname", &self.last.hostname, |source| {
                identity::hostname(source)
            })
            .await
    }

    /// Reads all that a Node's status is made of.
    pub async fn gather(&mut self, settings: &Settings, node_name: &str) -> Snapshot {
        let last = std::mem::take(&mut self.last);
        let reader = self.reader(settings);
        let root_directory = settings.root_directory.clone();
        let name = node_name.to_owned();
        let snapshot = Snapshot {
            hostname: reader
                .take("hostname", &last.hostname, identity::hostname)
                .await,
            cpus: reader.take("cpus", &last.cpus, cpu::read).await,
            memory: reader.take("memory", &last.memory, memory::read).await,
            huge_pages: reader
                .take("hugePages", &last.huge_pages, hugepages::read)
                .await,
            root_filesystem: reader
                .take("rootFilesystem", &last.root_filesystem, move |s| {
                    filesystem::read(s, &root_directory)
                })
                .await,
            machine_id: reader
                .take("machineID", &last.machine_id, identity::machine_id)
                .await,
            system_uuid: reader
                .take("systemUUID", &last.system_uuid, |s| {
                    identity::system_uuid(s)
                })
                .await,
            boot_id: reader
                .take("bootID", &last.boot_id, identity::boot_id)
                .await,
            os_image: reader.take("osImage", &last.os_image, os::read).await,
            uname: reader
                .take("uname", &last.uname, |s| s.uname().map_err(ReadError::from))
                .await,
            interfaces: reader
                .take("interfaces", &last.interfaces, |s| {
                    s.interfaces().map_err(ReadError::from)
                })
                .await,
            routes: reader.take("routes", &last.routes, network::read).await,
            lookup: reader
                .take("lookup", &last.lookup, move |s| {
                    s.lookup(&name).map_err(ReadError::from)
                })
                .await,
            pids: reader.take("pids", &last.pids, pids::read).await,
            root_memory: reader
                .take("rootMemory", &last.root_memory, cgroup::read)
                .await,
            pressure: reader
                .take("pressure", &last.pressure, pressure::read)
                .await,
            ..Snapshot::default()
        };
        let snapshot = self.with_runtime(settings, &last, snapshot).await;
        self.last = snapshot.clone();
        snapshot
    }

    /// The same snapshot with what the container runtime says, where there is one.
    async fn with_runtime(
        &self,
        settings: &Settings,
        last: &Snapshot,
        snapshot: Snapshot,
    ) -> Snapshot {
        if !self.source.has_runtime() {
            return snapshot;
        }
        let none = RuntimeReadings::default();
        let last_runtime = last.runtime.as_ref().unwrap_or(&none);
        let cri = Reader {
            deadline: settings.timeouts.cri,
            ..self.reader(settings)
        };
        let runtime = RuntimeReadings {
            version: cri
                .take("cri:Version", &last_runtime.version, |s| {
                    s.runtime_version().map_err(ReadError::from)
                })
                .await,
            status: cri
                .take("cri:Status", &last_runtime.status, |s| {
                    s.runtime_status().map_err(ReadError::from)
                })
                .await,
            images: cri
                .take("cri:ListImages", &last_runtime.images, |s| {
                    s.images().map_err(ReadError::from)
                })
                .await,
            filesystems: cri
                .take("cri:ImageFsInfo", &last_runtime.filesystems, |s| {
                    s.image_filesystems().map_err(ReadError::from)
                })
                .await,
        };
        let image_path = runtime.filesystems.get().and_then(first_image_path);
        let image_filesystem = match image_path {
            None => None,
            Some(path) => {
                let unread = Reading::default();
                let before = last.image_filesystem.as_ref().unwrap_or(&unread);
                let reading = self
                    .reader(settings)
                    .take("imageFilesystem", before, move |s| {
                        filesystem::read(s, &path)
                    })
                    .await;
                Some(reading)
            }
        };
        Snapshot {
            runtime: Some(runtime),
            image_filesystem,
            ..snapshot
        }
    }

    fn reader(&self, settings: &Settings) -> Reader<'_> {
        Reader {
            source: &self.source,
            prober: &self.prober,
            deadline: settings.timeouts.statfs,
        }
    }
}

fn first_image_path(filesystems: &ImageFilesystems) -> Option<String> {
    filesystems.image.first().cloned()
}

impl Reader<'_> {
    /// One reading. A failure keeps the value of `last`, marked stale.
    async fn take<T: Clone + Send + 'static>(
        &self,
        name: &str,
        last: &Reading<T>,
        read: impl FnOnce(&Tracked<'_>) -> Result<T, ReadError> + Send + 'static,
    ) -> Reading<T> {
        let source = Arc::clone(self.source);
        let outcome = self
            .prober
            .run(name, self.deadline, move || {
                let tracked = Tracked::new(&*source);
                let value = read(&tracked);
                (value, tracked.into_log())
            })
            .await;
        let (error, log) = match outcome {
            Ok((Ok(value), log)) => {
                return Reading {
                    value: Some(value),
                    log,
                    ..Reading::default()
                };
            }
            Ok((Err(error), log)) => (error.to_string(), log),
            Err(error) => (error.to_string(), last.log.clone()),
        };
        Reading {
            value: last.value.clone(),
            error: Some(error),
            log,
            stale: last.value.is_some(),
        }
    }
}
