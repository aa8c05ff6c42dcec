//! Strategic merge patches of Nodes, held against the real Go package on random Nodes. The seed is printed; give a
//! failing one back in `NODELET_TEST_SEED`.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails the test")]

mod support;

use nodelet::node::patch::{NODE, apply, node_status_patch, two_way_merge_diff};
use serde_json::{Map, Value, json};
use support::oracle::Oracle;
use support::statuses::{
    STATUS_FIELDS, change_rest, changed_status, conditions_of, node, repeat_conditions, seeded, set,
};

const ROUNDS: usize = 1500;

fn go_diff(old: &Value, new: &Value) -> Value {
    let answer = Oracle::shared().ask(&json!({"op": "diff", "old": old, "new": new}));
    assert_eq!(answer["error"], Value::Null, "{old}\n{new}");
    answer["value"].clone()
}

fn go_apply(old: &Value, patch: &Value) -> Result<Value, String> {
    let answer = Oracle::shared().ask(&json!({"op": "apply", "old": old, "patch": patch}));
    match answer["error"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(answer["value"].clone()),
    }
}

/// Without the empty lists and maps that Go's encoding leaves out.
fn pruned(node: &Value) -> Value {
    let mut node = node.clone();
    for (part, fields) in [
        ("metadata", &["labels", "annotations"][..]),
        ("status", &STATUS_FIELDS),
    ] {
        for name in fields {
            let value = &node[part][name];
            let empty = value.as_object().is_some_and(Map::is_empty)
                || value.as_array().is_some_and(Vec::is_empty);
            if empty && *name != "nodeInfo" {
                set(&mut node[part], name, None);
            }
        }
    }
    node
}

/// As the server stores it: it brings the addresses of a replaced list together by type.
fn stored(node: &Value) -> Value {
    let mut node = pruned(node);
    if let Some(list) = node.pointer_mut("/status/addresses") {
        let list = list.as_array_mut().unwrap();
        let types: Vec<Value> = list.iter().map(|address| address["type"].clone()).collect();
        list.sort_by_key(|address| types.iter().position(|type_| *type_ == address["type"]));
    }
    node
}

fn sorted_by_type(node: &Value) -> Value {
    let mut node = stored(node);
    if let Some(list) = conditions_of(&mut node) {
        list.sort_by_key(|condition| condition["type"].as_str().unwrap().to_owned());
    }
    node
}

#[test]
fn differences_are_those_of_go() {
    let mut random = seeded();
    for round in 0..ROUNDS {
        let mut old = node(&mut random);
        let mut new = if random.bool() {
            changed_status(&mut random, &old)
        } else {
            node(&mut random)
        };
        if random.bool() {
            change_rest(&mut random, &mut new);
        }
        if random.u8(..4) == 0 {
            repeat_conditions(&mut random, &mut old);
            repeat_conditions(&mut random, &mut new);
        }
        let ours = two_way_merge_diff(&old, &new, &NODE);
        assert_eq!(
            ours,
            go_diff(&old, &new),
            "round {round}\nold {old}\nnew {new}"
        );
    }
}

/// What kubelet would send: component-helpers' recipe over Go's own difference.
fn kubelet_patch(old: &Value, new: &Value) -> Value {
    let (old, mut new) = (pruned(old), pruned(new));
    let addresses = new["status"]["addresses"].clone();
    let stored = old["status"]["addresses"].as_array();
    let replaces = stored.is_some_and(|stored| addresses.as_array() != Some(stored));
    new["spec"] = old["spec"].clone();
    if replaces {
        new["status"]["addresses"] = old["status"]["addresses"].clone();
    }
    let mut patch = go_diff(&old, &new);
    if replaces {
        let mut list = addresses.as_array().cloned().unwrap_or_default();
        list.push(json!({"$patch": "replace"}));
        patch["status"]["addresses"] = json!(list);
    }
    // Orders of lists that did not change, which Go names when they are not sorted.
    set(&mut patch, "spec", None);
    if let Some(metadata) = patch["metadata"].as_object_mut() {
        metadata.remove("$setElementOrder/finalizers");
    }
    if patch["metadata"].as_object().is_none_or(Map::is_empty) {
        set(&mut patch, "metadata", None);
    }
    patch
}

#[test]
fn a_status_patch_is_what_kubelet_sends_and_makes_the_wanted_node() {
    let mut random = seeded();
    let mut unchanged = 0;
    for round in 0..ROUNDS {
        let old = node(&mut random);
        let new = if round % 20 == 0 {
            old.clone()
        } else {
            changed_status(&mut random, &old)
        };
        let kubelets = kubelet_patch(&old, &new);
        let Some(mut patch) = node_status_patch(&old, &new) else {
            unchanged += 1;
            assert_eq!(kubelets, json!({}), "round {round}\nold {old}\nnew {new}");
            continue;
        };
        let patched = go_apply(&pruned(&old), &patch).unwrap();
        assert_eq!(
            stored(&patched),
            stored(&new),
            "round {round}\nold {old}\npatch {patch}"
        );

        assert_eq!(patch["metadata"]["uid"], old["metadata"]["uid"]);
        set(&mut patch["metadata"], "uid", None);
        if patch["metadata"] == json!({}) {
            set(&mut patch, "metadata", None);
        }
        assert_eq!(patch, kubelets, "round {round}\nold {old}\nnew {new}");
    }
    assert!(
        (ROUNDS / 20..ROUNDS / 2).contains(&unchanged),
        "{unchanged}"
    );
}

#[test]
fn a_patch_over_conditions_of_one_type_makes_the_wanted_node() {
    let mut random = seeded();
    for round in 0..ROUNDS {
        let mut old = node(&mut random);
        repeat_conditions(&mut random, &mut old);
        let mut new = changed_status(&mut random, &old);
        if random.u8(..4) == 0 {
            repeat_conditions(&mut random, &mut new);
        }
        let Some(patch) = node_status_patch(&old, &new) else {
            continue;
        };
        let patched = go_apply(&pruned(&old), &patch)
            .unwrap_or_else(|error| panic!("round {round}: {error}\nold {old}\npatch {patch}"));
        assert_eq!(
            sorted_by_type(&patched),
            sorted_by_type(&new),
            "round {round}\nold {old}\npatch {patch}"
        );
    }
}

#[test]
fn patches_are_applied_as_go_does() {
    let mut random = seeded();
    let mut refused = 0;
    for round in 0..ROUNDS {
        let old = node(&mut random);
        let new = changed_status(&mut random, &old);
        let mut stored = if random.bool() {
            changed_status(&mut random, &old)
        } else {
            old.clone()
        };
        if random.u8(..4) == 0 {
            repeat_conditions(&mut random, &mut stored);
        }
        let mut patch = two_way_merge_diff(&old, &new, &NODE);
        if random.u8(..4) == 0
            && let Some(list) = conditions_of(&mut patch)
        {
            random.shuffle(list);
        }
        let ours = apply(&stored, &patch, &NODE);
        let go = go_apply(&stored, &patch);
        match (ours, go) {
            (Ok(ours), Ok(go)) => {
                assert_eq!(ours, go, "round {round}\nstored {stored}\npatch {patch}");
            }
            (Err(_), Err(_)) => refused += 1,
            (ours, go) => {
                panic!("round {round}: ours {ours:?}, Go's {go:?}\nstored {stored}\npatch {patch}")
            }
        }
    }
    assert!(refused > 0 && refused < ROUNDS / 2, "{refused} refused");
}
