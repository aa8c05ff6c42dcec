//! Which address of the host a Node is reached at (`pkg/kubelet/nodestatus/setters.go`,
//! `apimachinery/pkg/util/net/interface.go`).
//!
//! What is configured comes first, then the published address while the host still has it, then what the node's name
//! resolves to, then the interface of a default route. Beyond kubelet's rules: an address that is not settled or not
//! meant to last is never chosen, and the interfaces of container networks and VPNs only where a default route
//! leaves by nothing else or the name resolves to nothing else.

use super::usable::{is_from_hardware, is_inner, owner, unfit, unsettled, validate};
use crate::config::node_ip::{Cidr, parse_ip};
use crate::gather::Reading;
use crate::source::{Interface, InterfaceAddress};
use crate::status::{Inputs, Rejected};
use std::net::IpAddr;

/// `nodeIP` names it.
pub const NODE_IP: &str = "addresses.nodeIP";
/// `nodeIPInterface` has it.
pub const NODE_IP_INTERFACE: &str = "addresses.nodeIPInterface";
/// `nodeIPCIDR` contains it.
pub const NODE_IP_CIDR: &str = "addresses.nodeIPCIDR";
/// The node's name is an address itself.
pub const HOSTNAME_LITERAL: &str = "addresses.hostnameLiteral";
/// The Node has it already.
pub const PUBLISHED: &str = "addresses.published";
/// The node's name resolves to it.
pub const LOOKUP: &str = "addresses.lookup";
/// The interface of a default route has it.
pub const DEFAULT_ROUTE: &str = "addresses.defaultRoute";
/// It is the first on the host, which has no table of routes.
pub const INTERFACE_SCAN: &str = "addresses.interfaceScan";

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The addresses, the primary one first.
    pub addresses: Vec<IpAddr>,
    /// The rule that chose.
    pub rule: &'static str,
    /// The configuration key that the rule follows.
    pub setting: Option<&'static str>,
    /// What was looked at and not taken.
    pub rejected: Vec<Rejected>,
}

