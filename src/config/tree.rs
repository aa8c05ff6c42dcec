//! YAML and JSON as one tree whose every node knows where it was written, and the faults that name such places.
//!
//! Knows nothing of the keys of the configuration. The parser's API stays inside this file.

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Tag};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Deeper nesting than this is refused: the configuration needs four levels, and dropping a tree takes stack.
const DEEPEST: usize = 32;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// A file's name, or the flag or variable.
    pub source: Arc<str>,
    /// The line, from 1; 0 where there are no lines.
    pub line: u64,
}

/// One thing that is wrong with the configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// A file's name, or the flag or variable.
    pub source: String,
    /// The line, from 1; 0 where there are no lines.
    pub line: u64,
    /// The key with all keys above it (`registerWithTaints[0].effect`); empty for a fault of the whole file.
    pub key: String,
    /// What is wrong.
    pub message: String,
}

impl Fault {
    /// A fault of the value of `key`, which was written at `origin`.
    pub fn new(origin: &Origin, key: impl Into<String>, message: impl fmt::Display) -> Self {
        Self {
            source: origin.source.to_string(),
            line: origin.line,
            key: key.into(),
            message: message.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.source)?;
        if self.line > 0 {
            write!(f, "{}:", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, " {}:", self.key)?;
        }
        write!(f, " {}", self.message)
    }
}

impl std::error::Error for Fault {}

/// A value and where it was written; that of a mapping's entry is the line of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Where.
    pub origin: Origin,
    /// What.
    pub value: Value,
}

/// A value as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing behind the key, or `null`.
    Null,
    /// A text, number or boolean.
    Scalar {
        /// The characters, without quotes.
        text: String,
        /// Whether it was written without quotes, and so may be a number or boolean.
        plain: bool,
    },
    /// A list.
    Sequence(Vec<Node>),
    /// Entries by key.
    Mapping(BTreeMap<String, Node>),
}

impl Value {
    /// What it is, for a message.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Scalar { plain: true, .. } => "a plain value",
            Self::Scalar { plain: false, .. } => "a text",
            Self::Sequence(_) => "a list",
            Self::Mapping(_) => "a mapping",
        }
    }
}

impl Node {
    /// A mapping without entries.
    pub fn empty(source: &str) -> Self {
        Self {
            origin: Origin {
                source: source.into(),
                line: 0,
            },
            value: Value::Mapping(BTreeMap::new()),
        }
    }

    /// A text that came from the command line or the environment.
    pub fn text(source: &str, text: &str) -> Self {
        Self {
            origin: Origin {
                source: source.into(),
                line: 0,
            },
            value: Value::Scalar {
                text: text.to_owned(),
                plain: true,
            },
        }
    }

    /// The entry `key` of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Mapping(entries) => entries.get(key),
            _ => None,
        }
    }

    /// Parses one YAML document; an empty text is an empty mapping. A key that is given twice is a fault beside the
    /// tree; whatever else is wrong ends the reading.
    pub fn from_yaml(source: &str, text: &str, faults: &mut Vec<Fault>) -> Self {
        let mut builder = Builder::new(source);
        if let Err(fault) = builder.read(text) {
            builder.faults.push(fault);
            builder.root = None;
        }
        faults.append(&mut builder.faults);
        builder.root.unwrap_or_else(|| Self::empty(source))
    }

    /// The same tree out of JSON, which has no lines.
    pub fn from_json(source: &str, json: &serde_json::Value) -> Self {
        Self::of_json(
            &Origin {
                source: source.into(),
                line: 0,
            },
            json,
        )
    }

    fn of_json(origin: &Origin, json: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let scalar = |text: String, plain| Value::Scalar { text, plain };
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(value) => scalar(value.to_string(), true),
            Json::Number(number) => scalar(number.to_string(), true),
            Json::String(text) => scalar(text.clone(), false),
            Json::Array(items) => Value::Sequence(
                items
                    .iter()
                    .map(|item| Self::of_json(origin, item))
                    .collect(),
            ),
            Json::Object(entries) => {
                let entry =
                    |(key, value): (&String, _)| (key.clone(), Self::of_json(origin, value));
                Value::Mapping(entries.iter().map(entry).collect())
            }
        };
        Self {
            origin: origin.clone(),
            value,
        }
    }
}

