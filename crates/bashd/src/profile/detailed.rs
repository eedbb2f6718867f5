//! The detailed shape: output, notices about it in an order, the outcome last; everything also as
//! data.
//!
//! ```text
//! [Command timed out after 30 seconds]       only if it was ended, and then without the notices
//! the output, or the words for none
//!
//! Wall time: 0.02 seconds
//! Timeout clamped to 3600s …
//!
//! Command exited with code 3
//!
//! [Showing lines 12-900 of 900 (50.0KB limit). Read artifact://3 for full output]
//! ```

use super::Profile;
use super::digest_lines::DigestWindow;
use super::reply::Finished;
use super::shape::{self, Shaped};
use super::texts::TruncationTexts;
use crate::artifact::{self, KeptArtifact};
use crate::exec::{EndedBy, Exit};
use crate::notice::{Notice, NoticeKind};
use crate::output::window::{self, Window};
use crate::output::{Captured, Extent};
use bashd_keeper::template::fill;
use serde_json::{Map, Value, json};

/// Shapes a run that came to its end, whatever that was.
pub(super) fn of_run(profile: &Profile, finished: &Finished) -> Shaped {
    let cut = OutputCut::of(profile, finished);
    let mut text = match finished.ended_by {
        Some(_) => ended(profile, finished),
        None => completed(profile, finished),
    };
    if let Some(notice) = cut.notice(&profile.reply.truncation) {
        text.push_str("\n\n");
        text.push_str(&notice);
    }
    Shaped {
        text,
        result: json!({
            "details": details(finished, &cut),
            "summary": summary(finished, &cut),
        }),
        is_error: shape::is_error(profile, finished),
    }
}

/// What ended it, then the output.
fn ended(profile: &Profile, finished: &Finished) -> String {
    let texts = &profile.reply.texts;
    let ended = shape::ended_text(texts, finished).unwrap_or_default();
    let output = shape::partial_output(profile, finished);
    if output.is_empty() {
        shape::ended_silently(texts, finished).unwrap_or(ended)
    } else {
        format!("{ended}\n{output}")
    }
}

fn completed(profile: &Profile, finished: &Finished) -> String {
    let texts = &profile.reply.texts;
    let output = shape::output(&finished.captured);
    let mut lines = vec![if output.is_empty() {
        texts.empty.clone()
    } else {
        output
    }];
    let seconds = format!("{:.2}", finished.ran_for.as_secs_f64());
    let wall_time = fill(&texts.wall_time, &[("seconds", &seconds)]);
    let mut notices: Vec<String> = Some(wall_time)
        .filter(|line| !line.is_empty())
        .into_iter()
        .collect();
    notices.extend(
        shape::remarks(profile, finished)
            .into_iter()
            .map(|remark| remark.line),
    );
    if !notices.is_empty() {
        lines.push(String::new());
        lines.extend(notices);
    }
    let outcome = match finished.exit {
        Exit::Code(0) => None,
        Exit::Unknown if !texts.missing_status.is_empty() => Some(texts.missing_status.clone()),
        Exit::Code(_) | Exit::Signal(_) | Exit::Unknown => Some(shape::exit_text(texts, finished)),
    };
    if let Some(outcome) = outcome {
        lines.push(String::new());
        lines.push(outcome);
    }
    lines.join("\n")
}

/// What of the output is shown, and what is not.
struct OutputCut<'a> {
    extent: Extent,
    bytes: u64,
    /// Bytes and newlines that are not shown, if any are not.
    omitted: Option<(u64, u64)>,
    /// Likewise for what the window left out, without the limits that the caller asked for.
    by_window: Option<(u64, u64)>,
    total_lines: u64,
    shown: Ranges,
    /// The digest that is shown in place of the output, and which lines of it are.
    of_digest: Option<(DigestWindow, Ranges)>,
    window: &'a Window,
    line_bytes: Option<usize>,
    artifact: Option<KeptArtifact>,
    /// Whether output was lost that nobody can count.
    is_incomplete: bool,
}

/// First and last line, from 1, of what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ranges {
    Head(u64, u64),
    Tail(u64, u64),
    /// Both ends.
    Middle((u64, u64), (u64, u64)),
}

