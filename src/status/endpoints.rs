//! Where the node's own server listens (`pkg/kubelet/nodestatus/setters.go`, `DaemonEndpoints`).
//!
//! nodelet has no such server, so nothing is published unless `port` says that something else listens there.

use super::{Explanation, Inputs, SetterError, status_of};
use k8s_openapi::api::core::v1::{DaemonEndpoint, Node, NodeDaemonEndpoints};

/// Sets `status.daemonEndpoints` where `port` is configured.
pub fn set(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    if let Some(port) = inputs.settings.port {
        let endpoint = DaemonEndpoint { port: port.into() };
        status_of(node).daemon_endpoints = Some(NodeDaemonEndpoints {
            kubelet_endpoint: Some(endpoint),
        });
    }
    Ok(())
}

/// Where the port comes from.
pub fn explain(inputs: &Inputs<'_>, _node: &Node) -> Vec<Explanation> {
    let path = "/status/daemonEndpoints/kubeletEndpoint/Port";
    let port = inputs.settings.port;
    port.map(|_| Explanation::ruled(path, "daemonEndpoints.port").with_setting("port"))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::set;
    use crate::status::testing::World;
    use k8s_openapi::api::core::v1::Node;

    #[test]
    fn test_daemon_endpoints() {
        for port in [0, 5678, 10250] {
            let mut world = World::new();
            world.settings.port = Some(port);
            let mut node = Node::default();
            set(&world.inputs(), &mut node).unwrap();
            let endpoints = node.status.unwrap().daemon_endpoints.unwrap();
            assert_eq!(endpoints.kubelet_endpoint.unwrap().port, i32::from(port));
        }
    }

    #[test]
    fn without_a_port_nothing_is_said() {
        let mut node = Node::default();
        set(&World::new().inputs(), &mut node).unwrap();
        assert_eq!(node, Node::default());
    }
}
