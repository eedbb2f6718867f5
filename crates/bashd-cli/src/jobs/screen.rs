//! `bashd jobs screen`.

use super::{JobsDesk, pattern, show};
use crate::args::JobsScreen;
use crate::exit_status::ExitStatus;
use crate::failure::Failure;
use crate::print::Printer;
use bashd::jobs::{Met, ScreenQuery};
use std::time::Duration;

/// Prints what a job's terminal shows, and where the cursor is.
pub(super) async fn screen(
    arguments: &JobsScreen,
    desk: &JobsDesk,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let job = desk.find(&arguments.id)?;
    let mut query = ScreenQuery::default();
    let on_rows = |text: &str| pattern(&format!("(?m:{text})"));
    query.until = arguments.regex.as_deref().map(on_rows).transpose()?;
    query.silence = arguments.silent.map(Duration::from_millis);
    query.timeout = arguments.timeout.unwrap_or(query.timeout);
    query.scrollback = arguments.scrollback;
    let shown = desk.jobs.screen(&job, &query).await;
    let shown = shown.map_err(|error| {
        let hint = format!("its output: bashd jobs output {}", job.alias);
        Failure::from(error).hint(hint)
    })?;
    if arguments.json {
        show::object(&shown, printer)?;
    } else {
        printer.out(&format!("{}\n", shown.lines.join("\n")))?;
    }
    Ok(match shown.met {
        Met::Yes => ExitStatus::Success,
        Met::Ended => ExitStatus::Unfit,
        Met::NotYet => ExitStatus::TimedOut,
    })
}
