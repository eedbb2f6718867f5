//! The line above the prompt: what the console does, and what keys do just now.

use super::app::{App, Over};
use super::asking::{FIRST_ANSWER, WAITS};
use super::end_key::TerminalUse;
use super::runs::{ConsoleRuns, LiveRun};
use crate::render::RunState;
use std::time::Instant;

impl App {
    /// What the line below says; while a command runs, what keys do if there is nothing else.
    pub(super) fn remark(&self) -> String {
        match &self.runs.live {
            Some(_) if self.ending.is_half_asked_for(Instant::now()) => self.ends_if_again(),
            Some(live) if self.remark.is_empty() => self.while_it_runs(live),
            _ => self.remark.clone(),
        }
    }

    /// What the console does now, in a word. At its terminal everybody sees that a program waits.
    pub(super) fn doing(&self) -> &'static str {
        match (self.over, self.runs.doing()) {
            (Over::Own, WAITS) => "running",
            (_, doing) => doing,
        }
    }

    /// The remark when another command is asked for while one runs.
    pub(super) fn busy(&self) -> String {
        let live = self.runs.live.as_ref();
        if live.is_some_and(|live| live.input.waits()) {
            return FIRST_ANSWER.to_owned();
        }
        match self.end_label().as_str() {
            "esc" => "A bash command is already running. Press Esc to cancel it first.".to_owned(),
            key => format!("a command is already running; {key} ends it"),
        }
    }

    /// The remark while a command runs.
    pub(super) fn while_it_runs(&self, live: &LiveRun) -> String {
        match (live.has_terminal, live.input.waits()) {
            (true, true) => "ctrl-t goes to its terminal".to_owned(),
            (true, false) => format!("ctrl-t goes to its terminal, {} ends it", self.end_label()),
            (false, _) => format!("{} ends it", self.end_label()),
        }
    }

    /// The remark when its key came once, and must come again.
    pub(super) fn ends_if_again(&self) -> String {
        let live = self.runs.live.as_ref();
        let used_for = live.map_or(TerminalUse::Lines, |live| live.overlay.used_for());
        format!("{} again ends it", self.runs.end_key().name(used_for))
    }

    fn end_label(&self) -> String {
        let live = self.runs.live.as_ref();
        let used_for = live.map_or(TerminalUse::Lines, |live| live.overlay.used_for());
        self.runs.end_key().label(used_for)
    }
}

impl ConsoleRuns {
    /// What the console does now, in a word.
    pub(super) fn doing(&self) -> &'static str {
        let state = self.shown.last().map(|shown| shown.view.state());
        match (&self.live, state) {
            (None, _) => "ready",
            (Some(live), Some(RunState::Running)) if live.input.waits() => WAITS,
            (Some(_), Some(RunState::Running)) => "running",
            (Some(_), _) => "waiting",
        }
    }
}
