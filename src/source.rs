//! The one seam between nodelet and the host.
//!
//! A [`Source`] answers primitive questions (read this file, statfs that path); everything that gives the answers a
//! meaning lies above it and is the same code for the live host ([`live`]), for a host that is being recorded
//! ([`recording`]) and for a recording that is replayed ([`replay`]). Paths are the host's own, whatever `--root`
//! says; process files are asked for under `/proc/1/`.
//!
//! Calls block. They are made on the threads of [`crate::probe`], which gives each a deadline.

mod file;
pub mod live;
pub mod recording;
pub mod replay;
pub mod resolve;

use crate::cri;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fmt::Debug;
use std::net::IpAddr;
use std::path::PathBuf;

/// Answers about a host.
pub trait Source: Debug + Send + Sync {
    /// The bytes of the file at `path`, at most [`MAX_FILE_BYTES`].
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceError>;
    /// The names in the directory at `path`, sorted; names that are not UTF-8 are left out.
    fn list(&self, path: &str) -> Result<Vec<String>, SourceError>;
    /// The target of the symbolic link at `path`, unresolved.
    fn link(&self, path: &str) -> Result<PathBuf, SourceError>;
    /// The numbers of the filesystem that holds `path` (statfs(2), statvfs(3)).
    fn statfs(&self, path: &str) -> Result<Statfs, SourceError>;
    /// The network interfaces with their addresses, in the kernel's order.
    fn interfaces(&self) -> Result<Vec<Interface>, SourceError>;
    /// What uname(2) says.
    fn uname(&self) -> Result<Uname, SourceError>;
    /// The host name as the kernel has it, untrimmed.
    fn hostname(&self) -> Result<String, SourceError>;
    /// The addresses that the host's resolver gives for `name`, in its order.
    fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, SourceError>;

    /// Whether a container runtime belongs to this host; without one the calls below fail with `ENOENT`.
    fn has_runtime(&self) -> bool {
        false
    }
    /// The runtime's `Version`.
    fn runtime_version(&self) -> Result<cri::RuntimeVersion, SourceError> {
        Err(CriMethod::Version.absent())
    }
    /// The runtime's `Status`.
    fn runtime_status(&self) -> Result<cri::RuntimeStatus, SourceError> {
        Err(CriMethod::Status.absent())
    }
    /// The cgroup driver of the runtime's `RuntimeConfig`: `systemd` or `cgroupfs`.
    fn cgroup_driver(&self) -> Result<String, SourceError> {
        Err(CriMethod::RuntimeConfig.absent())
    }
    /// The runtime's `ListImages`.
    fn images(&self) -> Result<Vec<cri::Image>, SourceError> {
        Err(CriMethod::ListImages.absent())
    }
    /// The runtime's `ImageFsInfo`.
    fn image_filesystems(&self) -> Result<cri::ImageFilesystems, SourceError> {
        Err(CriMethod::ImageFsInfo.absent())
    }

    /// Whether the kernel holds its clock to be unsynchronized (`STA_UNSYNC` of adjtimex(2)).
    fn clock_unsynchronized(&self) -> Result<bool, SourceError> {
        Err(SourceError::errno(
            "clock",
            "",
            rustix::io::Errno::NOENT.raw_os_error(),
        ))
    }
    /// Whether the machine is about to shut down (logind's `PreparingForShutdown`).
    fn shutdown(&self) -> Result<bool, SourceError> {
        Err(SourceError::errno(
            "shutdown",
            "",
            rustix::io::Errno::NOENT.raw_os_error(),
        ))
    }
    /// `sysconf(_SC_CLK_TCK)`: the unit of the times in `/proc/stat`, per second.
    fn clock_ticks_per_second(&self) -> u64 {
        USUAL_CLOCK_TICKS_PER_SECOND
    }
    /// `sysconf(_SC_PAGESIZE)`, bytes.
    fn page_size(&self) -> u64 {
        USUAL_PAGE_SIZE
    }
}

