//! Which hosts a confined command may connect to: rules by name and by address.
//!
//! `github.com`, `*.example.org:443`, `*` (every public host), `192.168.1.7:8080`, `10.0.0.0/8`,
//! `[fd00::1]:22`. Without a port every port is meant. A name is resolved by us, and what it leads
//! to is judged again: addresses of the machine, of its network and of clouds' metadata are refused
//! unless a rule names them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

/// The longest name that there is.
const LONGEST_NAME: usize = 253;

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    host: RuleHost,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleHost {
    /// Every name.
    Any,
    /// One name.
    Name(String),
    /// Every name that ends so; begins with a dot.
    Below(String),
    /// Every address that begins so.
    Range(IpAddr, u8),
}

/// A rule that can't be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a host: give a name (github.com), *.name, * or an address (10.0.0.0/8), and a port if only one is meant (github.com:443)"
)]
pub struct NoHostRule(String);

impl HostRule {
    /// Reads a rule.
    pub fn parse(text: &str) -> Result<Self, NoHostRule> {
        let unfit = || NoHostRule(text.to_owned());
        let (host, port) = split_port(text).ok_or_else(unfit)?;
        let host = match host {
            "*" => RuleHost::Any,
            _ => match range(host) {
                Some((address, bits)) => RuleHost::Range(address, bits),
                None => match host.strip_prefix('*') {
                    Some(rest) => {
                        let name = rest.strip_prefix('.').and_then(plain_name);
                        RuleHost::Below(format!(".{}", name.ok_or_else(unfit)?))
                    }
                    None => RuleHost::Name(plain_name(host).ok_or_else(unfit)?),
                },
            },
        };
        Ok(Self { host, port })
    }

    /// The only port that is meant, if it is one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    fn allows_port(&self, port: u16) -> bool {
        self.port.is_none_or(|only| only == port)
    }

    fn allows_name(&self, name: &str) -> bool {
        match &self.host {
            RuleHost::Any => true,
            RuleHost::Name(own) => own == name,
            RuleHost::Below(end) => name.len() > end.len() && name.ends_with(end.as_str()),
            RuleHost::Range(..) => false,
        }
    }

    fn allows_address(&self, address: IpAddr) -> bool {
        match &self.host {
            RuleHost::Range(base, bits) => {
                bits_of(*base, *bits).is_some()
                    && bits_of(*base, *bits) == bits_of_like(*base, address, *bits)
            }
            RuleHost::Any | RuleHost::Name(_) | RuleHost::Below(_) => false,
        }
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            RuleHost::Any => f.write_str("*")?,
            RuleHost::Name(name) => f.write_str(name)?,
            RuleHost::Below(end) => write!(f, "*{end}")?,
            RuleHost::Range(address, bits) => {
                let is_one = *bits == widest(*address);
                match (address, is_one) {
                    (IpAddr::V6(address), true) if self.port.is_some() => write!(f, "[{address}]")?,
                    (address, true) => write!(f, "{address}")?,
                    (IpAddr::V6(address), false) if self.port.is_some() => {
                        write!(f, "[{address}/{bits}]")?;
                    }
                    (address, false) => write!(f, "{address}/{bits}")?,
                }
            }
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Every rule that a command has, and names whose addresses are given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules {
    rules: Vec<HostRule>,
    given: Vec<(String, IpAddr)>,
}

impl HostRules {
    /// Reads rules, and addresses as `name=address`.
    pub fn parse(rules: &[String], given: &[String]) -> Result<Self, NoHostRule> {
        let rules = rules.iter().map(|rule| HostRule::parse(rule));
        let given = given.iter().map(|text| {
            let parts = text.split_once('=').and_then(|(name, address)| {
                Some((plain_name(name.trim())?, address.trim().parse().ok()?))
            });
            parts.ok_or_else(|| NoHostRule(text.clone()))
        });
        Ok(Self {
            rules: rules.collect::<Result<_, _>>()?,
            given: given.collect::<Result<_, _>>()?,
        })
    }

    /// Every rule.
    pub fn rules(&self) -> &[HostRule] {
        &self.rules
    }

    /// Whether connections to a host may be tried at a port. A text that is an address is one.
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let of_port = || self.rules.iter().filter(|rule| rule.allows_port(port));
        match host.parse::<IpAddr>() {
            Ok(address) => {
                let address = plain(address);
                of_port().any(|rule| rule.allows_address(address))
                    || is_public(address) && of_port().any(|rule| rule.host == RuleHost::Any)
            }
            Err(_) => of_port().any(|rule| rule.allows_name(host)),
        }
    }

    /// Whether a name is known at all: there is a port at which it may be tried.
    pub fn knows(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| rule.allows_name(name))
    }

    /// The address that was given for a name.
    pub fn given(&self, name: &str) -> Option<IpAddr> {
        let mut given = self.given.iter();
        given
            .find(|(own, _)| own == name)
            .map(|(_, address)| *address)
    }

    /// Whether what a name led to may be connected to, as far as the address itself tells.
    pub fn allows_found(&self, name: &str, address: IpAddr, port: u16) -> bool {
        is_public(plain(address)) || self.means(name, address, port)
    }

    /// Whether just this address is allowed for a name, or as one: then it may be this machine's.
    pub fn means(&self, name: &str, address: IpAddr, port: u16) -> bool {
        let address = plain(address);
        let of_port = || self.rules.iter().filter(|rule| rule.allows_port(port));
        // `localhost` says itself that it is this machine.
        let is_meant = address.is_loopback()
            && name == "localhost"
            && of_port().any(|rule| rule.host == RuleHost::Name(name.to_owned()));
        is_meant
            || self.given(name).map(plain) == Some(address)
            || of_port().any(|rule| rule.allows_address(address))
    }
}

