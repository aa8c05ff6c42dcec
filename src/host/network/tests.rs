use super::{
    IPV6_ROUTE, ROUTE, Route, Routes, parse_v4, parse_v4_address, parse_v6, parse_v6_address, read,
};
use crate::host::fake::FakeSource;
use rustix::io::Errno;
use std::net::{Ipv4Addr, Ipv6Addr};

const HEADER: &str =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT     \n";
const DEFAULT: &str = "eth3\t00000000\t0100FE0A\t0003\t0\t0\t1024\t00000000\t0\t0\t0          \n";
const SUBNET: &str = "eth3\t0000FE0A\t00000000\t0001\t0\t0\t0\t0080FFFF\t0\t0\t0\n";
const DOCKER: &str = "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";

const V6_DEFAULT: &str = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
                          20010001000000000000000000000001 00000064 00000000 00000000 00000003 eth3\n";
const V6_SUBNET: &str = "20010002000000000000000000000000 40 00000000000000000000000000000000 00 \
                         00000000000000000000000000000000 00000100 00000000 00000000 00000001 eth3\n";
const V6_LOOPBACK: &str = "00000000000000000000000000000000 60 00000000000000000000000000000000 00 \
                           00000000000000000000000000000000 00000400 00000000 00000000 00200200       lo\n";

fn by_eth3<A>(gateway: A) -> Route<A> {
    Route {
        interface: "eth3".to_owned(),
        gateway,
    }
}

fn default_v4() -> Route<Ipv4Addr> {
    by_eth3(Ipv4Addr::new(10, 254, 0, 1))
}

fn default_v6() -> Route<Ipv6Addr> {
    by_eth3("2001:1::1".parse().unwrap())
}

#[test]
fn get_ipv4_routes() {
    for (name, lines, expected) in [
        (
            "gatewayfirst",
            vec![HEADER, DEFAULT, SUBNET, DOCKER],
            vec![default_v4()],
        ),
        (
            "gatewaymiddle",
            vec![HEADER, SUBNET, DEFAULT, DOCKER],
            vec![default_v4()],
        ),
        (
            "gatewaylast",
            vec![HEADER, SUBNET, DOCKER, DEFAULT],
            vec![default_v4()],
        ),
        ("no routes", vec![HEADER], vec![]),
        ("no default routes", vec![HEADER, DOCKER], vec![]),
        ("empty file", vec![], vec![]),
        (
            "blank lines",
            vec!["\n", HEADER, " \n", DEFAULT, "\n"],
            vec![default_v4()],
        ),
    ] {
        assert_eq!(parse_v4(&lines.concat()), Ok(expected), "{name}");
    }
}

#[test]
fn get_ipv4_routes_fails_for_a_bad_address_on_any_line() {
    for (name, line, expected) in [
        (
            "badDestination",
            SUBNET.replace("0000FE0A", "0000FE0AA1"),
            "invalid IPv4 address in route",
        ),
        (
            "badGateway",
            DEFAULT.replace("0100FE0A", "0100FE0AA1"),
            "invalid IPv4 address in route",
        ),
        (
            "route_Invalidhex",
            DEFAULT.replace("0100FE0A", "0100FE0AA"),
            "encoding/hex: odd length hex string",
        ),
        (
            "no hex",
            DEFAULT.replace("0100FE0A", "0100FG0A"),
            "encoding/hex: invalid byte: U+0047 'G'",
        ),
        (
            "short line",
            "eth3\t00000000\n".to_owned(),
            "short line \"eth3\\t00000000\" in route",
        ),
    ] {
        let text = [HEADER, DEFAULT, &line, DOCKER].concat();
        assert_eq!(parse_v4(&text), Err(expected.to_owned()), "{name}");
    }
}

#[test]
fn a_last_line_without_newline_is_ignored() {
    let cut = DEFAULT.trim_end_matches('\n');
    assert_eq!(
        parse_v4(&[HEADER, DEFAULT, cut].concat()),
        Ok(vec![default_v4()])
    );
    assert_eq!(parse_v4(&[HEADER, "eth3\t000"].concat()), Ok(vec![]));
    assert_eq!(parse_v6(V6_DEFAULT.trim_end_matches('\n')), Ok(vec![]));
}

#[test]
fn mask_and_metric_are_not_looked_at_and_a_v4_gateway_may_be_zero() {
    let half = "wg0\t00000000\t00000000\t0001\t0\t0\t5\t00000080\t0\t0\t0\n";
    let by_wg0 = Route {
        interface: "wg0".to_owned(),
        gateway: Ipv4Addr::UNSPECIFIED,
    };
    assert_eq!(
        parse_v4(&[HEADER, half, DEFAULT].concat()),
        Ok(vec![by_wg0, default_v4()]),
        "in the file's order"
    );
}

#[test]
fn get_ipv6_routes() {
    for (name, lines, expected) in [
        (
            "v6 gatewayfirst",
            vec![V6_DEFAULT, V6_SUBNET, V6_LOOPBACK],
            vec![default_v6()],
        ),
        (
            "v6 gatewaymiddle",
            vec![V6_SUBNET, V6_DEFAULT, V6_LOOPBACK],
            vec![default_v6()],
        ),
        (
            "v6 gatewaylast",
            vec![V6_SUBNET, V6_LOOPBACK, V6_DEFAULT],
            vec![default_v6()],
        ),
        ("v6 no routes", vec![], vec![]),
        ("v6 no default routes", vec![V6_LOOPBACK, V6_SUBNET], vec![]),
        (
            "blank lines",
            vec!["\n", V6_DEFAULT, "\n"],
            vec![default_v6()],
        ),
    ] {
        assert_eq!(parse_v6(&lines.concat()), Ok(expected), "{name}");
    }
}

