//! The keys and values of `errors`: which question has no answer, and what comes in its place.

use crate::source::{CriMethod, errno_by_name, errno_name};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// A question to a host, as a key of `errors`. Paths are absolute and normal ([`normal_path`]).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Question {
    /// `/path`: reading it, as a file or as a directory.
    Path(String),
    /// `open:/path`: opening it, which comes before either.
    Open(String),
    /// `read:/path`: reading it as a file.
    Read(String),
    /// `list:/path`: reading it as a directory.
    List(String),
    /// `link:/path`: its target.
    Link(String),
    /// `statfs:/path`
    Statfs(String),
    /// `lookup:NAME`
    Lookup(String),
    /// `cri:METHOD`
    Cri(CriMethod),
    /// `interfaces`
    Interfaces,
    /// `uname`
    Uname,
    /// `hostname`
    Hostname,
    /// `clock`
    Clock,
}

impl Display for Question {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.write_str(path),
            Self::Open(path) => write!(f, "open:{path}"),
            Self::Read(path) => write!(f, "read:{path}"),
            Self::List(path) => write!(f, "list:{path}"),
            Self::Link(path) => write!(f, "link:{path}"),
            Self::Statfs(path) => write!(f, "statfs:{path}"),
            Self::Lookup(name) => write!(f, "lookup:{name}"),
            Self::Cri(method) => write!(f, "cri:{}", method.name()),
            Self::Interfaces => f.write_str("interfaces"),
            Self::Uname => f.write_str("uname"),
            Self::Hostname => f.write_str("hostname"),
            Self::Clock => f.write_str("clock"),
        }
    }
}

impl From<Question> for String {
    fn from(question: Question) -> Self {
        question.to_string()
    }
}

impl TryFrom<String> for Question {
    type Error = String;

    fn try_from(key: String) -> Result<Self, String> {
        match key.as_str() {
            "interfaces" => return Ok(Self::Interfaces),
            "uname" => return Ok(Self::Uname),
            "hostname" => return Ok(Self::Hostname),
            "clock" => return Ok(Self::Clock),
            path if path.starts_with('/') => return Ok(Self::Path(normal_path(path))),
            _ => {}
        }
        let unknown = || {
            format!(
                "`{key}` is not a question to a host; expected a path, `interfaces`, `uname`, `hostname`, `clock`, \
                 or something after `open:`, `read:`, `list:`, `link:`, `statfs:`, `lookup:` or `cri:`"
            )
        };
        let (prefix, subject) = key.split_once(':').ok_or_else(unknown)?;
        let of_path: fn(String) -> Self = match prefix {
            "open" => Self::Open,
            "read" => Self::Read,
            "list" => Self::List,
            "link" => Self::Link,
            "statfs" => Self::Statfs,
            "lookup" => return Ok(Self::Lookup(subject.to_owned())),
            "cri" => {
                let method = CriMethod::ALL
                    .into_iter()
                    .find(|method| method.name() == subject);
                return method.map(Self::Cri).ok_or_else(|| {
                    let names = CriMethod::ALL.map(CriMethod::name).join("`, `");
                    format!("`{key}` is not a call to the runtime; they are `{names}`")
                });
            }
            _ => return Err(unknown()),
        };
        if !subject.starts_with('/') {
            return Err(format!("`{key}`: the path must begin with `/`"));
        }
        Ok(of_path(normal_path(subject)))
    }
}

/// An absolute path without empty components, `.` and a slash at its end. `..` stays, because what it means depends
/// on links.
pub fn normal_path(path: &str) -> String {
    let mut normal = String::with_capacity(path.len());
    for name in path
        .split('/')
        .filter(|name| !name.is_empty() && *name != ".")
    {
        normal.push('/');
        normal.push_str(name);
    }
    if normal.is_empty() {
        normal.push('/');
    }
    normal
}

/// What comes in place of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Fault {
    /// The call fails with this errno.
    Errno(i32),
    /// The call never comes back.
    Hang,
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Errno(errno) => errno_name(errno),
            Fault::Hang => "hang".to_owned(),
        }
    }
}

impl TryFrom<String> for Fault {
    type Error = String;

    fn try_from(value: String) -> Result<Self, String> {
        if value == "hang" {
            return Ok(Self::Hang);
        }
        errno_by_name(&value)
            .map(Self::Errno)
            .ok_or_else(|| format!("`{value}` is neither the name of an errno nor `hang`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written() {
        for key in [
            "/proc/meminfo",
            "open:/etc/machine-id",
            "read:/a",
            "list:/",
            "link:/a",
            "statfs:/mnt/dead",
            "lookup:n1:x",
            "cri:Version",
            "cri:Status",
            "cri:RuntimeConfig",
            "cri:ListImages",
            "cri:ImageFsInfo",
            "interfaces",
            "uname",
            "hostname",
            "clock",
        ] {
            let question = Question::try_from(key.to_owned()).unwrap();
            assert_eq!(question.to_string(), key);
        }
        let question = Question::try_from("statfs://mnt/./dead/".to_owned());
        assert_eq!(question, Ok(Question::Statfs("/mnt/dead".to_owned())));
    }

    #[test]
    fn other_keys_are_refused_by_name() {
        for key in [
            "",
            "proc/meminfo",
            "write:/a",
            "read:a",
            "statfs:",
            "cri:Nothing",
            "uname:",
            "Uname",
        ] {
            let refused = Question::try_from(key.to_owned()).unwrap_err();
            assert!(refused.contains(&format!("`{key}`")), "{refused}");
        }
    }

    #[test]
    fn a_fault_is_an_errno_or_a_hang() {
        for value in ["EIO", "EACCES", "hang"] {
            assert_eq!(
                String::from(Fault::try_from(value.to_owned()).unwrap()),
                value
            );
        }
        for value in ["", "eio", "5", "HANG", "EWHATEVER"] {
            assert!(Fault::try_from(value.to_owned()).is_err(), "{value}");
        }
    }
}
