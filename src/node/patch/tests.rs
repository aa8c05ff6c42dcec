use super::*;

/// The conditions that kubelet 1.36.3 created its Node with.
fn kubelet_conditions(heartbeat: &str) -> Value {
    let condition = |type_: &str, reason: &str, message: &str| {
        json!({"type": type_, "status": "False", "lastHeartbeatTime": heartbeat,
            "lastTransitionTime": "2026-11-30T06:19:21Z", "reason": reason, "message": message})
    };
    json!([
        condition(
            "MemoryPressure",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available"
        ),
        condition(
            "DiskPressure",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure"
        ),
        condition(
            "PIDPressure",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available"
        ),
        condition("Ready", "KubeletNotReady", "CSINode is not yet initialized"),
    ])
}

fn kubelet_node(heartbeat: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "vm", "labels": {"kubernetes.io/os": "linux"}},
        "spec": {},
        "status": {
            "capacity": {"cpu": "2", "memory": "24683656Ki", "pods": "110"},
            "conditions": kubelet_conditions(heartbeat),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        },
    })
}

fn node(status: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": status})
}

fn condition(type_: &str, message: &str) -> Value {
    json!({"type": type_, "status": "True", "message": message})
}

fn conditions(list: &[Value]) -> Value {
    node(&json!({"conditions": list}))
}

/// The patch, after making sure that the server makes the wanted Node of it.
fn patch(old: &Value, new: &Value) -> Option<Value> {
    let patch = node_status_patch(old, new);
    if let Some(patch) = &patch {
        assert_eq!(&apply(old, patch, &NODE).unwrap(), new);
    }
    patch
}

#[test]
fn nothing_is_sent_when_nothing_differs() {
    let node = kubelet_node("2026-11-30T06:19:21Z");
    assert_eq!(node_status_patch(&node, &node), None);
    assert_eq!(node_status_patch(&json!({}), &json!({})), None);
    assert_eq!(node_status_patch(&Value::Null, &Value::Null), None);
}

#[test]
fn absent_empty_and_null_do_not_differ() {
    let absent = node(&json!({}));
    let empty = node(&json!({"images": [], "capacity": {}, "conditions": null, "addresses": []}));
    assert_eq!(node_status_patch(&absent, &empty), None);
    assert_eq!(node_status_patch(&empty, &absent), None);
    assert_eq!(
        node_status_patch(&absent, &json!({"metadata": {"labels": {}}})),
        None
    );
}

#[test]
fn a_heartbeat_is_what_kubelet_sends() {
    let old = kubelet_node("2026-11-30T06:19:32Z");
    let new = kubelet_node("2026-11-30T06:25:08Z");
    let captured = r#"{"status":{"$setElementOrder/conditions":[{"type":"MemoryPressure"},{"type":"DiskPressure"},{"type":"PIDPressure"},{"type":"Ready"}],"conditions":[{"lastHeartbeatTime":"2026-11-30T06:25:08Z","type":"MemoryPressure"},{"lastHeartbeatTime":"2026-11-30T06:25:08Z","type":"DiskPressure"},{"lastHeartbeatTime":"2026-11-30T06:25:08Z","type":"PIDPressure"},{"lastHeartbeatTime":"2026-11-30T06:25:08Z","type":"Ready"}]}}"#;
    assert_eq!(patch(&old, &new).unwrap().to_string(), captured);
}

#[test]
fn a_changed_message_is_sent_with_the_heartbeats() {
    let old = kubelet_node("2026-11-30T06:19:21Z");
    let mut new = kubelet_node("2026-11-30T06:19:32Z");
    new["status"]["conditions"][3]["message"] = json!("cni plugin not initialized");
    let captured = r#"{"status":{"$setElementOrder/conditions":[{"type":"MemoryPressure"},{"type":"DiskPressure"},{"type":"PIDPressure"},{"type":"Ready"}],"conditions":[{"lastHeartbeatTime":"2026-11-30T06:19:32Z","type":"MemoryPressure"},{"lastHeartbeatTime":"2026-11-30T06:19:32Z","type":"DiskPressure"},{"lastHeartbeatTime":"2026-11-30T06:19:32Z","type":"PIDPressure"},{"lastHeartbeatTime":"2026-11-30T06:19:32Z","message":"cni plugin not initialized","type":"Ready"}]}}"#;
    assert_eq!(patch(&old, &new).unwrap().to_string(), captured);
}