#[test]
fn get_ipv6_routes_fails_for_a_bad_address_on_any_line() {
    let zeros = "00000000000000000000000000000000";
    for (name, line, expected) in [
        (
            "v6 badDestination",
            V6_SUBNET.replace("20010002000000000000000000000000", "2001000200000000"),
            "invalid IPv6 address in route",
        ),
        (
            "v6 badGateway",
            V6_DEFAULT.replace(
                "20010001000000000000000000000001",
                "200100010000000000000000000000000012",
            ),
            "invalid IPv6 address in route",
        ),
        (
            "v6 route_Invalidhex",
            V6_DEFAULT.replacen(zeros, &format!("{zeros}0"), 1),
            "encoding/hex: odd length hex string",
        ),
        (
            "short line",
            "00 11\n".to_owned(),
            "short line \"00 11\" in route",
        ),
    ] {
        let text = [V6_DEFAULT, &line].concat();
        assert_eq!(parse_v6(&text), Err(expected.to_owned()), "{name}");
    }
}

#[test]
fn parse_ip() {
    for (text, expected) in [
        ("", Err("input is nil")),
        ("AA", Err("invalid IPv4 address in route")),
        ("0011223344", Err("invalid IPv4 address in route")),
        ("invalid!", Err("encoding/hex: invalid byte: U+0069 'i'")),
        ("00000000", Ok(Ipv4Addr::UNSPECIFIED)),
        ("FFFFFFFF", Ok(Ipv4Addr::BROADCAST)),
        ("12345678", Ok(Ipv4Addr::new(120, 86, 52, 18))),
    ] {
        assert_eq!(
            parse_v4_address(text),
            expected.map_err(str::to_owned),
            "{text:?}"
        );
    }
    let digits = "fe800000000000000000000000000001";
    assert_eq!(parse_v6_address(digits), Ok("fe80::1".parse().unwrap()));
    for (text, problem) in [
        (&digits[..31], "encoding/hex: odd length hex string"),
        (
            &format!("{digits}0")[..],
            "encoding/hex: odd length hex string",
        ),
        (&digits[..30], "invalid IPv6 address in route"),
        ("", "input is nil"),
    ] {
        assert_eq!(parse_v6_address(text), Err(problem.to_owned()), "{text:?}");
    }
}

#[test]
fn get_all_default_routes() {
    let (none_v4, none_v6) = ([HEADER, DOCKER].concat(), [V6_LOOPBACK, V6_SUBNET].concat());
    let (some_v4, some_v6) = (
        [HEADER, DEFAULT].concat(),
        [V6_DEFAULT, V6_LOOPBACK].concat(),
    );
    for (name, v4_file, v6_file, v4, v6) in [
        ("no routes", &none_v4, &none_v6, vec![], vec![]),
        (
            "only v4 route",
            &some_v4,
            &none_v6,
            vec![default_v4()],
            vec![],
        ),
        (
            "only v6 route",
            &none_v4,
            &some_v6,
            vec![],
            vec![default_v6()],
        ),
        (
            "v4 and v6 routes",
            &some_v4,
            &some_v6,
            vec![default_v4()],
            vec![default_v6()],
        ),
    ] {
        let source = FakeSource::new()
            .file(ROUTE, v4_file)
            .file(IPV6_ROUTE, v6_file);
        assert_eq!(
            read(&source.tracked()),
            Ok(Routes {
                v4: Some(Ok(v4)),
                v6
            }),
            "{name}"
        );
    }
}

#[test]
fn each_file_fails_on_its_own() {
    let v4_file = [HEADER, DEFAULT].concat();
    let both = || Routes {
        v4: Some(Ok(vec![default_v4()])),
        v6: vec![default_v6()],
    };
    let host = || {
        FakeSource::new()
            .file(ROUTE, &v4_file)
            .file(IPV6_ROUTE, V6_DEFAULT)
    };
    let unreadable = Some(Err("read /proc/1/net/route: EACCES".to_owned()));
    for (name, source, expected) in [
        (
            "missing v4",
            FakeSource::new().file(IPV6_ROUTE, V6_DEFAULT),
            Routes { v4: None, ..both() },
        ),
        (
            "missing v6",
            FakeSource::new().file(ROUTE, &v4_file),
            Routes {
                v6: vec![],
                ..both()
            },
        ),
        (
            "malformed v6",
            host().file(IPV6_ROUTE, "zz\n"),
            Routes {
                v6: vec![],
                ..both()
            },
        ),
        (
            "unreadable v4",
            host().error(ROUTE, Errno::ACCESS),
            Routes {
                v4: unreadable,
                ..both()
            },
        ),
    ] {
        assert_eq!(read(&source.tracked()), Ok(expected), "{name}");
    }
    let source = host().file(ROUTE, "eth3 0 0\n");
    let routes = read(&source.tracked()).unwrap();
    assert_eq!(
        routes.v4,
        Some(Err("encoding/hex: odd length hex string".to_owned()))
    );
}
