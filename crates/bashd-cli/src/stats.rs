//! `bashd stats`: what the minimizer saved and cost, by command, in tokens of a real tokenizer.

use crate::args::Everywhere;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, Kind};
use crate::for_people;
use crate::log::since;
use crate::print::{Page, Paint, Printer};
use crate::settings::Settings;
use crate::surroundings;
use anyhow::Context;
use bashd::ledger::{Filter, Timestamp};
use bashd::savings::{Row, Savings, savings};
use clap::Args;
use serde_json::json;

/// The tokenizer that counts.
const TOKENIZER: &str = "o200k_base";

/// Show what minimizing output saved, by command.
///
/// Tokens (of `o200k_base`) that calls showed, against those that they would have shown within
/// their profile's window. What was read of the raw output afterwards is a cost; a loss is a
/// negative number. Where the raw output is gone, the figures are estimated from bytes, and said to
/// be (~).
#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Only calls since then: 90m, 2h, 3d, today, 2026-08-01, '2026-08-01 10:30'.
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,
}

/// Prints the savings.
pub(crate) fn stats(
    arguments: &Stats,
    settings: &Settings,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let now = Timestamp::now().to_zoned(surroundings::time_zone());
    let when = arguments.since.as_deref();
    let filter = Filter {
        since: when.map(|when| since(when, &now)).transpose()?,
        ..Filter::default()
    };
    let system = |chain| Failure::of(Kind::System, chain);
    // Its vocabulary takes a moment to be read, so only here and only when something is to be
    // counted.
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
        return Err(system(error.context("the tokenizer can't be made")));
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
        printer.warn(&format!(
            "{} damaged lines of the ledger were passed over",
            found.damaged
        ));
    }
    Ok(ExitStatus::Success)
}

fn table(page: &mut Page, found: &Savings) -> Result<(), Failure> {
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
        remark = format!(
            "{remark}; ~: {} of {} calls are estimated from their bytes, since their raw output is gone",
            total.estimated_calls, total.calls
        );
    }
    page.line(page.paint(Paint::Hint, &remark))
}

fn line(page: &mut Page, row: &Row, name: &str) -> Result<(), Failure> {
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
