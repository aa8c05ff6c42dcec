//! Path resolution as in a chroot: whatever the links say, the walk stays below its root.
//!
//! A recording, and a host's root that is mounted elsewhere (`--root /host`), both hold links that mean the host's
//! own `/`. Followed by the operating system they would lead out, into the container or the machine of whoever
//! replays. This module only walks; it opens nothing. The rules are those of `path_resolution(7)` and `openat2(2)`
//! with `RESOLVE_IN_ROOT`.

use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Links that one walk follows, as in the kernel (`MAXSYMLINKS`).
const MAX_LINKS: u32 = 40;

/// What stands at one step of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A directory, or something that may be one.
    Directory,
    /// A symbolic link with this target.
    Link(PathBuf),
    /// Anything else, which a path can only end with.
    Leaf,
}

/// What to do with a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastLink {
    /// Go on to its target, as open(2) does.
    Follow,
    /// Stop at the link itself, as readlink(2) does.
    Keep,
}

/// Where `path` leads below `root`, with every link followed as in a chroot at `root`.
///
/// The answer is below `root`, has no link in it (but the last component with [`LastLink::Keep`]) and existed while
/// it was looked at. Fails with the errno that the kernel gives for the same path.
pub fn resolve(root: &Path, path: &str, last: LastLink) -> Result<PathBuf, Errno> {
    let inside = walk(path, last, |inside| step_at(&root.join(inside)))?;
    Ok(root.join(inside))
}

/// Walks `path` from the root, asking `look` what stands at each step. The paths that `look` is given, and the
/// answer, are relative to the root, with every link before their last component resolved.
pub(crate) fn walk(
    path: &str,
    last: LastLink,
    mut look: impl FnMut(&Path) -> Result<Step, Errno>,
) -> Result<PathBuf, Errno> {
    let mut ahead = components(OsStr::new(path));
    let mut here = PathBuf::new();
    let mut links = 0;
    while let Some(component) = ahead.pop() {
        if component == ".." {
            // The parent of the root is the root.
            here.pop();
            continue;
        }
        here.push(&component);
        match look(&here)? {
            Step::Directory => {}
            Step::Leaf if ahead.is_empty() => {}
            Step::Leaf => return Err(Errno::NOTDIR),
            Step::Link(_) if ahead.is_empty() && last == LastLink::Keep => {}
            Step::Link(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Errno::LOOP);
                }
                here.pop();
                if target.is_absolute() {
                    here = PathBuf::new();
                }
                ahead.extend(components(target.as_os_str()));
            }
        }
    }
    Ok(here)
}

/// The components of `path`, last one first; empty ones and `.` are left out.
fn components(path: &OsStr) -> Vec<OsString> {
    path.as_bytes()
        .split(|byte| *byte == b'/')
        .rev()
        .filter(|name| !name.is_empty() && *name != b".")
        .map(|name| OsStr::from_bytes(name).to_owned())
        .collect()
}

/// What stands at `path`, looked at without following it.
pub(crate) fn step_at(path: &Path) -> Result<Step, Errno> {
    let kind = std::fs::symlink_metadata(path)
        .map_err(|error| errno(&error))?
        .file_type();
    Ok(if kind.is_symlink() {
        Step::Link(std::fs::read_link(path).map_err(|error| errno(&error))?)
    } else if kind.is_dir() {
        Step::Directory
    } else {
        Step::Leaf
    })
}

