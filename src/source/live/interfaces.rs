//! Network interfaces: getifaddrs(3), with what it leaves out taken from procfs and sysfs. if-addrs gives neither
//! `IFF_UP` and `IFF_LOOPBACK` nor the flags of an address; an IPv4 address's `IFA_F_SECONDARY` is worked out by the
//! kernel's own rule (`__inet_insert_ifa` of `net/ipv4/devinet.c`).

use super::super::{Interface, InterfaceAddress, Reason, file};
use if_addrs::{IfAddr, IfOperStatus};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// `include/uapi/linux/if.h`
const IFF_UP: u32 = 0x1;
const IFF_LOOPBACK: u32 = 0x8;

/// `include/uapi/linux/if_addr.h`; the flags that fit into a byte.
const IFA_F_TEMPORARY: u8 = 0x01;
const IFA_F_DADFAILED: u8 = 0x08;
const IFA_F_DEPRECATED: u8 = 0x20;
const IFA_F_TENTATIVE: u8 = 0x40;

/// The flags of IPv6 addresses, by interface index and address.
type Inet6Flags = BTreeMap<(u32, Ipv6Addr), u8>;

/// The interfaces of this network namespace that have an address.
pub(super) fn all() -> Result<Vec<Interface>, Reason> {
    let found = if_addrs::get_if_addrs().map_err(|error| super::super::resolve::errno(&error))?;
    // Absent where the kernel was started without IPv6; then no address needs it.
    let inet6 = if found.iter().any(|entry| entry.ip().is_ipv6()) {
        let bytes = file::read(Path::new("/proc/self/net/if_inet6"))?;
        inet6_flags(&String::from_utf8_lossy(&bytes))
    } else {
        Inet6Flags::new()
    };
    Ok(grouped(found, &inet6, device_flags))
}

