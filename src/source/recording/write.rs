//! Writes down what a [`super::Recorder`] has seen.

use super::format::{InnerPath, Recording};
use super::{Errno, Fault, Path, PathBuf, Question, Reason, RecordingError, Seen};
use crate::source::{MAX_FILE_BYTES, errno_by_name, errno_name};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::symlink;

/// Writes the tree of files and `recording.json`, which is `rest` with what the tree cannot hold.
pub(super) fn write(dir: &Path, seen: &Seen, rest: Recording) -> Result<(), RecordingError> {
    fs::create_dir_all(dir).map_err(RecordingError::io(dir))?;
    if fs::read_dir(dir)
        .map_err(RecordingError::io(dir))?
        .next()
        .is_some()
    {
        return Err(RecordingError::NotEmpty(dir.to_owned()));
    }
    let mut tree = Tree::of(seen)?;
    write_files(&dir.join("root"), seen)?;

    let directories = unread(&mut tree, seen);
    let errors = errors(&tree, rest.cri.is_some(), seen);
    let recording = Recording {
        directories: (!directories.is_empty()).then_some(directories),
        errors: (!errors.is_empty()).then_some(errors),
        ..rest
    };
    let path = dir.join("recording.json");
    let mut text = serde_json::to_string_pretty(&recording)
        .map_err(|error| RecordingError::io(&path)(error.into()))?;
    text.push('\n');
    fs::write(&path, text).map_err(RecordingError::io(&path))
}

/// The paths that the written tree will hold, with the directories above them.
struct Tree(BTreeSet<PathBuf>);

impl Tree {
    /// Fails where a path leads through what was also seen as a link: written like that, it would lead out.
    fn of(seen: &Seen) -> Result<Self, RecordingError> {
        let mut tree = Self(BTreeSet::new());
        for path in seen.files.keys().chain(seen.links.keys()) {
            let through_link = path
                .ancestors()
                .skip(1)
                .any(|above| seen.links.contains_key(above));
            if through_link || (seen.files.contains_key(path) && seen.links.contains_key(path)) {
                return Err(RecordingError::Changed(Path::new("/").join(path)));
            }
            tree.insert(path);
        }
        Ok(tree)
    }

    fn insert(&mut self, path: &Path) {
        self.0.extend(path.ancestors().map(Path::to_owned));
    }
}

fn write_files(root: &Path, seen: &Seen) -> Result<(), RecordingError> {
    fs::create_dir_all(root).map_err(RecordingError::io(root))?;
    let place = |inside: &Path| {
        let path = root.join(inside);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(RecordingError::io(parent))?;
        }
        Ok(path)
    };
    for (inside, bytes) in &seen.files {
        let path = place(inside)?;
        let written = match bytes {
            Some(bytes) => fs::write(&path, bytes),
            // A hole takes no room.
            None => File::create(&path).and_then(|file| file.set_len(MAX_FILE_BYTES as u64 + 1)),
        };
        written.map_err(RecordingError::io(&path))?;
    }
    for (inside, target) in &seen.links {
        let path = place(inside)?;
        symlink(target, &path).map_err(RecordingError::io(&path))?;
    }
    Ok(())
}

/// What was listed and is not in the tree. Not all of it is a directory on the host, but none of it was read, and as
/// a directory it gives the listing back without making up an empty file.
fn unread(tree: &mut Tree, seen: &Seen) -> Vec<InnerPath> {
    let mut unread = BTreeSet::new();
    for (directory, names) in &seen.listings {
        let entries = names.iter().map(|name| directory.join(name));
        unread.extend(entries.filter(|entry| !tree.0.contains(entry)));
        if names.is_empty() && !tree.0.contains(directory) {
            unread.insert(directory.clone());
        }
    }
    // One that has another below it needs no mention; in their order, what is below a path comes right after it.
    let mut unread: Vec<PathBuf> = unread.into_iter().collect();
    unread.dedup_by(|below, path| {
        let mentioned = below.starts_with(&*path);
        if mentioned {
            std::mem::swap(below, path);
        }
        mentioned
    });
    for path in &unread {
        tree.insert(path);
    }
    unread.into_iter().map(InnerPath).collect()
}

/// The questions that had no answer, but for those that have none in the replay either, because nothing is there.
fn errors(tree: &Tree, has_runtime: bool, seen: &Seen) -> BTreeMap<Question, Fault> {
    let failed = seen.failures.iter().filter_map(|(question, reason)| {
        let of_file = matches!(
            question,
            Question::Read(_) | Question::List(_) | Question::Link(_)
        );
        let there = match question {
            Question::Read(path) | Question::List(path) | Question::Link(path) => {
                tree.0.contains(Path::new(path.trim_start_matches('/')))
            }
            Question::Cri(_) => has_runtime,
            _ => true,
        };
        let errno = match reason {
            // The tree has a file that is too long as well.
            Reason::TooLong => return None,
            Reason::Errno(errno) if *errno == Errno::NOENT.raw_os_error() && !there => return None,
            Reason::Errno(errno) if errno_by_name(&errno_name(*errno)).is_some() => *errno,
            // Left out, it fails all the same.
            Reason::Other(_) if !of_file => return None,
            // Only an errno that has a name can be written.
            Reason::Errno(_) | Reason::Other(_) => Errno::IO.raw_os_error(),
        };
        Some((question.clone(), Fault::Errno(errno)))
    });
    let pending = seen
        .pending
        .iter()
        .map(|question| (question.clone(), Fault::Hang));
    failed.chain(pending).collect()
}
