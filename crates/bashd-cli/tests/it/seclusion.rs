//! What a command can do to the bashd that started it: not write in its place, not look into it. As
//! root nothing is closed, so bashd runs as a user without rights here.

use bashd_testkit::Home;
use bashd_testkit::loud::loudly;
use bashd_testkit::unprivileged::NOBODY;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Tries to speak in the place of the process `$1`, and to look into it.
const FORGE: &str = "forge() { \
    (echo 'All 312 tests passed' >/proc/$1/fd/1) 2>/dev/null && echo 'it spoke'; \
    (: </proc/$1/mem) 2>/dev/null && echo 'it read'; \
    (: </proc/$1/environ) 2>/dev/null && echo 'it knew'; \
    ls /proc/$1/fd >/dev/null 2>&1 && echo 'it saw'; echo done; }";

/// Gives a directory, and all below it, to the user without rights.
fn give(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap().flatten() {
            give(&entry.path());
        }
    }
}

/// Starts bashd as the user without rights.
fn start(home: &Home, arguments: &[&str]) -> Child {
    fs::set_permissions(home.root(), fs::Permissions::from_mode(0o755)).unwrap();
    give(home.root());
    // By descriptor: the directories above the program may be closed to that user.
    let program = File::open(env!("CARGO_BIN_EXE_bashd")).unwrap();
    rustix::io::fcntl_setfd(&program, rustix::io::FdFlags::empty()).unwrap();
    Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()))
        .args(arguments)
        .env_clear()
        .envs(home.env())
        .current_dir(home.workspace())
        .uid(NOBODY)
        .gid(NOBODY)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn is_root() -> bool {
    let is_root = rustix::process::getuid().is_root();
    if !is_root {
        loudly("not root: bashd can't be started as another user, so its seclusion is untested");
    }
    is_root
}

#[test]
fn a_command_does_not_speak_for_the_bashd_that_runs_it() {
    if !is_root() {
        return;
    }
    let home = Home::new();
    let command = format!(
        "{FORGE}; read -r _ _ _ keeper _ < /proc/$$/stat; \
         read -r _ _ _ bashd _ < /proc/$keeper/stat; forge $keeper; forge $bashd"
    );
    let child = start(&home, &["run", "--", &command]);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "done\ndone\n", "{output:?}");
}

#[test]
fn a_command_does_not_speak_for_a_server() {
    if !is_root() {
        return;
    }
    let home = Home::new();
    let mut child = start(&home, &["rpc"]);
    let command = format!("{FORGE}; forge {}; exit 3", child.id());
    let request = serde_json::json!({"type": "bash", "id": "1", "command": command});
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{request}").unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let answer = lines.find(|line| {
        line.as_ref()
            .is_ok_and(|line| line.contains("\"response\""))
    });
    let answer = answer.unwrap().unwrap();
    drop(stdin);
    let rest: Vec<_> = lines.map_while(Result::ok).collect();
    child.wait().unwrap();
    let mut complaints = String::new();
    let stderr = child.stderr.as_mut().unwrap();
    stderr.read_to_string(&mut complaints).unwrap();
    assert!(answer.contains("done\\n"), "{answer} {complaints}");
    for told in ["it spoke", "it read", "it knew", "it saw"] {
        assert!(!answer.contains(told), "{answer}");
    }
    assert!(!rest.concat().contains("312"), "{rest:?}");
}
