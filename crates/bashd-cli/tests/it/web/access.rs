//! Who gets in: tokens, cookies and keys, names, origins, other users; what the page is forbidden.

use super::server::{self, Visitor, WebUnderTest};
use bashd_testkit::loudly;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

/// Sooner than a look is given up.
const LOOKED: Duration = Duration::from_millis(1500);

#[test]
fn a_token_lets_one_browser_in_once() {
    let home = server::home();
    let mut server = WebUnderTest::start(&home, &[]);
    let token = server.token.clone();
    let backwards: String = token.chars().rev().collect();
    for wrong in ["", "0", &backwards, &format!("{token}0")] {
        assert_eq!(server.enter(wrong).status, 401, "{wrong}");
    }
    let reply = server.enter(&token);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let cookie = reply.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert_eq!(server.enter(&token).status, 401, "it was used");
    // The next browser has a link of its own.
    let next = server.next_token();
    assert_ne!(next, token);
    assert_eq!(server.enter(&next).status, 200);
}

/// The person's browser is whatever `xdg-open` starts.
#[test]
fn it_is_opened_in_the_persons_browser_by_a_link_that_lets_in() {
    let home = server::home();
    let bin = home.tmp().join("bin");
    let opened = home.tmp().join("opened");
    std::fs::create_dir_all(&bin).unwrap();
    let program = bin.join("xdg-open");
    let script = format!(
        "#!/bin/sh\necho \"$1\" >{0}.part; mv {0}.part {0}\n",
        opened.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let mut child = crate::bashd(&home, &["web", "--port", "0", "--open"])
        .env("PATH", path)
        .spawn();
    let mut said = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    let link = said.find_map(|line| {
        line.unwrap()
            .strip_prefix("bashd: open ")
            .map(str::to_owned)
    });
    let begun = std::time::Instant::now();
    while !opened.exists() {
        assert!(begun.elapsed() < server::LIMIT, "nothing was opened");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(
        std::fs::read_to_string(&opened).unwrap().trim_end(),
        link.unwrap()
    );
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait().unwrap();
    std::fs::remove_dir_all(&bin).unwrap();
    std::fs::remove_file(&opened).unwrap();
}

#[test]
fn every_request_needs_the_cookie_and_the_key() {
    let home = server::home();
    let mut server = WebUnderTest::start(&home, &[]);
    let visitor = server.visitor();
    let other = server.visitor();
    assert_eq!(server.get(&visitor, "/api/runs/none").status, 404);
    let parts = [
        (visitor.cookie.as_str(), ""),
        ("", visitor.key.as_str()),
        (&visitor.cookie, &other.key),
        ("bashd_1=0", &visitor.key),
        ("", ""),
    ];
    for (cookie, key) in parts {
        let [cookie, key] = [cookie, key].map(str::to_owned);
        let partly = Visitor { cookie, key };
        for path in ["/api/now", "/api/runs/none", "/api/runs/none/output"] {
            assert_eq!(server.get(&partly, path).status, 401, "{path} {partly:?}");
        }
        let deed = server.post(&partly, "/api/asks/none", &json!({"answer": "once"}));
        assert_eq!(deed.status, 401, "{partly:?}");
    }
}

/// What is stored of browsers may be a pipe that nobody writes: who is not known yet waits for it,
/// and nobody else.
#[test]
fn a_strangers_look_that_never_ends_holds_up_no_browser() {
    let home = server::home();
    let mut server = WebUnderTest::start(&home, &[]);
    let visitor = server.visitor();
    let stored = home.state().join("web/browsers.json");
    std::fs::remove_file(&stored).unwrap();
    let made = Command::new("mkfifo").arg(&stored).status().unwrap();
    assert!(made.success());
    let stranger = Visitor {
        key: visitor.key.chars().rev().collect(),
        ..visitor.clone()
    };
    let host = server.address.to_string();
    let mut waiting: Vec<TcpStream> = Vec::new();
    for _ in 0..40 {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let headers = stranger.headers(&host);
        server::ask(&mut stream, "GET /api/runs/none HTTP/1.1", &headers, "");
        waiting.push(stream);
    }
    let threads = || std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
    for _ in 0..5 {
        let begun = Instant::now();
        assert_eq!(server.get(&visitor, "/api/runs/none").status, 404);
        assert!(begun.elapsed() < LOOKED, "{:?}", begun.elapsed());
    }
    assert!(threads().count() < 20, "{} threads", threads().count());
    for stream in waiting {
        assert_eq!(server::read(stream).status, 401);
    }
    // Who brings the token comes in all the same.
    let token = server.token.clone();
    assert_eq!(server.enter(&token).status, 200);
    drop(server);
    std::fs::remove_file(&stored).unwrap();
}

#[test]
fn other_names_and_other_pages_are_turned_away() {
    let home = server::home();
    let mut server = WebUnderTest::start(&home, &[]);
    let visitor = server.visitor();
    let port = server.address.port();
    let get = |path: &str, host: &str| {
        let headers = visitor.headers(host);
        server
            .raw(&format!("GET {path} HTTP/1.1"), &headers, "")
            .status
    };
    // A name that leads here, as a page of another site could have it.
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "localhost.evil.example",
    ] {
        for path in ["/", "/page.js", "/api/now", "/api/runs/none"] {
            assert_eq!(get(path, host), 403, "{host}{path}");
        }
    }
    assert_eq!(get("/", &format!("localhost:{port}")), 200);
    let host = server.address.to_string();
    let answer = |origin: Option<&str>| {
        let mut headers = visitor.headers(&host);
        headers.push(("Content-Type", "application/json"));
        headers.extend(origin.map(|origin| ("Origin", origin)));
        let body = json!({"answer": "once"}).to_string();
        server
            .raw("POST /api/asks/none HTTP/1.1", &headers, &body)
            .status
    };
    let other_port = format!("http://127.0.0.1:{}", port ^ 1);
    for origin in [
        "http://evil.example",
        "null",
        &other_port,
        "https://127.0.0.1",
    ] {
        assert_eq!(answer(Some(origin)), 403, "{origin}");
    }
    assert_eq!(answer(None), 403);
    assert_eq!(
        answer(Some(&server.origin())),
        409,
        "nobody asks, but it came in"
    );
    // A form of another page could send text, but no JSON.
    let origin = server.origin();
    let mut headers = visitor.headers(&host);
    headers.extend([("Origin", origin.as_str()), ("Content-Type", "text/plain")]);
    let reply = server.raw(
        "POST /api/asks/none HTTP/1.1",
        &headers,
        "{\"answer\":\"once\"}",
    );
    assert_eq!(reply.status, 415);
}

#[test]
fn a_proxy_is_let_in_by_its_origin() {
    let home = server::home();
    let server = WebUnderTest::start(&home, &["--allow-origin", "https://bashd.example.org"]);
    let enter = |host: &str, origin: &str, token: &str| {
        let headers = [
            ("Host", host),
            ("Origin", origin),
            ("Content-Type", "application/json"),
        ];
        let body = json!({"token": token}).to_string();
        server.raw("POST /api/enter HTTP/1.1", &headers, &body)
    };
    let good = "https://bashd.example.org";
    assert_eq!(
        enter(
            "bashd.example.org",
            "http://bashd.example.org",
            &server.token
        )
        .status,
        403
    );
    let reply = enter("bashd.example.org", good, &server.token);
    assert_eq!(reply.status, 200);
    assert!(reply.header("set-cookie").unwrap().contains("; Secure"));
}

#[test]
fn nothing_of_the_page_is_guessed_inlined_or_kept() {
    let home = server::home();
    let mut server = WebUnderTest::start(&home, &[]);
    let visitor = server.visitor();
    let page = server.get(&Visitor::default(), "/");
    assert_eq!(page.status, 200);
    let text = page.text();
    assert!(!text.contains("<style") && !text.contains("style=") && !text.contains("onclick"));
    assert_eq!(text.matches("<script").count(), 1);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self';"));
    assert!(!policy.contains("unsafe"), "{policy}");
    for reply in [&page, &server.get(&visitor, "/api/runs/none")] {
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("x-frame-options"), Some("DENY"));
    }
    let data = server.get(&visitor, "/api/runs/none");
    assert_eq!(data.header("cache-control"), Some("no-store"));
    // A browser that has a file is not sent it again.
    let tag = page.header("etag").unwrap();
    let host = server.address.to_string();
    let headers = [("Host", host.as_str()), ("If-None-Match", tag)];
    assert_eq!(server.raw("GET / HTTP/1.1", &headers, "").status, 304);
    for path in ["/../Cargo.toml", "/vendor/", "/api/", "/nothing"] {
        let status = server.get(&visitor, path).status;
        assert!([404, 400].contains(&status), "{path}: {status}");
    }
}