/// The errno of an error of the standard library. It makes up errors of its own only for names that the kernel cannot
/// be asked about at all (a NUL byte inside).
pub(crate) fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A root beside a secret that no path may reach.
    fn jail() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("secret"), "outside").unwrap();
        let root = dir.path().join("root");
        for directory in ["etc", "usr/lib", "proc/1"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::write(root.join("usr/lib/os-release"), "inside").unwrap();
        dir
    }

    #[test]
    fn follows_links_inside_of_the_root() {
        let dir = jail();
        let root = dir.path().join("root");
        symlink("../usr/lib/os-release", root.join("etc/relative")).unwrap();
        symlink("/usr/lib/os-release", root.join("etc/absolute")).unwrap();
        symlink("/etc/absolute", root.join("etc/twice")).unwrap();
        symlink("/usr/lib", root.join("lib")).unwrap();
        symlink("/", root.join("proc/1/root")).unwrap();
        symlink("../../../../../../usr", root.join("etc/far-up")).unwrap();
        let expected = root.join("usr/lib/os-release");
        for path in [
            "/usr/lib/os-release",
            "usr//lib/./os-release",
            "/usr/lib/../lib/os-release",
            "/../../usr/lib/os-release",
            "/etc/relative",
            "/etc/absolute",
            "/etc/twice",
            "/lib/os-release",
            "/lib/../lib/os-release",
            "/proc/1/root/usr/lib/os-release",
            "/etc/far-up/lib/os-release",
        ] {
            assert_eq!(
                resolve(&root, path, LastLink::Follow),
                Ok(expected.clone()),
                "{path}"
            );
        }
        assert_eq!(resolve(&root, "/", LastLink::Follow), Ok(root.clone()));
        assert_eq!(resolve(&root, "/lib", LastLink::Keep), Ok(root.join("lib")));
        assert_eq!(
            resolve(&root, "/lib/os-release", LastLink::Keep),
            Ok(expected)
        );
    }

    #[test]
    fn no_link_leads_out() {
        let dir = jail();
        let root = dir.path().join("root");
        let outside = dir.path().join("secret");
        symlink(&outside, root.join("absolute")).unwrap();
        symlink("../secret", root.join("up")).unwrap();
        symlink("../../secret", root.join("etc/up")).unwrap();
        symlink("..", root.join("etc/parent")).unwrap();
        symlink(dir.path(), root.join("etc/dir")).unwrap();
        for path in [
            "/absolute",
            "/up",
            "/etc/up",
            "/etc/parent/../secret",
            "/etc/dir/secret",
            "/../secret",
            "../secret",
        ] {
            assert_eq!(
                resolve(&root, path, LastLink::Follow),
                Err(Errno::NOENT),
                "{path}"
            );
        }
    }

    #[test]
    fn fails_as_the_kernel_does() {
        let dir = jail();
        let root = dir.path().join("root");
        symlink("loop", root.join("loop")).unwrap();
        symlink("b", root.join("a")).unwrap();
        symlink("a", root.join("b")).unwrap();
        for (path, expected) in [
            ("/loop", Errno::LOOP),
            ("/a", Errno::LOOP),
            ("/missing", Errno::NOENT),
            ("/missing/below", Errno::NOENT),
            ("/usr/lib/os-release/below", Errno::NOTDIR),
            ("/usr/lib/os-release/..", Errno::NOTDIR),
            ("/nul\0byte", Errno::INVAL),
        ] {
            assert_eq!(
                resolve(&root, path, LastLink::Follow),
                Err(expected),
                "{path}"
            );
        }
        assert_eq!(
            resolve(&root, "/loop", LastLink::Keep),
            Ok(root.join("loop"))
        );
        let long = "x".repeat(300);
        assert_eq!(
            resolve(&root, &long, LastLink::Follow),
            Err(Errno::NAMETOOLONG)
        );
    }

    #[test]
    fn forty_links_are_followed_and_no_more() {
        let chain = |inside: &Path| {
            let number: u32 = inside.to_str().unwrap().parse().unwrap();
            Ok(if number == 0 {
                Step::Leaf
            } else {
                Step::Link(PathBuf::from((number - 1).to_string()))
            })
        };
        assert_eq!(walk("/40", LastLink::Follow, chain), Ok(PathBuf::from("0")));
        assert_eq!(walk("/41", LastLink::Follow, chain), Err(Errno::LOOP));
    }
}
