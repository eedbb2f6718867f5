//! A script by the name of the command whose output counts, for lists by command.

use super::invocation::Invocation;
use super::{reading, words};
use bashd_script::script::Script;

/// Programs whose first operand says what they do.
const WITH_SUBCOMMANDS: &str = "ansible-galaxy apt apt-get brew bun cargo docker git go helm kubectl npm pip pnpm podman \
                                poetry ruff rustup systemctl terraform tofu uv yarn";

/// The program whose output counts, and its subcommand; `several` if there are more, `other` if it
/// is unknown.
pub fn command_name(script: &str) -> String {
    let Ok(reading) = reading::read(&Script::parse(script)) else {
        return "other".to_owned();
    };
    let mut titles: Vec<String> = reading.commands.iter().map(title).collect();
    titles.dedup();
    match titles.as_slice() {
        [] => "other".to_owned(),
        [title] => title.clone(),
        _ => "several".to_owned(),
    }
}

fn title(command: &Invocation) -> String {
    let subcommand = command.subcommand();
    let is_word = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    };
    let has_subcommands = words::has(WITH_SUBCOMMANDS, &command.program);
    if has_subcommands && !subcommand.is_empty() && is_word(subcommand) {
        format!("{} {subcommand}", command.program)
    } else {
        command.program.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_named() {
        for (script, name) in [
            ("cd x && cargo +nightly test --lib", "cargo test"),
            ("npx jest a b", "jest"),
            ("grep -rn x src", "grep"),
            ("git log; git log -3", "git log"),
            ("git log; cargo test", "several"),
            ("$X y", "other"),
        ] {
            assert_eq!(command_name(script), name, "{script}");
        }
    }
}
