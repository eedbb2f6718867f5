//! Hosts that a confined command may connect to, by real clients against servers of this machine.

use super::ConfinedEngine;
use bashd::plan::{HostAccess, Network, RefusedKind};
use bashd::{Reply, Request};
use bashd_testkit::keeper_hook::process_mark;
use bashd_testkit::{as_each_user, loudly};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A command as it is without variables for proxies.
pub(super) const UNTOLD: &str =
    "env -u http_proxy -u HTTP_PROXY -u https_proxy -u HTTPS_PROXY -u all_proxy -u ALL_PROXY";

/// A server that answers every connection in a thread of its own, until the test ends.
fn server(serve: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(client));
        }
    });
    port
}

/// A server of the files of a directory; `/hello` says so.
fn web(root: PathBuf) -> u16 {
    server(move |mut client| {
        let mut head = Vec::new();
        let mut piece = [0; 1024];
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            match client.read(&mut piece) {
                Ok(count) if count > 0 => head.extend(&piece[..count]),
                _ => return,
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
        let path = path
            .split('?')
            .next()
            .unwrap_or("/")
            .trim_start_matches('/');
        let body = match path {
            "hello" => Some(b"hello".to_vec()),
            path => fs::read(root.join(path)).ok(),
        };
        let (status, body) = match body {
            Some(body) => ("200 OK", body),
            None => ("404 Not Found", Vec::new()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let _ = client.write_all(head.as_bytes());
        let _ = client.write_all(&body);
    })
}

pub(super) fn site(hosts: &[String]) -> ConfinedEngine {
    let hosts = hosts.to_vec();
    ConfinedEngine::new(move |config| {
        config.confinement.network = Some(Network::Named);
        config.confinement.hosts = hosts;
        config.confinement.resolve = vec!["web.test=127.0.0.1".to_owned()];
    })
}

/// The first of these programs that is there.
pub(super) fn found(programs: &[&str]) -> Option<String> {
    let is_there = |program: &&&str| fs::metadata(program).is_ok();
    programs
        .iter()
        .find(is_there)
        .map(|program| (*program).to_owned())
}

fn refused(reply: &Reply) -> Vec<(RefusedKind, String)> {
    let refused = reply.refused.iter();
    refused.map(|one| (one.kind, one.what.clone())).collect()
}

#[test]
fn a_listed_host_is_reached_by_whatever_client() {
    let port = web(PathBuf::new());
    let mut clients = vec![
        format!("curl -sS http://web.test:{port}/hello"),
        format!("curl -sS -p http://web.test:{port}/hello"),
        format!("curl -sS -x socks5h://127.0.0.1:64128 http://web.test:{port}/hello"),
        format!("curl -sS -x \"$ALL_PROXY\" http://web.test:{port}/hello"),
        format!("{UNTOLD} curl -sS http://web.test:{port}/hello"),
    ];
    match found(&["/usr/bin/python3", "/usr/local/bin/python3"]) {
        Some(python) => {
            let script = format!(
                "import urllib.request as r; print(r.urlopen('http://web.test:{port}/hello').read().decode(), end='')"
            );
            clients.push(format!("{python} -c \"{script}\""));
            let raw = format!(
                "import socket; s = socket.create_connection(('web.test', {port})); \
                 s.sendall(b'GET /hello HTTP/1.0\\r\\n\\r\\n'); print(s.makefile().read()[-5:], end='')"
            );
            clients.push(format!("{UNTOLD} {python} -c \"{raw}\""));
        }
        None => loudly("no python here: its clients are NOT tested"),
    }
    match found(&["/usr/bin/node", "/usr/local/bin/node"]) {
        Some(node) => clients.push(format!(
            "{node} -e \"fetch('http://web.test:{port}/hello').then(r => r.text()).then(t => process.stdout.write(t))\""
        )),
        None => loudly("no node here: its fetch is NOT tested"),
    }
    as_each_user(|| {
        let site = site(&[format!("web.test:{port}")]);
        for client in &clients {
            let reply = site.run(Request::new(client));
            assert_eq!(&*reply.output, "hello", "{client}: {reply:?}");
            let held = reply.confinement.as_ref().expect("a confinement");
            assert_eq!(held.hosts_by, Some(HostAccess::Transparent), "{reply:?}");
            assert_eq!(held.network, Network::Named);
            assert!(reply.refused.is_empty(), "{reply:?}");
            let connected = &reply.connections[0];
            assert_eq!(connected.host, format!("web.test:{port}"));
            assert!(connected.count == 1 && connected.received > 5, "{reply:?}");
            assert!(connected.sent > 5, "{reply:?}");
        }
    });
}

#[test]
fn other_hosts_are_refused_and_told() {
    let port = web(PathBuf::new());
    as_each_user(|| {
        let site = site(&[format!("web.test:{port}"), "*.example.org:443".to_owned()]);
        let said = |command: &str| site.run(Request::new(command));
        let reply = said("curl -sS http://other.test/; curl -sS -p http://other.test/; true");
        assert!(reply.output.contains("refused by confinement"), "{reply:?}");
        assert!(reply.output.contains("403"), "{reply:?}");
        let expected = vec![(RefusedKind::Connect, "other.test:80".to_owned())];
        assert_eq!(refused(&reply), expected, "{reply:?}");
        assert_eq!(reply.refused[0].count, 2, "{reply:?}");
        let line = "[refused by confinement: connect other.test:80 (2 times)]";
        assert!(reply.text.contains(line), "{}", reply.text);
        assert!(reply.connections.is_empty(), "{reply:?}");
        // By its resolver, which knows no port; and another port of a listed host.
        let reply = said(&format!("{UNTOLD} curl -sS http://other.test/ 2>&1; true"));
        assert!(reply.output.contains("Could not resolve host"), "{reply:?}");
        assert_eq!(
            refused(&reply),
            [(RefusedKind::Connect, "other.test".to_owned())]
        );
        let reply = said("curl -sS http://web.test:1/; true");
        assert_eq!(
            refused(&reply),
            [(RefusedKind::Connect, "web.test:1".to_owned())]
        );
        // What a call was refused is not told again.
        assert_eq!(refused(&said("true")), []);
        // Nor is there any way around the proxy.
        let direct = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port} && printf 'GET /hello HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
        );
        let reply = said(&direct);
        assert!(!reply.output.contains("hello"), "{reply:?}");
    });
}

#[test]
fn this_machine_and_its_network_are_not_every_host() {
    let port = web(PathBuf::new());
    let site = site(&["*".to_owned()]);
    let hosts = [
        format!("127.0.0.2:{port}"),
        format!("2130706433:{port}"),
        "169.254.169.254:80".to_owned(),
        "10.0.0.1:80".to_owned(),
    ];
    for host in hosts {
        let command = format!("curl -sS -m 20 --noproxy '' -p http://{host}/hello; true");
        let reply = site.run(Request::new(command));
        assert!(!reply.output.ends_with("hello"), "{reply:?}");
        assert_eq!(reply.refused.len(), 1, "{reply:?}");
    }
    drop(site);
    // Listed by its address, it is reached.
    let site = self::site(&[format!("127.0.0.1:{port}")]);
    for (options, is_reached) in [("--noproxy ''", true), ("", false)] {
        let command = format!("curl -sS {options} http://127.0.0.1:{port}/hello");
        // Without the proxy the loopback is the command's own.
        let reply = site.run(Request::new(command));
        assert_eq!(&*reply.output == "hello", is_reached, "{reply:?}");
    }
}

#[test]
fn the_name_in_tls_must_be_the_one_that_was_allowed() {
    // What reads the client's first bytes, and says nothing.
    let port = server(|mut client| {
        let _ = client.read(&mut [0; 4096]);
    });
    let site = site(&[format!("web.test:{port}")]);
    let direct = format!("curl -sSk -m 20 https://web.test:{port}/; true");
    let reply = site.run(Request::new(direct));
    assert_eq!(refused(&reply), [], "{reply:?}");
    assert!(reply.connections[0].sent > 100, "{reply:?}");
    let command = format!(
        "curl -sSk -m 20 --connect-to other.test:443:web.test:{port} https://other.test/; true"
    );
    let reply = site.run(Request::new(command));
    let what = format!("other.test:{port} through web.test");
    assert_eq!(refused(&reply), [(RefusedKind::Connect, what)], "{reply:?}");
    assert_eq!(reply.connections[0].sent, 0, "{reply:?}");
}

#[test]
fn git_clones_and_ssh_connects() {
    let made = tempfile::tempdir().expect("a directory");
    let script = "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m m \
                  && git update-server-info";
    let git = Command::new("bash")
        .args(["-c", script])
        .current_dir(made.path())
        .status();
    assert!(git.expect("git").success());
    let port = web(made.path().to_owned());
    let ssh = server(|mut client| {
        let _ = client.write_all(b"SSH-2.0-canary\r\n");
        let _ = client.read(&mut [0; 4096]);
    });
    let site = site(&[format!("web.test:{port}"), format!("web.test:{ssh}")]);
    let clone = format!(
        "git clone -q http://web.test:{port}/r/.git c && git -C c log --format=%s; \
         {UNTOLD} git clone -q http://web.test:{port}/r/.git d && git -C d log --format=%s"
    );
    let reply = site.run(Request::new(clone));
    assert_eq!(&*reply.output, "m\nm\n", "{reply:?}");
    if found(&["/usr/bin/ssh"]).is_none() {
        return loudly("no ssh here: it is NOT tested");
    }
    let command = format!(
        "ssh -v -F none -o ConnectTimeout=20 -o StrictHostKeyChecking=no -p {ssh} web.test true 2>&1; true"
    );
    let reply = site.run(Request::new(command));
    assert!(
        reply.output.contains("remote software version canary"),
        "{reply:?}"
    );
}

#[test]
fn sessions_and_jobs_have_it_too() {
    let port = web(PathBuf::new());
    let site = site(&[format!("web.test:{port}")]);
    let in_session = |command: &str| site.run(Request::new(command).session("one"));
    let ask = format!("curl -sS http://web.test:{port}/hello");
    for _ in 0..2 {
        let reply = in_session(&ask);
        assert_eq!(&*reply.output, "hello", "{reply:?}");
        assert_eq!(reply.connections[0].count, 1, "{reply:?}");
    }
    let reply = in_session("curl -sS http://other.test/ >/dev/null");
    assert_eq!(reply.refused.len(), 1, "{reply:?}");
    assert_eq!(in_session("true").refused, []);
    // A job that outlives its engine keeps its network.
    let go = site.home.workspace().join("go");
    let done = site.home.workspace().join("done");
    let job = format!(
        "until test -e go; do sleep 0.05; done; {ask} > part; {UNTOLD} {ask} >> part; mv part done"
    );
    let reply = site.run(Request::new(job).background());
    assert!(reply.job.is_some(), "{reply:?}");
    let ConfinedEngine {
        engine,
        runtime,
        home,
    } = site;
    drop(engine);
    drop(runtime);
    fs::write(go, "").expect("a sign");
    let until = Instant::now() + Duration::from_mins(1);
    while !done.exists() {
        assert!(Instant::now() < until, "the job has no network");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(fs::read_to_string(&done).expect("its output"), "hellohello");
    drop(home);
}

/// The proxies of this test.
fn proxies() -> Vec<i32> {
    let pids = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_proxy = |pid: &i32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        name == "bashd-proxy\n" && String::from_utf8_lossy(&environment).contains(process_mark())
    };
    pids.filter(is_proxy).collect()
}

#[test]
fn a_proxy_that_dies_or_hangs_is_the_commands_trouble_alone() {
    let port = web(PathBuf::new());
    let site = site(&[format!("web.test:{port}")]);
    let ask = format!("curl -sS -m 3 http://web.test:{port}/hello");
    for signal in ["KILL", "STOP"] {
        let begun = site.home.workspace().join(format!("begun-{signal}"));
        let go = site.home.workspace().join(format!("go-{signal}"));
        let command = format!(
            "touch {}; until test -e {}; do sleep 0.05; done; {ask}; echo $?",
            begun.display(),
            go.display()
        );
        let harm = std::thread::spawn(move || {
            let until = Instant::now() + Duration::from_mins(1);
            while !begun.exists() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(10));
            }
            let found = proxies();
            assert_eq!(found.len(), 1);
            for proxy in found {
                let words = [format!("-{signal}"), proxy.to_string()];
                let sent = Command::new("kill").args(words).status();
                assert!(sent.expect("kill").success());
            }
            fs::write(go, "").expect("a sign");
        });
        let reply = site.run(Request::new(command));
        harm.join().expect("the harm");
        let status = reply.output.trim().rsplit('\n').next();
        assert!(status.is_some_and(|status| status != "0"), "{reply:?}");
        assert!(
            !reply.output.contains("hello") && reply.exit_code == Some(0),
            "{reply:?}"
        );
        if signal == "KILL" {
            assert!(
                reply
                    .text
                    .contains("proxy of the command's network has ended"),
                "{reply:?}"
            );
        }
        assert_eq!(
            &*site.run(Request::new(&ask)).output,
            "hello",
            "the next one has its own"
        );
    }
    // The last one goes with its keeper, a moment after the reply.
    let begun = Instant::now();
    while !proxies().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(10), "one is left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_flood_reaches_nobody_else() {
    let port = web(PathBuf::new());
    let Some(python) = found(&["/usr/bin/python3", "/usr/local/bin/python3"]) else {
        return loudly("no python here: floods are NOT tested");
    };
    let site = site(&[format!("web.test:{port}")]);
    // A thousand that say nothing, or half of a request; then one that wants something.
    let flood = format!(
        "import socket\nheld = []\nfor n in range(1000):\n s = socket.create_connection(('127.0.0.1', 64128))\n \
         try:\n  if n % 2: s.sendall(b'GET http://web.test:{port}/ HTTP/1.1\\r\\nX')\n except OSError: pass\n held.append(s)\n\
         open('flooded', 'w')\nimport time, os\nwhile not os.path.exists('go'): time.sleep(0.02)\nprint(len(held))"
    );
    fs::write(site.home.workspace().join("flood.py"), flood).expect("a script");
    let [go, flooded] = ["go", "flooded"].map(|name| site.home.workspace().join(name));
    let ask = format!("curl -sS http://web.test:{port}/hello");
    std::thread::scope(|scope| {
        let flooding =
            scope.spawn(|| site.run(Request::new(format!("ulimit -n 4096; {python} flood.py"))));
        let until = Instant::now() + Duration::from_mins(1);
        while !flooded.exists() {
            assert!(
                Instant::now() < until && !flooding.is_finished(),
                "no flood"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        let reply = site.run(Request::new(&ask));
        assert_eq!(&*reply.output, "hello", "{reply:?}");
        fs::write(&go, "").expect("a sign");
        let reply = flooding.join().expect("the flood");
        assert_eq!(&*reply.output, "1000\n", "{reply:?}");
    });
    assert_eq!(&*site.run(Request::new(&ask)).output, "hello");
}

#[test]
fn a_preset_with_a_network_tells_refusals_and_a_narrower_call_has_none() {
    use bashd::config::Preset;
    let port = web(PathBuf::new());
    let none = ConfinedEngine::new(|config| {
        config.confinement.preset = Some(Preset::WorkspaceNet);
    });
    let reply = none.run(Request::new("curl -sS http://web.test/ 2>&1"));
    assert_eq!(
        refused(&reply),
        [(RefusedKind::Connect, "web.test:80".to_owned())],
        "{reply:?}"
    );
    drop(none);
    let site = ConfinedEngine::new(|config| {
        config.confinement.preset = Some(Preset::WorkspaceNet);
        config.confinement.network = Some(Network::Named);
        config.confinement.hosts = vec![format!("web.test:{port}")];
        config.confinement.resolve = vec!["web.test=127.0.0.1".to_owned()];
    });
    let ask = format!("curl -sS http://web.test:{port}/hello; touch made");
    assert_eq!(&*site.run(Request::new(&ask)).output, "hello");
    assert!(site.home.workspace().join("made").exists());
    let mut narrow = Request::new(&ask);
    narrow.confine = Some(Preset::Workspace);
    let reply = site.run(narrow);
    assert!(!reply.output.contains("hello"), "{reply:?}");
    let network = reply.confinement.map(|held| held.network);
    assert_eq!(network, Some(Network::None));
}
