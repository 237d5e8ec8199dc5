//! Which addresses may be connected to (SSRF): a URL must not make this process speak to its own machine or network.
//!
//! It is asked about each address at the moment of connecting, after names were resolved, so that a name that changes its address
//! meanwhile gains nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::spec::AllowSpec;

/// Which addresses may be connected to.
#[derive(Debug, Clone)]
pub(super) struct Guard(pub(super) AllowSpec);

impl Guard {
    /// Whether it may be connected to; what it is, if not.
    pub(super) fn check(&self, address: IpAddr) -> Result<(), &'static str> {
        let embedded = embedded(address);
        let Some(what) = special(address).or_else(|| embedded.and_then(|v4| special(v4.into()))) else {
            return Ok(());
        };
        let is_allowed = match &self.0 {
            AllowSpec::None => false,
            AllowSpec::All => true,
            AllowSpec::Networks(networks) => {
                let covers = |address: IpAddr| networks.iter().any(|network| network.contains(&address));
                covers(address) || embedded.is_some_and(|v4| covers(v4.into()))
            }
        };
        if is_allowed { Ok(()) } else { Err(what) }
    }
}

/// What isn't public, and what it is. From the IANA's registries of special-purpose addresses.
const SPECIAL: &[(&str, &[&str])] = &[
    ("unspecified", &["0.0.0.0/8", "::/128"]),
    ("loopback", &["127.0.0.0/8", "::1/128"]),
    ("private", &["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"]),
    ("link-local", &["169.254.0.0/16", "fe80::/10"]),
    ("shared (carrier-grade NAT)", &["100.64.0.0/10"]),
    ("multicast", &["224.0.0.0/4", "ff00::/8"]),
    (
        "for documentation",
        &["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"],
    ),
    (
        "reserved",
        &[
            "192.0.0.0/24",
            "192.88.99.0/24",
            "198.18.0.0/15",
            "240.0.0.0/4",
            "100::/64",
            "2001::/23",
            "5f00::/16",
        ],
    ),
    ("a translator's own", &["64:ff9b:1::/48"]),
];

fn special(address: IpAddr) -> Option<&'static str> {
    SPECIAL
        .iter()
        .find(|(_, networks)| {
            networks
                .iter()
                .any(|network| network.parse::<IpNet>().is_ok_and(|network| network.contains(&address)))
        })
        .map(|(what, _)| *what)
}

/// The IPv4 address inside of an IPv6 one: mapped, compatible, behind NAT64, or 6to4.
fn embedded(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(v6) = address else { return None };
    let [first, second, third, fourth, fifth, sixth, high, low] = v6.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (first, second, third, fourth, fifth, sixth) {
        (0, 0, 0, 0, 0, 0 | 0xffff) | (0, 0, 0, 0, 0xffff, 0) | (0x64, 0xff9b, 0, 0, 0, 0)
            if v6 != Ipv6Addr::LOCALHOST && v6 != Ipv6Addr::UNSPECIFIED =>
        {
            Some(v4(high, low))
        }
        (0x2002, high, low, ..) => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(allow: AllowSpec, address: &str) -> Result<(), &'static str> {
        Guard(allow).check(address.parse().unwrap())
    }

    #[test]
    fn every_spelling_of_an_inner_address_is_refused() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.9.9.9",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "224.0.0.1",
            "239.1.1.1",
            "192.0.2.1",
            "198.51.100.7",
            "203.0.113.9",
            "198.18.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "192.0.0.170",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "100::1",
            "2001::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "::ffff:0:127.0.0.1",
            "3fff::1",
        ] {
            assert!(check(AllowSpec::None, address).is_err(), "{address}");
            assert!(check(AllowSpec::All, address).is_ok(), "{address}");
        }
    }

    #[test]
    fn public_addresses_are_not() {
        for address in [
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert_eq!(check(AllowSpec::None, address), Ok(()), "{address}");
        }
    }

    #[test]
    fn only_the_networks_that_are_named_are_allowed() {
        let allow = || AllowSpec::Networks(vec!["10.1.0.0/16".parse().unwrap()]);
        assert_eq!(check(allow(), "10.1.2.3"), Ok(()));
        assert_eq!(check(allow(), "::ffff:10.1.2.3"), Ok(()));
        assert_eq!(check(allow(), "10.2.2.3"), Err("private"));
        assert_eq!(check(allow(), "127.0.0.1"), Err("loopback"));
    }
}
