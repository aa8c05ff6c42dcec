//! The Lease, as far as one round goes.

use crate::stored_node;
use crate::support::recording::Recording;
use serde_json::{Value, json};

fn lease(renewed: &str, owner: &str) -> Value {
    json!({
        "metadata": {"name": "n1", "resourceVersion": "7", "ownerReferences": [
            {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": owner},
        ]},
        "spec": {"holderIdentity": "n1", "leaseDurationSeconds": 40, "renewTime": renewed},
    })
}

#[test]
fn c95_no_lease_without_a_node() {
    for stored in [Value::Null, lease("2026-11-30T06:59:50.000000Z", "old")] {
        let finished = Recording::new()
            .setting("registerNode", json!(false))
            .fact("cluster", json!({"node": null, "lease": stored}))
            .replay("patch");
        assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
        assert_eq!(finished.stdout, "");
        assert!(
            finished.stderr.contains("There is no Node"),
            "{}",
            finished.stderr
        );
    }
}

#[test]
fn c96_a_lease_of_an_earlier_node_gets_the_new_owner() {
    let mut node = stored_node(&json!({}));
    node["metadata"]["uid"] = json!("new");
    let lines = Recording::new()
        .fact(
            "cluster",
            json!({"node": node, "lease": lease("2024-01-01T00:00:00.000000Z", "old")}),
        )
        .lines("patch");
    assert_eq!(lines[1]["verb"], "update");
    assert_eq!(lines[1]["body"]["metadata"]["resourceVersion"], "7");
    assert_eq!(
        lines[1]["body"]["metadata"]["ownerReferences"],
        json!([{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "new"}])
    );
}

#[test]
fn c98_a_renewal_is_newer_than_what_is_stored() {
    let items = Recording::new()
        .fact(
            "cluster",
            json!({"node": stored_node(&json!({})), "lease": lease("2026-11-30T08:00:00.000000Z", "u1")}),
        )
        .items();
    assert_eq!(items[1]["spec"]["renewTime"], "2026-11-30T08:00:00.000001Z");
}
