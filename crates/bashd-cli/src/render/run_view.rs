//! One run as a block of lines: the call, its output, how it goes or went.

use super::call::CallText;
use super::live::spinner;
use super::main_screen::MainScreen;
use super::outcome::{RunState, RunSummary};
use super::store::{HeldLine, LineStore, omitted};
use super::visible::plain;
use super::{StyledLine, Tone};
use bashd::Event;
use std::path::PathBuf;
use std::time::Duration;

/// Most columns shown of one line of output.
const MOST_COLUMNS: usize = 4000;

/// Lines that are held while a call runs; its reply has the rest.
const MOST_LINES_OF_CALL: usize = 100;

/// Lines that are held of a person's own command.
const MOST_LINES_OF_COMMAND: usize = 5000;

/// Rows of a call's output that a collapsed view shows.
const ROWS_OF_CALL: usize = 10;

/// Lines of the output of a person's own command that a collapsed view shows.
const LINES_OF_COMMAND: usize = 20;

/// How much of the output a collapsed view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preview {
    /// The last 10 rows of the screen: for an agent's call.
    ToolCall,
    /// The last 20 lines, however many rows they take: for a person's own command.
    OwnCommand,
}

impl Preview {
    /// Lines that are held while it runs.
    fn most_lines(self) -> usize {
        match self {
            Self::ToolCall => MOST_LINES_OF_CALL,
            Self::OwnCommand => MOST_LINES_OF_COMMAND,
        }
    }
}

/// Whether all of the output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputExpansion {
    /// The preview.
    Collapsed,
    /// Everything there is.
    Expanded,
}

/// The time and size for which lines are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ViewContext {
    /// The available columns.
    pub(crate) columns: usize,
    /// How long the command has been running.
    pub(crate) elapsed: Duration,
    /// How much is shown.
    pub(crate) expansion: OutputExpansion,
}

/// A run, as far as it is known.
pub(crate) struct RunView {
    preview: Preview,
    call: CallText,
    home: Option<PathBuf>,
    state: RunState,
    live: LineStore,
    /// What of its output is left when it has drawn.
    main_screen: MainScreen,
    /// The reply's output, once there is one.
    output: Option<Vec<HeldLine>>,
    outcome: Option<RunSummary>,
    /// Whether it waits for its user while it runs.
    waits_for_input: bool,
    /// Lines of its output that were forgotten since.
    forgotten: usize,
}

impl RunView {
    /// A run about which nothing is known yet.
    pub(crate) fn new(preview: Preview, home: Option<PathBuf>) -> Self {
        Self {
            preview,
            home,
            call: CallText::default(),
            state: RunState::Arriving,
            live: LineStore::keeping(preview.most_lines()),
            main_screen: MainScreen::default(),
            output: None,
            outcome: None,
            waits_for_input: false,
            forgotten: 0,
        }
    }

    /// What is known about the call, while its arguments arrive.
    pub(crate) fn arriving(&mut self, call: CallText) {
        self.call = call;
    }

    /// The whole call.
    pub(crate) fn called(&mut self, call: CallText) {
        self.call = call;
        self.state = RunState::Waiting;
    }

