//! What a client of the proxy says first: `CONNECT`, a request with a whole address, or SOCKS 5.

use super::dial::{NoConnection, Target};
use crate::hosts::{plain_name, split_port};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream};
use std::time::{Duration, Instant};

/// How long a client may take to say what it wants.
const SAID_WITHIN: Duration = Duration::from_secs(10);

/// The largest head of a request.
const LARGEST_HEAD: usize = 32 * 1024;

/// Most headers of a request.
const MOST_HEADERS: usize = 128;

const SOCKS: u8 = 5;

/// How the client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speech {
    Connect,
    Http,
    Socks,
}

/// A client that said whom it wants.
#[derive(Debug)]
pub(super) struct ConnectionOpening {
    speech: Speech,
    pub(super) target: Target,
    /// What is to be sent to the target first.
    pub(super) first: Vec<u8>,
}

/// Hears what a client wants. Answers it if that can't be understood.
pub(super) fn hear(client: &mut TcpStream) -> io::Result<ConnectionOpening> {
    let until = Instant::now() + SAID_WITHIN;
    let mut heard = HeardOpening {
        client,
        until,
        bytes: Vec::new(),
    };
    heard.more()?;
    if heard.bytes.first() == Some(&SOCKS) {
        return socks(&mut heard);
    }
    loop {
        match http(&heard.bytes) {
            Ok(Some(opening)) => return Ok(opening),
            Ok(None) if heard.bytes.len() < LARGEST_HEAD => heard.more()?,
            Ok(None) => {
                let _ = answer(client, 431, "Request Header Fields Too Large", "");
                return Err(io::ErrorKind::InvalidData.into());
            }
            Err(reason) => {
                let _ = answer(client, 400, "Bad Request", reason);
                return Err(io::Error::other(reason));
            }
        }
    }
}

impl ConnectionOpening {
    /// Tells the client that it is connected.
    pub(super) fn accept(&self, client: &mut TcpStream) -> io::Result<()> {
        match self.speech {
            Speech::Connect => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n"),
            Speech::Socks => client.write_all(&[SOCKS, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
            Speech::Http => Ok(()),
        }
    }

    /// Tells the client that it is not.
    pub(super) fn decline(&self, client: &mut TcpStream, why: &NoConnection) -> io::Result<()> {
        if self.speech == Speech::Socks {
            let code = match why {
                NoConnection::Refused(_) => 2,
                NoConnection::Failed(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    5
                }
                NoConnection::Failed(_) => 4,
            };
            return client.write_all(&[SOCKS, code, 0, 1, 0, 0, 0, 0, 0, 0]);
        }
        match why {
            NoConnection::Refused(reason) => {
                let reason = format!("refused by confinement: {reason}");
                answer(client, 403, "Forbidden", &reason)
            }
            NoConnection::Failed(error) => {
                let reason = format!("{} can't be reached: {error}", self.target);
                answer(client, 502, "Bad Gateway", &reason)
            }
        }
    }
}

/// Tells a client that there are too many.
pub(super) fn turn_away(client: &mut TcpStream) {
    let _ = client.set_nonblocking(true);
    let _ = answer(client, 503, "Service Unavailable", "too many connections");
}

fn answer(client: &mut TcpStream, code: u16, word: &str, text: &str) -> io::Result<()> {
    let length = text.len() + 1;
    let head = format!(
        "HTTP/1.1 {code} {word}\r\nContent-Type: text/plain\r\nX-Bashd: confinement\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{text}\n"
    );
    client.write_all(head.as_bytes())
}

/// What has been heard so far.
struct HeardOpening<'a> {
    client: &'a mut TcpStream,
    until: Instant,
    bytes: Vec<u8>,
}

impl HeardOpening<'_> {
    fn more(&mut self) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.client.set_read_timeout(Some(left))?;
        let mut buffer = [0; 4096];
        let read = self.client.read(&mut buffer)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.bytes.extend(buffer.get(..read).unwrap_or_default());
        Ok(())
    }

    /// The next bytes, without those after them.
    fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.bytes.len() < count {
            self.more()?;
        }
        let rest = self.bytes.split_off(count);
        Ok(std::mem::replace(&mut self.bytes, rest))
    }
}

fn socks(heard: &mut HeardOpening<'_>) -> io::Result<ConnectionOpening> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let greeting = heard.take(2)?;
    let methods = heard.take(usize::from(greeting.get(1).copied().unwrap_or(0)))?;
    if !methods.contains(&0) {
        let _ = heard.client.write_all(&[SOCKS, 0xff]);
        return Err(invalid());
    }
    heard.client.write_all(&[SOCKS, 0])?;
    let request = heard.take(4)?;
    let [SOCKS, command, 0, kind] = *request.as_slice() else {
        return Err(invalid());
    };
    let host = match kind {
        1 => {
            let octets: [u8; 4] = heard.take(4)?.try_into().map_err(|_| invalid())?;
            IpAddr::V4(Ipv4Addr::from(octets)).to_string()
        }
        4 => {
            let octets: [u8; 16] = heard.take(16)?.try_into().map_err(|_| invalid())?;
            IpAddr::V6(Ipv6Addr::from(octets)).to_string()
        }
        3 => {
            let length = heard.take(1)?;
            let name = heard.take(usize::from(length.first().copied().unwrap_or(0)))?;
            String::from_utf8(name).map_err(|_| invalid())?
        }
        _ => {
            let _ = heard.client.write_all(&[SOCKS, 8, 0, 1, 0, 0, 0, 0, 0, 0]);
            return Err(invalid());
        }
    };
    let port = heard.take(2)?;
    let port = port
        .try_into()
        .map(u16::from_be_bytes)
        .map_err(|_| invalid())?;
    // Only connections to elsewhere: no listening, no packets.
    let target = host_of(&host).filter(|_| command == 1 && port != 0);
    let Some(host) = target else {
        let _ = heard.client.write_all(&[SOCKS, 7, 0, 1, 0, 0, 0, 0, 0, 0]);
        return Err(invalid());
    };
    Ok(ConnectionOpening {
        speech: Speech::Socks,
        target: Target { host, port },
        first: std::mem::take(&mut heard.bytes),
    })
}