impl Choice {
    /// No address, by `rule`.
    pub fn nothing(rule: &'static str) -> Self {
        Self {
            addresses: Vec::new(),
            rule,
            setting: None,
            rejected: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

impl Family {
    fn of(ip: IpAddr) -> Self {
        if ip.to_canonical().is_ipv4() {
            Self::V4
        } else {
            Self::V6
        }
    }

    /// Both families, the one of the primary node IP first; IPv4 where there is none.
    fn order(primary: Option<&IpAddr>) -> [Self; 2] {
        match primary.map(|ip| Self::of(*ip)) {
            Some(Self::V6) => [Self::V6, Self::V4],
            _ => [Self::V4, Self::V6],
        }
    }
}

/// Chooses the addresses of this host. `published` are the Node's present ones; they count only where nothing is
/// configured.
pub fn choose(inputs: &Inputs<'_>, published: &[IpAddr]) -> Result<Choice, String> {
    let settings = inputs.settings;
    let primary = settings.node_ips.first();
    if primary.is_some_and(|ip| !ip.is_unspecified()) {
        let addresses = settings
            .node_ips
            .iter()
            .copied()
            .filter(|ip| !ip.is_unspecified())
            .collect();
        return Ok(Choice {
            addresses,
            setting: Some("nodeIP"),
            ..Choice::nothing(NODE_IP)
        });
    }
    let mut search = Search {
        interfaces: &inputs.snapshot.interfaces,
        families: Family::order(primary),
        rejected: Vec::new(),
    };
    let (addresses, rule, setting) = search.run(inputs, published)?;
    Ok(Choice {
        addresses,
        rule,
        setting,
        rejected: search.rejected,
    })
}

type Found = (Vec<IpAddr>, &'static str, Option<&'static str>);

struct Search<'a> {
    interfaces: &'a Reading<Vec<Interface>>,
    families: [Family; 2],
    rejected: Vec<Rejected>,
}

impl<'a> Search<'a> {
    fn run(&mut self, inputs: &Inputs<'_>, published: &[IpAddr]) -> Result<Found, String> {
        let (settings, snapshot) = (inputs.settings, inputs.snapshot);
        if let Some(name) = &settings.node_ip_interface {
            let ip = self.on_interface(name)?;
            return Ok((vec![ip], NODE_IP_INTERFACE, Some("nodeIPInterface")));
        }
        if !settings.node_ip_cidrs.is_empty() {
            let ips = self.within(&settings.node_ip_cidrs)?;
            return Ok((ips, NODE_IP_CIDR, Some("nodeIPCIDR")));
        }
        if let Some(ip) = parse_ip(inputs.node_name) {
            return Ok((vec![ip], HOSTNAME_LITERAL, None));
        }
        if settings.node_ips.is_empty()
            && let Some(ip) = self.published(published)
        {
            return Ok((vec![ip], PUBLISHED, None));
        }
        if let Some(ip) = self.looked_up(&snapshot.lookup) {
            return Ok((vec![ip], LOOKUP, None));
        }
        let routes = snapshot.routes.required()?;
        let Some(v4) = &routes.v4 else {
            return Ok((vec![self.scan()?], INTERFACE_SCAN, None));
        };
        let v4 = v4
            .as_ref()
            .map_err(Clone::clone)?
            .iter()
            .map(|route| (Family::V4, route.interface.as_str()));
        let v6 = routes
            .v6
            .iter()
            .map(|route| (Family::V6, route.interface.as_str()));
        let routes: Vec<_> = v4.chain(v6).collect();
        Ok((vec![self.by_default_route(&routes)?], DEFAULT_ROUTE, None))
    }

    /// The best address of the configured interface.
    fn on_interface(&mut self, name: &str) -> Result<IpAddr, String> {
        let interface = self.interface(name)?;
        self.families
            .into_iter()
            .find_map(|family| self.best_of(interface, family))
            .ok_or_else(|| format!("no acceptable address on interface {name:?}"))
    }

    /// The best address in each configured network.
    fn within(&mut self, networks: &[Cidr]) -> Result<Vec<IpAddr>, String> {
        let up = self
            .interfaces
            .required()?
            .iter()
            .filter(|interface| interface.up);
        let addresses: Vec<_> = up.flat_map(|interface| &interface.addresses).collect();
        let mut chosen = Vec::new();
        for network in networks {
            let inside = addresses
                .iter()
                .filter(|known| network.contains(known.address));
            let family = if network.is_ipv6() {
                Family::V6
            } else {
                Family::V4
            };
            match self.best(inside.copied(), family) {
                Some(ip) => chosen.push(ip),
                None => self.reject(network.to_string(), "no acceptable address lies in it"),
            }
        }
        if chosen.is_empty() {
            return Err("no acceptable address in nodeIPCIDR".to_owned());
        }
        Ok(chosen)
    }

    /// The first published address that would still be acceptable.
    fn published(&mut self, published: &[IpAddr]) -> Option<IpAddr> {
        published.iter().copied().find(|ip| {
            let reason = match owner(*ip, self.interfaces) {
                None => Some("published, but no longer on this host"),
                Some((interface, _)) if !interface.up => {
                    Some("published, but its interface is down")
                }
                Some((interface, _)) if is_inner(&interface.name) => {
                    Some("published, but its interface is one of a container network or VPN")
                }
                Some((_, known)) => unfit(known),
            };
            self.reject_for(*ip, reason)
        })
    }

    /// What the name resolves to and the host has. Where the resolver says more than one, an address on an inner
    /// interface comes last; nothing else tells which of them was meant.
    fn looked_up(&mut self, lookup: &Reading<Vec<IpAddr>>) -> Option<IpAddr> {
        let interfaces = self.interfaces;
        let valid: Vec<_> = lookup
            .get()?
            .iter()
            .copied()
            .filter(|ip| match validate(*ip, interfaces) {
                Ok(()) => {
                    let known = owner(*ip, interfaces).and_then(|(_, known)| unsettled(known));
                    self.reject_for(*ip, known)
                }
                Err(reason) => {
                    self.reject(ip.to_string(), reason);
                    false
                }
            })
            .collect();
        let preferred = self.families[0];
        let rank = |ip: &IpAddr| {
            let inner =
                owner(*ip, interfaces).is_some_and(|(interface, _)| is_inner(&interface.name));
            (inner, Family::of(*ip) != preferred)
        };
        valid.into_iter().min_by_key(rank)
    }

    /// The first address of an interface that a default route leaves by. Where such an interface has only link-local
    /// addresses (RFC 5549), the host's address is on the loopback interface.
    fn by_default_route(&mut self, routes: &[(Family, &str)]) -> Result<IpAddr, String> {
        if routes.is_empty() {
            return Err(
                r#"no default routes found in "/proc/net/route" or "/proc/net/ipv6_route""#
                    .to_owned(),
            );
        }
        for last_resort in [false, true] {
            for family in self.families {
                for (_, name) in routes
                    .iter()
                    .filter(|(of, name)| *of == family && is_inner(name) == last_resort)
                {
                    let interface = self.interface(name)?;
                    if let Some(ip) = self.best_of(interface, family) {
                        return Ok(ip);
                    }
                    let interfaces = self.interfaces.required()?;
                    let loopbacks = interfaces.iter().filter(|interface| interface.loopback);
                    for loopback in loopbacks {
                        if let Some(ip) = self.best_of(loopback, family) {
                            return Ok(ip);
                        }
                    }
                }
            }
        }
        Err("unable to select an IP from default routes.".to_owned())
    }

    /// The first address of the host, where there is no table of routes.
    fn scan(&mut self) -> Result<IpAddr, String> {
        let interfaces = self.interfaces.required()?;
        if interfaces.is_empty() {
            return Err("no interfaces found on host.".to_owned());
        }
        for family in self.families {
            for interface in interfaces
                .iter()
                .filter(|i| !i.loopback && !i.point_to_point)
            {
                if is_inner(&interface.name) {
                    self.reject(
                        interface.name.clone(),
                        "an interface of a container network or VPN",
                    );
                } else if let Some(ip) = self.best_of(interface, family) {
                    return Ok(ip);
                }
            }
        }
        Err("no acceptable interface with global unicast address found on host".to_owned())
    }

    fn interface(&self, name: &str) -> Result<&'a Interface, String> {
        let interfaces = self.interfaces.required()?;
        let found = interfaces.iter().find(|interface| interface.name == name);
        found.ok_or_else(|| format!("there is no interface {name:?}"))
    }

    /// The best address of one interface, if it is up.
    fn best_of(&mut self, interface: &Interface, family: Family) -> Option<IpAddr> {
        if !interface.up {
            self.reject(interface.name.clone(), "the interface is down");
            return None;
        }
        self.best(interface.addresses.iter(), family)
    }

    /// The first fit address, one that somebody gave before one that was made up.
    fn best<'b>(
        &mut self,
        candidates: impl Iterator<Item = &'b InterfaceAddress>,
        family: Family,
    ) -> Option<IpAddr> {
        let fit = candidates
            .filter(|known| Family::of(known.address) == family)
            .filter(|known| self.reject_for(known.address, unfit(known)));
        let best = fit.min_by_key(|known| (known.secondary, is_from_hardware(known.address)))?;
        Some(best.address.to_canonical())
    }

    /// Whether there is no reason against `ip`; a reason is noted.
    fn reject_for(&mut self, ip: IpAddr, reason: Option<&'static str>) -> bool {
        if let Some(reason) = reason {
            self.reject(ip.to_canonical().to_string(), reason);
        }
        reason.is_none()
    }

    fn reject(&mut self, value: String, reason: impl Into<String>) {
        let rejected = Rejected {
            value,
            reason: reason.into(),
        };
        if !self.rejected.contains(&rejected) {
            self.rejected.push(rejected);
        }
    }
}
