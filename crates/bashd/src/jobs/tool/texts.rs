//! Jobs in words: short ones, since a model pays for each.

use crate::exec::EndedBy;
use crate::jobs::{Asks, Job, JobScreen, JobState, Met};
use bashd_keeper::signal;
use std::time::Duration;

/// The remark about a job whose client is gone.
pub(crate) const EARLIER: &str = " (earlier)";

/// Characters of a command in a list.
const LABEL: usize = 120;

/// The command on one line, shortened.
pub(crate) fn label(command: &str) -> String {
    let line: String = command
        .trim()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if line.chars().count() <= LABEL {
        return line;
    }
    let short: String = line.chars().take(LABEL - 3).collect();
    format!("{short}...")
}

/// A job's state, and for how long.
pub(crate) fn state(job: &Job) -> String {
    let time = time(Duration::from_millis(job.ran_ms()));
    match job.state {
        JobState::Running => format!("running for {time}"),
        JobState::WaitingForInput => {
            let waiting = job.waiting.as_ref();
            let what = match waiting.map(|waiting| waiting.asks).unwrap_or_default() {
                Asks::Input => "input",
                Asks::Password => "a password",
            };
            let prompt = waiting.map(|waiting| waiting.prompt.as_str());
            format!(
                "waiting for {what}, running for {time}: {:?}",
                prompt.unwrap_or_default()
            )
        }
        JobState::Survivors => {
            let processes = bashd_keeper::counted::counted(
                job.left_behind.len() as u64,
                "process is still running",
                "processes are still running",
            );
            format!("its shell ended, {processes}")
        }
        JobState::Exited | JobState::Killed => format!("{} after {time}", ending(job)),
        JobState::Lost => format!(
            "lost: {}",
            job.lost_because.unwrap_or("the reason is unknown")
        ),
    }
}

/// How a job ended.
pub(crate) fn ending(job: &Job) -> String {
    let how = match (job.exit_code, job.signal) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(number)) => format!("killed by signal {number}, {}", signal::name(number)),
        (None, None) => "ended without a status".to_owned(),
    };
    match job.ended_by {
        Some(EndedBy::Timeout) => format!("ended by its time limit ({how})"),
        Some(EndedBy::Cancel) => format!("ended on request ({how})"),
        Some(EndedBy::Place) => format!("ended with its place ({how})"),
        None => how,
    }
}

/// A time for people: `0.4 s`, `12 s`, `3 m 20 s`, `2 h 5 m`.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=9 => format!("{:.1} s", time.as_secs_f64()),
        10..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} m {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// One line of a list.
pub(crate) fn line(job: &Job) -> String {
    let name = job.name.as_ref().map(|name| format!(" ({name})"));
    // The short name of an earlier job is not the caller's: one of its own may have it.
    let called = if job.earlier {
        format!("{}{EARLIER}", job.id)
    } else {
        job.alias.clone()
    };
    let mut line = format!(
        "{called}{}: {}, {} of output: {}",
        name.unwrap_or_default(),
        state(job),
        bashd_keeper::counted::counted(job.output_bytes, "byte", "bytes"),
        label(&job.command)
    );
    if !job.last_line.is_empty() {
        line.push_str(" | ");
        line.push_str(&label(&job.last_line));
    }
    line
}

/// A job's screen, and a line about it.
pub(crate) fn screen(shown: &JobScreen) -> String {
    let mut text = shown.lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    let (columns, rows) = (shown.size.columns(), shown.size.rows());
    let cursor = shown.cursor;
    let place = if cursor.is_visible { "at" } else { "hidden at" };
    let mut parts = vec![
        format!("screen of {columns}x{rows}"),
        format!(
            "cursor {place} row {}, column {}",
            cursor.row + 1,
            cursor.column + 1
        ),
    ];
    if !shown.title.is_empty() {
        parts.push(format!("title {:?}", shown.title));
    }
    match shown.met {
        Met::Yes => {}
        Met::NotYet => parts.push("condition not met yet".to_owned()),
        Met::Ended => parts.push("ended before the condition was met".to_owned()),
    }
    let state = state(&shown.job);
    format!("{text}[{}; {state}]", parts.join(", "))
}
