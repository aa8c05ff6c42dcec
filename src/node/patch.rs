//! The strategic merge patch of a Node: what is sent to `nodes/status` so that the stored Node becomes the wanted one.
//!
//! It computes over JSON values and sends nothing. The shape of a status patch is that of component-helpers'
//! `node/util/status.go`; [`two_way_merge_diff`] is the general difference, [`apply`] the server's side of it.

mod apply;
mod diff;
mod schema;

use serde_json::{Map, Value, json};

pub use apply::{PatchError, apply};
use diff::deletion;
pub use diff::two_way_merge_diff;
pub use schema::{List, NODE, Schema};

/// What an object or a list element says about how it is merged.
const DIRECTIVE: &str = "$patch";
/// Prefix of the field that names the wanted order of a list's elements.
const ORDER_PREFIX: &str = "$setElementOrder/";
/// Prefix of the field that names the elements to take out of a set.
const DELETE_FROM_SET_PREFIX: &str = "$deleteFromPrimitiveList/";

/// The strategic merge patch that turns `old` into `new`, both whole Nodes, or `None` when nothing differs.
///
/// Only the status, the labels and the annotations are looked at; the spec is never patched. The patch carries the
/// UID of `old` when it has one, so that it cannot land on a Node that was created anew (the server answers 422).
///
/// The patch is the one that kubelet's `PatchNodeStatus` makes, but for two things. Conditions of a type that is
/// there twice cannot be put in an order (the server refuses), so such a list is patched without one. And lists
/// that are absent, empty or null do not differ, as in Go's own encoding.
///
/// The server brings the elements of a replaced list together by type: addresses that are to be stored in the wanted
/// order have to be grouped so.
pub fn node_status_patch(old: &Value, new: &Value) -> Option<Value> {
    let stored = patchable(old);
    let mut wanted = patchable(new);

    let addresses = list_at(&wanted, "addresses").to_vec();
    let replaces_addresses = {
        let stored_addresses = list_at(&stored, "addresses");
        !stored_addresses.is_empty() && stored_addresses != addresses
    };
    if replaces_addresses {
        // The merge key of an address is its type, which two of them can share: the list is sent whole instead.
        copy_status_field(&stored, &mut wanted, "addresses");
    }
    let condition_lists = [
        list_at(&stored, "conditions"),
        list_at(&wanted, "conditions"),
    ];
    let conditions = condition_lists
        .iter()
        .any(|list| holds_a_type_twice(list))
        .then(|| unordered_conditions(condition_lists[0], condition_lists[1]));
    if conditions.is_some() {
        copy_status_field(&stored, &mut wanted, "conditions");
    }

    let mut patch = two_way_merge_diff(&stored, &wanted, &NODE);
    if replaces_addresses {
        patch["status"]["addresses"] = Value::Array(replacing(addresses));
    }
    if let Some(conditions) = conditions.filter(|list| !list.is_empty()) {
        patch["status"]["conditions"] = Value::Array(conditions);
    }
    if patch.as_object().is_none_or(Map::is_empty) {
        return None;
    }
    if let Some(uid) = old["metadata"]["uid"].as_str() {
        patch["metadata"]["uid"] = json!(uid);
    }
    Some(patch)
}

/// The part of a Node that a status patch may change, without lists and quantities that are empty.
fn patchable(node: &Value) -> Value {
    let metadata = fields(node, "metadata", |name, value| {
        matches!(name, "labels" | "annotations") && !is_empty(value)
    });
    let status = fields(node, "status", |name, value| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        value => !matches!(name, "capacity" | "allocatable") || !is_empty(value),
    });
    json!({"metadata": metadata, "status": status})
}

fn fields(node: &Value, part: &str, keep: impl Fn(&str, &Value) -> bool) -> Map<String, Value> {
    let fields = node[part].as_object().into_iter().flatten();
    fields
        .filter(|(name, value)| keep(name, value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

fn list_at<'a>(node: &'a Value, name: &str) -> &'a [Value] {
    node["status"][name].as_array().map_or(&[], Vec::as_slice)
}

/// Makes a field of the status in `to` what it is in `from`.
fn copy_status_field(from: &Value, to: &mut Value, name: &str) {
    match from["status"].get(name) {
        Some(value) => to["status"][name] = value.clone(),
        None => {
            if let Some(status) = to["status"].as_object_mut() {
                status.remove(name);
            }
        }
    }
}

/// The list as a patch that replaces whatever is stored.
fn replacing(mut list: Vec<Value>) -> Vec<Value> {
    list.push(json!({DIRECTIVE: "replace"}));
    list
}

fn type_of(condition: &Value) -> &str {
    condition["type"].as_str().unwrap_or_default()
}

fn holds_a_type_twice(conditions: &[Value]) -> bool {
    let mut types: Vec<&str> = conditions.iter().map(type_of).collect();
    types.sort_unstable();
    types.windows(2).any(|pair| pair[0] == pair[1])
}

/// The changes of a list of conditions in which a type is there twice, for sending without an order.
///
/// A type that is the same on both sides is left alone. One that is there twice in `stored` and once in `wanted` is
/// deleted and added again. Two changed conditions of one type cannot be told apart: then the list is replaced.
fn unordered_conditions(stored: &[Value], wanted: &[Value]) -> Vec<Value> {
    let mut changes = Vec::new();
    let mut deletions = Vec::new();
    let mut seen = Vec::new();
    for type_ in wanted.iter().chain(stored).map(type_of) {
        if seen.contains(&type_) {
            continue;
        }
        seen.push(type_);
        let (before, after) = (of_type(stored, type_), of_type(wanted, type_));
        match (before.as_slice(), after.as_slice()) {
            (before, after) if before == after => {}
            (_, []) => deletions.push(deletion("type", type_)),
            ([], [condition]) => changes.push((*condition).clone()),
            ([before], [after]) => {
                let mut change = two_way_merge_diff(before, after, &schema::PLAIN);
                change["type"] = json!(type_);
                changes.push(change);
            }
            (_, [condition]) => {
                deletions.push(deletion("type", type_));
                changes.push((*condition).clone());
            }
            _ => return replacing(wanted.to_vec()),
        }
    }
    changes.append(&mut deletions);
    changes
}

fn of_type<'a>(list: &'a [Value], type_: &str) -> Vec<&'a Value> {
    list.iter()
        .filter(|condition| type_of(condition) == type_)
        .collect()
}

#[cfg(test)]
mod tests;
