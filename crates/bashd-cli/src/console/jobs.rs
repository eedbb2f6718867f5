//! The jobs of all of this user's bashd processes, as lines that are looked at again and again, and what can
//! be done to them.

use crate::for_people;
use bashd::jobs::{AfterInput, Jobs, OutputQuery, State, Whose};
use bashd::render::{self, Line, Tone};
use bashd::screen::keys::{Key, KeyModes};

/// Lines of a job's output that are shown.
const LINES: u64 = 500;

/// Bytes of a job's output that are shown at most.
const BYTES: u64 = 256 * 1024;

/// Everybody's jobs, the console's own first where a name is not unique.
const ALL: Whose<'static> = Whose::Everybody("console");

/// What a page shows of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Page {
    /// All of them.
    List,
    /// The output of one.
    Output(String),
}

/// What is to be done to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deed {
    /// End it.
    Kill(String),
    /// Send it text or keys.
    Send(String, String),
}

/// The page as it is now.
pub(super) async fn page(jobs: &Jobs, page: &Page) -> Vec<Line> {
    match page {
        Page::List => list(jobs),
        Page::Output(name) => output(jobs, name).await,
    }
}

fn list(jobs: &Jobs) -> Vec<Line> {
    let line = |job: &bashd::jobs::Job| {
        let age = for_people::duration(job.age_ms);
        let name = job.name.as_ref().unwrap_or(&job.alias);
        let state = job.state.name().replace('_', " ");
        Line::new(tone(job.state), format!("{state:<17}"))
            .and(Tone::Plain, format!(" {name:<10}"))
            .and(Tone::Faint, format!(" {age:>6}  "))
            .and(Tone::Command, for_people::one_line(&job.command))
            .and(
                Tone::Faint,
                format!("  {}", for_people::one_line(&job.last_line)),
            )
    };
    let lines: Vec<_> = jobs.list(ALL).iter().rev().map(line).collect();
    if lines.is_empty() {
        return vec![Line::new(Tone::Faint, "there is no job")];
    }
    lines
}

fn tone(state: State) -> Tone {
    match state {
        State::Running | State::Survivors => Tone::Active,
        State::WaitingForInput => Tone::Warning,
        State::Exited => Tone::Good,
        _ => Tone::Bad,
    }
}

async fn output(jobs: &Jobs, name: &str) -> Vec<Line> {
    let read = async {
        let job = jobs.find(ALL, name)?;
        jobs.output(&job, &OutputQuery::tail(LINES).at_most(BYTES))
            .await
    };
    match read.await {
        Ok(output) => {
            let text = render::plain(&output.text);
            let lines = text.lines().map(|line| Line::new(Tone::Plain, line));
            let state = output.job.state;
            let end = Line::new(tone(state), state.name().replace('_', " "));
            lines.chain([end]).collect()
        }
        Err(error) => vec![Line::new(Tone::Bad, error.to_string())],
    }
}

/// Does it; the answer is for the line of remarks.
pub(super) async fn act(jobs: &Jobs, deed: &Deed) -> String {
    let done = match deed {
        Deed::Kill(name) => match jobs.find(ALL, name) {
            Ok(job) => jobs.kill(&job).await.map(|_| format!("{name} was ended")),
            Err(error) => Err(error),
        },
        Deed::Send(name, what) => match jobs.find(ALL, name) {
            Ok(job) => {
                let sent = jobs.send(&job, &bytes(what), AfterInput::StayOpen).await;
                sent.map(|()| format!("sent to {name}"))
            }
            Err(error) => Err(error),
        },
    };
    done.unwrap_or_else(|error| error.to_string())
}

/// Names of keys (`C-c Up Enter`), or else a line of text.
fn bytes(what: &str) -> Vec<u8> {
    let named = |word: &str| Key::named(word).filter(|_| word.chars().count() > 1);
    let keys: Option<Vec<Key>> = what.split_whitespace().map(named).collect();
    match keys {
        Some(keys) if !keys.is_empty() => {
            let pressed = keys
                .into_iter()
                .flat_map(|key| key.bytes(KeyModes::default()));
            pressed.collect()
        }
        _ => format!("{what}\n").into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_text() {
        assert_eq!(bytes("C-c"), b"\x03");
        assert_eq!(bytes("Up Enter"), b"\x1b[A\r");
        assert_eq!(bytes("yes"), b"yes\n");
        assert_eq!(bytes("Up the hill"), b"Up the hill\n");
        assert_eq!(bytes("y"), b"y\n");
        assert_eq!(bytes(""), b"\n");
    }
}
