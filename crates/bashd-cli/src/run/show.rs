//! Prints a reply: as one JSON object, as its text, or as what it adds to output already shown.

use crate::args::RunOptions;
use crate::failure::{Failure, FailureKind};
use crate::notify::Notifier;
use crate::print::{CommandOutput, Printer};
use crate::render::{RunState, RunSummary};
use crate::run::live::CursorPosition;
use crate::terminal;
use bashd::Reply;
use bashd::changes::{ChangeState, ChangesSummary};
use bashd::jobs::{Jobs, Whose};
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// How a reply is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyFormat {
    /// One object with everything, for programs.
    Json,
    /// The reply's text.
    Text,
    /// For people at a terminal: the output as it arrives, then what the reply adds to it.
    Live,
    /// Likewise, and what they type goes to the command.
    Typed,
}

impl ReplyFormat {
    /// The form that the flag asks for, or that suits where the output goes.
    pub(super) fn of(arguments: &RunOptions) -> Self {
        if arguments.json {
            Self::Json
        } else if arguments.pty && !arguments.background && terminal::is_ours() {
            Self::Typed
        } else if Printer::is_terminal() {
            Self::Live
        } else {
            Self::Text
        }
    }
}

/// Prints the reply.
pub(super) fn reply(
    reply: &Reply,
    form: ReplyFormat,
    cursor: CursorPosition,
    printer: &Printer,
) -> Result<(), Failure> {
    match form {
        ReplyFormat::Json => {
            let json = serde_json::to_string(reply)
                .map_err(|error| Failure::of(FailureKind::System, error.into()))?;
            printer.out(&format!("{json}\n"))
        }
        // Byte for byte what a model would get: captured output must not have an extra newline.
        ReplyFormat::Text => printer.out(&reply.text),
        ReplyFormat::Live | ReplyFormat::Typed => {
            let new = whole_lines(added(&reply.text, &reply.output, cursor));
            let mut shown = CommandOutput::to_stdout();
            printer.out(&shown.text(&new))?;
            printer.out(shown.end())?;
            printer.err_line(&RunSummary::of(reply).line());
            Ok(())
        }
    }
}

/// Says at a terminal what can be done next: with the job that a command became or left, or about
/// an end that was not the command's own.
pub(super) fn next_step(reply: &Reply, jobs: &Jobs, printer: &Printer) {
    if !io::stderr().is_terminal() {
        return;
    }
    let left = reply.left_behind.iter().find_map(|left| left.job.as_ref());
    if let Some(id) = reply.job.as_ref().or(left) {
        let found = jobs.find(Whose::Everybody, id).ok();
        let job = found.as_ref().map_or(id, |job| &job.alias);
        // Only one that reads can be typed at.
        let attach = match &found {
            Some(found) if found.terminal.is_some() || found.stdin_open => {
                format!(" · type at it: bashd jobs attach {job}")
            }
            _ => String::new(),
        };
        printer.note(&format!(
            "job {job} · follow: bashd jobs follow {job}{attach} · end it: bashd jobs kill {job}"
        ));
    } else if let Some(remedy) = remedy(reply) {
        printer.note(remedy);
    }
    let is_held = |changes: &ChangesSummary| changes.state == ChangeState::Held.name();
    if reply.changes.as_ref().is_some_and(is_held) {
        // It is the newest.
        printer.note(
            "look: bashd changes show --diff · apply: bashd changes apply --last · drop: bashd changes discard --last",
        );
    }
}

/// What helps against an end that was not the command's own.
fn remedy(reply: &Reply) -> Option<&'static str> {
    if reply.denied.is_some() {
        Some("the part that is meant: bashd check COMMAND · all rules: bashd rules")
    } else if reply.timed_out {
        Some("more time: bashd run --timeout SECONDS · as a job: bashd run --background")
    } else if reply.error.is_some() {
        Some("how it is used: bashd run --help · what works here: bashd doctor")
    } else {
        None
    }
}

/// Gives a person who looked away a sign that a long command is over.
pub(super) fn sign(reply: &Reply, words: &[OsString], notifier: Notifier) {
    if reply.job.is_none() {
        let took = Duration::from_millis(reply.wall_ms);
        let how = RunState::of(reply).word();
        let command = words.join(OsStr::new(" "));
        notifier.command_ended(took, how, &command.to_string_lossy());
    }
}

/// The text with its last line ended: the prompt comes next.
fn whole_lines(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// What a reply's text says besides the output, which is already on the screen.
///
/// If the output has no lines of its own in the text (it became JSON), the whole text is new.
fn added(text: &str, output: &str, cursor: CursorPosition) -> String {
    let (before, after) = around(text, output).unwrap_or((text, ""));
    let new = format!("{before}{}", after.trim_start_matches('\n'));
    match cursor {
        CursorPosition::AtLineStart => new,
        CursorPosition::InLine => format!("\n{new}"),
    }
}

/// The text before and after the output, if the output begins and ends with a line of the text.
fn around<'t>(text: &'t str, output: &str) -> Option<(&'t str, &'t str)> {
    if output.is_empty() {
        return Some(("", text));
    }
    let found = text.match_indices(output).map(|(at, _)| {
        let (before, rest) = text.split_at(at);
        (before, rest.split_at(output.len()).1)
    });
    let begins = |before: &str| before.is_empty() || before.ends_with('\n');
    let ends = |after: &str| after.is_empty() || output.ends_with('\n') || after.starts_with('\n');
    let mut found = found.filter(|(before, after)| begins(before) && ends(after));
    found.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_printed_after_the_output() {
        for (text, output, new) in [
            ("hello\n", "hello\n", ""),
            ("hello", "hello", ""),
            ("o\n\n[Exit code: 3]", "o\n", "[Exit code: 3]"),
            ("3\n[exit code 3]", "3", "[exit code 3]"),
            (
                "[timed out after 30s]\n\n3",
                "3",
                "[timed out after 30s]\n\n",
            ),
            ("(no output)", "", "(no output)"),
            ("{\"stdout\":\"a\\n\"}", "a\n", "{\"stdout\":\"a\\n\"}"),
            ("", "", ""),
        ] {
            let shown = added(text, output, CursorPosition::AtLineStart);
            assert_eq!(shown, new, "{text:?} after {output:?}");
        }
    }

    #[test]
    fn output_that_is_only_a_part_of_a_line_is_not_taken_out_of_it() {
        let text = "{\"stdout\":\"o\",\"stderr\":\"\",\"exitCode\":0}";
        for output in ["o", "{", "}", "0}", "{\"stdout\"", ":"] {
            assert_eq!(
                added(text, output, CursorPosition::AtLineStart),
                text,
                "{output:?}"
            );
        }
        assert_eq!(
            added("[exit code 3]\n3", "3", CursorPosition::AtLineStart),
            "[exit code 3]\n"
        );
    }

    #[test]
    fn what_is_new_begins_a_line_wherever_the_cursor_was_left() {
        assert_eq!(
            added("o\ne\n[x]", "o\ne\n", CursorPosition::InLine),
            "\n[x]"
        );
        assert_eq!(added("o", "o", CursorPosition::InLine), "\n");
        assert_eq!(
            added("a\n[cut]\n[x]", "a\n[cut]", CursorPosition::AtLineStart),
            "[x]"
        );
    }
}
