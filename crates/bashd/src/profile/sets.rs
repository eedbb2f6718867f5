//! What a parameter can set: each part of a request, how its value is read, and what the schema
//! says of it.

use super::Profile;
use super::rules::RangeInSchema;
use crate::changes::Effects;
use crate::jobs::tool;
use crate::plan::StdinSource;
use crate::request::{MOST_NEEDS, NeededAccess, OnTimeout, Refusal, RefusalKind, Request};
use bashd_keeper::quote::quote;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a call may ask to be waited for at most, in seconds.
const LONGEST_WAIT: u64 = 3600;

/// Commands of one call.
const MOST_COMMANDS: usize = 1000;

/// Which part of the request a parameter sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sets {
    /// The script: a string.
    Command,
    /// The working directory: a string.
    Cwd,
    /// Added variables: an object of strings.
    Env,
    /// The timeout in seconds: a number.
    Timeout,
    /// What the command reads: a string.
    Stdin,
    /// One of the profile's modes: a string.
    Mode,
    /// The name of a session: a string.
    Session,
    /// Whether the session begins again with a new shell: a boolean. Such a call needs no command.
    Restart,
    /// Whether the command is input of the one that runs: a boolean.
    IsInput,
    /// Whether the call returns at once: a boolean.
    Background,
    /// What happens at the timeout: `background` or `kill`.
    OnTimeout,
    /// Longest wait in seconds: a number.
    WaitMax,
    /// What a call that returns at once waits for first: an object with one condition.
    Until,
    /// Whether input may be sent later: a boolean.
    StdinOpen,
    /// Whether the command gets a terminal: a boolean.
    Pty,
    /// Only this many first lines of the whole output: a number.
    Head,
    /// Only this many last lines of the whole output, or of its head: a number.
    Tail,
    /// The timeout in milliseconds: a number; 0 is none.
    TimeoutMs,
    /// Longest wait in milliseconds: a number.
    WaitMs,
    /// The script as program and arguments: an array of strings.
    Argv,
    /// Several scripts, which run one after the other: an array of strings.
    Commands,
    /// How many tokens of output are shown at most: a number.
    MaxTokens,
    /// How many characters of output are shown at most: a number.
    MaxChars,
    /// What the command does, for people and notices: a string.
    Description,
    /// What the command needs beyond its confinement: an object.
    Needs,
    /// Whether the command may run a second time: a boolean.
    Repeatable,
    /// When the effects on files become real: `now`, `undoable`, `ask` or `hold`.
    Effects,
    /// The place at which the command runs: a string.
    On,
    /// Whether the times of the output are recorded: a boolean.
    Record,
    /// Nothing; it is accepted.
    Nothing,
}

impl Sets {
    /// Sets that part of the request, if the value has the right type.
    pub(crate) fn read(
        self,
        name: &str,
        value: &Value,
        request: &mut Request,
    ) -> Result<(), Refusal> {
        let text = || match value {
            Value::String(text) => Ok(text.clone()),
            other => Err(wrong_type(name, "a string", other)),
        };
        match self {
            Self::Command => request.command = text()?,
            Self::Cwd => {
                let given = Some(text()?).filter(|cwd| !cwd.is_empty());
                request.cwd = given.map(Into::into).or_else(|| request.cwd.take());
            }
            Self::Stdin => request.stdin = StdinSource::Bytes(text()?.into_bytes()),
            Self::Mode => request.mode = Some(text()?),
            Self::Session => request.session = Some(text()?),
            Self::Timeout => {
                request.timeout = Some(seconds(name, value)?);
                request.timeout_as_given = value.as_f64();
            }
            Self::WaitMax => {
                let longest = Duration::from_secs(LONGEST_WAIT);
                request.wait_max = Some(seconds(name, value)?.min(longest));
                request.says_its_wait = true;
            }
            Self::Until => {
                let wait = tool::until(value);
                request.until = Some(wait.map_err(|problem| {
                    let detail = format!("`{name}`: {problem}");
                    Refusal::new(RefusalKind::InvalidValue, detail)
                })?);
            }
            Self::TimeoutMs => {
                let limit = milliseconds(name, value)?;
                request.timeout = Some(limit).filter(|limit| !limit.is_zero());
            }
            Self::WaitMs => {
                request.wait_max = Some(milliseconds(name, value)?);
                request.says_its_wait = true;
            }
            Self::Argv => {
                let words = texts(name, value)?;
                request.command = quoted(&words);
            }
            Self::Commands => {
                request.commands = commands(name, value)?;
                request.command = request.commands.join("\n");
            }
            Self::MaxTokens => {
                request.most_bytes = bytes(lines(name, value)?.saturating_mul(TOKEN));
            }
            Self::MaxChars => {
                let most = lines(name, value)?;
                request.max_output = Some(most);
                request.most_bytes = bytes(most);
            }
            Self::Description => request.description = Some(text()?),
            Self::Needs => request.needs = needs(name, value)?,
            Self::Effects => {
                let word = text()?;
                let effects = Effects::from_name(&word);
                request.effects = Some(one_of(effects, &Effects::NAMES, name, &word)?);
            }
            Self::On => request.on = Some(text()?).filter(|place| !place.is_empty()),
            Self::Record => request.record = Some(truth(name, value)?),
            Self::Nothing => {}
            Self::Restart => request.restart |= truth(name, value)?,
            Self::IsInput => {
                // As the first generation of that contract spells it.
                let word = value.as_str().and_then(|word| word.parse().ok());
                request.is_input = word.map_or_else(|| truth(name, value), Ok)?;
            }
            Self::Background | Self::StdinOpen | Self::Pty | Self::Repeatable => {
                *self.switch(request) |= truth(name, value)?;
            }
            Self::Head => request.head = Some(lines(name, value)?),
            Self::Tail => request.tail = Some(lines(name, value)?),
            Self::OnTimeout => request.on_timeout = Some(on_timeout(name, &text()?)?),
            Self::Env => read_variables(name, value, request)?,
        }
        Ok(())
    }

