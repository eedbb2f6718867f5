//! What a client may send: reads a line as a [`Request`], or says why it is not one.

use crate::serve::id_scan::IdScan;
use serde_json::{Map, Value};

/// A message of a client.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    /// Says what the client can do; bashd answers with what it can do.
    Hello(Offers),
    /// Runs one command; the reply has the fields of the older document.
    Bash { command: String, events: Events },
    /// Ends every `bash` of this client.
    AbortBash,
    /// Makes a full tool call.
    Call(RpcToolCall),
    /// Calls the profile's job tool.
    Job {
        arguments: Value,
        profile: Option<String>,
    },
    /// Ends one `bash`, `call`, `job` or `artifact`.
    Cancel { target: Value },
    /// Asks for the definition of a profile's first tool.
    Schema { profile: Option<String> },
    /// Asks for all tools of a profile.
    Tools { profile: Option<String> },
    /// Reads stored output.
    Artifact { arguments: Value },
    /// Asks for those of all its tools, in the form of its own API.
    AllSchemas { profile: Option<String> },
    /// Registers a value that must not be shown or written down.
    Secret { name: String, value: String },
    /// Answers a request of bashd's.
    Reply(Result<Value, String>),
}

/// What a client offers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an offer of its own, made or not"
)]
pub(super) struct Offers {
    /// It runs commands in terminals of its own.
    pub(super) terminal: bool,
    /// Its user can be asked whether a command may run.
    pub(super) approve: bool,
    /// It wants to hear when its jobs end.
    pub(super) jobs: bool,
    /// It also wants to hear of their progress.
    pub(super) progress: bool,
}

/// A full tool call.
#[derive(Debug, PartialEq)]
pub(super) struct RpcToolCall {
    /// The model's arguments, in the profile's spelling.
    pub(super) arguments: Value,
    pub(super) profile: Option<String>,
    /// The tool that is called; the profile's first by default.
    pub(super) tool: Option<String>,
    pub(super) events: Events,
    /// Whether to use one of the client's terminals; by default yes, if it offers them.
    pub(super) terminal: Option<bool>,
}

/// Whether a call sends events while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Events {
    Told,
    Untold,
}

/// A message with the id that its answer carries.
#[derive(Debug, PartialEq)]
pub(super) struct RpcMessage {
    pub(super) id: Option<Value>,
    pub(super) said: Said,
}

/// A line that is not a message, and as much of it as the answer needs.
#[derive(Debug, PartialEq)]
pub(super) struct Misunderstood {
    pub(super) id: Option<Value>,
    /// What the answer names as its command.
    pub(super) command: String,
    pub(super) reason: String,
}

/// Every type of message.
#[cfg(test)]
pub(super) const KNOWN: &[&str] = &[
    "hello",
    "bash",
    "abort_bash",
    "call",
    "job",
    "cancel",
    "schema",
    "tools",
    "artifact",
    "secret",
    "reply",
];

/// Reads one line.
pub(super) fn read(line: &[u8]) -> Result<RpcMessage, Misunderstood> {
    let unreadable = |reason: String| Misunderstood {
        id: IdScan::of(line),
        command: "parse".into(),
        reason: format!("Failed to parse command: {reason}"),
    };
    let value: Value =
        serde_json::from_slice(line).map_err(|error| unreadable(error.to_string()))?;
    let Value::Object(mut fields) = value else {
        return Err(unreadable("a message must be an object".into()));
    };
    let id = match fields.remove("id") {
        None | Some(Value::Null) => None,
        Some(id @ (Value::String(_) | Value::Number(_))) => Some(id),
        Some(_) => return Err(unreadable("`id` must be a string or a number".into())),
    };
    let Some(Value::String(command)) = fields.remove("type") else {
        return Err(Misunderstood {
            id,
            ..unreadable("`type` must be a string".into())
        });
    };
    match said(&command, id.as_ref(), MessageFields::of(fields)) {
        Ok(said) => Ok(RpcMessage { id, said }),
        Err(reason) => Err(Misunderstood {
            id,
            command,
            reason,
        }),
    }
}

