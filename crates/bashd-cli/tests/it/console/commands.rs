//! A person's own commands: recorded, in a directory that stays, in terminals that are typed at.

use super::tmux::Tmux;
use bashd_testkit::{Home, loudly};
use std::process::Command;

/// What a terminal's frame says.
const OVERLAY: &str = "input goes to the terminal";

#[test]
fn commands_run_stick_to_their_directory_and_are_recorded() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (80, 40)) else {
        return;
    };
    std::fs::create_dir(home.workspace().join("below")).unwrap();
    tmux.command("!seq 1 30; exit 3");
    let shown = tmux.until("Exit: 3");
    assert!(shown.contains("failed"), "{shown}");
    assert!(
        shown.contains("… 10 more lines (ctrl+o to expand)"),
        "{shown}"
    );
    assert!(!shown.contains("\n10\n"), "{shown}");
    tmux.keys(&["C-o"]);
    tmux.until_gone("more lines");
    tmux.command("!cd below");
    tmux.until("workspace/below");
    tmux.command("!!basename $PWD; git push --force 2>/dev/null; echo ran");
    tmux.until("\nran\n");
    assert!(tmux.shown().contains("\nbelow\n"), "{}", tmux.shown());
    tmux.command("echo without a $((4*4+1))th mark");
    tmux.until("\nwithout a 17th mark\n");
    tmux.command("/bin/echo a path is no $((1+1))nd word");
    tmux.until("\na path is no 2nd word\n");
    tmux.line("/log seq");
    tmux.until_all(&["Log seq", "  exit 3 ", "seq 1 30; exit 3"]);
    tmux.keys(&["q"]);
    tmux.keys(&["Up", "Up"]);
    tmux.until("› /bin/echo");
    tmux.keys(&["C-c"]);
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
    let ledger: String = std::fs::read_dir(home.state().join("ledger"))
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default())
        .collect();
    assert_eq!(ledger.matches("\"kept_out\":true").count(), 1, "{ledger}");
}

#[test]
fn own_commands_share_one_shell_with_each_other_and_with_calls() {
    let home = Home::new();
    let venv = home.workspace().join("venv/bin");
    std::fs::create_dir_all(&venv).unwrap();
    let activate =
        "VIRTUAL_ENV=venv-is-on; export VIRTUAL_ENV; deactivate() { unset VIRTUAL_ENV; }\n";
    std::fs::write(venv.join("activate"), activate).unwrap();
    std::fs::create_dir(home.workspace().join("below")).unwrap();
    let Some(tmux) = Tmux::shell(&home, (80, 40)) else {
        return;
    };
    tmux.start_console("BASHD_PROFILE=pi");
    tmux.command("!export WORD='two words'; greet() { echo \"hello $1\"; }; list=(a 'b c')");
    tmux.until("done");
    tmux.command("!source venv/bin/activate; alias say='echo said'; cd below; false");
    tmux.until("Exit: 1");
    tmux.command("!greet \"$WORD ${list[1]}\"; echo \"$VIRTUAL_ENV ${PWD##*/}\"; say it");
    tmux.until_all(&[
        "\nhello two words b c\n",
        "\nvenv-is-on below\n",
        "\nsaid it\n",
    ]);
    tmux.command("!deactivate; exit 4");
    tmux.until("Exit: 4");
    tmux.command("!echo \"[$VIRTUAL_ENV]\"; cd - >/dev/null");
    tmux.until("\n[]\n");
    tmux.command("{\"command\": \"greet calls; echo $WORD ${PWD##*/}\"}");
    tmux.until_all(&[
        "\nhello calls\n",
        "\ntwo words workspace\n",
        "Timeout: 300s",
    ]);
    // And what calls set up is there for own commands.
    tmux.command(
        "{\"command\": \"export MADE=here; helper() { echo helped; }; cd below; name=n\"}",
    );
    tmux.command("!helper; echo \"$MADE $name ${PWD##*/} $WORD\"");
    tmux.until_all(&["\nhelped\n", "\nhere n below two words\n"]);
    // What either takes away is gone for the other.
    tmux.command("!unset MADE; unset -f helper greet; cd ..");
    tmux.until("done");
    tmux.command("{\"command\": \"echo [$MADE] $name ${PWD##*/}; helper; greet\"}");
    tmux.until_all(&[
        "\n[] n workspace\n",
        "helper: command not found",
        "greet: command not found",
    ]);
    tmux.line("/quit");
    tmux.is_given_back();
    let left: Vec<_> = std::fs::read_dir(home.state().join("shells"))
        .unwrap()
        .flatten()
        .collect();
    let of_console = |name: &str| name.starts_with("console-");
    assert!(
        !left
            .iter()
            .any(|entry| of_console(&entry.file_name().to_string_lossy()))
    );
}

