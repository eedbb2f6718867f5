//! `no_recursive_chmod`: changes permissions or ownership of the system or a home.

use super::concern::ProgramCall;
use super::no_dangerous_rm::resolved;
use super::options::{has_short, is_long, operands};
use super::paths::PathStart;
use super::{Concern, Decision, Rule, RuleJudge, trees};
use crate::script::{ScriptText, Word};

pub(super) const RULE: Rule = Rule {
    name: "no_recursive_chmod",
    denies: "chmod, chown, chgrp, chattr or setfacl -R on /, a part of the system or a home",
    message: "this changes permissions or owners of part of the system or a whole home, which can't be undone",
    instead: "Name a directory below the project or the home",
    example: "chmod -R 777 /",
    judge: RuleJudge::Each(&[
        Concern::Programs {
            names: &["find", "gfind"],
            judge: by_find,
        },
        Concern::Programs {
            names: &[
                "chmod", "chown", "chgrp", "chattr", "setfacl", "gchmod", "gchown", "chcon",
            ],
            judge,
        },
    ]),
};

fn judge(call: &ProgramCall<'_>) -> Decision {
    let is_recursive = |word: &Word| has_short(word, "R", "") || is_long(word, "recursive", 3);
    let recursive = call.words.iter().any(is_recursive);
    let is_home = |word: &Word| {
        let path = resolved(call, word);
        let is_below = |name: &str| path.components.first().is_some_and(|first| first == name);
        // A tree below these is installed by hand, and often made one's own.
        let own = path.start == PathStart::Root
            && (path
                .components
                .iter()
                .map(ScriptText::as_str)
                .eq(["usr", "local"])
                || is_below("opt")
                || is_below("srv"))
            && !path.components.is_empty();
        !own && trees::is_tree(&path)
    };
    if recursive {
        return Decision::deny_if(operands(call.words).any(is_home));
    }
    // Without -R one directory is enough to lock everybody out.
    let locks = call.words.iter().filter_map(Word::known).any(|text| {
        matches!(
            text,
            "000"
                | "0000"
                | "0"
                | "a-rwx"
                | "-rwx"
                | "a-x"
                | "-x"
                | "777"
                | "0777"
                | "a+rwx"
                | "666"
                | "a+w"
                | "o+w"
        )
    });
    let is_critical = |word: &Word| {
        let path = resolved(call, word);
        let is_etc = path
            .components
            .first()
            .is_some_and(|top| matches!(top.as_str(), "etc" | "bin" | "usr" | "lib" | "boot"));
        path.start == PathStart::Root
            && (path.components.is_empty() || is_etc && trees::is_critical(&path))
    };
    Decision::deny_if(locks && operands(call.words).any(is_critical))
}

/// `find / -exec chmod 777 {} +`
fn by_find(call: &ProgramCall<'_>) -> Decision {
    let changes = |pair: &[Word]| {
        let is_exec = |word: &Word| matches!(word.known(), Some("-exec" | "-execdir"));
        let is_change =
            |word: &Word| matches!(word.known(), Some("chmod" | "chown" | "chgrp" | "chattr"));
        matches!(pair, [exec, program] if is_exec(exec) && is_change(program))
    };
    if !call.words.windows(2).any(changes) {
        return Decision::Allow;
    }
    let starts = call.words.iter();
    let mut starts = starts.take_while(|word| !word.known_beginning().starts_with(['-', '(', '!']));
    Decision::deny_if(starts.any(|word| trees::is_tree(&resolved(call, word))))
}
