//! `interfaces` of a recording: the flags of a network interface by their kernel names.

use crate::source::{Interface, InterfaceAddress};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// One of `interfaces`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    name: String,
    index: u32,
    #[serde(default)]
    flags: Vec<DeviceFlag>,
    #[serde(default)]
    addresses: Vec<DeviceAddress>,
}

/// `IFF_…` without the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum DeviceFlag {
    Up,
    Loopback,
    Pointopoint,
}

/// One of `interfaces[].addresses`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceAddress {
    address: IpAddr,
    prefix: u8,
    #[serde(default)]
    flags: Vec<AddressFlag>,
}

/// `IFA_F_…` without the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AddressFlag {
    Secondary,
    Temporary,
    Tentative,
    Deprecated,
}

impl From<&Interface> for Device {
    fn from(interface: &Interface) -> Self {
        Self {
            name: interface.name.clone(),
            index: interface.index,
            flags: set_flags([
                (interface.up, DeviceFlag::Up),
                (interface.loopback, DeviceFlag::Loopback),
                (interface.point_to_point, DeviceFlag::Pointopoint),
            ]),
            addresses: interface
                .addresses
                .iter()
                .map(DeviceAddress::from)
                .collect(),
        }
    }
}

impl From<&Device> for Interface {
    fn from(device: &Device) -> Self {
        Self {
            name: device.name.clone(),
            index: device.index,
            up: device.flags.contains(&DeviceFlag::Up),
            loopback: device.flags.contains(&DeviceFlag::Loopback),
            point_to_point: device.flags.contains(&DeviceFlag::Pointopoint),
            addresses: device
                .addresses
                .iter()
                .map(InterfaceAddress::from)
                .collect(),
        }
    }
}

impl From<&InterfaceAddress> for DeviceAddress {
    fn from(address: &InterfaceAddress) -> Self {
        Self {
            address: address.address,
            prefix: address.prefix,
            flags: set_flags([
                (address.secondary, AddressFlag::Secondary),
                (address.temporary, AddressFlag::Temporary),
                (address.tentative, AddressFlag::Tentative),
                (address.deprecated, AddressFlag::Deprecated),
            ]),
        }
    }
}

impl From<&DeviceAddress> for InterfaceAddress {
    fn from(address: &DeviceAddress) -> Self {
        Self {
            address: address.address,
            prefix: address.prefix,
            secondary: address.flags.contains(&AddressFlag::Secondary),
            temporary: address.flags.contains(&AddressFlag::Temporary),
            tentative: address.flags.contains(&AddressFlag::Tentative),
            deprecated: address.flags.contains(&AddressFlag::Deprecated),
        }
    }
}

fn set_flags<F, const N: usize>(flags: [(bool, F); N]) -> Vec<F> {
    flags
        .into_iter()
        .filter_map(|(set, flag)| set.then_some(flag))
        .collect()
}
