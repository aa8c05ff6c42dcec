//! What `--sync-once` prints to stdout (DESIGN §1): plain functions from what was computed to text.

pub mod diff;
pub mod explain;
pub mod keyed;
pub mod summary;

use serde_json::{Value, json};

/// The objects that nodelet wants, as a `v1` List.
pub fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// An object as it is printed for reading: with its type, without the bookkeeping of its fields.
pub fn readable(mut object: Value, api_version: &str, kind: &str) -> Value {
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object
}
