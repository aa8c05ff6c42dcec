//! Objects with their lists turned into maps, so that a JSON pointer names a list element by its merge key
//! (`/status/conditions/Ready/status`) and survives another order of the list.

use serde_json::{Map, Value};

/// The lists that have a merge key, by pointer.
const MERGE_KEYS: [(&str, &str); 3] = [
    ("/status/conditions", "type"),
    ("/status/addresses", "type"),
    ("/metadata/ownerReferences", "uid"),
];

/// Both objects with each list that has a merge key as a map by that key. Where either list holds a key twice, both
/// stay lists: such elements cannot be told apart by it.
pub fn keyed_alike(left: &Value, right: &Value) -> (Value, Value) {
    let mut copies = [left.clone(), right.clone()];
    for (pointer, key) in MERGE_KEYS {
        let maps = copies
            .each_ref()
            .map(|copy| copy.pointer(pointer).map(|list| by_key(list, key)));
        // A list that is not there goes with either.
        if maps.contains(&Some(None)) {
            continue;
        }
        for (copy, map) in copies.iter_mut().zip(maps) {
            if let Some(list) = copy.pointer_mut(pointer)
                && let Some(Some(map)) = map
            {
                *list = Value::Object(map);
            }
        }
    }
    let [left, right] = copies;
    (left, right)
}

fn by_key(list: &Value, key: &str) -> Option<Map<String, Value>> {
    let list = list.as_array()?;
    let mut map = Map::new();
    for element in list {
        let mut element = element.clone();
        let name = element.as_object_mut()?.remove(key)?;
        map.insert(name.as_str()?.to_owned(), element);
    }
    (map.len() == list.len()).then_some(map)
}

/// The value at `pointer`, whose list elements are named by merge key; of elements with the same key, all of them in
/// their order.
pub fn values_at<'a>(object: &'a Value, pointer: &str) -> Vec<&'a Value> {
    let mut found = vec![object];
    let mut walked = String::new();
    for token in pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        let key = MERGE_KEYS
            .iter()
            .find(|(list, _)| *list == walked)
            .map(|(_, key)| *key);
        found = found
            .into_iter()
            .flat_map(|value| match (value, key) {
                (Value::Array(list), Some(key)) => list
                    .iter()
                    .filter(|element| element[key] == name.as_str())
                    .collect::<Vec<_>>(),
                (Value::Array(list), None) => name
                    .parse::<usize>()
                    .ok()
                    .and_then(|index| list.get(index))
                    .into_iter()
                    .collect(),
                (value, _) => value.get(&name).into_iter().collect(),
            })
            .collect();
        walked = format!("{walked}/{token}");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{keyed_alike, values_at};
    use serde_json::json;

    #[test]
    fn elements_are_named_by_their_merge_key() {
        let node =
            json!({"status": {"conditions": [{"type": "Ready", "status": "True"}], "images": [1]}});
        let keyed = json!({"status": {"conditions": {"Ready": {"status": "True"}}, "images": [1]}});
        assert_eq!(keyed_alike(&node, &json!({})), (keyed.clone(), json!({})));
        assert_eq!(keyed_alike(&node, &node), (keyed.clone(), keyed));
        assert_eq!(
            values_at(&node, "/status/conditions/Ready/status"),
            [&json!("True")]
        );
        assert_eq!(values_at(&node, "/status/images/0"), [&json!(1)]);
        assert!(values_at(&node, "/status/conditions/Other/status").is_empty());
    }

    #[test]
    fn two_addresses_of_one_type_stay_a_list_and_are_both_found() {
        let node = json!({"status": {"addresses": [
            {"type": "InternalIP", "address": "192.0.2.1"}, {"type": "InternalIP", "address": "2001:db8::1"}]}});
        let one =
            json!({"status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}});
        assert_eq!(keyed_alike(&node, &one), (node.clone(), one.clone()));
        assert_eq!(keyed_alike(&one, &node), (one, node.clone()));
        assert_eq!(
            values_at(&node, "/status/addresses/InternalIP/address"),
            [&json!("192.0.2.1"), &json!("2001:db8::1")]
        );
    }

    #[test]
    fn escaped_names_are_unescaped() {
        let node = json!({"metadata": {"labels": {"kubernetes.io/os": "linux"}}});
        assert_eq!(
            values_at(&node, "/metadata/labels/kubernetes.io~1os"),
            [&json!("linux")]
        );
    }
}
