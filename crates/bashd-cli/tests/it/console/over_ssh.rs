//! The console at the other end of a real ssh, on loopback, with keys of the test's own.

use super::tmux::Tmux;
use bashd_testkit::{Home, loudly};
use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to let somebody in.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that takes one key, and is ended with the test.
pub(crate) struct Sshd {
    server: Child,
    /// The words that log in.
    pub(crate) login: String,
}

impl Sshd {
    /// Starts one; `None`, and loudly, where that does not work.
    pub(crate) fn start(home: &Home) -> Option<Self> {
        let directory = home.root().join("ssh");
        fs::create_dir(&directory).unwrap();
        let path = |name: &str| directory.join(name).display().to_string();
        for name in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &path(name)])
                .status();
            if !made.is_ok_and(|status| status.success()) {
                loudly("ssh-keygen is missing: the console over ssh");
                return None;
            }
        }
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\n\
             PermitRootLogin yes\nUsePAM no\nPidFile none\nPrintMotd no\nPrintLastLog no\n",
            path("host"),
            path("user.pub")
        );
        fs::write(directory.join("config"), settings).unwrap();
        let server = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f", &path("config")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(server) = server else {
            loudly("sshd is missing: the console over ssh");
            return None;
        };
        let login = format!(
            "ssh -p {port} -i {} -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=no \
             -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR 127.0.0.1",
            path("user")
        );
        let server = Self { server, login };
        server.lets_in().then_some(server)
    }

    fn lets_in(&self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let login = format!("{} true", self.login);
            let tried = Command::new("sh").args(["-c", &login]).output();
            if tried.is_ok_and(|output| output.status.success()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        loudly("sshd lets nobody in here: the console over ssh");
        false
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A script that starts the console with the test's own variables, which ssh does not carry.
fn remote(home: &Home) -> String {
    let exports = home.env().into_iter().map(|(name, value)| {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        let value = value.replace('\'', r"'\''");
        format!("export {name}='{value}'\n")
    });
    let exports: String = exports.collect();
    let (workspace, program) = (home.workspace(), env!("CARGO_BIN_EXE_bashd"));
    let script = format!(
        "{exports}cd '{}'\nexec {program} console\n",
        workspace.display()
    );
    let path = home.root().join("remote");
    fs::write(&path, script).unwrap();
    path.display().to_string()
}

#[test]
fn it_works_over_ssh_and_ends_with_the_connection() {
    let home = Home::new();
    let Some(sshd) = Sshd::start(&home) else {
        return;
    };
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    let login = sshd.login.replacen("ssh ", "ssh -tt ", 1);
    let console = format!("{login} sh {}", remote(&home));
    tmux.line(&console);
    tmux.until("[ready]");
    tmux.command("!echo $((40+2))");
    tmux.until("\n42\n");
    tmux.command("!printf 'one\\ntwo\\n' | less");
    tmux.until("│two");
    tmux.keys(&["q"]);
    tmux.until("✔ done");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
    tmux.line(&console);
    tmux.until("[ready]");
    tmux.command("!sleep 300");
    tmux.until("[running]");
    // A lost connection: what ran and the console are gone, which the home's leak check waits for.
    let lost = Command::new("kill").arg(tmux.pid()).status();
    assert!(lost.unwrap().success());
}
