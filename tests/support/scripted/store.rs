//! What a [`super::Scripted`] server stores: one Node and its Lease, with as much of an apiserver's behaviour as an
//! order of calls hangs on: resource versions, UIDs, conflicts, a watch. What a patch does is asked of nodelet's own
//! `apply`, which is held against the real thing elsewhere.

use nodelet::node::patch::{NODE, apply};
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::{Answer, Received};

/// The objects. The changes that a test makes through the methods count as another client's.
#[derive(Default)]
pub struct Store {
    node: Option<Value>,
    lease: Option<Value>,
    version: u64,
    /// Every event of the Node, by its version.
    events: Vec<(u64, Value)>,
    watches: Vec<Sender<Value>>,
}

impl Store {
    /// The Node; null where there is none.
    pub fn node(&self) -> Value {
        self.node.clone().unwrap_or_default()
    }

    /// The Lease; null where there is none.
    pub fn lease(&self) -> Value {
        self.lease.clone().unwrap_or_default()
    }

    /// Creates the Node, with a new UID and a creator among its managers unless it has them, or replaces it.
    pub fn put_node(&mut self, mut node: Value) -> Value {
        let event = if self.node.is_some() {
            "MODIFIED"
        } else {
            "ADDED"
        };
        self.stamp(&mut node);
        if node["metadata"]["managedFields"].is_null() {
            node["metadata"]["managedFields"] = json!([{"manager": "kubectl", "operation": "Update",
                "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {}}}]);
        }
        self.node = Some(node.clone());
        self.tell(event, &node);
        node
    }

    /// Changes the Node.
    pub fn edit_node(&mut self, change: impl FnOnce(&mut Value)) {
        let mut node = self.node();
        change(&mut node);
        self.put_node(node);
    }

    pub fn delete_node(&mut self) {
        if let Some(mut node) = self.node.take() {
            self.stamp(&mut node);
            self.tell("DELETED", &node);
        }
    }

    /// Creates the Lease or replaces it.
    pub fn put_lease(&mut self, mut lease: Value) -> Value {
        self.stamp(&mut lease);
        self.lease = Some(lease.clone());
        lease
    }

    pub fn delete_lease(&mut self) {
        self.lease = None;
    }

    fn stamp(&mut self, object: &mut Value) {
        self.version += 1;
        let version = self.version;
        let metadata = &mut object["metadata"];
        metadata["resourceVersion"] = json!(version.to_string());
        if metadata["uid"].is_null() {
            metadata["uid"] = json!(format!("uid-{version}"));
        }
    }

    fn tell(&mut self, kind: &str, node: &Value) {
        let event = json!({"type": kind, "object": node});
        self.events.push((self.version, event.clone()));
        self.watches
            .retain(|watch| watch.send(event.clone()).is_ok());
    }

    /// The events after `version`, and all that will come.
    pub(super) fn watch(&mut self, version: u64) -> Receiver<Value> {
        let (sender, receiver) = channel();
        for (_, event) in self.events.iter().filter(|(at, _)| *at > version) {
            let _ = sender.send(event.clone());
        }
        self.watches.push(sender);
        receiver
    }

    /// Ends all watches in good order.
    pub fn end_watches(&mut self) {
        self.watches.clear();
    }

    /// What an apiserver would answer.
    pub(super) fn answer(&mut self, received: &Received) -> Answer {
        match received.call().as_str() {
            "list node" => Answer::json(
                200,
                json!({"kind": "NodeList", "apiVersion": "v1",
                       "metadata": {"resourceVersion": self.version.to_string()},
                       "items": self.node.iter().collect::<Vec<_>>()}),
            ),
            "watch node" => {
                let version = received
                    .parameter("resourceVersion")
                    .and_then(|text| text.parse().ok());
                Answer::Watch(version.unwrap_or(0))
            }
            "get node" => found(self.node.as_ref()),
            "create node" if self.node.is_some() => Answer::status(409, "AlreadyExists"),
            "create node" => Answer::json(201, self.put_node(received.body.clone())),
            "patch node/status" => self.patch_node(&received.body),
            "get lease" => found(self.lease.as_ref()),
            "create lease" if self.lease.is_some() => Answer::status(409, "AlreadyExists"),
            "create lease" => Answer::json(201, self.put_lease(received.body.clone())),
            "update lease" => self.update_lease(&received.body),
            call => Answer::status(405, &format!("MethodNotAllowed: {call}")),
        }
    }

    fn patch_node(&mut self, patch: &Value) -> Answer {
        let Some(node) = &self.node else {
            return Answer::status(404, "NotFound");
        };
        let uid = &patch["metadata"]["uid"];
        if !uid.is_null() && *uid != node["metadata"]["uid"] {
            return Answer::status(422, "Invalid");
        }
        match apply(node, patch, &NODE) {
            Ok(patched) if patched == *node => Answer::json(200, patched),
            Ok(patched) => Answer::json(200, self.put_node(patched)),
            Err(error) => Answer::status(400, &error.to_string()),
        }
    }

    fn update_lease(&mut self, lease: &Value) -> Answer {
        let Some(stored) = &self.lease else {
            return Answer::status(404, "NotFound");
        };
        let version = &lease["metadata"]["resourceVersion"];
        if !version.is_null() && *version != stored["metadata"]["resourceVersion"] {
            return Answer::status(409, "Conflict");
        }
        Answer::json(200, self.put_lease(lease.clone()))
    }
}

fn found(object: Option<&Value>) -> Answer {
    object.map_or_else(
        || Answer::status(404, "NotFound"),
        |object| Answer::json(200, object.clone()),
    )
}
