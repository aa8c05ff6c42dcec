use super::choose::{self, choose};
use super::usable::validate;
use super::{PROVIDED_NODE_IP, explain, set};
use crate::config::node_ip::Cidr;
use crate::gather::Reading;
use crate::host::network::{Route, Routes};
use crate::source::{Interface, InterfaceAddress};
use crate::status::testing::{World, address, interface};
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeSpec, NodeStatus};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| ip(text)).collect()
}

fn routes(v4: &[&str], v6: &[&str]) -> Reading<Routes> {
    let v4 = v4.iter().map(|name| Route {
        interface: (*name).to_owned(),
        gateway: Ipv4Addr::new(10, 254, 0, 1),
    });
    let v6 = v6.iter().map(|name| Route {
        interface: (*name).to_owned(),
        gateway: "2001:1::1".parse::<Ipv6Addr>().unwrap(),
    });
    Reading::of(Routes {
        v4: Some(Ok(v4.collect())),
        v6: v6.collect(),
    })
}

/// A host with these addresses on `eth0`, by which the default routes of both families leave; its name is unknown
/// to the resolver.
fn host(addresses: &[&str]) -> World {
    let mut world = World::new();
    world.interfaces(&[
        interface("lo", &["127.0.0.1/8", "::1/128"]),
        interface("eth0", addresses),
    ]);
    world.snapshot.routes = routes(&["eth0"], &["eth0"]);
    world.snapshot.lookup = Reading::failed("no such host");
    world
}

fn node_with(addresses: &[(&str, &str)]) -> Node {
    let addresses = addresses.iter().map(|(kind, address)| NodeAddress {
        type_: (*kind).to_owned(),
        address: (*address).to_owned(),
    });
    let status = NodeStatus {
        addresses: Some(addresses.collect()),
        ..NodeStatus::default()
    };
    Node {
        status: Some(status),
        ..Node::default()
    }
}

fn annotated(value: &str) -> Node {
    let mut node = Node::default();
    node.metadata.annotations = Some([(PROVIDED_NODE_IP.to_owned(), value.to_owned())].into());
    node
}

fn annotation(node: &Node) -> Option<&str> {
    node.metadata
        .annotations
        .as_ref()?
        .get(PROVIDED_NODE_IP)
        .map(String::as_str)
}

/// The addresses of a Node, each but the host name's as it stands.
fn listed(node: &Node) -> Vec<String> {
    let addresses = node
        .status
        .iter()
        .filter_map(|status| status.addresses.as_ref())
        .flatten();
    addresses
        .map(
            |address| match (address.type_.as_str(), address.address.as_str()) {
                ("Hostname", "hostname") => "H".to_owned(),
                (kind, text) => format!("{kind} {text}"),
            },
        )
        .collect()
}

