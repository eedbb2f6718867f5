//! One request to a collector: HTTP/1.1 without TLS, each on a connection of its own, with bounds.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long connecting, and each step after it, may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of an answer that are looked at.
const LONGEST: u64 = 64 * 1024;

/// The path that collectors listen on for spans.
const PATH: &str = "/v1/traces";

/// Where spans go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Collector {
    /// Host and port.
    host: String,
    path: String,
}

impl Collector {
    /// Reads an address.
    pub(super) fn at(endpoint: &str) -> io::Result<Self> {
        let wrong = |why: &str| {
            let text = format!("otlp.endpoint: {why}; give it as http://127.0.0.1:4318");
            io::Error::new(io::ErrorKind::InvalidInput, text)
        };
        let rest = endpoint.strip_prefix("http://").ok_or_else(|| {
            wrong(if endpoint.starts_with("https://") {
                "TLS is for a collector beside this program to speak"
            } else {
                "it is no address of HTTP"
            })
        })?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if host.is_empty() || host.contains('@') || !is_plain(rest) {
            return Err(wrong("it has no host"));
        }
        let has_port = host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        Ok(Self {
            host: if has_port {
                host.to_owned()
            } else {
                format!("{host}:4318")
            },
            path: if path.is_empty() {
                PATH.to_owned()
            } else {
                format!("/{path}")
            },
        })
    }

    /// Sends a message. `InvalidData` if the collector will never take it.
    pub(super) fn post(&self, message: &[u8]) -> io::Result<()> {
        let failed =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.host));
        let status = self.ask(message).map_err(failed)?;
        match status {
            200..300 => Ok(()),
            408 | 429 | 500.. => Err(io::Error::other(format!("{} answered {status}", self.host))),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{} did not take the spans: {status}", self.host),
            )),
        }
    }

    fn ask(&self, message: &[u8]) -> io::Result<u16> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "there is no such host");
        for address in self.host.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => return self.speak(stream, message),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn speak(&self, mut stream: TcpStream, message: &[u8]) -> io::Result<u16> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             User-Agent: bashd\r\nConnection: close\r\n\r\n",
            self.path,
            self.host,
            message.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(message)?;
        let mut line = String::new();
        BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        status.ok_or_else(|| io::Error::other("it does not speak HTTP"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_others_refused() {
        let at = |text: &str| Collector::at(text).map(|it| format!("{}{}", it.host, it.path));
        assert_eq!(
            at("http://127.0.0.1:4318").unwrap(),
            "127.0.0.1:4318/v1/traces"
        );
        assert_eq!(at("http://collector/").unwrap(), "collector:4318/v1/traces");
        assert_eq!(at("http://h:1/my/traces").unwrap(), "h:1/my/traces");
        for wrong in [
            "",
            "https://h",
            "h:4318",
            "http://",
            "http:///x",
            "http://u@h",
            "http://h/a b",
            "http://h/\r\nX: y",
        ] {
            let error = at(wrong).unwrap_err().to_string();
            assert!(error.contains("http://127.0.0.1:4318"), "{wrong}: {error}");
        }
    }
}
