//! Tests of replies: each document's exact words for each way a call can end.

mod default;
mod harness;
mod phoenix;
mod pi;
mod voice;

use super::*;
use crate::error::ErrorKind;
use crate::output::Source;
use crate::output::fixed::Fixed;
use crate::plan::Streams;
use crate::profile::rules::Within;
use crate::request;
use bashd_keeper::left_behind::LeftReason;
use serde_json::{Value, json};

fn profile(name: &str) -> Profile {
    Profile::builtin(name).unwrap().unwrap()
}

/// A run under a profile, to be given an ending.
struct Ran {
    profile: Profile,
    finished: Finished,
}

/// A run that wrote `out` and `err` and exited with 0; merged profiles get them in this order.
fn ran(name: &str, out: impl Into<Vec<u8>>, err: impl Into<Vec<u8>>) -> Ran {
    let profile = profile(name);
    let (out, err) = (out.into(), err.into());
    let (out, err) = match profile.output.streams {
        Streams::Merged => (Fixed::new([out, err].concat()), None),
        Streams::Apart => (Fixed::new(out), Some(Fixed::new(err))),
    };
    let err = err.as_ref().map(|err| err as &dyn Source);
    let finished = Finished {
        exit: Exit::Code(0),
        ended_by: None,
        ran_for: Duration::ZERO,
        timeout: Duration::from_secs(profile.limits.timeout_s),
        requested_timeout: None,
        hidden: crate::output::line_limits::Hidden::default(),
        captured: (profile.output.cut(&out, err, Within::default()))
            .unwrap()
            .arrange(None),
        written: WrittenCounts::of(&out, err),
        dropped_bytes: 0,
        minimized_by: None,
        digest: None,
        artifact: None,
        notices: Vec::new(),
        left_behind: Vec::new(),
        output_unfinished: false,
        missing_program: err.map(super::super::finished::last_line),
        session_reset: None,
        in_terminal: false,
        terminal: None,
        limits: None,
        confinement: None,
        grantable: None,
        dealings: crate::plan::Dealings::default(),
        changes: None,
        denied: None,
        session_change: SessionChange::None,
        is_benign: false,
        pid: 0,
    };
    Ran { profile, finished }
}

impl Ran {
    fn exit(mut self, code: i32) -> Self {
        self.finished.exit = Exit::Code(code);
        self
    }

    fn signal(mut self, signal: i32) -> Self {
        self.finished.exit = Exit::Signal(signal);
        self
    }

    fn without_status(mut self) -> Self {
        self.finished.exit = Exit::Unknown;
        self
    }

    fn ended_by(mut self, ended_by: EndedBy) -> Self {
        self.finished.ended_by = Some(ended_by);
        self
    }

    fn limit(mut self, timeout: Duration) -> Self {
        self.finished.timeout = timeout;
        self
    }

    fn notice(mut self, notice: Notice) -> Self {
        self.finished.notices.push(notice);
        self
    }

    fn left(mut self, pid: i32, command: &str, reason: LeftReason) -> Self {
        self.finished.left_behind.push(LeftBehind {
            pid,
            command: command.to_owned(),
            age_ms: 5,
            reason,
            job: None,
            alias: None,
        });
        self
    }

    fn reply(self) -> Reply {
        let ending = Ending::Ran(Box::new(self.finished));
        reply(&self.profile, &ending, Duration::from_millis(7))
    }

    fn text(self) -> String {
        self.reply().text
    }

    fn json(self) -> Value {
        let reply = self.reply();
        assert_eq!(
            serde_json::from_str::<Value>(&reply.text).unwrap(),
            reply.result
        );
        reply.result
    }
}

fn refused(name: &str, input: &str) -> Reply {
    let profile = profile(name);
    let refusal = request::parse(&profile, input).unwrap_err();
    reply(&profile, &Ending::Refused(refusal), Duration::ZERO)
}

fn failed(name: &str, error: Error) -> Reply {
    reply(&profile(name), &Ending::Failed(error, None), Duration::ZERO)
}
