//! A page of lines over everything else: to read, to search, to copy from, to follow, or to choose
//! from.

mod searching;
#[cfg(test)]
mod tests;

use super::jobs;
use super::overlay::WheelTurn;
use super::page_text::{PageLayout, PageText, marked};
use crate::for_people;
use crate::render::{self, StyledLine, Tone};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use searching::PageSearch;
use std::time::{Duration, Instant};

/// How often a page about jobs is refreshed.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What stands before the chosen entry of a list.
const CHOSEN: &str = "› ";

/// A page.
pub(super) struct Pager {
    pub(super) title: String,
    text: PageText,
    source: PageSource,
    top: Top,
    looked_at: Option<Instant>,
    /// What is behind the lines, if one can be chosen.
    targets: Vec<RowTarget>,
    /// The line that is chosen or, while lines are selected, the last of them.
    at: usize,
    /// The line at which the selection began.
    selected_from: Option<usize>,
    /// Jobs whose output stays beside the list, whatever is chosen.
    followed: Vec<String>,
    beside: Vec<jobs::OutputView>,
    search: PageSearch,
    /// What was done last, until the next key.
    said: String,
}

/// Where a page's lines come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PageSource {
    /// They do not change.
    Fixed,
    /// Jobs, which are looked at again and again.
    Jobs(jobs::JobsPage),
    /// Everything that ran in this console.
    Transcript,
    /// One run of this console, by its number.
    Run(usize),
}

/// What is behind a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowTarget {
    /// A job, by its id.
    Job(String),
    /// A record of the ledger, by its place among those that are listed.
    Record(usize),
    /// A run of this console, by its number.
    Run(usize),
}

/// Which row is the first that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Top {
    Row(usize),
    /// The last rows that fit, as the page grows.
    End,
}

/// What a key in a page asks of the console.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PagerAction {
    Nothing,
    Close,
    /// Look at this one.
    Open(RowTarget),
    /// End this job.
    End(String),
    /// Write to this job.
    Answer(String),
    /// Put this text where the user can paste it.
    Copy(String),
}

/// A row as it is drawn.
pub(super) struct SeenRow {
    pub(super) text: StyledLine,
    pub(super) is_selected: bool,
}

impl Pager {
    /// A page of these lines.
    pub(super) fn new(title: impl Into<String>, lines: Vec<StyledLine>) -> Self {
        let mut pager = Self::of(title, PageSource::Fixed);
        pager.text.replace_from(0, lines);
        pager
    }

    /// A list of these lines, of which one can be chosen.
    pub(super) fn list(
        title: impl Into<String>,
        (lines, targets): (Vec<StyledLine>, Vec<RowTarget>),
    ) -> Self {
        Self {
            targets,
            ..Self::new(title, lines)
        }
    }

    /// A page whose lines come from there.
    pub(super) fn of(title: impl Into<String>, source: PageSource) -> Self {
        let top = match source {
            PageSource::Fixed | PageSource::Jobs(jobs::JobsPage::List) => Top::Row(0),
            PageSource::Jobs(jobs::JobsPage::Output(_))
            | PageSource::Transcript
            | PageSource::Run(_) => Top::End,
        };
        Self {
            title: title.into(),
            text: PageText::default(),
            source,
            top,
            looked_at: None,
            targets: Vec::new(),
            at: 0,
            selected_from: None,
            followed: Vec::new(),
            beside: Vec::new(),
            search: PageSearch::default(),
            said: String::new(),
        }
    }