#[test]
fn ready_that_flips_carries_all_that_changed() {
    let old = kubelet_node("2026-11-30T06:19:21Z");
    let mut new = kubelet_node("2026-11-30T06:19:21Z");
    let ready = &mut new["status"]["conditions"][3];
    ready["status"] = json!("True");
    ready["reason"] = json!("KubeletReady");
    ready["message"] = json!("kubelet is posting ready status");
    ready["lastTransitionTime"] = json!("2026-11-30T06:20:00Z");
    assert_eq!(
        patch(&old, &new).unwrap()["status"]["conditions"],
        json!([{"type": "Ready", "status": "True", "reason": "KubeletReady",
            "message": "kubelet is posting ready status", "lastTransitionTime": "2026-11-30T06:20:00Z"}])
    );
}

#[test]
fn without_stored_conditions_the_list_is_sent_whole_and_without_an_order() {
    let old = node(&json!({}));
    let new = conditions(&[condition("Ready", ""), condition("MemoryPressure", "")]);
    assert_eq!(
        patch(&old, &new),
        Some(json!({"status": {"conditions": new["status"]["conditions"]}}))
    );
}

#[test]
fn a_removed_condition_is_deleted_at_the_end_of_the_list() {
    let old = conditions(&[condition("A", ""), condition("B", ""), condition("C", "")]);
    let new = conditions(&[condition("B", ""), condition("C", "changed")]);
    assert_eq!(
        patch(&old, &new).unwrap()["status"],
        json!({
            "$setElementOrder/conditions": [{"type": "B"}, {"type": "C"}],
            "conditions": [{"type": "C", "message": "changed"}, {"type": "A", "$patch": "delete"}],
        })
    );
}

#[test]
fn a_changed_order_of_conditions_is_only_an_order_list() {
    let old = conditions(&[condition("A", ""), condition("B", "")]);
    let new = conditions(&[condition("B", ""), condition("A", "")]);
    assert_eq!(
        patch(&old, &new).unwrap()["status"],
        json!({"$setElementOrder/conditions": [{"type": "B"}, {"type": "A"}]})
    );
}

#[test]
fn a_condition_that_another_writer_added_meanwhile_is_kept() {
    let cached = conditions(&[condition("MemoryPressure", "1"), condition("Ready", "1")]);
    let wanted = conditions(&[condition("MemoryPressure", "2"), condition("Ready", "2")]);
    let stored = conditions(&[
        condition("MemoryPressure", "1"),
        condition("KernelDeadlock", "theirs"),
        condition("Ready", "1"),
    ]);
    let patch = patch(&cached, &wanted).unwrap();
    assert_eq!(
        apply(&stored, &patch, &NODE).unwrap()["status"]["conditions"],
        json!([
            condition("MemoryPressure", "2"),
            condition("KernelDeadlock", "theirs"),
            condition("Ready", "2"),
        ])
    );
}

#[test]
fn a_removed_key_is_null_and_a_changed_quantity_is_just_that_key() {
    let old = node(&json!({"capacity": {"cpu": "4", "memory": "8Gi", "hugepages-2Mi": "0"}}));
    let new = node(&json!({"capacity": {"cpu": "4", "memory": "16Gi"}}));
    assert_eq!(
        patch(&old, &new),
        Some(json!({"status": {"capacity": {"memory": "16Gi", "hugepages-2Mi": null}}}))
    );
}

