//! The jobs of all of this user's bashd processes: their lines, which are refreshed again and
//! again, and the actions on them.

use crate::for_people;
use crate::render::{self, StyledLine, Tone};
use bashd::Error;
use bashd::jobs::{Job, JobKind, JobState, JobTerminal, Jobs, OutputQuery, Typing, Whose};
use bashd::screen::keys::KeyPress;

/// Lines of a job's output that are shown.
const LINES: u64 = 500;

/// Bytes of a job's output that are shown at most.
const BYTES: u64 = 256 * 1024;

/// A blank at which no row ends while the next has room for all of it: what a command wrote last
/// stands in one piece.
pub(super) const TOGETHER: &str = "\u{a0}";

/// Everybody's jobs.
const ALL: Whose<'static> = Whose::Everybody;

/// What a page shows of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JobsPage {
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
    /// Look at it: at its terminal, if it has one, or at its output.
    Open(String),
}

/// A page as it is now.
pub(super) struct SeenPage {
    pub(super) lines: Vec<StyledLine>,
    /// The id behind each line of a list.
    pub(super) targets: Vec<String>,
    /// What is shown beside a list: the ends of outputs.
    pub(super) beside: Vec<OutputView>,
}

/// The end of a job's output, beside a list.
pub(super) struct OutputView {
    pub(super) title: String,
    pub(super) lines: Vec<StyledLine>,
}

/// The page as it is now; beside a list, the outputs of the followed ones and of the chosen one.
pub(super) async fn page(jobs: &Jobs, page: &JobsPage, beside: &Beside) -> SeenPage {
    match page {
        JobsPage::List => list(jobs, beside).await,
        JobsPage::Output(name) => SeenPage {
            lines: output(jobs, name).await,
            targets: Vec::new(),
            beside: Vec::new(),
        },
    }
}

/// Whose output stands beside a list.
#[derive(Debug, Clone, Default)]
pub(super) struct Beside {
    /// Those that are followed, by their ids.
    pub(super) followed: Vec<String>,
    /// The chosen one; the first before anything is chosen.
    pub(super) chosen: Option<String>,
}

/// Runs whose calls wait, then jobs, the newest first; before them those that wait for input.
async fn list(jobs: &Jobs, beside: &Beside) -> SeenPage {
    let mut all = jobs.list(ALL);
    all.extend(jobs.running().await);
    all.reverse();
    all.sort_by_key(|job| job.state != JobState::WaitingForInput);
    if all.is_empty() {
        let nothing = [
            "there are no jobs, and no command has run for a second",
            "one that goes on: bashd run --background COMMAND",
        ];
        return SeenPage {
            lines: nothing
                .map(|line| StyledLine::new(Tone::Faint, line))
                .into(),
            targets: Vec::new(),
            beside: Vec::new(),
        };
    }
    let is_there = |id: &&String| all.iter().any(|job| job.id == **id);
    let first = all.first().map(|job| &job.id);
    let chosen = beside.chosen.as_ref().filter(is_there).or(first);
    let followed = beside.followed.iter().filter(is_there);
    let shown = followed.filter(|id| Some(*id) != chosen).chain(chosen);
    let mut views = Vec::new();
    for id in shown {
        let name = all.iter().find(|job| job.id == *id);
        let title = name.map(|job| format!("{} {}", called(job), job.command));
        views.push(OutputView {
            title: for_people::one_line(&render::plain(&title.unwrap_or_default())),
            lines: output(jobs, id).await,
        });
    }
    let mark = |job: &Job| {
        // Rows stand below each other, marked or not.
        match &*beside.followed {
            [] => "",
            followed if followed.contains(&job.id) => "● ",
            _ => "  ",
        }
    };
    let lines = all.iter().map(|job| {
        let mut marked = StyledLine::new(Tone::Active, mark(job));
        marked.0.extend(line(job).0);
        marked
    });
    SeenPage {
        lines: lines.collect(),
        targets: all.iter().map(|job| job.id.clone()).collect(),
        beside: views,
    }
}

