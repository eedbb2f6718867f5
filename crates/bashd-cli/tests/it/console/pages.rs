//! Pages: everything that ran can be scrolled, searched and copied, and rows of lists open.

use super::tmux::Tmux;
use bashd_testkit::Home;

#[test]
fn everything_that_ran_is_scrolled_searched_and_copied() {
    let home = Home::new();
    let Some(tmux) = Tmux::console(&home, (80, 24)) else {
        return;
    };
    tmux.run(&["set", "-g", "set-clipboard", "on"]);
    tmux.command("seq 1 300 | sed 's/^/row /'");
    tmux.until_all(&["row 300", "done"]);
    tmux.command("echo the last one");
    tmux.until_all(&["\nthe last one\n", "[ready]"]);
    // All of it, not only what the prompt's screen shows.
    tmux.keys(&["PageUp"]);
    tmux.until_all(&["┌ What ran here", "│row 270 "]);
    tmux.keys(&["g"]);
    tmux.until_all(&["│$ seq 1 300", "│row 1 "]);
    tmux.keys(&["/"]);
    tmux.text("ROW 25");
    tmux.keys(&["Enter"]);
    tmux.until("nothing found");
    tmux.keys(&["/"]);
    tmux.keys(&["C-u"]);
    tmux.text("row 1[5-6]7|row 25$");
    tmux.keys(&["Enter"]);
    tmux.until_all(&["│row 25 ", "1 of 3"]);
    tmux.keys(&["n", "n"]);
    tmux.until_that("the third", |shown| {
        shown.contains("│row 167 ") && !shown.contains("│row 166 ")
    });
    tmux.keys(&["N"]);
    tmux.until_that("the second", |shown| {
        shown.contains("│row 157 ") && !shown.contains("│row 156 ")
    });
    tmux.keys(&["v", "Down", "Down"]);
    tmux.until("3 lines selected");
    tmux.keys(&["y"]);
    tmux.until("3 lines copied");
    let copied = tmux.run(&["show-buffer"]).stdout;
    assert_eq!(
        String::from_utf8_lossy(&copied),
        "row 157\nrow 158\nrow 159"
    );
    // Esc ends the search, then the page; the end of the page is the prompt.
    tmux.keys(&["Escape"]);
    tmux.until("v selects");
    tmux.keys(&["G"]);
    tmux.until_gone("What ran here");
    // The wheel looks back, too.
    tmux.until_that("scrolled up", |shown| {
        tmux.text("\u{1b}[<64;10;10M");
        shown.contains("What ran here")
    });
    tmux.keys(&["q", "C-d"]);
    tmux.is_given_back();
}

#[test]
fn rows_open_and_the_first_screen_says_what_was() {
    let home = Home::new();
    let past = crate::shown(&home, &["run", "echo an earlier one; exit 4"]);
    assert_eq!(past.code(), Some(4), "{}", past.block());
    let Some(tmux) = Tmux::console(&home, (100, 30)) else {
        return;
    };
    tmux.until_all(&[
        "bashd console",
        "Lately",
        "exit 4",
        "echo an earlier one; exit 4",
        "/help",
    ]);
    tmux.line("/log earlier");
    tmux.until("› ");
    tmux.keys(&["Enter"]);
    tmux.until_all(&[
        "Past call",
        "outcome    exit 4",
        "directory",
        "client     cli:",
        "output     1 line",
    ]);
    // Back to the list, and from there to the prompt.
    tmux.keys(&["q"]);
    tmux.until_all(&["┌ Log earlier ─", "› "]);
    tmux.keys(&["q"]);
    tmux.until_gone("┌ Log");
    tmux.command("printf 'first\\nsecond\\n'; printf '%0150d\\n' 7");
    tmux.until("done");
    tmux.line("/runs");
    tmux.until("│› ✔ done");
    tmux.keys(&["Enter"]);
    // A long line goes on in the next row.
    tmux.until_all(&["│first ", "│second ", "0007 "]);
    tmux.keys(&["Escape"]);
    tmux.until("│› ✔ done");
    tmux.keys(&["q", "C-d"]);
    tmux.is_given_back();
}

#[test]
fn commands_keep_their_colours_as_far_as_the_terminal_has_them() {
    let home = Home::new();
    for (setting, expected) in [
        ("", ["[38;5;1m", "[38;5;208morange"]),
        // Sixteen colours: the nearest is yellow.
        ("TERM=xterm COLORTERM=", ["[38;5;1m", "[38;5;3morange"]),
    ] {
        let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
            return;
        };
        tmux.start_console(setting);
        tmux.command("printf '\\033[31mred\\033[0m \\033[38;5;208morange\\033[0m\\n'");
        tmux.until("done");
        let raw = tmux.run(&["capture-pane", "-e", "-p"]).stdout;
        let raw = String::from_utf8_lossy(&raw).into_owned();
        for colour in expected {
            assert!(raw.contains(colour), "{setting} {colour:?}: {raw:?}");
        }
        tmux.keys(&["C-d"]);
        tmux.is_given_back();
    }
}

#[test]
fn several_jobs_are_followed_beside_their_list() {
    let home = Home::new().keeping_in_state(&["runs"]);
    for name in ["one", "two"] {
        let script = format!("echo output of {name}; sleep 300");
        let started = crate::shown(&home, &["run", "--background", &script]);
        assert_eq!(started.code(), Some(0), "{}", started.block());
    }
    let Some(tmux) = Tmux::console(&home, (130, 30)) else {
        return;
    };
    tmux.line("/jobs");
    // The newest is chosen, and what it writes stands beside the list.
    tmux.until_all(&["│› running", "││output of two"]);
    tmux.keys(&["f", "Down"]);
    tmux.until_all(&["││output of two", "││output of one", "● running"]);
    tmux.keys(&["Up", "f", "Down"]);
    let shown = tmux.until_gone("││output of two");
    assert!(shown.contains("││output of one"), "{shown}");
    tmux.keys(&["x"]);
    tmux.until_gone("│  running           bg_1");
    tmux.keys(&["q"]);
    tmux.line("/kill bg_2");
    tmux.until("bg_2 was ended");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}

#[test]
fn the_plain_console_is_lines_in_and_lines_out() {
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (100, 40)) else {
        return;
    };
    tmux.line(&format!("{} console --plain", env!("CARGO_BIN_EXE_bashd")));
    tmux.until("bashd console. /help lists");
    tmux.line("cd / && printf 'left\\033[1;31m coloured\\n'; false");
    tmux.until_all(&["\nleft coloured\n", "\nfailed, exit 1, "]);
    tmux.line("pwd; read -p 'Name? ' name; echo \"hi $name\"");
    // What asks for something is said, though its line has not ended.
    tmux.until_all(&["\n/\n", "\nName?"]);
    tmux.line("Ada");
    tmux.until_all(&["\nhi Ada\n", "\ndone, "]);
    tmux.line("sleep 300");
    tmux.line("/end");
    tmux.until("\ncancelled, ");
    tmux.line(r#"{"command": "git push --force"}"#);
    tmux.until("Answer once, session, always or deny.");
    tmux.line("");
    tmux.until_all(&["\ndenied\n", "\ndenied, "]);
    tmux.line("/log push");
    tmux.until_that("recorded", |shown| {
        shown.matches("git push --force").count() > 2
    });
    let raw = tmux.run(&["capture-pane", "-e", "-p"]).stdout;
    assert!(!raw.contains(&0x1b), "{}", String::from_utf8_lossy(&raw));
    tmux.line("/quit");
    tmux.is_given_back();
}
