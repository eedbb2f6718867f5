//! How the console looks: at other sizes, without colors, through another terminal, and in its
//! document.

use super::tmux::Tmux;
use bashd_testkit::{Home, loudly};
use std::path::PathBuf;
use std::process::Command;

/// Set to write the views into the document instead of comparing them.
pub(super) const UPDATE: &str = "BASHD_UPDATE_VIEWS";

#[test]
fn it_fits_small_and_large_terminals_and_needs_no_colours() {
    let home = Home::new();
    for (size, setting, is_coloured) in [
        ((80, 24), "", true),
        ((80, 24), "NO_COLOR=1", false),
        ((200, 60), "TERM=dumb", false),
    ] {
        let Some(tmux) = Tmux::shell(&home, size) else {
            return;
        };
        tmux.start_console(setting);
        tmux.command("!printf '\\033[31mred\\033[0m\\n'; false");
        let shown = tmux.until("✘ failed ⟨Wall");
        assert!(shown.contains("\nred\n"), "{shown}");
        tmux.line("/help");
        let shown = tmux.until_all(&["┌ Help", "q closes"]);
        let border = shown.lines().next().unwrap_or_default().chars().count();
        assert_eq!(border, usize::from(size.0), "{shown}");
        assert_eq!(shown.lines().count(), usize::from(size.1), "{shown}");
        assert!(shown.contains("q or Esc closes it"), "{shown}");
        tmux.keys(&["q"]);
        tmux.until("✘ failed");
        let raw = tmux.run(&["capture-pane", "-e", "-p"]).stdout;
        let raw = String::from_utf8_lossy(&raw).into_owned();
        let mut codes = raw.split("\x1b[").filter_map(|part| part.split_once('m'));
        let colours = codes.any(|(code, _)| {
            let is_colour = |number: &str| {
                matches!(number.parse(), Ok(30..=38 | 40..=48 | 90..=97 | 100..=107))
            };
            code.split(';').any(is_colour)
        });
        assert_eq!(colours, is_coloured, "{setting}: {raw:?}");
        tmux.keys(&["C-d"]);
        tmux.is_given_back();
    }
}

#[test]
fn it_works_through_another_terminal() {
    if Command::new("script").arg("--version").output().is_err() {
        loudly("script is missing: the console through another terminal");
        return;
    }
    let home = Home::new();
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    // A terminal between the console and the screen, as ssh has one.
    let inner = format!("{} console", env!("CARGO_BIN_EXE_bashd"));
    tmux.line(&format!("script -qfc '{inner}' /dev/null"));
    tmux.until("[ready]");
    tmux.command("!echo $((40+2))");
    tmux.until("\n42\n");
    tmux.command("!sleep 300");
    tmux.until("[running]");
    tmux.keys(&["C-t"]);
    tmux.until("Console");
    tmux.keys(&["C-c"]);
    tmux.until("✘ failed");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}

