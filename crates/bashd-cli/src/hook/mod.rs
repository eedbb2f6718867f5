//! `bashd hook`: the guard in front of a shell tool that is not ours, one file an agent.
//!
//! Agents take any status of a hook but 2 for consent, so that a hook that fails lets everything pass.
//! Ours must not: whatever goes wrong ends with a question to the user, or with status 2.

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

/// From here on a panic, which elsewhere aborts, blocks.
#[expect(
    clippy::exit,
    reason = "a panic can't be returned, and its own status would be consent"
)]
pub(crate) fn block_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        Printer::err(&format!(
            "bashd failed, so the command is blocked: {panic}\n"
        ));
        std::process::exit(i32::from(ExitStatus::Blocked.number()));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

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
    #[ignore = "ends its process: `a_panic_blocks` runs it in one of its own"]
    fn panics_as_a_hook() {
        block_on_panic();
        panic!("a defect of ours");
    }

    #[test]
    fn a_panic_blocks() {
        let program = std::env::current_exe().unwrap();
        let arguments = [
            "--exact",
            "--ignored",
            "--nocapture",
            "hook::tests::panics_as_a_hook",
        ];
        let output = Command::new(program).args(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("a defect of ours"), "{stderr}");
    }
}
