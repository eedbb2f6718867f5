//! The state of `bashd top`, and what each key does.

use super::calls::{TopCall, TopCalls, TopFilter, TopState};
use bashd::approval::ApprovalAnswer;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

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
    pub(super) calls: TopCalls,
    pub(super) filter: TopFilter,
    pub(super) search: String,
    pub(super) mode: TopMode,
    /// What came of the last deed.
    pub(super) remark: String,
    /// The end of the opened call's output.
    pub(super) output: Vec<String>,
    /// Lines by which it is scrolled back.
    pub(super) look_back: usize,
    selected: Option<String>,
}

impl TopApp {
    /// The list of these calls.
    pub(super) fn new(calls: TopCalls) -> Self {
        Self {
            calls,
            filter: TopFilter::default(),
            search: String::new(),
            mode: TopMode::List,
            remark: String::new(),
            output: Vec::new(),
            look_back: 0,
            selected: None,
        }
    }

    /// The calls that are shown.
    pub(super) fn wanted(&self) -> Vec<&TopCall> {
        self.calls.wanted(self.filter, &self.search)
    }

    /// The row of the selected call; the first if it is not there.
    pub(super) fn selected_row(&self, wanted: &[&TopCall]) -> usize {
        let is_it = |call: &&TopCall| Some(&call.id) == self.selected.as_ref();
        wanted.iter().position(is_it).unwrap_or(0)
    }

    /// The selected call.
    pub(super) fn selected(&self) -> Option<&TopCall> {
        if let TopMode::Opened(id) | TopMode::Ending(id) = &self.mode {
            return self.calls.get(id);
        }
        let wanted = self.wanted();
        wanted.get(self.selected_row(&wanted)).copied()
    }

    /// A key was pressed.
    pub(super) fn key(&mut self, event: &KeyEvent) -> TopDeed {
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
            TopMode::Opened(_) => self.opened_key(event.code),
            TopMode::List => self.list_key(event.code),
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

    fn opened_key(&mut self, code: KeyCode) -> TopDeed {
        let rows = PAGE.unsigned_abs();
        match code {
            KeyCode::Esc | KeyCode::Left | KeyCode::Backspace => self.mode = TopMode::List,
            KeyCode::Up | KeyCode::Char('k') => self.look_back += 1,
            KeyCode::Down | KeyCode::Char('j') => {
                self.look_back = self.look_back.saturating_sub(1);
            }
            KeyCode::PageUp => self.look_back += rows,
            KeyCode::PageDown => self.look_back = self.look_back.saturating_sub(rows),
            KeyCode::End => self.look_back = 0,
            other => return self.deed_key(other),
        }
        self.look_back = self.look_back.min(self.output.len());
        TopDeed::Nothing
    }

    fn list_key(&mut self, code: KeyCode) -> TopDeed {
        match code {
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
            other => return self.deed_key(other),
        }
        TopDeed::Nothing
    }

    /// Keys that do something to the selected call.
    fn deed_key(&mut self, code: KeyCode) -> TopDeed {
        let Some(call) = self.selected() else {
            return match code {
                KeyCode::Char('q') => TopDeed::Quit,
                _ => TopDeed::Nothing,
            };
        };
        let asks = matches!(call.state, TopState::Asks(_));
        let (id, is_live) = (call.id.clone(), call.is_live());
        let answer = |answer| TopDeed::Answer(id.clone(), answer);
        match code {
            KeyCode::Char('q') => TopDeed::Quit,
            KeyCode::Char('o') if asks => answer(ApprovalAnswer::Once),
            KeyCode::Char('s') if asks => answer(ApprovalAnswer::Session),
            KeyCode::Char('a') if asks => answer(ApprovalAnswer::Always),
            KeyCode::Char('d') if asks => answer(ApprovalAnswer::Refused),
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