/// A name or an address as rules know it.
fn host_of(text: &str) -> Option<String> {
    match text.parse::<IpAddr>() {
        Ok(address) => Some(address.to_string()),
        Err(_) => plain_name(text),
    }
}

/// The request of an HTTP client, if all of its head is there.
fn http(bytes: &[u8]) -> Result<Option<ConnectionOpening>, &'static str> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err("this is not a request to a proxy"),
    };
    let (Some(method), Some(path)) = (request.method, request.path) else {
        return Err("this is not a request to a proxy");
    };
    let body = bytes.get(head..).unwrap_or_default();
    if method == "CONNECT" {
        let target = target_of(path, None).ok_or("CONNECT needs a host and a port")?;
        return Ok(Some(ConnectionOpening {
            speech: Speech::Connect,
            target,
            first: body.to_vec(),
        }));
    }
    let rest =
        strip_scheme(path).ok_or("a request to a proxy names the whole address, http://…")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let target = target_of(authority, Some(80)).ok_or("the address has no host")?;
    let mut first = format!("{method} ");
    if !path.starts_with('/') {
        first.push('/');
    }
    first.push_str(path);
    first.push_str(" HTTP/1.1\r\n");
    let mut first = first.into_bytes();
    for header in request.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("host") {
            let named = std::str::from_utf8(header.value).ok();
            let named = named.and_then(|named| target_of(named.trim(), Some(80)));
            if named.as_ref() != Some(&target) {
                return Err("Host and the address do not agree");
            }
        }
        if ![
            "connection",
            "proxy-connection",
            "proxy-authorization",
            "keep-alive",
        ]
        .into_iter()
        .any(is)
        {
            first.extend(header.name.as_bytes());
            first.extend(b": ");
            first.extend(header.value);
            first.extend(b"\r\n");
        }
    }
    // One request for each connection: the next one may be to somebody else.
    first.extend(b"Connection: close\r\n\r\n");
    first.extend(body);
    Ok(Some(ConnectionOpening {
        speech: Speech::Http,
        target,
        first,
    }))
}

fn strip_scheme(path: &str) -> Option<&str> {
    const SCHEME: &str = "http://";
    let begin = path.get(..SCHEME.len())?;
    let rest = path.get(SCHEME.len()..)?;
    begin.eq_ignore_ascii_case(SCHEME).then_some(rest)
}

fn target_of(authority: &str, usual: Option<u16>) -> Option<Target> {
    let authority = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let (host, port) = split_port(authority)?;
    Some(Target {
        host: host_of(host)?,
        port: port.or(usual)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<(String, String)>, &'static str> {
        let opening = http(text.as_bytes())?;
        Ok(opening.map(|opening| {
            let first = String::from_utf8(opening.first).unwrap();
            (opening.target.to_string(), first)
        }))
    }

    #[test]
    fn requests_to_a_proxy_are_understood() {
        let connect = "CONNECT Git.Test:443 HTTP/1.1\r\nHost: git.test:443\r\n\r\nearly";
        let told = read(connect).unwrap().unwrap();
        assert_eq!(told, ("git.test:443".into(), "early".into()));
        let get = "GET http://a.test:8080/x?y HTTP/1.1\r\nHost: a.test:8080\r\n\
                   Proxy-Connection: keep-alive\r\nAccept: */*\r\n\r\nbody";
        let (target, first) = read(get).unwrap().unwrap();
        assert_eq!(target, "a.test:8080");
        assert_eq!(
            first,
            "GET /x?y HTTP/1.1\r\nHost: a.test:8080\r\nAccept: */*\r\nConnection: close\r\n\r\nbody"
        );
        let bare = read("GET http://a.test?q HTTP/1.1\r\n\r\n")
            .unwrap()
            .unwrap();
        assert_eq!(bare.0, "a.test:80");
        assert!(bare.1.starts_with("GET /?q HTTP/1.1\r\n"));
        let six = read("CONNECT [::1]:443 HTTP/1.1\r\n\r\n").unwrap().unwrap();
        assert_eq!(six.0, "[::1]:443");
        assert_eq!(read("GET http://a.test/ HTTP/1.1\r\nHo").unwrap(), None);
    }

    #[test]
    fn other_requests_are_declined() {
        let bad = [
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT a.test HTTP/1.1\r\n\r\n",
            "CONNECT a b:1 HTTP/1.1\r\n\r\n",
            "GET https://a.test/ HTTP/1.1\r\n\r\n",
            "GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
            "GET http:///x HTTP/1.1\r\n\r\n",
            "\0\0\0\0\r\n\r\n",
        ];
        for text in bad {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
