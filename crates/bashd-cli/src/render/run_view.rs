//! One run as a block of lines: the call, its output, how it goes or went.

use super::call::CallText;
use super::live::spinner;
use super::outcome::{RunState, RunSummary};
use super::store::{HeldLine, LineStore, omitted};
use super::visible::{Clamped, clamp, plain, wrap};
use super::{StyledLine, Tone};
use bashd::Event;
use std::path::PathBuf;
use std::time::Duration;

/// Most columns shown of one line of output.
const MOST_COLUMNS: usize = 4000;

/// Lines that are held while a command runs.
const MOST_LIVE_LINES: usize = 100;

/// How much of the output a collapsed view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preview {
    /// The last 10 rows of the screen: for an agent's call.
    ToolCall,
    /// The last 20 lines, however many rows they take: for a person's own command.
    OwnCommand,
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
    /// The reply's output, once there is one.
    output: Option<String>,
    outcome: Option<RunSummary>,
}

impl RunView {
    /// A run about which nothing is known yet.
    pub(crate) fn new(preview: Preview, home: Option<PathBuf>) -> Self {
        Self {
            preview,
            home,
            call: CallText::default(),
            state: RunState::Arriving,
            live: LineStore::keeping(MOST_LIVE_LINES),
            output: None,
            outcome: None,
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
            Event::Output { text, .. } => self.live.push(text),
            Event::Excerpt(excerpt) => {
                self.live = LineStore::keeping(MOST_LIVE_LINES);
                self.live.push(&excerpt.text);
            }
            Event::Finished(reply) => {
                let mut outcome = RunSummary::of(reply);
                if self.preview == Preview::OwnCommand {
                    outcome.timeout = None; // nobody asked for one
                }
                self.output = Some(plain(&reply.output));
                self.finished(outcome);
            }
            // The library may come to tell more than is shown.
            _ => {}
        }
    }

    /// It is over, as known from elsewhere: a job's end, for example.
    pub(crate) fn finished(&mut self, outcome: RunSummary) {
        self.state = outcome.state;
        self.outcome = Some(outcome);
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
            lines.extend(rows_of(&line, look.columns));
        }
        lines.extend(self.output_lines(look));
        match &self.outcome {
            Some(outcome) => lines.extend(outcome.lines()),
            None if self.state == RunState::Running => {
                lines.push(StyledLine::new(Tone::Active, spinner(look.elapsed)));
            }
            None => {
                let state = format!("{} {}", self.state.sign(), self.state.word());
                lines.push(StyledLine::new(self.state.tone(), state));
            }
        }
        lines
            .into_iter()
            .map(|line| line.cut(look.columns))
            .collect()
    }

    fn output_lines(&self, look: ViewContext) -> Vec<StyledLine> {
        let (logical, dropped): (Vec<HeldLine>, _) = match &self.output {
            Some(output) if output.is_empty() => (Vec::new(), 0),
            Some(output) => (output.split('\n').map(HeldLine::whole).collect(), 0),
            None => (self.live.held().collect(), self.live.dropped()),
        };
        let shown = |lines: &[HeldLine]| -> Vec<String> {
            let rows = lines.iter().map(|line| wrap(&clamped(line), look.columns));
            rows.flatten().collect()
        };
        let (rows, notice) = match (look.expansion, self.preview) {
            (OutputExpansion::Expanded, _) => (shown(&logical), None),
            (OutputExpansion::Collapsed, Preview::ToolCall) => {
                let rows = shown(&logical);
                let (total, earlier) = (rows.len() + dropped, rows.len().saturating_sub(10));
                let notice = (earlier + dropped > 0).then(|| {
                    let earlier = earlier + dropped;
                    let kept = total - earlier;
                    format!(
                        "… ({earlier} earlier lines, showing {kept} of {total}) (ctrl+o to expand)"
                    )
                });
                (rows.get(earlier..).unwrap_or_default().to_vec(), notice)
            }
            (OutputExpansion::Collapsed, Preview::OwnCommand) => {
                let earlier = logical.len().saturating_sub(20);
                let more = earlier + dropped;
                let notice = (more > 0).then(|| format!("… {more} more lines (ctrl+o to expand)"));
                (shown(logical.get(earlier..).unwrap_or_default()), notice)
            }
        };
        let notice = notice.map(|text| StyledLine::new(Tone::Faint, text));
        let rows = rows
            .into_iter()
            .map(|row| StyledLine::new(Tone::Plain, row));
        notice.into_iter().chain(rows).collect()
    }
}

fn clamped(line: &HeldLine) -> String {
    let Clamped {
        mut text,
        omitted: columns,
    } = clamp(&line.text, MOST_COLUMNS);
    if columns + line.beyond > 0 {
        text.push_str(&omitted(columns + line.beyond));
    }
    text
}

/// Breaks a line into rows; the first row keeps its pieces, the others have the tone of the last.
fn rows_of(line: &StyledLine, columns: usize) -> Vec<StyledLine> {
    let first = line.clone().cut(columns);
    let whole = line.text();
    let tone = line.0.last().map_or(Tone::Plain, |span| span.tone);
    let rest = whole
        .strip_prefix(first.text().as_str())
        .unwrap_or_default();
    let mut rows = vec![first];
    if !rest.is_empty() {
        rows.extend(
            wrap(rest, columns)
                .into_iter()
                .map(|row| StyledLine::new(tone, row)),
        );
    }
    rows
}