#[test]
fn jobs_of_the_console_are_its_own() {
    let home = Home::new().keeping_in_state(&["runs"]);
    let Some(tmux) = Tmux::console(&home, (80, 24)) else {
        return;
    };
    tmux.command("!setsid sleep 300 >/dev/null 2>&1 & echo left");
    tmux.until("done");
    let listed = crate::shown(&home, &["jobs", "--json"]).out();
    assert!(listed.contains("\"owner\":\"console:"), "{listed}");
    tmux.line("/quit");
    tmux.is_given_back();
    crate::shown(&home, &["jobs", "kill", "bg_1"]);
}

#[test]
fn a_call_with_a_terminal_is_typed_at_and_never_the_prompt() {
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    tmux.start_console("BASHD_PROFILE=pi");
    tmux.command("{\"command\": \"read -rsp 'Pass: ' s; echo; echo length ${#s}\", \"pty\": true}");
    // The overlay is there before anything is typed.
    tmux.until("input goes to the terminal");
    tmux.line("hidden");
    let shown = tmux.until("length 6");
    assert!(!shown.contains("hidden"), "{shown}");
    tmux.line("/quit");
    tmux.is_given_back();
}

#[test]
fn programs_that_draw_get_a_terminal_and_keys() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (100, 30)) else {
        return;
    };
    let numbers: Vec<_> = (1..=99).map(|number| format!("line {number}")).collect();
    std::fs::write(home.workspace().join("numbers"), numbers.join("\n")).unwrap();
    if Command::new("vim").arg("--version").output().is_ok() {
        tmux.command("!vim -u NONE -i NONE new");
        tmux.until_all(&["\"new\" [New", "Console", "ctrl-] twice ends it"]);
        tmux.text("ihello from vim");
        tmux.until("hello from vim");
        // Esc is vim's, however often it is pressed: it leaves the insert mode.
        tmux.keys(&["Escape", "Escape", "Escape"]);
        tmux.text(":");
        tmux.until("│:");
        tmux.line("wq");
        tmux.until("done ⟨Wall");
        let written = std::fs::read_to_string(home.workspace().join("new")).unwrap();
        assert_eq!(written, "hello from vim\n");
    } else {
        loudly("vim is missing: vim in the console");
    }
    tmux.command("!less numbers");
    tmux.until("│line 1 ");
    tmux.run(&["resize-window", "-x", "90", "-y", "40"]);
    tmux.until("│line 28 ");
    tmux.keys(&["G"]);
    tmux.until("│line 99 ");
    tmux.keys(&["q"]);
    tmux.until_gone(OVERLAY);
    tmux.command("!top -d 60");
    tmux.until("ctrl-t");
    tmux.keys(&["C-t"]);
    tmux.until("PID USER");
    tmux.keys(&["q"]);
    tmux.until_gone(OVERLAY);
    tmux.line("/quit");
    tmux.is_given_back();
}

