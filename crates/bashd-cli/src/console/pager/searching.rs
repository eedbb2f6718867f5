//! Searching in a page: what is typed, which match stands there, and the ways to the others.

use super::Pager;
use crate::console::overlay::WheelTurn;
use crate::console::page_text::pattern;
use crate::render::Tone;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use regex::Regex;

/// What is searched for.
#[derive(Default)]
pub(super) struct PageSearch {
    pub(super) typed: String,
    pub(super) is_typing: bool,
    pub(super) pattern: Option<Regex>,
    /// The line with the match that was gone to, until somebody scrolls: near the end of a page it
    /// is not the first that is shown.
    pub(super) at: Option<usize>,
}

impl PageSearch {
    /// How matches in this line look.
    pub(super) fn tone(&self, line: usize) -> Tone {
        if self.at == Some(line) {
            Tone::FoundHere
        } else {
            Tone::Found
        }
    }
}

impl Pager {
    /// Begins a search.
    pub(in crate::console) fn begin_search(&mut self) {
        self.search.is_typing = true;
    }

    /// What is searched for, which match of how many stands there, and the keys.
    pub(super) fn found_here(&self) -> Option<String> {
        let found = self.text.found(self.search.pattern.as_ref()?);
        let number = self
            .search
            .at
            .and_then(|at| found.iter().position(|line| *line == at));
        let (typed, all) = (&self.search.typed, found.len());
        let count = match number {
            Some(number) => format!("{} of {all}", number + 1),
            None => format!("{all} found"),
        };
        Some(format!(" /{typed} · {count} · n N · esc ends "))
    }

    pub(super) fn type_search(&mut self, key: &KeyEvent, rows: usize) {
        match key.code {
            KeyCode::Enter => {
                self.search.is_typing = false;
                self.search.pattern = pattern(&self.search.typed);
                self.find_near(rows);
            }
            KeyCode::Esc => {
                self.search = PageSearch::default();
            }
            KeyCode::Backspace => drop(self.search.typed.pop()),
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                self.search.typed.clear();
            }
            KeyCode::Char(character) => self.search.typed.push(character),
            _ => {}
        }
    }

    /// The line from which a search or a selection goes on.
    pub(super) fn searched_from(&self, rows: usize) -> usize {
        if self.is_at_a_line() {
            return self.at;
        }
        let first = || self.text.line_of(self.first(rows));
        self.search.at.unwrap_or_else(first)
    }

    /// Goes to the first match that is on the page or below it, or else the last above it: the end
    /// of a page is where the newest is.
    fn find_near(&mut self, rows: usize) {
        self.search.at = None;
        let Some(pattern) = &self.search.pattern else {
            return;
        };
        let from = self.searched_from(rows);
        let found = self.text.found(pattern);
        match found.iter().find(|line| **line >= from).or(found.last()) {
            Some(line) => self.go_to_match(*line, rows),
            None => self.said = format!("nothing found for /{}", self.search.typed),
        }
    }

    pub(super) fn go_to_found(&mut self, turn: WheelTurn, rows: usize) {
        let Some(pattern) = &self.search.pattern else {
            "type / to search".clone_into(&mut self.said);
            return;
        };
        let from = self.searched_from(rows);
        let found = self.text.found(pattern);
        let next = match turn {
            WheelTurn::Down => found.iter().find(|line| **line > from),
            WheelTurn::Up => found.iter().rev().find(|line| **line < from),
        };
        match next {
            Some(line) => self.go_to_match(*line, rows),
            None => "there is no other in this direction".clone_into(&mut self.said),
        }
    }

    fn go_to_match(&mut self, line: usize, rows: usize) {
        self.go_to(line, rows);
        self.search.at = Some(line);
    }
}
