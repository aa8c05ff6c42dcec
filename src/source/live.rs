//! The host that nodelet runs on.
//!
//! Every path is read through one root. The root `/` is the operating system's own; any other (`--root /host`) is a
//! host's root that is mounted there, below which links resolve as in a chroot ([`super::resolve`]). Nothing is kept
//! between two questions. Interfaces, host name and look-ups are those of this process's own namespaces.

mod interfaces;
mod magic;

use super::resolve::{LastLink, Step, step_at, walk};
use super::{Interface, Reason, Source, SourceError, Statfs, Uname, file};
use rustix::fs::StatVfsMountFlags;
use rustix::io::Errno;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Component, Path, PathBuf};

/// The live host.
#[derive(Debug, Clone)]
pub struct Live {
    /// Where the host's `/` is seen; absent where that is this process's own.
    mounted: Option<PathBuf>,
}

impl Live {
    /// The host whose `/` is seen at `root`.
    pub fn new(root: PathBuf) -> Self {
        let own = root
            .components()
            .all(|component| matches!(component, Component::RootDir | Component::CurDir));
        Self {
            mounted: (!own).then_some(root),
        }
    }

    /// Where this process finds the host's `path`.
    ///
    /// The host's process files are those of its process 1. For a process on the host itself they are the same ones
    /// as its own, which it may read without privileges.
    fn find(&self, path: &str, last: LastLink) -> Result<PathBuf, Errno> {
        let Some(root) = &self.mounted else {
            return Ok(match path.strip_prefix("/proc/1") {
                // The dot keeps `/proc/self` itself from being taken for the link that it is.
                Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                    format!("/proc/self/.{rest}").into()
                }
                _ => Path::new("/").join(path),
            });
        };
        let inside = walk(path, last, |inside| {
            // Below another root, `self` would be this process, in its container.
            if inside == Path::new("proc/self") {
                return Ok(Step::Link(PathBuf::from("1")));
            }
            step_at(&root.join(inside))
        })?;
        Ok(root.join(inside))
    }
}

impl Source for Live {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceError> {
        let bytes = self
            .find(path, LastLink::Follow)
            .map_err(Reason::from)
            .and_then(|found| file::read(&found));
        bytes.map_err(|reason| SourceError::new("read", path, reason))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, SourceError> {
        let names = self
            .find(path, LastLink::Follow)
            .and_then(|found| file::names(&found));
        names
            .map(|names| names.into_iter().collect())
            .map_err(|errno| SourceError::new("list", path, errno))
    }

    fn link(&self, path: &str) -> Result<PathBuf, SourceError> {
        let step = self
            .find(path, LastLink::Keep)
            .and_then(|found| step_at(&found));
        match step {
            Ok(Step::Link(target)) => Ok(target),
            Ok(_) => Err(SourceError::new("link", path, Errno::INVAL)),
            Err(errno) => Err(SourceError::new("link", path, errno)),
        }
    }

    fn statfs(&self, path: &str) -> Result<Statfs, SourceError> {
        let numbers = self
            .find(path, LastLink::Follow)
            .and_then(|found| statfs(&found));
        numbers.map_err(|errno| SourceError::new("statfs", path, errno))
    }

    fn interfaces(&self) -> Result<Vec<Interface>, SourceError> {
        interfaces::all().map_err(|reason| SourceError::new("interfaces", "", reason))
    }

    fn uname(&self) -> Result<Uname, SourceError> {
        let uname = rustix::system::uname();
        Ok(Uname {
            sysname: uname.sysname().to_string_lossy().into_owned(),
            release: uname.release().to_string_lossy().into_owned(),
            machine: uname.machine().to_string_lossy().into_owned(),
        })
    }

    fn hostname(&self) -> Result<String, SourceError> {
        Ok(rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned())
    }

    fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, SourceError> {
        let answers = (name, 0).to_socket_addrs().map_err(|error| {
            // The resolver's own failures (no such name) have no errno.
            let reason = Errno::from_io_error(&error)
                .map_or_else(|| Reason::Other(error.to_string()), Reason::from);
            SourceError::new("lookup", name, reason)
        })?;
        let mut addresses = Vec::new();
        for answer in answers {
            if !addresses.contains(&answer.ip()) {
                addresses.push(answer.ip());
            }
        }
        Ok(addresses)
    }

    fn clock_ticks_per_second(&self) -> u64 {
        rustix::param::clock_ticks_per_second()
    }

