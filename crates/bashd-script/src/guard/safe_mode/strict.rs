//! `strict`: turns the parsed script into read-only steps, or gives the reason why not.

use super::super::Objection;
use super::policy::{self, PolicyDenial};
use super::{Step, StepRedirect, StepWord, invalid_syntax, refusal};
use crate::script::{
    CommandOrigin, Construct, Redirect, RedirectOperator, Script, SimpleCommand, Span, Word,
    WordPart,
};
use std::borrow::Cow;

/// What each construct is called in a refusal.
const CONSTRUCTS: &[(Construct, &str)] = &[
    (Construct::Substitution, "a substitution ($(…), `…`, <(…))"),
    (Construct::Function, "a function"),
    (Construct::Loop, "a loop"),
    (Construct::Condition, "a condition"),
    (Construct::Subshell, "a subshell"),
    (Construct::Group, "a group"),
    (Construct::HereDoc, "a here-document"),
    (Construct::Quoted, "a script inside a word"),
    (Construct::Arithmetic, "arithmetic"),
    (Construct::Test, "a test"),
    (Construct::Negation, "a negation"),
    (Construct::Array, "an array"),
    (Construct::Coprocess, "a coprocess"),
];

const SIMPLE: &str = "commands with plain words, joined by |, && or ;";

/// The steps of a read-only script.
pub(super) fn check(text: &str, script: &Script) -> Result<Vec<Step>, Objection> {
    if script.bound.is_some() {
        return Err(invalid_syntax(
            "it is too long or too deeply nested to check",
        ));
    }
    if let Some((at, odd)) = odd_blank(text) {
        let why = format!(
            "it has the character U+{:04X}, which looks like a blank or like nothing",
            u32::from(odd)
        );
        let span = Span {
            start: at,
            end: at + odd.len_utf8(),
        };
        return Err(refusal(&why, "blanks, tabs and new lines", Some(span)));
    }
    // Programs first: that a command is not allowed says more than how it is written.
    for command in &script.commands {
        check_name(command)?;
    }
    if let Some((_, name)) = CONSTRUCTS
        .iter()
        .find(|(it, _)| script.constructs.contains(*it))
    {
        return Err(refusal(&format!("it has {name}"), SIMPLE, None));
    }
    if !script.is_read_whole(text) {
        return Err(invalid_syntax("it could not be parsed completely"));
    }
    let mut steps: Vec<Step> = Vec::new();
    for command in &script.commands {
        let next = step(command, text)?;
        if is_after_joint_of_both(command, text) {
            // As bash does it, after the redirects that are written.
            let both = StepRedirect::Duplicate(2, 1);
            steps
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|it| it.redirects.push(both.clone()));
        }
        steps.push(next);
    }
    if steps.is_empty() {
        return Err(refusal("it contains no command", &policy::accepted(), None));
    }
    Ok(steps)
}

