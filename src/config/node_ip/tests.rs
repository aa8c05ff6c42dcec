use super::*;
use proptest::prelude::*;

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

const PAIR: &str = "must contain either a single IP or a dual-stack pair of IPs";
const ZEROS: &str = "dual-stack node IP cannot include '0.0.0.0' or '::'";
const DUAL: &str = "dual-stack not supported in this configuration";

/// The text, the addresses, what is ignored, whether only some providers take it (D), the error.
type Row<'a> = (&'a str, &'a [&'a str], &'a [&'a str], bool, &'a str);

const ROWS: [Row<'static>; 20] = [
    ("", &[], &[], false, ""),
    (" ", &[], &[""], false, ""),
    ("blah", &[], &["blah"], false, ""),
    ("1.2.3.4", &["1.2.3.4"], &[], false, ""),
    (" 1.2.3.4   ", &["1.2.3.4"], &[], false, ""),
    ("01.2.3.004", &["1.2.3.4"], &[], false, ""),
    ("1.2.3", &[], &["1.2.3"], false, ""),
    ("1.2.3.0/24", &[], &["1.2.3.0/24"], false, ""),
    ("0.0.0.0", &["0.0.0.0"], &[], false, ""),
    (
        "1.2.3.4,not-an-IPv6-address",
        &["1.2.3.4"],
        &["not-an-IPv6-address"],
        false,
        "",
    ),
    ("abcd::ef01", &["abcd::ef01"], &[], false, ""),
    (
        "abcd:0abc:00ab:0000:0000::1",
        &["abcd:abc:ab::1"],
        &[],
        false,
        "",
    ),
    (
        "1.2.3.4,abcd::ef01",
        &["1.2.3.4", "abcd::ef01"],
        &[],
        true,
        "",
    ),
    (
        "abcd::ef01 , 1.2.3.4",
        &["abcd::ef01", "1.2.3.4"],
        &[],
        true,
        "",
    ),
    ("1.2.3.4,5.6.7.8", &[], &[], false, PAIR),
    ("abcd::1,abcd::2", &[], &[], false, PAIR),
    ("1.2.3.4,::", &[], &[], true, ZEROS),
    ("0.0.0.0,abcd::1", &[], &[], true, ZEROS),
    (
        "abcd::ef01 , 1.2.3.4, something else",
        &["abcd::ef01", "1.2.3.4"],
        &["something else"],
        true,
        "",
    ),
    ("1.2.3.4,abcd::1,5.6.7.8", &[], &[], false, PAIR),
];

#[test]
fn test_parse_node_ip_argument() {
    for (text, expected, ignored, dual, error) in ROWS {
        for cloud_provider in ["", "external", "gce"] {
            let error = if dual && cloud_provider == "gce" {
                DUAL
            } else {
                error
            };
            match parse_node_ip_argument(text, cloud_provider) {
                Ok(argument) => {
                    assert_eq!(error, "", "{text:?} for {cloud_provider:?}");
                    assert_eq!(argument.addresses, addresses(expected), "{text:?}");
                    assert_eq!(argument.ignored, ignored, "{text:?}");
                }
                Err(refused) => assert_eq!(refused.to_string(), error, "{text:?}"),
            }
        }
    }
}

#[test]
fn test_parse_node_ip_annotation() {
    let unparsable = [
        ("", ""),
        (" ", " "),
        ("blah", "blah"),
        (" 1.2.3.4   ", " 1.2.3.4   "),
        ("1.2.3", "1.2.3"),
        ("1.2.3.0/24", "1.2.3.0/24"),
        ("1.2.3.4,not-an-IPv6-address", "not-an-IPv6-address"),
        ("abcd::ef01 , 1.2.3.4", "abcd::ef01 "),
        ("abcd::ef01 , 1.2.3.4, something else", "abcd::ef01 "),
    ];
    for (text, item) in unparsable {
        let error = parse_node_ip_annotation(text).unwrap_err();
        assert_eq!(error.to_string(), format!("could not parse {item:?}"));
    }
    let mut compared = 0;
    for (text, expected, _, _, error) in ROWS {
        if unparsable.iter().any(|(other, _)| *other == text) {
            continue;
        }
        compared += 1;
        match parse_node_ip_annotation(text) {
            Ok(parsed) => assert_eq!((parsed, ""), (addresses(expected), error), "{text:?}"),
            Err(refused) => assert_eq!(refused.to_string(), error, "{text:?}"),
        }
    }
    assert_eq!(compared, ROWS.len() - unparsable.len());
}

