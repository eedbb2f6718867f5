//! What others wrote, at a terminal and elsewhere: colours stay, nothing else acts on a terminal,
//! and a file or pipe gets every byte.

use super::notices::at_terminal;
use crate::{bashd, shown};
use bashd_testkit::Home;

const BASHD: &str = env!("CARGO_BIN_EXE_bashd");

/// A colour, a title, the clipboard, the cursor, a question to the terminal, and its reset.
const WRITES: &str = r"printf '\033[31mred\033[0m\033]0;title\007\033]52;c;QQ==\033\\\033[2J\033[H\033[6n\033Pq\033\\\033cend\n'";

/// What all of them are.
const EXACT: &str = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]52;c;QQ==\x1b\\\x1b[2J\x1b[H\x1b[6n\x1bPq\x1b\\\x1bcend\n";

/// What is left of them at a terminal.
const SEEN: &str = "\x1b[31mred\x1b[0mend\r\n";

#[test]
fn a_terminal_gets_colours_alone_and_a_pipe_gets_every_byte() {
    let home = Home::new();
    let piped = shown(&home, &["run", WRITES]);
    assert_eq!(piped.out(), EXACT);
    let file = home.workspace().join("writes.sh");
    std::fs::write(&file, WRITES).unwrap();
    let path = file.display();
    for redirect in ["", ">&2"] {
        let line = format!("{BASHD} run '. {path} {redirect}'");
        let Some(seen) = at_terminal(&home, &line, &[]) else {
            return;
        };
        assert!(seen.starts_with(SEEN), "{redirect}: {seen:?}");
        let rest = seen.replace(SEEN, "");
        assert!(
            !rest.contains("title") && !rest.contains("\x1b]"),
            "{seen:?}"
        );
    }
    // stderr in a file is exact, whatever stdout is.
    let errors = home.workspace().join("errors");
    let run = format!("{BASHD} run --profile harness");
    let line = format!("{run} '. {path} >&2' 2>{}", errors.display());
    at_terminal(&home, &line, &[]).unwrap();
    let errors = std::fs::read_to_string(errors).unwrap();
    assert!(errors.ends_with(EXACT), "{errors:?}");
}

#[test]
fn stored_output_and_minimized_text_do_not_act_on_a_terminal() {
    let home = Home::new();
    shown(&home, &["run", &format!("{WRITES}; seq -w 1 10000")]);
    let first = shown(&home, &["artifact", "read", "0", "--lines", "1"]);
    assert_eq!(first.out(), EXACT);
    let line = format!("{BASHD} artifact read 0 --lines 1");
    let Some(seen) = at_terminal(&home, &line, &[]) else {
        return;
    };
    assert_eq!(seen, SEEN);
    let line = format!("{BASHD} artifact read 0 --grep red");
    let found = at_terminal(&home, &line, &[]).unwrap();
    assert!(found.ends_with(&format!("1:{SEEN}")), "{found:?}");

    let minimized = bashd(&home, &["minimize"]).stdin(EXACT).run().out();
    let source = home.workspace().join("raw");
    std::fs::write(&source, EXACT).unwrap();
    let line = format!("{BASHD} minimize < {}", source.display());
    let seen = at_terminal(&home, &line, &[]).unwrap();
    assert!(
        minimized.contains("end") && seen.contains("end"),
        "{seen:?}"
    );
    assert!(
        !seen.contains("\x1b]") && !seen.contains("\x1b[2J"),
        "{seen:?}"
    );
}

#[test]
fn a_colour_that_a_command_left_on_does_not_stay() {
    let home = Home::new();
    let line = format!(r"{BASHD} run 'printf \\033[31mred'");
    let Some(seen) = at_terminal(&home, &line, &[]) else {
        return;
    };
    assert!(seen.starts_with("\x1b[31mred\x1b[0m"), "{seen:?}");
}

#[test]
fn what_follows_a_sequence_that_never_ends_is_seen() {
    let home = Home::new();
    let line = format!(r#"{BASHD} run 'printf "\033]0;x"; echo; echo hello; exit 3'"#);
    let Some(seen) = at_terminal(&home, &line, &[]) else {
        return;
    };
    assert!(seen.contains("hello\r\n"), "{seen:?}");
}