/// A call to the container runtime, by its name in the CRI (`api.proto`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CriMethod {
    /// `Version`
    Version,
    /// `Status`
    Status,
    /// `RuntimeConfig`
    RuntimeConfig,
    /// `ListImages`
    ListImages,
    /// `ImageFsInfo`
    ImageFsInfo,
}

impl CriMethod {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Version,
        Self::Status,
        Self::RuntimeConfig,
        Self::ListImages,
        Self::ImageFsInfo,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Version => "Version",
            Self::Status => "Status",
            Self::RuntimeConfig => "RuntimeConfig",
            Self::ListImages => "ListImages",
            Self::ImageFsInfo => "ImageFsInfo",
        }
    }

    /// The answer of a host without a runtime.
    fn absent(self) -> SourceError {
        SourceError::errno("cri", self.name(), rustix::io::Errno::NOENT.raw_os_error())
    }
}

/// The clock ticks of every Linux (`USER_HZ`), for a source that does not say.
const USUAL_CLOCK_TICKS_PER_SECOND: u64 = 100;
/// The page size of most machines, bytes, for a source that does not say.
const USUAL_PAGE_SIZE: u64 = 4096;

/// No file that nodelet reads is longer; a longer one is refused rather than read into memory.
pub const MAX_FILE_BYTES: usize = 4 << 20;

/// A question that the host did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation}{}{subject}: {reason}", if subject.is_empty() { "" } else { " " })]
pub struct SourceError {
    /// What was asked: `read`, `list`, `statfs`, …
    pub operation: &'static str,
    /// Of what it was asked: a path or a name; empty for a question that has none.
    pub subject: String,
    /// Why there is no answer.
    pub reason: Reason,
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The call failed with this errno.
    #[error("{}", errno_name(*.0))]
    Errno(i32),
    /// The file is longer than [`MAX_FILE_BYTES`].
    #[error("longer than {MAX_FILE_BYTES} bytes")]
    TooLong,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl SourceError {
    /// What was asked, of what, and why there is no answer.
    pub fn new(
        operation: &'static str,
        subject: impl Into<String>,
        reason: impl Into<Reason>,
    ) -> Self {
        Self {
            operation,
            subject: subject.into(),
            reason: reason.into(),
        }
    }

    /// An error with an errno.
    pub fn errno(operation: &'static str, subject: impl Into<String>, errno: i32) -> Self {
        Self {
            operation,
            subject: subject.into(),
            reason: Reason::Errno(errno),
        }
    }

    /// An error that is only text.
    pub fn other(
        operation: &'static str,
        subject: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            operation,
            subject: subject.into(),
            reason: Reason::Other(text.into()),
        }
    }

    /// Whether what was asked for does not exist: the kernel lacks the feature, the file is optional.
    pub fn is_absent(&self) -> bool {
        matches!(self.reason, Reason::Errno(n)
            if n == rustix::io::Errno::NOENT.raw_os_error() || n == rustix::io::Errno::NOTDIR.raw_os_error())
    }
}

