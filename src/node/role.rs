//! Who keeps a Node, and whether nodelet may (DESIGN §2). Two owners never duel.

use crate::api::request::FIELD_MANAGER;
use crate::config::settings::Role;
use crate::gather::Snapshot;
use crate::lease::object;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

/// The annotation by which an owner says which machine it runs on.
pub const INSTANCE_ANNOTATION: &str = "nodelet/instance";

/// Who keeps a Node's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keeper {
    /// Nobody yet.
    Nobody,
    /// nodelet on this machine.
    This,
    /// nodelet on a machine with this other instance value.
    OtherInstance(String),
    /// Another program, by its field manager.
    Other(String),
    /// Nobody, or somebody who left no name.
    Untracked,
}

/// What nodelet is to the Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It keeps the status and the Lease.
    Owner,
    /// Another does; nodelet only looks.
    Companion,
}

impl Keeper {
    /// Whether it takes a look at the Lease to know if this keeper lives.
    pub fn shows_by_its_lease(&self) -> bool {
        matches!(self, Self::OtherInstance(_) | Self::Untracked)
    }

    /// Whether this keeper lives, by its Lease. Of a Node that does not say who keeps it, a Lease that nodelet renews
    /// is that of the Node before it: another nodelet would have left its name.
    pub fn lives(&self, lease: Option<&Value>, now: Timestamp) -> bool {
        let alive = lease.filter(|lease| object::is_alive(lease, now));
        match self {
            Self::OtherInstance(_) => alive.is_some(),
            Self::Untracked => {
                alive.is_some_and(|lease| object::renewer(lease) != Some(FIELD_MANAGER))
            }
            Self::Nobody | Self::This | Self::Other(_) => false,
        }
    }
}

/// Why the configured role is refused (exit code 3).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another program keeps the Node.
    #[error("role owner is refused: {0} keeps this Node's status")]
    KeptByOther(String),
    /// Somebody renews the Lease of a Node that does not say who keeps it.
    #[error("role owner is refused: this Node does not say who keeps it, and its Lease is alive")]
    KeptByUnknown,
    /// Another machine with the same node name is alive.
    #[error(
        "role owner is refused: nodelet on another machine ({0}) keeps this Node and its Lease is alive"
    )]
    OtherMachine(String),
}

/// The value of [`INSTANCE_ANNOTATION`] for a machine: a hash, because a machine-id is confidential (machine-id(5)).
/// Empty for a machine without an id.
pub fn instance(machine_id: &str) -> String {
    use std::fmt::Write;
    if machine_id.is_empty() {
        return String::new();
    }
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, machine_id.as_bytes());
    let tag = ring::hmac::sign(&key, INSTANCE_ANNOTATION.as_bytes());
    tag.as_ref()
        .iter()
        .take(16)
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// [`instance`] of the machine that `snapshot` is of; empty where its id is not known.
pub fn instance_of(snapshot: &Snapshot) -> String {
    let machine_id = snapshot.machine_id.get();
    machine_id.map(|id| instance(id)).unwrap_or_default()
}

/// Who keeps `node`: the manager of the Ready condition's heartbeat in an entry of the status subresource. The node
/// lifecycle controller takes over a dead node's status and reason, but never its heartbeat; only where nobody ever
/// posted one does it write one itself, and says so in the reason.
///
/// The apiserver does not track the fields of a Node that was created with nothing but a name: there, only the Lease can
/// tell.
pub fn keeper(node: &Node, instance: &str) -> Keeper {
    let never_posted = ready_reason(node) == Some(NEVER_POSTED);
    let untracked = node
        .metadata
        .managed_fields
        .as_ref()
        .is_none_or(Vec::is_empty);
    let managers: Vec<&str> = node
        .metadata
        .managed_fields
        .iter()
        .flatten()
        .filter(|entry| !never_posted && keeps_heartbeat(entry))
        .filter_map(|entry| entry.manager.as_deref())
        .collect();
    let annotated = node
        .metadata
        .annotations
        .as_ref()
        .and_then(|annotations| annotations.get(INSTANCE_ANNOTATION))
        .map(String::as_str);
    match (managers.as_slice(), annotated) {
        ([], None) if untracked => Keeper::Untracked,
        ([], None) => Keeper::Nobody,
        ([] | [FIELD_MANAGER], Some(annotated)) if annotated != instance => {
            Keeper::OtherInstance(annotated.to_owned())
        }
        ([] | [FIELD_MANAGER], _) => Keeper::This,
        ([other], _) => Keeper::Other((*other).to_owned()),
        (mixed, _) => Keeper::Other(mixed.join(" and ")),
    }
}

