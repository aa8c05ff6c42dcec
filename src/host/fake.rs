//! A host in memory, for tests: what was not put in does not exist.

use crate::source::{Interface, Source, SourceError, Statfs, Tracked, Uname};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;

/// A host made of the answers that a test needs.
#[derive(Debug, Default)]
pub(crate) struct FakeSource {
    files: BTreeMap<String, Vec<u8>>,
    errors: BTreeMap<String, i32>,
    directories: BTreeSet<String>,
    filesystems: BTreeMap<String, Statfs>,
    hostname: Option<String>,
}

impl FakeSource {
    /// A host without anything.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Puts a file at `path`.
    pub(crate) fn file(mut self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.files.insert(path.to_owned(), bytes.as_ref().to_vec());
        self
    }

    /// Makes every question about `path` itself fail; it is still listed in its directory.
    pub(crate) fn error(mut self, path: &str, errno: Errno) -> Self {
        self.errors.insert(path.to_owned(), errno.raw_os_error());
        self
    }

    /// Puts a directory at `path`; those that hold something need not be put.
    pub(crate) fn dir(mut self, path: &str) -> Self {
        self.directories.insert(path.to_owned());
        self
    }

    /// Gives `path`, and nothing below it, the numbers of a filesystem.
    pub(crate) fn statfs(mut self, path: &str, numbers: Statfs) -> Self {
        self.filesystems.insert(path.to_owned(), numbers);
        self
    }

    /// Sets the host name.
    pub(crate) fn hostname(mut self, name: &str) -> Self {
        self.hostname = Some(name.to_owned());
        self
    }

    /// This host, watched.
    pub(crate) fn tracked(&self) -> Tracked<'_> {
        Tracked::new(self)
    }

    fn fail_if_told(&self, operation: &'static str, path: &str) -> Result<(), SourceError> {
        match self.errors.get(path) {
            Some(errno) => Err(SourceError::errno(operation, path, *errno)),
            None => Ok(()),
        }
    }
}

fn absent(operation: &'static str, subject: &str) -> SourceError {
    SourceError::errno(operation, subject, Errno::NOENT.raw_os_error())
}

impl Source for FakeSource {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceError> {
        self.fail_if_told("read", path)?;
        self.files
            .get(path)
            .cloned()
            .ok_or_else(|| absent("read", path))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, SourceError> {
        self.fail_if_told("list", path)?;
        let prefix = format!("{}/", path.trim_end_matches('/'));
        let names: BTreeSet<String> = self
            .files
            .keys()
            .chain(self.errors.keys())
            .chain(&self.directories)
            .filter_map(|entry| entry.strip_prefix(&prefix))
            .filter_map(|rest| rest.split('/').next())
            .map(str::to_owned)
            .collect();
        if names.is_empty() && !self.directories.contains(path) {
            return Err(absent("list", path));
        }
        Ok(names.into_iter().collect())
    }

    fn link(&self, path: &str) -> Result<PathBuf, SourceError> {
        Err(absent("link", path))
    }

    fn statfs(&self, path: &str) -> Result<Statfs, SourceError> {
        self.fail_if_told("statfs", path)?;
        self.filesystems
            .get(path)
            .cloned()
            .ok_or_else(|| absent("statfs", path))
    }

    fn interfaces(&self) -> Result<Vec<Interface>, SourceError> {
        Ok(Vec::new())
    }

    fn uname(&self) -> Result<Uname, SourceError> {
        Ok(Uname::default())
    }

    fn hostname(&self) -> Result<String, SourceError> {
        self.hostname.clone().ok_or_else(|| absent("hostname", ""))
    }

    fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, SourceError> {
        Err(absent("lookup", name))
    }
}
