//! The state of `bashd top`, and what each key does.

use crate::answering::{self, AnswerPause};
use crate::watched::{WatchedCall, WatchedCalls, WatchedFilter, WatchedState};
use bashd::approval::ApprovalAnswer;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::cell::Cell;
use std::time::Instant;

/// Rows that `PageUp` and `PageDown` go.
const PAGE: isize = 10;

/// What is on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TopMode {
    List,
    /// A text to search for is being typed.
    Searching,
    /// The output of this call.
    Opened(String),
    /// Whether this call is to be ended is asked.
    Ending(String),
}

/// What a key asks for that is not of the screen alone.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TopDeed {
    Nothing,
    Quit,
    Answer(String, ApprovalAnswer),
    End(String),
    /// The output of another call is wanted.
    Open,
}

/// Everything that is shown.
pub(super) struct TopApp {
    pub(super) calls: WatchedCalls,
    pub(super) filter: WatchedFilter,
    pub(super) search: String,
    pub(super) mode: TopMode,
    /// What came of the last deed.
    pub(super) remark: String,
    /// The end of the opened call's output.
    pub(super) output: Vec<String>,
    /// Rows by which it is scrolled back, and by how many it can be.
    pub(super) look_back: usize,
    pub(super) most_back: Cell<usize>,
    /// From when on keys answer the selected call's question.
    pause: AnswerPause,
    selected: Option<String>,
}

impl TopApp {
    /// The list of these calls.
    pub(super) fn new(calls: WatchedCalls) -> Self {
        Self {
            calls,
            filter: WatchedFilter::default(),
            search: String::new(),
            mode: TopMode::List,
            remark: String::new(),
            output: Vec::new(),
            look_back: 0,
            most_back: Cell::default(),
            pause: AnswerPause::default(),
            selected: None,
        }
    }

    /// The calls that are shown.
    pub(super) fn wanted(&self) -> Vec<&WatchedCall> {
        self.calls.wanted(self.filter, &self.search)
    }

    /// The row of the selected call; the first if it is not there.
    pub(super) fn selected_row(&self, wanted: &[&WatchedCall]) -> usize {
        let is_it = |call: &&WatchedCall| Some(&call.id) == self.selected.as_ref();
        wanted.iter().position(is_it).unwrap_or(0)
    }

    /// The selected call.
    pub(super) fn selected(&self) -> Option<&WatchedCall> {
        if let TopMode::Opened(id) | TopMode::Ending(id) = &self.mode {
            return self.calls.get(id);
        }
        let wanted = self.wanted();
        wanted.get(self.selected_row(&wanted)).copied()
    }

    /// This is what is shown now: a question that has only just come up under the cursor is not
    /// answered by a key for another.
    pub(super) fn settle(&mut self, now: Instant) {
        let asks = self.asks().map(|call| call.id.clone());
        if self.pause.shows(asks.as_deref(), now) {
            // What was said about the last one would hide the keys for this one.
            self.remark.clear();
        }
    }

    /// The selected call, if it asks.
    pub(super) fn asks(&self) -> Option<&WatchedCall> {
        let asks = |call: &&WatchedCall| matches!(call.state, WatchedState::Asks(_));
        self.selected().filter(asks)
    }

    /// Whether keys answer its question by now.
    pub(super) fn is_answerable(&self, now: Instant) -> bool {
        self.pause.is_over(now)
    }

    /// A key was pressed.
    pub(super) fn key(&mut self, event: &KeyEvent, now: Instant) -> TopDeed {
        self.remark.clear();
        if event.code == KeyCode::Char('c') && event.modifiers.contains(KeyModifiers::CONTROL) {
            return TopDeed::Quit;
        }
        match self.mode.clone() {
            TopMode::Searching => self.search_key(event.code),
            TopMode::Ending(id) => {
                self.mode = TopMode::List;
                match event.code {
                    KeyCode::Char('y') => TopDeed::End(id),
                    _ => TopDeed::Nothing,
                }
            }
            TopMode::Opened(_) => self.opened_key(event, now),
            TopMode::List => self.list_key(event, now),
        }
    }

