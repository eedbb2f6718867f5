//! `bashd profiles`: the contracts that there are, compiled in and the user's own.

use crate::args::ProfilesOptions;
use crate::exit_status::ExitStatus;
use crate::failure::Failure;
use crate::for_people;
use crate::print::{Paint, Printer};
use crate::settings::ConfigInForce;
use bashd::profile::Profile;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// One profile, and where it comes from.
struct ListedProfile {
    name: String,
    /// Its one line, or why it can't be used.
    summary: Result<String, String>,
    /// The user's own file, if it is one.
    file: Option<PathBuf>,
    is_configured: bool,
}

/// Lists the profiles, for people or as JSON lines.
pub(crate) fn profiles(
    arguments: &ProfilesOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let listed = list(settings);
    let mut page = printer.list();
    if arguments.json {
        for profile in &listed {
            page.line(json!({
                "profile": profile.name,
                "summary": profile.summary.as_ref().ok(),
                "error": profile.summary.as_ref().err(),
                "file": profile.file,
                "configured": profile.is_configured,
            }))?;
        }
        page.finish()?;
        return Ok(ExitStatus::Success);
    }
    let width = listed.iter().map(|profile| profile.name.len()).max();
    let width = width.unwrap_or_default();
    for profile in &listed {
        let mark = if profile.is_configured { "*" } else { " " };
        let name = page.paint(Paint::Title, &format!("{:<width$}", profile.name));
        let text = match &profile.summary {
            Ok(summary) => for_people::one_line(summary),
            Err(problem) => page.paint(Paint::Bad, &for_people::one_line(problem)),
        };
        for_people::wrapped(&text, width + 4, Printer::columns())
            .iter()
            .enumerate()
            .try_for_each(|(number, line)| match number {
                0 => page.line(format_args!("{mark} {name}  {line}")),
                _ => page.line(format_args!("{:1$}  {line}", "", width + 2)),
            })?;
        if let Some(file) = &profile.file {
            let file = page.paint(Paint::Faint, &file.display().to_string());
            page.line(format_args!("{:1$}  {file}", "", width + 2))?;
        }
    }
    page.finish()?;
    if Printer::is_terminal() {
        printer.note("* is configured · a tool's definition: bashd schema --profile NAME");
    }
    Ok(ExitStatus::Success)
}

/// The names of all profiles, compiled-in ones first.
pub(crate) fn names(settings: &ConfigInForce) -> Vec<String> {
    let mut names: Vec<String> = Profile::names().map(str::to_owned).collect();
    let own = own(settings);
    names.extend(
        own.into_keys()
            .filter(|name| Profile::names().all(|known| known != name)),
    );
    names
}

fn list(settings: &ConfigInForce) -> Vec<ListedProfile> {
    let mut own = own(settings);
    let listed = names(settings).into_iter().map(|name| {
        let profile = settings.profile(&name);
        ListedProfile {
            summary: profile
                .map(|profile| profile.summary.clone())
                .map_err(|failure| failure.to_string()),
            file: own.remove(&name),
            is_configured: name == settings.config.profile,
            name,
        }
    });
    listed.collect()
}

/// The user's own files by their profiles' names.
fn own(settings: &ConfigInForce) -> BTreeMap<String, PathBuf> {
    let directory = settings.config.profiles_dir.as_ref();
    let entries = directory.and_then(|directory| fs::read_dir(directory).ok());
    let files = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let named = files.filter_map(|path| {
        let is_toml = path
            .extension()
            .is_some_and(|extension| extension == "toml");
        let name = path.file_stem()?.to_str()?.to_owned();
        (is_toml && !name.starts_with('.')).then_some((name, path))
    });
    named.collect()
}
