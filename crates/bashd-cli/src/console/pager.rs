//! A page of lines over everything else: to read, to follow, or to choose from.

use super::jobs;
use super::overlay::WheelTurn;
use crate::for_people;
use crate::render::{StyledLine, Tone};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::{Duration, Instant};

/// How often a page about jobs is refreshed.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// A page.
pub(super) struct Pager {
    pub(super) title: String,
    pub(super) lines: Vec<StyledLine>,
    top: Top,
    /// The page about jobs that it keeps refreshing.
    follows: Option<jobs::JobsPage>,
    looked_at: Option<Instant>,
    /// The ids behind the lines, if one can be chosen.
    targets: Vec<String>,
    chosen: usize,
}

/// Which line is the first that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Top {
    Line(usize),
    /// The last lines that fit, as the page grows.
    End,
}

/// What a key in a page asks of the console.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PagerAction {
    Nothing,
    Close,
    /// Look at this one.
    Open(String),
    /// End this one.
    End(String),
    /// Write to this one.
    Answer(String),
}

impl Pager {
    /// A page of these lines.
    pub(super) fn new(title: impl Into<String>, lines: Vec<StyledLine>) -> Self {
        Self {
            title: title.into(),
            lines,
            top: Top::Line(0),
            follows: None,
            looked_at: None,
            targets: Vec::new(),
            chosen: 0,
        }
    }

    /// A page about jobs that keeps refreshing.
    pub(super) fn following(title: impl Into<String>, page: jobs::JobsPage) -> Self {
        Self {
            top: match page {
                jobs::JobsPage::List => Top::Line(0),
                jobs::JobsPage::Output(_) => Top::End,
            },
            follows: Some(page),
            ..Self::new(title, Vec::new())
        }
    }

    /// The page to refresh, if it is time.
    pub(super) fn due(&self) -> Option<&jobs::JobsPage> {
        let is_due = |last: Instant| last.elapsed() >= LOOK_AGAIN;
        self.follows
            .as_ref()
            .filter(|_| self.looked_at.is_none_or(is_due))
    }

    /// Shows the refreshed page; the chosen line stays chosen.
    pub(super) fn show(&mut self, seen: jobs::SeenPage) {
        let chosen = self.targets.get(self.chosen).cloned();
        self.lines = seen.lines;
        self.targets = seen.targets;
        self.looked_at = Some(Instant::now());
        let again = chosen.and_then(|id| self.targets.iter().position(|target| *target == id));
        let last = self.targets.len().saturating_sub(1);
        self.chosen = again.unwrap_or(self.chosen).min(last);
    }

    /// The lines that fit into this many rows.
    pub(super) fn visible(&self, rows: usize) -> Vec<StyledLine> {
        let lines = self.lines.iter().enumerate();
        let shown = lines.skip(self.first(rows)).take(rows);
        shown
            .map(|(number, line)| {
                if self.targets.is_empty() {
                    return line.clone();
                }
                let is_chosen = number == self.chosen;
                let mark = if is_chosen { "› " } else { "  " };
                let mut marked = StyledLine::new(Tone::Command, mark);
                marked.0.extend(line.0.iter().cloned());
                marked
            })
            .collect()
    }

    /// What can be done here.
    pub(super) fn footer(&self) -> String {
        let lines = for_people::count(self.lines.len(), "line");
        match (&self.follows, self.targets.is_empty()) {
            (Some(jobs::JobsPage::List), false) => {
                " ↑ ↓ choose · enter opens · s answers · x ends · q closes ".to_owned()
            }
            (Some(jobs::JobsPage::Output(_)), _) => {
                format!(" {lines} · s answers · x ends · q closes ")
            }
            _ => format!(" {lines} · q closes "),
        }
    }

    fn first(&self, rows: usize) -> usize {
        let last = self.lines.len().saturating_sub(rows);
        match self.top {
            Top::Line(line) => line,
            Top::End => last,
        }
    }

