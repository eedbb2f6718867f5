//! A tape as a script: each message of the client, and what it was answered.

use super::compare::essence;
use super::{TapedProtocol, VERSION};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// What a client asked, and what a server said because of it.
#[derive(Debug)]
pub(super) struct TapeScene {
    /// What counts of the message.
    pub(super) asked: Value,
    /// The message's own number.
    id: Option<Value>,
    /// The token under which its progress was told.
    pub(super) progress_token: Option<Value>,
    /// What the server said, in order.
    pub(super) lines: Vec<TapedLine>,
    /// Whether it was played.
    pub(super) is_played: bool,
}

/// One message of the server.
#[derive(Debug, Clone)]
pub(super) struct TapedLine {
    pub(super) message: Value,
    pub(super) kind: TapedLineKind,
}

/// What a message of the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TapedLineKind {
    /// Part of an answer: it has the number of the request.
    Answer,
    /// A question of its own: what follows waits for the client's answer.
    Asks,
    /// Something that is only told.
    Told,
}

/// What a message of the client is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TapedMessageKind {
    /// It wants an answer.
    Request,
    /// It tells something.
    Notice,
    /// It answers the server's question of this number.
    Answer(Value),
}

/// A whole tape.
pub(super) struct TapeScript {
    pub(super) protocol: TapedProtocol,
    /// What the server said before anybody asked.
    pub(super) prologue: Vec<TapedLine>,
    /// Requests, in order.
    pub(super) scenes: Vec<TapeScene>,
    /// Notices, in order.
    pub(super) notices: Vec<TapeScene>,
}

impl TapedProtocol {
    /// What a message of the client is.
    pub(super) fn heard(self, message: &Value) -> TapedMessageKind {
        let id = message.get("id").cloned();
        match self {
            Self::Mcp => match (message.get("method"), id) {
                (None, Some(id)) => TapedMessageKind::Answer(id),
                (Some(_), None) => TapedMessageKind::Notice,
                // What is not a message is answered, too: that it is none.
                (Some(_), Some(_)) | (None, None) => TapedMessageKind::Request,
            },
            Self::Rpc if message["type"] == "reply" => {
                TapedMessageKind::Answer(id.unwrap_or_default())
            }
            Self::Rpc => TapedMessageKind::Request,
        }
    }

    fn spoken(self, message: &Value) -> TapedLineKind {
        let has_id = message.get("id").is_some();
        match self {
            Self::Mcp => match (message.get("method").is_some(), has_id) {
                (true, true) => TapedLineKind::Asks,
                (true, false) => TapedLineKind::Told,
                (false, _) => TapedLineKind::Answer,
            },
            Self::Rpc if message["type"] == "request" => TapedLineKind::Asks,
            Self::Rpc if has_id || message["type"] == "response" => TapedLineKind::Answer,
            Self::Rpc => TapedLineKind::Told,
        }
    }
}

/// Whom a message of the server belongs to.
#[derive(Debug, Clone, Copy)]
enum TapePlace {
    Scene(usize),
    Notice(usize),
}

impl TapeScript {
    /// Reads a tape of this protocol.
    pub(super) fn load(path: &Path, protocol: TapedProtocol) -> io::Result<Self> {
        let mut script = Self {
            protocol,
            prologue: Vec::new(),
            scenes: Vec::new(),
            notices: Vec::new(),
        };
        let mut lines = BufReader::new(File::open(path)?).lines();
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
        let header = lines.next().transpose()?.unwrap_or_default();
        let header: Value = serde_json::from_str(&header)
            .map_err(|_| invalid("it is not a tape of bashd".to_owned()))?;
        if header["bashd_tape"] != VERSION {
            let version = &header["bashd_tape"];
            return Err(invalid(format!("it has version {version}, not {VERSION}")));
        }
        let name = header["protocol"].as_str().unwrap_or_default();
        if TapedProtocol::from_name(name) != Some(protocol) {
            let own = protocol.name();
            return Err(invalid(format!(
                "it is one of `bashd {name}`, not of `bashd {own}`"
            )));
        }
        let mut last = None;
        for line in lines {
            let line = line?;
            // A server that was killed may leave half a line, which is the last one.
            let Ok(mut entry) = serde_json::from_str::<Value>(&line) else {
                break;
            };
            if let Some(message) = entry.get_mut("client").map(Value::take) {
                last = script.add_asked(&message).or(last);
            } else if let Some(message) = entry.get_mut("server").map(Value::take) {
                script.add_spoken(message, last);
            }
        }
        Ok(script)
    }

    /// Adds what a client said; returns where what follows belongs.
    fn add_asked(&mut self, message: &Value) -> Option<TapePlace> {
        let scene = TapeScene {
            asked: essence(message),
            id: message.get("id").cloned(),
            progress_token: progress_token(message),
            lines: Vec::new(),
            is_played: false,
        };
        match self.protocol.heard(message) {
            TapedMessageKind::Request => {
                self.scenes.push(scene);
                Some(TapePlace::Scene(self.scenes.len() - 1))
            }
            TapedMessageKind::Notice => {
                self.notices.push(scene);
                Some(TapePlace::Notice(self.notices.len() - 1))
            }
            TapedMessageKind::Answer(id) => self.asking(&id),
        }
    }

    /// Who made the server ask the question of this number.
    fn asking(&self, id: &Value) -> Option<TapePlace> {
        let asks = |scene: &TapeScene| {
            let is_it =
                |line: &TapedLine| line.kind == TapedLineKind::Asks && line.message["id"] == *id;
            scene.lines.iter().any(is_it)
        };
        let scene = self.scenes.iter().rposition(asks).map(TapePlace::Scene);
        scene.or_else(|| self.notices.iter().rposition(asks).map(TapePlace::Notice))
    }

    fn add_spoken(&mut self, message: Value, last: Option<TapePlace>) {
        let kind = self.protocol.spoken(&message);
        let place = match kind {
            TapedLineKind::Answer => self.of_id(message.get("id")),
            TapedLineKind::Asks => message.get("call").and_then(|call| self.of_id(Some(call))),
            TapedLineKind::Told => self.of_token(&message["params"]["progressToken"]),
        };
        let spoken = TapedLine { message, kind };
        let lines = match place.or(last) {
            Some(TapePlace::Scene(at)) => self.scenes.get_mut(at).map(|scene| &mut scene.lines),
            Some(TapePlace::Notice(at)) => self.notices.get_mut(at).map(|scene| &mut scene.lines),
            None => Some(&mut self.prologue),
        };
        if let Some(lines) = lines {
            lines.push(spoken);
        }
    }

    fn of_id(&self, id: Option<&Value>) -> Option<TapePlace> {
        let id = id?;
        let scene = self
            .scenes
            .iter()
            .rposition(|scene| scene.id.as_ref() == Some(id));
        scene.map(TapePlace::Scene)
    }

    fn of_token(&self, token: &Value) -> Option<TapePlace> {
        let token = Some(token).filter(|token| !token.is_null());
        let is_it = |scene: &TapeScene| scene.progress_token.as_ref() == token;
        let scene = token.and_then(|_| self.scenes.iter().rposition(is_it));
        scene.map(TapePlace::Scene)
    }
}

/// The token under which a request wants to hear of its progress.
pub(super) fn progress_token(message: &Value) -> Option<Value> {
    let token = &message["params"]["_meta"]["progressToken"];
    (!token.is_null()).then(|| token.clone())
}