/// Upstream's table: row, external cloud provider, node IPs, what the host's default route leads to, what the Node
/// has before (an address of the cloud, or the annotation), its internal addresses after and its annotation after.
const NODE_ADDRESS: &str = "
A1  | yes | 10.0.0.1                          |             |                                              | 10.0.0.1                          | 10.0.0.1
A2  | no  | 0.0.0.0                           | 10.0.0.2    |                                              | 10.0.0.2                          |
A3  | no  | ::                                | 2001:db2::2 |                                              | 2001:db2::2                       |
A4  | yes | 0.0.0.0                           | 10.0.0.2    |                                              | 10.0.0.2                          |
A5  | yes | ::                                | 2001:db2::2 |                                              | 2001:db2::2                       |
A6  | no  |                                   | 10.0.0.2    |                                              | 10.0.0.2                          |
A7  | no  |                                   | 2001:db2::2 |                                              | 2001:db2::2                       |
A8  | yes |                                   | 10.0.0.2    |                                              |                                   |
A9  | yes |                                   | 2001:db2::2 |                                              |                                   |
A10 | yes | 10.1.1.1                          |             |                                              | 10.1.1.1                          | 10.1.1.1
A11 | yes | 10.1.1.1                          |             | cloud 10.1.1.2                               | unchanged                         | 10.1.1.1
A12 | no  | 10.1.1.1                          |             |                                              | 10.1.1.1                          |
A13 | no  | 10.1.1.1                          |             | annotation 10.1.1.3                          | 10.1.1.1                          |
A14 | yes | 10.1.1.1                          |             | annotation 10.1.1.3                          | 10.1.1.1                          | 10.1.1.1
A15 | yes | 2600:1f14:1d4:d101::ba3d,10.1.1.2 |             |                                              | 2600:1f14:1d4:d101::ba3d,10.1.1.2 | 2600:1f14:1d4:d101::ba3d,10.1.1.2
A16 | yes | 10.1.1.1,2600:1f14:1d4:d101::ba3d |             | annotation 10.1.1.1                          | 10.1.1.1,2600:1f14:1d4:d101::ba3d | 10.1.1.1,2600:1f14:1d4:d101::ba3d
A17 | yes | 10.1.1.1                          |             | annotation 10.1.1.1,2600:1f14:1d4:d101::ba3d | 10.1.1.1                          | 10.1.1.1
";

#[test]
fn test_node_address() {
    for line in NODE_ADDRESS.trim().lines() {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [
            row,
            cloud,
            node_ips,
            resolved,
            before,
            after,
            annotation_after,
        ] = columns[..]
        else {
            panic!("{line:?} has not seven columns");
        };
        let node_ips: Vec<&str> = node_ips.split_terminator(',').collect();
        let mut world = host(&[]);
        world.settings.cloud_provider_external = cloud == "yes";
        world.settings.node_ips = ips(&node_ips);
        let on_host = node_ips
            .iter()
            .copied()
            .chain(resolved.split_terminator(','));
        let on_host = on_host.filter(|ip| !["0.0.0.0", "::"].contains(ip));
        let on_host: Vec<_> = on_host.map(|ip| format!("{ip}/24")).collect();
        let on_host: Vec<_> = on_host.iter().map(String::as_str).collect();
        world.interfaces(&[interface("eth0", &on_host)]);
        let mut node = match before.split_once(' ') {
            Some(("cloud", address)) => node_with(&[("", address)]),
            Some((_, value)) => annotated(value),
            None => Node::default(),
        };
        let expected: Vec<String> = if after == "unchanged" {
            listed(&node)
        } else {
            let internal = after
                .split_terminator(',')
                .map(|ip| format!("InternalIP {ip}"));
            internal.chain(["H".to_owned()]).collect()
        };
        set(&world.inputs(), &mut node).unwrap();
        assert_eq!(listed(&node), expected, "{row}");
        let annotation_after = Some(annotation_after).filter(|value| !value.is_empty());
        assert_eq!(annotation(&node), annotation_after, "{row}: annotation");
    }
}

#[test]
fn test_node_address_no_cloud_provider() {
    let rows: [(&[&str], &[&str], &str); 4] = [
        (&["10.1.1.1"], &["InternalIP 10.1.1.1", "H"], ""),
        (
            &["127.0.0.1"],
            &[],
            "failed to validate nodeIP: nodeIP can't be loopback address",
        ),
        (
            &["10.1.1.1", "fd01::1234"],
            &["InternalIP 10.1.1.1", "InternalIP fd01::1234", "H"],
            "",
        ),
        (
            &["10.1.1.1", "224.0.0.0"],
            &[],
            "failed to validate secondaryNodeIP: nodeIP can't be a multicast address",
        ),
    ];
    for (node_ips, expected, error) in rows {
        let mut world = host(&["10.1.1.1/24", "fd01::1234/64"]);
        world.settings.node_ips = ips(node_ips);
        let mut node = Node::default();
        let result = set(&world.inputs(), &mut node);
        assert_eq!(
            result.err().map(|error| error.0).unwrap_or_default(),
            error,
            "{node_ips:?}"
        );
        assert_eq!(listed(&node), expected, "{node_ips:?}");
    }
}