    /// Whether a line can be chosen.
    pub(super) fn is_list(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Where its lines come from.
    pub(super) fn source(&self) -> &PageSource {
        &self.source
    }

    /// The page about jobs to refresh, if it is time.
    pub(super) fn due(&self) -> Option<&jobs::JobsPage> {
        let is_due = |last: Instant| last.elapsed() >= LOOK_AGAIN;
        match &self.source {
            PageSource::Jobs(page) if self.looked_at.is_none_or(is_due) => Some(page),
            _ => None,
        }
    }

    /// Whose output is to stand beside the list.
    pub(super) fn wanted_beside(&self) -> jobs::Beside {
        jobs::Beside {
            followed: self.followed.clone(),
            chosen: self.job(),
        }
    }

    /// What stands beside the list.
    pub(super) fn beside(&self) -> &[jobs::OutputView] {
        &self.beside
    }

    /// Shows the refreshed page; the chosen line stays chosen.
    pub(super) fn show(&mut self, seen: jobs::SeenPage) {
        let chosen = self.targets.get(self.at).cloned();
        self.text.replace_from(0, seen.lines);
        self.targets = seen.targets.into_iter().map(RowTarget::Job).collect();
        self.beside = seen.beside;
        self.looked_at = Some(Instant::now());
        let again = chosen.and_then(|id| self.targets.iter().position(|target| *target == id));
        let last = self.text.line_count().saturating_sub(1);
        self.at = again.unwrap_or(self.at).min(last);
    }

    /// Replaces the lines from this one on.
    pub(super) fn replace_from(&mut self, line: usize, lines: Vec<StyledLine>) {
        self.text.replace_from(line, lines);
    }

    /// Breaks the lines into rows for a page of this width.
    pub(super) fn lay_out(&mut self, columns: usize) {
        self.text.lay_out(if self.targets.is_empty() {
            PageLayout::Output(columns)
        } else {
            PageLayout::Entries(columns.saturating_sub(render::width(CHOSEN)))
        });
    }

    /// What of the page fits into this many rows.
    pub(super) fn visible(&self, rows: usize) -> Vec<SeenRow> {
        let first = self.first(rows);
        let shown = (first..self.text.row_count()).take(rows);
        let row = |row| {
            let line = self.text.line_of(row);
            let mut text = self.text.row(row).cloned().unwrap_or_default();
            if let Some(pattern) = &self.search.pattern {
                text = marked(&text, pattern, self.search.tone(line));
            }
            if !self.targets.is_empty() {
                let is_first = self.text.row_of(line) == row;
                let is_chosen = line == self.at && is_first;
                let mark = if is_chosen { CHOSEN } else { "  " };
                let mut with_mark = StyledLine::new(Tone::Command, mark);
                with_mark.0.extend(text.0);
                text = with_mark;
            }
            SeenRow {
                text,
                is_selected: self.selected().is_some_and(|lines| lines.contains(&line)),
            }
        };
        shown.map(row).collect()
    }

    fn selected(&self) -> Option<std::ops::RangeInclusive<usize>> {
        let from = self.selected_from?;
        Some(from.min(self.at)..=from.max(self.at))
    }

    /// What can be done here, in so many columns.
    pub(super) fn footer(&self, columns: usize) -> String {
        if self.search.is_typing {
            return format!(" /{}▏ enter searches · esc ends ", self.search.typed);
        }
        if !self.said.is_empty() {
            return format!(" {} ", self.said);
        }
        if let Some(lines) = self.selected() {
            let count = for_people::count(lines.count(), "line");
            let count = format!("{count} selected");
            let parts = [
                (0, &*count),
                (2, "↑ ↓ more"),
                (1, "y copies"),
                (1, "esc ends"),
            ];
            return for_people::fitting(&parts, columns);
        }
        if let Some(said) = self.found_here() {
            return said;
        }
        let lines = for_people::count(self.text.line_count(), "line");
        let parts: &[(u8, &str)] = match (&self.source, self.targets.is_empty()) {
            (PageSource::Jobs(jobs::JobsPage::List), false) => &[
                (4, "↑ ↓ choose"),
                (1, "enter opens"),
                (5, "f follows"),
                (3, "s answers"),
                (2, "x ends"),
                (0, "q closes"),
            ],
            (PageSource::Jobs(jobs::JobsPage::Output(_)), _) => &[
                (5, &lines),
                (2, "s answers"),
                (1, "x ends"),
                (3, "/ searches"),
                (4, "v selects"),
                (0, "q closes"),
            ],
            (_, false) => &[
                (3, &lines),
                (4, "↑ ↓ choose"),
                (1, "enter opens"),
                (2, "/ searches"),
                (0, "q closes"),
            ],
            _ => &[
                (4, &lines),
                (1, "/ searches"),
                (2, "v selects"),
                (3, "y copies"),
                (0, "q closes"),
            ],
        };
        for_people::fitting(parts, columns)
    }

    fn first(&self, rows: usize) -> usize {
        let last = self.text.row_count().saturating_sub(rows);
        match self.top {
            Top::Row(row) => row.min(last),
            Top::End => last,
        }
    }

    /// A key was pressed, on a page of this many rows.
    pub(super) fn key(&mut self, key: &KeyEvent, rows: usize) -> PagerAction {
        self.said.clear();
        if self.search.is_typing {
            self.type_search(key, rows);
            return PagerAction::Nothing;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let up = |pager: &mut Self, count| pager.step(WheelTurn::Up, count, rows);
        let down = |pager: &mut Self, count| pager.step(WheelTurn::Down, count, rows);
        match key.code {
            KeyCode::Char('c') if is_control => return PagerAction::Close,
            KeyCode::Char('q') => return PagerAction::Close,
            KeyCode::Esc => return self.escape(),
            KeyCode::Enter => {
                return self
                    .target()
                    .map_or(PagerAction::Nothing, PagerAction::Open);
            }
            KeyCode::Char('x') => return self.job().map_or(PagerAction::Nothing, PagerAction::End),
            KeyCode::Char('s') => {
                return self.job().map_or(PagerAction::Nothing, PagerAction::Answer);
            }
            KeyCode::Char('y') => return self.copy(),
            KeyCode::Char('f') => self.follow(),
            KeyCode::Char('v') => self.select(rows),
            KeyCode::Char('/') => self.search.is_typing = true,
            KeyCode::Char('n') => self.go_to_found(WheelTurn::Down, rows),
            KeyCode::Char('N') => self.go_to_found(WheelTurn::Up, rows),
            KeyCode::Up | KeyCode::Char('k') => return up(self, 1),
            KeyCode::Down | KeyCode::Char('j') => return down(self, 1),
            KeyCode::PageUp | KeyCode::Char('b') => return up(self, rows),
            KeyCode::PageDown | KeyCode::Char(' ') => return down(self, rows),
            KeyCode::Home | KeyCode::Char('g') => return up(self, usize::MAX),
            KeyCode::End | KeyCode::Char('G') => return down(self, usize::MAX),
            _ => {}
        }
        PagerAction::Nothing
    }

    /// Keeps the chosen job's output beside the list, or not any more.
    fn follow(&mut self) {
        let Some(RowTarget::Job(id)) = self.target() else {
            return;
        };
        match self.followed.iter().position(|other| *other == id) {
            Some(place) => drop(self.followed.remove(place)),
            None => self.followed.push(id),
        }
        self.looked_at = None;
    }

    /// Esc ends what was begun last, and then the page.
    fn escape(&mut self) -> PagerAction {
        if self.selected_from.take().is_some() {
            return PagerAction::Nothing;
        }
        self.search.at = None;
        if self.search.pattern.take().is_some() {
            return PagerAction::Nothing;
        }
        PagerAction::Close
    }

    /// Whether keys move a line's mark, not just the rows that are shown.
    fn is_at_a_line(&self) -> bool {
        !self.targets.is_empty() || self.selected_from.is_some()
    }

    fn go_to(&mut self, line: usize, rows: usize) {
        self.at = line;
        let row = self.text.row_of(line);
        self.top = Top::Row(row);
        if self.is_at_a_line() {
            self.keep_in_sight(rows);
        }
    }

    fn select(&mut self, rows: usize) {
        if self.selected_from.take().is_some() {
            return;
        }
        if self.targets.is_empty() {
            self.at = self.searched_from(rows);
        }
        self.selected_from = Some(self.at);
        // A page that follows something must stand still.
        self.top = Top::Row(self.first(rows));
    }

    fn copy(&mut self) -> PagerAction {
        let whole = 0..=self.text.line_count().saturating_sub(1);
        let lines = self.selected().unwrap_or(whole);
        let mut text = self.text.text(lines.clone());
        if !self.targets.is_empty() {
            // What a list keeps together is blanks to everybody else.
            text = text.replace(jobs::TOGETHER, " ");
        }
        self.selected_from = None;
        self.said = format!("{} copied", for_people::count(lines.count(), "line"));
        PagerAction::Copy(text)
    }

    /// Moves the choice, or else the rows. The transcript ends where the prompt is.
    pub(super) fn step(&mut self, turn: WheelTurn, count: usize, rows: usize) -> PagerAction {
        if self.is_at_a_line() {
            let last = self.text.line_count().saturating_sub(1);
            self.at = match turn {
                WheelTurn::Up => self.at.saturating_sub(count),
                WheelTurn::Down => self.at.saturating_add(count).min(last),
            };
            self.keep_in_sight(rows);
            // Another output stands beside it now.
            self.looked_at = None;
            return PagerAction::Nothing;
        }
        // Who scrolls on searches on from there.
        self.search.at = None;
        let last = self.text.row_count().saturating_sub(rows);
        let row = match turn {
            WheelTurn::Up => self.first(rows).saturating_sub(count),
            WheelTurn::Down => self.first(rows).saturating_add(count).min(last),
        };
        let is_at_end = self.source != PageSource::Fixed && row >= last;
        if is_at_end && self.source == PageSource::Transcript && matches!(turn, WheelTurn::Down) {
            return PagerAction::Close;
        }
        self.top = if is_at_end { Top::End } else { Top::Row(row) };
        PagerAction::Nothing
    }

    fn keep_in_sight(&mut self, rows: usize) {
        let (first, row) = (self.first(rows), self.text.row_of(self.at));
        let lowest = (self.text.last_row_of(self.at) + 1).saturating_sub(rows);
        self.top = Top::Row(first.clamp(lowest, row.max(lowest)));
    }

    /// What is chosen.
    fn target(&self) -> Option<RowTarget> {
        self.targets.get(self.at).cloned()
    }

    /// The chosen job, or the one that the page is about.
    fn job(&self) -> Option<String> {
        match (&self.source, self.target()) {
            (PageSource::Jobs(jobs::JobsPage::Output(name)), _) => Some(name.clone()),
            (_, Some(RowTarget::Job(id))) => Some(id),
            _ => None,
        }
    }
}
