//! A trailing `| tail -n N` becomes a limit on the lines that are shown.
//!
//! `tail` runs as `cat`, whatever alias or function has that name, so that all output is kept and
//! the status stays as written. `head` stays, because it ends the program that writes to it; an
//! explicit limit replaces its count. Only a script whose whole output passes through that pipeline
//! is changed: in `make; ls | tail -n 3` the limit would hide what `make` printed.

use super::Command;
use super::LineLimits;
use crate::script::{
    self, CommandOrigin, Construct, Joint, Readings, RedirectOperator, Script, Span,
};
use std::num::NonZeroU64;

/// Builtins that write nothing when they succeed with arguments, and the option letters that make
/// them, or the shell, write.
const SILENT: [(&str, &str); 6] = [
    ("cd", ""),
    ("export", "pf"),
    ("set", "vx"),
    ("shopt", "po"),
    ("umask", "pS"),
    ("unset", ""),
];

/// The limiter at the end of a pipeline.
struct Limiter {
    program: Program,
    count: NonZeroU64,
    span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Head,
    Tail,
}

/// Takes over the limit of a trailing `head` or `tail`.
pub fn take(command: &mut Command) {
    let Some(limiter) = find(&command.to_run) else {
        return;
    };
    let LineLimits { head, tail } = command.lines;
    let replacement = match (limiter.program, head) {
        (Program::Head, None) => return,
        (Program::Head, Some(count)) => format!("head -n {count}"),
        (Program::Tail, _) => {
            command.lines.tail = tail.or(Some(limiter.count));
            r"\command cat".to_owned()
        }
    };
    let Span { start, end } = limiter.span;
    command.to_run.replace_range(start..end, &replacement);
}

fn find(text: &str) -> Option<Limiter> {
    // Most commands have none, and pay nothing more.
    let last_stage = text.rsplit('|').next()?;
    read(last_stage.trim_start_matches('&').trim())?;
    let script = Script::parse(text);
    let last = script
        .commands
        .iter()
        .max_by_key(|command| command.span.end)?;
    let place = last.place;
    let is_end = text.get(last.span.end..)?.trim().is_empty();
    let is_stage = place.joint == Joint::Pipe && place.inside.is_empty() && !place.background;
    if !is_end || !is_stage || !is_all_there_is(text, &script, last) {
        return None;
    }
    let (program, count) = read(text.get(last.span.start..last.span.end)?)?;
    Some(Limiter {
        program,
        count,
        span: last.span,
    })
}

/// Program and count of `head -n 5`, `tail -5` and the like; every other spelling is left alone.
fn read(command: &str) -> Option<(Program, NonZeroU64)> {
    let mut words = command.split_ascii_whitespace();
    let program = match words.next()? {
        "head" => Program::Head,
        "tail" => Program::Tail,
        _ => return None,
    };
    let option = words.next()?;
    let count = match option {
        "-n" | "--lines" => words.next()?,
        _ => option
            .strip_prefix("--lines=")
            .or_else(|| option.strip_prefix("-n"))
            .or_else(|| option.strip_prefix('-'))?,
    };
    let is_number = count.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || words.next().is_some() || command.contains(['\n', '\r']) {
        return None;
    }
    Some((program, count.parse().ok()?))
}

/// Whether everything that the script writes passes through the pipeline of its last command.
fn is_all_there_is(text: &str, script: &Script, last: &script::SimpleCommand) -> bool {
    let is_readable = script.bound.is_none()
        && script.readings != Readings::ScanOnly
        && script.functions.is_empty()
        && !script.constructs.contains(Construct::Coprocess);
    let mut written = script
        .commands
        .iter()
        .filter(|command| command.origin == CommandOrigin::Written);
    // A directory may be missing, and bash's message about it must be visible if the pipeline runs
    // anyway.
    let mut may_have_failed = false;
    let goes_on_only_after = |command: &script::SimpleCommand| {
        let rest = text.get(command.span.end..);
        rest.is_some_and(|rest| rest.trim_start().starts_with("&&"))
    };
    is_readable
        && written.all(|command| {
            let is = |program| command.words.first().is_some_and(|name| name.is(program));
            let is_inside = command.place.outermost_pipeline == last.place.outermost_pipeline;
            // `time` reports past the pipe.
            if is_inside && !is("time") {
                return true;
            }
            may_have_failed |= is("cd");
            is_silent(command) && (!may_have_failed || goes_on_only_after(command))
        })
}

/// Whether a command of the list before the pipeline writes nothing.
fn is_silent(command: &script::SimpleCommand) -> bool {
    let is_plain = command.place.inside.is_empty() && !command.place.background;
    let has_here_doc = command
        .redirects
        .iter()
        .any(|redirect| redirect.operator == RedirectOperator::HereDoc);
    let is_harmless = match command.words.first() {
        None => true,
        Some(name) => {
            let known = SILENT.iter().find(|(known, _)| name.is(known));
            known.is_some_and(|(name, loud)| has_silent_arguments(command, name, loud))
        }
    };
    is_plain && !has_here_doc && is_harmless
}

/// Whether the arguments of one of those keep it silent.
fn has_silent_arguments(command: &script::SimpleCommand, name: &str, loud: &str) -> bool {
    let mut arguments = command.arguments().iter().map(script::Word::known);
    let may_stand = match arguments.clone().next() {
        // With names alone it prints how they are set.
        Some(first) if name == "shopt" => matches!(first, Some("-s" | "-u")),
        // A directory found through `CDPATH` is printed.
        Some(_) => name != "cd" || command.assignments.is_empty(),
        None => false,
    };
    let writes = |text: &str| {
        let is_loud = |letter| loud.contains(letter);
        matches!(text, "-" | "-o" | "+o") || text.starts_with('-') && text.contains(is_loud)
    };
    may_stand && arguments.all(|word| word.is_some_and(|text| !writes(text)))
}