#[test]
fn an_all_zeros_secondary_node_ip_is_as_good_as_none() {
    let mut world = host(&["10.1.1.1/24", "fd01::1234/64"]);
    world.settings.node_ips = ips(&["10.1.1.1", "::"]);
    world.settings.cloud_provider_external = true;
    let mut node = Node::default();
    set(&world.inputs(), &mut node).unwrap();
    assert_eq!(listed(&node), ["InternalIP 10.1.1.1", "H"]);
    assert_eq!(annotation(&node), Some("10.1.1.1"));
}

#[test]
fn test_validate_node_ip_param() {
    let world = host(&[
        "192.0.2.7/24",
        "2001:db8::7/64",
        "fe80::202:b3ff:fe1e:8329/64",
    ]);
    for (text, expected) in [
        (
            "127.0.0.1",
            Err("nodeIP can't be loopback address".to_owned()),
        ),
        ("::1", Err("nodeIP can't be loopback address".to_owned())),
        (
            "224.0.0.1",
            Err("nodeIP can't be a multicast address".to_owned()),
        ),
        (
            "ff00::1",
            Err("nodeIP can't be a multicast address".to_owned()),
        ),
        (
            "169.254.0.1",
            Err("nodeIP can't be a link-local unicast address".to_owned()),
        ),
        (
            "fe80::202:b3ff:fe1e:8329",
            Err("nodeIP can't be a link-local unicast address".to_owned()),
        ),
        (
            "0.0.0.0",
            Err("nodeIP can't be an all zeros address".to_owned()),
        ),
        ("::", Err("nodeIP can't be an all zeros address".to_owned())),
        (
            "1.2.3.4",
            Err("node IP: \"1.2.3.4\" not found in the host's network interfaces".to_owned()),
        ),
        ("192.0.2.7", Ok(())),
        ("2001:db8::7", Ok(())),
    ] {
        assert_eq!(
            validate(ip(text), &world.snapshot.interfaces),
            expected,
            "{text}"
        );
    }
}

fn chosen(world: &World, published: &[&str]) -> Result<(Vec<String>, &'static str), String> {
    let choice = choose(&world.inputs(), &ips(published))?;
    Ok((
        choice.addresses.iter().map(ToString::to_string).collect(),
        choice.rule,
    ))
}

fn one(ip: &str, rule: &'static str) -> (Vec<String>, &'static str) {
    (vec![ip.to_owned()], rule)
}

#[test]
fn a_host_name_that_is_an_address_is_taken_unvalidated() {
    for (name, expected) in [("010.0.0.1", "10.0.0.1"), ("2001:DB8::1", "2001:db8::1")] {
        let mut world = host(&["192.0.2.7/24"]);
        world.node_name = name;
        assert_eq!(
            chosen(&world, &[]),
            Ok(one(expected, choose::HOSTNAME_LITERAL)),
            "{name}"
        );
    }
    for name in ["10.0.0.256", "10.0.0", "n1.example", "10.0..1"] {
        let mut world = host(&["192.0.2.7/24"]);
        world.node_name = name;
        assert_eq!(
            chosen(&world, &[]),
            Ok(one("192.0.2.7", choose::DEFAULT_ROUTE)),
            "{name}"
        );
    }
}

#[test]
fn the_resolver_s_answer_is_taken_by_family() {
    let rows: [(&[&str], &[&str], &str); 4] = [
        (&["2001:db8::7", "192.0.2.7"], &[], "192.0.2.7"),
        (&["2001:db8::7"], &[], "2001:db8::7"),
        (&["192.0.2.7", "2001:db8::7"], &["::"], "2001:db8::7"),
        (&["203.0.113.1", "192.0.2.8"], &[], "192.0.2.8"),
    ];
    for (answer, node_ips, expected) in rows {
        let mut world = host(&["192.0.2.7/24", "192.0.2.8/24", "2001:db8::7/64"]);
        world.snapshot.lookup = Reading::of(ips(answer));
        world.settings.node_ips = ips(node_ips);
        assert_eq!(
            chosen(&world, &[]),
            Ok(one(expected, choose::LOOKUP)),
            "{answer:?}, {node_ips:?}"
        );
    }
}