#[test]
fn labels_and_annotations_are_sent_and_other_metadata_is_not() {
    let old = json!({"metadata": {"name": "n1", "resourceVersion": "1", "finalizers": ["b", "a"],
        "labels": {"kept": "1", "removed": "1"}}});
    let new = json!({"metadata": {"name": "n1", "resourceVersion": "2", "finalizers": [],
        "labels": {"kept": "1"}, "annotations": {"nodelet/instance": "x"}}});
    assert_eq!(
        node_status_patch(&old, &new),
        Some(json!({"metadata": {"labels": {"removed": null},
            "annotations": {"nodelet/instance": "x"}}}))
    );
}

#[test]
fn the_last_label_and_the_last_field_of_the_status_can_go() {
    let old = json!({"metadata": {"uid": "u-1", "labels": {"a": "1"}}, "status": {"phase": "p"}});
    assert_eq!(
        node_status_patch(&old, &json!({"metadata": {"uid": "u-1"}})),
        Some(json!({"metadata": {"uid": "u-1", "labels": null}, "status": {"phase": null}}))
    );
}

#[test]
fn the_spec_is_never_patched() {
    let old = json!({"spec": {"podCIDRs": ["fd00::/64", "10.0.0.0/24"], "taints": []}});
    let new = json!({"spec": {"podCIDRs": ["10.0.0.0/24"], "unschedulable": true}});
    assert_eq!(node_status_patch(&old, &new), None);
}

#[test]
fn atomic_lists_are_sent_whole() {
    let old = node(
        &json!({"images": [{"names": ["a"], "sizeBytes": 1}], "volumesInUse": ["v1"],
        "declaredFeatures": ["A"], "runtimeHandlers": [{"name": ""}]}),
    );
    let new = node(
        &json!({"images": [{"names": ["b"], "sizeBytes": 2}, {"names": ["a"], "sizeBytes": 1}],
        "volumesInUse": ["v1", "v2"], "declaredFeatures": ["A", "B"],
        "runtimeHandlers": [{"name": ""}, {"name": "kata"}]}),
    );
    assert_eq!(patch(&old, &new).unwrap()["status"], new["status"]);
}

