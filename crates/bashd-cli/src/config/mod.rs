//! `bashd config`: every value with its origin, and the commented reference.

mod edit;

pub(crate) use edit::{edit, path};

use crate::args::ConfigShow;
use crate::exit_status::ExitStatus;
use crate::failure::Failure;
use crate::print::{Paint, Printer};
use crate::settings::ConfigInForce;
use bashd::config::ValueOrigin;
use serde_json::json;

/// Prints every value and where it comes from, as TOML with comments or as JSON.
pub(crate) fn show(
    arguments: &ConfigShow,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    if arguments.json {
        show_json(settings, printer)?;
    } else {
        show_toml(settings, printer)?;
    }
    // The keys are right one by one; a name may still stand for nothing.
    if let Err(failure) = settings.profile(&settings.config.profile) {
        failure.warn(printer);
    }
    Ok(ExitStatus::Success)
}

/// Prints the commented defaults.
pub(crate) fn reference(printer: &Printer) -> Result<ExitStatus, Failure> {
    let mut page = printer.list();
    page.text(&bashd::config::reference())?;
    page.finish()?;
    Ok(ExitStatus::Success)
}

fn show_toml(settings: &ConfigInForce, printer: &Printer) -> Result<(), Failure> {
    let mut page = printer.list();
    let file = match &settings.file {
        Some(path) => path.display().to_string(),
        None => format!("none in {}", settings.places.config_dir.display()),
    };
    for (what, place) in [
        ("configuration file", file),
        (
            "state directory",
            settings.config.state_dir.display().to_string(),
        ),
    ] {
        page.line(page.paint(Paint::Faint, &format!("# {what}: {place}")))?;
    }
    let entries = &settings.report.entries;
    let lines: Vec<String> = entries
        .iter()
        .map(|entry| format!("{} = {}", entry.key.name, entry.value))
        .collect();
    let width = lines.iter().map(String::len).max().unwrap_or_default();
    for (line, entry) in lines.iter().zip(entries) {
        let comment = format!("# {}", entry.origin);
        let comment = match entry.origin {
            ValueOrigin::Default => page.paint(Paint::Faint, &comment),
            _ => page.paint(Paint::Hint, &comment),
        };
        page.line(format_args!("{line:width$}  {comment}"))?;
    }
    page.finish()
}

fn show_json(settings: &ConfigInForce, printer: &Printer) -> Result<(), Failure> {
    let layer = |origin: &ValueOrigin| match origin {
        ValueOrigin::Default => "default",
        ValueOrigin::File { .. } => "file",
        ValueOrigin::Variable(_) => "variable",
        ValueOrigin::Flag => "flag",
        _ => "other",
    };
    let values = settings.report.entries.iter().map(|entry| {
        json!({
            "key": entry.key.name,
            "value": entry.value,
            "layer": layer(&entry.origin),
            "origin": entry.origin.to_string(),
            "variable": entry.key.variable(),
        })
    });
    let warnings = settings.report.warnings.iter().map(|warning| {
        json!({
            "unknown": warning.unknown,
            "origin": warning.origin.to_string(),
            "nearest": warning.nearest,
        })
    });
    let shown = json!({
        "config_file": settings.file,
        "state_dir": settings.config.state_dir,
        "profiles_dir": settings.config.profiles_dir,
        "values": values.collect::<Vec<_>>(),
        "warnings": warnings.collect::<Vec<_>>(),
    });
    printer.out(&format!("{shown:#}\n"))
}