#[test]
fn nothing_found_leaves_the_stored_addresses() {
    let mut world = host(&[]);
    world.snapshot.routes = routes(&[], &[]);
    let mut node = node_with(&[("InternalIP", "192.0.2.7"), ("Hostname", "hostname")]);
    let error = set(&world.inputs(), &mut node).unwrap_err().0;
    assert_eq!(
        error,
        "can't get ip address of node hostname. error: no default routes found in \"/proc/net/route\" or \
         \"/proc/net/ipv6_route\""
    );
    assert_eq!(listed(&node), ["InternalIP 192.0.2.7", "H"]);
}

/// The sets of interfaces of upstream's table.
fn upstream(set: &str) -> Vec<Interface> {
    let loopback = interface("lo", &["10.1.1.1/32", "fd00:1:1::1/128"]);
    let eth3 = |addresses: &[&str]| interface("eth3", addresses);
    match set {
        "valid" => vec![eth3(&["fe80::2f7:6fff:fe6e:2956/64", "10.254.71.145/17"])],
        "v6only" => vec![eth3(&["fe80::2f7:6fff:fe6e:2956/64", "2001::200/62"])],
        "both" => vec![eth3(&["2001::10/64", "10.254.71.145/17"])],
        "LLA+lo" => vec![loopback, eth3(&["169.254.1.1/16", "fe80::1/64"])],
        "globals" => vec![loopback, eth3(&["192.168.1.1/31", "fd00::200/127"])],
        "link-locals" => vec![eth3(&["169.254.162.166/16", "fe80::200/10"])],
        "down" => vec![Interface {
            up: false,
            ..eth3(&["10.254.71.145/17"])
        }],
        "loopback" => vec![interface("lo", &["127.0.0.1/8", "::1/128", "10.1.1.1/32"])],
        "point to point" => vec![Interface {
            point_to_point: true,
            ..eth3(&["10.254.71.145/17"])
        }],
        "no addresses" => vec![eth3(&[])],
        _ => vec![],
    }
}

#[test]
fn test_choose_host_interface_from_route() {
    const NONE: Result<&str, &str> = Err("unable to select an IP from default routes.");
    let no_routes =
        Err("no default routes found in \"/proc/net/route\" or \"/proc/net/ipv6_route\"");
    for (defaults, interfaces, first, expected) in [
        ("v4", "valid", "v4", Ok("10.254.71.145")),
        ("v4", "valid", "v6", Ok("10.254.71.145")),
        ("v6", "v6only", "v4", Ok("2001::200")),
        ("v6", "v6only", "v6", Ok("2001::200")),
        ("both", "both", "v4", Ok("10.254.71.145")),
        ("both", "both", "v6", Ok("2001::10")),
        ("v4", "LLA+lo", "v4", Ok("10.1.1.1")),
        ("v6", "LLA+lo", "v6", Ok("fd00:1:1::1")),
        ("both", "LLA+lo", "v4", Ok("10.1.1.1")),
        ("both", "LLA+lo", "v6", Ok("fd00:1:1::1")),
        ("none", "LLA+lo", "v4", no_routes),
        ("none", "globals", "v6", no_routes),
        ("none", "valid", "v4", no_routes),
        ("v4", "globals", "v4", Ok("192.168.1.1")),
        ("v6", "globals", "v6", Ok("fd00::200")),
        ("both", "globals", "v4", Ok("192.168.1.1")),
        ("both", "globals", "v6", Ok("fd00::200")),
        ("v4", "link-locals", "v4", NONE),
        ("v4", "down", "v4", NONE),
        (
            "v4",
            "no interface at all",
            "v4",
            Err("there is no interface \"eth3\""),
        ),
    ] {
        let mut world = host(&[]);
        let of = |family: &str| {
            if defaults == family || defaults == "both" {
                &["eth3"][..]
            } else {
                &[]
            }
        };
        world.snapshot.routes = routes(of("v4"), of("v6"));
        world.interfaces(&upstream(interfaces));
        world.settings.node_ips = ips(if first == "v6" { &["::"] } else { &["0.0.0.0"] });
        let expected = expected
            .map(|ip| (vec![ip.to_owned()], choose::DEFAULT_ROUTE))
            .map_err(str::to_owned);
        assert_eq!(
            chosen(&world, &[]),
            expected,
            "{defaults} on {interfaces}, {first} first"
        );
    }
    let mut world = host(&[]);
    world.snapshot.interfaces = Reading::failed("EIO");
    assert_eq!(
        chosen(&world, &[]),
        Err("EIO".to_owned()),
        "listing addresses fails"
    );
}