#[test]
fn it_listens_on_loopback_alone() {
    let home = server::home();
    let server = WebUnderTest::start(&home, &[]);
    assert!(server.address.ip().is_loopback());
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let port = format!(":{:04X} 00000000:0000 0A", server.address.port());
    let lines: Vec<&str> = table.lines().filter(|line| line.contains(&port)).collect();
    assert_eq!(lines.len(), 1, "{table}");
    assert!(lines[0].contains(&format!("0100007F{port}")), "{lines:?}");
}

#[test]
fn another_user_gets_nothing_over_loopback() {
    let home = server::home();
    let server = WebUnderTest::start(&home, &[]);
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{}; printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' >&3; head -c 12 <&3",
        server.address.port()
    );
    let ask = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).arg(&script).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(ask("bash", &["-c"]).unwrap(), "HTTP/1.1 200");
    if !rustix::process::geteuid().is_root() {
        loudly("not root: that another user gets nothing from `bashd web` is NOT tested here");
        return;
    }
    // As nobody.
    let words = ["--reuid", "65534", "--clear-groups", "bash", "-c"];
    assert_eq!(ask("setpriv", &words).unwrap(), "");
}

#[test]
fn a_socket_is_for_its_owner_alone() {
    let home = server::home();
    let path = home.tmp().join("web.sock");
    let words = ["web", "--socket", path.to_str().unwrap()];
    let mut child = crate::bashd(&home, &words).spawn();
    let mut said = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    let token = said
        .find_map(|line| {
            line.unwrap()
                .rsplit_once("/#")
                .map(|(_, token)| token.to_owned())
        })
        .unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).unwrap();
    let headers = [
        ("Host", "localhost:8417"),
        ("Origin", "http://localhost:8417"),
        ("Content-Type", "application/json"),
    ];
    let body = json!({"token": token}).to_string();
    server::ask(&mut stream, "POST /api/enter HTTP/1.1", &headers, &body);
    let reply = server::read(stream);
    assert_eq!(reply.status, 200, "{}", reply.text());
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().code().is_some());
    assert!(!path.exists(), "it takes its socket away");
}

#[test]
fn a_second_server_has_a_port_of_its_own_and_knows_the_same_browsers() {
    let home = server::home();
    let mut first = WebUnderTest::start(&home, &[]);
    let visitor = first.visitor();
    let second = WebUnderTest::start(&home, &[]);
    assert_ne!(first.address.port(), second.address.port());
    // The cookie's name has the port: a browser would not send it there.
    assert_eq!(second.get(&visitor, "/api/runs/none").status, 401);
    let port = second.address.port();
    let (_, value) = visitor.cookie.split_once('=').unwrap();
    let renamed = Visitor {
        cookie: format!("bashd_{port}={value}"),
        ..visitor
    };
    assert_eq!(second.get(&renamed, "/api/runs/none").status, 404);
}
