//! How the console looks: at other sizes, without colours, through another terminal.

use super::tmux::Tmux;
use bashd_testkit::{Home, loudly};
use std::process::Command;

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
        tmux.line("!printf '\\033[31mred\\033[0m\\n'; false");
        let shown = tmux.until("✘ failed ⟨Wall");
        assert!(shown.contains("\nred\n"), "{shown}");
        tmux.line("/help");
        let shown = tmux.until("┌ Help");
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
    tmux.line("!echo $((40+2))");
    tmux.until("\n42\n");
    tmux.line("!sleep 300");
    tmux.until("[running]");
    tmux.keys(&["C-t"]);
    tmux.until("Console");
    tmux.keys(&["C-c"]);
    tmux.until("✘ failed");
    tmux.keys(&["C-d"]);
    tmux.is_given_back();
}
