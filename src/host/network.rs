//! Default routes: `/proc/net/route` and `/proc/net/ipv6_route`, as `apimachinery/pkg/util/net/interface.go` reads them.

use std::net::{Ipv4Addr, Ipv6Addr};

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
