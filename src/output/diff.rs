//! `-o diff`: where the cluster and what was computed differ, and who keeps the cluster's value.

use super::keyed::keyed_alike;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Fields that move with every report: they always differ and say nothing.
const CLOCKWORK: [&str; 2] = ["lastHeartbeatTime", "renewTime"];

/// The lines of `-o diff` for one object, called `object` (`Node/n1`). `cluster` is `None` where the cluster has no
/// such object. Only what nodelet computes is compared: fields of others are not a difference.
pub fn lines(object: &str, cluster: Option<&Value>, computed: &Value) -> Vec<Value> {
    let Some(cluster) = cluster else {
        return vec![line(object, "", None, Some(computed), None)];
    };
    let (stored, wanted) = keyed_alike(&comparable(cluster), &comparable(computed));
    let mut lines = Vec::new();
    differences(
        "",
        Some(&stored),
        Some(&wanted),
        &mut |path, stored, wanted| {
            lines.push(line(object, path, stored, wanted, kept_by(cluster, path)));
        },
    );
    lines
}

/// Tells `each` of every value that differs. A list without a merge key is one value: the difference is the list, not
/// a place in it.
fn differences(
    path: &str,
    stored: Option<&Value>,
    wanted: Option<&Value>,
    each: &mut impl FnMut(&str, Option<&Value>, Option<&Value>),
) {
    let map = |value: Option<&Value>| value.and_then(Value::as_object).cloned();
    let (left, right) = match (map(stored), map(wanted)) {
        (Some(left), Some(right)) => (left, right),
        (Some(left), None) if wanted.is_none() => (left, Map::new()),
        (None, Some(right)) if stored.is_none() => (Map::new(), right),
        _ if stored == wanted => return,
        _ => return each(path, stored, wanted),
    };
    let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    for key in keys {
        let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        differences(&path, left.get(key), right.get(key), each);
    }
}

fn line(
    object: &str,
    path: &str,
    cluster: Option<&Value>,
    computed: Option<&Value>,
    kept_by: Option<&str>,
) -> Value {
    json!({"object": object, "path": path, "cluster": cluster, "computed": computed, "keptBy": kept_by})
}

/// A copy without what is not nodelet's to compute and what moves by itself.
fn comparable(object: &Value) -> Value {
    let mut copy = object.clone();
    if let Some(metadata) = copy["metadata"].as_object_mut() {
        metadata.retain(|key, _| {
            matches!(
                key.as_str(),
                "name" | "labels" | "annotations" | "ownerReferences"
            )
        });
    }
    for key in ["apiVersion", "kind"] {
        copy.as_object_mut().map(|object| object.remove(key));
    }
    drop_clockwork(&mut copy);
    copy
}

fn drop_clockwork(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !CLOCKWORK.contains(&key.as_str()));
            map.values_mut().for_each(drop_clockwork);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_clockwork),
        _ => {}
    }
}

/// The manager of the field at `path`, by the object's `managedFields`.
fn kept_by<'a>(object: &'a Value, path: &str) -> Option<&'a str> {
    object["metadata"]["managedFields"]
        .as_array()?
        .iter()
        .find_map(|entry| {
            let mut fields = &entry["fieldsV1"];
            let mut walked = false;
            for token in path.split('/').skip(1) {
                let name = token.replace("~1", "/").replace("~0", "~");
                let member = fields
                    .as_object()?
                    .iter()
                    .find(|(key, _)| names(key, &name));
                let Some((_, inner)) = member else {
                    // A field that is kept as a whole ends the entry's tree above the path.
                    return (walked && fields.as_object()?.is_empty())
                        .then(|| entry["manager"].as_str())?;
                };
                (fields, walked) = (inner, true);
            }
            walked.then(|| entry["manager"].as_str())?
        })
}

/// Whether a key of `fieldsV1` (`f:status`, `k:{"type":"Ready"}`) is for the member called `name`.
fn names(key: &str, name: &str) -> bool {
    match key.split_once(':') {
        Some(("f", field)) => field == name,
        Some(("k", element)) => serde_json::from_str::<Value>(element).is_ok_and(|keys| {
            keys.as_object()
                .is_some_and(|keys| keys.values().any(|value| value == name))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::lines;
    use serde_json::{Value, json};

    fn stored() -> Value {
        json!({
            "metadata": {
                "name": "n1", "uid": "u", "labels": {"kubernetes.io/os": "windows"},
                "managedFields": [
                    {"manager": "admin", "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/os": {}}}}},
                    {"manager": "kubelet", "subresource": "status", "fieldsV1": {"f:status": {
                        "f:conditions": {"k:{\"type\":\"Ready\"}": {".": {}, "f:status": {}}},
                        "f:capacity": {"f:memory": {}}, "f:images": {}}}},
                ],
            },
            "spec": {},
            "status": {
                "conditions": [{"type": "Ready", "status": "False", "lastHeartbeatTime": "x"}, {"type": "Foreign"}],
                "capacity": {"memory": "1Gi"},
                "images": [{"names": ["a"]}],
            },
        })
    }

    #[test]
    fn a_line_says_where_what_and_whose() {
        let mut wanted = stored();
        wanted["metadata"]["labels"]["kubernetes.io/os"] = json!("linux");
        wanted["status"]["conditions"] = json!([{"type": "Foreign"}, {"type": "Ready", "status": "True", "lastHeartbeatTime": "y"}]);
        wanted["status"]["capacity"]["memory"] = json!("2Gi");
        wanted["status"]["images"][0]["names"] = json!(["b"]);
        let line = |path: &str, cluster: Value, computed: Value, kept_by: &str| json!({"object": "Node/n1", "path": path, "cluster": cluster, "computed": computed, "keptBy": kept_by});
        assert_eq!(
            lines("Node/n1", Some(&stored()), &wanted),
            [
                line(
                    "/metadata/labels/kubernetes.io~1os",
                    json!("windows"),
                    json!("linux"),
                    "admin"
                ),
                line(
                    "/status/capacity/memory",
                    json!("1Gi"),
                    json!("2Gi"),
                    "kubelet"
                ),
                line(
                    "/status/conditions/Ready/status",
                    json!("False"),
                    json!("True"),
                    "kubelet"
                ),
                line(
                    "/status/images",
                    json!([{"names": ["a"]}]),
                    json!([{"names": ["b"]}]),
                    "kubelet"
                ),
            ]
        );
    }

    #[test]
    fn what_is_only_on_one_side_is_told_value_by_value() {
        let mut wanted = stored();
        wanted["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
        wanted["status"]["features"] = json!({"supplementalGroupsPolicy": true});
        let paths: Vec<Value> = lines("Node/n1", Some(&stored()), &wanted)
            .iter()
            .map(|line| line["path"].clone())
            .collect();
        assert_eq!(
            paths,
            ["/status/features/supplementalGroupsPolicy"],
            "a condition without fields is nothing"
        );
    }

    #[test]
    fn nothing_differs_when_only_clockwork_moved() {
        let mut wanted = stored();
        wanted["status"]["conditions"][0]["lastHeartbeatTime"] = json!("later");
        assert!(lines("Node/n1", Some(&stored()), &wanted).is_empty());
    }

    #[test]
    fn an_object_that_is_not_there_is_one_line() {
        let lines = lines("Lease/n1", None, &json!({"spec": {}}));
        assert_eq!(
            lines,
            [json!({"object": "Lease/n1", "path": "", "cluster": null,
                                  "computed": {"spec": {}}, "keptBy": null})]
        );
    }
}
