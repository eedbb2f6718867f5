//! The texts that patterns are matched against: the whole command, the command without its leading
//! `cd`, and each command of a plain list, with and without its leading assignments.

use super::PatternScope;
use crate::script::{
    CommandOrigin, Joint, Readings, Redirect, RedirectOperator, Script, SimpleCommand, Span,
};

/// Files that can be written without changing anything.
const SINKS: [&str; 4] = ["/dev/null", "/dev/tty", "/dev/stdout", "/dev/stderr"];

/// One text.
pub(super) struct Candidate<'a> {
    pub(super) text: &'a str,
    pub(super) span: Option<Span>,
    kind: CandidateKind,
    writes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CandidateKind {
    /// The whole text, when there are also commands of a list.
    WholeOfList,
    /// The whole text, when it is not a list.
    WholeOnly,
    /// One command of a list.
    Command,
}

impl Candidate<'_> {
    /// Whether a rule of this scope looks at it.
    pub(super) fn is_for(&self, scope: PatternScope) -> bool {
        match scope {
            PatternScope::Text => true,
            PatternScope::Command => self.kind != CandidateKind::WholeOfList,
            PatternScope::CommandThatWrites => {
                self.kind != CandidateKind::WholeOfList && self.writes
            }
        }
    }
}

/// Every candidate of a text, in the order in which they are tried.
pub(super) fn of<'a>(text: &'a str, script: &Script) -> Vec<Candidate<'a>> {
    let is_list = is_plain_list(script);
    let kind = if is_list {
        CandidateKind::WholeOfList
    } else {
        CandidateKind::WholeOnly
    };
    let whole = |start: usize, command: Option<&SimpleCommand>| {
        Some(Candidate {
            text: text.get(start..)?.trim(),
            span: command.map(|command| command.span),
            kind,
            writes: command.is_some_and(writes_file),
        })
    };
    let first = script.commands.first();
    let mut candidates = Vec::new();
    candidates.extend(whole(0, first));
    if let Some(after) = after_leading_cd(script) {
        candidates.extend(whole(after.span.start, Some(after)));
    }
    if is_list {
        for command in script
            .commands
            .iter()
            .filter(|command| is_candidate(command))
        {
            let words = command.words.first().map(|word| word.span.start);
            let starts = [
                Some(command.span.start),
                words.filter(|at| *at != command.span.start),
            ];
            candidates.extend(starts.into_iter().flatten().filter_map(|start| {
                Some(Candidate {
                    text: text.get(start..command.span.end)?.trim(),
                    span: Some(command.span),
                    kind: CandidateKind::Command,
                    writes: writes_file(command),
                })
            }));
        }
    }
    candidates
}

/// Whether the text consists only of commands and operators between them.
fn is_plain_list(script: &Script) -> bool {
    let is_here_doc = |redirect: &Redirect| redirect.operator == RedirectOperator::HereDoc;
    let mut redirects = script
        .commands
        .iter()
        .flat_map(|command| &command.redirects);
    script.constructs.is_empty()
        && script.bound.is_none()
        && script.readings != Readings::ScanOnly
        && !redirects.any(is_here_doc)
}

/// A command that reads a pipe has no file that another tool could read instead.
fn is_candidate(command: &SimpleCommand) -> bool {
    command.origin == CommandOrigin::Written && !command.place.reads_pipe
}

/// The command after a leading `cd X &&`.
fn after_leading_cd(script: &Script) -> Option<&SimpleCommand> {
    let mut commands = script.commands.iter();
    let cd = commands
        .next()
        .filter(|command| command.name() == Some("cd"))?;
    let next = commands.next()?;
    let is_plain = cd.words.len() == 2 && cd.redirects.is_empty();
    (is_plain && next.place.joint == Joint::And).then_some(next)
}

fn writes_file(command: &SimpleCommand) -> bool {
    let writes = |redirect: &Redirect| {
        let target = redirect.target.known();
        redirect.operator.writes() && !target.is_some_and(|target| SINKS.contains(&target))
    };
    command.redirects.iter().any(writes)
}
