//! Keeps secrets out of records: the values of variables whose names say that they are secret.
//!
//! Names decide (`API_TOKEN`, `PGPASSWORD`, `AWS_SECRET_ACCESS_KEY`); nothing is guessed from
//! values. Two things are hidden: what such a variable of the environment or the call holds,
//! wherever it appears in a text, and what a text itself assigns to such a name (`API_TOKEN=…`,
//! `--password=…`, `"API_TOKEN": "…"`). Pure.
//!
//! This is the one place that decides it: whatever writes text of a command into a file that is not
//! its output asks here first, in the engine and in the keeper.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;

/// Shorter values are not secrets, and appear in any text by chance.
const SHORTEST: usize = 4;

/// Shorter values are hidden only where they stand alone.
const LONG: usize = 8;

/// Bytes of the shortest name of a secret: `TOKEN`, `X_KEY`.
const SHORTEST_NAME: usize = 5;

/// Harmless values that are found in variables with secret names.
const HARMLESS: [&str; 5] = ["true", "false", "none", "null", "test"];

/// Values that must not be written down.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets {
    /// Name and value, as they appear in a text.
    known: Vec<(String, String)>,
}

impl fmt::Debug for Secrets {
    /// How many there are, and nothing more.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secrets({})", self.known.len())
    }
}

impl Secrets {
    /// Those of these variables.
    pub fn of(variables: &[(OsString, OsString)]) -> Self {
        let mut secrets = Self::default();
        secrets.add(variables);
        secrets
    }

    /// Adds those of these variables.
    pub fn add(&mut self, variables: &[(OsString, OsString)]) {
        for (name, value) in variables {
            let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else {
                continue;
            };
            let value = value.trim();
            let tells = value.len() >= SHORTEST && !HARMLESS.contains(&value);
            if !tells || !is_secret(name) {
                continue;
            }
            self.known.push((name.to_owned(), value.to_owned()));
            let quoted = serde_json::Value::from(value).to_string();
            let escaped = quoted
                .strip_prefix('"')
                .and_then(|text| text.strip_suffix('"'));
            let escaped = escaped.unwrap_or(value);
            if escaped != value {
                self.known.push((name.to_owned(), escaped.to_owned()));
            }
        }
        // A value may be part of another.
        self.known
            .sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    }

    /// The text with these values hidden, and with the values that it assigns to secret names
    /// hidden.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for (name, value) in &self.known {
            if text.contains(value) {
                text = Cow::Owned(without(&text, name, value));
            }
        }
        match without_assignments(&text) {
            Some(hidden) => Cow::Owned(hidden),
            None => text,
        }
    }
}

/// What replaces a value.
fn mark(name: &str) -> String {
    format!("[value of {name}]")
}

fn without(text: &str, name: &str, value: &str) -> String {
    let mut hidden = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(value) {
        hidden.push_str(before);
        let touches = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
        let is_part = touches(before.chars().next_back()) || touches(after.chars().next());
        if value.len() < LONG && is_part {
            hidden.push_str(value);
        } else {
            hidden.push_str(&mark(name));
        }
        rest = after;
    }
    hidden.push_str(rest);
    hidden
}

/// The text without the values that it assigns to secret names; `None` if there are none.
fn without_assignments(text: &str) -> Option<String> {
    let mut hidden = String::new();
    let (mut rest, mut at) = (text, 0);
    // A name is given a value only by one of these after it.
    while let Some(found) =
        memchr::memchr2(b'=', b'"', rest.as_bytes().get(at..).unwrap_or_default())
    {
        let (before, after) = rest.split_at_checked(at + found)?;
        at += found + 1;
        let name = name_at_the_end(before);
        if is_secret(name)
            && let Some((given, behind)) = given(after)
        {
            hidden.push_str(before);
            hidden.push_str(given);
            hidden.push_str(&mark(name.trim_start_matches('-')));
            (rest, at) = (behind, 0);
        }
    }
    if hidden.is_empty() {
        return None;
    }
    hidden.push_str(rest);
    Some(hidden)
}

/// The run of characters at the end of a text that could be a name.
fn name_at_the_end(text: &str) -> &str {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = text
        .as_bytes()
        .iter()
        .rev()
        .take_while(|byte| is_part(byte))
        .count();
    text.get(text.len() - length..).unwrap_or_default()
}

/// What assigns a value to a name, and what follows the value; `None` if there is no value, or only
/// one that the shell computes.
fn given(after: &str) -> Option<(&str, &str)> {
    let is_json = after.starts_with('"');
    let sign = if is_json {
        let colon = after.strip_prefix('"')?.trim_start();
        let value = colon.strip_prefix(':')?.trim_start();
        after.len() - value.strip_prefix('"').map(str::len)?
    } else {
        let value = after.strip_prefix('=')?;
        after.len() - value.strip_prefix(['"', '\'']).unwrap_or(value).len()
    };
    let (given, from) = after.split_at_checked(sign)?;
    let quote = given
        .chars()
        .next_back()
        .filter(|c| matches!(c, '"' | '\''));
    let mut is_escaped = false;
    let end = from.find(|c: char| {
        let was_escaped = is_escaped;
        is_escaped = c == '\\' && !was_escaped && quote != Some('\'');
        match quote {
            _ if was_escaped => false,
            Some(quote) => c == quote,
            None => c.is_whitespace() || matches!(c, ';' | '&' | '|' | '<' | '>' | '(' | ')'),
        }
    });
    let (value, behind) = from.split_at_checked(end.unwrap_or(from.len()))?;
    let tells = !value.is_empty() && !value.starts_with(['$', '`', '[']);
    tells.then_some((given, behind))
}

