//! The Lease as an object: what a renewal changes in it and what it keeps.

use super::LeaseSettings;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

/// The Lease that a renewal at `now` wants.
///
/// Without a `base` it is new. Of a `base` the holder, other owners and every field that nodelet does not know stay;
/// duration and time are set, and the owner reference names the Node with `uid`. The time always moves forward: a
/// controller takes one that does not for silence (C98).
pub fn renewed(base: Option<&Value>, settings: &LeaseSettings, uid: &str, now: Timestamp) -> Value {
    let mut lease = base.cloned().unwrap_or_else(|| {
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": settings.node_name, "namespace": "kube-node-lease"},
            "spec": {"holderIdentity": settings.node_name},
        })
    });
    let metadata = object(&mut lease, "metadata");
    // Not sent back: leaving it out changes nothing, and it is most of the bytes.
    metadata.remove("managedFields");
    set_owner(metadata, &settings.node_name, uid);
    let spec = object(&mut lease, "spec");
    let earliest = spec
        .get("renewTime")
        .and_then(Value::as_str)
        .and_then(|text| text.parse::<Timestamp>().ok())
        .and_then(|stored| stored.checked_add(SignedDuration::from_micros(1)).ok());
    let time = earliest.map_or(now, |earliest| earliest.max(now));
    spec.insert("renewTime".to_owned(), Value::String(micro_time(time)));
    spec.insert(
        "leaseDurationSeconds".to_owned(),
        settings.duration_seconds.into(),
    );
    lease
}

/// Whether a Lease was renewed less than its duration ago, seen from `now`.
pub fn is_alive(lease: &Value, now: Timestamp) -> bool {
    let spec = &lease["spec"];
    let renewed = spec["renewTime"]
        .as_str()
        .and_then(|text| text.parse::<Timestamp>().ok());
    let duration = SignedDuration::from_secs(spec["leaseDurationSeconds"].as_i64().unwrap_or(0));
    renewed.is_some_and(|renewed| now.duration_since(renewed) < duration)
}

/// The field manager that renewed a Lease last.
pub fn renewer(lease: &Value) -> Option<&str> {
    let entries = lease["metadata"]["managedFields"].as_array()?;
    let renews = |entry: &&Value| !entry["fieldsV1"]["f:spec"]["f:renewTime"].is_null();
    entries.iter().find(renews)?["manager"].as_str()
}

/// `metav1.MicroTime`: UTC with exactly six digits.
pub fn micro_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// The object under `key`, made where it is missing or something else.
fn object<'a>(value: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let slot = &mut value[key];
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// Makes the owner references name the Node with `uid` once, without touching other owners.
fn set_owner(metadata: &mut Map<String, Value>, name: &str, uid: &str) {
    let mut owners = match metadata.remove("ownerReferences") {
        Some(Value::Array(owners)) => owners,
        _ => Vec::new(),
    };
    let is_own = |owner: &Value| owner["kind"] == "Node" && owner["name"] == name;
    if !owners
        .iter()
        .any(|owner| is_own(owner) && owner["uid"] == uid)
    {
        owners.retain(|owner| !is_own(owner));
        owners.push(json!({"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}));
    }
    metadata.insert("ownerReferences".to_owned(), Value::Array(owners));
}

#[cfg(test)]
mod tests {
    use super::{LeaseSettings, micro_time, renewed};
    use serde_json::{Value, json};

    const NOW: &str = "2026-11-30T06:19:42.096137Z";

    fn settings() -> LeaseSettings {
        LeaseSettings {
            node_name: "n1".to_owned(),
            duration_seconds: 40,
        }
    }

    fn renew(base: Option<&Value>) -> Value {
        renewed(base, &settings(), "u1", NOW.parse().unwrap())
    }

    fn stored(owners: &Value, renew_time: &str) -> Value {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "n1", "namespace": "kube-node-lease", "resourceVersion": "7",
                         "ownerReferences": owners, "managedFields": [{"manager": "x"}]},
            "spec": {"holderIdentity": "n1", "leaseDurationSeconds": 123, "renewTime": renew_time, "strategy": "x"},
        })
    }

    fn own(uid: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": uid})
    }

    #[test]
    fn test_new_node_lease_without_a_base() {
        assert_eq!(
            renew(None),
            json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": "n1", "namespace": "kube-node-lease", "ownerReferences": [own("u1")]},
                "spec": {"holderIdentity": "n1", "leaseDurationSeconds": 40, "renewTime": NOW},
            })
        );
    }

    #[test]
    fn test_new_node_lease_base_without_owner_gets_it_and_the_configured_duration() {
        let lease = renew(Some(&stored(&json!([]), "2026-11-30T06:19:32.096137Z")));
        assert_eq!(lease["metadata"]["ownerReferences"], json!([own("u1")]));
        assert_eq!(lease["spec"]["leaseDurationSeconds"], 40);
        assert_eq!(lease["spec"]["renewTime"], NOW);
        assert_eq!(lease["spec"]["strategy"], "x");
        assert_eq!(lease["metadata"]["resourceVersion"], "7");
        assert_eq!(lease["metadata"].get("managedFields"), None);
    }

    #[test]
    fn test_new_node_lease_base_with_owner_keeps_it_untouched() {
        let mut owner = own("u1");
        owner["controller"] = json!(true);
        let lease = renew(Some(&stored(
            &json!([owner]),
            "2026-11-30T06:19:32.096137Z",
        )));
        assert_eq!(lease["metadata"]["ownerReferences"], json!([owner]));
    }

    #[test]
    fn c96_a_stale_owner_is_healed_and_foreign_owners_stay() {
        let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "c"});
        let lease = renew(Some(&stored(
            &json!([own("old"), foreign]),
            "2026-11-30T06:19:32.096137Z",
        )));
        assert_eq!(
            lease["metadata"]["ownerReferences"],
            json!([foreign, own("u1")])
        );
    }

    #[test]
    fn a_holder_that_somebody_changed_stays_changed() {
        let mut base = stored(&json!([own("u1")]), "2026-11-30T06:19:32.096137Z");
        base["spec"]["holderIdentity"] = json!("other");
        assert_eq!(renew(Some(&base))["spec"]["holderIdentity"], "other");
    }

    #[test]
    fn c98_a_clock_that_went_back_still_moves_the_renew_time_forward() {
        let lease = renew(Some(&stored(
            &json!([own("u1")]),
            "2026-11-30T07:19:42.096137Z",
        )));
        assert_eq!(lease["spec"]["renewTime"], "2026-11-30T07:19:42.096138Z");
    }

    #[test]
    fn a_stored_lease_of_any_shape_is_survived() {
        for base in [
            json!({}),
            json!({"metadata": null, "spec": null}),
            json!({"spec": {"renewTime": 5}}),
        ] {
            let lease = renew(Some(&base));
            assert_eq!(lease["spec"]["renewTime"], NOW, "{base}");
            assert_eq!(
                lease["metadata"]["ownerReferences"],
                json!([own("u1")]),
                "{base}"
            );
        }
    }

    #[test]
    fn a_micro_time_has_six_digits() {
        assert_eq!(
            micro_time("2026-11-30T06:19:42Z".parse().unwrap()),
            "2026-11-30T06:19:42.000000Z"
        );
    }
}
