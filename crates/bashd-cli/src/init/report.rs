//! What is shown of a set-up: the plan as diffs, what was done, what is left to do; for people or
//! as JSON.

use super::AgentChanges;
use super::change::{ChangeKind, FileChange};
use crate::args::InitOptions;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::print::{BufferedStdout, Paint, Printer};
use serde::Serialize;
use similar::TextDiff;
use std::path::PathBuf;

/// What is said unless the agents' own shells are switched off.
const OWN_SHELLS: &str = "The agents' own shells stay on. `bashd init --replace-shell` switches them off where it can; `--hook` puts bashd's guard before them.";

/// Everything that is told.
#[derive(Debug, Default, Serialize)]
pub(super) struct InitReport {
    pub(super) agents: Vec<AgentReport>,
    /// Whether the server works; null if it was not started.
    pub(super) server: Option<ServerReport>,
}

/// What is told about an agent.
#[derive(Debug, Serialize)]
pub(super) struct AgentReport {
    agent: String,
    title: &'static str,
    found: Option<PathBuf>,
    pub(super) files: Vec<FileReport>,
    /// What was wanted and can't be had.
    missing: Vec<&'static str>,
    /// What the user must still do.
    to_do: Vec<&'static str>,
}

/// What is told about a file.
#[derive(Debug, Serialize)]
pub(super) struct FileReport {
    path: PathBuf,
    state: FileFate,
    /// Why it was left as it is, or what of ours stays in it.
    reason: Option<String>,
    /// The file as it was before.
    backup: Option<PathBuf>,
    diff: Option<String>,
}

/// What became of a file, or will become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum FileFate {
    Unchanged,
    Left,
    ToWrite,
    ToRemove,
    Written,
    Removed,
}

/// What is told about the server.
#[derive(Debug, Serialize)]
pub(super) struct ServerReport {
    pub(super) command: Vec<String>,
    /// Why it does not work; null if it does.
    pub(super) failure: Option<String>,
}

impl FileChange {
    /// Whether something has to be written.
    pub(super) fn is_change(&self) -> bool {
        !matches!(self.kind, ChangeKind::Unchanged | ChangeKind::Left(_))
    }
}

impl FileReport {
    fn planned(change: &FileChange) -> Self {
        let (state, reason) = match &change.kind {
            ChangeKind::Unchanged | ChangeKind::Forget(_) => (FileFate::Unchanged, None),
            ChangeKind::Left(reason) => (FileFate::Left, Some(reason.clone())),
            ChangeKind::Remove(_) => (FileFate::ToRemove, None),
            ChangeKind::Write(new) => {
                let remains = &new.remains;
                let remains = (!remains.is_empty()).then(|| {
                    let names = remains.join(", ");
                    format!("stays, because it was changed since: {names}")
                });
                (FileFate::ToWrite, remains)
            }
        };
        Self {
            path: change.path.clone(),
            state,
            reason,
            backup: None,
            diff: change.texts().map(|(before, after)| diff(before, after)),
        }
    }

    /// What became of a file after its change was made.
    pub(super) fn made(change: &FileChange, backup: Option<PathBuf>) -> Self {
        let planned = Self::planned(change);
        Self {
            state: match planned.state {
                FileFate::ToWrite => FileFate::Written,
                FileFate::ToRemove => FileFate::Removed,
                state => state,
            },
            backup,
            ..planned
        }
    }
}

impl InitReport {
    /// What will be done.
    pub(super) fn planned(all: &[AgentChanges]) -> Self {
        let agents = all.iter().map(|one| AgentReport {
            agent: one.name.clone(),
            title: one.title,
            found: one.found.clone(),
            files: one.changes.iter().map(FileReport::planned).collect(),
            missing: one.wishes.missing.clone(),
            to_do: one.wishes.still_to_do.clone(),
        });
        Self {
            agents: agents.collect(),
            server: None,
        }
    }

    /// Shows what will be done, before anything is.
    pub(super) fn show_plan(&self, printer: &Printer) -> Result<(), Failure> {
        let mut page = printer.page();
        for agent in &self.agents {
            let title = page.paint(Paint::Title, agent.title);
            let found = agent.found.as_ref();
            let found = found.map(|place| format!(" (found: {})", place.display()));
            page.line(format_args!("{title}{}", found.unwrap_or_default()))?;
            for file in &agent.files {
                file.show_plan(&mut page)?;
            }
            for missing in &agent.missing {
                let note = page.paint(Paint::Warning, "note:");
                page.line(format_args!("  {note} {missing}"))?;
            }
        }
        page.finish()
    }

