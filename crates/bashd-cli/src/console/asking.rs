//! Whether the command that runs here waits for its user. If it does, that is said where it runs,
//! and its terminal comes to the front, unless something else is being done: what is meant for it,
//! a password above all, must not be typed at the prompt.

use super::app::App;
use super::runs::LiveRun;
use bashd::jobs::Jobs;
use std::time::{Duration, Instant};

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How long nothing was typed before a terminal comes to the front by itself.
const CALM: Duration = Duration::from_secs(1);

/// How long after that the key that opens it does not hide it again: who just pressed it meant to
/// see it.
const JUST_CAME: Duration = Duration::from_secs(1);

/// Its state, in words.
pub(super) const WAITS: &str = "waiting for input";

/// What is said to a line that comes meanwhile.
pub(super) const FIRST_ANSWER: &str =
    "the command waits for input: ctrl-t goes to its terminal; nothing else runs meanwhile";

/// What is known of a running command.
#[derive(Debug, Default)]
pub(super) struct InputWatch {
    looked: Option<Instant>,
    waits: bool,
    /// Whether its terminal was shown: once is enough.
    was_shown: bool,
    /// When that came to the front by itself.
    came: Option<Instant>,
}

impl InputWatch {
    /// Whether the command waits for input.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// Its terminal was shown, for whatever reason.
    pub(super) fn was_shown(&mut self) {
        self.was_shown = true;
    }

    /// Whether its terminal came to the front just now.
    pub(super) fn just_came(&self) -> bool {
        self.came.is_some_and(|came| came.elapsed() < JUST_CAME)
    }

    fn is_due(&self) -> bool {
        self.looked
            .is_none_or(|looked| looked.elapsed() >= LOOK_EVERY)
    }
}

impl App {
    /// Looks, if it is time, whether the command that runs here waits for input.
    pub(super) fn attend_input(&mut self, jobs: &Jobs) {
        let is_calm = self.typed.is_none_or(|typed| typed.elapsed() >= CALM);
        let is_free = self.prompt.text().is_empty() && self.pager.is_none();
        let is_covered = self.overlay().is_some() || !self.questions.is_empty();
        let Some(live) = &mut self.runs.live else {
            return;
        };
        if !live.has_terminal || !live.input.is_due() {
            return;
        }
        live.input.looked = Some(Instant::now());
        live.input.waits = waits(jobs, live);
        let comes = live.input.waits && !live.input.was_shown;
        if comes && is_calm && is_free && !is_covered {
            live.input.came = Some(Instant::now());
            self.show_terminal();
        }
        self.runs.input_changed();
    }
}

fn waits(jobs: &Jobs, live: &LiveRun) -> bool {
    live.shell
        .is_some_and(|shell| jobs.awaited_by(shell).is_some())
}