#[test]
fn addresses_are_read_as_leniently_as_in_kubernetes() {
    for (text, expected) in [
        ("010.0.0.1", Some("10.0.0.1")),
        ("0000010.0.0.1", Some("10.0.0.1")),
        ("256.0.0.1", None),
        ("1.2.3.4.5", None),
        ("1..2.3", None),
        ("+1.2.3.4", None),
        ("::ffff:192.0.2.1", Some("192.0.2.1")),
        ("::ffff:192.0.2.001", Some("192.0.2.1")),
        ("64:ff9b::192.0.2.1", Some("64:ff9b::c000:201")),
        ("2001:DB8::1", Some("2001:db8::1")),
        ("fe80::1%eth0", None),
        ("::", Some("::")),
        (":", None),
        ("1:2", None),
        ("", None),
    ] {
        let expected: Option<IpAddr> = expected.map(|text| text.parse().unwrap());
        assert_eq!(parse_ip(text), expected, "{text:?}");
    }
}

#[test]
fn c53_addresses_that_can_be_no_nodes() {
    for (address, error) in [
        ("127.0.0.1", Some("nodeIP can't be loopback address")),
        ("::1", Some("nodeIP can't be loopback address")),
        ("224.0.0.0", Some("nodeIP can't be a multicast address")),
        ("ff02::1", Some("nodeIP can't be a multicast address")),
        (
            "fe80::1",
            Some("nodeIP can't be a link-local unicast address"),
        ),
        (
            "169.254.1.1",
            Some("nodeIP can't be a link-local unicast address"),
        ),
        ("0.0.0.0", None),
        ("::", None),
        ("192.0.2.10", None),
        ("fd01::1234", None),
    ] {
        let refused = check_kind(address.parse().unwrap())
            .err()
            .map(|error| error.to_string());
        assert_eq!(refused.as_deref(), error, "{address}");
    }
}

#[test]
fn networks() {
    for (network, inside, outside) in [
        ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"),
        ("192.0.2.77/24", "192.0.2.1", "192.0.1.255"),
        ("192.0.2.1/32", "192.0.2.1", "192.0.2.0"),
        ("0.0.0.0/0", "255.255.255.255", "::"),
        ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
        ("::/0", "ffff::", "192.0.2.1"),
        ("10.0.0.0/8", "::ffff:10.1.1.1", "::10.1.1.1"),
    ] {
        let cidr = Cidr::parse(network).unwrap();
        assert!(
            cidr.contains(inside.parse().unwrap()),
            "{inside} in {network}"
        );
        assert!(
            !cidr.contains(outside.parse().unwrap()),
            "{outside} in {network}"
        );
        assert_eq!(cidr.to_string(), network);
    }
    for text in [
        "192.0.2.0",
        "192.0.2.0/33",
        "::/129",
        "192.0.2.0/",
        "192.0.2.0/+8",
        "x/8",
        "/",
    ] {
        assert_eq!(Cidr::parse(text), Err(CidrError(text.to_owned())));
    }
}

proptest! {
    #[test]
    fn never_panics(text in ".*", close in "[0-9a-f:.,/ %]{0,40}") {
        for text in [&text, &close] {
            let _ = (parse_ip(text), Cidr::parse(text), parse_node_ip_annotation(text));
            let _ = parse_node_ip_argument(text, "");
        }
    }

    #[test]
    fn every_address_is_read_as_it_is_written(v4: [u8; 4], v6: [u16; 8]) {
        for address in [IpAddr::from(v4), IpAddr::from(v6)] {
            prop_assert_eq!(parse_ip(&address.to_string()), Some(address.to_canonical()));
        }
    }
}