/// Whether a variable of this name holds a secret.
pub fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 7] = [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "APIKEY",
        "CREDENTIALS",
    ];
    /// Secret only as a suffix: `MYSQL_PWD`, but not `PWD`.
    const LAST: [&str; 4] = ["KEY", "PASS", "PAT", "PWD"];
    /// Names of things about a secret.
    const ABOUT: [&str; 8] = ["FILE", "PATH", "DIR", "ID", "NAME", "URL", "TYPE", "TTL"];
    if name.len() < SHORTEST_NAME {
        return false;
    }
    let mut parts = name.split(['_', '-']).filter(|part| !part.is_empty());
    let Some(last) = parts.next_back() else {
        return false;
    };
    let is_among = |names: &[&str]| names.iter().any(|name| last.eq_ignore_ascii_case(name));
    let is_one = |part: &str| PARTS.iter().any(|secret| ends_with(part, secret));
    if is_among(&ABOUT) {
        return false;
    }
    let mut before = parts.peekable();
    is_one(last) || before.peek().is_some() && is_among(&LAST) || before.any(is_one)
}

/// Whether a name ends like this, ignoring case.
fn ends_with(name: &str, end: &str) -> bool {
    let start = name.len().checked_sub(end.len());
    let own = start.and_then(|start| name.as_bytes().get(start..));
    own.is_some_and(|own| own.eq_ignore_ascii_case(end.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secrets(variables: &[(&str, &str)]) -> Secrets {
        let variables = variables.iter().map(|(n, v)| (n.into(), v.into()));
        Secrets::of(&variables.collect::<Vec<_>>())
    }

    #[test]
    fn names_tell() {
        for name in [
            "API_TOKEN",
            "GITHUB_TOKEN",
            "PGPASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "OPENAI_API_KEY",
            "SECRET_KEY_BASE",
            "MYSQL_PWD",
            "GITHUB_PAT",
            "--password",
            "--api-key",
            "db_passwd",
            "npm_config__authToken",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "PWD",
            "OLDPWD",
            "SSH_ASKPASS",
            "SSH_AUTH_SOCK",
            "KEY",
            "AWS_ACCESS_KEY_ID",
            "TOKEN_FILE",
            "TOKENIZERS_PARALLELISM",
            "PATH",
            "COMPAT",
            "--key",
            "",
            "_",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn values_are_hidden_wherever_they_stand() {
        let known = secrets(&[
            ("API_TOKEN", "hunter2-0123456789"),
            ("DB_PASSWORD", "abcd"),
            ("MORE_TOKEN", "hunter2-0123456789-and-more"),
            ("QUOTED_SECRET", "say \"friend\""),
            ("USE_TOKEN", "true"),
            ("HOME", "/home/somebody"),
        ]);
        for (text, hidden) in [
            (
                "curl -H 'X: hunter2-0123456789'",
                "curl -H 'X: [value of API_TOKEN]'",
            ),
            ("xhunter2-0123456789y", "x[value of API_TOKEN]y"),
            (
                "echo hunter2-0123456789-and-more",
                "echo [value of MORE_TOKEN]",
            ),
            (
                "psql abcd; echo abcde",
                "psql [value of DB_PASSWORD]; echo abcde",
            ),
            (
                r#"{"x":"say \"friend\""}"#,
                r#"{"x":"[value of QUOTED_SECRET]"}"#,
            ),
            ("true; ls /home/somebody", "true; ls /home/somebody"),
        ] {
            assert_eq!(known.hide(text), hidden, "{text}");
        }
    }

    #[test]
    fn what_a_text_gives_to_a_secret_name_is_hidden() {
        let none = Secrets::default();
        for (text, hidden) in [
            ("API_TOKEN=abc make", "API_TOKEN=[value of API_TOKEN] make"),
            (
                "export A_SECRET='x y';ls",
                "export A_SECRET='[value of A_SECRET]';ls",
            ),
            (
                "A_SECRET=\"x \\\" y\" ls",
                "A_SECRET=\"[value of A_SECRET]\" ls",
            ),
            ("x --password=abc|y", "x --password=[value of password]|y"),
            (
                r#"{"env":{"A_TOKEN" : "x\"y"},"z":1}"#,
                r#"{"env":{"A_TOKEN" : "[value of A_TOKEN]"},"z":1}"#,
            ),
            ("API_TOKEN=$OTHER make", "API_TOKEN=$OTHER make"),
            ("API_TOKEN= make; echo token", "API_TOKEN= make; echo token"),
            ("PATH=/x:$PATH ls --key=2", "PATH=/x:$PATH ls --key=2"),
        ] {
            assert_eq!(none.hide(text), hidden, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_long_value_stays(before in "\\PC*", value in "[a-zA-Z0-9/+]{8,40}", after in "\\PC*") {
            let hidden = secrets(&[("A_TOKEN", &value)]);
            let hidden = hidden.hide(&format!("{before}{value}{after}")).into_owned();
            prop_assume!(!mark("A_TOKEN").contains(&value));
            prop_assert!(!hidden.contains(&value), "{hidden}");
        }

        #[test]
        fn any_text_is_read(text in "(\\PC|TOKEN|=|\"|'|:| ){0,60}") {
            let once = Secrets::default().hide(&text).into_owned();
            prop_assert_eq!(Secrets::default().hide(&once), once.as_str());
        }
    }
}