    /// Something happened.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Started { .. } | Event::Terminal { .. } => self.state = RunState::Running,
            Event::Output { text, .. } => self.live.push(&self.main_screen.push(text)),
            Event::Excerpt(excerpt) => {
                self.live = LineStore::keeping(self.preview.most_lines());
                self.live.push(&excerpt.text);
            }
            Event::Finished(reply) => {
                let mut outcome = RunSummary::of(reply);
                if self.preview == Preview::OwnCommand {
                    outcome.timeout = None; // nobody asked for one
                }
                self.output = Some(self.final_lines(&plain(&reply.output)));
                self.live = LineStore::keeping(0);
                self.finished(outcome);
            }
            // The library may come to tell more than is shown.
            _ => {}
        }
    }

    /// The lines of a finished run: those that came, if they say what its reply says, because they
    /// have the command's colors.
    fn final_lines(&self, output: &str) -> Vec<HeldLine> {
        if output.is_empty() {
            return Vec::new();
        }
        let mut came: Vec<HeldLine> = self.live.held().collect();
        if self.preview == Preview::OwnCommand && self.main_screen.was_away() {
            // Its reply has what it drew, too.
            while came.last().is_some_and(|line| line.text.is_empty()) {
                came.pop();
            }
            return came;
        }
        let says_the_same = self.live.dropped() == 0
            && came.iter().all(|line| line.beyond == 0)
            && output.split('\n').eq(came.iter().map(|line| &*line.text));
        if says_the_same {
            return came;
        }
        output.split('\n').map(HeldLine::whole).collect()
    }

    /// Bytes of output that are held.
    pub(crate) fn held_bytes(&self) -> usize {
        let lines = self.output.iter().flatten();
        lines.map(HeldLine::bytes).sum::<usize>() + self.live.bytes()
    }

    /// Forgets all but the last lines of the output of a run that is over.
    pub(crate) fn forget_most(&mut self) {
        if let Some(output) = &mut self.output {
            let earlier = output.len().saturating_sub(LINES_OF_COMMAND);
            if earlier > 0 {
                output.drain(..earlier);
                output.shrink_to_fit();
                self.forgotten += earlier;
            }
        }
    }

    /// It is over, as known from elsewhere: a job's end, for example.
    pub(crate) fn finished(&mut self, outcome: RunSummary) {
        self.state = outcome.state;
        self.outcome = Some(outcome);
    }

    /// Whether the running command waits for its user.
    pub(crate) fn waits_for_input(&mut self, waits: bool) {
        self.waits_for_input = waits;
    }

    /// Its state.
    pub(crate) fn state(&self) -> RunState {
        self.state
    }

    /// The call.
    pub(crate) fn call(&self) -> &CallText {
        &self.call
    }

    /// The run as lines that fit the available columns.
    pub(crate) fn lines(&self, look: ViewContext) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        for line in self.call.lines(self.home.as_deref()) {
            lines.extend(line.wrapped(look.columns));
        }
        lines.extend(self.output_lines(look));
        let end = match &self.outcome {
            Some(outcome) => outcome.lines(),
            None if self.state == RunState::Running && self.waits_for_input => {
                vec![StyledLine::new(Tone::Warning, "? waiting for input")]
            }
            None if self.state == RunState::Running => {
                vec![StyledLine::new(Tone::Active, spinner(look.elapsed))]
            }
            None => {
                let state = format!("{} {}", self.state.sign(), self.state.word());
                vec![StyledLine::new(self.state.tone(), state)]
            }
        };
        lines.extend(end.iter().flat_map(|line| line.in_words(look.columns, 0)));
        lines
    }

    fn output_lines(&self, look: ViewContext) -> Vec<StyledLine> {
        let live: Vec<HeldLine>;
        let (logical, dropped) = if let Some(output) = &self.output {
            (output.as_slice(), self.forgotten)
        } else {
            let wanted = match (look.expansion, self.preview) {
                // It is drawn again and again while it runs: what is not seen is not copied.
                (OutputExpansion::Collapsed, Preview::OwnCommand) => LINES_OF_COMMAND,
                _ => usize::MAX,
            };
            let earlier;
            (live, earlier) = self.live.last(wanted);
            (live.as_slice(), self.live.dropped() + earlier)
        };
        let shown = |lines: &[HeldLine]| -> Vec<StyledLine> {
            let rows = lines.iter().map(|line| clamped(line).wrapped(look.columns));
            rows.flatten().collect()
        };
        let (rows, notice) = match (look.expansion, self.preview) {
            (OutputExpansion::Expanded, _) => {
                let notice = (dropped > 0).then(|| format!("… {dropped} earlier lines not held"));
                (shown(logical), notice)
            }
            (OutputExpansion::Collapsed, Preview::ToolCall) => {
                // Each line has at least one row.
                let last = logical.len().saturating_sub(ROWS_OF_CALL + 1);
                let beginning = shown(logical.get(..last).unwrap_or_default()).len();
                let rows = shown(logical.get(last..).unwrap_or_default());
                let whole = beginning + rows.len();
                let (total, earlier) = (whole + dropped, whole.saturating_sub(ROWS_OF_CALL));
                let notice = (earlier + dropped > 0).then(|| {
                    let earlier = earlier + dropped;
                    let kept = total - earlier;
                    format!(
                        "… ({earlier} earlier lines, showing {kept} of {total}) (ctrl+o to expand)"
                    )
                });
                let from = rows.len().saturating_sub(ROWS_OF_CALL);
                (rows.get(from..).unwrap_or_default().to_vec(), notice)
            }
            (OutputExpansion::Collapsed, Preview::OwnCommand) => {
                let earlier = logical.len().saturating_sub(LINES_OF_COMMAND);
                let more = earlier + dropped;
                let notice = (more > 0).then(|| format!("… {more} more lines (ctrl+o to expand)"));
                (shown(logical.get(earlier..).unwrap_or_default()), notice)
            }
        };
        let notice = notice.map(|text| StyledLine::new(Tone::Faint, text).cut(look.columns));
        notice.into_iter().chain(rows).collect()
    }
}

fn clamped(line: &HeldLine) -> StyledLine {
    let (shown, columns) = line.styled().clamped(MOST_COLUMNS);
    match columns + line.beyond {
        0 => shown,
        beyond => shown.and(Tone::Plain, omitted(beyond)),
    }
}
