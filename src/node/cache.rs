//! The own Node as nodelet last saw it: fed by the watch and by the answers to its own requests, read by the status
//! loop and by the Lease. Nobody polls.

use k8s_openapi::api::core::v1::Node;
use std::sync::Arc;
use tokio::sync::watch;

/// What is known of the own Node.
#[derive(Debug, Clone, Default)]
pub enum Cached {
    /// Nothing was seen yet.
    #[default]
    Unknown,
    /// The cluster said that there is none.
    Absent,
    /// The Node as it was last seen.
    Present(Arc<Node>),
}

impl Cached {
    /// The Node, if one is known.
    pub fn node(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Present(node) => Some(node),
            Self::Unknown | Self::Absent => None,
        }
    }

    /// The UID of the Node, if one is known.
    pub fn uid(&self) -> Option<&str> {
        self.node().and_then(|node| node.metadata.uid.as_deref())
    }
}

/// The cache; clones are the same cache.
#[derive(Debug, Clone)]
pub struct NodeCache {
    sender: Arc<watch::Sender<Cached>>,
}

impl Default for NodeCache {
    fn default() -> Self {
        Self {
            sender: Arc::new(watch::Sender::new(Cached::Unknown)),
        }
    }
}

impl NodeCache {
    /// What is known now.
    pub fn get(&self) -> Cached {
        self.sender.borrow().clone()
    }

    /// A receiver that wakes when what is known changes.
    pub fn subscribe(&self) -> watch::Receiver<Cached> {
        self.sender.subscribe()
    }

    /// The cluster showed `node`. What is older than what is known already is left aside: a watch can lag behind the
    /// answer to a write.
    pub fn saw(&self, node: Node) {
        self.sender.send_if_modified(|known| {
            let newer = known
                .node()
                .is_none_or(|known| revision(&node) >= revision(known));
            if newer {
                *known = Cached::Present(Arc::new(node));
            }
            newer
        });
    }

    /// A list showed `node`. A list is a quorum read and always right: after a restore of etcd it may well be older than
    /// what was known.
    pub fn listed(&self, node: Node) {
        self.sender.send_replace(Cached::Present(Arc::new(node)));
    }

    /// The cluster says that there is no Node now.
    pub fn saw_none(&self) {
        self.sender.send_replace(Cached::Absent);
    }

    /// The cluster says that this very Node is gone; one that was created since stays.
    pub fn saw_deleted(&self, node: &Node) {
        self.sender.send_if_modified(|known| {
            let same = known.uid() == node.metadata.uid.as_deref();
            if same {
                *known = Cached::Absent;
            }
            same
        });
    }
}

/// The resource version as the number that it is (KEP-5504); 0 where the server has another form, so that everything
/// counts as newer.
fn revision(node: &Node) -> u64 {
    node.metadata
        .resource_version
        .as_deref()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Cached, NodeCache};
    use k8s_openapi::api::core::v1::Node;

    fn node(uid: &str, version: &str) -> Node {
        let mut node = Node::default();
        node.metadata.uid = Some(uid.to_owned());
        node.metadata.resource_version = Some(version.to_owned());
        node
    }

    #[test]
    fn a_watch_that_lags_behind_a_write_does_not_bring_the_old_node_back() {
        let cache = NodeCache::default();
        cache.saw(node("a", "9"));
        cache.saw(node("a", "7"));
        assert_eq!(
            cache
                .get()
                .node()
                .unwrap()
                .metadata
                .resource_version
                .as_deref(),
            Some("9")
        );
        cache.saw(node("a", "10"));
        assert_eq!(
            cache
                .get()
                .node()
                .unwrap()
                .metadata
                .resource_version
                .as_deref(),
            Some("10")
        );
    }

    #[test]
    fn a_list_after_a_restore_of_etcd_brings_an_older_node() {
        let cache = NodeCache::default();
        cache.saw(node("a", "900"));
        cache.listed(node("a", "7"));
        cache.saw(node("a", "8"));
        let version = cache
            .get()
            .node()
            .unwrap()
            .metadata
            .resource_version
            .clone();
        assert_eq!(version.as_deref(), Some("8"));
    }

    #[test]
    fn the_deletion_of_the_old_node_does_not_hide_the_new_one() {
        let cache = NodeCache::default();
        cache.saw(node("new", "12"));
        cache.saw_deleted(&node("old", "11"));
        assert_eq!(cache.get().uid(), Some("new"));
        cache.saw_deleted(&node("new", "13"));
        assert!(matches!(cache.get(), Cached::Absent));
    }
}
