//! `bashd grants`: lists and removes what a person allowed for good.

use crate::args::{GrantsAction, GrantsOptions};
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::print::{Paint, Printer};
use crate::settings::ConfigInForce;
use crate::surroundings;
use anyhow::Context;
use bashd::approval::{Grant, Grants};
use bashd::ledger::Timestamp;
use std::io;

/// Does what was asked for.
pub(crate) fn grants(
    arguments: &GrantsOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let grants = Grants::in_state(&settings.config.state_dir);
    match &arguments.action {
        None => list(&grants, arguments.json, printer),
        Some(GrantsAction::List(list_options)) => {
            list(&grants, list_options.json || arguments.json, printer)
        }
        Some(GrantsAction::Rm(rm)) => remove(&grants, &rm.ids, printer),
    }
}

fn list(grants: &Grants, as_json: bool, printer: &Printer) -> Result<ExitStatus, Failure> {
    let listed = grants.list();
    let listed = failed(listed, "the grants can't be listed")?;
    let mut page = printer.list();
    if as_json {
        for grant in &listed {
            let line = serde_json::to_value(grant);
            page.line(line.map_err(|error| Failure::of(FailureKind::System, error.into()))?)?;
        }
    } else if listed.is_empty() {
        printer.note("nothing was allowed for good · do: answer a question with `always`");
    } else {
        let head = format!(
            "{:>4}  {:<19}  {:<24}  {}",
            "ID", "GRANTED", "RULE", "COMMAND"
        );
        let head = page.paint(Paint::Title, &head);
        page.line(head)?;
        for grant in &listed {
            page.line(row(grant))?;
        }
    }
    page.finish()?;
    Ok(ExitStatus::Success)
}

fn row(grant: &Grant) -> String {
    let time = Timestamp::from_millisecond(grant.granted_ms as i64).unwrap_or_default();
    let time = time.to_zoned(surroundings::time_zone());
    format!(
        "{:>4}  {}  {:<24}  {}",
        grant.id,
        time.strftime("%Y-%m-%d %H:%M:%S"),
        for_people::one_line(&grant.rule),
        for_people::one_line(&grant.command),
    )
}

fn remove(grants: &Grants, ids: &[u64], printer: &Printer) -> Result<ExitStatus, Failure> {
    let gone = failed(grants.remove(ids), "the grants can't be changed")?;
    for grant in &gone {
        let command = for_people::one_line(&grant.command);
        printer.note(&format!("grant {} is removed: {command}", grant.id));
    }
    match ids
        .iter()
        .find(|id| gone.iter().all(|grant| grant.id != **id))
    {
        None => Ok(ExitStatus::Success),
        Some(missing) => {
            let message = format!("there is no grant {missing}");
            Err(Failure::new(FailureKind::Usage, message).hint("bashd grants lists them"))
        }
    }
}

fn failed<T>(result: io::Result<T>, what: &'static str) -> Result<T, Failure> {
    result
        .context(what)
        .map_err(|chain| Failure::of(FailureKind::System, chain))
}
