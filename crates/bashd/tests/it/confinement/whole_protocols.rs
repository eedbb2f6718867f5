//! Protocols to their end, by programs that nobody here wrote, through the proxy of a confined
//! command: ssh with a real server, git over https.

use super::network::{UNTOLD, found, site};
use bashd::Request;
use bashd_testkit::loudly;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

/// A program of ours that ends with the test.
struct Served(std::process::Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that nobody has just now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    listener.local_addr().expect("its address").port()
}

/// Runs a script outside, in a directory.
fn outside(directory: &Path, script: &str) {
    let mut bash = Command::new("bash");
    let done = bash.args(["-ec", script]).current_dir(directory).output();
    let done = done.expect("bash");
    assert!(done.status.success(), "{done:?}");
}

/// Starts a server, and waits until it listens.
fn serve(directory: &Path, program: &[&str], port: u16) -> Served {
    let [program, arguments @ ..] = program else {
        panic!("no program")
    };
    let child = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        // Without the mark of this test: it ends after the home is looked through.
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let served = Served(child.expect("a server"));
    super::until(|| TcpStream::connect(("127.0.0.1", port)).ok());
    served
}

#[test]
fn ssh_runs_a_command_at_a_listed_host_to_its_end() {
    if !rustix::process::geteuid().is_root() || found(&["/usr/sbin/sshd"]).is_none() {
        return loudly("no root or no sshd here: a whole ssh is NOT tested");
    }
    let made = tempfile::tempdir().expect("a directory");
    let place = made.path().display();
    let port = free_port();
    let configuration = format!(
        "ListenAddress 127.0.0.1\nHostKey {place}/host\nAuthorizedKeysFile {place}/client.pub\n\
         StrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nPidFile none\n"
    );
    fs::write(made.path().join("sshd"), configuration).expect("a configuration");
    outside(
        made.path(),
        "ssh-keygen -qt ed25519 -N '' -f host; ssh-keygen -qt ed25519 -N '' -f client; mkdir -p /run/sshd",
    );
    let (port_text, file) = (port.to_string(), format!("{place}/sshd"));
    let sshd = ["/usr/sbin/sshd", "-D", "-f", &file, "-p", &port_text];
    let _sshd = serve(made.path(), &sshd, port);
    let site = site(&[format!("web.test:{port}")]);
    let key = site.home.workspace().join("client");
    fs::copy(made.path().join("client"), &key).expect("a key");
    let command = format!(
        "ssh -F none -i client -o IdentityAgent=none -o StrictHostKeyChecking=accept-new -p {port} \
         root@web.test 'head -c 300000 /dev/zero | wc -c; exit 7'"
    );
    let reply = site.run(Request::new(command));
    assert_eq!(reply.exit_code, Some(7), "{reply:?}");
    assert!(reply.output.contains("300000\n"), "{reply:?}");
    assert_eq!(
        reply.connections[0].host,
        format!("web.test:{port}"),
        "{reply:?}"
    );
    assert!(reply.refused.is_empty(), "{reply:?}");
}

#[test]
fn git_clones_over_https() {
    if found(&["/usr/bin/openssl"]).is_none() || found(&["/usr/bin/python3"]).is_none() {
        return loudly("no openssl or python3 here: git over https is NOT tested");
    }
    let made = tempfile::tempdir().expect("a directory");
    outside(
        made.path(),
        "git init -q r; git -C r -c user.name=a -c user.email=a@b commit -q --allow-empty -m m; \
         git -C r update-server-info; \
         openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem; \
         openssl req -newkey rsa:2048 -nodes -subj /CN=web.test -keyout web.key -out web.csr; \
         printf subjectAltName=DNS:web.test > names; \
         openssl x509 -req -in web.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out web.pem",
    );
    let port = free_port();
    let server = format!(
        "import http.server, ssl\n\
         server = http.server.ThreadingHTTPServer(('127.0.0.1', {port}), http.server.SimpleHTTPRequestHandler)\n\
         context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n\
         context.load_cert_chain('web.pem', 'web.key')\n\
         server.socket = context.wrap_socket(server.socket, server_side=True)\n\
         server.serve_forever()"
    );
    let _web = serve(made.path(), &["/usr/bin/python3", "-c", &server], port);
    let site = site(&[format!("web.test:{port}")]);
    fs::copy(
        made.path().join("ca.pem"),
        site.home.workspace().join("ca.pem"),
    )
    .expect("a CA");
    let clone = |prefix: &str, host: &str, to: &str| {
        let command = format!(
            "{prefix} git -c http.sslCAInfo=$PWD/ca.pem clone -q https://{host}:{port}/r/.git {to} && git -C {to} log --format=%s"
        );
        site.run(Request::new(command))
    };
    for (prefix, to) in [("", "one"), (UNTOLD, "two")] {
        let reply = clone(prefix, "web.test", to);
        assert_eq!(&*reply.output, "m\n", "{reply:?}");
        assert!(reply.connections[0].received > 0, "{reply:?}");
    }
    let reply = clone("", "other.test", "three");
    assert_ne!(reply.exit_code, Some(0), "{reply:?}");
    assert_eq!(
        reply.refused[0].what,
        format!("other.test:{port}"),
        "{reply:?}"
    );
}
