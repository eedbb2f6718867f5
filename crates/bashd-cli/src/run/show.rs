//! Prints a reply: as one JSON object, as its text, or as what it adds to output shown already.

use crate::args::Run;
use crate::failure::{Failure, Kind};
use crate::print::Printer;
use bashd::Reply;
use bashd::render::Outcome;

/// How a reply is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One object with everything, for programs.
    Json,
    /// The reply's text.
    Text,
    /// For people at a terminal: the output as it comes, then what the reply adds to it.
    Live,
}

impl Form {
    /// The form that the flag asks for, or that suits where the output goes.
    pub(super) fn of(arguments: &Run) -> Self {
        if arguments.json {
            Self::Json
        } else if Printer::is_terminal() {
            Self::Live
        } else {
            Self::Text
        }
    }
}

/// Prints the reply.
pub(super) fn reply(reply: &Reply, form: Form, printer: &Printer) -> Result<(), Failure> {
    match form {
        Form::Json => {
            let json = serde_json::to_string(reply)
                .map_err(|error| Failure::of(Kind::System, error.into()))?;
            printer.out(&format!("{json}\n"))
        }
        // Byte for byte what a model would get: whoever captures it must not find a newline more.
        Form::Text => printer.out(&reply.text),
        Form::Live => {
            printer.out(&whole_lines(added(&reply.text, &reply.output)))?;
            printer.err_line(&Outcome::of(reply).line());
            Ok(())
        }
    }
}

/// The text with its last line ended: the prompt comes next.
fn whole_lines(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// What a reply's text says beside the output, which is on the screen already.
///
/// Where the output is not in the text as it is (it became JSON), the whole text is new.
fn added(text: &str, output: &str) -> String {
    let around = text
        .strip_prefix(output)
        .map(|after| ("", after))
        .or_else(|| text.strip_suffix(output).map(|before| (before, "")))
        .or_else(|| text.split_once(output));
    let (before, after) = around.unwrap_or((text, ""));
    // The cursor may stand at the end of an unfinished line of output.
    let is_unfinished = !output.is_empty() && !output.ends_with('\n');
    let new = format!("{before}{}", after.trim_start_matches('\n'));
    match (is_unfinished, new.is_empty()) {
        (true, true) => "\n".to_owned(),
        (true, false) => format!("\n{new}"),
        (false, _) => new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_printed_after_the_output() {
        for (text, output, new) in [
            ("hello\n", "hello\n", ""),
            ("hello", "hello", "\n"),
            ("o\n\n[Exit code: 3]", "o\n", "[Exit code: 3]"),
            ("3\n[exit code 3]", "3", "\n[exit code 3]"),
            (
                "[timed out after 30s]\n\n3",
                "3",
                "\n[timed out after 30s]\n\n",
            ),
            ("(no output)", "", "(no output)"),
            ("{\"stdout\":\"a\\n\"}", "a\n", "{\"stdout\":\"a\\n\"}"),
            ("", "", ""),
        ] {
            assert_eq!(added(text, output), new, "{text:?} after {output:?}");
        }
    }
}