    /// The switch of the request that it turns on.
    fn switch(self, request: &mut Request) -> &mut bool {
        match self {
            Self::StdinOpen => &mut request.stdin_open,
            Self::Pty => &mut request.pty,
            Self::Repeatable => &mut request.repeatable,
            _ => &mut request.background,
        }
    }

    /// Its type as JSON schema, with the default and the range of this profile.
    pub(super) fn schema(self, profile: &Profile) -> Value {
        match self {
            Self::Command
            | Self::Cwd
            | Self::Stdin
            | Self::Session
            | Self::Description
            | Self::On
            | Self::Nothing => json!({"type": "string"}),
            // As servers and `run --input` take it.
            Self::OnTimeout => {
                json!({"type": "string", "enum": OnTimeout::NAMES, "default": "background"})
            }
            Self::Effects => json!({"type": "string", "enum": Effects::NAMES}),
            Self::Needs => {
                let texts =
                    json!({"type": "array", "items": {"type": "string"}, "maxItems": MOST_NEEDS});
                json!({
                    "type": "object",
                    "properties": {"write": texts, "network": texts, "reason": {"type": "string"}},
                    "required": ["reason"],
                    "additionalProperties": false,
                })
            }
            Self::Until => tool::until_schema(),
            Self::Env => json!({"type": "object", "additionalProperties": {"type": "string"}}),
            Self::Restart
            | Self::IsInput
            | Self::Background
            | Self::StdinOpen
            | Self::Pty
            | Self::Record
            | Self::Repeatable => {
                json!({"type": "boolean", "default": false})
            }
            Self::WaitMax => json!({"type": "number", "minimum": 0, "maximum": LONGEST_WAIT}),
            Self::Argv | Self::Commands => json!({"type": "array", "items": {"type": "string"}}),
            Self::TimeoutMs | Self::WaitMs | Self::MaxTokens | Self::MaxChars => {
                json!({"type": "number"})
            }
            // As the document has them: what is larger than any output shows all of it.
            Self::Head | Self::Tail => json!({"type": "number"}),
            Self::Mode => {
                let names: Vec<_> = profile.modes.iter().map(|mode| &mode.name).collect();
                json!({"type": "string", "enum": names})
            }
            // Without one, only silence counts.
            Self::Timeout if profile.limits.silence_s.is_some() => {
                json!({"type": "number", "minimum": 0})
            }
            Self::Timeout => {
                let mut number = json!({"type": "number", "default": profile.limits.timeout_s});
                if let (Some([least, most]), RangeInSchema::Stated) = (
                    profile.limits.timeout_range_s,
                    profile.limits.timeout_range_in_schema,
                ) {
                    number["minimum"] = json!(least);
                    number["maximum"] = json!(most);
                }
                number
            }
        }
    }
}

fn read_variables(name: &str, value: &Value, request: &mut Request) -> Result<(), Refusal> {
    let Value::Object(variables) = value else {
        return Err(wrong_type(name, "an object", value));
    };
    for (variable, value) in variables {
        let Value::String(text) = value else {
            let name = format!("{name}.{variable}");
            return Err(wrong_type(&name, "a string", value));
        };
        request.env.push((variable.into(), text.into()));
    }
    Ok(())
}

