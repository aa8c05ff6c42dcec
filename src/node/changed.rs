//! Whether a status says something new, which decides between reporting at once and waiting for the report period.
//!
//! It only compares; it never changes what it is given. The behaviour is that of `nodeStatusHasChanged` in
//! `pkg/kubelet/kubelet_node_status.go`, with apimachinery's semantic equality (`pkg/api/equality`).

use k8s_openapi::api::core::v1::{NodeCondition, NodeStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

use crate::quantity::{Format, Quantity};

/// Whether `new` differs from `old` in anything but the heartbeat times and the order of the conditions.
///
/// Quantities are compared by their number, times as instants, and what is absent equals what is empty. The order
/// of every other list counts, and so does whether `features` is there. Statuses may be given as `Option`s: a
/// missing one equals only another missing one.
pub fn node_status_has_changed<'a>(
    old: impl Into<Option<&'a NodeStatus>>,
    new: impl Into<Option<&'a NodeStatus>>,
) -> bool {
    old.into().map(comparable) != new.into().map(comparable)
}

/// A copy in the one spelling that all semantically equal statuses share.
fn comparable(status: &NodeStatus) -> NodeStatus {
    let mut copy = status.clone();

    let conditions = copy.conditions.get_or_insert_default();
    for condition in conditions.iter_mut() {
        condition.last_heartbeat_time = None;
        drop_empty(&mut condition.reason);
        drop_empty(&mut condition.message);
    }
    conditions.sort_by(by_type);

    for quantities in [&mut copy.capacity, &mut copy.allocatable] {
        drop_empty(quantities);
        for quantity in quantities.iter_mut().flat_map(|q| q.values_mut()) {
            *quantity = comparable_quantity(quantity);
        }
    }

    drop_empty(&mut copy.addresses);
    drop_empty(&mut copy.declared_features);
    drop_empty(&mut copy.phase);
    drop_empty(&mut copy.runtime_handlers);
    drop_empty(&mut copy.volumes_attached);
    drop_empty(&mut copy.volumes_in_use);
    drop_empty(&mut copy.images);
    for image in copy.images.iter_mut().flatten() {
        drop_empty(&mut image.names);
        image.size_bytes.get_or_insert_default();
    }
    for handler in copy.runtime_handlers.iter_mut().flatten() {
        drop_empty(&mut handler.name);
    }

    // These two are plain structs in Go: absent and all zero are the same there.
    copy.node_info.get_or_insert_default();
    copy.daemon_endpoints
        .get_or_insert_default()
        .kubelet_endpoint
        .get_or_insert_default();
    copy
}

fn by_type(a: &NodeCondition, b: &NodeCondition) -> std::cmp::Ordering {
    a.type_.cmp(&b.type_)
}

/// One text for each number. A text that is no quantity stays as it is, and no text is a zero.
fn comparable_quantity(quantity: &ApiQuantity) -> ApiQuantity {
    if quantity.0.is_empty() {
        return ApiQuantity::from(&Quantity::default());
    }
    Quantity::try_from(quantity).map_or_else(
        |_| quantity.clone(),
        |number| ApiQuantity::from(&number.with_format(Format::DecimalSi)),
    )
}

fn drop_empty<T: Default + PartialEq>(value: &mut Option<T>) {
    if *value == Some(T::default()) {
        *value = None;
    }
}

#[cfg(test)]
mod tests;