#[test]
fn a_password_is_typed_unseen_and_a_command_can_be_ended() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (80, 24)) else {
        return;
    };
    tmux.command("!read -rsp 'Password: ' secret; echo; echo length ${#secret}");
    // Its terminal comes by itself, so that nobody types the password at the prompt; whoever
    // pressed the key for it just then sees it, too.
    tmux.until_all(&[OVERLAY, "│Password:"]);
    tmux.line("hidden");
    let shown = tmux.until("length 6");
    assert!(!shown.contains("hidden"), "{shown}");
    tmux.command("!sleep 300");
    tmux.until("[running]");
    tmux.line("!echo second");
    let busy = "a command is already running; ctrl-] twice ends it";
    tmux.until_all(&[busy, "› !echo second"]);
    // By habit; it goes on.
    tmux.keys(&["Escape", "Escape"]);
    tmux.until_gone(busy);
    tmux.until("[running]");
    tmux.end_command("cancelled ⟨Wall");
    tmux.keys(&["C-u"]);
    tmux.command("!sleep 301");
    tmux.until("[running]");
    // Ctrl-C at the prompt is the program's, as at its terminal.
    tmux.keys(&["C-c"]);
    tmux.until("✘ failed ⟨Wall");
    tmux.command("!sleep 300");
    tmux.until("[running]");
    tmux.keys(&["C-t"]);
    tmux.until(OVERLAY);
    tmux.until_that("ended", |shown| {
        tmux.keys(&["C-]", "C-]"]);
        !shown.contains(OVERLAY)
    });
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}

#[test]
fn a_command_that_waits_for_input_says_so_and_never_takes_what_is_being_typed() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (80, 24)) else {
        return;
    };
    // Somebody types on at once: the terminal must not come between.
    tmux.text("read -rp 'Name? ' name; echo \"hi $name\"\recho next");
    tmux.until_all(&[
        "? waiting for input",
        "[waiting for input] ctrl-t goes to its terminal",
        "› echo next",
    ]);
    assert!(!tmux.shown().contains(OVERLAY), "{}", tmux.shown());
    tmux.keys(&["Enter"]);
    tmux.until("the command waits for input: ctrl-t goes to its terminal");
    tmux.keys(&["C-t"]);
    tmux.until(OVERLAY);
    // Who hides it wants it hidden.
    tmux.keys(&["C-t"]);
    tmux.until("? waiting for input");
    tmux.keys(&["C-u"]);
    tmux.until_gone("echo next");
    tmux.keys(&["C-t"]);
    tmux.until(OVERLAY);
    tmux.line("Ada");
    tmux.until_all(&["\nhi Ada\n", "[ready]"]);
    // One press of the key is answered, and does nothing.
    tmux.command("sleep 300");
    tmux.until("[running] ctrl-t goes to its terminal, ctrl-] twice ends it");
    tmux.keys(&["C-]"]);
    tmux.until("ctrl-] again ends it");
    tmux.until_gone("again");
    tmux.until("[running] ctrl-t goes to its terminal, ctrl-] twice ends it");
    tmux.end_command("cancelled ⟨Wall");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}

#[test]
fn lines_are_completed_continued_and_recalled() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (80, 24)) else {
        return;
    };
    for name in ["alpha.txt", "alpine.txt", "with blank.txt"] {
        std::fs::write(home.workspace().join(name), format!("in {name}\n")).unwrap();
    }
    tmux.text("!cat al");
    tmux.keys(&["Tab"]);
    tmux.until_all(&["alpha.txt  alpine.txt", "› !cat alp"]);
    tmux.text("h");
    tmux.keys(&["Tab"]);
    tmux.until("› !cat alpha.txt");
    tmux.text("with");
    tmux.keys(&["Tab"]);
    tmux.until("with\\ blank.txt");
    tmux.keys(&["M-Enter"]);
    tmux.line("echo second line");
    tmux.until_all(&[
        "\nin alpha.txt\n",
        "\nin with blank.txt\n",
        "\nsecond line\n",
        "done ⟨Wall",
    ]);
    tmux.command("!echo $((20+3))");
    tmux.until("\n23\n");
    tmux.keys(&["Up", "Up"]);
    tmux.until("› !cat alpha.txt with\\ blank.txt\n  echo second line");
    tmux.keys(&["Down"]);
    tmux.until("› !echo $((20+3))");
    tmux.keys(&["C-c", "C-d"]);
    tmux.is_given_back();
}

