//! The files of a recording at one instant: directories laid over each other, the last one on top. A link is only
//! ever looked at, never followed, so that nothing outside of the recording is reached.

use crate::source::file;
use crate::source::resolve::{Step, errno};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

/// One directory of files, and the paths that it takes away from those below it.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    /// Absent where the frame has no files.
    pub(super) root: Option<PathBuf>,
    pub(super) deleted: Vec<PathBuf>,
}

/// All layers. Paths are relative to the host's root and have no links before their last component.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    /// The lowest one first.
    pub(super) layers: Vec<Layer>,
    /// Directories without files; those above them are there too.
    pub(super) directories: Vec<PathBuf>,
}

/// What one layer has at a path.
enum Entry {
    Here(PathBuf, FileType),
    /// Nothing.
    Missing,
    /// Nothing, and a file or a link where a directory would have to be, which hides the layers below.
    Hidden,
}

/// What `root` has at `inside`.
fn entry(root: &Path, inside: &Path) -> Result<Entry, Errno> {
    let kind = |path: &Path| match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata.file_type())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(errno(&error)),
    };
    let mut path = root.to_owned();
    let Some(mut here) = kind(&path)? else {
        return Ok(Entry::Missing);
    };
    for name in inside {
        if !here.is_dir() {
            return Ok(Entry::Hidden);
        }
        path.push(name);
        match kind(&path)? {
            Some(next) => here = next,
            None => return Ok(Entry::Missing),
        }
    }
    Ok(Entry::Here(path, here))
}

/// The directory at `inside` of the recording `dir`, where there is one; a link is not one.
pub(super) fn directory(dir: &Path, inside: &Path) -> Option<PathBuf> {
    match entry(dir, inside) {
        Ok(Entry::Here(path, kind)) if kind.is_dir() => Some(path),
        _ => None,
    }
}

impl Layer {
    fn entry(&self, inside: &Path) -> Result<Entry, Errno> {
        self.root
            .as_ref()
            .map_or(Ok(Entry::Missing), |root| entry(root, inside))
    }

    fn deletes(&self, inside: &Path) -> bool {
        self.deleted.iter().any(|gone| inside.starts_with(gone))
    }
}

impl Tree {
    /// Lays `layer` over the others.
    pub(super) fn push(&mut self, layer: Layer) {
        self.directories
            .retain(|directory| !layer.deletes(directory));
        self.layers.push(layer);
    }

    /// Where the uppermost layer that has something at `inside` keeps it.
    fn uppermost(&self, inside: &Path) -> Result<Option<(PathBuf, FileType)>, Errno> {
        for layer in self.layers.iter().rev() {
            match layer.entry(inside)? {
                Entry::Here(path, kind) => return Ok(Some((path, kind))),
                Entry::Hidden => return Err(Errno::NOTDIR),
                Entry::Missing if layer.deletes(inside) => break,
                Entry::Missing => {}
            }
        }
        Ok(None)
    }

    fn is_listed(&self, inside: &Path) -> bool {
        inside == Path::new("")
            || self
                .directories
                .iter()
                .any(|directory| directory.starts_with(inside))
    }

    /// What stands at `inside`.
    pub(super) fn step(&self, inside: &Path) -> Result<Step, Errno> {
        match self.uppermost(inside)? {
            Some((path, kind)) if kind.is_symlink() => fs::read_link(path)
                .map(Step::Link)
                .map_err(|error| errno(&error)),
            Some((_, kind)) if kind.is_dir() => Ok(Step::Directory),
            Some(_) => Ok(Step::Leaf),
            None if self.is_listed(inside) => Ok(Step::Directory),
            None => Err(Errno::NOENT),
        }
    }

    /// Where the file at `inside` is kept.
    pub(super) fn file(&self, inside: &Path) -> Result<PathBuf, Errno> {
        match self.uppermost(inside)? {
            Some((_, kind)) if kind.is_symlink() => Err(Errno::LOOP),
            Some((path, _)) => Ok(path),
            None if self.is_listed(inside) => Err(Errno::ISDIR),
            None => Err(Errno::NOENT),
        }
    }

    /// The names in the directory at `inside`.
    pub(super) fn names(&self, inside: &Path) -> Result<BTreeSet<String>, Errno> {
        let mut names = BTreeSet::new();
        let mut found = self.is_listed(inside);
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let above = &self.layers[index + 1..];
            match layer.entry(inside)? {
                Entry::Here(path, kind) if kind.is_dir() => {
                    found = true;
                    let gone =
                        |name: &String| above.iter().any(|layer| layer.deletes(&inside.join(name)));
                    names.extend(file::names(&path)?.into_iter().filter(|name| !gone(name)));
                }
                Entry::Here(..) | Entry::Hidden if found => break,
                Entry::Here(..) | Entry::Hidden => return Err(Errno::NOTDIR),
                Entry::Missing => {}
            }
            if layer.deletes(inside) {
                break;
            }
        }
        let below = self
            .directories
            .iter()
            .filter_map(|directory| directory.strip_prefix(inside).ok());
        let first = below.filter_map(|rest| rest.iter().next()?.to_str());
        names.extend(first.map(str::to_owned));
        if found { Ok(names) } else { Err(Errno::NOENT) }
    }
}
