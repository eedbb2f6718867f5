//! How a profile runs things: shell, environment, limits, modes, output.

use crate::guard::safe_mode::SafeMode;
use crate::jobs::EndLines;
use crate::output::joined::Joined;
use crate::output::rendered;
use crate::output::window::{self, Keep, Window};
use crate::output::{Capture, Captured, Source};
use crate::plan::{Limits, Overlap, Shell, Streams, Survivors};
use crate::request::Request;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which shell runs the command.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ShellRules {
    /// Whether the shell takes over what the user's rc file sets up.
    #[serde(default)]
    pub snapshot: bool,
    /// Whether shells that have already started may be used.
    #[serde(default)]
    pub warm: bool,
    /// Whether the configured `shell` may stand in for the candidates.
    pub choice: ShellChoice,
    /// Program and arguments before the script; the first that this machine has is taken.
    pub candidates: Vec<ShellCandidate>,
}

/// Who chooses the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellChoice {
    /// The profile alone, because its document names the shell.
    Fixed,
    /// The configuration, if it says something.
    Configurable,
}

/// A shell as the start of an argument list: `["/bin/bash", "-lc"]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct ShellCandidate {
    /// An absolute path, or a name to look up in `PATH`; `$SHELL` is the user's own, if it is kin to bash.
    pub program: String,
    /// What comes between the program and the script.
    pub args: Vec<String>,
}

impl ShellCandidate {
    /// What stands for the user's own shell.
    pub(crate) const OWN: &'static str = "$SHELL";

    /// What the shell is called by: its own name where the list has only a word for it.
    fn name_of(&self, program: &Path) -> OsString {
        match (&*self.program, program.file_name()) {
            (Self::OWN, Some(name)) => name.to_owned(),
            (name, _) => name.into(),
        }
    }
}

impl TryFrom<Vec<String>> for ShellCandidate {
    type Error = &'static str;

    fn try_from(argv: Vec<String>) -> Result<Self, Self::Error> {
        let mut argv = argv.into_iter();
        let program = argv
            .next()
            .filter(|program| !program.is_empty())
            .ok_or("a shell needs a program")?;
        Ok(Self {
            program,
            args: argv.collect(),
        })
    }
}

impl ShellRules {
    /// The first candidate that `find` can resolve to a program.
    pub fn first_found(&self, find: impl Fn(&str) -> Option<PathBuf>) -> Option<Shell> {
        self.candidates.iter().find_map(|candidate| {
            let program = find(&candidate.program)?;
            Some(Shell {
                name: candidate.name_of(&program),
                program,
                args: candidate.args.iter().map(Into::into).collect(),
            })
        })
    }
}

/// What is added to the environment.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EnvironmentRules {
    /// Whether `BASHD_RUN` tells the command the id of its run.
    #[serde(default)]
    pub run_variable: bool,
    /// Whether `SHELL` is the program that runs the command.
    #[serde(default)]
    pub shell_variable: bool,
    /// Variables that are not inherited; a name that ends in `*` stands for all that begin so.
    #[serde(default)]
    pub not_inherited: Vec<String>,
    /// Variables that are set for every command, over what is inherited and under what the call sets.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// The same, where the value is the first of these programs that exists.
    #[serde(default)]
    pub set_to_program: BTreeMap<String, Vec<String>>,
}

impl EnvironmentRules {
    /// Whether a variable of the surroundings is passed on.
    pub(crate) fn inherits(&self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        !self
            .not_inherited
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(start) => name.starts_with(start.as_bytes()),
                None => name == pattern.as_bytes(),
            })
    }
}

/// Which calls share a shell, and when.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SessionRules {
    /// Whether calls that name no session share one.
    #[serde(default)]
    pub implicit: bool,
    /// What happens to a call while another one of its session runs.
    #[serde(default)]
    pub overlap: Overlap,
}

impl SessionRules {
    /// What happens to a call while another one of its session runs.
    pub(crate) fn overlap_of(&self, request: &Request) -> Overlap {
        if request.by.is_typed() {
            Overlap::OneShot
        } else {
            self.overlap
        }
    }

