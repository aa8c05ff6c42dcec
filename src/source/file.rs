//! Reads files and directories of this machine, whole and without ever waiting for a writer. What a path means, and
//! whether it may be read at all, is decided above ([`super::resolve`]).

use super::resolve::errno;
use super::{MAX_FILE_BYTES, Reason};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The bytes of the regular file at `path` (files of procfs and sysfs are regular), up to its end: the kernel may
/// give them in pieces. Anything else is refused with `EISDIR` or `EINVAL` before it is opened, because opening a
/// device can do things.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Reason> {
    let kind = std::fs::metadata(path)
        .map_err(|error| errno(&error))?
        .file_type();
    if kind.is_dir() {
        return Err(Errno::ISDIR.into());
    }
    if !kind.is_file() {
        return Err(Errno::INVAL.into());
    }
    // What was a file a moment ago may be a FIFO now: do not wait for its writer.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    // One byte more than is allowed tells a file of just that length from a longer one.
    file.take(MAX_FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| errno(&error))?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(Reason::TooLong);
    }
    Ok(bytes)
}

/// The names in the directory at `path`; those that are not UTF-8 are left out.
pub(super) fn names(path: &Path) -> Result<BTreeSet<String>, Errno> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(path).map_err(|error| errno(&error))? {
        let entry = entry.map_err(|error| errno(&error))?;
        names.extend(entry.file_name().into_string().ok());
    }
    Ok(names)
}

impl From<Errno> for Reason {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno.raw_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::UnixListener;

    #[test]
    fn reads_to_the_end_and_no_further_than_allowed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for (length, long) in [
            (0, false),
            (100_000, false),
            (MAX_FILE_BYTES, false),
            (MAX_FILE_BYTES + 1, true),
        ] {
            fs::write(&path, vec![b'x'; length]).unwrap();
            let answer = read(&path);
            if long {
                assert_eq!(answer, Err(Reason::TooLong));
            } else {
                assert_eq!(answer.unwrap().len(), length);
            }
        }
    }

    #[test]
    fn only_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
        let socket = dir.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, expected) in [
            (fifo.as_path(), Errno::INVAL),
            (&socket, Errno::INVAL),
            (Path::new("/dev/zero"), Errno::INVAL),
            (dir.path(), Errno::ISDIR),
            (&dir.path().join("missing"), Errno::NOENT),
        ] {
            assert_eq!(read(path), Err(expected.into()), "{}", path.display());
        }
        assert!(!read(Path::new("/proc/self/stat")).unwrap().is_empty());
    }

    #[test]
    fn names_are_sorted_and_utf8() {
        let dir = tempfile::tempdir().unwrap();
        for name in [b"b".as_slice(), b"a", b"\xff"] {
            fs::write(dir.path().join(OsStr::from_bytes(name)), "").unwrap();
        }
        assert_eq!(
            names(dir.path()).unwrap().into_iter().collect::<Vec<_>>(),
            ["a", "b"]
        );
        assert_eq!(names(&dir.path().join("a")), Err(Errno::NOTDIR));
    }
}
