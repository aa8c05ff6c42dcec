//! Default routes: `/proc/net/route` and `/proc/net/ipv6_route`, as `apimachinery/pkg/util/net/interface.go` reads them.
//!
//! They are read at `/proc/1/net`, since `/proc/net` is that of the reading process. What a route is good for is not
//! decided here. The messages are apimachinery's, because kubelet publishes them.

use super::{ReadError, shortened};
use crate::source::Tracked;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The kernel's IPv4 routes.
pub const ROUTE: &str = "/proc/1/net/route";
/// The kernel's IPv6 routes.
pub const IPV6_ROUTE: &str = "/proc/1/net/ipv6_route";

/// A default route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route<A> {
    /// The interface it leaves by.
    pub interface: String,
    /// Its gateway.
    pub gateway: A,
}

/// The default routes of both families, in the order of the files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Routes {
    /// IPv4 routes, or why the file makes no sense; `None` where there is no such file.
    pub v4: Option<Result<Vec<Route<Ipv4Addr>>, String>>,
    /// IPv6 routes; a file that is missing or makes no sense counts as none.
    pub v6: Vec<Route<Ipv6Addr>>,
}

/// The default routes in the text of `/proc/net/route`. Mask, flags and metric are not looked at. An address that
/// makes no sense on any line fails the whole file.
pub fn parse_v4(text: &str) -> Result<Vec<Route<Ipv4Addr>>, String> {
    let mut routes = Vec::new();
    for line in whole_lines(text).filter(|line| !line.starts_with("Iface")) {
        let mut fields = line.split_whitespace();
        let (Some(interface), Some(destination), Some(gateway)) =
            (fields.next(), fields.next(), fields.next())
        else {
            return Err(format!("short line {line:?} in route"));
        };
        let (destination, gateway) = (parse_v4_address(destination)?, parse_v4_address(gateway)?);
        if destination.is_unspecified() {
            routes.push(Route {
                interface: interface.to_owned(),
                gateway,
            });
        }
    }
    Ok(routes)
}

/// The default routes in the text of `/proc/net/ipv6_route`; one without a gateway is the kernel's own for what it
/// cannot reach. An address that makes no sense on any line fails the whole file.
pub fn parse_v6(text: &str) -> Result<Vec<Route<Ipv6Addr>>, String> {
    let mut routes = Vec::new();
    for line in whole_lines(text) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [destination, _, _, _, gateway, _, _, _, _, interface, ..] = fields[..] else {
            return Err(format!("short line {line:?} in route"));
        };
        let (destination, gateway) = (parse_v6_address(destination)?, parse_v6_address(gateway)?);
        if destination.is_unspecified() && !gateway.is_unspecified() {
            routes.push(Route {
                interface: interface.to_owned(),
                gateway,
            });
        }
    }
    Ok(routes)
}

/// The lines that end with a newline and are not blank; what follows the last newline was cut off.
fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
        .filter(|line| !line.trim().is_empty())
}

/// Eight hex digits, the lowest byte first.
fn parse_v4_address(text: &str) -> Result<Ipv4Addr, String> {
    let bytes: [u8; 4] = parse_hex(text)?
        .try_into()
        .map_err(|_| "invalid IPv4 address in route")?;
    Ok(Ipv4Addr::from(u32::from_le_bytes(bytes)))
}

/// 32 hex digits in the order of the address.
fn parse_v6_address(text: &str) -> Result<Ipv6Addr, String> {
    let bytes: [u8; 16] = parse_hex(text)?
        .try_into()
        .map_err(|_| "invalid IPv6 address in route")?;
    Ok(Ipv6Addr::from(bytes))
}

fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    if text.is_empty() {
        return Err("input is nil".to_owned());
    }
    let mut digits = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        let digit = char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok());
        let invalid = || {
            format!(
                "encoding/hex: invalid byte: U+{byte:04X} '{}'",
                char::from(byte)
            )
        };
        digits.push(digit.ok_or_else(invalid)?);
    }
    let (pairs, odd) = digits.as_chunks::<2>();
    if !odd.is_empty() {
        return Err("encoding/hex: odd length hex string".to_owned());
    }
    Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// The default routes. Always a value: the two files fail each on its own, and differently.
pub fn read(source: &Tracked<'_>) -> Result<Routes, ReadError> {
    let v4 = match source.read_text(ROUTE) {
        Ok(text) => Some(parse_v4(&text).map_err(shortened)),
        Err(error) if error.is_absent() => None,
        Err(error) => Some(Err(error.to_string())),
    };
    let v6 = source
        .read_text(IPV6_ROUTE)
        .ok()
        .and_then(|text| parse_v6(&text).ok())
        .unwrap_or_default();
    Ok(Routes { v4, v6 })
}

#[cfg(test)]
mod tests;