/// What people take for a blank, or do not see at all, and the shell for a letter.
fn odd_blank(text: &str) -> Option<(usize, char)> {
    let is_plain = |character: char| matches!(character, ' ' | '\t' | '\n');
    let is_invisible = |character: char| matches!(character, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{AD}');
    text.char_indices().find(|(_, character)| {
        let is_odd =
            character.is_whitespace() || character.is_control() || is_invisible(*character);
        is_odd && !is_plain(*character)
    })
}

/// The name must be plain, and one of the programs.
fn check_name(command: &SimpleCommand) -> Result<(), Objection> {
    let span = Some(command.span);
    let Some(first) = command.words.first() else {
        return Ok(());
    };
    match first.known() {
        Some(name) if policy::PROGRAMS.iter().any(|(known, _)| *known == name) => Ok(()),
        Some("cd") => {
            let accepted = "paths below the working directory, or a different cwd";
            Err(refusal("`cd` would change the directory", accepted, span))
        }
        Some(name) => {
            let why = format!("`{name}` is not an allowed command");
            Err(refusal(&why, &policy::accepted(), span))
        }
        None => Err(refusal(
            "the name of a command is not plain text",
            &policy::accepted(),
            span,
        )),
    }
}

fn step(command: &SimpleCommand, text: &str) -> Result<Step, Objection> {
    let refuse = |why: &str, accepted: &str| Err(refusal(why, accepted, Some(command.span)));
    if command.origin != CommandOrigin::Written {
        return refuse("a command starts another command", SIMPLE);
    }
    if command.place.background {
        return refuse("it runs in the background", SIMPLE);
    }
    if let Some(assignment) = command.assignments.first() {
        return refuse(&format!("it sets the variable {}", assignment.name), SIMPLE);
    }
    let words = command
        .words
        .iter()
        .map(|word| step_word(word, text))
        .collect::<Result<Vec<_>, _>>()?;
    let Some((StepWord::Literal(program), arguments)) = words.split_first() else {
        return refuse("there is no command before a redirect", SIMPLE);
    };
    let arguments = policy::check(program, arguments)
        .map_err(|PolicyDenial { why, accepted }| refusal(&why, &accepted, Some(command.span)))?;
    let mut words = vec![StepWord::Literal(program.clone())];
    words.extend(arguments);
    let mut redirects = Vec::new();
    for redirect in &command.redirects {
        redirects.extend(step_redirects(redirect)?);
    }
    Ok(Step {
        joint: command.place.joint,
        words,
        redirects,
    })
}

/// Whether `|&` comes before the command: stderr would go into the pipe as well.
fn is_after_joint_of_both(command: &SimpleCommand, text: &str) -> bool {
    let before = text.get(..command.span.start).unwrap_or_default();
    before.trim_end().ends_with("|&")
}

/// A word of text and patterns. One that begins like an option is not matched against files: a file
/// could be called `--output=x`.
fn step_word(word: &Word, script: &str) -> Result<StepWord, Objection> {
    let accepted = "literal text; variables, ~ and $(…) are not expanded";
    let written = script
        .get(word.span.start..word.span.end)
        .unwrap_or_default();
    let plain = |text: &Cow<'_, str>| text.contains('$') || !has_expansion(written);
    let Some(text) = word.literal_or_glob().filter(plain) else {
        return Err(refusal(
            "a word is not plain text",
            accepted,
            Some(word.span),
        ));
    };
    let is_extended =
        |part: &WordPart| matches!(part, WordPart::Glob(pattern) if pattern.contains('('));
    if word.parts.iter().any(is_extended) {
        return Err(refusal(
            "a word has an extended glob pattern",
            "*, ? and [...]",
            Some(word.span),
        ));
    }
    if word.has_glob() && !text.starts_with('-') {
        return Ok(StepWord::Pattern(word.parts.to_vec()));
    }
    Ok(StepWord::Literal(text.into_owned()))
}

/// Whether a word as it is written has a variable: what it may hold was followed, but the shell
/// that runs it may know better.
fn has_expansion(written: &str) -> bool {
    let mut after = written.split('$').skip(1);
    after.any(|after| !after.is_empty() && !after.starts_with(['\'', '"']))
}

fn step_redirects(redirect: &Redirect) -> Result<Vec<StepRedirect>, Objection> {
    use RedirectOperator as Operator;
    let accepted = "< FILE, 2>&1, >/dev/null and 2>/dev/null";
    let refuse = || Err(refusal("it redirects", accepted, Some(redirect.span)));
    let Some(target) = redirect.target.known() else {
        return refuse();
    };
    let descriptor = match redirect.descriptor.as_deref() {
        None => None,
        Some("0") => Some(0),
        Some("1") => Some(1),
        Some("2") => Some(2),
        Some(_) => return refuse(),
    };
    Ok(match (redirect.operator, descriptor, target) {
        // Bash itself would open a connection for /dev/tcp/….
        (Operator::Read, None | Some(0), file)
            if !file.is_empty() && (!file.starts_with("/dev/") || file == "/dev/null") =>
        {
            vec![StepRedirect::Read(file.to_owned())]
        }
        (Operator::DuplicateOutput, None | Some(1), "2") => vec![StepRedirect::Duplicate(1, 2)],
        (Operator::DuplicateOutput, Some(2), "1") => vec![StepRedirect::Duplicate(2, 1)],
        (Operator::Write | Operator::Append | Operator::Clobber, descriptor, "/dev/null")
            if descriptor != Some(0) =>
        {
            vec![StepRedirect::Discard(descriptor.unwrap_or(1))]
        }
        (Operator::WriteBoth | Operator::AppendBoth, None, "/dev/null") => {
            vec![StepRedirect::Discard(1), StepRedirect::Discard(2)]
        }
        _ => return refuse(),
    })
}
