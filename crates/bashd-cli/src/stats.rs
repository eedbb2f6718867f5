//! `bashd stats`: what the minimizer saved and cost, by command, in tokens of a real tokenizer.

use crate::args::Everywhere;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::log::since;
use crate::print::{BufferedStdout, Paint, Printer};
use crate::settings::ConfigInForce;
use crate::surroundings;
use crate::vocabulary::{Counting, TOKENIZER, TokenCounter};
use anyhow::Context;
use bashd::ledger::{RecordQuery, Timestamp};
use bashd::savings::{Row, Savings, savings};
use clap::Args;
use serde_json::json;

/// Show what minimizing output saved, by command.
///
/// Compares the tokens (`o200k_base`) that calls showed with those that they would have shown
/// within their profile's window. Reading the raw output later counts as a cost; a loss is a
/// negative number. Where the raw output is gone, the figures are estimated from bytes and marked
/// with ~; without the tokenizer's vocabulary, which packages install, all of them are.
#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw what was saved as bars, instead of a table.
    #[arg(long, conflicts_with = "json")]
    pub(crate) graph: bool,
    /// Count only calls since this time: 90m, 2h, 3d, today, 2026-08-01, '2026-08-01 10:30'.
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,
}

/// Prints the savings.
pub(crate) fn stats(
    arguments: &Stats,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let now = Timestamp::now().to_zoned(surroundings::time_zone());
    let when = arguments.since.as_deref();
    let filter = RecordQuery {
        since: when.map(|when| since(when, &now)).transpose()?,
        ..RecordQuery::default()
    };
    let system = |chain| Failure::of(FailureKind::System, chain);
    let mut counter = TokenCounter::default();
    let found = savings(&settings.config, filter, &mut |text| counter.count(text))
        .context("the ledger or the stored output can't be read")
        .map_err(system)?;
    let counting = counter.finish().map_err(|error| {
        let chain = error.context("the tokenizer's vocabulary can't be used");
        system(chain).hint("remove that file to have tokens estimated")
    })?;
    let mut page = printer.page();
    if arguments.json {
        page.line(json!({
            "tokenizer": counting.tokenizer(),
            "commands": found.rows,
            "total": found.total,
        }))?;
    } else if found.rows.is_empty() {
        printer.note("no recorded call was minimized · try: bashd run 'git log'");
    } else if arguments.graph {
        graph(&mut page, &found, &counting)?;
    } else {
        table(&mut page, &found, &counting)?;
    }
    page.finish()?;
    if let Some(remedy) = counting.remedy() {
        printer.note(&remedy);
    }
    if found.damaged > 0 {
        let lines = for_people::count(found.damaged, "damaged line");
        printer.warn(&format!("skipped {lines} of the ledger"));
    }
    Ok(ExitStatus::Success)
}

fn table(page: &mut BufferedStdout, found: &Savings, counting: &Counting) -> Result<(), Failure> {
    let title = format!(
        "{:>6}  {:>9}  {:>9}  {:>9}  {:>10}  {:>5}  {}",
        "CALLS", "WITHOUT", "SHOWN", "RE-READ", "SAVED", "", "COMMAND"
    );
    page.line(page.paint(Paint::Title, &title))?;
    for row in &found.rows {
        line(page, row, &for_people::one_line(&row.command))?;
    }
    line(page, &found.total, "(all)")?;
    let total = &found.total;
    let mut remark = match counting {
        Counting::Exact => format!("tokens of {TOKENIZER}"),
        Counting::Estimated(_) => "tokens, estimated from bytes".to_owned(),
    };
    if total.estimated_calls > 0 {
        let calls = for_people::count(total.calls, "call");
        remark = format!(
            "{remark}; ~: estimated from bytes for {} of {calls}, because the raw output is gone",
            total.estimated_calls
        );
    }
    page.line(page.paint(Paint::Hint, &remark))
}

/// What was saved by each command, as bars. A loss is a bar of another kind.
fn graph(page: &mut BufferedStdout, found: &Savings, counting: &Counting) -> Result<(), Failure> {
    /// Columns of a name, of a bar without a terminal, and of what is around them.
    const NAME: usize = 20;
    const BAR: usize = 40;
    const AROUND: usize = NAME + 2 + 11 + 7;
    let most = found.rows.iter().map(|row| row.saved_tokens.unsigned_abs());
    let most = most.max().unwrap_or(0).max(1);
    let room = Printer::columns().map_or(BAR, |columns| columns.saturating_sub(AROUND).max(8));
    for row in &found.rows {
        let name = for_people::cut(&for_people::one_line(&row.command), NAME);
        let length = (u128::from(row.saved_tokens.unsigned_abs()) * room as u128)
            .div_ceil(u128::from(most)) as usize;
        let (sign, paint) = if row.saved_tokens < 0 {
            ("░", Paint::Bad)
        } else {
            ("█", Paint::Good)
        };
        let bar = page.paint(paint, &sign.repeat(length));
        let about = if row.estimated_calls > 0 { "~" } else { "" };
        let share = 100.0 * row.saved_tokens as f64 / row.without_tokens.max(1) as f64;
        let gap = " ".repeat(room.saturating_sub(length));
        page.line(format_args!(
            "{name:<NAME$}  {bar}{gap} {:>10} {share:>4.0}%",
            format!("{about}{}", row.saved_tokens)
        ))?;
    }
    let tokens = match counting {
        Counting::Exact => format!("tokens of {TOKENIZER} saved"),
        Counting::Estimated(_) => "tokens saved, estimated from bytes".to_owned(),
    };
    let total = format!(
        "{} of {} {tokens}",
        found.total.saved_tokens, found.total.without_tokens
    );
    page.line(page.paint(Paint::Hint, &total))
}

fn line(page: &mut BufferedStdout, row: &Row, name: &str) -> Result<(), Failure> {
    let about = if row.estimated_calls > 0 { "~" } else { "" };
    let share = 100.0 * row.saved_tokens as f64 / row.without_tokens.max(1) as f64;
    let saved = format!("{about}{}", row.saved_tokens);
    let paint = if row.saved_tokens < 0 {
        Paint::Bad
    } else {
        Paint::Good
    };
    let saved = page.paint(paint, &format!("{saved:>10}  {share:>4.0}%"));
    page.line(format_args!(
        "{:>6}  {:>9}  {:>9}  {:>9}  {saved}  {name}",
        row.calls, row.without_tokens, row.shown_tokens, row.reread_tokens
    ))
}
