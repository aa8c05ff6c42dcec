//! How many volumes may be attached, as far as the configuration says (`volumeLimits`).
//!
//! Today's kubelet says it in `CSINode` only; the keys are for a scheduler that still reads them from the Node.
//! `status.volumesInUse` has no setter: an owner without a pod loop uses no volumes and leaves the stored list alone.

use super::{Explanation, Inputs, SetterError, status_of};
use crate::quantity::Quantity;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

/// Sets the configured `attachable-volumes-*` keys of capacity and allocatable.
pub fn set(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    let limits = inputs.settings.volume_limits.iter().map(|(name, limit)| {
        (
            name.clone(),
            ApiQuantity::from(&Quantity::count((*limit).into())),
        )
    });
    let limits: Vec<_> = limits.collect();
    if !limits.is_empty() {
        let status = status_of(node);
        status
            .capacity
            .get_or_insert_default()
            .extend(limits.iter().cloned());
        status.allocatable.get_or_insert_default().extend(limits);
    }
    Ok(())
}

/// Where the limits come from.
pub fn explain(inputs: &Inputs<'_>, _node: &Node) -> Vec<Explanation> {
    let names = inputs.settings.volume_limits.keys();
    names
        .flat_map(|name| {
            ["capacity", "allocatable"].map(|list| {
                Explanation::ruled(format!("/status/{list}/{name}"), format!("{list}.{name}"))
                    .with_setting("volumeLimits")
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::set;
    use crate::status::testing::World;
    use k8s_openapi::api::core::v1::Node;

    #[test]
    fn configured_limits_are_in_both_lists() {
        let mut world = World::new();
        let mut node = Node::default();
        set(&world.inputs(), &mut node).unwrap();
        assert_eq!(node, Node::default(), "nothing configured, nothing said");
        world.settings.volume_limits = [("attachable-volumes-csi-x".to_owned(), 39)].into();
        set(&world.inputs(), &mut node).unwrap();
        let status = node.status.unwrap();
        for list in [status.capacity, status.allocatable] {
            assert_eq!(list.unwrap()["attachable-volumes-csi-x"].0, "39");
        }
    }
}
