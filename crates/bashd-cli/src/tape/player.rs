//! Serves a tape: what a client asks is answered as it was, and nothing runs.

use super::TapedProtocol;
use super::compare::{difference, essence, is_same, likeness};
use super::recorder::hide;
use super::script::{
    TapeScene, TapeScript, TapedLine, TapedLineKind, TapedMessageKind, progress_token,
};
use crate::serve::lines::MOST_LINE_BYTES;
use bashd::secrets::Secrets;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};

/// The code of an answer to what is not on the tape: the first of those that servers may choose.
const NOT_ON_TAPE: i64 = -32000;

/// In which order requests must come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Matching {
    /// As on the tape.
    Strict,
    /// In any; the last of several that are the same answers again.
    Any,
}

impl Matching {
    pub(super) fn of(is_any: bool) -> Self {
        if is_any { Self::Any } else { Self::Strict }
    }
}

/// Plays a tape on stdin and stdout to its end, or the client's; returns what was not as on the
/// tape.
pub(super) fn play(script: TapeScript, matching: Matching, secrets: &Secrets) -> Option<String> {
    let mut player = TapePlayer::new(script, matching, secrets);
    let (mut input, mut output) = (BufReader::new(io::stdin().lock()), io::stdout().lock());
    let mut told = player.prologue();
    loop {
        for message in told {
            let written = writeln!(output, "{message}").and_then(|()| output.flush());
            if written.is_err() {
                return player.problem(); // nobody listens any more
            }
        }
        let mut line = Vec::new();
        let mut limited = (&mut input).take(MOST_LINE_BYTES as u64 + 1);
        match limited.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return player.problem(),
            Ok(_) => {}
        }
        told = if line.trim_ascii().is_empty() {
            Vec::new()
        } else {
            player.hear(&line)
        };
    }
}

/// Where in its tape a play is.
pub(super) struct TapePlayer<'a> {
    script: TapeScript,
    matching: Matching,
    secrets: &'a Secrets,
    /// The next request of a strict play.
    next: usize,
    /// What waits for the client's answer to a question of ours.
    held: Vec<Held>,
    divergence: Option<String>,
}

/// What is said once a question was answered.
struct Held {
    question: Value,
    rest: Vec<TapedLine>,
    asked_as: AskedAs,
}

/// The numbers of the request that is answered.
#[derive(Debug, Clone, Default)]
struct AskedAs {
    id: Option<Value>,
    progress_token: Option<Value>,
}

impl<'a> TapePlayer<'a> {
    pub(super) fn new(script: TapeScript, matching: Matching, secrets: &'a Secrets) -> Self {
        Self {
            script,
            matching,
            secrets,
            next: 0,
            held: Vec::new(),
            divergence: None,
        }
    }

    /// What is said before anybody asks.
    pub(super) fn prologue(&mut self) -> Vec<Value> {
        let lines = std::mem::take(&mut self.script.prologue);
        self.say(lines, AskedAs::default())
    }

