//! The networks to which this machine belongs, with its own addresses: they may be public ones, and
//! are no less its neighbourhood.

use crate::hosts::HostRule;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Routes that lead everywhere, as those of a tunnel, say nothing of what is near.
const SHORTEST_V4: u32 = 8;
const SHORTEST_V6: u8 = 16;

/// Every address of this machine, and every range that it reaches without a gateway.
pub(super) fn networks() -> Vec<HostRule> {
    let read = |name: &str| fs::read_to_string(name).unwrap_or_default();
    let texts = routes_v4(&read("/proc/net/route"))
        .into_iter()
        .chain(own_v4(&read("/proc/net/fib_trie")))
        .chain(routes_v6(&read("/proc/net/ipv6_route")))
        .chain(own_v6(&read("/proc/net/if_inet6")));
    texts
        .filter_map(|text| HostRule::parse(&text).ok())
        .collect()
}

/// `Iface Destination Gateway Flags RefCnt Use Metric Mask …`, numbers as they are in memory.
fn routes_v4(text: &str) -> Vec<String> {
    let lines = text.lines().skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok();
        let (to, gateway, mask) = (number(1)?, number(2)?, number(7)?.count_ones());
        let to = Ipv4Addr::from(to.to_ne_bytes());
        (gateway == 0 && mask >= SHORTEST_V4).then(|| format!("{to}/{mask}"))
    });
    lines.collect()
}

/// `|-- address`, and below it `/32 host LOCAL` if it is this machine's.
fn own_v4(text: &str) -> Vec<String> {
    let (mut own, mut last) = (Vec::new(), None);
    for line in text.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = Some(address);
        } else if line == "/32 host LOCAL" {
            own.extend(last.map(str::to_owned));
        }
    }
    own
}

/// `destination length source length gateway metric …`.
fn routes_v6(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let length = u8::from_str_radix(words.get(1)?, 16).ok()?;
        let (to, gateway) = (address_v6(words.first()?)?, address_v6(words.get(4)?)?);
        let is_near = gateway.is_unspecified() && length >= SHORTEST_V6;
        is_near.then(|| format!("{to}/{length}"))
    });
    lines.collect()
}

/// `address …`.
fn own_v6(text: &str) -> Vec<String> {
    let words = text.lines().filter_map(|line| line.split(' ').next());
    let addresses = words.filter_map(address_v6);
    addresses.map(|address| address.to_string()).collect()
}

/// Thirty-two digits.
fn address_v6(digits: &str) -> Option<Ipv6Addr> {
    let is_whole = digits.len() == 32;
    let number = u128::from_str_radix(digits, 16).ok();
    number.filter(|_| is_whole).map(Ipv6Addr::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, UdpSocket};

    #[test]
    fn routes_without_a_gateway_are_near() {
        let text = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
            eth0 00000000 0101A8C0 0003 0 0 0 00000000 0 0 0\n\
            eth0 00CC3CB9 00000000 0001 0 0 0 00FFFFFF 0 0 0\n\
            tun0 00000000 00000000 0001 0 0 0 00000080 0 0 0\n";
        assert_eq!(routes_v4(text), ["185.60.204.0/24"]);
        let text = "20010db8000100020000000000000000 40 00000000000000000000000000000000 00 \
            00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth0\n\
            00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
            fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth0\n";
        assert_eq!(routes_v6(text), ["2001:db8:1:2::/64"]);
    }

    #[test]
    fn own_addresses_are_near_though_they_are_public() {
        let text = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 8.8.4.0\n        /24 link UNICAST\n     \
            |-- 8.8.4.4\n        /32 host LOCAL\n     |-- 8.8.4.255\n        /32 link BROADCAST\n";
        assert_eq!(own_v4(text), ["8.8.4.4"]);
        let text = "2a0000000000000000000000000000c8 02 40 00 00     eth0\n";
        assert_eq!(own_v6(text), ["2a00::c8"]);
    }

    #[test]
    fn what_can_be_bound_here_is_near() {
        let near = networks();
        let own: Vec<IpAddr> = [[127, 0, 0, 1]].map(IpAddr::from).to_vec();
        // Where this machine speaks from, whatever that is.
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        let _ = socket.connect("198.51.100.1:9");
        let from = socket.local_addr().unwrap().ip();
        let from = Some(from).filter(|from| !from.is_unspecified());
        for address in own.into_iter().chain(from) {
            assert!(near.iter().any(|network| network.has(address)), "{address}");
        }
    }
}
