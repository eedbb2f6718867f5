//! The four test runners in strict safe mode. They run the project's code by nature; what is
//! refused are options that load other code, start another program, or write to a given place.

use super::StepWord;
use super::options::shown;
use super::policy::PolicyDenial;
use super::runner_tables::{
    NPM, OWN_VALUES, PYTEST, SCRIPT, SWIFT, XCODEBUILD_BEGINNINGS, XCODEBUILD_PLACES,
    XCODEBUILD_PLAIN, XCODEBUILD_VALUED,
};
use crate::script::WordPart;

pub(super) fn pytest(arguments: &[StepWord]) -> Result<(), PolicyDenial> {
    let accepted = "pytest [PATH…] [-k EXPRESSION] [-m MARKERS] [-x] [-v], with paths below here";
    // A test elsewhere is other code.
    let is_far = |word: &&StepWord| match word {
        StepWord::Literal(text) => !text.starts_with('-') && !stays_here(text),
        StepWord::Pattern(parts) => parts.iter().any(|part| match part {
            WordPart::Text(text) => !stays_here(text),
            _ => false,
        }),
    };
    if let Some(word) = arguments.iter().find(is_far) {
        return Err(PolicyDenial::new(
            format!("pytest with {}", shown(word)),
            accepted,
        ));
    }
    // The class of a warning may be one of any module, which would be loaded.
    let is_module = |word: &&StepWord| match word {
        StepWord::Literal(text) => text.split(':').nth(2).is_some_and(|it| it.contains('.')),
        StepWord::Pattern(_) => false,
    };
    let mut before = [None].into_iter().chain(arguments.iter().map(Some));
    let named = arguments.iter().find(|word| {
        let is_value =
            matches!(before.next().flatten(), Some(StepWord::Literal(text)) if takes_warning(text));
        let is_attached = matches!(word, StepWord::Literal(text) if takes_warning(text));
        (is_value || is_attached) && is_module(word)
    });
    if let Some(word) = named {
        let what = format!("pytest with {}", shown(word));
        return Err(PolicyDenial::new(what, accepted));
    }
    let read = PYTEST.read(&without_blocked_plugins(arguments)).map(drop);
    read.map_err(|what| PolicyDenial::new(format!("pytest with {what}"), accepted))
}

/// Removes `-p no:NAME`, which keeps a plugin from being loaded; without `no:` it loads a module.
fn without_blocked_plugins(words: &[StepWord]) -> Vec<StepWord> {
    let blocks = |text: &str| text.starts_with("no:");
    let mut left = Vec::new();
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        match (word, after.split_first()) {
            (StepWord::Literal(text), _) if text.strip_prefix("-p").is_some_and(blocks) => {}
            (StepWord::Literal(option), Some((StepWord::Literal(value), behind)))
                if option == "-p" && blocks(value) =>
            {
                rest = behind;
            }
            _ => left.push(word.clone()),
        }
    }
    left
}

/// Whether it is `-W`, alone or with its value, maybe after other letters.
fn takes_warning(text: &str) -> bool {
    let is_letters = text.starts_with('-') && !text.starts_with("--");
    is_letters && text.contains('W') || text.starts_with("--pythonwarnings")
}

pub(super) fn swift(arguments: &[StepWord]) -> Result<(), PolicyDenial> {
    let accepted = "swift test [--filter NAME] [--skip NAME] [--parallel]";
    let rest = after_test("swift", arguments, accepted)?;
    let read = SWIFT.read(rest).map(drop);
    read.map_err(|what| PolicyDenial::new(format!("swift test with {what}"), accepted))
}

pub(super) fn npm(arguments: &[StepWord]) -> Result<(), PolicyDenial> {
    let accepted = "npm test [-- FILTER…]";
    let rest = after_test("npm", arguments, accepted)?;
    let is_end = |word: &StepWord| matches!(word, StepWord::Literal(text) if text == "--");
    let end = rest.iter().position(is_end).unwrap_or(rest.len());
    let (own, script) = rest.split_at_checked(end).unwrap_or_default();
    // A workspace elsewhere brings other code along.
    let is_far = |word: &&StepWord| match word {
        StepWord::Literal(text) => text.split('=').any(|path| !stays_here(path)),
        StepWord::Pattern(_) => false,
    };
    if let Some(word) = own.iter().find(is_far) {
        let what = format!("npm test with {}", shown(word));
        return Err(PolicyDenial::new(what, accepted));
    }
    let script = without_own_values(script.split_first().map_or(&[], |(_, behind)| behind));
    let read = NPM.read(own).and_then(|_| SCRIPT.read(&script).map(drop));
    read.map_err(|what| PolicyDenial::new(format!("npm test with {what}"), accepted))
}

pub(super) fn xcodebuild(arguments: &[StepWord]) -> Result<(), PolicyDenial> {
    let accepted = "xcodebuild test -scheme NAME [-destination WHERE] [-only-testing:TEST]";
    let mut rest = after_test("xcodebuild", arguments, accepted)?.iter();
    while let Some(word) = rest.next() {
        let option = match word {
            StepWord::Literal(text) => text.as_str(),
            StepWord::Pattern(_) => "",
        };
        let begins = XCODEBUILD_BEGINNINGS
            .iter()
            .any(|beginning| option.starts_with(beginning));
        let is_plain = begins || XCODEBUILD_PLAIN.contains(&option);
        let names_place = XCODEBUILD_PLACES.contains(&option);
        let is_value = |value: &str| !value.starts_with('-') && (!names_place || stays_here(value));
        let is_valued = XCODEBUILD_VALUED.contains(&option)
            && matches!(rest.next(), Some(StepWord::Literal(value)) if is_value(value));
        if !is_plain && !is_valued {
            return Err(PolicyDenial::new(
                format!("xcodebuild test with {}", shown(word)),
                accepted,
            ));
        }
    }
    Ok(())
}

/// Removes options with a value of the runner's own, attached or next.
fn without_own_values(words: &[StepWord]) -> Vec<StepWord> {
    let has_own = |option: &str, value: &str| {
        let row = OWN_VALUES
            .iter()
            .find(|(options, _)| options.split('|').any(|known| known == option));
        row.is_some_and(|(_, values)| values.contains(&value))
    };
    let mut left = Vec::new();
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        let StepWord::Literal(text) = word else {
            left.push(word.clone());
            continue;
        };
        let is_attached = text
            .split_once('=')
            .is_some_and(|(option, value)| has_own(option, value));
        if is_attached {
            continue;
        }
        match after.split_first() {
            Some((StepWord::Literal(value), behind)) if has_own(text, value) => rest = behind,
            _ => left.push(word.clone()),
        }
    }
    left
}

/// Whether a path stays below the working directory.
fn stays_here(path: &str) -> bool {
    !path.starts_with(['/', '~']) && path.split('/').all(|name| name != "..")
}

/// What follows the word `test`, which must come first.
fn after_test<'a>(
    program: &str,
    arguments: &'a [StepWord],
    accepted: &'static str,
) -> Result<&'a [StepWord], PolicyDenial> {
    match arguments.split_first() {
        Some((StepWord::Literal(word), rest)) if word == "test" => Ok(rest),
        _ => Err(PolicyDenial::new(
            format!("{program} without test as its first word"),
            accepted,
        )),
    }
}
