//! `no_dd_to_device`: dd and its like overwrite a device.

use super::concern::ProgramCall;
use super::no_dangerous_rm::resolved;
use super::no_system_writes::is_harmless_device;
use super::options::has_short;
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
            names: &["socat"],
            judge: |call| {
                let last = call.words.last().map(Word::known_beginning);
                let file = last.and_then(|text| text.split_once(':'));
                let target = file.map(|(_, path)| path.split(',').next().unwrap_or_default());
                Decision::deny_if(target.is_some_and(is_device))
            },
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
                    Some("badblocks") => {
                        call.words.iter().any(|word| has_short(word, "wn", "btcdp"))
                    }
                    Some("hdparm") => ["--security-erase", "--make-bad", "--trim-sector"]
                        .iter()
                        .any(|option| begins(call.words, option)),
                    _ => true,
                };
                let is_operand = |text: &&str| {
                    !text.starts_with('-') && !text.bytes().all(|byte| byte.is_ascii_digit())
                };
                let mut operands = call.words.iter().filter_map(Word::known).filter(is_operand);
                let target = match call.command.name() {
                    // Behind the target stands the file in which it keeps what it has done.
                    Some("ddrescue") => operands.nth(1),
                    _ => operands.next_back(),
                };
                Decision::deny_if(writes && target.is_some_and(is_device))
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

fn begins(words: &[Word], beginning: &str) -> bool {
    words
        .iter()
        .any(|word| word.known_beginning().starts_with(beginning))
}
