//! A recording in place of a host ([`super::recording`]). Nothing of the machine that replays is asked: what the
//! recording does not hold is a failed reading, and what it says to hang never comes back.

mod tree;

use self::tree::{Layer, Tree};
use super::recording::RecordingError;
use super::recording::format::{Cluster, Cri, Frame, HostPath, Recording};
use super::recording::question::{Fault, Question, normal_path};
use super::resolve::{LastLink, Step, walk};
use super::{CriMethod, Interface, Reason, Source, SourceError, Statfs, Uname, file};
use crate::cri;
use k8s_openapi::jiff::Timestamp;
use rustix::io::Errno;
use serde_json::Value;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a recording says beside the readings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordingHead {
    /// When it was taken; the clock of a replay starts there.
    pub taken_at: Option<Timestamp>,
    /// The configuration, as it would be written: an object.
    pub settings: Option<Value>,
    /// What the cluster held; absent without a cluster.
    pub cluster: Option<Cluster>,
    /// How many later instants there are.
    pub frames: usize,
}

/// A replayed host.
#[derive(Debug)]
pub struct Replay {
    /// The instants, each with everything of those before it that it does not replace. Never empty.
    instants: Vec<Instant>,
    present: AtomicUsize,
}

#[derive(Debug, Clone, Default)]
struct Instant {
    after_ms: u64,
    facts: Recording,
    tree: Tree,
}

impl Replay {
    /// Opens the recording in `dir` at its first instant. All of it is checked now but the recorded files.
    pub fn open(dir: &Path) -> Result<(Self, RecordingHead), RecordingError> {
        let path = dir.join("recording.json");
        let name = path.display().to_string();
        let bytes = fs::read(&path).map_err(RecordingError::io(&path))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| RecordingError::Invalid(vec![format!("{name}: not UTF-8")]))?;
        let mut facts = Recording::parse(&name, &text).map_err(RecordingError::Invalid)?;

        let frames = facts.frames.take().unwrap_or_default();
        let head = RecordingHead {
            taken_at: facts.taken_at.take(),
            settings: facts.settings.take(),
            cluster: facts.cluster.take(),
            frames: frames.len(),
        };
        let mut faults = Vec::new();
        let root = Path::new("root");
        // A recording of a host whose files could not be read has none.
        if fs::symlink_metadata(dir.join(root)).is_ok() && tree::directory(dir, root).is_none() {
            faults.push(format!("{}: not a directory", dir.join(root).display()));
        }
        let mut instant = Instant {
            after_ms: 0,
            facts,
            tree: Tree::default(),
        };
        instant.tree.push(Layer {
            root: tree::directory(dir, root),
            deleted: Vec::new(),
        });
        instant.list_directories();
        let mut instants = vec![instant.clone()];
        for (index, frame) in frames.into_iter().enumerate() {
            let root = frame.root.as_ref().map(|root| {
                tree::directory(dir, &root.0).ok_or_else(|| {
                    format!(
                        "{name}: frames[{index}].root: no directory {} in the recording",
                        root.0.display()
                    )
                })
            });
            match root.transpose() {
                Ok(root) => instant.lay_over(root, frame),
                Err(fault) => faults.push(fault),
            }
            instants.push(instant.clone());
        }
        if faults.is_empty() {
            Ok((
                Self {
                    instants,
                    present: AtomicUsize::new(0),
                },
                head,
            ))
        } else {
            Err(RecordingError::Invalid(faults))
        }
    }

    /// Goes on to the next frame; false where this is the last one.
    pub fn advance(&self) -> bool {
        let next = |present| (present + 1 < self.instants.len()).then_some(present + 1);
        self.present
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, next)
            .is_ok()
    }

    /// How long after `taken_at` the present instant is, milliseconds.
    pub fn after_ms(&self) -> u64 {
        self.present().after_ms
    }

    fn present(&self) -> &Instant {
        &self.instants[self.present.load(Ordering::Acquire)]
    }

    /// Where `path` leads, unless the recording says that asking for it fails.
    fn find(
        &self,
        operation: &'static str,
        path: &str,
        last: LastLink,
        questions: fn(String) -> Vec<Question>,
    ) -> Result<(&Instant, PathBuf), SourceError> {
        let instant = self.present();
        let failed = |errno| SourceError::new(operation, path, errno);
        instant
            .fail_if_told(&questions(normal_path(path)))
            .map_err(failed)?;
        let inside = instant.resolve(path, last).map_err(failed)?;
        instant
            .fail_if_told(&questions(host_path(&inside)))
            .map_err(failed)?;
        Ok((instant, inside))
    }

    /// A part of the recording, unless it says that asking for it fails.
    fn part<T>(
        &self,
        operation: &'static str,
        subject: &str,
        question: Option<&Question>,
        part: impl FnOnce(&Recording) -> Option<T>,
    ) -> Result<T, SourceError> {
        let instant = self.present();
        instant
            .fail_if_told(question)
            .map_err(|errno| SourceError::new(operation, subject, errno))?;
        part(&instant.facts)
            .ok_or_else(|| SourceError::other(operation, subject, "not in the recording"))
    }

    fn cri_part<T>(
        &self,
        method: CriMethod,
        part: impl FnOnce(&Cri) -> Option<T>,
    ) -> Result<T, SourceError> {
        if !self.has_runtime() {
            return Err(method.absent());
        }
        self.part(
            "cri",
            method.name(),
            Some(&Question::Cri(method)),
            |facts| part(facts.cri.as_ref()?),
        )
    }
}

