//! The difference between two objects as a strategic merge patch (`CreateTwoWayMergePatch` in apimachinery's
//! `pkg/util/strategicpatch/patch.go`).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::schema::{List, Schema};
use super::{DELETE_FROM_SET_PREFIX, DIRECTIVE, ORDER_PREFIX};

/// The strategic merge patch between two objects, as `CreateTwoWayMergePatch` makes it.
///
/// A list whose elements lack the merge key that `schema` names is replaced whole, where Go gives an error. Among
/// more than twelve elements of which some share a merge key, Go's choice of pairs is arbitrary; here the last of
/// each side are paired first, as Go does for shorter lists.
pub fn two_way_merge_diff(old: &Value, new: &Value, schema: &Schema) -> Value {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => Value::Object(diff_objects(old, new, schema)),
        _ => new.clone(),
    }
}

fn diff_objects(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    schema: &Schema,
) -> Map<String, Value> {
    let mut patch = Map::new();
    for (name, wanted) in new {
        match (old.get(name), wanted) {
            (Some(Value::Object(stored)), Value::Object(wanted)) => {
                let difference = diff_objects(stored, wanted, schema.object(name));
                if !difference.is_empty() {
                    patch.insert(name.clone(), Value::Object(difference));
                }
            }
            (Some(Value::Array(stored)), Value::Array(wanted)) => {
                diff_lists(name, stored, wanted, schema.list(name), &mut patch);
            }
            (Some(stored), wanted) if stored == wanted => {}
            _ => {
                patch.insert(name.clone(), wanted.clone());
            }
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    patch
}

fn diff_lists(
    name: &str,
    stored: &[Value],
    wanted: &[Value],
    list: List,
    patch: &mut Map<String, Value>,
) {
    match list {
        List::ByKey { key, element } if !stored.is_empty() => {
            let keyed = Keyed::of(stored, key).zip(Keyed::of(wanted, key));
            if let Some((stored, wanted)) = keyed {
                diff_keyed_lists(name, &stored, &wanted, key, element, patch);
                return;
            }
        }
        List::Set if !stored.is_empty() => {
            diff_sets(name, stored, wanted, patch);
            return;
        }
        _ => {}
    }
    if stored != wanted {
        patch.insert(name.to_owned(), json!(wanted));
    }
}

/// The elements of a list with their merge keys.
struct Keyed<'a>(Vec<(&'a str, &'a Map<String, Value>)>);

impl<'a> Keyed<'a> {
    /// `None` when an element has no merge key.
    fn of(list: &'a [Value], key: &str) -> Option<Self> {
        list.iter()
            .map(|element| Some((element.get(key)?.as_str()?, element.as_object()?)))
            .collect::<Option<_>>()
            .map(Self)
    }

    fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.0.iter().map(|(key, _)| *key)
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.keys().position(|k| k == key)
    }

    /// The elements of each key, the last one first.
    fn by_key(&self) -> BTreeMap<&'a str, Vec<&'a Map<String, Value>>> {
        let mut groups = BTreeMap::<_, Vec<_>>::new();
        for (key, element) in self.0.iter().rev() {
            groups.entry(*key).or_default().push(*element);
        }
        groups
    }
}

fn diff_keyed_lists(
    name: &str,
    stored: &Keyed<'_>,
    wanted: &Keyed<'_>,
    key: &str,
    schema: &Schema,
    patch: &mut Map<String, Value>,
) {
    let mut changes = Vec::new();
    let mut deletions = Vec::new();
    let stored_by_key = stored.by_key();
    let wanted_by_key = wanted.by_key();
    for (value, wanted) in &wanted_by_key {
        let stored = stored_by_key.get(value).map_or(&[][..], Vec::as_slice);
        for (i, wanted) in wanted.iter().enumerate() {
            match stored.get(i) {
                Some(stored) => changes.extend(
                    diff_elements(stored, wanted, key, schema).map(|change| (*value, change)),
                ),
                None => changes.push((*value, (*wanted).clone())),
            }
        }
    }
    for (value, stored) in &stored_by_key {
        let kept = wanted_by_key.get(value).map_or(0, Vec::len);
        let removed = stored.len().saturating_sub(kept);
        deletions.extend((0..removed).map(|_| deletion(key, value)));
    }
    changes.sort_by_key(|(value, _)| wanted.position(value));

    let same_order = stored.keys().eq(wanted.keys());
    let elements: Vec<Value> = changes
        .into_iter()
        .map(|(_, change)| Value::Object(change))
        .chain(deletions)
        .collect();
    if elements.is_empty() && same_order {
        return;
    }
    if !elements.is_empty() {
        patch.insert(name.to_owned(), Value::Array(elements));
    }
    let order: Vec<Value> = wanted.keys().map(|value| json!({key: value})).collect();
    if !order.is_empty() {
        patch.insert(format!("{ORDER_PREFIX}{name}"), Value::Array(order));
    }
}

/// The difference between two elements of one merge key, which it carries too.
fn diff_elements(
    stored: &Map<String, Value>,
    wanted: &Map<String, Value>,
    key: &str,
    schema: &Schema,
) -> Option<Map<String, Value>> {
    let mut difference = diff_objects(stored, wanted, schema);
    if difference.is_empty() {
        return None;
    }
    difference.insert(key.to_owned(), wanted[key].clone());
    Some(difference)
}

/// The list element that takes out the stored one of this merge key.
pub(super) fn deletion(key: &str, value: &str) -> Value {
    json!({DIRECTIVE: "delete", key: value})
}

fn diff_sets(name: &str, stored: &[Value], wanted: &[Value], patch: &mut Map<String, Value>) {
    let sorted = |list: &[Value]| {
        let mut copy = list.to_vec();
        copy.sort_by_cached_key(scalar_text);
        copy
    };
    let stored_sorted = sorted(stored);
    let mut removed = without(&stored_sorted, wanted);
    let mut added = without(&sorted(wanted), stored);
    added.sort_by_key(|value| wanted.iter().position(|w| w == value));
    drop_repeated(&mut removed);

    // Go sorts the stored list in place before it compares, so an unsorted one always gets an order.
    let ordered = !removed.is_empty() || stored_sorted != wanted;
    if !added.is_empty() {
        patch.insert(name.to_owned(), Value::Array(added));
    }
    if !removed.is_empty() {
        patch.insert(
            format!("{DELETE_FROM_SET_PREFIX}{name}"),
            Value::Array(removed),
        );
    }
    if ordered && !wanted.is_empty() {
        patch.insert(format!("{ORDER_PREFIX}{name}"), json!(wanted));
    }
}

fn scalar_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The elements of `list` that remain when those of `taken` are crossed off one by one.
fn without(list: &[Value], taken: &[Value]) -> Vec<Value> {
    let mut taken: Vec<&Value> = taken.iter().collect();
    list.iter()
        .filter(|value| match taken.iter().position(|t| t == value) {
            Some(i) => {
                taken.swap_remove(i);
                false
            }
            None => true,
        })
        .cloned()
        .collect()
}

/// Keeps the first of each; the last element moves into the gap, as in Go.
pub(super) fn drop_repeated(list: &mut Vec<Value>) {
    let mut i = 0;
    while i < list.len() {
        let mut j = i + 1;
        while j < list.len() {
            if list[i] == list[j] {
                list.swap_remove(j);
            } else {
                j += 1;
            }
        }
        i += 1;
    }
}