fn on_timeout(name: &str, word: &str) -> Result<OnTimeout, Refusal> {
    one_of(OnTimeout::from_name(word), &OnTimeout::NAMES, name, word)
}

/// What a word stands for, if it is one of these.
fn one_of<T>(known: Option<T>, names: &[&str], name: &str, word: &str) -> Result<T, Refusal> {
    known.ok_or_else(|| {
        let names = names.join(", ");
        let detail = format!("`{name}` must be one of {names}, not `{word}`");
        Refusal::new(RefusalKind::InvalidValue, detail)
    })
}

fn needs(name: &str, value: &Value) -> Result<NeededAccess, Refusal> {
    let Value::Object(_) = value else {
        return Err(wrong_type(name, "an object", value));
    };
    NeededAccess::from_json(value).map_err(|problem| {
        let detail = format!("`{name}`: {problem}");
        Refusal::new(RefusalKind::InvalidValue, detail)
    })
}

/// Bytes that count as one token.
const TOKEN: u64 = 4;

fn bytes(count: u64) -> Option<usize> {
    usize::try_from(count).ok()
}

fn milliseconds(name: &str, value: &Value) -> Result<Duration, Refusal> {
    Ok(seconds(name, value)? / 1000)
}

/// Commands that are run together: not more than anybody needs.
fn commands(name: &str, value: &Value) -> Result<Vec<String>, Refusal> {
    let commands = texts(name, value)?;
    if commands.len() > MOST_COMMANDS {
        let detail = format!("`{name}` may have at most {MOST_COMMANDS} commands");
        return Err(Refusal::new(RefusalKind::InvalidValue, detail));
    }
    Ok(commands)
}

fn texts(name: &str, value: &Value) -> Result<Vec<String>, Refusal> {
    let refused = || wrong_type(name, "an array of strings", value);
    let items = value.as_array().ok_or_else(refused)?.iter();
    let texts = items.map(|item| item.as_str().map(str::to_owned).ok_or_else(refused));
    texts.collect()
}

/// A program and its arguments as a script.
fn quoted(words: &[String]) -> String {
    let mut script = Vec::new();
    for (number, word) in words.iter().enumerate() {
        if number > 0 {
            script.push(b' ');
        }
        quote(&mut script, word.as_bytes());
    }
    String::from_utf8(script).unwrap_or_default()
}

fn seconds(name: &str, value: &Value) -> Result<Duration, Refusal> {
    let number = value.as_f64();
    let number = number.ok_or_else(|| wrong_type(name, "a number", value))?;
    Ok(duration(number))
}

fn truth(name: &str, value: &Value) -> Result<bool, Refusal> {
    value
        .as_bool()
        .ok_or_else(|| wrong_type(name, "a boolean", value))
}

/// A count of lines. JSON has only numbers: `5.0` is five.
fn lines(name: &str, value: &Value) -> Result<u64, Refusal> {
    let number = value.as_f64();
    let number = number.ok_or_else(|| wrong_type(name, "a number", value))?;
    if number < 0.0 || number.fract() != 0.0 {
        let detail = format!("`{name}` must be a whole number of lines, not {value}");
        return Err(Refusal::new(RefusalKind::InvalidValue, detail));
    }
    Ok(value.as_u64().unwrap_or(number as u64))
}

/// Seconds as a duration; what no duration can express becomes the nearest one, for the clamp.
fn duration(seconds: f64) -> Duration {
    if seconds <= 0.0 {
        return Duration::ZERO;
    }
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

fn wrong_type(name: &str, expected: &str, value: &Value) -> Refusal {
    let detail = format!("`{name}` must be {expected}, not {}", kind_of(value));
    Refusal::new(RefusalKind::WrongType, detail)
}

/// The type of a JSON value, as a sentence names it.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_about_profiles_lists_what_parameters_can_set() {
        let page = include_str!("../../../../docs/profiles.md");
        let (_, list) = page.split_once("`sets` is one of ").unwrap();
        let (list, _) = list.split_once("; the type follows from it").unwrap();
        let unknown = serde_json::from_value::<Sets>(json!(""))
            .unwrap_err()
            .to_string();
        // "unknown variant ``, expected one of `command`, `cwd`, …"
        let names: Vec<&str> = unknown.split('`').skip(3).step_by(2).collect();
        assert!(names.contains(&"command"), "{unknown}");
        for name in names {
            assert!(
                list.contains(&format!("`{name}`")),
                "docs/profiles.md lacks {name}"
            );
        }
    }
}
