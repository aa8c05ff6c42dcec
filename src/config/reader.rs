//! Takes values of each kind out of the merged tree, and collects the faults of those that are refused.
//!
//! A method that fills in a value leaves it as it is where the key is absent, where the value is refused, and where
//! it has a wrong shape, which was reported when its file was read ([`super::file`]).

use super::file::parse_boolean;
use super::go_duration;
use super::settings::Word;
use super::tree::{Fault, Node, Value, entry_key};
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The tree, and what is wrong with it. Keys are dotted: `nodeMetric.scope`.
pub(super) struct Reader<'a> {
    tree: &'a Node,
    pub(super) faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(tree: &'a Node) -> Self {
        Self {
            tree,
            faults: Vec::new(),
        }
    }

    /// The value of a dotted key, unless it is left out.
    pub(super) fn node(&self, key: &str) -> Option<&'a Node> {
        let node = key
            .split('.')
            .try_fold(self.tree, |node, key| node.get(key))?;
        (node.value != Value::Null).then_some(node)
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.node(key).and_then(text_of)
    }

    pub(super) fn entries(&self, key: &str) -> Vec<(&'a str, &'a Node)> {
        match self.node(key).map(|node| &node.value) {
            Some(Value::Mapping(entries)) => {
                let given = entries.iter().filter(|(_, node)| node.value != Value::Null);
                given.map(|(name, node)| (name.as_str(), node)).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn items(&self, key: &str) -> Option<&'a [Node]> {
        match &self.node(key)?.value {
            Value::Sequence(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn boolean(&mut self, key: &str, into: &mut bool) {
        if let Some(value) = self.text(key).and_then(parse_boolean) {
            *into = value;
        }
    }

    pub(super) fn whole<T: TryFrom<i64>>(
        &mut self,
        key: &str,
        range: RangeInclusive<i64>,
        into: &mut T,
    ) {
        let Some(number) = self.text(key).and_then(|text| text.parse().ok()) else {
            return;
        };
        match T::try_from(number) {
            Ok(value) if range.contains(&number) => *into = value,
            _ => self.refuse(key, out_of(&range, number)),
        }
    }

    pub(super) fn duration(&mut self, key: &str, shortest: Duration, into: &mut Duration) {
        let text = self.text(key);
        let Some(nanoseconds) = text.and_then(|text| go_duration::parse_nanoseconds(text).ok())
        else {
            return;
        };
        match u64::try_from(nanoseconds).map(Duration::from_nanos) {
            Ok(duration) if duration >= shortest => *into = duration,
            _ => {
                let message = format!(
                    "must be at least {}, not {}",
                    go_duration::format(shortest),
                    text.unwrap_or_default()
                );
                self.refuse(key, message);
            }
        }
    }

    pub(super) fn word<T: Word>(&mut self, key: &str, into: &mut T) {
        let Some(text) = self.text(key) else { return };
        if let Some(value) = T::from_word(text) {
            *into = value;
        } else {
            let words: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
            self.refuse(
                key,
                format!("must be one of {}, not {text:?}", words.join(", ")),
            );
        }
    }

    /// The value of `result`; its error becomes a fault of `key`.
    pub(super) fn accept<T, E: fmt::Display>(
        &mut self,
        key: &str,
        result: Result<T, E>,
    ) -> Option<T> {
        result.map_err(|error| self.refuse(key, error)).ok()
    }

    pub(super) fn refuse(&mut self, key: &str, message: impl fmt::Display) {
        let node = self.node(key).unwrap_or(self.tree);
        self.faults.push(Fault::new(&node.origin, key, message));
    }

    pub(super) fn refuse_entry(
        &mut self,
        key: &str,
        name: &str,
        node: &Node,
        message: impl fmt::Display,
    ) {
        self.faults
            .push(Fault::new(&node.origin, entry_key(key, name), message));
    }
}

pub(super) fn text_of(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Scalar { text, .. } => Some(text),
        _ => None,
    }
}

pub(super) fn out_of(range: &RangeInclusive<i64>, number: i64) -> String {
    format!(
        "must be from {} to {}, not {number}",
        range.start(),
        range.end()
    )
}