    fn search_key(&mut self, code: KeyCode) -> TopDeed {
        match code {
            KeyCode::Esc => {
                self.search.clear();
                self.mode = TopMode::List;
            }
            KeyCode::Enter => self.mode = TopMode::List,
            KeyCode::Backspace => drop(self.search.pop()),
            KeyCode::Char(character) => self.search.push(character),
            _ => {}
        }
        TopDeed::Nothing
    }

    fn opened_key(&mut self, event: &KeyEvent, now: Instant) -> TopDeed {
        let rows = PAGE.unsigned_abs();
        match event.code {
            KeyCode::Esc | KeyCode::Left | KeyCode::Backspace => self.mode = TopMode::List,
            KeyCode::Up | KeyCode::Char('k') => self.look_back += 1,
            KeyCode::Down | KeyCode::Char('j') => {
                self.look_back = self.look_back.saturating_sub(1);
            }
            KeyCode::PageUp => self.look_back += rows,
            KeyCode::PageDown => self.look_back = self.look_back.saturating_sub(rows),
            KeyCode::Home | KeyCode::Char('g') => self.look_back = usize::MAX,
            KeyCode::End | KeyCode::Char('G') => self.look_back = 0,
            _ => return self.deed_key(event, now),
        }
        self.look_back = self.look_back.min(self.most_back.get());
        TopDeed::Nothing
    }

    fn list_key(&mut self, event: &KeyEvent, now: Instant) -> TopDeed {
        match event.code {
            KeyCode::Up | KeyCode::Char('k') => self.select(-1),
            KeyCode::Down | KeyCode::Char('j') => self.select(1),
            KeyCode::PageUp => self.select(-PAGE),
            KeyCode::PageDown => self.select(PAGE),
            KeyCode::Home | KeyCode::Char('g') => self.select(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.select(isize::MAX),
            KeyCode::Char('/') => self.mode = TopMode::Searching,
            KeyCode::Char('f') => self.filter = self.filter.next(),
            KeyCode::Esc => self.search.clear(),
            KeyCode::Enter | KeyCode::Right => {
                if let Some(id) = self.selected().map(|call| call.id.clone()) {
                    self.mode = TopMode::Opened(id);
                    self.output.clear();
                    self.look_back = 0;
                    return TopDeed::Open;
                }
            }
            _ => return self.deed_key(event, now),
        }
        TopDeed::Nothing
    }

    /// Keys that do something to the selected call.
    fn deed_key(&mut self, event: &KeyEvent, now: Instant) -> TopDeed {
        let is_plain = event.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        if is_plain && event.code == KeyCode::Char('q') {
            return TopDeed::Quit;
        }
        let Some(call) = self.selected().filter(|_| is_plain) else {
            return TopDeed::Nothing;
        };
        let (id, is_live) = (call.id.clone(), call.is_live());
        if self.asks().is_some()
            && let Some(answer) = answering::answer_of(event)
        {
            if self.is_answerable(now) {
                return TopDeed::Answer(id, answer);
            }
            answering::NOT_YET.clone_into(&mut self.remark);
            return TopDeed::Nothing;
        }
        match event.code {
            KeyCode::Char('x') if is_live => {
                self.mode = TopMode::Ending(id);
                TopDeed::Nothing
            }
            KeyCode::Char('x') => {
                "it has ended".clone_into(&mut self.remark);
                TopDeed::Nothing
            }
            _ => TopDeed::Nothing,
        }
    }

    fn select(&mut self, by: isize) {
        let wanted = self.wanted();
        let last = wanted.len().saturating_sub(1);
        let row = self
            .selected_row(&wanted)
            .saturating_add_signed(by)
            .min(last);
        let id = wanted.get(row).map(|call| call.id.clone());
        self.selected = id;
    }
}