    /// Shows what was done.
    pub(super) fn show_done(&self, printer: &Printer) -> Result<(), Failure> {
        let mut page = printer.page();
        for file in self.agents.iter().flat_map(|agent| &agent.files) {
            let path = file.path.display();
            match (file.state, &file.backup) {
                (FileFate::Written, Some(backup)) => page.line(format_args!(
                    "written: {path} (as it was: {})",
                    backup.display()
                ))?,
                (FileFate::Written, None) => page.line(format_args!("written: {path}"))?,
                (FileFate::Removed, _) => page.line(format_args!("removed: {path}"))?,
                (FileFate::Left, _) => {
                    let reason = file.reason.as_deref().unwrap_or_default();
                    let word = page.paint(Paint::Bad, "left as it was:");
                    page.line(format_args!("{word} {path}: {reason}"))?;
                }
                _ => {}
            }
        }
        page.finish()
    }

    /// Shows whether the server works, and what is left to do; or everything as JSON.
    pub(super) fn show_end(
        &self,
        arguments: &InitOptions,
        printer: &Printer,
    ) -> Result<(), Failure> {
        if arguments.json {
            let text = serde_json::to_string_pretty(self);
            let text = text.map_err(|error| Failure::of(FailureKind::System, error.into()))?;
            return printer.out(&format!("{text}\n"));
        }
        let mut page = printer.page();
        if let Some(server) = &self.server {
            let command = server.command.join(" ");
            match &server.failure {
                None => {
                    let word = page.paint(Paint::Good, "works:");
                    page.line(format_args!(
                        "{word} `{command}` was started as the agents start it, and ran `echo`"
                    ))?;
                }
                Some(reason) => {
                    let word = page.paint(Paint::Bad, "does not work:");
                    page.line(format_args!("{word} `{command}`: {reason}"))?;
                }
            }
        }
        let is_to_do = |agent: &&AgentReport| {
            !agent.to_do.is_empty() && agent.files.iter().any(|file| file.state != FileFate::Left)
        };
        let to_do = self.agents.iter().filter(is_to_do);
        let to_do: Vec<&AgentReport> = to_do.filter(|_| !arguments.print).collect();
        let has_own_shells = self.server.is_some() && !arguments.replace_shell;
        if has_own_shells && !to_do.is_empty() {
            page.line(OWN_SHELLS)?;
        }
        if !to_do.is_empty() {
            page.line("Still to do:")?;
        }
        for agent in to_do {
            for item in &agent.to_do {
                page.line(format_args!("  {}: {item}", agent.title))?;
            }
        }
        page.finish()
    }

    /// Whether everything was done.
    pub(super) fn status(&self) -> ExitStatus {
        let mut files = self.agents.iter().flat_map(|agent| &agent.files);
        let is_left = files.any(|file| file.state == FileFate::Left);
        let server = self.server.as_ref();
        if is_left || server.is_some_and(|server| server.failure.is_some()) {
            ExitStatus::Unfit
        } else {
            ExitStatus::Success
        }
    }
}

impl FileReport {
    fn show_plan(&self, page: &mut BufferedStdout) -> Result<(), Failure> {
        let path = self.path.display();
        let what = match self.state {
            FileFate::Unchanged => "is as it should be".to_owned(),
            FileFate::ToRemove => "is removed".to_owned(),
            FileFate::Left => {
                let reason = self.reason.as_deref().unwrap_or_default();
                format!("{} {reason}", page.paint(Paint::Bad, "left as it is:"))
            }
            _ => self.reason.clone().unwrap_or_default(),
        };
        page.line(format_args!("  {path} {what}"))?;
        for line in self.diff.iter().flat_map(|diff| diff.lines()) {
            let line = for_people::one_line_keeping_blanks(line);
            let paint = match line.chars().next() {
                Some('+') => Paint::Good,
                Some('-') => Paint::Bad,
                _ => Paint::Faint,
            };
            page.line(format_args!("    {}", page.paint(paint, &line)))?;
        }
        Ok(())
    }
}

/// The lines that change, with a line around them.
fn diff(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(1).to_string()
}
