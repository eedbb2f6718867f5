//! `no_force_push`: overwrites or deletes history that others have.

use super::git::GitCall;
use super::options::{has_short, is_long};
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::Word;

const SUBCOMMANDS: &[&str] = &["push", "send-pack", "http-push"];

/// Also what deletes: nobody else has it then.
pub(super) const RULE: Rule = Rule {
    name: "no_force_push",
    denies: "asks about git push with --force, --mirror, --delete, --prune, a +refspec or a :branch",
    message: "this push overwrites or deletes branches that others may have",
    instead: "Use git push --force-with-lease, or push without force",
    example: "git push --force origin main",
    judge: RuleJudge::Each(&[
        Concern::Git {
            subcommands: SUBCOMMANDS,
            judge: |call| Decision::ask_if(loses(call)),
        },
        // Pushes that a setting makes forced are so with every later push.
        Concern::Git {
            subcommands: &["config"],
            judge: |call| Decision::ask_if(sets_force(&call.arguments)),
        },
    ]),
};

/// The document's words and denials.
pub(super) const DOCUMENTED: Rule = Rule {
    name: "no_force_push",
    denies: "git push with --force, -f, --mirror or a +refspec",
    message: "permission denied: git push --force is not allowed. Use --force-with-lease for safer force pushes, or push without force",
    instead: "",
    example: "git push --force origin main",
    judge: RuleJudge::Each(&[Concern::Git {
        subcommands: SUBCOMMANDS,
        judge: |call| {
            let push = read(&call.arguments);
            Decision::deny_if(!push.is_dry && (push.is_forced || forced_by_settings(call)))
        },
    }]),
};

/// Options whose value is the next word.
const WITH_VALUE: [&str; 6] = [
    "-o",
    "--push-option",
    "--repo",
    "--receive-pack",
    "--exec",
    "--recurse-submodules",
];

/// What the words of a push say; of an option and its negation the last counts.
#[derive(Default)]
struct PushWords {
    is_forced: bool,
    deletes: bool,
    is_dry: bool,
}

fn read(words: &[Word]) -> PushWords {
    let mut push = PushWords::default();
    let (mut by_option, mut by_mirror, mut by_ref) = (false, false, false);
    let (mut by_delete, mut by_prune, mut by_empty) = (false, false, false);
    let mut options_end = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        by_ref |= word.known_beginning().starts_with('+');
        by_empty |= is_deleting_ref(word);
        if options_end {
            continue;
        }
        if word.known().is_some_and(|text| WITH_VALUE.contains(&text)) {
            words.next();
        } else if has_short(word, "n", "o") || is_long(word, "dry-run", 2) {
            push.is_dry = true;
        } else if is_long(word, "no-dry-run", 4) {
            push.is_dry = false;
        } else if has_short(word, "f", "o") || is_long(word, "force", 2) {
            by_option = true;
            by_delete |= has_short(word, "d", "o");
        } else if is_long(word, "no-force", 5) {
            by_option = false;
        } else if is_long(word, "mirror", 1) {
            by_mirror = true;
        } else if is_long(word, "no-mirror", 4) {
            by_mirror = false;
        } else if has_short(word, "d", "o") || is_long(word, "delete", 2) {
            by_delete = true;
        } else if is_long(word, "no-delete", 4) {
            by_delete = false;
        } else if is_long(word, "prune", 2) {
            by_prune = true;
        } else if is_long(word, "no-prune", 4) {
            by_prune = false;
        } else {
            options_end = word.is("--");
        }
    }
    push.is_forced = by_option || by_mirror || by_ref;
    push.deletes = by_delete || by_prune || by_empty;
    push
}

/// `:branch`; a lone `:` pushes what both sides have.
fn is_deleting_ref(word: &Word) -> bool {
    let text = word.known_beginning();
    text.starts_with(':') && (text.len() > 1 || word.parts.len() > 1)
}

fn loses(call: &GitCall<'_>) -> bool {
    let push = read(&call.arguments);
    !push.is_dry && (push.is_forced || push.deletes || forced_by_settings(call))
}

/// Whether a setting for this one call makes the push forced.
fn forced_by_settings(call: &GitCall<'_>) -> bool {
    call.settings
        .iter()
        .any(|(key, value)| is_forcing(key, value))
}

fn is_forcing(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let Some(name) = key.strip_prefix("remote.") else {
        return false;
    };
    let is_true = !matches!(
        value.to_ascii_lowercase().as_str(),
        "false" | "no" | "off" | "0"
    );
    let key = name.rsplit('.').next();
    key == Some("mirror") && is_true
        || key == Some("push") && (value.starts_with('+') || value.starts_with(':'))
}

/// `git config remote.origin.mirror true`
fn sets_force(words: &[Word]) -> bool {
    let words: Vec<&str> = words.iter().filter_map(Word::known).collect();
    words
        .windows(2)
        .any(|pair| matches!(pair, [key, value] if is_forcing(key, value)))
}
