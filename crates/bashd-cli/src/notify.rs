//! A sign for a person who looked away that something long is over: the bell, a notice by the
//! terminal, or one by `notify-send`. `notify.by` and `notify.after_seconds` say which and when.

use crate::for_people;
use crate::print::Printer;
use crate::surroundings::{self, TerminalHints};
use bashd::config::{Config, NotifyBy, NotifySettings};
use bashd::jobs::{Job, Jobs, Whose};
use std::collections::HashSet;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The program that tells the desktop.
pub(crate) const PROGRAM: &str = "notify-send";

/// How often jobs are looked at by those who draw.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Columns of a notice at most.
const LONGEST: usize = 160;

/// Gives signs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Notifier {
    settings: NotifySettings,
}

impl Notifier {
    /// As it is configured.
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            settings: config.notify,
        }
    }

    /// Says that a command is over, if it took long.
    pub(crate) fn command_ended(self, took: Duration, how: &str, command: &str) {
        let millis = took.as_millis() as u64;
        let took_text = for_people::duration(millis);
        self.ended(took, &format!("{how} after {took_text}: {command}"));
    }

    /// Says that a job is over, if it took long.
    pub(crate) fn job_ended(self, job: &Job, how: &str) {
        let took = Duration::from_millis(job.ran_ms());
        let name = job.name.as_deref().unwrap_or(&job.alias);
        self.ended(took, &format!("{name} {how}: {}", job.command));
    }

    fn ended(self, took: Duration, text: &str) {
        // What an agent runs is not for a person's ears.
        if took < self.settings.after || surroundings::is_in_a_run() {
            return;
        }
        let text = for_people::cut(&for_people::one_line(text), LONGEST);
        let by = match self.settings.by {
            NotifyBy::Auto if !Printer::reaches_terminal() => return,
            NotifyBy::Auto => chosen(&surroundings::terminal_hints()),
            by => by,
        };
        if by == NotifyBy::NotifySend {
            send(&text);
        } else if let Some(sign) = sign(by, &text) {
            Printer::to_terminal(&sign);
        }
    }
}

/// What suits a terminal: what it is known to show, else the desktop's own, else its bell.
fn chosen(terminal: &TerminalHints) -> NotifyBy {
    let is = |name: &str| terminal.term.starts_with(name);
    let program = &*terminal.program;
    // tmux and screen pass on bells alone.
    if !terminal.is_multiplexed {
        if ["iTerm.app", "WezTerm", "ghostty"].contains(&program) || is("xterm-kitty") {
            return NotifyBy::Osc9;
        }
        if is("foot") || is("rxvt") || is("xterm-ghostty") {
            return NotifyBy::Osc777;
        }
    }
    if terminal.has_desktop && surroundings::finds(PROGRAM) {
        NotifyBy::NotifySend
    } else {
        NotifyBy::Bell
    }
}

/// What is written to the terminal. The text has no control characters.
fn sign(by: NotifyBy, text: &str) -> Option<String> {
    match by {
        NotifyBy::Bell => Some("\u{7}".to_owned()),
        // Behind the name no number can begin the text: that would be another command.
        NotifyBy::Osc9 => Some(format!("\u{1b}]9;bashd: {text}\u{1b}\\")),
        NotifyBy::Osc777 => Some(format!("\u{1b}]777;notify;bashd;{text}\u{1b}\\")),
        _ => None,
    }
}

/// Has the desktop show it. Nobody waits for that.
fn send(text: &str) {
    // Notices may have markup.
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let started = Command::new(PROGRAM)
        .args(["--app-name=bashd", "--", "bashd", &text])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A terminal that closes right after us hangs up on its foreground only.
        .process_group(0)
        .spawn();
    if let Ok(mut child) = started {
        std::thread::spawn(move || child.wait());
    }
}

/// Watches everybody's jobs for those that end.
pub(crate) struct JobEnds {
    notifier: Notifier,
    looked: Option<Instant>,
    /// The ids of those that run.
    alive: HashSet<String>,
}

impl JobEnds {
    /// Those that end from now on.
    pub(crate) fn new(notifier: Notifier) -> Self {
        Self {
            notifier,
            looked: None,
            alive: HashSet::new(),
        }
    }

    /// The jobs that there are now: gives a sign for each that ended since, and took long.
    pub(crate) fn look(&mut self, all: &[Job], ending: impl Fn(&Job) -> String) {
        for job in all {
            if !job.state.is_alive() && self.alive.contains(&job.id) {
                self.notifier.job_ended(job, &ending(job));
            }
        }
        let alive = all.iter().filter(|job| job.state.is_alive());
        self.alive = alive.map(|job| job.id.clone()).collect();
    }

    /// Likewise for one that draws often: looks for jobs now and then.
    pub(crate) fn look_sometimes(&mut self, jobs: &Jobs, ending: impl Fn(&Job) -> String) {
        if self.looked.is_none_or(|at| at.elapsed() >= LOOK_EVERY) {
            self.looked = Some(Instant::now());
            self.look(&jobs.list(Whose::Everybody), ending);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal(term: &str, program: &str) -> TerminalHints {
        TerminalHints {
            term: term.to_owned(),
            program: program.to_owned(),
            is_multiplexed: false,
            has_desktop: false,
        }
    }

    #[test]
    fn a_terminal_gets_what_it_shows() {
        for (term, program, by) in [
            ("xterm-256color", "iTerm.app", NotifyBy::Osc9),
            ("xterm-kitty", "", NotifyBy::Osc9),
            ("xterm-256color", "WezTerm", NotifyBy::Osc9),
            ("foot-extra", "", NotifyBy::Osc777),
            ("rxvt-unicode-256color", "", NotifyBy::Osc777),
            ("xterm-256color", "", NotifyBy::Bell),
            ("linux", "", NotifyBy::Bell),
        ] {
            assert_eq!(chosen(&terminal(term, program)), by, "{term} {program}");
        }
        let inside = TerminalHints {
            is_multiplexed: true,
            ..terminal("xterm-kitty", "")
        };
        assert_eq!(chosen(&inside), NotifyBy::Bell);
    }

    #[test]
    fn signs_end_where_they_should() {
        let text = "bg_1 ended after 2m05s, exit code 0: make";
        assert_eq!(sign(NotifyBy::Bell, text).unwrap(), "\u{7}");
        for (by, begins) in [
            (NotifyBy::Osc9, "\u{1b}]9;bashd: bg_1"),
            (NotifyBy::Osc777, "\u{1b}]777;notify;bashd;bg_1"),
        ] {
            let sign = sign(by, text).unwrap();
            assert!(sign.starts_with(begins) && sign.ends_with("make\u{1b}\\"));
        }
        assert_eq!(sign(NotifyBy::Off, text), None);
    }
}
