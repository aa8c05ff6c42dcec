//! Addresses and interfaces.

use crate::stored_node;
use crate::support::recording::{Recording, default_route, default_route_v6, interface};
use serde_json::{Value, json};

const ROUTE: &str = "proc/1/net/route";
const ROUTE_V6: &str = "proc/1/net/ipv6_route";

/// The addresses of the Node without its host name.
fn addresses(node: &Value) -> Vec<String> {
    node["status"]["addresses"]
        .as_array()
        .expect("a Node has addresses")
        .iter()
        .filter(|address| address["type"] == "InternalIP")
        .map(|address| address["address"].as_str().expect("an address").to_owned())
        .collect()
}

fn published(ip: &str) -> Value {
    stored_node(&json!({"addresses": [
        {"type": "InternalIP", "address": ip},
        {"type": "Hostname", "address": "n1"},
    ]}))
}

/// A host with default routes by `eth0`.
fn routed(interfaces: Value) -> Recording {
    Recording::new()
        .fact("interfaces", interfaces)
        .file(ROUTE, default_route("eth0"))
        .file(ROUTE_V6, default_route_v6("eth0"))
}

#[test]
fn c52_the_family_that_is_asked_for() {
    let eth0 = interface("eth0", &["192.0.2.10", "2001:db8::10", "fe80::1"]);
    let host = || routed(json!([eth0]));
    assert_eq!(addresses(&host().node()), ["192.0.2.10"]);
    for (preferred, chosen) in [("::", "2001:db8::10"), ("0.0.0.0", "192.0.2.10")] {
        let node = host().setting("nodeIP", json!(preferred)).node();
        assert_eq!(addresses(&node), [chosen], "{preferred}");
    }
    let only_v6 = routed(json!([interface("eth0", &["2001:db8::10", "fe80::1"])]));
    assert_eq!(addresses(&only_v6.node()), ["2001:db8::10"]);
}

#[test]
fn c53_an_address_that_can_be_no_nodes_is_refused_at_start() {
    for (ips, reason) in [
        ("fe80::1", "link-local"),
        ("192.0.2.10,fe80::1", "link-local"),
        ("169.254.0.1", "link-local"),
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("192.0.2.10,::", "'0.0.0.0' or '::'"),
        ("0.0.0.0,2001:db8::10", "'0.0.0.0' or '::'"),
        ("192.0.2.10,192.0.2.11", "dual-stack pair"),
        ("192.0.2.300", "not an IP address"),
    ] {
        let refused = Recording::new()
            .setting("nodeIP", json!(ips))
            .replay("json");
        assert_eq!(
            (refused.status.code(), refused.stdout.as_str()),
            (Some(2), ""),
            "{ips}"
        );
        let said = refused.stderr.contains("nodeIP") && refused.stderr.contains(reason);
        assert!(said, "{ips}: {}", refused.stderr);
    }
}

#[test]
fn c55_a_settled_lasting_address_that_was_given_not_made_up() {
    let mut all = [
        "2001:db8::10",
        "2001:db8::5054:ff:fe00:1",
        "2001:db8::abcd temporary",
        "2001:db8::dead deprecated",
        "2001:db8::beef tentative",
    ];
    for _ in 0..all.len() {
        let node = routed(json!([interface("eth0", &all)])).node();
        assert_eq!(addresses(&node), ["2001:db8::10"], "{all:?}");
        all.rotate_left(1);
    }
}

#[test]
fn c56_a_name_that_resolves_to_the_loopback_interface() {
    for answer in ["127.0.0.1", "127.0.1.1", "::1"] {
        let recording = routed(json!([
            {"name": "lo", "index": 1, "flags": ["UP", "LOOPBACK"],
             "addresses": [{"address": "127.0.0.1", "prefix": 8}, {"address": "::1", "prefix": 128}]},
            interface("eth0", &["192.0.2.13"]),
        ]))
        .file("etc/hosts", "127.0.0.1 localhost\n127.0.1.1 n1\n")
        .fact("lookups", json!({"n1": [answer]}));
        assert_eq!(addresses(&recording.node()), ["192.0.2.13"], "{answer}");
        let lines = recording.lines("explain");
        let line = lines
            .iter()
            .find(|line| line["path"] == "/status/addresses/InternalIP/address");
        let line = line.expect("the address is explained");
        assert_eq!(line["rule"], "addresses.defaultRoute", "{answer}");
        assert_eq!(line["rejected"][0]["value"], answer);
    }
}

