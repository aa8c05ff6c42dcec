//! Recordings: what the readers saw of a host, as a directory that can be replayed on any machine.
//!
//! A [`Recorder`] passes every question on to the source that it watches and keeps the answers; [`Recorder::finish`]
//! writes them down. It asks nothing by itself but which links lie on the way to a file, so that a recording holds
//! no more than was read. The layout is the one of the README: `root/` for the files, `recording.json` ([`mod@format`])
//! for the rest.

pub mod device;
pub mod format;
pub mod question;
mod write;

pub use self::format::Cluster;

use self::device::Device;
use self::format::{Cri, HostPath, KernelClock, Mountpoint, Recording, RuntimeConfig, VERSION};
use self::question::{Fault, Question, normal_path};
use super::resolve::{LastLink, Step, walk};
use super::{CriMethod, Interface, Reason, Source, SourceError, Statfs, Uname};
use crate::cri;
use k8s_openapi::jiff::Timestamp;
use rustix::io::Errno;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A recording that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The disk says no.
    #[error("{}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What.
        source: io::Error,
    },
    /// The directory to write to holds something already.
    #[error("{}: not empty; a recording needs a new or an empty directory", .0.display())]
    NotEmpty(PathBuf),
    /// What was a directory has become a link, or the other way round.
    #[error("{}: the host changed below this path while it was recorded", .0.display())]
    Changed(PathBuf),
    /// All that is wrong with a recording, a line each, with its file and line or key.
    #[error("{}", .0.join("\n"))]
    Invalid(Vec<String>),
}

impl RecordingError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

/// A source that keeps every answer of another one.
#[derive(Debug)]
pub struct Recorder {
    inner: Arc<dyn Source>,
    seen: Mutex<Seen>,
}

/// The answers until now. Where a question was asked twice, the last answer counts. Paths are relative to the host's
/// root and have no links in them.
#[derive(Debug, Default)]
struct Seen {
    /// What was read; nothing for a file that was too long.
    files: BTreeMap<PathBuf, Option<Vec<u8>>>,
    listings: BTreeMap<PathBuf, Vec<String>>,
    links: BTreeMap<PathBuf, PathBuf>,
    failures: BTreeMap<Question, Reason>,
    /// What was asked and has not come back.
    pending: BTreeSet<Question>,
    /// The answers that are not files, as they will be written.
    rest: Recording,
}

impl Recorder {
    /// Watches over `inner`.
    pub fn new(inner: Arc<dyn Source>) -> Self {
        Self {
            inner,
            seen: Mutex::default(),
        }
    }

    /// Writes what was seen to `dir`, which must be new or empty. A question that has not come back yet is written
    /// down as one that hangs.
    pub fn finish(
        &self,
        dir: &Path,
        taken_at: Timestamp,
        settings: Value,
        cluster: Option<Cluster>,
    ) -> Result<(), RecordingError> {
        let head = Recording {
            version: Some(VERSION),
            taken_at: Some(taken_at),
            clock_ticks_per_second: NonZeroU64::new(self.inner.clock_ticks_per_second()),
            page_size: NonZeroU64::new(self.inner.page_size()),
            settings: settings.is_object().then_some(settings),
            cluster,
            ..self.seen().rest.clone()
        };
        let cri = self
            .inner
            .has_runtime()
            .then(|| head.cri.clone().unwrap_or_default());
        write::write(dir, &self.seen(), Recording { cri, ..head })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks `question` by `call` and keeps the answer.
    fn tee<T>(
        &self,
        question: Question,
        call: impl FnOnce() -> Result<T, SourceError>,
        keep: impl FnOnce(&mut Recording, &T),
    ) -> Result<T, SourceError> {
        self.seen().pending.insert(question.clone());
        let answer = call();
        let mut seen = self.seen();
        seen.pending.remove(&question);
        match &answer {
            Ok(answer) => {
                seen.failures.remove(&question);
                keep(&mut seen.rest, answer);
            }
            Err(error) => {
                seen.failures.insert(question, error.reason.clone());
            }
        }
        answer
    }

    /// As [`Self::tee`], for what belongs into the tree of files.
    fn tee_file<T>(
        &self,
        question: Question,
        path: &str,
        last: LastLink,
        call: impl FnOnce() -> Result<T, SourceError>,
        keep: impl FnOnce(&mut Seen, PathBuf, &T),
    ) -> Result<T, SourceError> {
        let call = || {
            let answer = call();
            let place = self.place(path, last);
            if let Ok(answer) = &answer {
                keep(&mut self.seen(), place, answer);
            }
            answer
        };
        self.tee(question, call, |_, _| {})
    }

    /// Where `path` leads, noting the links on the way.
    fn place(&self, path: &str, last: LastLink) -> PathBuf {
        let mut links = BTreeMap::new();
        let place = walk(path, last, |here| {
            let target = if here == Path::new("proc/self") {
                // Process files are kept under one number.
                Some(PathBuf::from("1"))
            } else {
                here.to_str()
                    .and_then(|here| self.inner.link(&format!("/{here}")).ok())
            };
            Ok(target.map_or(Step::Directory, |target| {
                links.insert(here.to_owned(), target.clone());
                Step::Link(target)
            }))
        });
        self.seen().links.append(&mut links);
        // Only links in a circle have no end; then nothing was read either.
        place.unwrap_or_default()
    }

    fn tee_cri<T>(
        &self,
        method: CriMethod,
        call: impl FnOnce() -> Result<T, SourceError>,
        keep: impl FnOnce(&mut Cri, &T),
    ) -> Result<T, SourceError> {
        self.tee(Question::Cri(method), call, |rest, answer| {
            keep(rest.cri.get_or_insert_default(), answer);
        })
    }
}

impl Source for Recorder {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceError> {
        let question = Question::Read(normal_path(path));
        let call = || {
            let answer = self.inner.read(path);
            if matches!(&answer, Err(error) if error.reason == Reason::TooLong) {
                let place = self.place(path, LastLink::Follow);
                self.seen().files.insert(place, None);
            }
            answer
        };
        self.tee_file(
            question,
            path,
            LastLink::Follow,
            call,
            |seen, place, bytes| {
                seen.files.insert(place, Some(bytes.clone()));
            },
        )
    }