/// The errnos that a host reading meets, by name; the same table reads the `errors` of a recording.
const ERRNO_NAMES: [(&str, rustix::io::Errno); 28] = [
    ("EPERM", rustix::io::Errno::PERM),
    ("ENOENT", rustix::io::Errno::NOENT),
    ("EINTR", rustix::io::Errno::INTR),
    ("EIO", rustix::io::Errno::IO),
    ("ENXIO", rustix::io::Errno::NXIO),
    ("EAGAIN", rustix::io::Errno::AGAIN),
    ("ENOMEM", rustix::io::Errno::NOMEM),
    ("EACCES", rustix::io::Errno::ACCESS),
    ("EBUSY", rustix::io::Errno::BUSY),
    ("ENODEV", rustix::io::Errno::NODEV),
    ("ENOTDIR", rustix::io::Errno::NOTDIR),
    ("EISDIR", rustix::io::Errno::ISDIR),
    ("EINVAL", rustix::io::Errno::INVAL),
    ("EMFILE", rustix::io::Errno::MFILE),
    ("ELOOP", rustix::io::Errno::LOOP),
    ("ENAMETOOLONG", rustix::io::Errno::NAMETOOLONG),
    ("EOPNOTSUPP", rustix::io::Errno::OPNOTSUPP),
    ("ESTALE", rustix::io::Errno::STALE),
    ("ETIMEDOUT", rustix::io::Errno::TIMEDOUT),
    ("ENOTCONN", rustix::io::Errno::NOTCONN),
    ("EBADMSG", rustix::io::Errno::BADMSG),
    ("ECONNREFUSED", rustix::io::Errno::CONNREFUSED),
    ("EHOSTDOWN", rustix::io::Errno::HOSTDOWN),
    ("EHOSTUNREACH", rustix::io::Errno::HOSTUNREACH),
    ("ENFILE", rustix::io::Errno::NFILE),
    ("ENOSYS", rustix::io::Errno::NOSYS),
    ("EOVERFLOW", rustix::io::Errno::OVERFLOW),
    ("EUCLEAN", rustix::io::Errno::UCLEAN),
];

/// The name of `errno` (`EIO`), or its number where nodelet has no name for it.
pub fn errno_name(errno: i32) -> String {
    ERRNO_NAMES
        .iter()
        .find(|(_, known)| known.raw_os_error() == errno)
        .map_or_else(|| format!("errno {errno}"), |(name, _)| (*name).to_owned())
}

/// The errno called `name`.
pub fn errno_by_name(name: &str) -> Option<i32> {
    ERRNO_NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, errno)| errno.raw_os_error())
}

/// Numbers of a filesystem, as statvfs(3) gives them; blocks count in units of `fragment_size`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Statfs {
    /// The type by name (`ext4`), empty where the magic number is not known.
    #[serde(rename = "type", default)]
    pub fs_type: String,
    /// `f_bsize`, bytes.
    pub block_size: u64,
    /// `f_frsize`, bytes.
    pub fragment_size: u64,
    /// `f_blocks`.
    pub blocks: u64,
    /// `f_bfree`.
    pub blocks_free: u64,
    /// `f_bavail`.
    pub blocks_available: u64,
    /// `f_files`: inodes in all.
    pub files: u64,
    /// `f_ffree`.
    pub files_free: u64,
    /// Whether it is mounted read-only.
    #[serde(default)]
    pub read_only: bool,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The kernel's index.
    pub index: u32,
    /// `IFF_UP`.
    pub up: bool,
    /// `IFF_LOOPBACK`.
    pub loopback: bool,
    /// `IFF_POINTOPOINT`.
    pub point_to_point: bool,
    /// Its addresses, in the kernel's order.
    pub addresses: Vec<InterfaceAddress>,
}

/// An address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own in the kernel"
)]
pub struct InterfaceAddress {
    /// The address.
    pub address: IpAddr,
    /// Length of the network prefix, bits.
    pub prefix: u8,
    /// `IFA_F_SECONDARY` (IPv4).
    pub secondary: bool,
    /// `IFA_F_TEMPORARY` (IPv6 privacy address).
    pub temporary: bool,
    /// `IFA_F_TENTATIVE`: duplicate address detection has not finished, or failed.
    pub tentative: bool,
    /// `IFA_F_DEPRECATED`: not to be used for new connections.
    pub deprecated: bool,
}

/// What uname(2) says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uname {
    /// `sysname`: `Linux`.
    pub sysname: String,
    /// `release`: `6.1.0-28-amd64`.
    pub release: String,
    /// `machine`: `x86_64`.
    pub machine: String,
}