/// A job in one line.
pub(super) fn line(job: &Job) -> StyledLine {
    let age = for_people::duration(job.age_ms);
    let name: &str = match (&job.name, job.kind) {
        (Some(name), _) => name,
        (None, JobKind::Foreground) => "call",
        (None, JobKind::Background | JobKind::Survivors) => &job.alias,
    };
    let state = state(job);
    let last = for_people::one_line(&render::plain(&job.last_line)).replace(' ', TOGETHER);
    StyledLine::new(tone(job), format!("{state:<17}"))
        .and(Tone::Plain, format!(" {name:<7}"))
        .and(
            Tone::Faint,
            format!(" {:<5}", for_people::one_line(&job.owner)),
        )
        .and(Tone::Faint, format!(" {age:>6}  "))
        .and(Tone::Command, for_people::one_line(&job.command))
        .and(Tone::Faint, format!("  {last}"))
}

fn tone(job: &Job) -> Tone {
    match (job.state, job.exit_code) {
        (JobState::Running | JobState::Survivors, _) => Tone::Active,
        (JobState::WaitingForInput, _) => Tone::Warning,
        (JobState::Exited, Some(0)) => Tone::Good,
        _ => Tone::Bad,
    }
}

/// Its state, and what it ended with.
fn state(job: &Job) -> String {
    let name = job.state.name().replace('_', " ");
    match (job.state, job.exit_code, job.signal) {
        (JobState::Exited, Some(code), _) => format!("exit {code}"),
        (JobState::Killed, _, Some(signal)) => format!("{name}, signal {signal}"),
        _ => name,
    }
}

async fn output(jobs: &Jobs, name: &str) -> Vec<StyledLine> {
    let read = async {
        let job = jobs.find(ALL, name)?;
        jobs.output(&job, &OutputQuery::tail(LINES).at_most(BYTES))
            .await
    };
    match read.await {
        Ok(output) => {
            let text = render::plain(&output.text);
            let lines = text.lines().map(|line| StyledLine::new(Tone::Plain, line));
            let end = StyledLine::new(tone(&output.job), state(&output.job));
            lines.chain([end]).collect()
        }
        Err(error) => vec![StyledLine::new(Tone::Bad, error.to_string())],
    }
}

/// What went wrong, and what to do next.
pub(super) fn problem(error: &Error) -> String {
    let text = error.to_string();
    if text.starts_with("there is no job") {
        return format!("{text}; /jobs lists them");
    }
    text
}

/// Ends a job; returns the remark to show.
pub(super) async fn kill(jobs: &Jobs, name: &str) -> Result<String, Error> {
    let job = jobs.find(ALL, name)?;
    jobs.kill(&job).await?;
    Ok(format!("{} was ended", called(&job)))
}

/// Sends text or keys; returns the remark to show.
pub(super) async fn send(jobs: &Jobs, name: &str, what: &str) -> Result<String, Error> {
    let job = jobs.find(ALL, name)?;
    jobs.type_at(&job, &typing(what)).await?;
    Ok(format!("sent to {}", called(&job)))
}

/// What can be opened: a live one's terminal, or else its output.
pub(super) async fn open(jobs: &Jobs, name: &str) -> Result<Opened, Error> {
    let job = jobs.find(ALL, name)?;
    if job.terminal.is_some() && job.state.is_alive() {
        let terminal = jobs.terminal(&job).await?;
        return Ok(Opened::Terminal(Box::new(job), Box::new(terminal)));
    }
    Ok(Opened::Output(Box::new(job)))
}

/// How to look at a job.
pub(super) enum Opened {
    Terminal(Box<Job>, Box<JobTerminal>),
    Output(Box<Job>),
}

/// What people call it.
pub(super) fn called(job: &Job) -> &str {
    match (&job.name, job.kind) {
        (Some(name), _) => name,
        (None, JobKind::Foreground) => "the command",
        (None, JobKind::Background | JobKind::Survivors) => &job.alias,
    }
}

/// Names of keys (`C-c Up Enter`), or else a line of text.
fn typing(what: &str) -> Typing {
    let is_key = |word: &str| word.chars().count() > 1 && KeyPress::named(word).is_some();
    let words = || what.split_whitespace();
    let keys = Typing::default().keys(words()).ok();
    let is_all_keys = !what.trim().is_empty() && words().all(is_key);
    keys.filter(|_| is_all_keys)
        .unwrap_or_else(|| Typing::text(format!("{what}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_text() {
        for keys in ["C-c", "Up Enter", "F1"] {
            let typed = typing(keys);
            assert_eq!(typed.keys.len(), keys.split(' ').count(), "{keys}");
            assert!(typed.text.is_empty(), "{keys}");
        }
        for text in ["yes", "Up the hill", "y", ""] {
            assert_eq!(typing(text).text, format!("{text}\n").into_bytes());
        }
    }
}