#[test]
fn test_choose_ip_from_host_interfaces() {
    const NONE: Result<&str, &str> =
        Err("no acceptable interface with global unicast address found on host");
    for (interfaces, first, expected) in [
        (
            "no interface at all",
            "v4",
            Err("no interfaces found on host."),
        ),
        ("down", "v4", NONE),
        ("loopback", "v4", NONE),
        ("point to point", "v4", NONE),
        ("no addresses", "v4", NONE),
        ("link-locals", "v4", NONE),
        ("valid", "v4", Ok("10.254.71.145")),
        ("valid", "v6", Ok("10.254.71.145")),
        ("v6only", "v4", Ok("2001::200")),
        ("v6only", "v6", Ok("2001::200")),
        ("both", "v4", Ok("10.254.71.145")),
        ("both", "v6", Ok("2001::10")),
    ] {
        let mut world = host(&[]);
        world.snapshot.routes = Reading::of(Routes {
            v4: None,
            v6: vec![],
        });
        world.interfaces(&upstream(interfaces));
        world.settings.node_ips = ips(if first == "v6" { &["::"] } else { &[] });
        let expected = expected
            .map(|ip| (vec![ip.to_owned()], choose::INTERFACE_SCAN))
            .map_err(str::to_owned);
        assert_eq!(chosen(&world, &[]), expected, "{interfaces}, {first} first");
    }
}

#[test]
fn a_route_file_that_makes_no_sense_is_an_error() {
    let mut world = host(&["192.0.2.7/24"]);
    let v4 = Some(Err("invalid IPv4 address in route".to_owned()));
    world.snapshot.routes = Reading::of(Routes { v4, v6: vec![] });
    assert_eq!(
        chosen(&world, &[]),
        Err("invalid IPv4 address in route".to_owned())
    );
}

#[test]
fn test_get_matching_global_ip() {
    for (addresses, first, expected) in [
        (&["2001::5/64"][..], "v4", Some("2001::5")),
        (&["10.128.0.4/32"], "v6", Some("10.128.0.4")),
        (
            &[
                "127.0.0.1/8",
                "::1/128",
                "169.254.1.10/16",
                "fe80::2f7:6fff:fe6e:2956/64",
            ],
            "v4",
            None,
        ),
        (&["10.254.12.132/17"], "v4", Some("10.254.12.132")),
        (
            &["255.255.255.255/32", "100.64.0.9/10"],
            "v4",
            Some("100.64.0.9"),
        ),
        (&["fd00::9/64", "2001::5/64"], "v6", Some("fd00::9")),
    ] {
        let mut world = host(addresses);
        world.settings.node_ips = ips(if first == "v6" { &["::"] } else { &[] });
        let found = chosen(&world, &[])
            .ok()
            .map(|(addresses, _)| addresses.concat());
        assert_eq!(found.as_deref(), expected, "{addresses:?}");
    }
}

