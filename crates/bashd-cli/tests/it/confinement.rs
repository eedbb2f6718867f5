//! `--confine` and `bashd confine`, where the kernel gives less: without user namespaces, without
//! Landlock, inside another confinement. `faults` is what fails in the middle, `elsewhere` are
//! workspaces that a process serves, and containers.

mod elsewhere;
mod faults;

use bashd_testkit::Home;
use bashd_testkit::loud::loudly;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

/// Goes on as the given program in a user namespace in which no other can be made.
const WITHOUT_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";

/// Goes on as the given program, for which the kernel has no Landlock.
const WITHOUT_LANDLOCK: &str = "
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
# Load the number of the call; if it is landlock_create_ruleset, there is no such call.
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50000 | 38), (0x06, 0, 0, 0x7FFF0000)]
code = b''.join(struct.pack('HBBI', *step) for step in steps)
held = ctypes.create_string_buffer(code)
program = struct.pack('HP', len(steps), ctypes.addressof(held))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
";

fn command(home: &Home, words: &[&str]) -> Output {
    let (program, arguments) = words.split_first().unwrap();
    Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(home.env())
        .current_dir(home.workspace())
        .output()
        .unwrap()
}

fn reply(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{errors}"))
}

/// Runs a confined command after these words, which have bashd started where something is missing.
fn confined(home: &Home, before: &[&str], after: &[&str]) -> Value {
    let run = [BASHD, "run", "--json", "--confine", "workspace"];
    let words = [before, &run, after, &["touch made; id -u"]].concat();
    reply(&command(home, &words))
}

/// A command does not run if `full` can't be had, unless less will do.
fn falls_back(before: &[&str], level: &str, step: &str) {
    let home = Home::new();
    let refused = confined(&home, before, &[]);
    let error = refused["error"].as_str().unwrap_or_default();
    assert!(
        error.contains("level `full`") && error.contains(step),
        "{refused}"
    );
    assert!(!home.workspace().join("made").exists(), "it ran: {refused}");
    let require = format!("confinement.require={level}");
    let ran = confined(&home, before, &["--set", &require]);
    assert_eq!(ran["confinement"]["level"], level, "{ran}");
    let reason = ran["confinement"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(step), "{ran}");
    assert!(home.workspace().join("made").exists(), "{ran}");
}

#[test]
fn without_user_namespaces_nothing_runs_unless_landlock_will_do() {
    let before = [
        "unshare",
        "--user",
        "--map-current-user",
        "--keep-caps",
        "sh",
        "-c",
        WITHOUT_NAMESPACES,
        "sh",
    ];
    falls_back(&before, "landlock", "make namespaces");
}

#[test]
fn without_landlock_nothing_runs_unless_nothing_will_do() {
    let python = "/usr/bin/python3";
    if !Path::new(python).exists() {
        loudly("no python3: a kernel without Landlock is NOT tested");
        return;
    }
    falls_back(
        &[python, "-c", WITHOUT_LANDLOCK],
        "none",
        "make a Landlock ruleset",
    );
    let home = Home::new();
    let without = confined(
        &home,
        &[python, "-c", WITHOUT_LANDLOCK],
        &["--set", "confinement.require=landlock"],
    );
    assert!(without["error"].is_string(), "{without}");
}

#[test]
fn inside_a_confinement_there_is_another_by_landlock() {
    let home = Home::new();
    let inner = format!(
        "BASHD_HOME=/tmp/inner {BASHD} run --json --confine workspace \
         --set confinement.require=landlock 'touch inside; touch /usr/x; echo $?'"
    );
    let read = format!("confinement.read=/,{BASHD}");
    let words = [
        BASHD,
        "run",
        "--confine",
        "workspace",
        "--set",
        &read,
        &inner,
    ];
    let output = command(&home, &words);
    let ran = reply(&output);
    assert_eq!(ran["confinement"]["level"], "landlock", "{ran}");
    let text = ran["output"].as_str().unwrap_or_default();
    assert!(text.ends_with("1\n"), "{ran}");
    assert!(home.workspace().join("inside").exists(), "{ran}");
}

#[test]
fn confine_show_says_what_holds_and_why() {
    let home = Home::new();
    std::fs::create_dir_all(home.home().join(".ssh")).unwrap();
    let show = [BASHD, "confine", "show", "--confine", "workspace"];
    let command_line = "cp ./x ~/.ssh/id /etc/hosts";
    let text = command(&home, &[&show[..], &["cat /etc/hosts ./x"]].concat());
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("full, full is required"), "{text}");
    assert!(text.contains("/etc/hosts: read by /\n"), "{text}");
    assert!(text.contains("/x: written by "), "{text}");
    assert!(text.contains("/.ssh\n"), "{text}");
    let json = reply(&command(
        &home,
        &[&show[..], &["--json", command_line]].concat(),
    ));
    assert_eq!(json["here"]["level"], "full", "{json}");
    assert_eq!(json["confinement"]["network"], "none", "{json}");
    let off = command(&home, &[BASHD, "confine", "show"]);
    assert!(
        String::from_utf8_lossy(&off.stdout).starts_with("off: "),
        "{off:?}"
    );
}