impl Ranges {
    fn of(extent: &Extent, before: u64, total: u64) -> Self {
        let head = (before + 1, before + extent.head);
        let end = before + extent.lines;
        let tail = ((end + 1).saturating_sub(extent.tail), end);
        match (extent.head, extent.tail) {
            (1.., 1..) => Self::Middle(head, tail),
            (_, 1..) => Self::Tail(tail.0, tail.1),
            _ if before == 0 && end < total => Self::Head(head.0, head.1),
            _ => Self::Tail(head.0, head.1),
        }
    }
}

impl Ranges {
    /// These lines as line numbers of the raw output.
    fn in_raw(self, (head, tail): ((u64, u64), (u64, u64))) -> Self {
        match self {
            Self::Head(..) => Self::Head(head.0, head.1),
            Self::Tail(..) => Self::Tail(tail.0, tail.1),
            Self::Middle(..) => Self::Middle(head, tail),
        }
    }

    /// First and last line of all that is shown.
    fn outer(self) -> (u64, u64) {
        match self {
            Self::Head(first, last)
            | Self::Tail(first, last)
            | Self::Middle((first, _), (_, last)) => (first, last),
        }
    }
}

impl<'a> OutputCut<'a> {
    fn of(profile: &'a Profile, finished: &Finished) -> Self {
        let captures = match &finished.captured {
            Captured::One(both) => vec![both],
            Captured::Apart { out, err } => vec![out, err],
        };
        let mut extent = Extent::default();
        for capture in &captures {
            extent.add(&capture.extent);
        }
        let omitted = captures.iter().filter_map(|capture| capture.omitted);
        let omitted = omitted.fold(None, |sum: Option<(u64, u64)>, more| {
            let (bytes, lines) = sum.unwrap_or_default();
            Some((bytes + more.bytes, lines + more.lines))
        });
        let hidden = finished.hidden;
        let by_limits = (
            hidden.before.bytes + hidden.after.bytes,
            hidden.before.lines + hidden.after.lines,
        );
        let total_lines = extent.lines + by_limits.1 + hidden.unended;
        let shown = Ranges::of(&extent, hidden.before.lines, total_lines);
        let digest = finished.digest.clone();
        let total_lines = digest
            .as_ref()
            .map_or(total_lines, |digest| digest.raw_lines);
        Self {
            shown: match digest.as_ref().and_then(|digest| digest.shown) {
                Some(raw) => shown.in_raw(raw),
                None => shown,
            },
            of_digest: digest.map(|digest| (digest, shown)),
            extent,
            bytes: captures.iter().map(|capture| capture.bytes).sum(),
            omitted,
            by_window: omitted.and_then(|(bytes, lines)| {
                let bytes = bytes.checked_sub(by_limits.0).filter(|bytes| *bytes > 0);
                Some((bytes?, lines.saturating_sub(by_limits.1)))
            }),
            total_lines,
            window: &profile.output.window,
            line_bytes: profile.output.line_bytes,
            artifact: finished.artifact.clone(),
            is_incomplete: {
                let is_loss = |notice: &Notice| matches!(notice.kind, NoticeKind::OutputLost(_));
                finished.terminal.is_some() && finished.notices.iter().any(is_loss)
            },
        }
    }

    /// Lines of the text that the numbers of lines count.
    fn numbered_lines(&self) -> u64 {
        match &self.of_digest {
            Some((digest, _)) if digest.shown.is_none() => digest.lines,
            _ => self.total_lines,
        }
    }

    fn shown_lines(&self) -> u64 {
        self.extent.head + self.extent.tail
    }

    /// Sentences about what is not shown, in brackets; `None` when everything is.
    fn notice(&self, texts: &TruncationTexts) -> Option<String> {
        let mut sentences = Vec::new();
        if self.omitted.is_some() {
            sentences.push(self.window_sentence(texts));
        }
        if self.extent.cut_lines > 0 {
            let max = self.line_bytes.unwrap_or_default().to_string();
            sentences.push(fill(&texts.lines_cut, &[("max", &max)]));
        }
        if sentences.is_empty() {
            return None;
        }
        if let Some(kept) = &self.artifact {
            let template = match kept.dropped {
                0 if self.is_incomplete => &texts.stored_incomplete,
                0 => &texts.stored,
                _ => &texts.stored_partly,
            };
            let address = artifact::address(kept.id);
            let dropped = kept.dropped.to_string();
            sentences.push(fill(
                template,
                &[("address", &address), ("dropped", &dropped)],
            ));
        }
        sentences.retain(|sentence| !sentence.is_empty());
        Some(format!("[{}]", sentences.join(". "))).filter(|notice| notice != "[]")
    }

