//! `bashd stats`: what the minimizer saved and cost, by command, in tokens of a real tokenizer.

use crate::args::Everywhere;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::log::since;
use crate::print::{BufferedStdout, Paint, Printer};
use crate::settings::ConfigInForce;
use crate::surroundings;
use anyhow::Context;
use bashd::ledger::{RecordQuery, Timestamp};
use bashd::savings::{Row, Savings, savings};
use clap::Args;
use serde_json::json;

/// The tokenizer that counts tokens.
const TOKENIZER: &str = "o200k_base";

/// Show what minimizing output saved, by command.
///
/// Compares the tokens (`o200k_base`) that calls showed with those that they would have shown
/// within their profile's window. Reading the raw output later counts as a cost; a loss is a
/// negative number. Where the raw output is gone, the figures are estimated from bytes and marked
/// with ~.
#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
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
    // Loading its vocabulary takes a moment, so it is loaded here and only if there is something to
    // count.
    let mut tokenizer = None;
    let mut failed = None;
    let mut count = |text: &str| {
        if tokenizer.is_none() && failed.is_none() {
            match tiktoken_rs::o200k_base() {
                Ok(read) => tokenizer = Some(read),
                Err(error) => failed = Some(error),
            }
        }
        let tokens = tokenizer.as_ref();
        tokens.map_or(0, |tokenizer| tokenizer.count_ordinary(text) as u64)
    };
    let found = savings(&settings.config, filter, &mut count)
        .context("the ledger or the stored output can't be read")
        .map_err(system)?;
    if let Some(error) = failed {
        return Err(system(error.context("the tokenizer can't be loaded")));
    }
    let mut page = printer.page();
    if arguments.json {
        page.line(json!({
            "tokenizer": TOKENIZER,
            "commands": found.rows,
            "total": found.total,
        }))?;
    } else if found.rows.is_empty() {
        printer.remark(Paint::Hint, "stats:", "no recorded call was minimized");
    } else {
        table(&mut page, &found)?;
    }
    page.finish()?;
    if found.damaged > 0 {
        let lines = for_people::count(found.damaged, "damaged line");
        printer.warn(&format!("skipped {lines} of the ledger"));
    }
    Ok(ExitStatus::Success)
}

fn table(page: &mut BufferedStdout, found: &Savings) -> Result<(), Failure> {
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
    let mut remark = format!("tokens of {TOKENIZER}");
    if total.estimated_calls > 0 {
        let calls = for_people::count(total.calls, "call");
        remark = format!(
            "{remark}; ~: estimated from bytes for {} of {calls}, because the raw output is gone",
            total.estimated_calls
        );
    }
    page.line(page.paint(Paint::Hint, &remark))
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
