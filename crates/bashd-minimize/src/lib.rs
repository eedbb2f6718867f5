//! Fewer tokens, the same facts: the output of known commands in less text.
//!
//! It works on the captured text alone: no command line is rewritten, no process is started,
//! nothing is read. There are two tiers, and nothing else is done to a text:
//!
//! - *exact* (`exact`): the plain form of the text can be rebuilt from what is shown;
//! - *noise* (`noise`, `families`): lines that a tool prints about its own doing, known by their
//!   whole form, are counted by kind, if the tool certainly succeeded.
//!
//! Rules of trust that apply to every filter are enforced there, not left to the filters:
//!
//! - what a program or the script itself may read stays as it is (`invocation`, `machine_format`);
//! - nothing is left out of a run that failed, or whose status says nothing about it;
//! - lines that tell of trouble (`trouble`), or have a name that is always kept (`names`), stay;
//! - if the result is not smaller, or a filter panics or takes too long, the text stays as it is;
//! - a last line says what was done (`[minimized: …]`); it also marks a text that was minimized
//!   before.
//!
//! Where the raw text is stored and how the reader gets it is up to the engine.
//!
//! Used by `bashd` and, through it, by the binary (`bashd minimize`). It depends on `bashd-script`
//! alone.

#![deny(missing_docs)]
// The example of the README is run.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod digest;
mod exact;
mod families;
mod invocation;
mod machine_format;
mod masks;
mod names;
mod noise;
mod places;
mod reading;
mod title;
mod trouble;
pub mod user;
mod words;
mod work;

use bashd_script::script::Script;
use families::FILTERS;
use invocation::Invocation;
use reading::StatusMeaning;
use std::panic::{AssertUnwindSafe, catch_unwind};
use user::UserFilters;

pub use masks::ShellMasks;
pub use places::LinePlace;
pub use title::command_name;

/// Shorter texts (in characters) are never touched: there is nothing to save.
pub const SHORTEST: usize = 1000;

/// Least bytes that must be saved, besides one in [`LEAST_SHARE`].
const LEAST_SAVED: usize = 60;
const LEAST_SHARE: usize = 30;

/// The name of the exact tier, used if no family's filter applies.
const EXACT: &str = "exact";

/// The prefix of the line that says what was done.
const MARKER: &str = "[minimized: ";

/// The prefix of the engine's line that says where the raw text is.
const RAW_FOOTER: &str = "[raw output: artifact://";

/// A run's output, and what wrote it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The script as it ran.
    pub command: &'a str,
    /// Its exit status; `None` for a run that ended in another way.
    pub exit: Option<i32>,
    /// The whole output.
    pub text: &'a str,
}

/// Whether the minimizer runs, and on what.
#[derive(Debug, Clone, Default)]
pub struct FilterSettings {
    /// Only the output of these programs is minimized; empty: of all programs.
    pub only: Vec<String>,
    /// The output of these programs never is.
    pub except: Vec<String>,
    /// Longer texts (in bytes) never are; 0: no limit.
    pub max_bytes: usize,
    /// How far it goes.
    pub reach: Reach,
    /// Whether a line may stand for one above it.
    pub references: References,
    /// The user's filters, which are tried before ours.
    pub user_filters: UserFilters,
}

/// How far the minimizer goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// Every tier.
    #[default]
    All,
    /// The exact tier alone: nothing is left out.
    Lossless,
}

/// Whether a line may stand for one above it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum References {
    /// It may.
    #[default]
    Made,
    /// None does: the text will be cut, and what is above may not be shown.
    Never,
}

/// A text in fewer words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Digest {
    /// The text to show.
    pub text: String,
    /// The filter that made it.
    pub filter: String,
    /// Lines of noise that it only counts.
    pub left_out: u64,
    origins: places::LineOrigins,
}

/// Why a text stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unchanged {
    /// It is shorter than [`SHORTEST`].
    Short,
    /// It is longer than the settings allow.
    Long,
    /// It is unknown what the script does.
    Unread,
    /// A command whose name only the shell knows.
    UnknownCommand,
    /// It was requested in a machine-readable format.
    MachineFormat,
    /// Its colours are part of what it says.
    Colours,
    /// A pipeline ends in an unknown program.
    UnknownPipeline,
    /// It is the content of a file.
    Content,
    /// The settings exclude the program.
    Excluded,
    /// It was minimized before.
    Minimized,
    /// A filter panicked.
    Panicked,
    /// A filter took too long.
    TooMuchWork,
    /// There is nothing to save.
    NothingToSave,
}

