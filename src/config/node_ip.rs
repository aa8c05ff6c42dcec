//! The addresses that a node is told to have: the argument, the annotation, and networks to choose from.
//!
//! Owns the texts and what can be said of an address without looking at the host. Defined by
//! `component-helpers/node/util/ips.go`; addresses are read as leniently as `k8s.io/utils/net.ParseIPSloppy` does.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why addresses are refused, in kubelet's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeIpError {
    /// More than two addresses, or two of one family.
    #[error("must contain either a single IP or a dual-stack pair of IPs")]
    NotAPair,
    /// Two addresses with a cloud provider in the kubelet, which there is no more.
    #[error("dual-stack not supported in this configuration")]
    DualStackNotSupported,
    /// `0.0.0.0` or `::` in a pair.
    #[error("dual-stack node IP cannot include '0.0.0.0' or '::'")]
    UnspecifiedInPair,
    /// No address, where nothing else is accepted.
    #[error("could not parse {0:?}")]
    Unparsable(String),
    /// `127.0.0.1` and the like.
    #[error("nodeIP can't be loopback address")]
    Loopback,
    /// `224.0.0.1` and the like.
    #[error("nodeIP can't be a multicast address")]
    Multicast,
    /// `169.254.0.1`, `fe80::1` and the like.
    #[error("nodeIP can't be a link-local unicast address")]
    LinkLocal,
}

/// What `--node-ip` holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeIpArgument {
    /// The addresses, at most one of each family, the primary one first.
    pub addresses: Vec<IpAddr>,
    /// The items that are no address.
    pub ignored: Vec<String>,
}

/// Parses `--node-ip` (`ParseNodeIPArgument`): blanks around items are fine, what is no address is set aside.
pub fn parse_node_ip_argument(
    text: &str,
    cloud_provider: &str,
) -> Result<NodeIpArgument, NodeIpError> {
    let mut argument = NodeIpArgument::default();
    if text.is_empty() {
        return Ok(argument);
    }
    for item in text.split(',').map(str::trim) {
        match parse_ip(item) {
            Some(address) => argument.addresses.push(address),
            None => argument.ignored.push(item.to_owned()),
        }
    }
    check_pair(
        &argument.addresses,
        matches!(cloud_provider, "" | "external"),
    )?;
    Ok(argument)
}

/// Parses the annotation `alpha.kubernetes.io/provided-node-ip` (`ParseNodeIPAnnotation`): nothing but addresses, and
/// no blanks.
pub fn parse_node_ip_annotation(text: &str) -> Result<Vec<IpAddr>, NodeIpError> {
    let addresses = text
        .split(',')
        .map(|item| parse_ip(item).ok_or_else(|| NodeIpError::Unparsable(item.to_owned())))
        .collect::<Result<Vec<_>, _>>()?;
    check_pair(&addresses, true)?;
    Ok(addresses)
}

/// Refuses what can be no node's address on any host; all zeros only say which family is preferred and may stay.
pub fn check_kind(address: IpAddr) -> Result<(), NodeIpError> {
    if address.is_loopback() {
        Err(NodeIpError::Loopback)
    } else if address.is_multicast() {
        Err(NodeIpError::Multicast)
    } else if is_link_local(address) {
        Err(NodeIpError::LinkLocal)
    } else {
        Ok(())
    }
}

/// Whether an address means something on its own link only.
pub fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn check_pair(addresses: &[IpAddr], dual_stack_allowed: bool) -> Result<(), NodeIpError> {
    match addresses {
        [] | [_] => Ok(()),
        [first, second] if first.is_ipv6() != second.is_ipv6() => {
            if !dual_stack_allowed {
                Err(NodeIpError::DualStackNotSupported)
            } else if first.is_unspecified() || second.is_unspecified() {
                Err(NodeIpError::UnspecifiedInPair)
            } else {
                Ok(())
            }
        }
        _ => Err(NodeIpError::NotAPair),
    }
}

/// Parses an address as Kubernetes does: zeros may lead the numbers of an IPv4 address (`010.0.0.1` is 10.0.0.1), and
/// an IPv4 address in IPv6 clothes (`::ffff:192.0.2.1`) is an IPv4 address.
pub fn parse_ip(text: &str) -> Option<IpAddr> {
    let Some((head, tail)) = text.rsplit_once(':') else {
        return parse_ipv4(text).map(IpAddr::V4);
    };
    let parsed: Option<Ipv6Addr> = if tail.contains('.') {
        let tail = parse_ipv4(tail)?;
        format!("{head}:{tail}").parse().ok()
    } else {
        text.parse().ok()
    };
    Some(IpAddr::V6(parsed?).to_canonical())
}

fn parse_ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let digits = parts.next()?;
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        *octet = digits.parse().ok()?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

/// A network, as in `192.0.2.0/24`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    prefix: u8,
}

/// A text that names no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network such as 192.0.2.0/24")]
pub struct CidrError(pub String);

impl Cidr {
    /// Parses `address/prefix`; bits behind the prefix do not matter.
    pub fn parse(text: &str) -> Result<Self, CidrError> {
        let error = || CidrError(text.to_owned());
        let (address, prefix) = text.split_once('/').ok_or_else(error)?;
        let address = parse_ip(address).ok_or_else(error)?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let digits_only = prefix.bytes().all(|digit| digit.is_ascii_digit());
        let prefix = prefix
            .parse()
            .ok()
            .filter(|prefix| digits_only && *prefix <= longest);
        Ok(Self {
            address,
            prefix: prefix.ok_or_else(error)?,
        })
    }

    /// Whether `address` is in the network.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let differing = network.to_bits() ^ address.to_bits();
                differing.leading_zeros() >= self.prefix.into()
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let differing = network.to_bits() ^ address.to_bits();
                differing.leading_zeros() >= self.prefix.into()
            }
            _ => false,
        }
    }

    /// Whether it is a network of IPv6.
    pub fn is_ipv6(&self) -> bool {
        self.address.is_ipv6()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests;