    /// The name of a call's session, if it has one. Calls that name none share that of their owner, whose
    /// name may be empty.
    pub(crate) fn name_of<'a>(&self, request: &'a Request) -> Option<&'a str> {
        match &request.session {
            Some(name) => Some(name),
            None if self.implicit => Some(request.owner.as_deref().unwrap_or_default()),
            None => None,
        }
    }
}

/// How the text of a command is rewritten before it runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RewriteRules {
    /// What happens to a leading `cd DIR &&`.
    #[serde(default)]
    pub leading_cd: LeadingCdRule,
    /// What happens to a trailing `| tail -n N`.
    #[serde(default)]
    pub trailing_limits: TrailingLimitsRule,
    /// Schemes of internal URLs that become paths (`local` for `local://x`).
    #[serde(default)]
    pub urls: Vec<String>,
}

/// What happens to a leading `cd DIR &&`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeadingCdRule {
    /// It stays: a directory that does not exist is bash's to tell.
    #[default]
    Keep,
    /// Where no directory is given it becomes the working directory, and one that does not exist is an
    /// error before anything runs.
    Lift,
}

/// What happens to a trailing `| head -n N` or `| tail -n N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrailingLimitsRule {
    /// It stays: only what it lets through is kept.
    #[default]
    Keep,
    /// It becomes a limit on what is shown; everything is kept.
    Take,
}

/// When a command that asks for a terminal gets one, and how its output becomes text.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TerminalRules {
    /// When there is one.
    pub when: TerminalWhen,
    /// What happens where there is none.
    pub fallback: Fallback,
    /// What a carriage return inside a line does.
    pub carriage_return: CarriageReturn,
    /// What a command comes to whose terminal or shell could not be started.
    pub start_failure: StartFailure,
    /// Which key ends a command at whose terminal somebody types.
    pub end_key: EndKey,
}

/// What a command comes to whose terminal or shell could not be started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartFailure {
    /// The call fails, as without a terminal.
    #[default]
    Fails,
    /// The output says `PTY error: …`, and there is no exit status.
    Written,
}

/// Which key ends a command at whose terminal somebody types.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndKey {
    /// Esc twice within half a second: a single one is the program's.
    #[default]
    EscapeTwice,
    /// A single Esc.
    Escape,
}

/// When a command that asks for a terminal gets one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalWhen {
    /// Always: a program that needs one works for a model, too.
    #[default]
    Always,
    /// Only where somebody watches who could type.
    WithUi,
}

/// What happens where there is no terminal for a command that asks for one: it runs without.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// The reply says so.
    #[default]
    Told,
    /// No word is said; it is data, where the profile's reply has room for that.
    Silent,
}

/// What a carriage return inside a line of a terminal's output does to the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarriageReturn {
    /// What follows is written over the line, as on a screen: of a progress bar its last form stays.
    #[default]
    Rewrites,
    /// It ends the line.
    EndsLine,
}

/// Which rules decide before anything runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GuardRules {
    /// Names of compiled-in rules (`docs/guard.md`).
    #[serde(default)]
    pub rules: Vec<String>,
    /// Whether only commands that read may run (`docs/safe-mode.md`).
    #[serde(default)]
    pub safe_mode: SafeMode,
    /// Whether commands are turned back for which the caller has a better tool.
    #[serde(default)]
    pub interceptor: bool,
}

/// A named way to run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Mode {
    /// Its name.
    pub name: String,
    /// Whether the call waits for the command.
    pub runs: Runs,
    /// The limit in seconds.
    pub timeout_s: u64,
}

/// Whether a call waits for its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    /// It waits, until the command ends or is ended.
    Foreground,
    /// It returns at once with a handle.
    Background,
}

/// How a call answers whose command goes on as a job.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct BackgroundRules {
    /// A command that ends within so many milliseconds is reported as ended, not as started.
    pub early_exit_ms: u64,
    /// The call did not wait: `{job}` (the short name), `{id}`, `{pid}`, `{output_file}`, `{label}`
    /// (the command, shortened), `{command}`.
    pub started: String,
    /// The wait came to its end: the same, and `{seconds}`. The output so far stands before it.
    pub handed_over: String,
    /// What the output file says at its end.
    pub file_ends: Option<EndLines>,
    /// How the parts of the text stand.
    pub layout: JobLayout,
    /// Whether a call's timeout holds for its job as well; else only one that was asked for does.
    pub keeps_timeout: bool,
    /// Whether long-running calls become jobs by themselves, where that is switched on.
    pub auto: bool,
}

