//! What the container runtime can do: its handlers and features (`pkg/kubelet/nodestatus/setters.go`,
//! `RuntimeHandlers` and `NodeFeatures`). Without a runtime, and while it does not answer, both stay as they are.

use super::{Explanation, Inputs, Missing, SetterError, status_of};
use crate::cri::RuntimeStatus;
use crate::gather::Reading;
use k8s_openapi::api::core::v1::{
    Node, NodeFeatures, NodeRuntimeHandler, NodeRuntimeHandlerFeatures,
};

/// Sets `status.runtimeHandlers`, sorted by name; the default handler, which has none, comes first.
pub fn set_handlers(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    let mut missing = Missing::default();
    if let Some(runtime) =
        status_reading(inputs).and_then(|reading| missing.take("container runtime", reading))
    {
        let mut handlers: Vec<_> = runtime.handlers.iter().collect();
        handlers.sort_by_key(|handler| &handler.name);
        let handlers = handlers.into_iter().map(|handler| NodeRuntimeHandler {
            name: Some(handler.name.clone()),
            features: Some(NodeRuntimeHandlerFeatures {
                recursive_read_only_mounts: Some(handler.recursive_read_only_mounts),
                user_namespaces: Some(handler.user_namespaces),
            }),
        });
        status_of(node).runtime_handlers = Some(handlers.collect());
    }
    missing.into_result()
}

/// Sets `status.features`, where the runtime says what it has.
pub fn set_features(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    let mut missing = Missing::default();
    let runtime =
        status_reading(inputs).and_then(|reading| missing.take("container runtime", reading));
    if let Some(features) = runtime.and_then(|runtime| runtime.features) {
        status_of(node).features = Some(NodeFeatures {
            supplemental_groups_policy: Some(features.supplemental_groups_policy),
        });
    }
    missing.into_result()
}

fn status_reading<'a>(inputs: &Inputs<'a>) -> Option<&'a Reading<RuntimeStatus>> {
    inputs
        .snapshot
        .runtime
        .as_ref()
        .map(|runtime| &runtime.status)
}

/// Where the handlers come from.
pub fn explain_handlers(inputs: &Inputs<'_>, _node: &Node) -> Vec<Explanation> {
    let reading = status_reading(inputs);
    let explain =
        |reading| Explanation::read("/status/runtimeHandlers", "runtimeHandlers", reading);
    reading.and_then(explain).into_iter().collect()
}

/// Where the features come from.
pub fn explain_features(inputs: &Inputs<'_>, _node: &Node) -> Vec<Explanation> {
    let path = "/status/features/supplementalGroupsPolicy";
    let reading = status_reading(inputs).filter(|reading| {
        reading
            .get()
            .is_some_and(|runtime| runtime.features.is_some())
    });
    reading
        .and_then(|reading| Explanation::read(path, "features", reading))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{set_features, set_handlers};
    use crate::cri::{RuntimeFeatures, RuntimeHandler, RuntimeStatus};
    use crate::gather::Reading;
    use crate::status::testing::World;
    use k8s_openapi::api::core::v1::{Node, NodeFeatures, NodeStatus};

    fn world(handlers: &[&str], features: Option<bool>) -> World {
        let mut world = World::new();
        let handler = |name: &&str| RuntimeHandler {
            name: (*name).to_owned(),
            recursive_read_only_mounts: true,
            user_namespaces: false,
        };
        world.runtime().status = Reading::of(RuntimeStatus {
            handlers: handlers.iter().map(handler).collect(),
            features: features.map(|supplemental_groups_policy| RuntimeFeatures {
                supplemental_groups_policy,
            }),
            ..RuntimeStatus::default()
        });
        world
    }

    #[test]
    fn test_runtime_state_set_runtime_handlers_sorts_and_copies() {
        for (given, expected) in [
            (&["runc", "", "crun"][..], &["", "crun", "runc"][..]),
            (&["", "crun", "runc"], &["", "crun", "runc"]),
            (&[], &[]),
        ] {
            let mut node = Node::default();
            set_handlers(&world(given, None).inputs(), &mut node).unwrap();
            let handlers = node.status.unwrap().runtime_handlers.unwrap();
            let names: Vec<_> = handlers
                .iter()
                .map(|handler| handler.name.as_deref().unwrap())
                .collect();
            assert_eq!(names, expected);
            for features in handlers
                .iter()
                .map(|handler| handler.features.as_ref().unwrap())
            {
                assert_eq!(features.recursive_read_only_mounts, Some(true));
                assert_eq!(
                    features.user_namespaces,
                    Some(false),
                    "explicit, though false"
                );
            }
        }
    }

    #[test]
    fn features_are_set_only_where_the_runtime_says_them() {
        let stored = NodeFeatures {
            supplemental_groups_policy: Some(true),
        };
        for (said, expected) in [(None, true), (Some(false), false), (Some(true), true)] {
            let status = NodeStatus {
                features: Some(stored.clone()),
                ..NodeStatus::default()
            };
            let mut node = Node {
                status: Some(status),
                ..Node::default()
            };
            set_features(&world(&[], said).inputs(), &mut node).unwrap();
            let features = node.status.unwrap().features.unwrap();
            assert_eq!(
                features.supplemental_groups_policy,
                Some(expected),
                "{said:?}"
            );
        }
    }

    #[test]
    fn without_an_answer_both_stay() {
        let mut node = Node::default();
        set_handlers(&World::new().inputs(), &mut node).unwrap();
        set_features(&World::new().inputs(), &mut node).unwrap();
        let mut world = World::new();
        world.runtime().status = Reading::failed("deadline");
        let error = set_handlers(&world.inputs(), &mut node).unwrap_err();
        assert_eq!(error.0, "container runtime: deadline");
        set_features(&world.inputs(), &mut node).unwrap_err();
        assert_eq!(node, Node::default());
    }
}