/// A collection that is not closed yet.
enum Open {
    Sequence(Origin, Vec<Node>),
    /// With the key whose value comes next.
    Mapping(Origin, BTreeMap<String, Node>, Option<(String, Origin)>),
}

struct Builder {
    source: Arc<str>,
    open: Vec<Open>,
    root: Option<Node>,
    faults: Vec<Fault>,
}

impl Builder {
    fn new(source: &str) -> Self {
        Self {
            source: source.into(),
            open: Vec::new(),
            root: None,
            faults: Vec::new(),
        }
    }

    fn origin(&self, line: usize) -> Origin {
        Origin {
            source: Arc::clone(&self.source),
            line: line.try_into().unwrap_or(0),
        }
    }

    fn read(&mut self, text: &str) -> Result<(), Fault> {
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| {
                Fault::new(
                    &self.origin(error.marker().line()),
                    "",
                    format!("not YAML: {}", error.info()),
                )
            })?;
            self.take(event, self.origin(span.start.line()))?;
        }
        Ok(())
    }

    fn take(&mut self, event: Event<'_>, origin: Origin) -> Result<(), Fault> {
        match event {
            Event::DocumentStart(..) if self.root.is_some() => Err(Fault::new(
                &origin,
                "",
                "a second document; there may be only one",
            )),
            Event::Scalar(text, style, _, tag) => {
                let plain = style == ScalarStyle::Plain && !tag.is_some_and(|tag| is_text(&tag));
                self.scalar(&text, plain, origin);
                Ok(())
            }
            Event::SequenceStart(..) => self.begin(Open::Sequence(origin, Vec::new())),
            Event::MappingStart(..) => self.begin(Open::Mapping(origin, BTreeMap::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => {
                match self.open.pop() {
                    Some(Open::Sequence(origin, items)) => {
                        self.place(Node {
                            origin,
                            value: Value::Sequence(items),
                        });
                    }
                    Some(Open::Mapping(origin, entries, _)) => {
                        self.place(Node {
                            origin,
                            value: Value::Mapping(entries),
                        });
                    }
                    None => {}
                }
                Ok(())
            }
            Event::Alias(_) => Err(Fault::new(
                &origin,
                self.path(),
                "aliases are not supported; write the value out",
            )),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, collection: Open) -> Result<(), Fault> {
        let (Open::Sequence(origin, _) | Open::Mapping(origin, ..)) = &collection;
        if let Some(Open::Mapping(_, _, None)) = self.open.last() {
            return Err(Fault::new(
                origin,
                self.path(),
                "a key must be a plain word",
            ));
        }
        if self.open.len() == DEEPEST {
            return Err(Fault::new(origin, "", "nested too deeply"));
        }
        self.open.push(collection);
        Ok(())
    }

    fn scalar(&mut self, text: &str, plain: bool, origin: Origin) {
        if let Some(Open::Mapping(_, entries, key @ None)) = self.open.last_mut() {
            let first = entries.get(text).map(|entry| entry.origin.line);
            *key = Some((text.to_owned(), origin.clone()));
            if let Some(first) = first {
                let message = format!("given twice, first on line {first}");
                self.faults.push(Fault::new(&origin, self.path(), message));
            }
            return;
        }
        let is_null = plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
        let value = if is_null {
            Value::Null
        } else {
            Value::Scalar {
                text: text.to_owned(),
                plain,
            }
        };
        self.place(Node { origin, value });
    }

    fn place(&mut self, node: Node) {
        match self.open.last_mut() {
            Some(Open::Sequence(_, items)) => items.push(node),
            Some(Open::Mapping(_, entries, key)) => {
                if let Some((key, origin)) = key.take() {
                    entries.insert(
                        key,
                        Node {
                            origin,
                            value: node.value,
                        },
                    );
                }
            }
            None => self.root = Some(node),
        }
    }

    /// The dotted key of the value that comes next.
    fn path(&self) -> String {
        self.open
            .iter()
            .fold(String::new(), |path, open| match open {
                Open::Sequence(_, items) => item_key(&path, items.len()),
                Open::Mapping(_, _, Some((key, _))) => entry_key(&path, key),
                Open::Mapping(_, _, None) => path,
            })
    }
}

fn is_text(tag: &Tag) -> bool {
    tag.core_suffix() == Some("str")
}

/// The dotted key of an entry of the mapping at `path`.
pub fn entry_key(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// The dotted key of an item of the list at `path`.
pub fn item_key(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

#[cfg(test)]
mod tests;
