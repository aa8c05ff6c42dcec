//! The addresses of the Node (`pkg/kubelet/nodestatus/setters.go`, `NodeAddress`).
//!
//! Which address it is decides [`mod@choose`]; this file decides whether it is nodelet's to say, and writes it. With a
//! cloud provider the addresses are the cloud's as soon as there are any. A provider ID that nobody configured here
//! tells of one as well: two writers would take turns otherwise.

pub mod choose;
pub mod usable;

use self::choose::{Choice, choose};
use self::usable::validate;
use super::{Explanation, Inputs, SetterError, status_of};
use k8s_openapi::api::core::v1::{Node, NodeAddress};
use std::net::IpAddr;

/// Tells a cloud controller which address was configured (`cloud-provider/api`).
pub const PROVIDED_NODE_IP: &str = "alpha.kubernetes.io/provided-node-ip";

const INTERNAL_IP: &str = "InternalIP";
const HOSTNAME: &str = "Hostname";

/// Sets `status.addresses`, whole, and the annotation [`PROVIDED_NODE_IP`].
///
/// Where no address can be found, or a configured one is not on this host, the stored addresses stay.
pub fn set(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    let configured = configured(inputs)?;
    annotate(inputs, &configured, node);
    let Some(wanted) = wanted(inputs, node)? else {
        return Ok(());
    };
    let mut addresses: Vec<NodeAddress> = Vec::new();
    let internal = wanted
        .addresses
        .iter()
        .map(|ip| (INTERNAL_IP, ip.to_canonical().to_string()));
    for (kind, address) in internal.chain([(HOSTNAME, inputs.node_name.to_owned())]) {
        let address = NodeAddress {
            type_: kind.to_owned(),
            address,
        };
        // The server refuses a list that holds the same address twice.
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    status_of(node).addresses = Some(addresses);
    Ok(())
}

/// The configured addresses that are more than a family, checked against the host.
fn configured(inputs: &Inputs<'_>) -> Result<Vec<IpAddr>, SetterError> {
    const NAMES: [&str; 2] = ["nodeIP", "secondaryNodeIP"];
    let mut specified = Vec::new();
    for (name, ip) in NAMES.into_iter().zip(&inputs.settings.node_ips) {
        if !ip.is_unspecified() {
            validate(*ip, &inputs.snapshot.interfaces)
                .map_err(|error| SetterError(format!("failed to validate {name}: {error}")))?;
            specified.push(*ip);
        }
    }
    Ok(specified)
}

/// Whether a cloud controller looks after the addresses.
fn is_in_cloud(inputs: &Inputs<'_>, node: &Node) -> bool {
    let provider = node
        .spec
        .as_ref()
        .and_then(|spec| spec.provider_id.as_deref())
        .unwrap_or_default();
    let own = inputs.settings.provider_id.as_deref().unwrap_or_default();
    inputs.settings.cloud_provider_external || (!provider.is_empty() && provider != own)
}

fn annotate(inputs: &Inputs<'_>, configured: &[IpAddr], node: &mut Node) {
    let settings = inputs.settings;
    let primary = settings
        .node_ips
        .first()
        .is_some_and(|ip| !ip.is_unspecified());
    if is_in_cloud(inputs, node) && primary {
        let ips: Vec<_> = configured
            .iter()
            .map(|ip| ip.to_canonical().to_string())
            .collect();
        let annotations = node.metadata.annotations.get_or_insert_default();
        annotations.insert(PROVIDED_NODE_IP.to_owned(), ips.join(","));
    } else if let Some(annotations) = &mut node.metadata.annotations {
        annotations.remove(PROVIDED_NODE_IP);
    }
}

/// The addresses to publish beside the host name; `None` where they are the cloud's.
fn wanted(inputs: &Inputs<'_>, node: &Node) -> Result<Option<Choice>, SetterError> {
    if is_in_cloud(inputs, node) {
        if has_addresses(node) {
            return Ok(None);
        }
        if inputs.settings.node_ips.is_empty() {
            return Ok(Some(Choice::nothing("addresses.cloudProvider")));
        }
    }
    choose(inputs, &published(node)).map(Some).map_err(|error| {
        SetterError(format!(
            "can't get ip address of node {}. error: {error}",
            inputs.node_name
        ))
    })
}

fn has_addresses(node: &Node) -> bool {
    node.status
        .as_ref()
        .and_then(|status| status.addresses.as_ref())
        .is_some_and(|all| !all.is_empty())
}

/// The internal addresses that the Node has.
fn published(node: &Node) -> Vec<IpAddr> {
    let addresses = node
        .status
        .as_ref()
        .and_then(|status| status.addresses.as_ref());
    addresses
        .into_iter()
        .flatten()
        .filter(|address| address.type_ == INTERNAL_IP)
        .filter_map(|address| address.address.parse().ok())
        .collect()
}

/// Where the addresses come from, one explanation for each, and which were not taken.
pub fn explain(inputs: &Inputs<'_>, node: &Node) -> Vec<Explanation> {
    let snapshot = inputs.snapshot;
    if configured(inputs).is_err() {
        return Vec::new();
    }
    let Ok(Some(choice)) = wanted(inputs, node) else {
        return Vec::new();
    };
    let mut explained = Vec::new();
    for _ in &choice.addresses {
        let mut internal = Explanation::ruled("/status/addresses/InternalIP/address", choice.rule);
        if let Some(key) = choice.setting {
            internal = internal.with_setting(key);
        }
        internal = internal.with_reading(&snapshot.interfaces);
        internal = match choice.rule {
            choose::LOOKUP => internal.with_reading(&snapshot.lookup),
            choose::DEFAULT_ROUTE | choose::INTERFACE_SCAN => internal
                .with_reading(&snapshot.lookup)
                .with_reading(&snapshot.routes),
            _ => internal,
        };
        internal.rejected.extend(choice.rejected.iter().cloned());
        explained.push(internal);
    }
    let hostname = Explanation::ruled("/status/addresses/Hostname/address", "addresses.hostname");
    explained.push(hostname.with_reading(&snapshot.hostname));
    explained
}

#[cfg(test)]
mod tests;
