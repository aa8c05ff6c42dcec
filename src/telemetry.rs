//! Logs: sentences on stderr, one for each change and none for a state that lasts.

use std::collections::BTreeMap;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// What `NODELET_LOG` may not be.
#[derive(Debug, thiserror::Error)]
#[error(
    "NODELET_LOG={text}: {reason}; use a level (info) or targets with levels (nodelet=debug,kube=info)"
)]
pub struct BadFilter {
    text: String,
    reason: String,
}

/// Sends logs to stderr, as `filter` says or else from info up. Libraries are heard from warn up.
///
/// # Errors
/// The filter cannot be parsed.
pub fn init(filter: Option<&str>) -> Result<(), BadFilter> {
    let targets = match filter {
        None => Targets::new()
            .with_default(LevelFilter::WARN)
            .with_target("nodelet", LevelFilter::INFO),
        Some(text) => text
            .parse()
            .map_err(|error: tracing_subscriber::filter::ParseError| BadFilter {
                text: text.to_owned(),
                reason: error.to_string(),
            })?,
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    // A second call, as tests make, leaves the first in place.
    let _ = tracing_subscriber::registry()
        .with(targets)
        .with(lines)
        .try_init();
    Ok(())
}

/// Complaints by topic, so that each is made once and its end is told.
#[derive(Debug, Default)]
pub struct Complaints {
    open: BTreeMap<String, String>,
}

impl Complaints {
    /// `topic` is well (`None`) or has a fault. Logged only where that is news.
    pub fn hear(&mut self, topic: &str, fault: Option<&str>) {
        let before = self.open.get(topic).map(String::as_str);
        if before == fault {
            return;
        }
        if let Some(fault) = fault {
            tracing::warn!(topic, fault, "Something is wrong");
            self.open.insert(topic.to_owned(), fault.to_owned());
        } else {
            tracing::info!(topic, "All is well again");
            self.open.remove(topic);
        }
    }

    /// All topics that begin with `prefix` and are not in `faults` are well; those in `faults` are not.
    pub fn hear_all<'a>(
        &mut self,
        prefix: &str,
        faults: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) {
        let faults: BTreeMap<String, &str> = faults
            .into_iter()
            .map(|(topic, fault)| (format!("{prefix}{topic}"), fault))
            .collect();
        let over: Vec<String> = self
            .open
            .keys()
            .filter(|topic| topic.starts_with(prefix) && !faults.contains_key(*topic))
            .cloned()
            .collect();
        for topic in over {
            self.hear(&topic, None);
        }
        for (topic, fault) in faults {
            self.hear(&topic, Some(fault));
        }
    }
}