/// The reason of the Ready condition that the node lifecycle controller gives a Node without one
/// (`pkg/controller/nodelifecycle/node_lifecycle_controller.go`).
const NEVER_POSTED: &str = "NodeStatusNeverUpdated";

/// The reason of the Ready condition; `None` where there is no such condition.
fn ready_reason(node: &Node) -> Option<&str> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")?;
    Some(ready.reason.as_deref().unwrap_or_default())
}

fn keeps_heartbeat(entry: &ManagedFieldsEntry) -> bool {
    entry.subresource.as_deref() == Some("status")
        && entry.fields_v1.as_ref().is_some_and(|fields| {
            fields.0["f:status"]["f:conditions"][r#"k:{"type":"Ready"}"#]
                .get("f:lastHeartbeatTime")
                .is_some()
        })
}

/// What nodelet is to a Node under the configured role. `lives` says whether the keeper does ([`Keeper::lives`]).
///
/// # Errors
/// `role: owner` where somebody else keeps the Node.
pub fn standing(role: Role, keeper: &Keeper, lives: bool) -> Result<Standing, Refusal> {
    match (role, keeper) {
        (Role::Auto | Role::Owner, Keeper::This) | (Role::Owner, Keeper::Nobody) => {
            Ok(Standing::Owner)
        }
        (Role::Auto | Role::Companion, _) => Ok(Standing::Companion),
        (Role::Owner, Keeper::Other(manager)) => Err(Refusal::KeptByOther(manager.clone())),
        (Role::Owner, Keeper::OtherInstance(other)) if lives => {
            Err(Refusal::OtherMachine(other.clone()))
        }
        (Role::Owner, Keeper::Untracked) if lives => Err(Refusal::KeptByUnknown),
        (Role::Owner, Keeper::OtherInstance(_) | Keeper::Untracked) => Ok(Standing::Owner),
    }
}

#[cfg(test)]
mod tests {
    use super::{INSTANCE_ANNOTATION, Keeper, Refusal, Standing, instance, keeper, standing};
    use crate::config::settings::Role;
    use k8s_openapi::api::core::v1::Node;
    use serde_json::{Value, json};

    fn entry(manager: &str, subresource: Option<&str>, fields: &Value) -> Value {
        let mut entry = json!({"manager": manager, "operation": "Update", "apiVersion": "v1",
                               "fieldsType": "FieldsV1", "fieldsV1": fields});
        if let Some(subresource) = subresource {
            entry["subresource"] = json!(subresource);
        }
        entry
    }

    fn heartbeat() -> Value {
        json!({"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {"f:lastHeartbeatTime": {}}}}})
    }

    fn node(entries: &[Value], annotation: Option<&str>) -> Node {
        let mut node = json!({"metadata": {"name": "n1", "managedFields": entries}});
        if let Some(annotation) = annotation {
            node["metadata"]["annotations"] = json!({INSTANCE_ANNOTATION: annotation});
        }
        serde_json::from_value(node).unwrap()
    }

    #[test]
    fn the_heartbeat_says_who_keeps_a_node() {
        let lifecycle = entry(
            "kube-controller-manager",
            Some("status"),
            &json!({"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {"f:status": {}}}}}),
        );
        let kubelet = entry("kubelet", Some("status"), &heartbeat());
        let own = entry("nodelet", Some("status"), &heartbeat());
        let creation = entry("nodelet", None, &json!({"f:metadata": {}}));
        let other = |name: &str| Keeper::Other(name.to_owned());
        for (row, node, expected) in [
            (
                "only created, by an administrator",
                node(&[entry("kubectl", None, &json!({"f:metadata": {}}))], None),
                Keeper::Nobody,
            ),
            (
                "only created, ours",
                node(std::slice::from_ref(&creation), Some("me")),
                Keeper::This,
            ),
            (
                "only created, another's",
                node(&[creation], Some("you")),
                Keeper::OtherInstance("you".to_owned()),
            ),
            (
                "a living kubelet",
                node(std::slice::from_ref(&kubelet), None),
                other("kubelet"),
            ),
            (
                "a dead kubelet",
                node(&[kubelet.clone(), lifecycle.clone()], None),
                other("kubelet"),
            ),
            (
                "ours",
                node(std::slice::from_ref(&own), Some("me")),
                Keeper::This,
            ),
            (
                "ours, then dead",
                node(&[own.clone(), lifecycle], Some("me")),
                Keeper::This,
            ),
            (
                "another machine",
                node(std::slice::from_ref(&own), Some("you")),
                Keeper::OtherInstance("you".to_owned()),
            ),
            (
                "mixed",
                node(&[kubelet, own], Some("me")),
                other("kubelet and nodelet"),
            ),
        ] {
            assert_eq!(keeper(&node, "me"), expected, "{row}");
        }
    }

    #[test]
    fn a_node_whose_fields_are_not_tracked_is_known_by_its_annotation_or_its_lease() {
        assert_eq!(keeper(&node(&[], None), "me"), Keeper::Untracked);
        assert_eq!(keeper(&node(&[], Some("me")), "me"), Keeper::This);
    }

    #[test]
    fn a_lease_that_nodelet_renews_says_nothing_of_a_node_that_is_new() {
        let now = "2026-11-30T07:00:00Z".parse().unwrap();
        let lease = |manager: &str, time: &str| {
            json!({"spec": {"leaseDurationSeconds": 40, "renewTime": time}, "metadata": {"managedFields": [
                {"manager": "x", "fieldsV1": {"f:metadata": {}}},
                {"manager": manager, "fieldsV1": {"f:spec": {"f:renewTime": {}}}}]}})
        };
        let (fresh, old) = ("2026-11-30T06:59:50.000000Z", "2026-11-30T06:59:20.000000Z");
        let twin = Keeper::OtherInstance("you".to_owned());
        for (keeper, lease, lives) in [
            (&Keeper::Untracked, Some(lease("kubelet", fresh)), true),
            (&Keeper::Untracked, Some(lease("kubelet", old)), false),
            (&Keeper::Untracked, Some(lease("nodelet", fresh)), false),
            (&Keeper::Untracked, None, false),
            (&twin, Some(lease("nodelet", fresh)), true),
            (&twin, Some(lease("nodelet", old)), false),
            (&Keeper::Nobody, Some(lease("kubelet", fresh)), false),
        ] {
            assert_eq!(
                keeper.lives(lease.as_ref(), now),
                lives,
                "{keeper:?} {lease:?}"
            );
        }
    }

    #[test]
    fn what_the_lifecycle_controller_writes_where_nobody_posted_keeps_no_node() {
        let controller = entry("kube-controller-manager", Some("status"), &heartbeat());
        let mut node = node(&[controller], None);
        let status = json!({"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusNeverUpdated"}]});
        node.status = Some(serde_json::from_value(status).unwrap());
        assert_eq!(keeper(&node, "me"), Keeper::Nobody);
    }

    #[test]
    fn only_the_owner_role_takes_a_node_that_nobody_keeps() {
        let other = Keeper::Other("kubelet".to_owned());
        let machine = Keeper::OtherInstance("you".to_owned());
        for (role, keeper, alive, expected) in [
            (Role::Owner, Keeper::Nobody, false, Ok(Standing::Owner)),
            (Role::Owner, Keeper::This, true, Ok(Standing::Owner)),
            (
                Role::Owner,
                other.clone(),
                false,
                Err(Refusal::KeptByOther("kubelet".to_owned())),
            ),
            (
                Role::Owner,
                machine.clone(),
                true,
                Err(Refusal::OtherMachine("you".to_owned())),
            ),
            (Role::Owner, machine.clone(), false, Ok(Standing::Owner)),
            (
                Role::Owner,
                Keeper::Untracked,
                true,
                Err(Refusal::KeptByUnknown),
            ),
            (Role::Owner, Keeper::Untracked, false, Ok(Standing::Owner)),
            (
                Role::Auto,
                Keeper::Untracked,
                false,
                Ok(Standing::Companion),
            ),
            (Role::Auto, Keeper::Nobody, false, Ok(Standing::Companion)),
            (Role::Auto, Keeper::This, true, Ok(Standing::Owner)),
            (Role::Auto, other, false, Ok(Standing::Companion)),
            (Role::Auto, machine, false, Ok(Standing::Companion)),
            (Role::Companion, Keeper::This, true, Ok(Standing::Companion)),
        ] {
            assert_eq!(
                standing(role, &keeper, alive),
                expected,
                "{role:?} {keeper:?} {alive}"
            );
        }
    }

    #[test]
    fn an_instance_is_a_hash_and_tells_machines_apart() {
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(instance(id).len(), 32);
        assert_ne!(instance(id), id);
        assert_ne!(instance(id), instance("1123456789abcdef0123456789abcdef"));
        assert_eq!(instance(""), "");
    }
}
