//! Whether something answers on a port of this machine, or on an HTTP address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpStream;

/// Time limit for one try.
const TRY: Duration = Duration::from_secs(2);

/// Whether anything listens on this port of the loopback address, IPv4 or IPv6.
pub(super) async fn port_listens(port: u16) -> bool {
    for address in [
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ] {
        let connect = TcpStream::connect(SocketAddr::new(address, port));
        if matches!(tokio::time::timeout(TRY, connect).await, Ok(Ok(_))) {
            return true;
        }
    }
    false
}

/// A parsed `http://` address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    host: String,
    port: u16,
    path: String,
    text: String,
}

impl Url {
    /// Parses an address; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("http://").ok_or_else(|| {
            format!("`{text}` is not an http:// address (https is not supported): expected one such as http://127.0.0.1:8080/health")
        })?;
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                let port = port.parse();
                (host, port.map_err(|_| format!("`{text}` has a bad port"))?)
            }
            _ => (authority, 80),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || text.chars().any(|c| c.is_control() || c == ' ') {
            return Err(format!("`{text}` is not an http:// address"));
        }
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        Ok(Self {
            host: host.to_owned(),
            port,
            path,
            text: text.to_owned(),
        })
    }

    /// The address as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// The HTTP status that an address answers with, if it answers.
pub(super) async fn http_answers(url: &Url) -> Option<u16> {
    let asked = tokio::time::timeout(TRY, ask(url)).await;
    asked.ok()?.ok()
}

async fn ask(url: &Url) -> io::Result<u16> {
    let stream = TcpStream::connect((url.host.as_str(), url.port)).await?;
    let Url { host, path, .. } = url;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: bashd\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    write_all(&stream, request.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.contains(&b'\n') && answer.len() < 1024 {
        stream.readable().await?;
        let mut bytes = [0; 256];
        match stream.try_read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(bytes.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    status_of(&answer).ok_or_else(|| io::Error::other("not an HTTP response"))
}

async fn write_all(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn status_of(answer: &[u8]) -> Option<u16> {
    let line = String::from_utf8_lossy(answer);
    let mut words = line.lines().next()?.split_ascii_whitespace();
    let is_http = words.next()?.starts_with("HTTP/");
    words.next()?.parse().ok().filter(|_| is_http)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let url = |text| Url::parse(text).map(|url| (url.host, url.port, url.path));
        let parts = |host: &str, port, path: &str| Ok((host.into(), port, path.into()));
        assert_eq!(url("http://localhost:3000"), parts("localhost", 3000, "/"));
        assert_eq!(url("http://a/b?c"), parts("a", 80, "/b?c"));
        assert_eq!(url("http://a?c"), parts("a", 80, "/?c"));
        assert_eq!(url("http://[::1]:8080/x"), parts("::1", 8080, "/x"));
        for bad in [
            "https://a",
            "localhost:3000",
            "http://",
            "http://a:b/",
            "http://a b",
        ] {
            assert!(url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_http_is_an_answer() {
        assert_eq!(status_of(b"HTTP/1.1 404 Not Found\r\n\r\n"), Some(404));
        assert_eq!(status_of(b"HTTP/1.0 200\n"), Some(200));
        assert_eq!(status_of(b"SSH-2.0 200 x\n"), None);
        assert_eq!(status_of(b""), None);
    }
}
