//! The job tool's arguments: one action, and its parameters.

use crate::jobs::{Condition, ScreenQuery, WaitFor};
use crate::patterns::{self, MOST_CHARACTERS};
use crate::profile::arguments;
use crate::screen::keys;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Longest wait of one call, in seconds.
const LONGEST_WAIT: f64 = 3600.0;

/// The same in milliseconds.
const LONGEST_WAIT_MS: u64 = 3_600_000;

/// Most bytes that one answer shows: more than any model wants, and little for a server with many
/// clients.
const MOST_BYTES: u64 = 1024 * 1024;

/// Most lines that are counted back from the end, or shown of what scrolled off a screen.
const MOST_LINES: u64 = 1_000_000_000;
const MOST_SCROLLED: u64 = 100_000;

/// The last offset that every reader of JSON can express.
const LAST_OFFSET: u64 = (1 << 53) - 1;

/// Characters of a pattern: one for a screen gets some around it.
const MOST_PATTERN: usize = MOST_CHARACTERS - 16;

/// Jobs that one call may name, and keys that it may press.
pub(super) const MOST_JOBS: usize = 256;
const MOST_KEYS: usize = 1024;

/// The default wait, in seconds.
const DEFAULT_WAIT: f64 = 30.0;

/// One call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobArguments {
    pub(super) action: Action,
    #[serde(default)]
    pub(super) job: Option<String>,
    #[serde(default)]
    pub(super) jobs: Vec<String>,
    #[serde(default)]
    pub(super) offset: Option<u64>,
    #[serde(default)]
    pub(super) tail: Option<u64>,
    #[serde(default)]
    pub(super) grep: Option<String>,
    #[serde(default)]
    pub(super) max_bytes: Option<u64>,
    #[serde(default)]
    regex: Option<String>,
    #[serde(default)]
    port: Option<u16>,
    #[serde(default)]
    http: Option<String>,
    #[serde(default)]
    silent_ms: Option<u64>,
    #[serde(default)]
    any: bool,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) paste: Option<String>,
    #[serde(default)]
    pub(super) keys: Vec<String>,
    #[serde(default)]
    scrollback: usize,
    #[serde(default)]
    pub(super) close: bool,
    #[serde(default)]
    pub(super) signal: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    List,
    Output,
    Screen,
    Wait,
    Send,
    Signal,
    Kill,
    Rename,
}

impl JobArguments {
    pub(super) fn parse(input: &str) -> Result<Self, String> {
        let mut given = arguments::read(&schema(), input)?;
        if let Some(given) = given.as_object_mut() {
            given.retain(|_, value| !value.is_null());
        }
        serde_json::from_value(given).map_err(|error| error.to_string())
    }

    /// Waits no longer than this, whatever the call says.
    pub(super) fn bound(&mut self, longest: Option<Duration>) {
        let longest = longest.map_or(LONGEST_WAIT, |longest| longest.as_secs_f64());
        let wanted = self.timeout.unwrap_or(DEFAULT_WAIT);
        self.timeout = Some(wanted.min(longest));
    }

    /// The names of the jobs.
    pub(super) fn names(&self) -> Vec<&str> {
        let one = self.job.as_deref().into_iter();
        one.chain(self.jobs.iter().map(String::as_str)).collect()
    }

    /// The screen query.
    pub(super) async fn screen(&self) -> Result<ScreenQuery, String> {
        let until = match &self.regex {
            Some(pattern) => Some(on_screen(pattern).await?),
            None => None,
        };
        Ok(ScreenQuery {
            until,
            silence: self.silent_ms.map(Duration::from_millis),
            timeout: self.longest_wait(),
            scrollback: self.scrollback,
        })
    }

    fn longest_wait(&self) -> Duration {
        wait_of(self.timeout)
    }

    /// The only lines that are wanted of the output.
    pub(super) async fn lines(&self) -> Result<Option<Regex>, String> {
        match &self.grep {
            Some(pattern) => compile("grep", pattern).await.map(Some),
            None => Ok(None),
        }
    }

    /// The wait condition.
    pub(super) async fn wait(&self) -> Result<WaitFor, String> {
        let awaited = ReadyWhen {
            regex: self.regex.clone(),
            port: self.port,
            http: self.http.clone(),
            silent_ms: self.silent_ms,
            timeout: self.timeout,
        };
        let from = self.offset.unwrap_or(0);
        let pattern = match &self.regex {
            Some(pattern) => Some(compile("regex", pattern).await?),
            None => None,
        };
        let condition = awaited.condition(pattern, from)?;
        let condition = condition.unwrap_or(Condition::Exit);
        let wait = WaitFor::new(condition, self.longest_wait());
        Ok(if self.any { wait.any() } else { wait })
    }
}

/// What is waited for, and how long.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadyWhen {
    regex: Option<String>,
    port: Option<u16>,
    http: Option<String>,
    silent_ms: Option<u64>,
    timeout: Option<f64>,
}

