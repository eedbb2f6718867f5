//! `no_git_clean`: deletes untracked files.

use super::git::GitCall;
use super::options::{has_short, is_long, last_of};
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_git_clean",
    denies: "asks about git clean -f",
    message: "git clean -f permanently deletes files that were never committed",
    instead: "Look with git clean -n first, then remove files by name",
    example: "git clean -fdx",
    judge: RuleJudge::Each(&[Concern::Git {
        subcommands: &["clean"],
        judge,
    }]),
};

fn judge(call: &GitCall<'_>) -> Decision {
    let words = call.arguments.as_ref();
    let end = words.iter().position(|word| word.is("--"));
    let options = words.get(..end.unwrap_or(words.len())).unwrap_or_default();
    let has = |word: &Word, letter: &str, long: &str| {
        has_short(word, letter, "e") || is_long(word, long, 1)
    };
    let off = |word: &Word, long: &str| is_long(word, long, 4);
    let is_dry = last_of(
        options,
        |word| has(word, "n", "dry-run"),
        |word| off(word, "no-dry-run"),
    );
    let by_option = last_of(
        options,
        |word| has(word, "f", "force"),
        |word| off(word, "no-force"),
    );
    let asks_itself = options.iter().any(|word| has(word, "i", "interactive"));
    let no_need = call.settings.iter().any(|(key, value)| {
        key.eq_ignore_ascii_case("clean.requireforce")
            && matches!(value.as_str(), "false" | "0" | "no")
    });
    // One file that is named is what was meant.
    let operands: Vec<&Word> = super::options::operands(words).collect();
    let is_one_file = |word: &&Word| {
        let text = word.known().unwrap_or_default();
        text.contains('.') && !text.ends_with('/') && !matches!(text, "." | "..")
    };
    let names_files = !operands.is_empty()
        && operands.iter().all(is_one_file)
        && !options.iter().any(|word| has_short(word, "dxX", "e"));
    Decision::ask_if((by_option || no_need) && !is_dry && !asks_itself && !names_files)
}