impl HostRule {
    /// Whether an address is in the range that this rule is.
    pub fn has(&self, address: IpAddr) -> bool {
        self.allows_address(plain(address))
    }
}

/// A host and its port, if there is one: `name:443`, `[::1]:443`, `::1`.
pub fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port_of(port)?))),
            None => after.is_empty().then_some((host, None)),
        };
    }
    match text.rsplit_once(':') {
        Some((host, _)) if host.contains(':') => Some((text, None)),
        Some((host, port)) => Some((host, Some(port_of(port)?))),
        None => Some((text, None)),
    }
}

fn port_of(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port != 0)
}

/// A name as it is compared: lower case, no dot at the end. `None` if it is no name.
pub fn plain_name(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !label.is_empty() && label.len() < 64 && label.bytes().all(fits)
    };
    (name.len() <= LONGEST_NAME && name.split('.').all(is_label)).then_some(name)
}

/// An address, or the first bits of many.
fn range(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let widest = widest(address);
    let bits = bits.map_or(Some(widest), |bits| bits.parse().ok())?;
    (bits <= widest).then_some((address, bits))
}

fn widest(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// The first bits of an address.
fn bits_of(address: IpAddr, bits: u8) -> Option<u128> {
    let (value, unused) = match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32_u32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let unused = unused.checked_sub(u32::from(bits))?;
    Some(value.checked_shr(unused).unwrap_or(0))
}

/// Likewise, if it is of the same kind as another.
fn bits_of_like(like: IpAddr, address: IpAddr, bits: u8) -> Option<u128> {
    let is_alike = like.is_ipv4() == address.is_ipv4();
    is_alike.then(|| bits_of(address, bits)).flatten()
}

/// An address of the newer kind that means one of the older.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(long) = address else {
        return address;
    };
    let segments = long.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
        [0x2002, high, low, ..] => embedded(high, low),
        _ => address,
    }
}

/// First and last of every range of addresses that is not for everybody: this machine, its network,
/// links, metadata of clouds, tests, groups.
const NOT_PUBLIC: &[RangeInclusive<Ipv4Addr>] = &[
    Ipv4Addr::UNSPECIFIED..=Ipv4Addr::new(0, 255, 255, 255),
    Ipv4Addr::new(10, 0, 0, 0)..=Ipv4Addr::new(10, 255, 255, 255),
    Ipv4Addr::new(100, 64, 0, 0)..=Ipv4Addr::new(100, 127, 255, 255),
    Ipv4Addr::new(127, 0, 0, 0)..=Ipv4Addr::new(127, 255, 255, 255),
    // Azure's, in the middle of addresses for everybody.
    Ipv4Addr::new(168, 63, 129, 16)..=Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(169, 254, 0, 0)..=Ipv4Addr::new(169, 254, 255, 255),
    Ipv4Addr::new(172, 16, 0, 0)..=Ipv4Addr::new(172, 31, 255, 255),
    Ipv4Addr::new(192, 0, 0, 0)..=Ipv4Addr::new(192, 0, 0, 255),
    Ipv4Addr::new(192, 0, 2, 0)..=Ipv4Addr::new(192, 0, 2, 255),
    Ipv4Addr::new(192, 168, 0, 0)..=Ipv4Addr::new(192, 168, 255, 255),
    Ipv4Addr::new(198, 18, 0, 0)..=Ipv4Addr::new(198, 19, 255, 255),
    Ipv4Addr::new(198, 51, 100, 0)..=Ipv4Addr::new(198, 51, 100, 255),
    Ipv4Addr::new(203, 0, 113, 0)..=Ipv4Addr::new(203, 0, 113, 255),
    Ipv4Addr::new(224, 0, 0, 0)..=Ipv4Addr::BROADCAST,
];

