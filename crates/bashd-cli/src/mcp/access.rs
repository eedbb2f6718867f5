//! Who may talk to the HTTP server: where it listens, the token, the names by which it may be
//! called.

use crate::args::Mcp;
use crate::failure::{Failure, Kind};
use anyhow::Context;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderValue};
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The word that asks for no token.
const NONE: &str = "none";

/// Bytes of randomness in a generated token.
const RANDOM: usize = 16;

/// Who is let in.
pub(super) struct Access {
    /// Where to listen.
    pub(super) address: SocketAddr,
    token: Token,
    hosts: Vec<String>,
}

enum Token {
    /// Ours, which people must be told.
    Generated(String),
    Given(String),
    /// Whoever reaches us may come in.
    None,
}

impl Access {
    /// What the command line says; refuses what would let strangers in.
    pub(super) fn of(arguments: &Mcp, address: SocketAddr) -> Result<Self, Failure> {
        let given = match &arguments.token_file {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("{} can't be read", path.display()))
                    .map_err(|chain| Failure::of(Kind::Usage, chain))?;
                Some(text.trim().to_owned())
            }
            None => arguments.token.clone(),
        };
        let is_here = address.ip().is_loopback();
        let token = match given.as_deref() {
            Some("") => return Err(Failure::new(Kind::Usage, "the token is empty")),
            Some(NONE) if is_here => Token::None,
            Some(NONE) => {
                let message = format!("--token none is for loopback addresses, not for {address}");
                return Err(Failure::new(Kind::Usage, message));
            }
            Some(token) => Token::Given(token.to_owned()),
            None if is_here => Token::Generated(random()?),
            None => {
                let message = format!("{address} is not a loopback address, and there is no token");
                return Err(Failure::new(Kind::Usage, message)
                    .hint("give one: --token-file FILE, or --token TOKEN"));
            }
        };
        let mut hosts = vec!["localhost".to_owned(), "127.0.0.1".into(), "::1".into()];
        if !address.ip().is_unspecified() {
            hosts.push(address.ip().to_string());
        }
        hosts.extend(arguments.allow_host.iter().cloned());
        Ok(Self {
            address,
            token,
            hosts,
        })
    }

    /// The token that people must be told, if we made it.
    pub(super) fn news(&self) -> Option<&str> {
        match &self.token {
            Token::Generated(token) => Some(token),
            Token::Given(_) | Token::None => None,
        }
    }

    /// The names by which clients may call the server.
    pub(super) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The pages that may call the server: its own names, on any port.
    pub(super) fn origins(&self) -> Vec<String> {
        let named = self.hosts.iter().flat_map(|host| {
            let host = match host.parse::<IpAddr>() {
                Ok(IpAddr::V6(_)) => format!("[{host}]"),
                _ => host.clone(),
            };
            [format!("http://{host}:*"), format!("https://{host}:*")]
        });
        named.collect()
    }

    /// Whether a request brings the token.
    pub(super) fn admits(&self, headers: &HeaderMap) -> bool {
        let expected = match &self.token {
            Token::Generated(token) | Token::Given(token) => token,
            Token::None => return true,
        };
        let header = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let (scheme, token) = header
            .and_then(|value| value.split_at_checked("Bearer ".len()))
            .unwrap_or_default();
        scheme.eq_ignore_ascii_case(b"Bearer ") && is_equal(token, expected.as_bytes())
    }
}

/// Compares in a time that does not tell where two texts differ.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other);
    let differing = differences.fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && differing == 0
}

fn random() -> Result<String, Failure> {
    let mut bytes = [0; RANDOM];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("there is no randomness for a token")
        .map_err(|chain| Failure::of(Kind::System, chain))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Reads `[HOST:]PORT`; without a host it is this machine only.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let here = IpAddr::from(Ipv4Addr::LOCALHOST);
    if let Ok(port) = text.trim_start_matches(':').parse() {
        return Ok(SocketAddr::new(here, port));
    }
    if let Some(port) = text.strip_prefix("localhost:")
        && let Ok(port) = port.parse()
    {
        return Ok(SocketAddr::new(here, port));
    }
    text.parse()
        .map_err(|_| "expected PORT, or an address such as 127.0.0.1:PORT".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Subcommand};
    use clap::Parser;

    fn access(arguments: &[&str]) -> Result<Access, Failure> {
        let words = ["bashd", "mcp"]
            .into_iter()
            .chain(arguments.iter().copied());
        let Subcommand::Mcp(mcp) = Cli::parse_from(words).subcommand else {
            panic!("not parsed as mcp")
        };
        Access::of(&mcp, mcp.http.unwrap())
    }

    fn bearer(token: &str) -> HeaderMap {
        let value = format!("Bearer {token}").parse().unwrap();
        HeaderMap::from_iter([(AUTHORIZATION, value)])
    }

    #[test]
    fn a_token_is_made_where_none_is_given() {
        let access = access(&["--http", "0"]).unwrap();
        let token = access.news().unwrap();
        assert_eq!(token.len(), 2 * RANDOM);
        assert!(access.admits(&bearer(token)));
        assert!(!access.admits(&bearer("wrong")));
        assert!(!access.admits(&bearer(&format!("{token}0"))));
        assert!(!access.admits(&HeaderMap::new()));
    }

    #[test]
    fn strangers_need_a_token() {
        for arguments in [
            &["--http", "0.0.0.0:0"][..],
            &["--http", "192.0.2.1:80", "--token", "none"],
            &["--http", "[::]:0", "--token", ""],
        ] {
            assert!(access(arguments).is_err(), "{arguments:?}");
        }
        let given = access(&["--http", "0.0.0.0:0", "--token", "secret"]).unwrap();
        assert!(given.news().is_none());
        assert!(given.admits(&bearer("secret")));
        assert!(!given.admits(&HeaderMap::new()));
    }

    #[test]
    fn nobody_else_hears_of_a_server_without_token() {
        let open = access(&["--http", "[::1]:0", "--token", "none"]).unwrap();
        assert!(open.admits(&HeaderMap::new()));
        assert_eq!(open.hosts(), ["localhost", "127.0.0.1", "::1", "::1"]);
        assert!(open.origins().contains(&"http://[::1]:*".to_owned()));
    }

    #[test]
    fn addresses_default_to_this_machine() {
        for text in ["80", ":80", "localhost:80", "127.0.0.1:80"] {
            assert_eq!(parse_address(text).unwrap().to_string(), "127.0.0.1:80");
        }
        assert!(parse_address("example.com:80").is_err());
    }
}