impl Unchanged {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Short => "it is short",
            Self::Long => "it is longer than the limit",
            Self::Unread => "the script is too large",
            Self::UnknownCommand => "the command's name is not known before it runs",
            Self::MachineFormat => "the command was asked for machine-readable output",
            Self::Colours => "its colours are part of what it says",
            Self::UnknownPipeline => "the pipeline ends in an unknown program",
            Self::Content => "it is the content of a file",
            Self::Excluded => "the settings exclude the program",
            Self::Minimized => "it is already minimized",
            Self::Panicked => "the filter failed",
            Self::TooMuchWork => "the filter took too long",
            Self::NothingToSave => "there is nothing to save",
        }
    }
}

/// The names of the filters: one for each family of tools, and `exact` for every other command.
pub fn filter_names() -> impl Iterator<Item = &'static str> {
    let families = FILTERS.iter().map(|filter| filter.name());
    families.chain([EXACT])
}

/// The name of the filter for a script's output; `None` if the output stays as it is.
pub fn filter_of(script: &str) -> Option<&'static str> {
    let reading = reading::read(&Script::parse(script)).ok()?;
    let filter = families::for_all(&reading.commands);
    Some(filter.map_or(EXACT, |filter| filter.name()))
}

/// The plain form of a text: what a terminal would have shown of it, with every overwritten frame
/// that tells of trouble; `None` if it has too many of them.
pub fn plain_form(text: &str) -> Option<String> {
    let plain = exact::plain(text).ok()?;
    Some(plain.text.into_owned())
}

/// The exact tier backwards: the lines that a digest's text stands for, without its last line. With
/// [`Reach::Lossless`] they are the lines of the plain form.
pub fn rebuild(shown: &str) -> Vec<String> {
    let (lines, _) = exact::rebuilt(shown);
    lines.into_iter().map(|line| line.text).collect()
}

/// Whether a line tells of trouble, as far as its words show: it is never left out or touched.
pub fn tells_of_trouble(line: &str) -> bool {
    trouble::is_trouble(line)
}

/// Minimizes a run's output, or says why it stays as it is.
pub fn minimize(subject: Subject<'_>, settings: &FilterSettings) -> Result<Digest, Unchanged> {
    minimize_after(&ShellMasks::default(), subject, settings)
}

/// Like [`minimize`], in a shell in which earlier scripts left these: a status that they may have
/// changed says nothing.
pub fn minimize_after(
    masks: &ShellMasks,
    subject: Subject<'_>,
    settings: &FilterSettings,
) -> Result<Digest, Unchanged> {
    let raw = subject.text;
    let is_long = raw.len() >= SHORTEST * 4;
    if !is_long && raw.chars().take(SHORTEST).count() < SHORTEST {
        return Err(Unchanged::Short);
    }
    if settings.max_bytes > 0 && raw.len() > settings.max_bytes {
        return Err(Unchanged::Long);
    }
    if is_minimized(raw) {
        return Err(Unchanged::Minimized);
    }
    let script = Script::parse(subject.command);
    let mut reading = reading::read(&script)?;
    if masks.cover(&script) {
        reading.status = StatusMeaning::Unsure;
    }
    if !settings.allow(&reading.commands) {
        return Err(Unchanged::Excluded);
    }
    let caught = catch_unwind(AssertUnwindSafe(|| {
        digest::digest(subject, &reading, settings)
    }));
    let digest = caught.unwrap_or(Err(Unchanged::Panicked))?;
    // A reader who is shown a different text should get something for it.
    let least = LEAST_SAVED + raw.len() / LEAST_SHARE;
    if digest.text.len() + least > raw.len() {
        return Err(Unchanged::NothingToSave);
    }
    Ok(digest)
}

/// Whether the text ends in a line of ours.
fn is_minimized(text: &str) -> bool {
    let mut lines = text.trim_end().rsplit('\n');
    lines
        .next()
        .is_some_and(|line| line.starts_with(MARKER) || line.starts_with(RAW_FOOTER))
}

impl FilterSettings {
    fn allow(&self, commands: &[Invocation]) -> bool {
        let names = |list: &[String], command: &Invocation| {
            list.iter()
                .any(|name| name.eq_ignore_ascii_case(&command.program))
        };
        let is_excepted = commands.iter().any(|command| names(&self.except, command));
        let is_wanted = self.only.is_empty()
            || !commands.is_empty() && commands.iter().all(|command| names(&self.only, command));
        !is_excepted && is_wanted
    }
}

#[cfg(test)]
mod tests;
