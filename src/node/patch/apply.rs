//! What the server does with a strategic merge patch (`StrategicMergePatch` in apimachinery's
//! `pkg/util/strategicpatch/patch.go`), for showing a patch's outcome without sending it, and for tests.

use serde_json::{Map, Value};

use super::diff::drop_repeated;
use super::schema::{List, Schema};
use super::{DELETE_FROM_SET_PREFIX, DIRECTIVE, ORDER_PREFIX};

/// Why the server would refuse a patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// Something that has to be a list or an object is neither.
    #[error("strategic merge patch: {0:?} has the wrong kind of value")]
    WrongKind(String),
    /// An element of a list that is merged by key does not carry the key.
    #[error("strategic merge patch: an element of {list:?} has no {key:?}")]
    NoMergeKey {
        /// The list's field.
        list: String,
        /// The merge key.
        key: String,
    },
    /// The elements of the patch are not in the order that the patch itself gives.
    #[error("strategic merge patch: the elements of {0:?} do not follow their order list")]
    OrderMismatch(String),
    /// An order list for a list that has no elements, neither stored nor in the patch.
    #[error("strategic merge patch: {0:?} is to be put in order but has no elements")]
    NothingToOrder(String),
    /// A directive that does not exist, or not at this place.
    #[error("strategic merge patch: unknown directive {0:?}")]
    UnknownDirective(String),
}

type Result<T> = std::result::Result<T, PatchError>;

/// The object that the server stores when it gets `patch` for `original`.
pub fn apply(original: &Value, patch: &Value, schema: &Schema) -> Result<Value> {
    let (Value::Object(original), Value::Object(patch)) = (original, patch) else {
        return Err(PatchError::WrongKind(String::new()));
    };
    merge_objects(original, patch, schema).map(Value::Object)
}

fn merge_objects(
    original: &Map<String, Value>,
    patch: &Map<String, Value>,
    schema: &Schema,
) -> Result<Map<String, Value>> {
    match patch.get(DIRECTIVE).map(Value::as_str) {
        None => {}
        Some(Some("replace")) => {
            let mut whole = patch.clone();
            whole.remove(DIRECTIVE);
            return Ok(whole);
        }
        Some(Some("delete")) => return Ok(Map::new()),
        Some(other) => return Err(PatchError::UnknownDirective(other.unwrap_or("").to_owned())),
    }

    let mut merged = original.clone();
    let mut ordered = Vec::new();
    for (directive, order) in patch {
        if let Some(name) = directive.strip_prefix(ORDER_PREFIX) {
            merge_ordered_list(name, order, original, patch, schema, &mut merged)?;
            ordered.push(name);
        }
    }
    for (name, value) in patch {
        if name.starts_with(ORDER_PREFIX) || ordered.contains(&name.as_str()) {
            continue;
        }
        if let Some(name) = name.strip_prefix(DELETE_FROM_SET_PREFIX) {
            take_from_set(name, value, &mut merged)?;
        } else if name.starts_with('$') {
            return Err(PatchError::UnknownDirective(name.clone()));
        } else {
            merge_field(name, value, schema, &mut merged)?;
        }
    }
    Ok(merged)
}

fn merge_field(
    name: &str,
    value: &Value,
    schema: &Schema,
    merged: &mut Map<String, Value>,
) -> Result<()> {
    let result =
        match (merged.get(name), value) {
            (_, Value::Null) => None,
            (Some(Value::Object(stored)), Value::Object(patch)) => Some(Value::Object(
                merge_objects(stored, patch, schema.object(name))?,
            )),
            (Some(Value::Array(stored)), Value::Array(patch)) => Some(Value::Array(merge_lists(
                name,
                stored,
                patch,
                schema.list(name),
            )?)),
            _ => without_directives(&without_nulls(value)),
        };
    match result {
        Some(value) => merged.insert(name.to_owned(), value),
        None => merged.remove(name),
    };
    Ok(())
}

/// Drops what carries a directive, which has no meaning in a value that is stored as it comes.
fn without_directives(value: &Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let kept = fields
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(list) => Some(list.iter().filter_map(without_directives).collect()),
        value => Some(value.clone()),
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            let kept = kept.map(|(name, value)| (name.clone(), without_nulls(value)));
            Value::Object(kept.collect())
        }
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        value => value.clone(),
    }
}

fn merge_lists(name: &str, stored: &[Value], patch: &[Value], list: List) -> Result<Vec<Value>> {
    match list {
        List::Atomic => Ok(patch.to_vec()),
        List::Set => {
            let mut merged = stored.to_vec();
            merged.extend_from_slice(patch);
            drop_repeated(&mut merged);
            Ok(in_order(merged, patch, stored, scalar))
        }
        List::ByKey { key, element } => merge_keyed_lists(name, stored, patch, key, element),
    }
}

fn merge_keyed_lists(
    name: &str,
    stored: &[Value],
    patch: &[Value],
    key: &str,
    schema: &Schema,
) -> Result<Vec<Value>> {
    let key_of = |element: &Value| key_of(name, element, key);
    let mut stored = stored.to_vec();
    let mut changes = Vec::new();
    let mut replaces = false;
    for element in patch {
        match element.get(DIRECTIVE).map(Value::as_str) {
            None => changes.push(element.clone()),
            Some(Some("replace")) => replaces = true,
            Some(Some("delete")) => {
                let deleted = key_of(element)?;
                stored.retain(|element| element.get(key) != Some(&deleted));
            }
            Some(other) => {
                return Err(PatchError::UnknownDirective(other.unwrap_or("").to_owned()));
            }
        }
    }
    if replaces {
        stored = std::mem::take(&mut changes);
    }

    let mut merged = stored.clone();
    for change in &changes {
        let value = key_of(change)?;
        let place = merged
            .iter_mut()
            .find(|element| element.get(key) == Some(&value));
        match (place, change) {
            (Some(Value::Object(place)), Value::Object(change)) => {
                *place = merge_objects(place, change, schema)?;
            }
            _ => merged.push(change.clone()),
        }
    }
    for element in &merged {
        key_of(element)?;
    }
    Ok(in_order(merged, &changes, &stored, |element| {
        element.get(key).cloned()
    }))
}

