//! `no_dd_to_device`: dd and its like overwrite a device.

use super::concern::ProgramCall;
use super::no_dangerous_rm::resolved;
use super::no_system_writes::is_harmless_device;
use super::{Concern, Decision, Rule, RuleJudge, trees};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_dd_to_device",
    denies: "dd of=/dev/…, except /dev/null and similar; pv, dcfldd, ddrescue likewise",
    message: "this overwrites a device and destroys what is on it",
    instead: "Write to a regular file: dd of=disk.img",
    example: "dd if=/dev/zero of=/dev/sda",
    judge: RuleJudge::Each(&[
        Concern::Programs {
            names: &["dd", "gdd", "dcfldd", "dc3dd"],
            judge,
        },
        Concern::Programs {
            names: &[
                "ddrescue",
                "dd_rescue",
                "partclone.*",
                "fsarchiver",
                "qemu-img",
                "badblocks",
                "hdparm",
            ],
            judge: |call| {
                let writes = match call.command.name() {
                    Some("badblocks") => has_any(call.words, &["-w", "-n"]),
                    Some("hdparm") => {
                        begins(call.words, "--security-erase") || begins(call.words, "--make-bad")
                    }
                    _ => true,
                };
                let last = call
                    .words
                    .iter()
                    .rev()
                    .filter_map(Word::known)
                    .find(|text| !text.starts_with('-'));
                Decision::deny_if(writes && last.is_some_and(is_device))
            },
        },
    ]),
};

fn judge(call: &ProgramCall<'_>) -> Decision {
    let decisions = call.words.iter().map(|word| {
        let text = word.known_beginning();
        let Some(target) = text.strip_prefix("of=") else {
            return Decision::Allow;
        };
        if is_device(target) {
            return Decision::Deny;
        }
        let target = Word::of(target, word.span);
        trees::of_file(&resolved(call, &target))
    });
    decisions.max().unwrap_or(Decision::Allow)
}

/// Whether a path is a device that has something to lose.
pub(super) fn is_device(path: &str) -> bool {
    let path = path.replace("//", "/").replace("/./", "/");
    path.starts_with("/dev/") && !is_harmless_device(&path)
}

fn has_any(words: &[Word], options: &[&str]) -> bool {
    let mut known = words.iter().filter_map(Word::known);
    known.any(|text| options.contains(&text))
}

fn begins(words: &[Word], beginning: &str) -> bool {
    words
        .iter()
        .any(|word| word.known_beginning().starts_with(beginning))
}