/// The views that the document shows, in its order.
fn views(tmux: &Tmux<'_>, home: &Home) -> Vec<String> {
    let mut views = Vec::new();
    tmux.command("!seq 1 7; exit 3");
    tmux.until("✘ failed ⟨Wall");
    tmux.command("!sleep 60");
    views.push(tmux.until_that("running for a second", |shown| {
        let is_whole = shown.contains(" running ") && shown.contains("[running] ctrl-t");
        is_whole && !shown.contains("running 0.")
    }));
    tmux.end_command("cancelled ⟨Wall");
    tmux.command("!vim -u NONE -i NONE -n main.rs");
    let vim = ["│fn main", "│~", "\"main.rs\" 3", "ctrl-] twice ends it"];
    let vim = tmux.until_all(&vim);
    // What is behind it moves while it draws.
    let frame = vim.lines().skip_while(|line| !line.starts_with('┌'));
    views.push(frame.collect::<Vec<_>>().join("\n"));
    tmux.line(":q");
    tmux.until("done ⟨Wall");
    let job = "echo compiling; sleep 300";
    let started = crate::shown(home, &["run", "--background", job]);
    assert_eq!(started.code(), Some(0), "{}", started.block());
    let mut call = crate::bashd(home, &["run", "echo testing; sleep 300"]).spawn();
    tmux.line("/jobs");
    tmux.until("300  compiling");
    tmux.until("300  testing");
    tmux.keys(&["g"]);
    let chosen = format!("│› {:<17} call", "running");
    views.push(tmux.until_that("the first is chosen", |shown| {
        shown.contains(&chosen) && shown.matches("› ").count() == 1
    }));
    tmux.keys(&["x"]);
    call.wait().unwrap();
    tmux.until_gone(" call ");
    tmux.keys(&["q"]);
    tmux.line("/kill bg_1");
    tmux.until("bg_1 was ended");
    tmux.line("/log sleep");
    views.push(tmux.until_all(&["sleep 60 ", "3 lines · ↑ ↓ choose"]));
    tmux.keys(&["q"]);
    tmux.text(r#"{"command": "cargo test", "env": {"RUST_BACKTRACE": "1"#);
    let prompt = "{\"RUST_BACKTRACE\": \"1";
    let written = tmux.until_all(&["$ RUST_BACKTRACE=\"1\" cargo test", prompt]);
    let call = written
        .lines()
        .skip_while(|line| !line.starts_with("$ RUST"));
    views.push(call.collect::<Vec<_>>().join("\n"));
    tmux.keys(&["C-c", "C-d"]);
    views.iter().map(|view| without_empty_rows(view)).collect()
}

/// A view with one row in place of several empty ones.
fn without_empty_rows(view: &str) -> String {
    let is_empty = |line: &str| line.chars().all(|one| matches!(one, ' ' | '│' | '~'));
    let mut lines: Vec<&str> = Vec::new();
    for line in view.trim_end().lines() {
        let is_again = lines.last().is_some_and(|last| *last == line);
        if !(is_again && is_empty(line)) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// What of a view is the same each time: no times, no widths that follow from them.
pub(super) fn without_times(view: &str) -> Vec<String> {
    let times = regex::Regex::new(r"[0-9][0-9.:-]*(ms|s|m)?").unwrap();
    let vim = regex::Regex::new("(\"main.rs\").*[^│]").unwrap();
    let spaces = regex::Regex::new(r"[ ─]+").unwrap();
    let spinner = regex::Regex::new(r"[\u{2800}-\u{28ff}]").unwrap();
    let lines = view.trim_end().lines().map(|line| {
        let line = spinner.replace_all(line, "*");
        // Versions of vim count lines in other words.
        let line = vim.replace_all(&line, "$1");
        let line = times.replace_all(&line, "#");
        spaces.replace_all(&line, " ").trim_end().to_owned()
    });
    lines.collect()
}

#[test]
fn the_document_shows_the_views_as_they_are() {
    if Command::new("vim").arg("--version").output().is_err() {
        loudly("vim is missing: the views in docs/console.md");
        return;
    }
    let home = Home::new().keeping_in_state(&["runs"]);
    let project = home.home().join("project");
    std::fs::create_dir_all(&project).unwrap();
    let program = "fn main() {\n    println!(\"hello\");\n}\n";
    std::fs::write(project.join("main.rs"), program).unwrap();
    let Some(tmux) = Tmux::shell(&home, (80, 24)) else {
        return;
    };
    tmux.go_to(&project);
    tmux.start_console("");
    let views = views(&tmux, &home);
    tmux.is_given_back();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/console.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (before, looks) = document.split_once("## How it looks\n").unwrap();
    let mut parts: Vec<String> = looks.split("```").map(str::to_owned).collect();
    // Every second part is what stands between two fences.
    let blocks = parts.iter_mut().skip(1).step_by(2);
    let mut count = 0;
    for (block, view) in blocks.zip(&views) {
        count += 1;
        if std::env::var_os(UPDATE).is_some() {
            *block = format!("text\n{}\n", view.trim_end());
        }
        let shown = block.strip_prefix("text\n").unwrap_or_default();
        assert_eq!(
            without_times(shown),
            without_times(view),
            "{UPDATE}=1 writes the views anew:\n{view}"
        );
    }
    assert_eq!(count, views.len(), "a block for each view");
    if std::env::var_os(UPDATE).is_some() {
        let document = format!("{before}## How it looks\n{}", parts.join("```"));
        std::fs::write(&path, document).unwrap();
    }
}