/// The `IFF_` flags of a device.
fn device_flags(name: &str) -> Option<u32> {
    let bytes = file::read(&Path::new("/sys/class/net").join(name).join("flags")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

/// One interface for all its addresses, in the order of the indexes.
fn grouped(
    found: Vec<if_addrs::Interface>,
    inet6: &Inet6Flags,
    device_flags: impl Fn(&str) -> Option<u32>,
) -> Vec<Interface> {
    let mut interfaces = BTreeMap::<u32, Interface>::new();
    for entry in found {
        // An interface without an index went away in between.
        let Some(index) = entry.index else { continue };
        let interface = interfaces.entry(index).or_insert_with(|| {
            // getifaddrs(3) gives the label of an IPv4 address (`eth0:1`) in place of the device's name.
            let name = entry.name.split(':').next().unwrap_or_default();
            let flags = device_flags(name);
            Interface {
                name: name.to_owned(),
                index,
                up: flags.map_or(entry.oper_status == IfOperStatus::Up, |flags| {
                    flags & IFF_UP != 0
                }),
                loopback: flags.map_or(entry.is_loopback(), |flags| flags & IFF_LOOPBACK != 0),
                point_to_point: entry.is_p2p,
                addresses: Vec::new(),
            }
        });
        let address = match entry.addr {
            IfAddr::V4(v4) => ipv4(v4.ip, v4.prefixlen, &interface.addresses),
            IfAddr::V6(v6) => ipv6(
                v6.ip,
                v6.prefixlen,
                inet6.get(&(index, v6.ip)).copied().unwrap_or_default(),
            ),
        };
        interface.addresses.push(address);
    }
    interfaces.into_values().collect()
}

fn ipv4(ip: Ipv4Addr, prefix: u8, before: &[InterfaceAddress]) -> InterfaceAddress {
    let same_network = |other: IpAddr| match other {
        IpAddr::V4(other) => network(other, prefix) == network(ip, prefix),
        IpAddr::V6(_) => false,
    };
    InterfaceAddress {
        address: ip.into(),
        prefix,
        secondary: before
            .iter()
            .any(|other| other.prefix == prefix && same_network(other.address)),
        temporary: false,
        tentative: false,
        deprecated: false,
    }
}

fn network(ip: Ipv4Addr, prefix: u8) -> u32 {
    ip.to_bits()
        .checked_shr(32 - u32::from(prefix.min(32)))
        .unwrap_or_default()
}

fn ipv6(ip: Ipv6Addr, prefix: u8, flags: u8) -> InterfaceAddress {
    InterfaceAddress {
        address: ip.into(),
        prefix,
        secondary: false,
        temporary: flags & IFA_F_TEMPORARY != 0,
        tentative: flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED) != 0,
        deprecated: flags & IFA_F_DEPRECATED != 0,
    }
}

/// Reads `/proc/net/if_inet6` (`if6_seq_show` of `net/ipv6/addrconf.c`): address, index, prefix length, scope and
/// flags in hexadecimal, then the name. A line that is something else is passed over.
fn inet6_flags(text: &str) -> Inet6Flags {
    text.lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let [address, index, _prefix, _scope, flags, ..] = fields[..] else {
                return None;
            };
            let address = Ipv6Addr::from_bits(u128::from_str_radix(address, 16).ok()?);
            Some((
                (u32::from_str_radix(index, 16).ok()?, address),
                u8::from_str_radix(flags, 16).ok()?,
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use if_addrs::{Ifv4Addr, Ifv6Addr};

    fn entry(name: &str, index: u32, address: &str) -> if_addrs::Interface {
        let (ip, prefix) = address.split_once('/').unwrap();
        let prefixlen = prefix.parse().unwrap();
        let addr = match ip.parse().unwrap() {
            IpAddr::V4(ip) => IfAddr::V4(Ifv4Addr {
                ip,
                netmask: Ipv4Addr::UNSPECIFIED,
                prefixlen,
                broadcast: None,
            }),
            IpAddr::V6(ip) => IfAddr::V6(Ifv6Addr {
                ip,
                netmask: Ipv6Addr::UNSPECIFIED,
                prefixlen,
                broadcast: None,
            }),
        };
        let index = Some(index);
        if_addrs::Interface {
            name: name.to_owned(),
            addr,
            index,
            oper_status: IfOperStatus::Unknown,
            is_p2p: false,
        }
    }

    /// The flags of each address, by their first letters.
    fn letters(interface: &Interface) -> Vec<(String, String)> {
        let letters = |address: &InterfaceAddress| {
            [
                (address.secondary, 's'),
                (address.temporary, 't'),
                (address.tentative, 'n'),
                (address.deprecated, 'd'),
            ]
            .into_iter()
            .filter_map(|(set, letter)| set.then_some(letter))
            .collect()
        };
        interface
            .addresses
            .iter()
            .map(|address| (address.address.to_string(), letters(address)))
            .collect()
    }

    /// Field case C55: each of the five addresses has the flags that tell it from the others.
    #[test]
    fn c55_flags_of_ipv6_addresses() {
        let text = "20010db8000000000000000000000010 02 80 00 80     eth0\n\
                    20010db80000000050540000fe000001 02 40 00 00     eth0\n\
                    20010db800000000000000000000abcd 02 40 00 01     eth0\n\
                    20010db800000000000000000000dead 02 40 00 20     eth0\n\
                    20010db800000000000000000000beef 02 40 00 40     eth0\n\
                    20010db8000000000000000000000bad 02 40 00 c8     eth0\n\
                    20010db800000000000000000000abcd 03 40 00 80     eth1\n";
        let found = [
            "10/128",
            "5054:0:fe00:1/64",
            "abcd/64",
            "dead/64",
            "beef/64",
            "bad/64",
        ]
        .map(|end| entry("eth0", 2, &format!("2001:db8::{end}")));
        let interfaces = grouped(found.to_vec(), &inet6_flags(text), |_| Some(IFF_UP));
        let flags: Vec<String> = letters(&interfaces[0])
            .into_iter()
            .map(|(_, flags)| flags)
            .collect();
        assert_eq!(flags, ["", "", "t", "d", "n", "n"]);
        assert_eq!(interfaces[0].addresses[0].prefix, 128);
    }

    #[test]
    fn lines_of_another_form_are_passed_over() {
        for text in [
            "",
            "\n\n",
            "20010db8 02",
            "xyz 02 40 00 80 eth0",
            "1 02 40 00 fff eth0",
            "1 x 40 00 80 eth0",
        ] {
            assert!(inet6_flags(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn addresses_are_grouped_by_device_in_the_order_of_the_indexes() {
        let found = vec![
            entry("eth0", 3, "192.0.2.10/24"),
            entry("eth0:1", 3, "192.0.2.11/24"),
            entry("eth0", 3, "192.0.2.12/32"),
            entry("lo", 1, "127.0.0.1/8"),
            entry("wg0", 2, "fe80::1/64"),
            entry("eth0", 3, "2001:db8::1/64"),
            if_addrs::Interface {
                index: None,
                ..entry("gone", 9, "192.0.2.99/24")
            },
        ];
        let flags = |name: &str| match name {
            "lo" => Some(IFF_UP | IFF_LOOPBACK),
            "wg0" => Some(0),
            "eth0" => Some(0x1003),
            _ => panic!("{name} is not a device"),
        };
        let interfaces = grouped(found, &Inet6Flags::new(), flags);
        let devices: Vec<_> = interfaces
            .iter()
            .map(|i| (i.name.as_str(), i.index, i.up, i.loopback))
            .collect();
        assert_eq!(
            devices,
            [
                ("lo", 1, true, true),
                ("wg0", 2, false, false),
                ("eth0", 3, true, false)
            ]
        );
        let expected = [
            ("192.0.2.10", ""),
            ("192.0.2.11", "s"),
            ("192.0.2.12", ""),
            ("2001:db8::1", ""),
        ];
        assert_eq!(
            letters(&interfaces[2]),
            expected.map(|(a, f)| (a.to_owned(), f.to_owned()))
        );
    }

    /// Without sysfs, what getifaddrs(3) says has to do.
    #[test]
    fn flags_without_sysfs() {
        let running = if_addrs::Interface {
            oper_status: IfOperStatus::Up,
            ..entry("lo", 1, "127.0.0.1/8")
        };
        let interfaces = grouped(
            vec![running, entry("eth0", 2, "192.0.2.1/24")],
            &Inet6Flags::new(),
            |_| None,
        );
        let flags: Vec<_> = interfaces.iter().map(|i| (i.up, i.loopback)).collect();
        assert_eq!(flags, [(true, true), (false, false)]);
    }

    #[test]
    fn this_machine_has_a_loopback() {
        let interfaces = all().unwrap();
        let loopback = interfaces
            .iter()
            .find(|interface| interface.loopback)
            .unwrap();
        assert!(loopback.up);
        assert!(
            loopback
                .addresses
                .iter()
                .all(|address| address.address.is_loopback())
        );
    }
}