#[test]
fn daemon_endpoints_keep_their_capital_port() {
    let old = node(&json!({"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}}));
    let new = node(&json!({"daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}}));
    assert_eq!(
        patch(&old, &new).unwrap().to_string(),
        r#"{"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":10250}}}}"#
    );
}

#[test]
fn the_uid_goes_with_every_patch_and_never_alone() {
    let with_uid = |cpu: &str| json!({"metadata": {"name": "n1", "uid": "u-1"}, "status": {"capacity": {"cpu": cpu}}});
    assert_eq!(
        patch(&with_uid("1"), &with_uid("2")),
        Some(json!({"metadata": {"uid": "u-1"}, "status": {"capacity": {"cpu": "2"}}}))
    );
    assert_eq!(patch(&with_uid("1"), &with_uid("1")), None);
}

fn address(type_: &str, address: &str) -> Value {
    json!({"type": type_, "address": address})
}

fn internal(last: u8) -> Value {
    address("InternalIP", &format!("127.0.0.{last}"))
}

fn hostname() -> Value {
    address("Hostname", "n1")
}

/// Patches one list of addresses into another; the server's list must be `after` exactly.
fn patch_addresses(before: Option<&[Value]>, after: Option<&[Value]>) -> Option<Value> {
    let status = |addresses: Option<&[Value]>| match addresses {
        Some(list) => node(&json!({"phase": "p", "addresses": list})),
        None => node(&json!({"phase": "p"})),
    };
    let patch = node_status_patch(&status(before), &status(after));
    let patched = apply(&status(before), patch.as_ref().unwrap_or(&json!({})), &NODE).unwrap();
    assert_eq!(list_at(&patched, "addresses"), after.unwrap_or_default());
    patch
}

fn replaced_by(addresses: &[Value]) -> Value {
    json!({"status": {"addresses": replacing(addresses.to_vec())}})
}

#[test]
fn test_update_node_addresses_from_nil() {
    let after = [internal(1), hostname()];
    let patch = patch_addresses(None, Some(&after));
    assert_eq!(patch, Some(json!({"status": {"addresses": after}})));
}

#[test]
fn test_update_node_addresses_from_empty() {
    let after = [internal(1), hostname()];
    let patch = patch_addresses(Some(&[]), Some(&after));
    assert_eq!(patch, Some(json!({"status": {"addresses": after}})));
}

#[test]
fn test_update_node_addresses_to_nil() {
    let patch = patch_addresses(Some(&[internal(1), hostname()]), None);
    assert_eq!(patch, Some(replaced_by(&[])));
}

#[test]
fn test_update_node_addresses_to_empty() {
    let patch = patch_addresses(Some(&[internal(1), hostname()]), Some(&[]));
    assert_eq!(patch, Some(replaced_by(&[])));
}

#[test]
fn test_update_node_addresses_to_the_same() {
    let same = [internal(1), internal(2), internal(3), hostname()];
    assert_eq!(patch_addresses(Some(&same), Some(&same)), None);
}

#[test]
fn test_update_node_addresses_to_the_same_with_other_labels() {
    let mut old = node(&json!({"addresses": [internal(1), internal(2), hostname()]}));
    let mut new = old.clone();
    old["metadata"]["labels"] = json!({"kubernetes.io/hostname": "n1"});
    new["metadata"]["labels"] =
        json!({"kubernetes.io/hostname": "n1", "kubernetes.io/os": "linux"});
    assert_eq!(
        patch(&old, &new),
        Some(json!({"metadata": {"labels": {"kubernetes.io/os": "linux"}}}))
    );
}

#[test]
fn test_update_node_addresses_with_one_more_of_a_type() {
    let after = [internal(1), internal(2), hostname()];
    let patch = patch_addresses(Some(&[internal(1), hostname()]), Some(&after));
    assert_eq!(patch, Some(replaced_by(&after)));
}

#[test]
fn test_update_node_addresses_with_one_less_of_a_type() {
    let after = [internal(1), hostname()];
    let patch = patch_addresses(Some(&[internal(1), internal(2), hostname()]), Some(&after));
    assert_eq!(patch, Some(replaced_by(&after)));
}

#[test]
fn test_update_node_addresses_with_others_of_a_type() {
    let after = [internal(3), internal(4), hostname()];
    let patch = patch_addresses(Some(&[internal(1), internal(2), hostname()]), Some(&after));
    assert_eq!(patch, Some(replaced_by(&after)));
}

#[test]
fn test_update_node_addresses_in_another_order() {
    let after = [internal(2), internal(1), hostname()];
    let patch = patch_addresses(Some(&[internal(1), internal(2), hostname()]), Some(&after));
    assert_eq!(patch, Some(replaced_by(&after)));
}

/// C92: a type stored twice by some other writer, and what kubelet's order list makes of it.
#[test]
fn c92_a_foreign_type_stored_twice_is_left_alone_and_no_order_is_sent() {
    let list = |heartbeat: &str| {
        conditions(&[
            condition("CpuPressure", "1"),
            condition("CpuUnderload", "1"),
            condition("CpuPressure", "2"),
            condition("CpuUnderload", "2"),
            condition("MemoryPressure", heartbeat),
            condition("Ready", heartbeat),
        ])
    };
    let patch = node_status_patch(&list("old"), &list("new")).unwrap();
    assert_eq!(
        patch,
        json!({"status": {"conditions": [
            {"type": "MemoryPressure", "message": "new"},
            {"type": "Ready", "message": "new"},
        ]}})
    );
    // The server itself brings equal types together; nothing is lost.
    assert_eq!(
        apply(&list("old"), &patch, &NODE).unwrap(),
        conditions(&[
            condition("CpuPressure", "1"),
            condition("CpuPressure", "2"),
            condition("CpuUnderload", "1"),
            condition("CpuUnderload", "2"),
            condition("MemoryPressure", "new"),
            condition("Ready", "new"),
        ])
    );
    assert_eq!(node_status_patch(&list("same"), &list("same")), None);
}

#[test]
fn c92_an_own_type_stored_twice_collapses_to_one() {
    let old = conditions(&[
        condition("Ready", "1"),
        condition("Other", "1"),
        condition("Ready", "2"),
    ]);
    let new = conditions(&[condition("Ready", "3"), condition("Other", "1")]);
    let patch = patch(&old, &new).unwrap();
    assert_eq!(
        patch,
        json!({"status": {"conditions": [
            condition("Ready", "3"), {"type": "Ready", "$patch": "delete"},
        ]}})
    );
}

#[test]
fn c92_other_changes_beside_a_type_stored_twice() {
    let old = conditions(&[
        condition("A", "1"),
        condition("A", "2"),
        condition("Gone", ""),
        condition("Ready", "1"),
    ]);
    let new = conditions(&[
        condition("A", "1"),
        condition("A", "2"),
        condition("Ready", "1"),
        condition("Added", ""),
    ]);
    assert_eq!(
        node_status_patch(&old, &new),
        Some(json!({"status": {"conditions": [
            condition("Added", ""), {"type": "Gone", "$patch": "delete"},
        ]}}))
    );
}

#[test]
fn c92_two_changed_conditions_of_one_type_replace_the_list() {
    let old = conditions(&[
        condition("A", "1"),
        condition("A", "2"),
        condition("Ready", "1"),
    ]);
    let new = conditions(&[
        condition("A", "3"),
        condition("A", "2"),
        condition("Ready", "1"),
    ]);
    let patch = patch(&old, &new).unwrap();
    assert_eq!(
        patch["status"]["conditions"].as_array().unwrap().last(),
        Some(&json!({"$patch": "replace"}))
    );
}

#[test]
fn sets_are_patched_by_element() {
    let finalizers = |list: &[&str]| json!({"metadata": {"finalizers": list}});
    let old = finalizers(&["a", "b"]);
    let new = finalizers(&["c", "b"]);
    let patch = two_way_merge_diff(&old, &new, &NODE);
    assert_eq!(
        patch,
        json!({"metadata": {
            "$setElementOrder/finalizers": ["c", "b"],
            "$deleteFromPrimitiveList/finalizers": ["a"],
            "finalizers": ["c"],
        }})
    );
    assert_eq!(apply(&old, &patch, &NODE), Ok(new));
}

#[test]
fn owner_references_are_merged_by_uid() {
    let owners = |list: Value| json!({"metadata": {"ownerReferences": list}});
    let old = owners(json!([{"uid": "1", "name": "a"}, {"uid": "2", "name": "b"}]));
    let new = owners(json!([{"uid": "1", "name": "a"}, {"uid": "2", "name": "c"}]));
    let patch = two_way_merge_diff(&old, &new, &NODE);
    assert_eq!(
        patch["metadata"]["ownerReferences"],
        json!([{"uid": "2", "name": "c"}])
    );
    assert_eq!(apply(&old, &patch, &NODE), Ok(new));
}

#[test]
fn the_server_refuses_what_it_cannot_merge() {
    let stored = conditions(&[condition("A", ""), condition("B", "")]);
    let refused = |patch: Value| apply(&stored, &json!({"status": patch}), &NODE).unwrap_err();
    assert_eq!(
        refused(json!({
            "$setElementOrder/conditions": [{"type": "A"}, {"type": "B"}],
            "conditions": [{"type": "B", "message": "x"}, {"type": "A", "message": "x"}],
        })),
        PatchError::OrderMismatch("conditions".to_owned())
    );
    assert_eq!(
        refused(json!({"conditions": [{"message": "x"}]})),
        PatchError::NoMergeKey {
            list: "conditions".to_owned(),
            key: "type".to_owned()
        }
    );
    assert_eq!(
        refused(json!({"$setElementOrder/conditions": "A"})),
        PatchError::WrongKind("conditions".to_owned())
    );
    assert_eq!(
        refused(json!({"$patch": "paint"})),
        PatchError::UnknownDirective("paint".to_owned())
    );
    assert_eq!(
        refused(json!({"$setElementOrder/addresses": [], "addresses": []})),
        PatchError::NothingToOrder("addresses".to_owned())
    );
}
