//! One parser per source of the host.
//!
//! Each file owns one kind of reading: a `read` that asks a [`crate::source::Tracked`] source and a parser that is
//! a plain function over bytes. None of them touches the host itself, keeps state, or knows a Kubernetes client.

pub mod cgroup;
pub mod cpu;
pub mod filesystem;
pub mod hugepages;
pub mod identity;
pub mod memory;
pub mod network;
pub mod os;
pub mod pids;
pub mod pressure;

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod properties;

use crate::source::SourceError;

/// Why a reading has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The host did not answer.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The host answered something that makes no sense.
    #[error("{path}: {problem}")]
    Malformed {
        /// The file.
        path: String,
        /// What is wrong with it, with the offending text.
        problem: String,
    },
}

impl ReadError {
    /// An answer that makes no sense.
    pub fn malformed(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Malformed {
            path: path.into(),
            problem: shortened(problem.into()),
        }
    }
}

/// A problem of a length for the log, whatever was found in a file and is quoted in it.
fn shortened(mut problem: String) -> String {
    const LONGEST_CHARS: usize = 200;
    if let Some((end, _)) = problem.char_indices().nth(LONGEST_CHARS) {
        problem.truncate(end);
        problem.push('…');
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::{ReadError, shortened};

    #[test]
    fn what_is_quoted_of_a_file_is_short() {
        let fits = "ü".repeat(200);
        assert_eq!(shortened(fits.clone()), fits);
        assert_eq!(shortened("ü".repeat(4 << 20)), format!("{fits}…"));
        let error = ReadError::malformed("/proc/loadavg", "x".repeat(5000));
        assert!(error.to_string().len() < 300, "{error}");
    }
}