impl Instant {
    fn lay_over(&mut self, root: Option<PathBuf>, frame: Frame) {
        let Frame {
            after_ms,
            root: _,
            deleted,
            set,
        } = frame;
        self.after_ms = after_ms;
        self.tree.push(Layer {
            root,
            deleted: deleted.into_iter().map(|path| path.0).collect(),
        });
        let relists = set.directories.is_some();
        self.facts.lay_over(set);
        if relists {
            self.list_directories();
        }
    }

    fn list_directories(&mut self) {
        self.tree.directories = self
            .facts
            .directories
            .iter()
            .flatten()
            .map(|path| path.0.clone())
            .collect();
    }

    /// Where `path` leads, also where nothing is there.
    fn resolve(&self, path: &str, last: LastLink) -> Result<PathBuf, Errno> {
        walk(path, last, |inside| match self.tree.step(inside) {
            Err(Errno::NOENT) => Ok(Step::Directory),
            step => step,
        })
    }

    /// Fails, or hangs, as the recording says of the first of `questions` that it mentions.
    fn fail_if_told<'a>(
        &self,
        questions: impl IntoIterator<Item = &'a Question>,
    ) -> Result<(), Errno> {
        let Some(errors) = &self.facts.errors else {
            return Ok(());
        };
        match questions
            .into_iter()
            .find_map(|question| errors.get(question))
        {
            Some(Fault::Errno(errno)) => Err(Errno::from_raw_os_error(*errno)),
            Some(Fault::Hang) => loop {
                std::thread::park();
            },
            None => Ok(()),
        }
    }

    /// What is listed for `path`, numbers or a failure.
    fn listed_statfs(&self, path: &str) -> Result<Option<Statfs>, Errno> {
        self.fail_if_told(&[Question::Statfs(path.to_owned())])?;
        let listed = self
            .facts
            .statfs
            .as_ref()
            .and_then(|statfs| statfs.get(&HostPath(path.to_owned())));
        Ok(listed.cloned())
    }

    fn statfs(&self, path: &str) -> Result<Statfs, Errno> {
        if let Some(numbers) = self.listed_statfs(&normal_path(path))? {
            return Ok(numbers);
        }
        for above in self.resolve(path, LastLink::Follow)?.ancestors() {
            if let Some(numbers) = self.listed_statfs(&host_path(above))? {
                return Ok(numbers);
            }
        }
        Err(Errno::NOENT)
    }
}

/// The host's path of `inside`.
fn host_path(inside: &Path) -> String {
    format!("/{}", inside.display())
}