#[test]
fn c52_the_family_of_an_all_zeros_node_ip_is_preferred() {
    for (node_ips, expected) in [
        (&[][..], "192.0.2.10"),
        (&["::"], "2001:db8::10"),
        (&["0.0.0.0"], "192.0.2.10"),
    ] {
        let mut world = host(&["192.0.2.10/24", "2001:db8::10/64", "fe80::1/64"]);
        world.settings.node_ips = ips(node_ips);
        assert_eq!(
            chosen(&world, &[]),
            Ok(one(expected, choose::DEFAULT_ROUTE)),
            "{node_ips:?}"
        );
    }
}

#[test]
fn c55_an_address_that_lasts_is_chosen_in_any_order() {
    let flagged = |text: &str, flag: fn(&mut InterfaceAddress)| {
        let mut known = address(text);
        flag(&mut known);
        known
    };
    let mut addresses = vec![
        address("2001:db8::10/128"),
        address("2001:db8::5054:ff:fe00:1/64"),
        flagged("2001:db8::abcd/64", |known| known.temporary = true),
        flagged("2001:db8::dead/64", |known| known.deprecated = true),
        flagged("2001:db8::beef/64", |known| known.tentative = true),
    ];
    for _ in 0..addresses.len() {
        addresses.rotate_left(1);
        let mut world = host(&[]);
        world.interfaces(&[Interface {
            addresses: addresses.clone(),
            ..interface("eth0", &[])
        }]);
        assert_eq!(
            chosen(&world, &[]),
            Ok(one("2001:db8::10", choose::DEFAULT_ROUTE)),
            "{addresses:?}"
        );
        let rejected = choose(&world.inputs(), &[]).unwrap().rejected;
        assert_eq!(
            rejected.len(),
            3,
            "each refused address is named: {rejected:?}"
        );
        world.snapshot.lookup = Reading::of(ips(&["2001:db8::abcd", "2001:db8::10"]));
        assert_eq!(chosen(&world, &[]), Ok(one("2001:db8::10", choose::LOOKUP)));
    }
}

#[test]
fn c56_a_name_that_resolves_to_loopback_gives_way_to_the_default_route() {
    let mut world = host(&["192.0.2.13/24"]);
    world.snapshot.lookup = Reading::of(ips(&["127.0.0.1", "127.0.1.1"]));
    assert_eq!(
        chosen(&world, &[]),
        Ok(one("192.0.2.13", choose::DEFAULT_ROUTE))
    );
    let rejected = choose(&world.inputs(), &[]).unwrap().rejected;
    assert!(
        rejected
            .iter()
            .any(|r| r.value == "127.0.1.1" && r.reason.contains("loopback"))
    );
}

#[test]
fn c58_a_vpn_that_comes_up_does_not_win() {
    let mut world = host(&[]);
    let eth0 = interface("eth0", &["192.0.2.20/24", "192.0.2.21/24"]);
    let vpn = interface("tailscale0", &["100.96.0.5/32"]);
    world.interfaces(&[vpn.clone(), eth0]);
    world.snapshot.routes = routes(&["tailscale0", "eth0"], &[]);
    assert_eq!(
        chosen(&world, &[]),
        Ok(one("192.0.2.20", choose::DEFAULT_ROUTE)),
        "no memory at all"
    );
    world.snapshot.lookup = Reading::of(ips(&["100.96.0.5", "192.0.2.21"]));
    assert_eq!(
        chosen(&world, &[]),
        Ok(one("192.0.2.21", choose::LOOKUP)),
        "the name resolves to both"
    );
    assert_eq!(
        chosen(&world, &["192.0.2.20"]),
        Ok(one("192.0.2.20", choose::PUBLISHED))
    );
    assert_eq!(
        chosen(&world, &["100.96.0.5"]),
        Ok(one("192.0.2.21", choose::LOOKUP)),
        "published by mistake"
    );
    world.settings.node_ips = ips(&["100.96.0.5"]);
    assert_eq!(
        chosen(&world, &["192.0.2.20"]),
        Ok(one("100.96.0.5", choose::NODE_IP)),
        "configured"
    );
    world.settings.node_ips.clear();
    world.snapshot.lookup = Reading::default();
    world.interfaces(&[vpn]);
    world.snapshot.routes = routes(&["tailscale0"], &[]);
    assert_eq!(
        chosen(&world, &[]),
        Ok(one("100.96.0.5", choose::DEFAULT_ROUTE)),
        "nothing else"
    );
    world.snapshot.routes = Reading::of(Routes {
        v4: None,
        v6: vec![],
    });
    assert!(
        chosen(&world, &[]).is_err(),
        "nothing says that the VPN is the way out"
    );
}