/// How output, notices and job stand in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobLayout {
    /// A line each.
    #[default]
    Lines,
    /// A blank line between them, the output without blanks at its end.
    Paragraphs,
}

impl Default for BackgroundRules {
    fn default() -> Self {
        Self {
            early_exit_ms: 300,
            started: "[started as job {job}: process group {pid}, output in {output_file}]".into(),
            handed_over: "[still running after {seconds} s, as job {job}; output in {output_file}]"
                .into(),
            file_ends: None,
            layout: JobLayout::Lines,
            keeps_timeout: false,
            auto: false,
        }
    }
}

/// The tool by which a model looks after its jobs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct JobToolRules {
    /// What it can be asked.
    pub kind: JobToolKind,
    /// The tool's name.
    pub name: String,
    /// The tool's description.
    pub description: String,
}

/// What a job tool can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobToolKind {
    /// One action a call: list, output, screen, wait, send, signal, kill, rename.
    Actions,
    /// `list`, `poll` and `cancel`, in the words of their document.
    Poll,
}

/// When and how a profile's runs are ended.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitRules {
    /// Default limit in seconds.
    pub timeout_s: u64,
    /// The least and the most that a call may ask for, in seconds; what is outside is moved inside
    /// and the reply says so. Without it, any limit above zero holds.
    #[serde(default)]
    pub timeout_range_s: Option<[u64; 2]>,
    /// Whether the schema states that range. A client that checks the schema would otherwise turn into
    /// an error what is only moved inside.
    #[serde(default)]
    pub timeout_range_in_schema: RangeInSchema,
    /// What is said when too short a limit was asked for: `{seconds}`, `{requested}`, `{least}`, `{most}`.
    #[serde(default = "raised")]
    pub raised: String,
    /// What is said when too long a limit was asked for: the same.
    #[serde(default = "lowered")]
    pub lowered: String,
    /// From TERM to KILL, in milliseconds.
    pub grace_ms: u64,
    /// Silence that ends the drain while something lives, in milliseconds.
    pub drain_silence_ms: u64,
    /// The drain's bound, in milliseconds.
    pub drain_total_ms: u64,
    /// What happens to what a normally finished shell left running.
    pub survivors: Survivors,
}

/// Whether a schema states the range of the timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeInSchema {
    /// As `minimum` and `maximum`.
    #[default]
    Stated,
    /// Only the description tells it.
    Unstated,
}

fn raised() -> String {
    "timeout raised to {least} s, the least allowed".to_owned()
}

fn lowered() -> String {
    "timeout lowered to {most} s, the most allowed".to_owned()
}

impl LimitRules {
    /// The placeholders of the two texts about a moved limit.
    pub(super) const PLACEHOLDERS: [&str; 4] = ["seconds", "requested", "least", "most"];

    /// The limits of a run that may take `timeout`.
    pub fn with_timeout(&self, timeout: Duration) -> Limits {
        Limits {
            timeout,
            grace: Duration::from_millis(self.grace_ms),
            drain_silence: Duration::from_millis(self.drain_silence_ms),
            drain_total: Duration::from_millis(self.drain_total_ms),
            survivors: self.survivors,
        }
    }
}

/// How a profile captures and shows output.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OutputRules {
    /// One pipe or two.
    pub streams: Streams,
    /// One text or two.
    pub show: Show,
    /// What stands between stdout and stderr when both are shown in one text.
    #[serde(default)]
    pub separator: String,
    /// What becomes of escape sequences and `\r`.
    #[serde(default)]
    pub text: TextForm,
    /// Bytes of text after which a line is cut; needs rendered text. None: lines stay whole.
    #[serde(default)]
    pub line_bytes: Option<usize>,
    /// When the whole output is stored.
    #[serde(default)]
    pub artifacts: Artifacts,
    /// Whether the output of known tools is shown in fewer tokens.
    #[serde(default)]
    pub minimize: Minimize,
    /// The window that each shown text passes.
    pub window: Window,
}