/// Merges a list that comes with its order list.
fn merge_ordered_list(
    name: &str,
    order: &Value,
    original: &Map<String, Value>,
    patch: &Map<String, Value>,
    schema: &Schema,
    merged: &mut Map<String, Value>,
) -> Result<()> {
    let as_list = |value: &Value| match value {
        Value::Array(list) => Ok(list.clone()),
        _ => Err(PatchError::WrongKind(name.to_owned())),
    };
    let order = as_list(order)?;
    let stored = original.get(name).map(as_list).transpose()?;
    let changes = patch.get(name).map(as_list).transpose()?;
    let list = schema.list(name);
    let identity = |element: &Value| match list {
        List::ByKey { key, .. } => element.get(key).cloned(),
        List::Set | List::Atomic => scalar(element),
    };
    if let List::ByKey { key, .. } = list {
        for element in changes.iter().flatten().chain(&order) {
            key_of(name, element, key)?;
        }
    }
    if !follows(changes.as_deref().unwrap_or_default(), &order, identity) {
        return Err(PatchError::OrderMismatch(name.to_owned()));
    }
    let contents = match (&stored, &changes) {
        (None, None) => return Ok(()),
        (Some(stored), None) => stored.clone(),
        (None, Some(changes)) => changes.iter().filter_map(without_directives).collect(),
        (Some(stored), Some(changes)) => merge_lists(name, stored, changes, list)?,
    };
    let stored = stored.unwrap_or_default();
    let changes = changes.unwrap_or_default();
    if stored.is_empty() && changes.is_empty() {
        return Err(PatchError::NothingToOrder(name.to_owned()));
    }
    let stored = as_go_leaves_it(stored, changes, identity);
    let contents = in_order(contents, &order, &stored, identity);
    merged.insert(name.to_owned(), Value::Array(contents));
    Ok(())
}

/// The stored list by which the order of a merged one is then decided. Go merges in place: what was deleted is gone
/// from it, and what was added has taken the room of the deleted.
fn as_go_leaves_it(
    mut stored: Vec<Value>,
    changes: Vec<Value>,
    identity: impl Fn(&Value) -> Option<Value>,
) -> Vec<Value> {
    let is_in = |list: &[Value], element: &Value| {
        let wanted = identity(element);
        list.iter().any(|other| identity(other) == wanted)
    };
    let (deleted, merged): (Vec<_>, Vec<_>) = changes
        .into_iter()
        .partition(|change| change.get(DIRECTIVE).is_some());
    let length = stored.len();
    stored.retain(|element| !is_in(&deleted, element));
    let room = length - stored.len();
    let added: Vec<Value> = merged
        .into_iter()
        .filter(|change| !is_in(&stored, change))
        .take(room)
        .collect();
    stored.extend(added);
    stored
}

/// Whether the changed elements come in the order of `order`, and all of them are in it.
fn follows(changes: &[Value], order: &[Value], identity: impl Fn(&Value) -> Option<Value>) -> bool {
    if order.is_empty() {
        return true;
    }
    let mut order = order.iter();
    changes
        .iter()
        .filter(|change| change.get(DIRECTIVE).is_none())
        .all(|change| order.any(|element| identity(element) == identity(change)))
}

/// Puts the elements that `order` names in that order, and lets the others keep the order they have in `stored`:
/// each of those comes before the first named element that it stands before in `stored`.
fn in_order(
    elements: Vec<Value>,
    order: &[Value],
    stored: &[Value],
    identity: impl Fn(&Value) -> Option<Value>,
) -> Vec<Value> {
    let position = |list: &[Value], element: &Value| {
        let wanted = identity(element);
        list.iter().position(|other| identity(other) == wanted)
    };
    let (mut named, mut others): (Vec<_>, Vec<_>) = elements
        .into_iter()
        .partition(|element| position(order, element).is_some());
    named.sort_by_key(|element| position(order, element));
    others.sort_by_key(|element| position(stored, element));

    let mut result = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for element in named {
        if let Some(place) = position(stored, &element) {
            while let Some(other) =
                others.next_if(|other| position(stored, other).is_some_and(|i| i < place))
            {
                result.push(other);
            }
        }
        result.push(element);
    }
    result.extend(others);
    result
}

/// A scalar is itself what tells it apart.
#[allow(
    clippy::unnecessary_wraps,
    reason = "an element of the other lists may lack its key"
)]
fn scalar(element: &Value) -> Option<Value> {
    Some(element.clone())
}

fn key_of(list: &str, element: &Value, key: &str) -> Result<Value> {
    element
        .get(key)
        .cloned()
        .ok_or_else(|| PatchError::NoMergeKey {
            list: list.to_owned(),
            key: key.to_owned(),
        })
}

fn take_from_set(name: &str, value: &Value, merged: &mut Map<String, Value>) -> Result<()> {
    let Value::Array(taken) = value else {
        return Err(PatchError::WrongKind(name.to_owned()));
    };
    match merged.get_mut(name) {
        None => Ok(()),
        Some(Value::Array(stored)) => {
            stored.retain(|element| !taken.contains(element));
            Ok(())
        }
        Some(_) => Err(PatchError::WrongKind(name.to_owned())),
    }
}