/// A source that notes every question, so that a value can say where it came from without its reader having to.
#[derive(Debug)]
pub struct Tracked<'a> {
    source: &'a dyn Source,
    log: RefCell<Log>,
}

/// What was asked of a source while one value was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// What answered: `file:/proc/meminfo`, `statfs:/var`, `lookup:n1`; each once, in the order of asking.
    pub sources: Vec<String>,
    /// What did not, with the reason.
    pub failures: Vec<(String, String)>,
}

impl<'a> Tracked<'a> {
    /// Watches over `source`.
    pub fn new(source: &'a dyn Source) -> Self {
        Self {
            source,
            log: RefCell::default(),
        }
    }

    /// What was asked until now.
    pub fn into_log(self) -> Log {
        self.log.into_inner()
    }

    fn note<T>(&self, what: String, answer: Result<T, SourceError>) -> Result<T, SourceError> {
        let mut log = self.log.borrow_mut();
        match &answer {
            Ok(_) => {
                if !log.sources.contains(&what) {
                    log.sources.push(what);
                }
            }
            Err(error) => log.failures.push((what, error.reason.to_string())),
        }
        answer
    }

    /// The bytes of a file.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, SourceError> {
        self.note(format!("file:{path}"), self.source.read(path))
    }

    /// The text of a file; bytes that are not UTF-8 are replaced, so that one odd line costs only itself.
    pub fn read_text(&self, path: &str) -> Result<String, SourceError> {
        self.read(path).map(|bytes| match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }

    /// The names in a directory.
    pub fn list(&self, path: &str) -> Result<Vec<String>, SourceError> {
        self.note(format!("directory:{path}"), self.source.list(path))
    }

    /// The numbers of a filesystem.
    pub fn statfs(&self, path: &str) -> Result<Statfs, SourceError> {
        self.note(format!("statfs:{path}"), self.source.statfs(path))
    }

    /// The network interfaces.
    pub fn interfaces(&self) -> Result<Vec<Interface>, SourceError> {
        self.note("interfaces".to_owned(), self.source.interfaces())
    }

    /// uname(2).
    pub fn uname(&self) -> Result<Uname, SourceError> {
        self.note("uname".to_owned(), self.source.uname())
    }

    /// The host name.
    pub fn hostname(&self) -> Result<String, SourceError> {
        self.note("hostname".to_owned(), self.source.hostname())
    }

    /// The resolver's answer.
    pub fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, SourceError> {
        self.note(format!("lookup:{name}"), self.source.lookup(name))
    }

    /// Whether a container runtime belongs to the host.
    pub fn has_runtime(&self) -> bool {
        self.source.has_runtime()
    }

    /// The runtime's name and version.
    pub fn runtime_version(&self) -> Result<cri::RuntimeVersion, SourceError> {
        self.note_cri(CriMethod::Version, self.source.runtime_version())
    }

    /// The runtime's status.
    pub fn runtime_status(&self) -> Result<cri::RuntimeStatus, SourceError> {
        self.note_cri(CriMethod::Status, self.source.runtime_status())
    }

    /// The runtime's cgroup driver.
    pub fn cgroup_driver(&self) -> Result<String, SourceError> {
        self.note_cri(CriMethod::RuntimeConfig, self.source.cgroup_driver())
    }

    /// The runtime's images.
    pub fn images(&self) -> Result<Vec<cri::Image>, SourceError> {
        self.note_cri(CriMethod::ListImages, self.source.images())
    }

    /// Where the runtime keeps images and writable layers.
    pub fn image_filesystems(&self) -> Result<cri::ImageFilesystems, SourceError> {
        self.note_cri(CriMethod::ImageFsInfo, self.source.image_filesystems())
    }

    /// Whether the kernel's clock is unsynchronized.
    pub fn clock_unsynchronized(&self) -> Result<bool, SourceError> {
        self.note("clock".to_owned(), self.source.clock_unsynchronized())
    }

    /// Whether the machine is about to shut down.
    pub fn shutdown(&self) -> Result<bool, SourceError> {
        self.note("shutdown".to_owned(), self.source.shutdown())
    }

    /// Clock ticks, per second.
    pub fn clock_ticks_per_second(&self) -> u64 {
        self.source.clock_ticks_per_second()
    }

    /// The page size, bytes.
    pub fn page_size(&self) -> u64 {
        self.source.page_size()
    }

    fn note_cri<T>(
        &self,
        method: CriMethod,
        answer: Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        self.note(format!("cri:{}", method.name()), answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that knows its name and nothing else.
    #[derive(Debug)]
    struct Nameless;

    impl Source for Nameless {
        fn read(&self, path: &str) -> Result<Vec<u8>, SourceError> {
            match path {
                "/raw" => Ok(b"a\xffb".to_vec()),
                _ => Err(SourceError::errno(
                    "read",
                    path,
                    rustix::io::Errno::IO.raw_os_error(),
                )),
            }
        }
        fn list(&self, _path: &str) -> Result<Vec<String>, SourceError> {
            Ok(Vec::new())
        }
        fn link(&self, path: &str) -> Result<PathBuf, SourceError> {
            Err(SourceError::other("link", path, "none"))
        }
        fn statfs(&self, _path: &str) -> Result<Statfs, SourceError> {
            Ok(Statfs::default())
        }
        fn interfaces(&self) -> Result<Vec<Interface>, SourceError> {
            Ok(Vec::new())
        }
        fn uname(&self) -> Result<Uname, SourceError> {
            Ok(Uname::default())
        }
        fn hostname(&self) -> Result<String, SourceError> {
            Ok("n1".to_owned())
        }
        fn lookup(&self, _name: &str) -> Result<Vec<IpAddr>, SourceError> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn every_question_is_noted_with_its_outcome() {
        let tracked = Tracked::new(&Nameless);
        assert_eq!(tracked.read_text("/raw").unwrap(), "a\u{fffd}b");
        assert!(tracked.read("/missing").is_err());
        tracked.read("/raw").unwrap();
        tracked.list("/d").unwrap();
        tracked.statfs("/s").unwrap();
        tracked.interfaces().unwrap();
        tracked.uname().unwrap();
        tracked.hostname().unwrap();
        tracked.lookup("n1").unwrap();
        assert!(!tracked.has_runtime());
        tracked.runtime_version().unwrap_err();
        tracked.runtime_status().unwrap_err();
        tracked.cgroup_driver().unwrap_err();
        tracked.images().unwrap_err();
        tracked.image_filesystems().unwrap_err();
        tracked.clock_unsynchronized().unwrap_err();
        tracked.shutdown().unwrap_err();
        let log = tracked.into_log();
        let sources = [
            "file:/raw",
            "directory:/d",
            "statfs:/s",
            "interfaces",
            "uname",
            "hostname",
            "lookup:n1",
        ];
        assert_eq!(log.sources, sources);
        let failures: Vec<String> = log
            .failures
            .iter()
            .map(|(what, why)| format!("{what} {why}"))
            .collect();
        let expected = [
            "file:/missing EIO",
            "cri:Version ENOENT",
            "cri:Status ENOENT",
            "cri:RuntimeConfig ENOENT",
            "cri:ListImages ENOENT",
            "cri:ImageFsInfo ENOENT",
            "clock ENOENT",
            "shutdown ENOENT",
        ];
        assert_eq!(failures, expected);
    }

    #[test]
    fn an_errno_is_read_as_it_is_written() {
        for (name, errno) in ERRNO_NAMES {
            assert_eq!(errno_name(errno.raw_os_error()), name);
            assert_eq!(errno_by_name(name), Some(errno.raw_os_error()));
        }
        assert_eq!(errno_name(9999), "errno 9999");
        assert_eq!(errno_by_name("errno 9999"), None);
    }
}