/// What becomes of what programs write for terminals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextForm {
    /// It stays.
    #[default]
    Decoded,
    /// Escape sequences and control characters go, and a line that was written over shows its last
    /// frame.
    Rendered,
}

/// When a run's output is stored as an artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Artifacts {
    /// Never.
    #[default]
    Never,
    /// When the reply does not show all of it.
    WhenCut,
}

/// Whether the output of known tools is shown in fewer tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Minimize {
    /// It is shown as it is.
    #[default]
    Off,
    /// It is, with the raw output stored.
    On,
}

/// Whether stdout and stderr are shown in one text or in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Show {
    /// One text with one window: merged by the pipe, or stdout, the separator, stderr.
    Together,
    /// A text with a window of its own for each.
    Apart,
}

impl OutputRules {
    /// Cuts a run's streams to what the profile shows.
    pub(crate) fn capture(
        &self,
        out: &dyn Source,
        err: Option<&dyn Source>,
        keep: &mut Keep<'_>,
    ) -> io::Result<Captured> {
        Ok(match (self.show, err) {
            (Show::Together, Some(err)) => {
                let joined = Joined::new([out, err], &self.separator);
                Captured::One(self.window_of(&joined, keep)?)
            }
            (Show::Apart, Some(err)) => Captured::Apart {
                out: self.window_of(out, keep)?,
                err: self.window_of(err, keep)?,
            },
            (Show::Together | Show::Apart, None) => Captured::One(self.window_of(out, keep)?),
        })
    }

    fn window_of(&self, source: &dyn Source, keep: &mut Keep<'_>) -> io::Result<Capture> {
        match self.text {
            TextForm::Decoded => window::capture(source, &self.window, keep),
            TextForm::Rendered => rendered::capture(source, &self.window, self.line_bytes, keep),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    /// The argument list that `name` starts on a machine that has just these programs.
    fn shell_where(name: &str, present: &[&str]) -> Option<(String, Vec<String>)> {
        let profile = Profile::builtin(name).unwrap().unwrap();
        let find = |program: &str| {
            let mut paths = present.iter().map(PathBuf::from);
            paths.find(|path| {
                path.as_os_str() == program || path.file_name() == Some(program.as_ref())
            })
        };
        let shell = profile.shell.first_found(find)?;
        let args = shell
            .args
            .iter()
            .map(|arg| arg.to_str().unwrap().to_owned());
        Some((shell.program.to_str().unwrap().to_owned(), args.collect()))
    }

    #[test]
    fn v_10_zsh_then_login_bash_then_sh() {
        let all = ["/bin/zsh", "/bin/bash", "/usr/bin/sh"];
        let expected = [
            ("/bin/zsh", "-c"),
            ("/bin/bash", "-lc"),
            ("/usr/bin/sh", "-c"),
        ];
        for (missing, (program, flag)) in expected.into_iter().enumerate() {
            let found = shell_where("voice", &all[missing..]);
            assert_eq!(found, Some((program.to_owned(), vec![flag.to_owned()])));
        }
        assert_eq!(shell_where("voice", &[]), None);
    }

    #[test]
    fn m_05_exactly_bin_bash() {
        let expected = ("/bin/bash".to_owned(), vec!["-c".to_owned()]);
        assert_eq!(shell_where("harness", &["/bin/bash"]), Some(expected));
        assert_eq!(shell_where("harness", &["/usr/local/bin/bash"]), None);
    }

    #[test]
    fn p_09_bash_from_the_path() {
        let expected = ("/opt/bin/bash".to_owned(), vec!["-c".to_owned()]);
        assert_eq!(shell_where("phoenix", &["/opt/bin/bash"]), Some(expected));
    }

    #[test]
    fn only_default_and_pi_let_the_configuration_choose() {
        for name in Profile::names() {
            let choice = Profile::builtin(name).unwrap().unwrap().shell.choice;
            assert_eq!(
                choice == ShellChoice::Configurable,
                ["default", "pi"].contains(&name),
                "{name}"
            );
        }
    }
}