#[test]
fn c58_a_vpn_that_comes_up_changes_nothing() {
    let with_vpn = |name: &str| {
        let vpn = json!({"name": name, "index": 3, "flags": ["UP", "POINTOPOINT"],
                         "addresses": [{"address": "100.96.0.5", "prefix": 32}]});
        Recording::new()
            .fact(
                "interfaces",
                json!([vpn, interface("eth0", &["192.0.2.20"])]),
            )
            .file(ROUTE, default_route(name) + &default_route("eth0"))
    };
    let inner = [
        "tailscale0",
        "wg0",
        "docker0",
        "cni0",
        "veth1",
        "br-0a",
        "flannel.1",
        "cali0",
        "kube-ipvs0",
    ];
    for name in inner {
        assert_eq!(
            addresses(&with_vpn(name).node()),
            ["192.0.2.20"],
            "{name}, new"
        );
    }
    // Whatever its name: what is published and still there stays.
    for name in ["tailscale0", "utun7"] {
        let node = with_vpn(name).stored(&published("192.0.2.20")).node();
        assert_eq!(addresses(&node), ["192.0.2.20"], "{name}, published");
    }
}

#[test]
fn c59_a_configured_address_that_is_gone() {
    let recording =
        routed(json!([interface("eth0", &["192.0.2.141"])])).stored(&published("192.0.2.140"));
    let configured = recording.setting("nodeIP", json!("192.0.2.140"));
    let finished = configured.replay("json");
    let items = finished.list();
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    assert_eq!(addresses(&items[0]), ["192.0.2.140"]);
    assert_eq!(
        items[0]["status"]["capacity"]["cpu"], "4",
        "the other setters run"
    );
    assert_eq!(crate::condition(&items[0], "Ready"), "True");
    assert_eq!(items[1]["kind"], "Lease");
    assert!(
        finished.stderr.contains("192.0.2.140"),
        "{}",
        finished.stderr
    );

    // One that was found follows the host.
    let found =
        routed(json!([interface("eth0", &["192.0.2.141"])])).stored(&published("192.0.2.140"));
    assert_eq!(addresses(&found.node()), ["192.0.2.141"]);
}

#[test]
fn c61_no_type_and_address_twice() {
    let recording = routed(json!([
        interface("eth0", &["192.0.2.1", "192.0.2.1"]),
        interface("eth1", &["192.0.2.1"])
    ]))
    .fact("hostname", json!("192.0.2.1"))
    .fact("lookups", json!({"192.0.2.1": ["192.0.2.1", "192.0.2.1"]}));
    let expected = json!([
        {"type": "InternalIP", "address": "192.0.2.1"},
        {"type": "Hostname", "address": "192.0.2.1"},
    ]);
    assert_eq!(recording.node()["status"]["addresses"], expected);
    // As it may have been stored by somebody else.
    let twice = json!([
        {"type": "InternalIP", "address": "192.0.2.1"},
        {"type": "InternalIP", "address": "192.0.2.1"},
        {"type": "Hostname", "address": "192.0.2.1"},
    ]);
    let recording = recording.stored(&stored_node(&json!({"addresses": twice})));
    assert_eq!(recording.node()["status"]["addresses"], expected);
}

#[test]
fn c62_the_addresses_of_a_cloud() {
    const PROVIDED: &str = "alpha.kubernetes.io/provided-node-ip";
    let clouds = json!([
        {"type": "InternalIP", "address": "192.0.2.99"},
        {"type": "ExternalIP", "address": "198.51.100.1"},
        {"type": "Hostname", "address": "n1"},
    ]);
    let host = || {
        routed(json!([interface("eth0", &["192.0.2.13"])]))
            .setting("cloudProvider", json!("external"))
    };
    let stored = || host().stored(&stored_node(&json!({"addresses": clouds})));
    assert_eq!(stored().patch()["status"]["addresses"], Value::Null);
    assert_eq!(
        stored().node()["metadata"]["annotations"][PROVIDED],
        Value::Null
    );

    let configured = stored().setting("nodeIP", json!("192.0.2.13"));
    assert_eq!(configured.patch()["status"]["addresses"], Value::Null);
    assert_eq!(
        configured.patch()["metadata"]["annotations"][PROVIDED],
        "192.0.2.13"
    );
    assert_eq!(configured.node()["status"]["addresses"], clouds);

    // Until the cloud has said something there is only the name, and the configured address.
    assert_eq!(addresses(&host().node()), Vec::<String>::new());
    let configured = host().setting("nodeIP", json!("192.0.2.13")).node();
    assert_eq!(addresses(&configured), ["192.0.2.13"]);
    assert_eq!(
        configured["metadata"]["annotations"][PROVIDED],
        "192.0.2.13"
    );
}
