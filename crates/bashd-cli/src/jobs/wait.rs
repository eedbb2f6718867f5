//! `bashd jobs wait`.

use super::{JobsDesk, pattern, show};
use crate::args::JobsWait;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use bashd::jobs::{Condition, Met, Quorum, WaitFor, Waited};
use serde_json::{Value, json};
use std::time::Duration;

/// Waits, and reports the result.
pub(super) async fn wait(
    arguments: &JobsWait,
    desk: &JobsDesk,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let found = desk.find_all(&arguments.ids)?;
    // Far enough away for "as long as it takes".
    let longest = arguments.timeout.unwrap_or(Duration::from_hours(24 * 366));
    let mut wait = WaitFor::new(condition(arguments)?, longest);
    if arguments.any {
        wait.quorum = Quorum::Any;
    }
    let waited = desk.jobs.wait(found.clone(), &wait).await;
    for (one, found) in waited.iter().zip(&found) {
        desk.seen_to_end(found, &one.job);
        if one.job.has_ended() {
            desk.jobs.acknowledge(&one.job);
        }
        if arguments.json {
            printer.out(&format!("{}\n", object(one)?))?;
        } else {
            show::tell(&one.job, &text(one), printer);
        }
    }
    Ok(status(&waited, wait.quorum))
}

fn condition(arguments: &JobsWait) -> Result<Condition, Failure> {
    Ok(if let Some(text) = &arguments.regex {
        Condition::matches(pattern(text)?)
    } else if let Some(port) = arguments.port {
        Condition::Port(port)
    } else if let Some(url) = &arguments.http {
        Condition::answers(url).map_err(|problem| Failure::new(FailureKind::Usage, problem))?
    } else if let Some(millis) = arguments.silent {
        Condition::Silent(Duration::from_millis(millis))
    } else {
        Condition::Exit
    })
}

fn text(waited: &Waited) -> String {
    let alias = &waited.job.alias;
    let state = show::ending(&waited.job);
    match (waited.met, &waited.by) {
        (Met::Yes, Some(by)) => format!("{alias}: {by}"),
        (Met::Yes, None) => format!("{alias} {state}"),
        (Met::Ended, _) => format!("{alias} {state}, before the condition was met"),
        (Met::NotYet, _) => format!("{alias}: not yet, it {state}"),
    }
}

/// The job's own fields, and the result of the wait beside them.
fn object(waited: &Waited) -> Result<Value, Failure> {
    let mut value = show::value(&waited.job)?;
    value["met"] = json!(waited.met);
    value["by"] = json!(waited.by);
    Ok(value)
}

fn status(waited: &[Waited], quorum: Quorum) -> ExitStatus {
    let is = |met: Met| move |one: &Waited| one.met == met;
    let is_met = match quorum {
        Quorum::Any => waited.iter().any(is(Met::Yes)),
        Quorum::All => waited.iter().all(is(Met::Yes)),
    };
    if is_met {
        ExitStatus::Success
    } else if waited.iter().any(is(Met::NotYet)) {
        ExitStatus::TimedOut
    } else {
        ExitStatus::Unfit
    }
}