/// Namespaces of a kind that can't be made: whichever it is, the reason is told and nothing runs.
#[test]
fn a_limit_that_is_reached_in_the_middle_is_told_and_nothing_runs() {
    for kind in ["mnt", "pid", "ipc", "uts", "net"] {
        let home = Home::new();
        let limited = format!("echo 0 > /proc/sys/user/max_{kind}_namespaces && exec \"$@\"");
        let before = ["unshare", "-Ur", "sh", "-c", &limited, "sh"];
        let words: Vec<&str> = before
            .into_iter()
            .chain([
                BASHD,
                "run",
                "--json",
                "--confine",
                "workspace",
                "touch made",
            ])
            .collect();
        let ran = reply(&command(&home, &words));
        let error = ran["error"].as_str().unwrap_or_default();
        assert!(error.contains("make namespaces"), "{kind}: {ran}");
        assert!(error.contains("No space left"), "{kind}: {ran}");
        assert!(!home.workspace().join("made").exists(), "{kind}: {ran}");
    }
}

#[test]
fn a_workspace_may_be_on_another_file_system_and_must_exist() {
    let home = Home::new();
    let place = home.workspace();
    let script = format!(
        "echo x > made && cat made && ! echo x > {}/no",
        home.home().parent().unwrap_or(&place).display()
    );
    let overlay = "mkdir /dev/shm/ws-$$ && d=/dev/shm/ws-$$ && mount -t tmpfs none $d && mkdir $d/l $d/u $d/w $d/m && \
                   mount -t overlay overlay -o lowerdir=$d/l,upperdir=$d/u,workdir=$d/w \"$0\" && cd \"$0\" && \"$@\"; \
                   status=$?; umount -l $d; rmdir $d; exit $status";
    let memory = "mount -t tmpfs none \"$0\" && cd \"$0\" && exec \"$@\"";
    let at = place.display().to_string();
    for mount in [overlay, memory] {
        let words = [
            "unshare",
            "-m",
            "sh",
            "-c",
            mount,
            &at,
            BASHD,
            "run",
            "--json",
            "--confine",
            "workspace",
            &script,
        ];
        if !rustix::process::geteuid().is_root() {
            bashd_testkit::loudly("not root: workspaces on other file systems are NOT tried");
            return;
        }
        let ran = reply(&command(&home, &words));
        assert_eq!(ran["exit_code"], 0, "{mount}: {ran}");
        assert_eq!(ran["confinement"]["level"], "full", "{mount}: {ran}");
    }
    let gone = "mkdir gone && cd gone && rmdir ../gone && exec \"$@\"";
    let words = [
        "sh",
        "-c",
        gone,
        "sh",
        BASHD,
        "run",
        "--json",
        "--confine",
        "workspace",
        "true",
    ];
    let output = command(&home, &words);
    assert_ne!(output.status.code(), Some(0), "{output:?}");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("does not exist"), "{said}");
}

/// A link to a workspace is the workspace: what is written there is written, and nothing beside it.
#[test]
fn a_workspace_may_be_a_link() {
    let home = Home::new();
    let link = home.home().join("link");
    std::os::unix::fs::symlink(home.workspace(), &link).unwrap();
    let at = link.display().to_string();
    let elsewhere = home.home().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let script = format!(
        "echo x > {}/no; echo x > made && cat {at}/made",
        elsewhere.display()
    );
    let words = [
        BASHD,
        "run",
        "--json",
        "--confine",
        "workspace",
        "--cwd",
        &at,
        &script,
    ];
    let ran = reply(&command(&home, &words));
    assert_eq!(ran["exit_code"], 0, "{ran}");
    assert_eq!(ran["confinement"]["level"], "full", "{ran}");
    assert!(home.workspace().join("made").exists(), "{ran}");
    assert!(!elsewhere.join("no").exists(), "{ran}");
}

/// bashd's own state, configuration and grants from inside a confinement.
#[test]
fn inside_a_confinement_bashd_itself_is_out_of_reach() {
    let home = Home::new().keeping_in_state(&["grants.json"]);
    let state = home.state();
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("grants.json"), "secret-state").unwrap();
    std::fs::create_dir_all(home.config()).unwrap();
    std::fs::write(
        home.config().join("config.toml"),
        "# secret-configuration\n",
    )
    .unwrap();
    let read = format!("confinement.read=/,{BASHD}");
    // What the kernel does is asked here, not what the guard thinks of it.
    let guard = "guard.disable=no_system_writes";
    let inside = |script: &str| {
        let words = [
            BASHD,
            "run",
            "--json",
            "--confine",
            "workspace",
            "--set",
            &read,
            "--set",
            guard,
            script,
        ];
        let ran = reply(&command(&home, &words));
        assert_eq!(ran["confinement"]["level"], "full", "{ran}");
        ran["output"].as_str().unwrap_or_default().to_owned()
    };
    let look = format!(
        "cat {0}/grants.json {1}/config.toml; echo x > {0}/grants.json; echo x > {1}/config.toml; ls {0}",
        state.display(),
        home.config().display()
    );
    let said = inside(&look);
    assert!(!said.contains("secret-"), "{said}");
    let kept = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap();
    assert_eq!(kept(state.join("grants.json")), "secret-state");
    assert_eq!(
        kept(home.config().join("config.toml")),
        "# secret-configuration\n"
    );
    for words in [
        "grants",
        "grants rm 1",
        "run --confine off true",
        "init --print",
    ] {
        let said = inside(&format!(
            "BASHD_HOME=/tmp/inner {BASHD} {words}; echo status $?"
        ));
        assert!(said.contains("inside a confinement"), "{words}: {said}");
        assert!(said.contains("status 125"), "{words}: {said}");
    }
    // What it started with stays: less is always possible.
    let said = inside(&format!("BASHD_HOME=/tmp/inner {BASHD} run 'echo hello'"));
    assert_eq!(said, "hello\n");
}
