//! What a command can do to the bashd that started it: not write in its place, not look into it,
//! not trace it. That holds for a user without rights. As root nothing is closed, and that is
//! shown, too: `SECURITY.md` says both.

use crate::rpc_under_test::{PATIENCE, lines};
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
use std::time::{Duration, Instant};

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
    start_as(NOBODY, home, arguments)
}

/// Starts bashd as a user.
fn start_as(user: u32, home: &Home, arguments: &[&str]) -> Child {
    if user != 0 {
        fs::set_permissions(home.root(), fs::Permissions::from_mode(0o755)).unwrap();
        give(home.root());
    }
    // By descriptor: the directories above the program may be closed to that user.
    let program = File::open(env!("CARGO_BIN_EXE_bashd")).unwrap();
    rustix::io::fcntl_setfd(&program, rustix::io::FdFlags::empty()).unwrap();
    let child = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()))
        .args(arguments)
        .env_clear()
        .envs(home.env())
        .current_dir(home.workspace())
        .uid(user)
        .gid(user)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A client of the same user would have made it: the pipe itself is open to that user.
    let stdout = child.stdout.as_ref().unwrap();
    std::os::unix::fs::fchown(stdout, Some(user), Some(user)).unwrap();
    child
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

/// A server of this user, a command for it, and what it wrote while the file `done` was not there,
/// which the command makes at its very end. The answer to the command comes first.
fn answers(user: u32, command: &str) -> Vec<String> {
    let home = Home::new().keeping_in_state(&["runs"]);
    let mut child = start_as(user, &home, &["rpc"]);
    let server = child.id();
    let command = command.replace("SERVER", &server.to_string());
    let request = serde_json::json!({"type": "bash", "id": "1", "command": command});
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{request}").unwrap();
    let said = lines(child.stdout.take().unwrap());
    let mut all = Vec::new();
    let begun = Instant::now();
    while all.is_empty() || !home.workspace().join("done").exists() {
        assert!(begun.elapsed() < PATIENCE, "{all:?}");
        all.extend(said.recv_timeout(Duration::from_millis(20)));
    }
    drop(stdin);
    all.extend(said.iter());
    child.wait().unwrap();
    all
}

/// Waits until its call was answered, and answers another that nobody made.
const SURVIVOR: &str = "(sleep 0.5; \
    echo '{\"id\":\"2\",\"type\":\"response\",\"success\":true,\"data\":\"All 312 tests passed\"}' \
        >/proc/SERVER/fd/1; touch done) >/dev/null 2>&1 & exit 3";

#[test]
fn a_survivor_forges_no_answer_unless_it_is_root() {
    if !is_root() {
        return;
    }
    let is_forged = |user| answers(user, SURVIVOR).concat().contains("312");
    assert!(!is_forged(NOBODY));
    // Root's commands are beyond this: nothing on this level closes anything to root.
    assert!(is_forged(0));
}

/// Attaches to a process by the system call itself, and says what came of it.
fn tracing() -> Option<String> {
    let number = match std::env::consts::ARCH {
        "x86_64" => 101,
        "aarch64" => 117,
        _ => return None,
    };
    let attach = format!(
        "$! = 0; syscall({number}, 16, $ARGV[0] + 0, 0, 0); $e = $!{{EPERM}} ? q(refused) : $! ? $! : q(traced);"
    );
    let detach = format!("syscall({number}, 17, $ARGV[0] + 0, 0, 0);");
    Some(format!(
        "perl -MErrno -e '{attach} waitpid($ARGV[0] + 0, 0x40000000) if $e eq q(traced); {detach} print qq($e\\n)' SERVER; \
         touch done"
    ))
}

#[test]
fn a_command_traces_no_server_unless_it_is_root() {
    if !is_root() {
        return;
    }
    let perl = Command::new("perl").args(["-MErrno", "-e", "1"]).output();
    let Some(command) = tracing().filter(|_| perl.is_ok_and(|tried| tried.status.success())) else {
        loudly("there is no perl: that commands can't trace a server is NOT tested");
        return;
    };
    let told = answers(NOBODY, &command);
    assert!(told[0].contains("refused\\n"), "{told:?}");
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    if scope.trim() == "3" {
        loudly("this kernel lets nobody trace: what root can do is not shown");
        return;
    }
    let told = answers(0, &command);
    assert!(told[0].contains("traced\\n"), "{told:?}");
}

/// Everything below a directory that others than its owner could read, but the files that commands
/// themselves made.
fn open_to_others(below: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(below).unwrap().flatten() {
        if entry.file_name() == "upper" || entry.file_name() == "work" {
            continue; // a layer, in a directory that is closed
        }
        let metadata = entry.metadata().unwrap();
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 && !metadata.is_symlink() {
            found.push(format!("{:o} {}", mode, entry.path().display()));
        }
        if metadata.is_dir() {
            open_to_others(&entry.path(), found);
        }
    }
}

#[test]
fn what_is_stored_is_for_its_owner_only() {
    let home = Home::new().keeping_in_state(&["changes", "outpost", "grants"]);
    let carrier = env!("CARGO_BIN_EXE_bashd");
    let place = format!(
        "[places.there]\nkind = \"pipe\"\ncommand = [{carrier:?}, \"outpost\", \"--idle\", \"0.3\"]\n"
    );
    fs::write(home.config().join("config.toml"), place).unwrap();
    let run = |words: &[&str]| crate::bashd(&home, words).run();
    for words in [
        &["run", "seq 100000"][..],
        &["run", "--session", "s", "echo 1"],
        &["run", "--effects", "hold", "echo 1 >a; mkdir b"],
        &["run", "--effects", "undoable", "echo 1 >c"],
        &["run", "--on", "there", "echo 1"],
        &["run", "--background", "echo 1"],
        &["jobs", "wait", "bg_1"],
        &["changes"],
    ] {
        run(words);
    }
    let mut found = Vec::new();
    open_to_others(&home.state(), &mut found);
    assert!(home.state().join("changes").exists() && home.state().join("outpost").exists());
    run(&["jobs", "rm", "bg_1"]);
    assert!(found.is_empty(), "{}", found.join("\n"));
}
