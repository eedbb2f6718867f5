//! `bashd doctor`: what this machine has that bashd needs or can use, and what that means.
//!
//! Every check only looks: it creates, starts and changes nothing, but for one, which finds out how
//! commands can be confined by confining one that does nothing. A check is one function in one
//! of the tables below; it never fails, it reports a finding.

mod agents;
mod check;
mod confinement;
mod interceptor;
mod kernel;
mod limits;
mod places;
mod shells;

use crate::args::Doctor;
use crate::exit_status::ExitStatus;
use crate::failure::Failure;
use crate::print::{Paint, Printer};
use crate::settings::ConfigInForce;
use check::{CheckGrade, DoctorCheck};
use serde_json::json;

/// A check of the machine: what it found, and what that means.
type Checker = fn(&ConfigInForce) -> DoctorCheck;

/// Every check, in the order in which they are shown.
const CHECKS: &[Checker] = &[
    shells::bash,
    shells::zsh,
    shells::sh,
    shells::rc_script,
    kernel::version,
    kernel::pidfd,
    kernel::subreaper,
    kernel::children_file,
    kernel::cgroup,
    kernel::ptrace,
    kernel::first_process,
    places::state_directory,
    places::anonymous_files,
    places::free_space,
    places::clock,
    places::configuration,
    places::profile,
    places::own_profiles,
    interceptor::rules,
    agents::set_up,
    confinement::level,
    limits::of_commands,
    limits::pipe_pages,
    limits::processes,
    limits::open_files,
    limits::hung_threads,
];

/// Runs all checks and prints them; the status says whether bashd can work here.
pub(crate) fn doctor(
    arguments: &Doctor,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let checks: Vec<DoctorCheck> = CHECKS.iter().map(|checker| checker(settings)).collect();
    report(&checks, arguments, printer)
}

/// Says that the configuration can't be used, which is all that can be said without one.
pub(crate) fn without_configuration(
    arguments: &Doctor,
    failure: &Failure,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let consequence = "bashd does not start: mend it (`bashd config edit`)";
    let check = DoctorCheck::missing("configuration", failure.to_string(), consequence);
    report(&[check], arguments, printer)
}

fn report(
    checks: &[DoctorCheck],
    arguments: &Doctor,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let is_fit = checks
        .iter()
        .all(|check| check.verdict != CheckGrade::Missing);
    let verdict = verdict(checks);
    if arguments.json {
        let version = env!("CARGO_PKG_VERSION");
        let report =
            json!({ "version": version, "fit": is_fit, "verdict": verdict, "checks": checks });
        printer.out(&format!("{report:#}\n"))?;
    } else {
        show(checks, printer)?;
        let paint = if is_fit { Paint::Good } else { Paint::Bad };
        printer.out(&format!("\n{}\n", printer.page().paint(paint, &verdict)))?;
    }
    Ok(if is_fit {
        ExitStatus::Success
    } else {
        ExitStatus::Unfit
    })
}

/// All of it in one sentence.
fn verdict(checks: &[DoctorCheck]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let of = |grade: CheckGrade| {
        let found = checks.iter().filter(move |check| check.verdict == grade);
        found.map(|check| check.name).collect::<Vec<_>>()
    };
    match (of(CheckGrade::Missing), of(CheckGrade::Limited)) {
        (missing, _) if !missing.is_empty() => {
            format!("bashd {version} can't work here: {}", missing.join(", "))
        }
        (_, limited) if !limited.is_empty() => format!(
            "bashd {version} works here, with limits: {}",
            limited.join(", ")
        ),
        _ => format!("bashd {version} works here"),
    }
}

fn show(checks: &[DoctorCheck], printer: &Printer) -> Result<(), Failure> {
    let mut page = printer.page();
    let width = checks
        .iter()
        .map(|check| check.name.len())
        .max()
        .unwrap_or_default();
    for check in checks {
        let (paint, word) = match check.verdict {
            CheckGrade::Good => (Paint::Good, "ok     "),
            CheckGrade::Limited => (Paint::Warning, "limited"),
            CheckGrade::Missing => (Paint::Bad, "MISSING"),
        };
        let verdict = page.paint(paint, word);
        let DoctorCheck {
            name,
            finding,
            consequence,
            ..
        } = check;
        let taken = 7 + 2 + width + 2;
        let head = format!("{verdict}  {name:width$}  ");
        page.beside(&head, taken, None, finding)?;
        let below = " ".repeat(taken);
        page.beside(&below, taken, Some(Paint::Faint), consequence)?;
    }
    page.finish()
}