#[test]
fn the_key_that_ends_a_command_is_configured() {
    let home = Home::new();
    for (setting, label, key) in [
        ("BASHD_CONSOLE_END_KEY=F12", "f12 ends it", "F12"),
        ("BASHD_PROFILE=pi", "esc ends it", "Escape"),
    ] {
        let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
            return;
        };
        tmux.start_console(setting);
        tmux.command("!sleep 300");
        tmux.until("[running]");
        tmux.keys(&["C-t"]);
        let shown = tmux.until(label);
        assert!(!shown.contains("ctrl-]"), "{shown}");
        tmux.keys(&[key]);
        tmux.until("cancelled ⟨Wall");
        tmux.keys(&["C-d"]);
        tmux.is_given_back();
    }
}

#[test]
fn a_call_is_shown_while_it_is_written_and_runs_as_an_agents() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (100, 40)) else {
        return;
    };
    tmux.text(r#"{"command": "seq 1 30; echo $GREETING", "env": {"GREETING": "hel"#);
    tmux.until("$ GREETING=\"hel\" seq 1 30; echo $GREETING\n• arriving");
    tmux.text(r#"lo"}}"#);
    tmux.until("GREETING=\"hello\" seq");
    tmux.keys(&["Enter"]);
    tmux.until_all(&[
        "… (21 earlier lines, showing 10 of 31) (ctrl+o to expand)",
        "\n22\n",
        "\nhello\n",
    ]);
    tmux.keys(&["C-o"]);
    tmux.until("\n2\n");
    tmux.command(r#"{"command": "git push --force"}"#);
    // The person at the console is asked, with the part in question marked.
    tmux.until_all(&["May this run?", "^^^^", "A always · d denies"]);
    // Nothing is allowed by typing on, nor by a habit.
    for keys in [["Enter", "y"], ["C-a", "C-s"], ["C-o", "a"]] {
        tmux.keys(&keys);
        tmux.until_all(&["May this run?", "A always · d denies"]);
    }
    tmux.keys(&["d"]);
    tmux.until("✘ denied");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}

#[test]
fn the_wheel_scrolls_what_a_terminal_showed() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (100, 30)) else {
        return;
    };
    tmux.command("!seq 1 200; sleep 300");
    tmux.until("[running]");
    tmux.keys(&["C-t"]);
    tmux.until("│200 ");
    // As a terminal tells of the wheel: 64 is up, 65 is down.
    tmux.until_that("scrolled up", |shown| {
        tmux.text("\u{1b}[<64;10;10M");
        shown.contains("│150 ") && !shown.contains("│200 ")
    });
    tmux.until_that("scrolled down", |shown| {
        tmux.text("\u{1b}[<65;10;10M");
        shown.contains("│200 ")
    });
    tmux.keys(&["C-c"]);
    tmux.until_gone(OVERLAY);
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}

#[test]
fn ctrl_d_is_for_the_command_that_runs() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (80, 24)) else {
        return;
    };
    tmux.command("cat; echo \"cat ended with $?\"");
    tmux.until("[running]");
    tmux.until_that("its end", |shown| {
        let is_over = shown.contains("\ncat ended with 0\n") && shown.contains("✔ done");
        // A program that has not begun to read yet gets another one.
        if !is_over && shown.contains("[running]") && !shown.contains("Ctrl-D went") {
            tmux.keys(&["C-d"]);
        }
        is_over
    });
    tmux.until("[ready]");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}

#[test]
fn a_long_line_is_seen_whole_while_it_is_typed() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (60, 20)) else {
        return;
    };
    let line = format!("echo {} THE_END", "abcdefghi ".repeat(12).trim_end());
    tmux.text(&line);
    tmux.until("THE_END");
    let cursor = tmux.run(&["display-message", "-p", "#{cursor_x}"]).stdout;
    let column: usize = String::from_utf8_lossy(&cursor).trim().parse().unwrap();
    assert_eq!(column, 2 + line.len() % 58);
    tmux.keys(&["Enter"]);
    tmux.until("✔ done");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}
