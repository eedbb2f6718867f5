//! `no_tree_replaced`: moves a tree away, empties it by a copy, or shreds what is in it.

use super::concern::ProgramCall;
use super::no_dangerous_rm::resolved;
use super::options::{has_short, is_long, operands};
use super::paths::{Path, PathStart, matches_all_names};
use super::tool_rows::asks;
use super::{Concern, Decision, Rule, RuleJudge, trees};
use crate::script::{RedirectOperator, ScriptText, Word, WordPart};

pub(super) const RULE: Rule = Rule {
    name: "no_tree_replaced",
    denies: "mv of the system or a home, rsync --delete over them, shred and truncate of everything; asks about keys and about what is here",
    message: "this would move, empty or overwrite part of the system, a home or everything here",
    instead: "Name one file or directory by its path",
    example: "mv ~ /dev/null",
    judge: RuleJudge::Each(&[
        Concern::Programs {
            names: &["mv", "gmv"],
            judge: mv,
        },
        Concern::Programs {
            names: &["rsync"],
            judge: rsync,
        },
        Concern::Programs {
            names: &["rclone"],
            judge: rclone,
        },
        Concern::Programs {
            names: &["shred", "gshred"],
            judge: shred,
        },
        Concern::Tools(&[asks(&["bleachbit"], "").with(&["-s", "--shred"])]),
        Concern::Programs {
            names: &["truncate", "gtruncate", "sponge"],
            judge: |call| {
                let decisions = operands(call.words).map(|word| {
                    let path = resolved(call, word);
                    trees::of_file(&path).max(Decision::ask_if(is_all_here(&path)))
                });
                decisions.max().unwrap_or(Decision::Allow)
            },
        },
        // `for f in *; do > "$f"; done`
        Concern::Written(|redirect, directory| {
            let empties = matches!(
                redirect.operator,
                RedirectOperator::Write | RedirectOperator::Clobber | RedirectOperator::WriteBoth
            );
            let is_all = || is_all_here(&directory.resolve(Path::of(&redirect.target)));
            Decision::ask_if(empties && redirect.target.has_glob() && is_all())
        }),
        Concern::Programs {
            names: &["sed", "gsed"],
            judge: |call| {
                let edits = |word: &Word| {
                    has_short(word, "i", "efl") || word.known_beginning().starts_with("--in-place")
                };
                let mut words = operands(call.words);
                let deletes_all = words
                    .next()
                    .is_some_and(|word| word.is("d") || word.is("1,$d"));
                let is_all = |word: &Word| is_all_here(&resolved(call, word));
                Decision::ask_if(deletes_all && call.words.iter().any(edits) && words.any(is_all))
            },
        },
        Concern::Programs {
            names: &["cp", "gcp", "ln", "install"],
            judge: copies_nothing,
        },
        Concern::Programs {
            names: &["rename", "prename", "file-rename", "mmv"],
            judge: |call| {
                let names = operands(call.words).skip(1);
                let names = names.map(|word| trees::of_removal(&resolved(call, word)));
                Decision::deny_if(names.max() == Some(Decision::Deny))
            },
        },
        Concern::Programs {
            names: &["tar", "gtar", "bsdtar"],
            judge: extracts,
        },
        Concern::Programs {
            names: &["tar", "gtar", "zip", "7z"],
            judge: |call| {
                let removes = |word: &Word| {
                    matches!(word.known(), Some("--remove-files" | "-sdel"))
                        || matches!(call.command.name(), Some("zip")) && has_short(word, "m", "")
                };
                let is_tree = |word: &Word| trees::is_tree(&resolved(call, word));
                Decision::deny_if(
                    call.words.iter().any(removes) && operands(call.words).any(is_tree),
                )
            },
        },
    ]),
};

/// `tar x -C /`: what an archive has in it replaces what is there.
fn extracts(call: &ProgramCall<'_>) -> Decision {
    let first = call.words.first().and_then(Word::known).unwrap_or_default();
    let is_bundle = !first.starts_with('-') && first.contains('x') && first.len() < 8;
    let is_extract = |word: &Word| has_short(word, "x", "fCTX") || is_long(word, "extract", 3);
    if !is_bundle && !call.words.iter().any(is_extract) {
        return Decision::Allow;
    }
    let targets = call.words.iter().enumerate().filter_map(|(at, word)| {
        let text = word.known_beginning();
        if matches!(text, "-C" | "--directory") {
            return call.words.get(at + 1).cloned();
        }
        let target = text.strip_prefix("--directory=");
        let target = target.or_else(|| text.strip_prefix("-C"))?;
        Some(Word::of(target, word.span))
    });
    let is_system = |word: Word| {
        let path = resolved(call, &word);
        let names: Vec<&str> = path.components.iter().map(ScriptText::as_str).collect();
        let top = matches!(
            names.as_slice(),
            [] | ["etc" | "usr" | "bin" | "sbin" | "lib" | "boot" | "var"] | ["usr", "bin" | "lib"]
        );
        path.start == PathStart::Root && top
    };
    Decision::ask_if(targets.into_iter().any(is_system))
}

