//! `bashd hook`: the guard in front of a shell tool that is not ours, one file per protocol.
//!
//! Agents take most failures of a hook for consent, so a hook that fails lets everything pass. Ours
//! must not: whatever goes wrong ends with a denial, a question to the user, or status 2.

mod by_status;
mod cline;
mod cursor;
mod event;
mod gemini;
mod nested;

use crate::args::HookOptions;
use crate::exit_status::ExitStatus;
use crate::failure::Failure;
use crate::print::Printer;
use crate::settings::ConfigInForce;
use clap::ValueEnum;
use event::{EventJudge, HeardEvent};
use serde_json::Value;
use std::ffi::OsString;

/// An agent whose hooks we can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookedAgent {
    ClaudeCode,
    Codex,
    Gemini,
    Qwen,
    Cursor,
    Cline,
    Opencode,
    Crush,
    Openhands,
}

/// What the agent is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HookAnswer {
    /// No objection; the agent decides as it would without us.
    NoObjection,
    /// The user decides, for this reason.
    Ask(HookQuestion),
    /// It does not run, for this reason.
    Deny(String),
    /// We could not judge it, for this reason.
    Unjudged(String),
    /// Not an event that can be decided, for this reason: the configuration is wrong.
    WrongEvent(String),
}

/// A rule wants a person's approval.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HookQuestion {
    pub(crate) rule: String,
    pub(crate) message: String,
}

impl HookQuestion {
    /// For agents that can ask.
    fn reason(&self) -> String {
        format!("{}: {}", self.rule, self.message)
    }

    /// For agents that can't ask: the same, and how a person allows it.
    fn denial(&self) -> String {
        let rule = &self.rule;
        let message = self.message.trim_end_matches('.');
        let setting = if bashd::guard::rule(rule).is_some() {
            format!("sets guard.disable = [\"{rule}\"] in bashd's config.toml")
        } else {
            format!("changes the rule {rule} in bashd's config.toml")
        };
        format!(
            "{rule}: {message}. This needs a person's approval, and a hook can't ask here. To allow \
             it, a person runs the same text with `bashd run` in a terminal and answers `always`, \
             or {setting}"
        )
    }
}

/// How an agent speaks to its hooks.
struct HookProtocol {
    /// Finds the commands in an event.
    hear: fn(&Value) -> HeardEvent,
    /// Puts an answer into the agent's form.
    say: fn(&HookAnswer) -> HookSpeech,
}

/// An answer in an agent's form.
#[derive(Debug, PartialEq, Eq)]
enum HookSpeech {
    /// Nothing, with success.
    Silence,
    /// JSON on stdout, with success.
    Json(Value),
    /// Text on stderr, with status 2.
    Blocked(String),
}

impl HookedAgent {
    fn protocol(self) -> HookProtocol {
        match self {
            Self::ClaudeCode => nested::CLAUDE_CODE,
            Self::Codex => nested::CODEX,
            Self::Qwen => nested::QWEN,
            Self::Gemini => gemini::PROTOCOL,
            Self::Cursor => cursor::PROTOCOL,
            Self::Cline => cline::PROTOCOL,
            Self::Opencode => by_status::OPENCODE,
            Self::Crush | Self::Openhands => by_status::TOOL_EVENTS,
        }
    }

    /// The name on the command line.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Answers the event on stdin.
pub(crate) fn answer_event(
    arguments: &HookOptions,
    settings: &dyn Fn() -> Result<ConfigInForce, Failure>,
    printer: &Printer,
) -> ExitStatus {
    let protocol = arguments.agent.protocol();
    let judge = EventJudge::of(arguments, settings);
    let answer = match event::read(std::io::stdin().lock()) {
        Ok(event) => judge.answer((protocol.hear)(&event)),
        Err(reason) => HookAnswer::Unjudged(reason),
    };
    tell((protocol.say)(&answer), printer)
}

fn tell(speech: HookSpeech, printer: &Printer) -> ExitStatus {
    match speech {
        HookSpeech::Silence => ExitStatus::Success,
        HookSpeech::Json(answer) => {
            if printer.out(&format!("{answer}\n")).is_ok() {
                return ExitStatus::Success;
            }
            Printer::err("bashd could not write its answer, so the command is blocked\n");
            ExitStatus::Blocked
        }
        HookSpeech::Blocked(reason) => {
            Printer::err(&format!("{reason}\n"));
            ExitStatus::Blocked
        }
    }
}

/// Options before the subcommand that take the next word.
const WITH_VALUE: [&str; 3] = ["--config", "--set", "--color"];

/// Whether the command line asks for a hook, however wrong the rest of it is.
pub(crate) fn is_asked(arguments: impl Iterator<Item = OsString>) -> bool {
    subcommand(arguments).is_some()
}

/// What follows the word `hook`, if that is the subcommand.
fn subcommand(
    mut arguments: impl Iterator<Item = OsString>,
) -> Option<impl Iterator<Item = OsString>> {
    let mut is_value = false;
    while let Some(argument) = arguments.next() {
        if is_value {
            is_value = false;
        } else if WITH_VALUE.iter().any(|option| argument == *option) {
            is_value = true;
        } else if !argument.as_encoded_bytes().starts_with(b"-") {
            return (argument == "hook").then_some(arguments);
        }
    }
    None
}

/// Blocks a hook's command line that we do not understand: its agent may look only at stdout.
pub(crate) fn block_misused(arguments: impl Iterator<Item = OsString>, printer: &Printer) {
    let reason = "bashd's hook is called in a wrong way, so the command is blocked";
    if let Some(mut words) = subcommand(arguments)
        && words.any(|word| word == "cline")
        && let HookSpeech::Json(answer) = cline::say(&HookAnswer::Deny(reason.to_owned()))
    {
        // If even this can't be written, there is no other way to say it.
        let _ = printer.out(&format!("{answer}\n"));
    }
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
    fn only_what_has_no_objection_is_passed_by_any_protocol() {
        let question = HookQuestion {
            rule: "r".to_owned(),
            message: "m.".to_owned(),
        };
        let objections = [
            HookAnswer::Ask(question),
            HookAnswer::Deny("no".to_owned()),
            HookAnswer::Unjudged("broken".to_owned()),
            HookAnswer::WrongEvent("wrong".to_owned()),
        ];
        for agent in HookedAgent::value_variants() {
            let say = agent.protocol().say;
            for objection in &objections {
                let said = match say(objection) {
                    HookSpeech::Silence => panic!("{agent:?} passes {objection:?}"),
                    HookSpeech::Json(answer) => answer.to_string(),
                    HookSpeech::Blocked(reason) => reason,
                };
                // Some agents take an objection without a reason for consent.
                assert!(!said.is_empty() && !said.contains("\"\""), "{said}");
                assert!(!said.contains("allow\""), "{said}");
            }
        }
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