    fn window_sentence(&self, texts: &TruncationTexts) -> String {
        let (template, (begin, head), (first, last)) = match self.shown {
            _ if self.shown_lines() == 0 => (&texts.count, (0, 0), (0, 0)),
            Ranges::Head(first, last) | Ranges::Tail(first, last) => {
                (&texts.range, (0, 0), (first, last))
            }
            Ranges::Middle(head, tail) => (&texts.middle, head, tail),
        };
        let middle = first.saturating_sub(head + 1);
        let (bytes, _) = self.by_window.unwrap_or_default();
        let sentence = fill(
            template,
            &[
                ("first", &first.to_string()),
                ("last", &last.to_string()),
                ("begin", &begin.to_string()),
                ("head", &head.to_string()),
                ("total", &self.numbered_lines().to_string()),
                ("shown", &self.shown_lines().to_string()),
                ("omitted_lines", &middle_lines(middle)),
                ("omitted_size", &window::decimal_size(bytes)),
            ],
        );
        let by_bytes = if matches!(self.shown, Ranges::Middle(..)) || self.by_window.is_none() {
            String::new()
        } else {
            let limit = window::decimal_size(self.window.max as u64);
            fill(&texts.by_bytes, &[("limit", &limit)])
        };
        sentence + &by_bytes + &self.digest_words(texts)
    }

    /// What the numbers are in the digest that is shown, or that they are those of the digest.
    fn digest_words(&self, texts: &TruncationTexts) -> String {
        let Some((digest, shown)) = &self.of_digest else {
            return String::new();
        };
        let (first, last) = shown.outer();
        let is_the_same = (*shown, digest.lines) == (self.shown, self.total_lines);
        let template = match digest.shown {
            Some(_) if is_the_same => return String::new(),
            Some(_) => &texts.minimized,
            None => &texts.minimized_only,
        };
        fill(
            template,
            &[
                ("first", &first.to_string()),
                ("last", &last.to_string()),
                ("total", &digest.lines.to_string()),
                ("raw_total", &digest.raw_lines.to_string()),
            ],
        )
    }

    /// `meta.truncation`, where something was left out.
    fn truncation(&self) -> Option<Value> {
        self.omitted?;
        let (bytes, lines) = self.by_window.unwrap_or_default();
        let range = |start: u64, end: u64| json!({ "start": start, "end": end });
        let by = self.by_window.map_or("lines", |_| "bytes");
        let mut fields = Map::new();
        let (direction, by) = match self.shown {
            Ranges::Head(..) => ("head", by),
            Ranges::Tail(..) => ("tail", by),
            Ranges::Middle(..) => ("middle", "middle"),
        };
        let mut insert = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        insert("direction", json!(direction));
        insert("truncatedBy", json!(by));
        insert("totalLines", json!(self.total_lines));
        insert("totalBytes", json!(self.bytes));
        insert("outputLines", json!(self.shown_lines()));
        insert("outputBytes", json!(self.extent.bytes));
        insert("maxBytes", json!(self.window.max));
        match self.shown {
            Ranges::Head(first, last) => {
                insert("shownRange", range(first, last));
                insert("nextOffset", json!(last + 1));
            }
            Ranges::Tail(first, last) => {
                insert("shownRange", range(first, last));
            }
            Ranges::Middle(head, tail) => {
                insert("headRange", range(head.0, head.1));
                insert("tailRange", range(tail.0, tail.1));
                insert("elidedBytes", json!(bytes));
                insert("elidedLines", json!(lines));
            }
        }
        if let Some((digest, shown)) = &self.of_digest {
            let (first, last) = shown.outer();
            let minimized = json!({
                "totalLines": digest.lines,
                "totalBytes": digest.bytes,
                "shownRange": range(first, last),
                "numbersAreIts": digest.shown.is_none(),
            });
            fields.insert("minimized".to_owned(), minimized);
        }
        self.insert_artifact(&mut fields);
        Some(fields.into())
    }