fn said(command: &str, id: Option<&Value>, mut fields: MessageFields) -> Result<Said, String> {
    let said = match command {
        "hello" => {
            let mut offers = MessageFields::of(fields.object("capabilities")?.unwrap_or_default());
            Said::Hello(Offers {
                terminal: offers.switch("terminal")?.unwrap_or(false),
                approve: offers.switch("approve")?.unwrap_or(false),
                jobs: offers.switch("jobs")?.unwrap_or(false),
                progress: offers.switch("progress")?.unwrap_or(false),
            })
        }
        "bash" => {
            // Clients of the older document send it; it concerns only their own records.
            fields.switch("excludeFromContext")?;
            Said::Bash {
                command: fields.text("command")?.ok_or("`command` is missing")?,
                events: fields.events()?,
            }
        }
        "abort_bash" => Said::AbortBash,
        "call" => Said::Call(RpcToolCall {
            arguments: fields.any("arguments").ok_or("`arguments` are missing")?,
            profile: fields.text("profile")?,
            tool: fields.text("tool")?,
            events: fields.events()?,
            terminal: fields.switch("terminal")?,
        }),
        "job" => Said::Job {
            arguments: fields.any("arguments").ok_or("`arguments` are missing")?,
            profile: fields.text("profile")?,
        },
        "cancel" => Said::Cancel {
            target: fields.any("target").ok_or("`target` is missing")?,
        },
        "schema" => {
            let profile = fields.text("profile")?;
            match fields.switch("all")? {
                Some(true) => Said::AllSchemas { profile },
                Some(false) | None => Said::Schema { profile },
            }
        }
        "tools" => Said::Tools {
            profile: fields.text("profile")?,
        },
        "artifact" => Said::Artifact {
            arguments: fields.any("arguments").ok_or("`arguments` are missing")?,
        },
        "secret" => Said::Secret {
            name: fields.text("name")?.ok_or("`name` is missing")?,
            value: fields.text("value")?.ok_or("`value` is missing")?,
        },
        "reply" => {
            id.ok_or("`id` is missing")?;
            match fields.text("error")? {
                Some(error) => Said::Reply(Err(error)),
                None => Said::Reply(Ok(fields.any("result").unwrap_or_default())),
            }
        }
        unknown => return Err(format!("Unknown command: {unknown}")),
    };
    fields.nothing_left()?;
    Ok(said)
}

/// The fields of a message that nobody has read yet, and the names of those that it may have.
struct MessageFields {
    unread: Map<String, Value>,
    known: Vec<&'static str>,
}

impl MessageFields {
    fn of(unread: Map<String, Value>) -> Self {
        Self {
            unread,
            known: vec!["id", "type"],
        }
    }

    fn any(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.unread.remove(name).filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &'static str) -> Result<Option<String>, String> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` must be a string")),
        }
    }

    fn switch(&mut self, name: &'static str) -> Result<Option<bool>, String> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Bool(switch)) => Ok(Some(switch)),
            Some(_) => Err(format!("`{name}` must be true or false")),
        }
    }

    fn object(&mut self, name: &'static str) -> Result<Option<Map<String, Value>>, String> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(_) => Err(format!("`{name}` must be an object")),
        }
    }

    fn events(&mut self) -> Result<Events, String> {
        Ok(match self.switch("stream")? {
            Some(true) => Events::Told,
            Some(false) | None => Events::Untold,
        })
    }

    /// Refuses unknown fields: a misspelt field must not be ignored.
    fn nothing_left(self) -> Result<(), String> {
        match self.unread.keys().next() {
            Some(name) => {
                let known = self.known.join(", ");
                Err(format!("there is no field `{name}`; there are {known}"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(line: &str) -> (Option<Value>, String, String) {
        let misunderstood = read(line.as_bytes()).unwrap_err();
        (
            misunderstood.id,
            misunderstood.command,
            misunderstood.reason,
        )
    }

    #[test]
    fn the_older_documents_requests_are_read() {
        let message = read(br#"{"id":"1","type":"bash","command":"ls"}"#).unwrap();
        assert_eq!(message.id, Some(json!("1")));
        let events = Events::Untold;
        let command = "ls".to_owned();
        assert_eq!(message.said, Said::Bash { command, events });
        let message = read(br#"{"type":"abort_bash"}"#).unwrap();
        assert_eq!((message.id, message.said), (None, Said::AbortBash));
    }

    #[test]
    fn what_is_no_message_is_said_to_be_none() {
        for (line, command, reason) in [
            ("nonsense", "parse", "Failed to parse command: expected"),
            ("[1]", "parse", "a message must be an object"),
            ("{}", "parse", "`type` must be a string"),
            (r#"{"type":7}"#, "parse", "`type` must be a string"),
            (r#"{"id":{},"type":"bash"}"#, "parse", "`id` must be"),
            (r#"{"type":"dance"}"#, "dance", "Unknown command: dance"),
            (r#"{"type":"bash"}"#, "bash", "`command` is missing"),
            (
                r#"{"type":"bash","command":1}"#,
                "bash",
                "`command` must be a string",
            ),
            (
                r#"{"type":"bash","command":"","x":1}"#,
                "bash",
                "no field `x`",
            ),
            (r#"{"type":"call"}"#, "call", "`arguments` are missing"),
            (r#"{"type":"cancel"}"#, "cancel", "`target` is missing"),
            (r#"{"type":"reply"}"#, "reply", "`id` is missing"),
        ] {
            let (_, named, why) = refused(line);
            assert_eq!(named, command, "{line}");
            assert!(why.contains(reason), "{line}: {why}");
        }
        for line in [
            r#"{"id":5,"type":"dance"}"#,
            r#"{"id":5,"type":"bash","command":"\ud800"}"#,
            r#"{"type":"bash","command":"\ud800","id":5}"#,
        ] {
            let (id, ..) = refused(line);
            assert_eq!(id, Some(json!(5)), "{line}");
        }
        let deep = "[".repeat(100_000);
        assert!(refused(&deep).2.contains("recursion"));
    }
}