/// Whether an address is one of everybody's.
pub fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(address) => !NOT_PUBLIC.iter().any(|range| range.contains(&address)),
        // Of this half only 2000::/3 is given out, and some of that is for documents and tunnels.
        IpAddr::V6(address) => {
            let [first, second, ..] = address.segments();
            let is_special = first == 0x2001 && (second == 0xdb8 || second < 0x200);
            (0x2000..0x4000).contains(&first) && !is_special && address != Ipv6Addr::LOCALHOST
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(rules: &[&str], given: &[&str]) -> HostRules {
        let owned = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        HostRules::parse(&owned(rules), &owned(given)).unwrap()
    }

    #[test]
    fn rules_are_read_and_written_alike() {
        let texts = [
            "github.com",
            "*.example.org:443",
            "*",
            "*:443",
            "10.0.0.0/8",
            "127.0.0.2:8080",
            "::1",
            "[::1]:22",
            "fd00::/8",
            "[fd00::/8]:22",
        ];
        for text in texts {
            assert_eq!(HostRule::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            HostRule::parse("GitHub.com.").unwrap().to_string(),
            "github.com"
        );
        let bad = [
            "",
            "http://a.b",
            "a b",
            "a.b:0",
            "a.b:70000",
            "a..b",
            "*a.b",
            "a.*",
            "a.b:",
            "10.0.0.0/33",
            "a/8",
            "[::1",
            "*.",
            "a.b:https",
            "a.b/c",
            "ä.org",
            "*.*",
        ];
        for text in bad {
            assert!(HostRule::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_host_is_allowed_by_its_name_and_its_port() {
        let rules = rules(
            &["github.com", "*.example.org:443", "10.1.0.0/16", "[::1]:22"],
            &[],
        );
        assert!(rules.allows("github.com", 443) && rules.allows("github.com", 22));
        assert!(!rules.allows("api.github.com", 443) && !rules.allows("github.com.evil.org", 443));
        assert!(!rules.allows("evilgithub.com", 443));
        assert!(rules.allows("a.example.org", 443) && rules.allows("a.b.example.org", 443));
        assert!(!rules.allows("a.example.org", 80) && !rules.allows("example.org", 443));
        assert!(!rules.allows("evilexample.org", 443));
        assert!(rules.allows("10.1.2.3", 1) && !rules.allows("10.2.0.0", 1));
        assert!(rules.allows("::ffff:10.1.2.3", 1));
        assert!(rules.allows("::1", 22) && !rules.allows("::1", 23));
        assert!(!rules.allows("1.2.3.4", 443));
        assert!(rules.knows("a.example.org") && !rules.knows("example.com"));
    }

    #[test]
    fn what_a_name_leads_to_is_judged_again() {
        let one = rules(
            &["a.test", "b.test", "*", "localhost:80"],
            &["b.test=127.0.0.2"],
        );
        let leads =
            |name: &str, address: &str| one.allows_found(name, address.parse().unwrap(), 80);
        assert!(leads("a.test", "93.184.216.34") && leads("a.test", "2606:2800:220:1::1"));
        let refused = [
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "192.168.1.1",
            "172.31.0.1",
            "0.0.0.0",
            "100.100.100.200",
            "168.63.129.16",
            "198.18.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fd00:ec2::254",
            "fe80::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "::127.0.0.1",
        ];
        for address in refused {
            assert!(!leads("a.test", address), "{address}");
            assert!(!one.allows(address, 80), "{address}");
        }
        assert!(leads("b.test", "127.0.0.2") && !leads("b.test", "127.0.0.3"));
        assert!(leads("localhost", "127.0.0.1") && leads("localhost", "::1"));
        assert!(!one.allows_found("localhost", "127.0.0.1".parse().unwrap(), 81));
        assert!(
            one.allows("93.184.216.34", 80),
            "an address of everybody's is any host"
        );
        let listed = rules(&["a.test", "10.0.0.0/8:80"], &[]);
        let address = "10.1.1.1".parse().unwrap();
        assert!(listed.allows_found("a.test", address, 80));
        assert!(!listed.allows_found("a.test", address, 81));
    }
}
