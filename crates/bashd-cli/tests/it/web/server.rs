//! A `bashd web` under test, and a browser that is only requests.

use bashd_testkit::Home;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr};
use std::time::{Duration, Instant};

/// No answer takes longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// A home in which a server may leave what it knows of browsers.
pub(crate) fn home() -> Home {
    Home::new().keeping_in_state(&["web", "changes"])
}

/// A server on a port of its own.
pub(crate) struct WebUnderTest {
    child: Child,
    pub(crate) address: SocketAddr,
    said: Lines<BufReader<ChildStderr>>,
    /// The token of the link that it printed last.
    pub(crate) token: String,
}

/// What a browser has after it came in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visitor {
    pub(crate) cookie: String,
    pub(crate) key: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct WebReply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl WebReply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        let value = self.header(&format!("x-bashd-{name}"));
        value
            .unwrap_or_else(|| panic!("{name}: {}", self.head))
            .parse()
            .unwrap()
    }
}

impl WebUnderTest {
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        Self::start_at(home, "0", arguments)
    }

    pub(crate) fn start_at(home: &Home, port: &str, arguments: &[&str]) -> Self {
        let arguments = [&["web", "--port", port], arguments].concat();
        Self::of(crate::bashd(home, &arguments).spawn())
    }

    /// One that was started.
    pub(crate) fn of(mut child: Child) -> Self {
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = said.next().unwrap().unwrap();
        let address = line.strip_prefix("bashd: listening on http://");
        let address = address.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
        let mut server = Self {
            child,
            address,
            said,
            token: String::new(),
        };
        server.next_token();
        server
    }

    /// Reads the link that was printed.
    pub(crate) fn next_token(&mut self) -> String {
        let mut lines = self.said.by_ref().map(Result::unwrap);
        let linked = lines.find_map(|line| Some(line.rsplit_once("/#")?.1.to_owned()));
        self.token = linked.unwrap();
        self.token.clone()
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// One request with these headers alone.
    pub(crate) fn raw(&self, line: &str, headers: &[(&str, &str)], body: &str) -> WebReply {
        let mut stream = TcpStream::connect(self.address).unwrap();
        // A server that stands still fails the test.
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        ask(&mut stream, line, headers, body);
        read(stream)
    }

    /// Comes in by a token.
    pub(crate) fn enter(&self, token: &str) -> WebReply {
        let (host, origin) = (self.address.to_string(), self.origin());
        let headers = [
            ("Host", host.as_str()),
            ("Origin", origin.as_str()),
            ("Content-Type", "application/json"),
        ];
        let body = json!({"token": token}).to_string();
        self.raw("POST /api/enter HTTP/1.1", &headers, &body)
    }

    /// A browser that came in.
    pub(crate) fn visitor(&mut self) -> Visitor {
        let reply = self.enter(&self.token);
        let key = reply.json()["key"].as_str().unwrap().to_owned();
        let cookie = reply.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        self.next_token();
        Visitor { cookie, key }
    }

    pub(crate) fn get(&self, visitor: &Visitor, path: &str) -> WebReply {
        let host = self.address.to_string();
        self.raw(&format!("GET {path} HTTP/1.1"), &visitor.headers(&host), "")
    }

    pub(crate) fn post(&self, visitor: &Visitor, path: &str, body: &Value) -> WebReply {
        let (host, origin) = (self.address.to_string(), self.origin());
        let mut headers = visitor.headers(&host);
        headers.push(("Origin", &origin));
        headers.push(("Content-Type", "application/json"));
        self.raw(
            &format!("POST {path} HTTP/1.1"),
            &headers,
            &body.to_string(),
        )
    }

    /// The stream of what happens, from a place on.
    pub(crate) fn now(&self, visitor: &Visitor, place: Option<&str>) -> NowStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let host = self.address.to_string();
        let mut headers = visitor.headers(&host);
        headers.extend(place.map(|place| ("Last-Event-ID", place)));
        ask(&mut stream, "GET /api/now HTTP/1.1", &headers, "");
        NowStream {
            reader: BufReader::new(stream),
            place: place.map(str::to_owned),
        }
    }

    /// Ends it at once, as a crash would. Who asks next would clear away what it left.
    pub(crate) fn kill(mut self, home: &Home) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let left = format!("asks/watch-{}", self.child.id());
        std::fs::remove_file(home.state().join(left)).unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for WebUnderTest {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

impl Visitor {
    pub(crate) fn headers<'a>(&'a self, host: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![
            ("Host", host),
            ("Cookie", &self.cookie),
            ("X-Bashd-Key", &self.key),
        ]
    }
}

/// The stream of server-sent events.
pub(crate) struct NowStream {
    reader: BufReader<TcpStream>,
    /// The place behind what was read.
    pub(crate) place: Option<String>,
}

impl NowStream {
    /// The next piece: its name and its data.
    pub(crate) fn next(&mut self) -> (String, Value) {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            let count = self.reader.read_line(&mut line).unwrap();
            assert!(count > 0, "the stream is over");
            let line = line.trim_end();
            if let Some(event) = line.strip_prefix("event: ") {
                event.clone_into(&mut name);
            } else if let Some(place) = line.strip_prefix("id: ") {
                self.place = Some(place.to_owned());
            } else if let Some(data) = line.strip_prefix("data: ") {
                return (name, serde_json::from_str(data).unwrap());
            }
        }
    }

    /// Reads on until a row is like this.
    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let (_, piece) = self.next();
            let rows = piece["rows"].as_array().unwrap();
            if let Some(row) = rows.iter().find(|row| is_it(row)) {
                return row.clone();
            }
            assert!(begun.elapsed() < LIMIT, "no such row in time");
        }
    }
}

/// Sends a request.
pub(crate) fn ask(
    stream: &mut (impl Write + ?Sized),
    line: &str,
    headers: &[(&str, &str)],
    body: &str,
) {
    let mut request = format!(
        "{line}\r\nContent-Length: {}\r\nConnection: close\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&[name, ": ", value, "\r\n"].concat());
    }
    // A server that turns a connection away may have closed it.
    let _ = write!(stream, "{request}\r\n{body}");
}

/// Reads an answer to its end.
pub(crate) fn read(mut stream: impl Read) -> WebReply {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let Some(end) = end else {
        return WebReply {
            status: 0,
            head: String::new(),
            body: answer,
        };
    };
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    WebReply {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head,
        body: answer[end + 4..].to_vec(),
    }
}
