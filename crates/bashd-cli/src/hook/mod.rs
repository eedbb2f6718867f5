//! `bashd hook`: the guard in front of a shell tool that is not ours, one file per agent.
//!
//! Agents take any status of a hook except 2 for consent, so a hook that fails lets everything
//! pass. Ours must not: whatever goes wrong ends with a question to the user, or with status 2.

pub(crate) mod claude_code;

use crate::exit_status::ExitStatus;
use crate::print::Printer;
use std::ffi::OsString;

/// Options before the subcommand that take the next word.
const WITH_VALUE: [&str; 3] = ["--config", "--set", "--color"];

/// Whether the command line asks for a hook, however wrong the rest of it is.
pub(crate) fn is_asked(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut is_value = false;
    for argument in arguments {
        if is_value {
            is_value = false;
        } else if WITH_VALUE.iter().any(|option| argument == *option) {
            is_value = true;
        } else if !argument.as_encoded_bytes().starts_with(b"-") {
            return argument == "hook";
        }
    }
    false
}

/// From here on a panic blocks the command; elsewhere it aborts.
#[expect(
    clippy::exit,
    reason = "a panic can't be returned, and its own status would be consent"
)]
pub(crate) fn block_on_panic() {
    on_panic(|status| std::process::exit(i32::from(status.number())));
}

/// Prints every panic, then ends the process in this way.
fn on_panic(end: impl Fn(ExitStatus) + Send + Sync + 'static) {
    std::panic::set_hook(Box::new(move |panic| {
        Printer::err(&format!(
            "bashd failed, so the command is blocked: {panic}\n"
        ));
        end(ExitStatus::Blocked);
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Everywhere;
    use clap::Args;
    use std::sync::atomic::{AtomicU8, Ordering};

    #[test]
    fn a_hook_is_recognized_before_its_arguments_are_understood() {
        let asked = |line: &str| is_asked(line.split_whitespace().map(OsString::from));
        for line in [
            "hook",
            "hook claude-code --nonsense",
            "--config f hook x",
            "--set a=b --color=never hook",
        ] {
            assert!(asked(line), "{line}");
        }
        for line in [
            "",
            "run hook",
            "--config hook run x",
            "check hook",
            "--help",
        ] {
            assert!(!asked(line), "{line}");
        }
    }

    #[test]
    fn the_options_that_take_a_word_are_those_of_the_command_line() {
        let options = Everywhere::augment_args(clap::Command::default());
        let with_value = options
            .get_arguments()
            .filter(|option| option.get_action().takes_values())
            .filter_map(|option| option.get_long());
        let with_value: Vec<String> = with_value.map(|name| format!("--{name}")).collect();
        assert_eq!(with_value, WITH_VALUE);
    }

    #[test]
    fn a_panic_blocks() {
        static STATUS: AtomicU8 = AtomicU8::new(0);
        on_panic(|status| STATUS.store(status.number(), Ordering::SeqCst));
        let panicked = std::panic::catch_unwind(|| panic!("a defect of ours"));
        drop(std::panic::take_hook());
        assert!(panicked.is_err());
        assert_eq!(STATUS.load(Ordering::SeqCst), 2);
    }
}