    fn page_size(&self) -> u64 {
        rustix::param::page_size() as u64
    }
}

fn statfs(path: &Path) -> Result<Statfs, Errno> {
    let kind = rustix::fs::statfs(path)?.f_type;
    let numbers = rustix::fs::statvfs(path)?;
    Ok(Statfs {
        fs_type: magic::filesystem_name(i128::from(kind)).to_owned(),
        block_size: numbers.f_bsize,
        fragment_size: numbers.f_frsize,
        blocks: numbers.f_blocks,
        blocks_free: numbers.f_bfree,
        blocks_available: numbers.f_bavail,
        files: numbers.f_files,
        files_free: numbers.f_ffree,
        read_only: numbers.f_flag.contains(StatVfsMountFlags::RDONLY),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A host's root, mounted in a container.
    fn mounted() -> (tempfile::TempDir, Live) {
        let dir = tempfile::tempdir().unwrap();
        for directory in ["etc", "usr/lib", "proc/1/net"] {
            fs::create_dir_all(dir.path().join(directory)).unwrap();
        }
        fs::write(dir.path().join("usr/lib/os-release"), "ID=host\n").unwrap();
        symlink("/usr/lib/os-release", dir.path().join("etc/os-release")).unwrap();
        fs::write(dir.path().join("proc/1/mountinfo"), "host's").unwrap();
        fs::write(dir.path().join("proc/1/net/route"), "host's").unwrap();
        symlink("self/net", dir.path().join("proc/net")).unwrap();
        symlink("4242", dir.path().join("proc/self")).unwrap();
        let live = Live::new(dir.path().to_owned());
        (dir, live)
    }

    #[test]
    fn a_mounted_root_is_read_as_the_host_sees_it() {
        let (dir, live) = mounted();
        assert_eq!(live.read("/etc/os-release").unwrap(), b"ID=host\n");
        assert_eq!(live.read("/proc/1/mountinfo").unwrap(), b"host's");
        assert_eq!(
            live.read("/proc/net/route").unwrap(),
            b"host's",
            "not those of process 4242"
        );
        assert_eq!(live.list("/").unwrap(), ["etc", "proc", "usr"]);
        assert_eq!(
            live.link("/etc/os-release").unwrap(),
            Path::new("/usr/lib/os-release")
        );
        let refused = live.read("/etc/machine-id").unwrap_err();
        assert_eq!(refused.to_string(), "read /etc/machine-id: ENOENT");
        assert!(refused.is_absent());
        assert_eq!(
            live.link("/usr").unwrap_err().to_string(),
            "link /usr: EINVAL"
        );
        drop(dir);
    }

    /// Field case C38: the mount point `/` of the host is measured at the mounted root.
    #[test]
    fn c38_filesystems_are_measured_below_the_root() {
        let (dir, live) = mounted();
        let expected = statfs(dir.path()).unwrap();
        let numbers = live.statfs("/").unwrap();
        assert_eq!(
            (numbers.blocks, numbers.fs_type),
            (expected.blocks, expected.fs_type)
        );
        assert_eq!(
            live.statfs("/proc/1/cwd").unwrap_err().to_string(),
            "statfs /proc/1/cwd: ENOENT"
        );
        symlink("/proc", dir.path().join("etc/outside")).unwrap();
        assert_ne!(
            live.statfs("/etc/outside").unwrap().fs_type,
            "proc",
            "this machine's /proc was measured"
        );
    }

    /// Field case C41: the second candidate is looked for below the root as well.
    #[test]
    fn c41_every_path_is_below_the_root() {
        let (dir, live) = mounted();
        fs::create_dir_all(dir.path().join("var/lib/dbus")).unwrap();
        fs::write(
            dir.path().join("var/lib/dbus/machine-id"),
            "0123456789abcdef0123456789abcdef\n",
        )
        .unwrap();
        assert!(live.read("/etc/machine-id").unwrap_err().is_absent());
        assert_eq!(
            live.read("/var/lib/dbus/machine-id").unwrap(),
            b"0123456789abcdef0123456789abcdef\n"
        );
    }

    #[test]
    fn the_own_root_gives_the_own_process_files() {
        let own = format!("{} (", std::process::id());
        for root in ["/", "//", "/."] {
            let live = Live::new(PathBuf::from(root));
            assert!(String::from_utf8_lossy(&live.read("/proc/1/stat").unwrap()).starts_with(&own));
            assert!(
                live.list("/proc/1")
                    .unwrap()
                    .contains(&"mountinfo".to_owned())
            );
            assert_eq!(
                live.link("/proc/1").unwrap_err().reason,
                Errno::INVAL.into()
            );
            assert!(
                live.link("/proc/1/ns/net")
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .starts_with("net:[")
            );
        }
        // A process whose number only begins with 1 is another one.
        let live = Live::new(PathBuf::from("/"));
        assert_eq!(
            live.find("/proc/12/stat", LastLink::Follow),
            Ok(PathBuf::from("/proc/12/stat"))
        );
    }

    #[test]
    fn the_own_host_answers() {
        let live = Live::new(PathBuf::from("/"));
        assert_eq!(live.statfs("/proc").unwrap().fs_type, "proc");
        assert!(live.statfs("/").unwrap().block_size > 0);
        let uname = live.uname().unwrap();
        assert_eq!(uname.sysname, "Linux");
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(uname.release, release.trim_end());
        let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert_eq!(live.hostname().unwrap(), hostname.trim_end());
        assert_eq!(
            live.lookup("192.0.2.7").unwrap(),
            ["192.0.2.7".parse::<IpAddr>().unwrap()]
        );
        assert!(live.lookup("no such name").is_err());
        assert!(live.page_size().is_power_of_two());
        assert!(live.clock_ticks_per_second() > 0);
        assert!(!live.has_runtime());
        assert_eq!(
            live.images().unwrap_err().to_string(),
            "cri ListImages: ENOENT"
        );
    }
}