#[test]
fn a_configured_family_counts_more_than_what_is_published() {
    let mut world = host(&["192.0.2.20/24", "2001:db8::20/64"]);
    world.settings.node_ips = ips(&["::"]);
    let chosen = chosen(&world, &["192.0.2.20"]);
    assert_eq!(chosen, Ok(one("2001:db8::20", choose::DEFAULT_ROUTE)));
}

#[test]
fn the_primary_address_of_an_interface_comes_before_its_secondary_ones() {
    let secondary = InterfaceAddress {
        secondary: true,
        ..address("192.0.2.30/24")
    };
    let addresses = vec![secondary, address("192.0.2.20/24")];
    let mut world = host(&[]);
    world.interfaces(&[Interface {
        addresses,
        ..interface("eth0", &[])
    }]);
    assert_eq!(
        chosen(&world, &[]),
        Ok(one("192.0.2.20", choose::DEFAULT_ROUTE))
    );
}

#[test]
fn c59_a_configured_address_that_is_gone_costs_only_the_addresses() {
    let mut world = host(&["192.0.2.141/24"]);
    let mut node = node_with(&[("InternalIP", "192.0.2.140"), ("Hostname", "hostname")]);
    world.settings.node_ips = ips(&["192.0.2.140"]);
    assert_eq!(
        set(&world.inputs(), &mut node).unwrap_err().0,
        "failed to validate nodeIP: node IP: \"192.0.2.140\" not found in the host's network interfaces"
    );
    assert_eq!(listed(&node), ["InternalIP 192.0.2.140", "H"]);
    // An address that nobody configured follows the host.
    world.settings.node_ips.clear();
    set(&world.inputs(), &mut node).unwrap();
    assert_eq!(listed(&node), ["InternalIP 192.0.2.141", "H"]);
}

#[test]
fn c61_no_address_is_listed_twice() {
    let mut world = host(&["192.0.2.1/24"]);
    world.settings.node_ips = ips(&["192.0.2.1", "::ffff:192.0.2.1"]);
    let mut node = Node::default();
    set(&world.inputs(), &mut node).unwrap();
    assert_eq!(listed(&node), ["InternalIP 192.0.2.1", "H"]);
}

#[test]
fn c62_the_addresses_of_a_cloud_stay() {
    let mut world = host(&["192.0.2.1/24"]);
    world.settings.cloud_provider_external = true;
    let mut node = node_with(&[("InternalIP", "192.0.2.1"), ("ExternalIP", "198.51.100.1")]);
    let before = node.status.clone();
    set(&world.inputs(), &mut node).unwrap();
    assert_eq!(node.status, before);
    world.settings.node_ips = ips(&["192.0.2.1"]);
    set(&world.inputs(), &mut node).unwrap();
    assert_eq!(
        (node.status.clone(), annotation(&node)),
        (before, Some("192.0.2.1"))
    );
}

