//! A configuration file as written: every key there is, the shape of its value, and the check of a tree against them.
//!
//! Every key is optional, `null` is the same as leaving the key out, and names and values are those of
//! KubeletConfiguration (`kubelet/config/v1beta1/types.go`) wherever one exists. All faults are found at once. What a
//! value may be beyond its shape is decided in [`super::settings::Settings::validate`], after merging.

use super::go_duration;
use super::tree::{Fault, Node, Value, entry_key, item_key};
use crate::quantity::Quantity;

/// What a value looks like.
#[derive(Debug)]
enum Shape {
    /// Any text; a number or boolean is taken as it is written.
    Text,
    /// A text that must be this one.
    Exactly(&'static str),
    /// A whole number without quotes.
    Whole,
    /// `true` or `false` without quotes.
    Boolean,
    /// A Go duration.
    Duration,
    /// A Kubernetes quantity.
    Quantity,
    /// A list.
    List(&'static Shape),
    /// A mapping with keys of the user's choice.
    Map(&'static Shape),
    /// A mapping with these keys.
    Keys(&'static [(&'static str, Shape)]),
}

use Shape::{Boolean, Duration, Exactly, Keys, List, Map, Text, Whole};

const CONTENTION: Shape = Keys(&[
    ("enabled", Boolean),
    ("psiFull10s", Whole),
    ("for", Duration),
    ("clearFor", Duration),
]);

/// `kind: NodeletConfiguration`.
const CONFIGURATION: Shape = Keys(&[
    ("kind", Exactly(KIND)),
    ("apiVersion", Exactly(API_VERSION)),
    (
        "capacityOverride",
        Keys(&[("cpu", Shape::Quantity), ("memory", Shape::Quantity)]),
    ),
    ("cloudProvider", Text),
    (
        "conditions",
        Keys(&[
            ("readonlyFilesystem", Boolean),
            ("memoryContention", CONTENTION),
            ("diskContention", CONTENTION),
            ("clockUnsynchronized", Boolean),
        ]),
    ),
    ("containerRuntimeEndpoint", Text),
    // What the four tables say is parsed where they are put together, in kubelet's words.
    ("evictionHard", Map(&Text)),
    ("evictionMinimumReclaim", Map(&Text)),
    ("evictionPressureTransitionPeriod", Duration),
    ("evictionSoft", Map(&Text)),
    ("evictionSoftGracePeriod", Map(&Text)),
    ("kubeReserved", Map(&Shape::Quantity)),
    ("kubeletConfig", Text),
    ("kubeletVersion", Text),
    ("listenAddress", Text),
    ("localStorageCapacityIsolation", Boolean),
    ("maxPods", Whole),
    ("nodeIP", Text),
    ("nodeIPCIDR", Text),
    ("nodeIPInterface", Text),
    ("nodeLabels", Map(&Text)),
    ("nodeLeaseDurationSeconds", Whole),
    (
        "nodeMetric",
        Keys(&[
            ("scope", Text),
            ("report", Text),
            ("sampleInterval", Duration),
        ]),
    ),
    ("nodeName", Text),
    ("nodeStatusMaxImages", Whole),
    ("nodeStatusReportFrequency", Duration),
    ("nodeStatusUpdateFrequency", Duration),
    ("podsPerCore", Whole),
    ("port", Whole),
    ("providerID", Text),
    ("reRegister", Boolean),
    ("registerNode", Boolean),
    (
        "registerWithTaints",
        List(&Keys(&[("key", Text), ("value", Text), ("effect", Text)])),
    ),
    ("reservedSystemCPUs", Text),
    ("role", Text),
    ("rootDirectory", Text),
    (
        "setters",
        Keys(&[("disable", List(&Text)), ("order", List(&Text))]),
    ),
    ("shutdownGracePeriod", Duration),
    ("systemReserved", Map(&Shape::Quantity)),
    (
        "timeouts",
        Keys(&[
            ("api", Duration),
            ("connect", Duration),
            ("cri", Duration),
            ("statfs", Duration),
        ]),
    ),
    ("volumeLimits", Map(&Whole)),
]);

/// `kind`, where it is given.
pub const KIND: &str = "NodeletConfiguration";
/// `apiVersion`, where it is given.
pub const API_VERSION: &str = "nodelet/v1";

/// Reads a YAML file's `text`; whatever is wrong with it is added to `faults`, and what is right is in the tree.
pub fn read_yaml(source: &str, text: &str, faults: &mut Vec<Fault>) -> Node {
    let node = Node::from_yaml(source, text, faults);
    check("", &node, &CONFIGURATION, faults);
    node
}

/// Reads the `settings` of a recording in the same way.
pub fn read_json(source: &str, json: &serde_json::Value, faults: &mut Vec<Fault>) -> Node {
    let node = Node::from_json(source, json);
    check("", &node, &CONFIGURATION, faults);
    node
}

fn check(path: &str, node: &Node, shape: &Shape, faults: &mut Vec<Fault>) {
    match (shape, &node.value) {
        (_, Value::Null) => {}
        (Keys(keys), Value::Mapping(entries)) => {
            for (key, entry) in entries {
                let path = entry_key(path, key);
                match keys.iter().find(|(known, _)| known == key) {
                    Some((_, shape)) => check(&path, entry, shape, faults),
                    None => faults.push(Fault::new(&entry.origin, path, unknown(key, keys))),
                }
            }
        }
        (Map(shape), Value::Mapping(entries)) => {
            for (key, entry) in entries {
                check(&entry_key(path, key), entry, shape, faults);
            }
        }
        (List(shape), Value::Sequence(items)) => {
            for (index, item) in items.iter().enumerate() {
                check(&item_key(path, index), item, shape, faults);
            }
        }
        (_, value) => {
            if let Err(message) = check_scalar(shape, value) {
                faults.push(Fault::new(&node.origin, path, message));
            }
        }
    }
}

fn check_scalar(shape: &Shape, value: &Value) -> Result<(), String> {
    let Value::Scalar { text, plain } = value else {
        return Err(format!("must be {}, not {}", wanted(shape), value.kind()));
    };
    let fits = match shape {
        Text => true,
        Exactly(word) if text == word => true,
        Exactly(word) => return Err(format!("must be {word}, not {text:?}")),
        Whole => *plain && text.parse::<i64>().is_ok(),
        Boolean => *plain && parse_boolean(text).is_some(),
        Duration => {
            return go_duration::parse_nanoseconds(text)
                .map(drop)
                .map_err(|error| error.to_string());
        }
        Shape::Quantity => {
            return Quantity::parse(text)
                .map(drop)
                .map_err(|error| error.to_string());
        }
        List(_) | Map(_) | Keys(_) => false,
    };
    let quotes = if *plain { "" } else { " in quotes" };
    if fits {
        Ok(())
    } else {
        Err(format!("must be {}, not {text:?}{quotes}", wanted(shape)))
    }
}

/// YAML 1.2's booleans.
pub(super) fn parse_boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn wanted(shape: &Shape) -> &'static str {
    match shape {
        Text | Exactly(_) => "a text",
        Whole => "a whole number",
        Boolean => "true or false",
        Duration => "a duration such as 10s",
        Shape::Quantity => "a quantity such as 100Mi",
        List(_) => "a list",
        Map(_) | Keys(_) => "a mapping",
    }
}

fn unknown(key: &str, known: &[(&'static str, Shape)]) -> String {
    let distances = known
        .iter()
        .map(|(known, _)| (distance(key, known), *known));
    match distances.min() {
        Some((distance, nearest)) if distance <= nearest.len() / 3 => {
            format!("unknown key; did you mean {nearest}?")
        }
        _ => "unknown key".to_owned(),
    }
}

/// How many letters must be added, dropped or changed to make one word of the other; case does not count.
fn distance(a: &str, b: &str) -> usize {
    let b = b.as_bytes();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for j in 0..b.len() {
            let changed = diagonal + usize::from(!letter.eq_ignore_ascii_case(&b[j]));
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