    fn list(&self, path: &str) -> Result<Vec<String>, SourceError> {
        let question = Question::List(normal_path(path));
        let call = || self.inner.list(path);
        self.tee_file(
            question,
            path,
            LastLink::Follow,
            call,
            |seen, place, names| {
                seen.listings.insert(place, names.clone());
            },
        )
    }

    fn link(&self, path: &str) -> Result<PathBuf, SourceError> {
        let question = Question::Link(normal_path(path));
        let call = || self.inner.link(path);
        self.tee_file(
            question,
            path,
            LastLink::Keep,
            call,
            |seen, place, target| {
                seen.links.insert(place, target.clone());
            },
        )
    }

    fn statfs(&self, path: &str) -> Result<Statfs, SourceError> {
        let path = normal_path(path);
        let question = Question::Statfs(path.clone());
        self.tee(
            question,
            || self.inner.statfs(&path),
            |rest, numbers| {
                rest.statfs
                    .get_or_insert_default()
                    .insert(HostPath(path.clone()), numbers.clone());
            },
        )
    }

    fn interfaces(&self) -> Result<Vec<Interface>, SourceError> {
        self.tee(
            Question::Interfaces,
            || self.inner.interfaces(),
            |rest, interfaces| {
                rest.interfaces = Some(interfaces.iter().map(Device::from).collect());
            },
        )
    }

    fn uname(&self) -> Result<Uname, SourceError> {
        let call = || self.inner.uname();
        self.tee(Question::Uname, call, |rest, uname| {
            rest.uname = Some(uname.clone());
        })
    }

    fn hostname(&self) -> Result<String, SourceError> {
        let call = || self.inner.hostname();
        self.tee(Question::Hostname, call, |rest, name| {
            rest.hostname = Some(name.clone());
        })
    }

    fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, SourceError> {
        let question = Question::Lookup(name.to_owned());
        self.tee(
            question,
            || self.inner.lookup(name),
            |rest, addresses| {
                rest.lookups
                    .get_or_insert_default()
                    .insert(name.to_owned(), addresses.clone());
            },
        )
    }

    fn has_runtime(&self) -> bool {
        self.inner.has_runtime()
    }

    fn runtime_version(&self) -> Result<cri::RuntimeVersion, SourceError> {
        let call = || self.inner.runtime_version();
        self.tee_cri(CriMethod::Version, call, |cri, version| {
            cri.version = Some(version.clone());
        })
    }

    fn runtime_status(&self) -> Result<cri::RuntimeStatus, SourceError> {
        let call = || self.inner.runtime_status();
        self.tee_cri(CriMethod::Status, call, |cri, status| {
            cri.status = Some(status.clone());
        })
    }

    fn cgroup_driver(&self) -> Result<String, SourceError> {
        let call = || self.inner.cgroup_driver();
        self.tee_cri(CriMethod::RuntimeConfig, call, |cri, driver| {
            cri.runtime_config = Some(RuntimeConfig {
                cgroup_driver: driver.clone(),
            });
        })
    }

    fn images(&self) -> Result<Vec<cri::Image>, SourceError> {
        let call = || self.inner.images();
        self.tee_cri(CriMethod::ListImages, call, |cri, images| {
            cri.images = Some(images.clone());
        })
    }

    fn image_filesystems(&self) -> Result<cri::ImageFilesystems, SourceError> {
        let call = || self.inner.image_filesystems();
        self.tee_cri(CriMethod::ImageFsInfo, call, |cri, filesystems| {
            cri.image_fs = Some(Mountpoint::all(&filesystems.image));
            cri.container_fs = Some(Mountpoint::all(&filesystems.container));
        })
    }

    fn clock_unsynchronized(&self) -> Result<bool, SourceError> {
        let call = || self.inner.clock_unsynchronized();
        self.tee(Question::Clock, call, |rest, unsynchronized| {
            rest.clock = Some(KernelClock {
                unsynchronized: *unsynchronized,
            });
        })
    }

    fn shutdown(&self) -> Result<bool, SourceError> {
        // A failure of this one has no name in `errors`; it is left out, which is a failed reading.
        let shutdown = self.inner.shutdown();
        self.seen().rest.shutdown = shutdown.as_ref().ok().copied();
        shutdown
    }

    fn clock_ticks_per_second(&self) -> u64 {
        self.inner.clock_ticks_per_second()
    }

    fn page_size(&self) -> u64 {
        self.inner.page_size()
    }
}

#[cfg(test)]
mod tests;
