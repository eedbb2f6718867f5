//! Workspaces that a process serves, and machines within machines.

use super::{BASHD, command, reply};
use bashd_testkit::{Home, PodmanRig, PodmanUser, loudly, sources};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// A file system like those over a network: served by a process, which may refuse and be slow.
#[test]
fn a_workspace_may_be_served_by_a_process() {
    let program = sources::root().join("crates/bashd-cli/tests/confinement/fuse.py");
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
        return loudly("not root, or no FUSE: a workspace on FUSE is NOT tried");
    }
    let home = Home::new();
    let at = home.workspace().display().to_string();
    fs::create_dir_all(home.workspace().join(".git/hooks")).unwrap();
    fs::write(home.workspace().join(".envrc"), "as it was").unwrap();
    let script = "set -e; echo x > made; cat made; mv made other; mkdir d; mv other d; rm -r d; \
                  git init -q again; echo y > last; ! echo x > .envrc; ! echo x > .git/hooks/pre-commit; \
                  ! mv .git elsewhere; ! touch /usr/x; stat -f -c %T .";
    let program = program.display().to_string();
    // What the kernel does is asked here, not what the guard thinks of it.
    let guard = "guard.disable=no_tree_replaced,no_system_writes";
    let words = [
        "unshare",
        "-m",
        "python3",
        &program,
        &at,
        BASHD,
        "run",
        "--json",
        "--confine",
        "workspace",
        "--set",
        guard,
        script,
    ];
    let ran = reply(&command(&home, &words));
    assert_eq!(ran["exit_code"], 0, "{ran}");
    assert_eq!(ran["confinement"]["level"], "full", "{ran}");
    let output = ran["output"].as_str().unwrap_or_default();
    assert!(
        output.contains("\nfuse"),
        "it was another file system: {ran}"
    );
    let read = |name: &str| fs::read_to_string(home.workspace().join(name)).unwrap();
    assert_eq!(
        (read("last"), read(".envrc")),
        ("y\n".into(), "as it was".into())
    );
    assert!(!home.workspace().join(".git/hooks/pre-commit").exists());
}

/// Nobody serves it: the call is answered at its deadline, and nothing is left.
#[test]
fn a_workspace_that_hangs_is_told_in_time() {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
        return loudly("not root, or no FUSE: a workspace that hangs is NOT tried");
    }
    let home = Home::new();
    // Whoever has the device open keeps others waiting: the shell around it, which ends that.
    let script = "exec 9<>/dev/fuse && mkdir hung && \
        mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 hung hung || exit 99; \
        (\"$@\" 9<&- & wait $!); echo \"[status $?]\"; umount -l hung; exec 9<&-";
    let workspace = format!(
        "confinement.workspace={}",
        home.workspace().join("hung").display()
    );
    let words = [
        "unshare",
        "-m",
        "bash",
        "-c",
        script,
        "bash",
        "timeout",
        "20",
        BASHD,
        "run",
        "--json",
        "--timeout",
        "2",
        "--confine",
        "workspace",
        "--set",
        &workspace,
        "touch /tmp/made; echo ran",
    ];
    let begun = Instant::now();
    let output = command(&home, &words);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        begun.elapsed() < Duration::from_secs(18),
        "{:?}: {said}",
        begun.elapsed()
    );
    assert!(
        !said.contains("ran\\n") && said.contains("[status"),
        "{output:?}"
    );
}

/// A container's own limits decide which level there is; it is told, and never less than asked for.
#[test]
fn in_a_container_a_command_is_confined_or_told_why_not() {
    let Some(rig) = PodmanRig::start(PodmanUser::Rootless) else {
        return;
    };
    let program = rig.program(Path::new(BASHD));
    rig.import_usual("usual:1", &program);
    let shared = rig.folder("shared");
    let volumes = [
        format!("--volume={}:/work", shared.display()),
        format!("--volume={}:/bin/bashd:ro", program.display()),
    ];
    let script = "echo x > made; echo x > /usr/outside; echo \"ran $?\"";
    let run = |options: &[&str], require: &str| -> Value {
        let require = format!("confinement.require={require}");
        let own = [
            "run",
            "--rm",
            "--network=none",
            "--workdir=/work",
            "--env=HOME=/root",
        ];
        let mut words: Vec<&str> = own.to_vec();
        words.extend(volumes.iter().map(String::as_str));
        words.extend(options);
        words.extend([
            "usual:1",
            "/bin/bashd",
            "run",
            "--json",
            "--confine",
            "workspace",
        ]);
        words.extend(["--set", &require, script]);
        let told = rig.podman(&words);
        let text = String::from_utf8_lossy(&told.stdout).into_owned();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {told:?}"))
    };
    let made = || fs::remove_file(shared.join("made")).is_ok();
    let strict = run(&[], "full");
    if strict["error"].is_string() {
        // podman's own filter and masks stand in the way.
        let error = strict["error"].as_str().unwrap_or_default();
        assert!(
            error.contains("level `full`") && error.contains("unmask=/proc/*"),
            "{strict}"
        );
        assert!(!made(), "it ran: {strict}");
        let less = run(&[], "landlock");
        assert_eq!(less["confinement"]["level"], "landlock", "{less}");
        assert!(less["confinement"]["reason"].is_string(), "{less}");
        assert!(
            less["output"].as_str().unwrap().ends_with("ran 1\n") && made(),
            "{less}"
        );
    } else {
        assert_eq!(strict["confinement"]["level"], "full", "{strict}");
        assert!(
            strict["output"].as_str().unwrap().ends_with("ran 1\n") && made(),
            "{strict}"
        );
    }
    // As that says, the whole of it can be had.
    let whole = run(&["--security-opt=unmask=/proc/*"], "full");
    assert_eq!(whole["confinement"]["level"], "full", "{whole}");
    assert!(
        whole["output"].as_str().unwrap().ends_with("ran 1\n") && made(),
        "{whole}"
    );
}
