//! Whether an address, or the interface that has it, is one to reach a node at (`pkg/kubelet/kubelet_node_status.go`,
//! `validateNodeIP`; `apimachinery/pkg/util/net/interface.go`).

use crate::config::node_ip::{check_kind, is_link_local};
use crate::gather::Reading;
use crate::source::{Interface, InterfaceAddress};
use std::net::{IpAddr, Ipv4Addr};

/// Beginnings of the names of interfaces that lead to pods or into a VPN, not to the network of the nodes.
const INNER_INTERFACES: [&str; 9] = [
    "docker",
    "cni",
    "veth",
    "br-",
    "flannel",
    "cali",
    "kube-ipvs",
    "tailscale",
    "wg",
];

/// Whether a Node may be reached at `ip`, and this host has it; otherwise why not, in kubelet's words.
pub fn validate(ip: IpAddr, interfaces: &Reading<Vec<Interface>>) -> Result<(), String> {
    let ip = ip.to_canonical();
    check_kind(ip).map_err(|refusal| refusal.to_string())?;
    if ip.is_unspecified() {
        return Err("nodeIP can't be an all zeros address".to_owned());
    }
    let found =
        all_addresses(interfaces.required()?).any(|(_, known)| known.address.to_canonical() == ip);
    if found {
        Ok(())
    } else {
        Err(format!(
            "node IP: \"{ip}\" not found in the host's network interfaces"
        ))
    }
}

fn all_addresses(
    interfaces: &[Interface],
) -> impl Iterator<Item = (&Interface, &InterfaceAddress)> {
    interfaces.iter().flat_map(|interface| {
        interface
            .addresses
            .iter()
            .map(move |known| (interface, known))
    })
}

/// The interface that has `ip`.
pub(super) fn owner(
    ip: IpAddr,
    interfaces: &Reading<Vec<Interface>>,
) -> Option<(&Interface, &InterfaceAddress)> {
    all_addresses(interfaces.get()?)
        .find(|(_, known)| known.address.to_canonical() == ip.to_canonical())
}

/// Why an address is not to be chosen on its own.
pub(super) fn unfit(known: &InterfaceAddress) -> Option<&'static str> {
    if is_global_unicast(known.address.to_canonical()) {
        unsettled(known)
    } else {
        Some("not a global unicast address")
    }
}

/// Why an address will not last.
pub(super) fn unsettled(known: &InterfaceAddress) -> Option<&'static str> {
    [
        (
            known.tentative,
            "tentative: the network has not confirmed that it is unique",
        ),
        (known.deprecated, "deprecated"),
        (known.temporary, "temporary: it changes for privacy"),
    ]
    .into_iter()
    .find_map(|(holds, reason)| holds.then_some(reason))
}

pub(super) fn is_inner(interface: &str) -> bool {
    INNER_INTERFACES
        .iter()
        .any(|beginning| interface.starts_with(beginning))
}

/// What Go's `IsGlobalUnicast` means: private, unique-local and shared ranges included.
fn is_global_unicast(ip: IpAddr) -> bool {
    !(ip.is_unspecified()
        || ip.is_loopback()
        || ip.is_multicast()
        || is_link_local(ip)
        || ip == IpAddr::V4(Ipv4Addr::BROADCAST))
}

/// Whether the host made the address up from its hardware address (RFC 4291, modified EUI-64): autoconfigured, so an
/// administrator's or a DHCP server's address beside it is the one that is meant.
pub(super) fn is_from_hardware(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.octets()[11..13] == [0xff, 0xfe])
}