const NOWHERE: &str = "/dev/null";

fn mv(call: &ProgramCall<'_>) -> Decision {
    let mut operands: Vec<&Word> = operands(call.words).collect();
    let by_option = call.words.windows(2).find_map(|pair| match pair {
        [option, target] if option.is("-t") => Some(target),
        _ => None,
    });
    let target = by_option.or_else(|| operands.pop());
    let to_nowhere = target.is_some_and(|word| word.is(NOWHERE));
    let sources = operands.iter().filter(|word| Some(**word) != by_option);
    let decisions = sources.map(|word| {
        let path = resolved(call, word);
        let whole = trees::of_removal(&path);
        match (whole, to_nowhere) {
            // Everything here may well move elsewhere.
            (Decision::Deny, _) | (_, true) => Decision::Deny,
            _ => {
                let is_history = path.components.last().is_some_and(|last| last == ".git");
                Decision::ask_if(is_history || trees::of_file(&path) == Decision::Deny)
            }
        }
    });
    decisions.max().unwrap_or(Decision::Allow)
}

/// `rsync -a --delete empty/ /`
fn rsync(call: &ProgramCall<'_>) -> Decision {
    let deletes = |word: &Word| {
        let text = word.known_beginning();
        text.starts_with("--delete") || text.starts_with("--del") || text == "--remove-source-files"
    };
    let is_dry = |word: &Word| has_short(word, "n", "efMBT") || is_long(word, "dry-run", 3);
    if !call.words.iter().any(deletes) || call.words.iter().any(is_dry) {
        return Decision::Allow;
    }
    let Some(target) = operands(call.words).last() else {
        return Decision::Allow;
    };
    let sources = operands(call.words).count().saturating_sub(1);
    let mut sources = operands(call.words).take(sources);
    let takes = call
        .words
        .iter()
        .any(|word| word.is("--remove-source-files"));
    if takes && sources.any(|word| trees::is_tree(&resolved(call, word))) {
        return Decision::Deny;
    }
    let path = resolved(call, target);
    let source = operands(call.words).next();
    let is_empty = source
        .and_then(Word::known)
        .is_some_and(|text| text.contains("empty") || text.starts_with("/dev/"));
    // `host:/` is a tree of that host.
    let elsewhere = target.known().and_then(|text| text.split_once(':'));
    let remote = elsewhere.is_some_and(|(_, path)| {
        matches!(
            path.trim_end_matches('/'),
            "" | "/etc" | "/usr" | "/var" | "/home" | "/root" | "~"
        )
    });
    match trees::of_removal(&path) {
        Decision::Deny => Decision::Deny,
        _ if remote => Decision::Deny,
        // An empty directory as the source empties the target.
        _ if is_empty => Decision::ask_if(
            path.start != PathStart::Root || path.components.first().is_none_or(|top| top != "tmp"),
        ),
        _ => Decision::Allow,
    }
}

fn rclone(call: &ProgramCall<'_>) -> Decision {
    let verb = call
        .words
        .iter()
        .filter_map(Word::known)
        .find(|text| !text.starts_with('-'));
    let is_dry =
        |word: &Word| has_short(word, "n", "") || word.is("--dry-run") || has_short(word, "i", "");
    let empties = matches!(verb, Some("sync"))
        && call
            .words
            .iter()
            .any(|word| word.known_beginning().ends_with("/empty"));
    let loses = empties || matches!(verb, Some("purge" | "delete" | "cleanup" | "rmdirs"));
    Decision::ask_if(loses && !call.words.iter().any(is_dry))
}

fn shred(call: &ProgramCall<'_>) -> Decision {
    let only_shows = |word: &Word| word.is("--help") || word.is("--version");
    if call.words.iter().any(only_shows) {
        return Decision::Allow;
    }
    let decisions = operands(call.words).map(|word| {
        let path = resolved(call, word);
        let all_here = is_all_here(&path);
        let file = trees::of_file(&path);
        let unknown = word
            .parts
            .iter()
            .any(|part| matches!(part, WordPart::Unknown { .. }));
        let device = word.known_beginning().starts_with("/dev/");
        if device {
            return Decision::Deny;
        }
        file.max(trees::of_removal(&path))
            .max(Decision::ask_if(all_here || unknown))
    });
    decisions.max().unwrap_or(Decision::Allow)
}

/// Whether a path is every file of a directory.
fn is_all_here(path: &Path) -> bool {
    let last = path.components.last();
    path.start != PathStart::Unknown && last.is_some_and(|name| matches_all_names(name))
}

/// `cp /dev/null FILE`, `ln -sf /dev/null FILE`
fn copies_nothing(call: &ProgramCall<'_>) -> Decision {
    let operands: Vec<&Word> = operands(call.words).collect();
    let Some((target, sources)) = operands.split_last() else {
        return Decision::Allow;
    };
    if !sources
        .iter()
        .any(|word| matches!(word.known(), Some(NOWHERE | "/dev/zero" | "/dev/urandom")))
    {
        return Decision::Allow;
    }
    let path = resolved(call, target);
    trees::of_file(&path).max(trees::of_removal(&path))
}
