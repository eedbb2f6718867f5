//! `bashd minimize`: the minimizer for any pipe, and the tests of a user's filters.

use crate::args::Everywhere;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::{CommandOutput, Paint, Printer};
use crate::settings::ConfigInForce;
use anyhow::Context;
use bashd::minimize::user::UserFilters;
use bashd::minimize::{self, Reach, Subject};
use clap::Args;
use serde_json::json;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Shorten a command's output for a model: raw text on stdin, the same facts in fewer tokens on
/// stdout.
///
/// Without `--command`, it removes only what carries no facts: escapes, overwritten frames and
/// repeats. Short output, machine formats and file contents come out unchanged. The exit status is
/// 0 in each case.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct MinimizeOptions {
    /// The command that printed the text.
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) command: String,
    /// The command's exit status. Known noise is left out only if it is 0.
    #[arg(long, value_name = "N")]
    pub(crate) exit: Option<i32>,
    /// Leave nothing out.
    #[arg(long)]
    pub(crate) lossless: bool,
    /// Print one JSON object: text, filter, lines left out, or why the text is unchanged.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) action: Option<MinimizeAction>,
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum MinimizeAction {
    /// Run the tests in a file of your own filters.
    ///
    /// Exits with status 1 when a test fails or the file is invalid.
    Test {
        /// The file; by default the one that `shell_minimizer.settings_path` names.
        file: Option<PathBuf>,
    },
}

/// Reads raw text and prints the minimized text.
pub(crate) fn minimize(
    arguments: &MinimizeOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let minimizer = &settings.config.minimizer;
    if let Some(MinimizeAction::Test { file }) = &arguments.action {
        let file = file.as_ref().or(minimizer.settings_path.as_ref());
        let file = file.ok_or_else(|| {
            Failure::new(FailureKind::Usage, "there is no filter file to test")
                .hint("name one, or set `shell_minimizer.settings_path`")
        })?;
        return test(file, printer);
    }
    let (own, problems) = minimizer.load();
    for problem in problems {
        printer.warn(&problem);
    }
    // The user asked for it: the settings about what to leave out apply only to the output of
    // calls.
    let user_filters = own.map(|own| own.user_filters).unwrap_or_default();
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .context("stdin can't be read")
        .map_err(|chain| Failure::of(FailureKind::System, chain))?;
    let text = String::from_utf8_lossy(&bytes);
    let subject = Subject {
        command: &arguments.command,
        exit: arguments.exit,
        text: &text,
    };
    let settings = minimize::FilterSettings {
        user_filters,
        reach: if arguments.lossless {
            Reach::Lossless
        } else {
            Reach::All
        },
        ..minimize::FilterSettings::default()
    };
    let result = minimize::minimize(subject, &settings);
    if arguments.json {
        let object = match &result {
            Ok(digest) => json!({
                "text": digest.text, "filter": digest.filter, "left_out": digest.left_out, "unchanged": null,
            }),
            Err(why) => json!({
                "text": text, "filter": null, "left_out": 0, "unchanged": why.reason(),
            }),
        };
        printer.out(&format!("{object}\n"))?;
    } else {
        // Unchanged output stays the same to the byte.
        let shown = result.as_ref().map(|digest| digest.text.as_bytes());
        let mut page = printer.page();
        page.bytes(&CommandOutput::to_stdout().bytes(shown.unwrap_or(&bytes)))?;
        page.finish()?;
    }
    Ok(ExitStatus::Success)
}

/// Runs the tests in a filter file.
fn test(path: &Path, printer: &Printer) -> Result<ExitStatus, Failure> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("{} can't be read", path.display()))
        .map_err(|chain| Failure::of(FailureKind::System, chain))?;
    let loaded = UserFilters::load(&text);
    for problem in &loaded.problems {
        printer.remark(Paint::Bad, "failed:", problem);
    }
    let filters = loaded.filters.names().count();
    printer.out(&format!(
        "tests: {}, problems: {}, filters usable: {filters}\n",
        loaded.tests,
        loaded.problems.len()
    ))?;
    Ok(if loaded.problems.is_empty() {
        ExitStatus::Success
    } else {
        ExitStatus::Unfit
    })
}