#[test]
fn a_provider_id_of_another_makes_the_addresses_the_clouds() {
    for (stored, configured, expected) in [
        ("", "", "192.0.2.1"),
        ("cloud://n1", "", "198.51.100.1"),
        ("cloud://n1", "cloud://n1", "192.0.2.1"),
        ("cloud://n1", "own://n1", "198.51.100.1"),
    ] {
        let mut world = host(&["192.0.2.1/24"]);
        world.settings.provider_id = Some(configured.to_owned());
        let mut node = node_with(&[("InternalIP", "198.51.100.1")]);
        let provider_id = Some(stored.to_owned());
        node.spec = Some(NodeSpec {
            provider_id,
            ..NodeSpec::default()
        });
        set(&world.inputs(), &mut node).unwrap();
        let expected = format!("InternalIP {expected}");
        assert_eq!(
            listed(&node)[0],
            expected,
            "{stored:?} on the Node, {configured:?} configured"
        );
    }
}

#[test]
fn an_interface_or_a_network_can_be_configured() {
    let mut world = host(&["192.0.2.1/24", "2001:db8::1/64"]);
    let eth1 = interface("wg0", &["198.51.100.9/24", "fd00::9/64"]);
    let eth0 = world.snapshot.interfaces.get().unwrap()[1].clone();
    world.interfaces(&[eth0, eth1]);
    world.settings.node_ip_interface = Some("wg0".to_owned());
    assert_eq!(
        chosen(&world, &["192.0.2.1"]),
        Ok(one("198.51.100.9", choose::NODE_IP_INTERFACE))
    );
    world.settings.node_ips = ips(&["::"]);
    assert_eq!(
        chosen(&world, &[]),
        Ok(one("fd00::9", choose::NODE_IP_INTERFACE))
    );
    world.settings.node_ip_interface = Some("eth9".to_owned());
    assert_eq!(
        chosen(&world, &[]),
        Err("there is no interface \"eth9\"".to_owned())
    );
    world.settings.node_ip_interface = None;
    world.settings.node_ips.clear();
    for (networks, expected) in [
        (&["198.51.100.0/24"][..], Ok(vec!["198.51.100.9"])),
        (
            &["fd00::/8", "192.0.2.0/24"],
            Ok(vec!["fd00::9", "192.0.2.1"]),
        ),
        (&["fd01::/16", "192.0.2.0/24"], Ok(vec!["192.0.2.1"])),
        (
            &["203.0.113.0/24"],
            Err("no acceptable address in nodeIPCIDR".to_owned()),
        ),
    ] {
        world.settings.node_ip_cidrs = networks
            .iter()
            .map(|text| Cidr::parse(text).unwrap())
            .collect();
        let expected = expected.map(|ips| {
            (
                ips.into_iter().map(str::to_owned).collect(),
                choose::NODE_IP_CIDR,
            )
        });
        assert_eq!(chosen(&world, &["192.0.2.1"]), expected, "{networks:?}");
    }
}

#[test]
fn the_explanation_names_the_rule_and_the_refused() {
    let mut world = host(&["fe80::1/64", "192.0.2.13/24"]);
    world.snapshot.routes.log.sources = vec!["file:/proc/net/route".to_owned()];
    world.snapshot.lookup = Reading::of(ips(&["127.0.1.1"]));
    let explained = explain(&world.inputs(), &Node::default());
    let paths: Vec<_> = explained.iter().map(|e| e.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/status/addresses/InternalIP/address",
            "/status/addresses/Hostname/address"
        ]
    );
    assert_eq!(explained[0].rule, "addresses.defaultRoute");
    assert!(
        explained[0]
            .sources
            .contains(&"file:/proc/net/route".to_owned())
    );
    assert!(explained[0].rejected.iter().any(|r| r.value == "127.0.1.1"));
}

#[test]
fn each_of_two_addresses_is_explained() {
    let mut world = host(&["192.0.2.13/24", "2001:db8::13/64"]);
    world.settings.node_ips = ips(&["192.0.2.13", "2001:db8::13"]);
    let explained = explain(&world.inputs(), &Node::default());
    let rules: Vec<_> = explained.iter().map(|e| e.rule.as_str()).collect();
    assert_eq!(
        rules,
        ["addresses.nodeIP", "addresses.nodeIP", "addresses.hostname"]
    );
}
