//! `no_find_delete`: find deletes across the whole system or a whole home.

use super::paths::Path;
use super::{Concern, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_find_delete",
    denies: "find with -delete or -exec rm in / or a home directory",
    message: "permission denied: deleting with find in / or a home directory is not allowed. Name a subdirectory",
    judge: RuleJudge::Each(&[Concern::Programs {
        names: &["find", "gfind"],
        offends,
    }]),
};

fn offends(words: &[Word]) -> bool {
    let is_option = |word: &&Word| matches!(word.known(), Some("-H" | "-L" | "-P"));
    let starts = words.iter().skip_while(is_option);
    let mut starts = starts.take_while(|word| !word.known_beginning().starts_with(['-', '(', '!']));
    let everywhere = starts.any(|word| {
        let path = Path::of(word);
        path.is_root() || path.is_home()
    });
    everywhere && (words.iter().any(|word| word.is("-delete")) || runs_rm(words))
}

fn runs_rm(words: &[Word]) -> bool {
    let is_exec =
        |word: &Word| matches!(word.known(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
    words.windows(2).any(|pair| {
        let [exec, program] = pair else { return false };
        let program = program
            .known()
            .and_then(|program| program.rsplit('/').next());
        is_exec(exec) && matches!(program, Some("rm" | "shred" | "unlink"))
    })
}
