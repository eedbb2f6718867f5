//! `no_disk_filling`: writes without end, until the disk is full.

use super::concern::ProgramCall;
use super::no_system_writes::is_harmless_device;
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::{Redirect, Word};

pub(super) const RULE: Rule = Rule {
    name: "no_disk_filling",
    denies: "asks about dd without count from an endless source, cat /dev/zero > FILE, yes > FILE",
    message: "this writes without end, until the disk is full",
    instead: "Set a limit: dd count=100, head -c 1M, truncate -s 1M FILE",
    example: "cat /dev/zero > fill",
    judge: RuleJudge::Each(&[
        Concern::Programs {
            names: &["dd", "gdd"],
            judge: |call| {
                let has = |beginning: &str| {
                    call.words
                        .iter()
                        .any(|word| word.known_beginning().starts_with(beginning))
                };
                let source = call
                    .words
                    .iter()
                    .filter_map(Word::known)
                    .find_map(|text| text.strip_prefix("if="));
                let target = call
                    .words
                    .iter()
                    .find_map(|word| word.known_beginning().strip_prefix("of="));
                let to_file = target.is_some_and(|target| !is_harmless_device(target));
                Decision::ask_if(source.is_some_and(is_endless) && to_file && !has("count="))
            },
        },
        Concern::Programs {
            names: &["cat"],
            judge: |call| {
                let reads = call.words.iter().filter_map(Word::known).any(is_endless);
                Decision::ask_if(reads && writes_file(call))
            },
        },
        Concern::Programs {
            names: &["cp"],
            judge: |call| {
                let first = call
                    .words
                    .iter()
                    .filter_map(Word::known)
                    .find(|text| !text.starts_with('-'));
                Decision::ask_if(first.is_some_and(is_endless))
            },
        },
        Concern::Programs {
            names: &["yes"],
            judge: |call| Decision::ask_if(writes_file(call)),
        },
        Concern::Programs {
            names: &["fallocate"],
            judge: |call| {
                let is_huge = |word: &Word| {
                    word.known().is_some_and(|text| {
                        text.trim_start_matches("-l").ends_with(['T', 'P', 'E'])
                            && text.chars().any(|c| c.is_ascii_digit())
                    })
                };
                Decision::ask_if(call.words.iter().any(is_huge))
            },
        },
    ]),
};

fn is_endless(path: &str) -> bool {
    matches!(path, "/dev/zero" | "/dev/urandom" | "/dev/random")
}

fn writes_file(call: &ProgramCall<'_>) -> bool {
    let is_file = |redirect: &Redirect| {
        redirect.operator.writes()
            && !redirect.target.known().is_some_and(is_harmless_device)
            && matches!(redirect.descriptor.as_deref(), None | Some("1"))
    };
    call.command.redirects.iter().any(is_file)
}