    /// Takes a line of the client; returns what it is told.
    pub(super) fn hear(&mut self, line: &[u8]) -> Vec<Value> {
        let message: Value = serde_json::from_slice(line)
            .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(line).trim_end()));
        let asked_as = AskedAs {
            id: message.get("id").cloned(),
            progress_token: progress_token(&message),
        };
        match self.script.protocol.heard(&message) {
            TapedMessageKind::Answer(id) => self.answered(&id),
            TapedMessageKind::Notice => self.noticed(&message, asked_as),
            TapedMessageKind::Request if message["method"] == "ping" => {
                let pong = json!({"jsonrpc": "2.0", "id": asked_as.id, "result": {}});
                vec![pong]
            }
            TapedMessageKind::Request => {
                let came = self.counted(&message);
                match self.find(&came) {
                    Ok(at) => {
                        let scene = self.script.scenes.get_mut(at);
                        let lines = scene.map(played).unwrap_or_default();
                        self.say(lines, asked_as)
                    }
                    Err(text) => self.diverge(text, &message),
                }
            }
        }
    }

    /// What counts of a message, without secrets, as it is on the tape.
    fn counted(&self, message: &Value) -> Value {
        let mut came = essence(message);
        hide(&mut came, &mut |text| self.secrets.hide(text).into_owned());
        came
    }

    /// Where on the tape this request is; else what is there instead.
    fn find(&mut self, came: &Value) -> Result<usize, String> {
        if let Some(earlier) = self
            .divergence
            .clone()
            .filter(|_| self.matching == Matching::Strict)
        {
            return Err(earlier);
        }
        if self.matching == Matching::Any {
            return self.find_any(came);
        }
        let at = self.next;
        let Some(scene) = self.script.scenes.get(at) else {
            let asked = shown(came);
            return Err(format!(
                "the tape has ended, and the client asked more: {asked}"
            ));
        };
        if !is_same(&scene.asked, came) {
            let (number, diff) = (at + 1, difference(&scene.asked, came));
            return Err(format!(
                "request {number} is not the one of the tape\n{diff}"
            ));
        }
        self.next += 1;
        Ok(at)
    }

    fn find_any(&self, came: &Value) -> Result<usize, String> {
        let scenes = || self.script.scenes.iter().enumerate();
        let same = || scenes().filter(|(_, scene)| is_same(&scene.asked, came));
        let fresh = same().find(|(_, scene)| !scene.is_played);
        if let Some((at, _)) = fresh.or_else(|| same().next_back()) {
            return Ok(at);
        }
        let alike = |scene: &TapeScene| likeness(&scene.asked, came);
        let nearest = scenes().max_by(|(_, a), (_, b)| alike(a).total_cmp(&alike(b)));
        Err(match nearest {
            Some((at, scene)) => {
                let (number, diff) = (at + 1, difference(&scene.asked, came));
                format!("no request of the tape is this one; request {number} is nearest\n{diff}")
            }
            None => format!(
                "the tape has no requests, and the client asked: {}",
                shown(came)
            ),
        })
    }

    /// A notice: what the server told because of it.
    fn noticed(&mut self, message: &Value, asked_as: AskedAs) -> Vec<Value> {
        let came = self.counted(message);
        let mut notices = self.script.notices.iter_mut();
        let fits =
            |scene: &&mut TapeScene| !scene.is_played && scene.asked["method"] == came["method"];
        let lines = notices.find(fits).map(played).unwrap_or_default();
        self.say(lines, asked_as)
    }

    /// The client answered a question: what waited for that is said.
    fn answered(&mut self, id: &Value) -> Vec<Value> {
        let Some(at) = self.held.iter().position(|held| held.question == *id) else {
            return Vec::new();
        };
        let held = self.held.swap_remove(at);
        self.say(held.rest, held.asked_as)
    }

    /// Says these, up to a question.
    fn say(&mut self, lines: Vec<TapedLine>, asked_as: AskedAs) -> Vec<Value> {
        let mut said = Vec::new();
        let mut lines = lines.into_iter();
        while let Some(TapedLine { mut message, kind }) = lines.next() {
            match kind {
                TapedLineKind::Answer => {
                    if let (Some(number), Some(id)) = (message.get_mut("id"), &asked_as.id) {
                        number.clone_from(id);
                    }
                }
                TapedLineKind::Told => {
                    let token = message.pointer_mut("/params/progressToken");
                    if let (Some(token), Some(own)) = (token, &asked_as.progress_token) {
                        token.clone_from(own);
                    }
                }
                TapedLineKind::Asks => {
                    if let (Some(call), Some(id)) = (message.get_mut("call"), &asked_as.id) {
                        call.clone_from(id);
                    }
                    self.held.push(Held {
                        question: message["id"].clone(),
                        rest: lines.collect(),
                        asked_as,
                    });
                    said.push(message);
                    return said;
                }
            }
            said.push(message);
        }
        said
    }

    /// Answers what is not on the tape.
    fn diverge(&mut self, text: String, message: &Value) -> Vec<Value> {
        let id = message.get("id").cloned();
        let answer = match self.script.protocol {
            TapedProtocol::Mcp => {
                let error = json!({"code": NOT_ON_TAPE, "message": text});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
            TapedProtocol::Rpc => {
                let mut answer = json!({
                    "type": "response", "command": message["type"], "success": false, "error": text,
                });
                if let Some(id) = id {
                    answer["id"] = id;
                }
                answer
            }
        };
        self.divergence.get_or_insert(text);
        vec![answer]
    }

    /// What was not as on the tape, once it is over.
    pub(super) fn problem(&self) -> Option<String> {
        if self.divergence.is_some() || self.matching == Matching::Any {
            return self.divergence.clone();
        }
        let left = self.script.scenes.get(self.next..).unwrap_or_default();
        let first = left.first()?;
        let (count, asked) = (left.len(), shown(&first.asked));
        let text = crate::for_people::count(count as u64, "request");
        Some(format!(
            "the client did not ask {text} of the tape, first {asked}"
        ))
    }
}

/// What a scene says, now that it is played.
fn played(scene: &mut TapeScene) -> Vec<TapedLine> {
    scene.is_played = true;
    scene.lines.clone()
}

/// The beginning of a message.
fn shown(message: &Value) -> String {
    let text = message.to_string();
    text.chars().take(300).collect()
}