    /// `meta`, where anything is not shown.
    fn meta(&self) -> Option<Value> {
        let mut meta = Map::new();
        if let Some(truncation) = self.truncation() {
            meta.insert("truncation".to_owned(), truncation);
        }
        if self.extent.cut_lines > 0 {
            let mut lines = Map::new();
            lines.insert("maxColumn".to_owned(), json!(self.line_bytes));
            self.insert_artifact(&mut lines);
            meta.insert("limits".to_owned(), json!({ "columnTruncated": lines }));
        }
        (!meta.is_empty()).then(|| meta.into())
    }

    fn insert_artifact(&self, fields: &mut Map<String, Value>) {
        if let Some(kept) = &self.artifact {
            fields.insert("artifactId".to_owned(), json!(kept.id.to_string()));
        }
    }
}

/// The limit in force, and the requested one if it is different.
pub(super) fn timeouts(finished: &Finished) -> Map<String, Value> {
    let mut details = Map::new();
    details.insert(
        "timeoutSeconds".to_owned(),
        seconds(finished.timeout.as_secs_f64()),
    );
    if let Some(requested) = finished.requested_timeout
        && (requested - finished.timeout.as_secs_f64()).abs() > f64::EPSILON
    {
        details.insert("requestedTimeoutSeconds".to_owned(), seconds(requested));
    }
    details
}

fn details(finished: &Finished, cut: &OutputCut<'_>) -> Value {
    let mut details = timeouts(finished);
    let wall = finished.ran_for.as_secs_f64() * 1000.0;
    details.insert("wallTimeMs".to_owned(), json!(wall));
    if let Some(status) = finished.status().filter(|status| *status != 0)
        && finished.ended_by.is_none()
    {
        details.insert("exitCode".to_owned(), json!(status));
    }
    if finished.ended_by == Some(EndedBy::Timeout) {
        details.insert("timedOut".to_owned(), json!(true));
    }
    if let Some(terminal) = &finished.terminal {
        details.insert("terminalId".to_owned(), json!(terminal));
    }
    let no_terminal = |notice: &&Notice| notice.kind == NoticeKind::NoTerminal;
    if let Some(notice) = finished.notices.iter().find(no_terminal) {
        details.insert("ptyFallback".to_owned(), json!(notice.text));
    }
    if let Some(meta) = cut.meta() {
        details.insert("meta".to_owned(), meta);
    }
    details.into()
}

/// The counts of the output, whether something was left out or not.
fn summary(finished: &Finished, cut: &OutputCut<'_>) -> Value {
    let mut summary = Map::new();
    let is_cut = cut.omitted.is_some() || cut.extent.cut_lines > 0;
    summary.insert("truncated".to_owned(), json!(is_cut));
    summary.insert("totalLines".to_owned(), json!(cut.total_lines));
    summary.insert("totalBytes".to_owned(), json!(finished.written.bytes));
    summary.insert("outputLines".to_owned(), json!(cut.shown_lines()));
    summary.insert("outputBytes".to_owned(), json!(cut.extent.bytes));
    cut.insert_artifact(&mut summary);
    if let (Some((bytes, lines)), Ranges::Middle(..)) = (cut.by_window, cut.shown) {
        summary.insert("elidedBytes".to_owned(), json!(bytes));
        summary.insert("elidedLines".to_owned(), json!(lines));
    }
    if cut.extent.cut_lines > 0 {
        summary.insert("columnDroppedBytes".to_owned(), json!(cut.extent.cut_bytes));
        summary.insert(
            "columnTruncatedLines".to_owned(),
            json!(cut.extent.cut_lines),
        );
    }
    summary.into()
}

/// Seconds as a whole number if they are one, otherwise as a fraction.
fn seconds(number: f64) -> Value {
    /// Up to here every whole number has a form of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        json!(number as i64)
    } else {
        json!(number)
    }
}

/// `1,234 middle lines`, `1 middle line`.
fn middle_lines(count: u64) -> String {
    let noun = if count == 1 { "line" } else { "lines" };
    format!("{} middle {noun}", window::grouped(count))
}
