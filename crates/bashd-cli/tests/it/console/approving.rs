//! A person at a terminal is asked by `bashd run`, and `bashd grants` shows what was allowed for
//! good.

use super::tmux::Tmux;
use crate::shown;
use bashd_testkit::Home;
use std::fs;

const RULE: &str = r#"
[[rules]]
name = "deploys"
decision = "ask"
message = "this deploys"
command = "deploy"
[rules.examples]
deny = ["deploy now"]
allow = ["echo deploy"]
"#;

const QUESTION: &str = "once, always (for exactly this command) or no?";

fn home() -> Home {
    let home = Home::new().keeping_in_state(&["grants.jsonl", "grants.lock"]);
    fs::write(home.config().join("config.toml"), RULE).unwrap();
    let deploy = home.workspace().join("deploy");
    fs::write(&deploy, "#!/bin/sh\necho \"deployed $1\"\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&deploy, mode).unwrap();
    home
}

#[test]
fn at_a_terminal_the_person_is_asked() {
    let home = home();
    let Some(tmux) = Tmux::shell(&home, (100, 30)) else {
        return;
    };
    tmux.line("PATH=$PWD:$PATH");
    let bashd = env!("CARGO_BIN_EXE_bashd");
    for (answer, is_allowed) in [("", false), ("yes", false), ("once", true), ("no", false)] {
        tmux.line(&format!(
            "clear; {bashd} run 'deploy \"x\"'; echo \"status $?\""
        ));
        tmux.until_all(&["this deploys (deploys)", QUESTION]);
        tmux.line(answer);
        let shown = tmux.until_that("status", |shown| {
            shown.contains("status 0") || shown.contains("status 126")
        });
        assert_eq!(shown.contains("deployed x\n"), is_allowed, "{shown}");
        assert_eq!(shown.contains("status 0"), is_allowed, "{shown}");
    }
    tmux.line(&format!(
        "clear; {bashd} run 'deploy \"x\"'; echo \"status $?\""
    ));
    tmux.until(QUESTION);
    tmux.line("always");
    tmux.until("status 0");
    // Nobody is asked again for exactly this, by whatever front end, and for everything else.
    let again = shown(&home, &["run", "PATH=$PWD:$PATH; deploy \"x\""]);
    assert_eq!(again.code(), Some(126), "{}", again.block());
    let listed = shown(&home, &["grants", "--json"]).out();
    assert!(listed.contains(r#""command":"deploy \"x\"""#), "{listed}");
    tmux.line(&format!(
        "clear; {bashd} run 'deploy \"x\"' </dev/null; echo \"status $?\""
    ));
    tmux.until("status 0");
    let table = shown(&home, &["grants"]).out();
    assert!(
        table.contains("deploys") && table.contains("deploy \"x\""),
        "{table}"
    );
    let removed = shown(&home, &["grants", "rm", "1"]);
    assert_eq!(removed.code(), Some(0), "{}", removed.block());
    assert_eq!(shown(&home, &["grants", "list", "--json"]).out(), "");
    let missing = shown(&home, &["grants", "rm", "1"]);
    assert!(
        missing.err().contains("there is no grant 1"),
        "{}",
        missing.block()
    );
    tmux.line(&format!(
        "clear; {bashd} run 'deploy \"x\"' </dev/null; echo \"status $?\""
    ));
    tmux.until("status 126");
}

#[test]
fn what_a_command_did_is_shown_in_the_console_before_it_is_real() {
    let home = crate::effects::held_home();
    fs::write(
        home.config().join("config.toml"),
        "effects.mode = \"ask\"\n",
    )
    .unwrap();
    let Some(tmux) = Tmux::console(&home, (100, 40)) else {
        return;
    };
    let made = home.workspace().join("made");
    for (key, is_allowed) in [("d", false), ("o", true)] {
        tmux.command("seq 100 >made; echo done");
        tmux.until_all(&["May this become real?", "A made", "+1", "o makes it real"]);
        assert!(!made.exists());
        // All of it can be seen.
        tmux.until_that("the end", |shown| {
            tmux.keys(&["PageDown"]);
            shown.contains("+100")
        });
        let said = if is_allowed {
            "takes it back"
        } else {
            "nothing of it is real"
        };
        tmux.until_that(said, |shown| {
            if shown.contains("o makes it real") {
                tmux.keys(&[key]);
            }
            shown.contains(said)
        });
        assert_eq!(made.exists(), is_allowed);
    }
    // A command of another process, and one at a terminal.
    let bashd = env!("CARGO_BIN_EXE_bashd");
    let run = |command: &str| {
        std::process::Command::new(bashd)
            .args(["run", command])
            .env_clear()
            .envs(home.env())
            .current_dir(home.workspace())
            .stdin(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut other = run("rm made");
    tmux.until_all(&["May this become real?", "D made", "+++ /dev/null"]);
    tmux.until_that("answered", |shown| {
        // Keys that come too soon are not counted, and put off when they are.
        if shown.contains("o makes it real") {
            tmux.keys(&["A"]);
        }
        !shown.contains("May this become real?")
    });
    assert!(other.wait().unwrap().success());
    assert!(!made.exists());
    assert!(
        !home.state().join("grants.jsonl").exists(),
        "it was for once"
    );
    tmux.keys(&["C-d"]);
    tmux.until("shell>");
    for (answer, is_allowed) in [("always", true), ("no", false)] {
        tmux.line(&format!(
            "clear; {bashd} run 'echo x >{answer}'; echo \"status $?\""
        ));
        tmux.until_all(&["+x", "once (make it real) or no (discard it)?"]);
        tmux.line(answer);
        tmux.until(if is_allowed { "status 0" } else { "status 126" });
        assert_eq!(home.workspace().join(answer).exists(), is_allowed);
    }
    assert!(
        !home.state().join("grants.jsonl").exists(),
        "it was for once"
    );
}