impl ReadyWhen {
    /// The one condition, if there is one; the pattern is looked for from this offset on.
    fn condition(&self, pattern: Option<Regex>, from: u64) -> Result<Option<Condition>, String> {
        let mut conditions = Vec::new();
        conditions.extend(pattern.map(|pattern| Condition::Matches { pattern, from }));
        conditions.extend(self.port.map(Condition::Port));
        if let Some(url) = &self.http {
            let answers = Condition::answers(url);
            conditions.push(answers.map_err(|reason| format!("`http`: {reason}"))?);
        }
        let silence = self.silent_ms.map(Duration::from_millis);
        conditions.extend(silence.map(Condition::Silent));
        let condition = conditions.pop();
        if !conditions.is_empty() {
            return Err("wait for one thing: regex, port, http or silent_ms".to_owned());
        }
        Ok(condition)
    }
}

/// What a call that starts a job waits for before it returns.
pub(crate) fn until(value: &Value) -> Result<WaitFor, String> {
    if !value.is_object() {
        return Err(format!("it must be an object, not {value}"));
    }
    arguments::check(&until_schema(), value)?;
    let awaited = ReadyWhen::deserialize(value).map_err(|error| error.to_string())?;
    let pattern = awaited.regex.as_deref().map(patterns::at_once).transpose();
    let pattern = pattern.map_err(|error| format!("`regex`: {error}"))?;
    let condition = awaited.condition(pattern, 0)?;
    let condition = condition.ok_or("give one of regex, port, http and silent_ms")?;
    Ok(WaitFor::new(condition, wait_of(awaited.timeout)))
}

fn wait_of(seconds: Option<f64>) -> Duration {
    Duration::from_secs_f64(seconds.unwrap_or(DEFAULT_WAIT).clamp(0.0, LONGEST_WAIT))
}

/// The JSON schema of [`until`].
pub(crate) fn until_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "regex": {"type": "string", "maxLength": MOST_PATTERN, "description": "A line of the output matches this regular expression."},
            "port": {"type": "integer", "minimum": 1, "maximum": 65535, "description": "Something listens on this local TCP port."},
            "http": {"type": "string", "description": "This http:// address answers."},
            "silent_ms": {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT_MS, "description": "Nothing has been written for this many milliseconds."},
            "timeout": {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT, "default": DEFAULT_WAIT, "description": "Wait at most this many seconds. The job keeps running."},
        },
        "additionalProperties": false,
    })
}

/// The pattern of a parameter; the error says what is wrong with it.
async fn compile(name: &str, pattern: &str) -> Result<Regex, String> {
    let compiled = patterns::aside(pattern).await;
    compiled.map_err(|error| format!("`{name}`: {error}"))
}

/// A pattern for a screen: `^` and `$` match at its rows.
async fn on_screen(pattern: &str) -> Result<Regex, String> {
    compile("regex", &format!("(?m:{pattern})")).await
}

/// The JSON schema of [`Arguments`].
pub(super) fn schema() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let pattern = |description: &str| json!({"type": "string", "maxLength": MOST_PATTERN, "description": description});
    let number = |most: u64, description: &str| json!({"type": "integer", "minimum": 0, "maximum": most, "description": description});
    json!({
        "type": "object",
        "required": ["action"],
        "properties": {
            "action": {
                "type": "string",
                "enum": ["list", "output", "screen", "wait", "send", "signal", "kill", "rename"],
                "description": "What to do.",
            },
            "job": text("The job: its id, its short name (bg_1) or the name given by rename. Required for every action except list."),
            "jobs": {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": MOST_JOBS,
                "description": "wait, kill: several jobs.",
            },
            "offset": number(LAST_OFFSET, "output, or wait with regex: start at this byte of the output. If there is nothing new, the answer is one line that says so."),
            "tail": number(MOST_LINES, "output: only the last N lines."),
            "grep": pattern("output: only lines that match this regular expression."),
            "max_bytes": number(MOST_BYTES, "output: at most this many bytes, 32768 by default."),
            "regex": pattern("wait: until a line of the output matches this regular expression. screen: until the screen shows it."),
            "port": {"type": "integer", "minimum": 1, "maximum": 65535, "description": "wait: until something listens on this local TCP port."},
            "http": text("wait: until this http:// address answers."),
            "silent_ms": number(LONGEST_WAIT_MS, "wait, screen: until nothing has been written for this many milliseconds."),
            "any": {"type": "boolean", "description": "wait: for any one of the jobs instead of all of them."},
            "timeout": {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT, "default": DEFAULT_WAIT, "description": "wait, screen: wait at most this many seconds. The job keeps running."},
            "text": text("send: input for the command, sent as is (end it with a newline to press Enter). The job must have been started with stdin_open or pty."),
            "paste": text("send: text to paste after `text`, for programs that handle pasted text differently."),
            "keys": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_KEYS, "description": format!("send: keys to press after that, by name: {}, optionally with C- (ctrl), M- (alt) or S- (shift) in front, as in C-c; or a single character.", keys::names())},
            "scrollback": number(MOST_SCROLLED, "screen: also the last N lines that scrolled off the screen."),
            "close": {"type": "boolean", "description": "send: close the input after that."},
            "signal": text("signal: its name, such as INT, HUP or USR1. Every process of the job receives it."),
            "name": text("rename: the new name."),
        },
        "additionalProperties": false,
    })
}
