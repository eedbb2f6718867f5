//! `no_find_delete`: find deletes across the system, a home, or everything here.

use super::concern::ProgramCall;
use super::no_dangerous_rm::resolved;
use super::paths::{Path, PathStart};
use super::{Concern, Decision, Rule, RuleJudge, trees};
use crate::script::{Word, WordPart};

pub(super) const RULE: Rule = Rule {
    name: "no_find_delete",
    denies: "find with -delete or -exec rm in /, a part of the system or a home; asks where nothing selects",
    message: "this find would delete system files, files of a home, or everything here",
    instead: "Name a subdirectory, and select files with -name; look with -print first",
    example: "find / -name '*.log' -delete",
    judge: RuleJudge::Each(&[
        Concern::Programs {
            names: &["find", "gfind", "bfs"],
            judge: find,
        },
        Concern::Programs {
            names: &["fd", "fdfind"],
            judge: fd,
        },
    ]),
};

/// Programs that remove or ruin what they are given.
const REMOVERS: &[&str] = &["rm", "shred", "unlink", "srm", "truncate", "mv"];

/// Tests that select next to nothing.
const NO_SELECTION: &[&str] = &[
    "-type",
    "-mindepth",
    "-maxdepth",
    "-depth",
    "-xdev",
    "-mount",
    "-print",
    "-print0",
    "-delete",
    "-o",
    "-not",
    "!",
];

fn find(call: &ProgramCall<'_>) -> Decision {
    let words = call.words;
    if !deletes(words) {
        return Decision::Allow;
    }
    let is_option = |word: &&Word| matches!(word.known(), Some("-H" | "-L" | "-P"));
    let starts = words.iter().skip_while(is_option);
    let starts = starts.take_while(|word| !word.known_beginning().starts_with(['-', '(', '!']));
    let mut paths: Vec<Path> = starts.map(|word| resolved(call, word)).collect();
    if paths.is_empty() {
        paths.push(call.directory.resolve(Path::of(&Word::default())));
    }
    let selects = selects(words);
    let decisions = paths.iter().map(|path| {
        let whole = trees::of_removal(path);
        let is_temporary = path.start == PathStart::Root
            && path.components.first().is_some_and(|top| top == "tmp");
        let is_log = path.start == PathStart::Root && path.components.len() > 1 && selects;
        match whole {
            Decision::Deny if is_log => Decision::Allow,
            Decision::Deny => Decision::Deny,
            Decision::Ask if selects || is_temporary => Decision::Allow,
            whole => whole,
        }
    });
    decisions.max().unwrap_or(Decision::Allow)
}

fn deletes(words: &[Word]) -> bool {
    words.iter().any(|word| word.is("-delete")) || runs_remover(words)
}

/// Whether a test narrows down what is found: a name, a time, a size.
pub(super) fn selects(words: &[Word]) -> bool {
    // `! -name keep` leaves one thing out, and takes the rest.
    let is_negated = |index: usize| {
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        before.is_some_and(|word| word.is("!") || word.is("-not"))
    };
    let known = words.iter().enumerate();
    let known = known.filter(|(index, _)| !is_negated(*index));
    let known = known.filter_map(|(_, word)| word.known());
    let mut tests = known.filter(|text| text.starts_with('-') && text.len() > 2);
    let first_action = |text: &&str| !matches!(*text, "-exec" | "-execdir" | "-ok" | "-okdir");
    let mut before = tests.by_ref().take_while(first_action);
    let any_name = |text: &str| !NO_SELECTION.contains(&text);
    let has_test = before.any(any_name);
    // `-name '*'` selects everything.
    let is_star = words.windows(2).any(|pair| {
        let [test, value] = pair else { return false };
        matches!(test.known(), Some("-name" | "-iname" | "-path"))
            && matches!(value.known(), Some("*" | "*.*" | ".*"))
    });
    has_test && !is_star
}

fn runs_remover(words: &[Word]) -> bool {
    let is_exec =
        |word: &Word| matches!(word.known(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
    let Some(at) = words.iter().position(is_exec) else {
        return false;
    };
    let rest = words.get(at + 1..).unwrap_or_default();
    // Without what was found, the same files go each time: rm's own rule judges them.
    let has_place = |word: &Word| {
        let mut parts = word.parts.iter();
        parts.any(|part| matches!(part, WordPart::Text(text) | WordPart::Glob(text) if text.contains("{}")))
    };
    if !rest.iter().any(has_place) {
        return false;
    }
    let mut rest = rest.iter().take(12);
    rest.any(|word| {
        let program = word.known().and_then(|program| program.rsplit('/').next());
        program.is_some_and(|program| REMOVERS.contains(&program) && program != "mv")
            || word.known().is_some_and(is_removing_text)
    })
}

/// A script, or a file that is copied over others.
fn is_removing_text(text: &str) -> bool {
    let empties = [": >", ":>", "cat /dev/null >", "; rm "];
    text == "/dev/null" || text.starts_with("rm ") || empties.iter().any(|it| text.contains(it))
}

/// `fd . / -x rm`
fn fd(call: &ProgramCall<'_>) -> Decision {
    let is_exec =
        |word: &Word| matches!(word.known(), Some("-x" | "-X" | "--exec" | "--exec-batch"));
    let Some(at) = call.words.iter().position(is_exec) else {
        return Decision::Allow;
    };
    let program = call.words.get(at + 1).and_then(Word::known);
    if !program.is_some_and(|program| REMOVERS.contains(&program)) {
        return Decision::Allow;
    }
    let places = call.words.get(..at).unwrap_or_default().iter();
    let places = places
        .filter(|word| !word.known_beginning().starts_with('-'))
        .skip(1);
    Decision::deny_if(
        places
            .map(|word| resolved(call, word))
            .any(|path| trees::is_tree(&path)),
    )
}