    /// A key was pressed, on a page of this many rows.
    pub(super) fn key(&mut self, key: &KeyEvent, rows: usize) -> PagerAction {
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return PagerAction::Close,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return PagerAction::Close;
            }
            KeyCode::Enter => {
                return self
                    .target()
                    .map_or(PagerAction::Nothing, PagerAction::Open);
            }
            KeyCode::Char('x') => {
                return self.target().map_or(PagerAction::Nothing, PagerAction::End);
            }
            KeyCode::Char('s') => {
                return self
                    .target()
                    .map_or(PagerAction::Nothing, PagerAction::Answer);
            }
            KeyCode::Up | KeyCode::Char('k') => self.step(WheelTurn::Up, 1, rows),
            KeyCode::Down | KeyCode::Char('j') => self.step(WheelTurn::Down, 1, rows),
            KeyCode::PageUp | KeyCode::Char('b') => self.step(WheelTurn::Up, rows, rows),
            KeyCode::PageDown | KeyCode::Char(' ') => self.step(WheelTurn::Down, rows, rows),
            KeyCode::Home | KeyCode::Char('g') => self.step(WheelTurn::Up, usize::MAX, rows),
            KeyCode::End | KeyCode::Char('G') => self.step(WheelTurn::Down, usize::MAX, rows),
            _ => {}
        }
        PagerAction::Nothing
    }

    /// Moves the choice, or else the lines.
    pub(super) fn step(&mut self, turn: WheelTurn, count: usize, rows: usize) {
        if self.targets.is_empty() {
            self.scroll(turn, count, rows);
            return;
        }
        let last = self.targets.len().saturating_sub(1);
        self.chosen = match turn {
            WheelTurn::Up => self.chosen.saturating_sub(count),
            WheelTurn::Down => self.chosen.saturating_add(count).min(last),
        };
        let first = self.first(rows);
        let lowest = (self.chosen + 1).saturating_sub(rows);
        self.top = Top::Line(first.clamp(lowest, self.chosen.max(lowest)));
    }

    fn scroll(&mut self, turn: WheelTurn, count: usize, rows: usize) {
        let last = self.lines.len().saturating_sub(rows);
        let line = match turn {
            WheelTurn::Up => self.first(rows).saturating_sub(count),
            WheelTurn::Down => self.first(rows).saturating_add(count).min(last),
        };
        let follows_the_end = self.follows.is_some() && line >= last;
        self.top = if follows_the_end {
            Top::End
        } else {
            Top::Line(line)
        };
    }

    /// The chosen job, or the one that the page is about.
    fn target(&self) -> Option<String> {
        match &self.follows {
            Some(jobs::JobsPage::Output(name)) => Some(name.clone()),
            _ => self.targets.get(self.chosen).cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> Vec<StyledLine> {
        let line = |number: usize| StyledLine::new(Tone::Plain, number.to_string());
        (0..count).map(line).collect()
    }

    fn first(pager: &Pager) -> String {
        pager
            .visible(3)
            .first()
            .map_or_else(String::new, StyledLine::text)
    }

    fn press(pager: &mut Pager, code: KeyCode) -> PagerAction {
        pager.key(&KeyEvent::new(code, KeyModifiers::NONE), 3)
    }

    #[test]
    fn a_page_is_read_from_its_beginning_and_a_run_from_its_end() {
        let mut page = Pager::new("Log", lines(10));
        assert_eq!(first(&page), "0");
        for (code, expected) in [
            (KeyCode::Down, "1"),
            (KeyCode::PageDown, "4"),
            (KeyCode::End, "7"),
            (KeyCode::Up, "6"),
            (KeyCode::Home, "0"),
        ] {
            assert_eq!(press(&mut page, code), PagerAction::Nothing);
            assert_eq!(first(&page), expected, "{code:?}");
        }
        let mut run = Pager::following("Job", jobs::JobsPage::Output("bg_1".to_owned()));
        let seen = |count| jobs::SeenPage {
            lines: lines(count),
            targets: Vec::new(),
        };
        run.show(seen(10));
        assert_eq!(first(&run), "7");
        run.show(seen(12));
        assert_eq!(first(&run), "9", "it follows");
        press(&mut run, KeyCode::Up);
        run.show(seen(14));
        assert_eq!(first(&run), "8", "not while somebody reads");
        press(&mut run, KeyCode::End);
        run.show(seen(16));
        assert_eq!(first(&run), "13");
        assert_eq!(
            press(&mut run, KeyCode::Char('x')),
            PagerAction::End("bg_1".to_owned())
        );
        assert_eq!(press(&mut run, KeyCode::Char('q')), PagerAction::Close);
    }

    #[test]
    fn what_is_chosen_stays_chosen_when_the_list_changes() {
        let mut list = Pager::following("Runs", jobs::JobsPage::List);
        let seen = |names: &[&str]| jobs::SeenPage {
            lines: lines(names.len()),
            targets: names.iter().map(ToString::to_string).collect(),
        };
        list.show(seen(&["a", "b", "c", "d", "e"]));
        for _ in 0..3 {
            press(&mut list, KeyCode::Down);
        }
        assert_eq!(first(&list), "  1", "the choice is in sight");
        assert_eq!(
            press(&mut list, KeyCode::Enter),
            PagerAction::Open("d".to_owned())
        );
        list.show(seen(&["new", "a", "b", "c", "d"]));
        assert_eq!(
            press(&mut list, KeyCode::Char('s')),
            PagerAction::Answer("d".to_owned())
        );
        list.show(seen(&[]));
        assert_eq!(press(&mut list, KeyCode::Enter), PagerAction::Nothing);
    }
}