impl Source for Replay {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceError> {
        let questions = |path: String| {
            vec![
                Question::Path(path.clone()),
                Question::Open(path.clone()),
                Question::Read(path),
            ]
        };
        let (instant, inside) = self.find("read", path, LastLink::Follow, questions)?;
        let bytes = instant
            .tree
            .file(&inside)
            .map_err(Reason::from)
            .and_then(|file| file::read(&file));
        bytes.map_err(|reason| SourceError::new("read", path, reason))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, SourceError> {
        let questions = |path: String| {
            vec![
                Question::Path(path.clone()),
                Question::Open(path.clone()),
                Question::List(path),
            ]
        };
        let (instant, inside) = self.find("list", path, LastLink::Follow, questions)?;
        let names = instant
            .tree
            .names(&inside)
            .map_err(|errno| SourceError::new("list", path, errno))?;
        Ok(names.into_iter().collect())
    }

    fn link(&self, path: &str) -> Result<PathBuf, SourceError> {
        let (instant, inside) = self.find("link", path, LastLink::Keep, |path| {
            vec![Question::Link(path)]
        })?;
        match instant.tree.step(&inside) {
            Ok(Step::Link(target)) => Ok(target),
            Ok(_) => Err(SourceError::new("link", path, Errno::INVAL)),
            Err(errno) => Err(SourceError::new("link", path, errno)),
        }
    }

    fn statfs(&self, path: &str) -> Result<Statfs, SourceError> {
        self.present()
            .statfs(path)
            .map_err(|errno| SourceError::new("statfs", path, errno))
    }

    fn interfaces(&self) -> Result<Vec<Interface>, SourceError> {
        self.part("interfaces", "", Some(&Question::Interfaces), |facts| {
            Some(
                facts
                    .interfaces
                    .as_ref()?
                    .iter()
                    .map(Interface::from)
                    .collect(),
            )
        })
    }

    fn uname(&self) -> Result<Uname, SourceError> {
        self.part("uname", "", Some(&Question::Uname), |facts| {
            facts.uname.clone()
        })
    }

    fn hostname(&self) -> Result<String, SourceError> {
        self.part("hostname", "", Some(&Question::Hostname), |facts| {
            facts.hostname.clone()
        })
    }

    fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, SourceError> {
        let question = Question::Lookup(name.to_owned());
        self.part("lookup", name, Some(&question), |facts| {
            facts.lookups.as_ref()?.get(name).cloned()
        })
    }

    fn has_runtime(&self) -> bool {
        self.present().facts.cri.is_some()
    }

    fn runtime_version(&self) -> Result<cri::RuntimeVersion, SourceError> {
        self.cri_part(CriMethod::Version, |cri| cri.version.clone())
    }

    fn runtime_status(&self) -> Result<cri::RuntimeStatus, SourceError> {
        self.cri_part(CriMethod::Status, |cri| cri.status.clone())
    }

    fn cgroup_driver(&self) -> Result<String, SourceError> {
        self.cri_part(CriMethod::RuntimeConfig, |cri| {
            Some(cri.runtime_config.as_ref()?.cgroup_driver.clone())
        })
    }

    fn images(&self) -> Result<Vec<cri::Image>, SourceError> {
        self.cri_part(CriMethod::ListImages, |cri| cri.images.clone())
    }

    fn image_filesystems(&self) -> Result<cri::ImageFilesystems, SourceError> {
        self.cri_part(CriMethod::ImageFsInfo, Cri::image_filesystems)
    }

    fn clock_unsynchronized(&self) -> Result<bool, SourceError> {
        self.part("clock", "", Some(&Question::Clock), |facts| {
            Some(facts.clock?.unsynchronized)
        })
    }

    fn shutdown(&self) -> Result<bool, SourceError> {
        self.part("shutdown", "", None, |facts| facts.shutdown)
    }

    fn clock_ticks_per_second(&self) -> u64 {
        self.present()
            .facts
            .clock_ticks_per_second
            .map_or(super::USUAL_CLOCK_TICKS_PER_SECOND, u64::from)
    }

    fn page_size(&self) -> u64 {
        self.present()
            .facts
            .page_size
            .map_or(super::USUAL_PAGE_SIZE, u64::from)
    }
}

#[cfg(test)]
mod tests;
