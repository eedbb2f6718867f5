//! From an event on stdin to an answer, whatever agent it is for.

use super::{HookAnswer, HookQuestion};
use crate::args::HookOptions;
use crate::failure::Failure;
use crate::settings::ConfigInForce;
use bashd::Request;
use bashd::approval::Grants;
use bashd::guard::{Judgement, Verdict};
use bashd::rewrite::Command;
use serde_json::Value;
use std::io::Read;

/// Bytes of an event at most: no command line of the system is that long.
const MOST_BYTES: u64 = 16 << 20;

/// What an event is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeardEvent {
    /// These commands would be run.
    Commands(Vec<String>),
    /// A tool that runs no command.
    OtherTool,
    /// A shell tool whose command we can't find.
    NoCommand,
    /// Another event, or none that we know.
    Wrong(String),
}

impl HeardEvent {
    /// The call of a tool, whose input may have a command; that of a shell must have one.
    pub(super) fn call(tool: Option<&str>, shells: &[&str], input: Option<&Value>) -> Self {
        let command = input.and_then(|input| text(input, "command"));
        match (command, tool) {
            (_, None) => Self::NoCommand,
            (Some(command), Some(_)) => Self::Commands(vec![command.to_owned()]),
            (None, Some(tool)) if shells.contains(&tool) => Self::NoCommand,
            (None, Some(_)) => Self::OtherTool,
        }
    }
}

/// Reads a whole event, of a bounded size.
pub(super) fn read(input: impl Read) -> Result<Value, String> {
    let mut event = Vec::new();
    let read = input.take(MOST_BYTES + 1).read_to_end(&mut event);
    read.map_err(|error| format!("bashd could not read the event: {error}"))?;
    if event.len() as u64 > MOST_BYTES {
        return Err(format!(
            "bashd could not read the event: it is larger than {} MiB",
            MOST_BYTES >> 20
        ));
    }
    serde_json::from_slice(&event)
        .map_err(|error| format!("bashd could not read the event: {error}"))
}

/// A text field of an event.
pub(super) fn text<'a>(event: &'a Value, key: &str) -> Option<&'a str> {
    event.get(key).and_then(Value::as_str)
}

/// Judges one command.
type CommandJudge<'a> = dyn Fn(&str) -> Result<HookAnswer, Failure> + 'a;

/// By what the commands of an event are judged.
pub(super) struct EventJudge<'a> {
    judge: Box<CommandJudge<'a>>,
}

impl<'a> EventJudge<'a> {
    /// By the configuration, and the options of the hook's command line.
    pub(super) fn of(
        arguments: &'a HookOptions,
        settings: &'a dyn Fn() -> Result<ConfigInForce, Failure>,
    ) -> Self {
        Self {
            judge: Box::new(move |command| judge(command, arguments, settings)),
        }
    }

    /// The answer to an event: of several commands, the worst.
    pub(super) fn answer(&self, event: HeardEvent) -> HookAnswer {
        let commands = match event {
            HeardEvent::Commands(commands) => commands,
            HeardEvent::OtherTool => return HookAnswer::NoObjection,
            HeardEvent::NoCommand => {
                return HookAnswer::Unjudged("bashd found no command in the event".to_owned());
            }
            HeardEvent::Wrong(reason) => return HookAnswer::WrongEvent(reason),
        };
        let answers = commands.iter().map(|command| {
            (self.judge)(command).unwrap_or_else(|failure| {
                HookAnswer::Unjudged(format!("bashd could not judge the command: {failure}"))
            })
        });
        let severity = |answer: &HookAnswer| match answer {
            HookAnswer::NoObjection => 0,
            HookAnswer::Ask(_) => 1,
            HookAnswer::Unjudged(_) | HookAnswer::WrongEvent(_) => 2,
            HookAnswer::Deny(_) => 3,
        };
        answers
            .max_by_key(severity)
            .unwrap_or_else(|| HookAnswer::Unjudged("bashd found no command in the event".into()))
    }
}

fn judge(
    command: &str,
    arguments: &HookOptions,
    settings: &dyn Fn() -> Result<ConfigInForce, Failure>,
) -> Result<HookAnswer, Failure> {
    let settings = settings()?;
    let name = arguments
        .profile
        .as_ref()
        .unwrap_or(&settings.config.profile);
    let profile = settings.profile(name)?;
    let mut request = Request::new(command);
    arguments.judging.apply_to(&mut request);
    let judgement = settings
        .config
        .judge(&profile, &request, &Command::as_given(command));
    Ok(answer_of(judgement, &|rule| {
        is_granted(&settings, rule, command)
    }))
}

fn answer_of(judgement: Judgement, is_granted: &dyn Fn(&str) -> bool) -> HookAnswer {
    match judgement.verdict {
        Verdict::Allow => HookAnswer::NoObjection,
        Verdict::Ask(objection) if is_granted(&objection.rule) => HookAnswer::NoObjection,
        Verdict::Ask(objection) => HookAnswer::Ask(HookQuestion {
            rule: objection.rule,
            message: objection.message,
        }),
        Verdict::Deny(objection) => {
            HookAnswer::Deny(format!("{}: {}", objection.rule, objection.message))
        }
    }
}

/// Whether a person allowed exactly this for good. A command with secrets is asked about again.
fn is_granted(settings: &ConfigInForce, rule: &str, command: &str) -> bool {
    let grants = Grants::in_state(&settings.config.state_dir).list();
    grants.is_ok_and(|grants| {
        grants
            .iter()
            .any(|grant| grant.exact.is_none() && grant.rule == rule && grant.command == command)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;

    #[test]
    fn a_failure_is_no_consent() {
        let judging = EventJudge {
            judge: Box::new(|_| Err(Failure::new(FailureKind::Config, "the file is broken"))),
        };
        let answer = judging.answer(HeardEvent::Commands(vec!["x".to_owned()]));
        let HookAnswer::Unjudged(reason) = &answer else {
            panic!("{answer:?}")
        };
        assert!(reason.contains("the file is broken"), "{reason}");
    }

    #[test]
    fn the_worst_of_several_commands_counts() {
        let judging = EventJudge {
            judge: Box::new(|command| {
                Ok(match command {
                    "bad" => HookAnswer::Deny("no".to_owned()),
                    _ => HookAnswer::NoObjection,
                })
            }),
        };
        for (commands, passes) in [
            (&["x", "bad", "y"][..], false),
            (&["x"], true),
            (&[], false),
        ] {
            let commands = commands.iter().map(|&command| command.to_owned()).collect();
            let answer = judging.answer(HeardEvent::Commands(commands));
            assert_eq!(answer == HookAnswer::NoObjection, passes);
        }
    }

    #[test]
    fn an_event_of_any_size_is_read_in_bounded_memory() {
        let endless = std::io::repeat(b' ');
        assert!(read(endless).unwrap_err().contains("larger than 16 MiB"));
    }
}
