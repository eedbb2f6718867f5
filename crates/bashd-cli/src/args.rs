//! The shape of the command line; nothing here acts on it.
//!
//! Help, man page and completions are made from these types, so their doc comments are read by
//! users.

mod artifact;
mod changes;
mod confine;
pub(crate) mod examples;
mod grants;
mod groups;
mod init;
mod jobs;
mod limits;
mod log_wanted;
mod map;
mod parse;
mod places;
mod recording;
mod servers;
mod suggest;
mod tape;
#[cfg(feature = "web")]
mod web;

use crate::hook::HookedAgent;
pub(crate) use artifact::{ArtifactAction, ArtifactList, ArtifactRead, ArtifactRm};
pub(crate) use changes::{
    ChangesAction, ChangesOptions, ChangesShow, EffectsName, TryOptions, UndoOptions,
};
use clap::{Args, Parser, ValueEnum};
pub(crate) use confine::{ConfineAction, ConfineShow, PresetName};
pub(crate) use grants::{GrantsAction, GrantsOptions};
pub(crate) use init::InitOptions;
pub(crate) use jobs::{
    JobsAction, JobsAttach, JobsFollow, JobsKill, JobsOptions, JobsOutput, JobsRm, JobsScreen,
    JobsSend, JobsWait,
};
use limits::Limiting;
use log_wanted::LogWanted;
pub(crate) use map::{MapOptions, ResultOrderName, RetriedItems};
pub(crate) use places::{PlacesAction, PlacesCheck, PlacesOptions};
pub(crate) use recording::{ExportOptions, ReplayOptions};
pub(crate) use servers::{Acp, Mcp, Rpc, Serving};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
pub(crate) use suggest::asked_for;
pub(crate) use tape::{TapeAction, TapeOptions, TapePlay, TapeRecord};
#[cfg(feature = "web")]
pub(crate) use web::WebOptions;

/// Runs shell commands for LLM agents.
///
/// A call always returns, nothing keeps running unless it was asked to, and no output is lost
/// without notice.
#[derive(Debug, Parser)]
#[command(
    name = "bashd",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(flatten)]
    everywhere: Everywhere,
    #[command(subcommand)]
    pub(crate) subcommand: Subcommand,
}

impl Cli {
    /// The options that every subcommand takes, whether given before the subcommand or after it.
    pub(crate) fn everywhere(&self) -> Everywhere {
        let before = &self.everywhere;
        let Some(after) = self.subcommand.everywhere() else {
            return before.clone();
        };
        Everywhere {
            config: after.config.clone().or_else(|| before.config.clone()),
            set: before.set.iter().chain(&after.set).cloned().collect(),
            color: after.color.or(before.color),
        }
    }
}

/// Options that may be given before the subcommand or after it.
///
/// They are not clap's global arguments: if a list is given in both places, clap keeps only the
/// second.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Everywhere {
    /// Read this configuration file instead of the user's.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Override one configuration key; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// When to use colors; by default on a terminal, unless `NO_COLOR` is set.
    #[arg(long, value_name = "WHEN")]
    pub(crate) color: Option<ColorWhen>,
}

/// When colors are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Subcommand {
    Run(RunOptions),
    Try(TryOptions),
    Map(MapOptions),
    Changes(ChangesOptions),
    Undo(UndoOptions),
    Mcp(Mcp),
    Check(CheckOptions),
    Rules(RulesOptions),
    Rpc(Rpc),
    Acp(Acp),
    Hook(HookOptions),
    Init(InitOptions),
    Jobs(JobsOptions),
    Log(LogOptions),
    Replay(ReplayOptions),
    Export(ExportOptions),
    /// Record what an agent's session asks and is answered, and play it again.
    #[command(subcommand)]
    Tape(TapeAction),
    Minimize(crate::minimize::MinimizeOptions),
    Stats(crate::stats::Stats),
    Console(Console),
    Top(TopOptions),
    #[cfg(feature = "web")]
    Web(WebOptions),
    /// List, read and remove output that replies did not show in full.
    #[command(subcommand)]
    Artifact(ArtifactAction),
    Grants(GrantsOptions),
    Places(PlacesOptions),
    /// Show what commands may reach.
    #[command(subcommand)]
    Confine(ConfineAction),
    Profiles(ProfilesOptions),
    Schema(Schema),
    /// Show and edit the configuration.
    #[command(subcommand)]
    Config(ConfigAction),
    Doctor(Doctor),
    /// Print shell completions.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page (`bashd man | man -l -`).
    Man {
        /// Print the page of this subcommand instead, for example `jobs attach`.
        subcommand: Vec<String>,
    },
    #[command(hide = true)]
    Outpost(OutpostOptions),
    /// Print the names that can stand where the last word is, for the completions of shells.
    #[command(hide = true)]
    Complete {
        /// The words so far, the unfinished one last.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

impl Subcommand {
    fn everywhere(&self) -> Option<&Everywhere> {
        match self {
            Self::Run(run) => Some(&run.everywhere),
            Self::Try(tried) => Some(&tried.run.everywhere),
            Self::Map(map) => Some(&map.everywhere),
            Self::Changes(changes) => Some(changes.everywhere()),
            Self::Undo(undo) => Some(&undo.everywhere),
            Self::Mcp(mcp) => Some(&mcp.everywhere),
            Self::Check(check) => Some(&check.everywhere),
            Self::Rules(rules) => Some(&rules.everywhere),
            Self::Rpc(rpc) => Some(&rpc.everywhere),
            Self::Acp(acp) => Some(&acp.everywhere),
            Self::Hook(hook) => Some(&hook.everywhere),
            Self::Init(init) => Some(init.everywhere()),
            Self::Jobs(jobs) => Some(jobs.everywhere()),
            Self::Log(log) => Some(match &log.action {
                Some(LogAction::Show(show)) => &show.everywhere,
                None => &log.everywhere,
            }),
            Self::Replay(replay) => Some(&replay.everywhere),
            Self::Export(export) => Some(&export.everywhere),
            Self::Profiles(profiles) => Some(&profiles.everywhere),
            Self::Minimize(minimize) => Some(&minimize.everywhere),
            Self::Stats(stats) => Some(&stats.everywhere),
            Self::Console(console) => Some(&console.everywhere),
            Self::Top(top) => Some(&top.everywhere),
            #[cfg(feature = "web")]
            Self::Web(web) => Some(&web.everywhere),
            Self::Artifact(ArtifactAction::List(list)) => Some(&list.everywhere),
            Self::Artifact(ArtifactAction::Read(read)) => Some(&read.everywhere),
            Self::Artifact(ArtifactAction::Rm(rm)) => Some(&rm.everywhere),
            Self::Grants(grants) => Some(grants.everywhere()),
            Self::Places(places) => Some(places.everywhere()),
            Self::Confine(ConfineAction::Show(show)) => Some(&show.everywhere),
            Self::Schema(schema) => Some(&schema.everywhere),
            Self::Config(ConfigAction::Show(show)) => Some(&show.everywhere),
            Self::Config(ConfigAction::Edit { everywhere } | ConfigAction::Path { everywhere }) => {
                Some(everywhere)
            }
            Self::Doctor(doctor) => Some(&doctor.everywhere),
            Self::Config(ConfigAction::Reference)
            | Self::Tape(_)
            | Self::Completions { .. }
            | Self::Outpost(_)
            | Self::Complete { .. }
            | Self::Man { .. } => None,
        }
    }
}

/// Run one command and print its reply.
///
/// The exit status is the command's own; 124 when it timed out, 125 when bashd itself failed or
/// the request was invalid, 126 when a rule denied it, 130 on Ctrl-C, 128+N when signal N ended it.
#[derive(Debug, Default, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a flag is a switch, and a command line has many"
)]
pub(crate) struct RunOptions {
    /// Use this profile; by default the configured one.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Run the command in this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) cwd: Option<PathBuf>,
    /// Run the command at this place of the configuration (docs/places.md).
    #[arg(long, value_name = "PLACE")]
    pub(crate) on: Option<String>,
    /// Set an environment variable for the command; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable())]
    pub(crate) env: Vec<Variable>,
    /// End the command after this many seconds, or let it continue as a job (see --on-timeout).
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,
    /// Take a model's JSON arguments instead of COMMAND; `-` reads them from stdin.
    #[arg(long, value_name = "JSON", conflicts_with = "command")]
    pub(crate) input: Option<String>,
    /// Print one JSON object instead of the reply's text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Not available here: sessions need a server.
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) session: Option<String>,
    /// Give the command this file as stdin; `-` is bashd's own stdin, `none` is an empty one. By
    /// default (profile `default`) the command reads bashd's own stdin if that is a pipe or a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
    /// Run the command in a terminal of the same size as yours, or else of 120 columns and 40 rows.
    /// At a terminal, what you type goes to the command.
    #[arg(long)]
    pub(crate) pty: bool,
    /// Return at once; the command continues as a job (`bashd jobs`), until --timeout if that is
    /// given.
    #[arg(long)]
    pub(crate) background: bool,
    /// What to do at the timeout: kill ends the command, background lets it continue as a job.
    /// Without this it is ended; with --input it does what the tool's schema says.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_timeout: Option<OnTimeoutName>,
    /// Keep the command's stdin open for `bashd jobs send`.
    #[arg(long)]
    pub(crate) stdin_open: bool,
    /// When what the command does to files becomes real: now; undoable, when it ends, for `bashd
    /// undo`; ask, when you have seen and allowed it; hold, when you apply it. A call can't be
    /// earlier than configured (docs/effects.md).
    #[arg(long, value_name = "MODE")]
    pub(crate) effects: Option<EffectsName>,
    /// Record when its output comes, for `bashd replay` and `bashd export` (docs/recording.md).
    #[arg(long)]
    pub(crate) record: bool,
    /// Do not record it, whatever is configured.
    #[arg(long, conflicts_with = "record")]
    pub(crate) no_record: bool,
    #[command(flatten)]
    pub(crate) limiting: Limiting,
    /// One word is a shell script; several are a program and its arguments. Everything from the
    /// first word on belongs to the command.
    #[arg(required_unless_present = "input", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) judging: Judging,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Carry out what another bashd orders on stdin: what carriers of places run (docs/outpost.md).
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct OutpostOptions {
    /// Be the outpost itself, whose socket is stdin.
    #[arg(long)]
    pub(crate) serve: bool,
    /// Be the first process of a container, with the outpost below it.
    #[arg(long, conflicts_with = "serve")]
    pub(crate) hold: bool,
    /// Reach an outpost that is there, and start none.
    #[arg(long, conflicts_with_all = ["serve", "hold"])]
    pub(crate) join: bool,
    /// The place is lent, by Slurm: leave nothing behind.
    #[arg(long)]
    pub(crate) leased: bool,
    /// Leave after this many seconds without anything to do.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "600")]
    pub(crate) idle: Duration,
    /// End a command for which nobody came back in this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "600")]
    pub(crate) orphaned: Duration,
    /// Compare this program with its SHA-256, and do nothing else.
    #[arg(long, value_name = "SHA256")]
    pub(crate) check: Option<String>,
    /// The outpost of this build.
    #[arg(long)]
    pub(crate) build: Option<String>,
    /// The state directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) state: Option<std::path::PathBuf>,
}

/// What happens at the timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnTimeoutName {
    Background,
    Kill,
}

/// Options that decide whether a command may run, besides the rules of profile and configuration.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Judging {
    /// Allow only commands that read, and test runners: compat checks prefixes, strict every
    /// option.
    #[arg(long, value_name = "MODE")]
    pub(crate) safe_mode: Option<SafeModeName>,
    /// Confine commands: they write only the workspace, see no credentials and have no network. A
    /// call can't ask for less than what is configured (docs/confinement.md).
    #[arg(long, value_name = "PRESET")]
    pub(crate) confine: Option<PresetName>,
    /// Deny commands that one of the caller's `--tools` does better.
    #[arg(long)]
    pub(crate) interceptor: bool,
    /// The caller's other tools, for example `read,search,edit`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
}

/// The names of safe mode's variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SafeModeName {
    Off,
    Compat,
    Strict,
}

/// Tell whether a command would be allowed to run, without running it.
///
/// Exits with status 0 if it would, and with 126 if a rule denies it or asks for approval.
#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// Judge by the rules of this profile; by default the configured one.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// The shell script to judge, as one argument; `-` reads JSON lines
    /// `{"id", "command", "tools"?}` from stdin and answers each with one JSON line.
    pub(crate) command: String,
    #[command(flatten)]
    pub(crate) judging: Judging,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// List the rules: which are on, why, and an example of each.
#[derive(Debug, Args)]
pub(crate) struct RulesOptions {
    /// Show what is on in this profile; by default the configured one.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Print one JSON array.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show only these rules.
    #[arg(value_name = "RULE")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Judge the commands of an agent that has its own shell tool.
///
/// Reads one event of the agent's hook protocol on stdin and answers in that protocol. If the
/// command is allowed, the agent's own permissions decide. The hook never fails open: if it can't
/// judge a command, it denies it, asks the user or blocks it (status 2).
#[derive(Debug, Args)]
pub(crate) struct HookOptions {
    /// The agent whose event is answered.
    #[arg(value_name = "AGENT")]
    pub(crate) agent: HookedAgent,
    /// Judge by the rules of this profile; by default the configured one.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    #[command(flatten)]
    pub(crate) judging: Judging,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Show past calls: the newest last at a terminal, and else first.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own, given or not"
)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LogOptions {
    /// Print one JSON record per line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show only calls that did not exit with status 0.
    #[arg(long)]
    pub(crate) failed: bool,
    /// Show only calls since this time: 90m, 2h, 3d, today, 2026-08-01, '2026-08-01 10:30'.
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Show only calls before this time.
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    #[command(flatten)]
    pub(crate) wanted: LogWanted,
    /// Check that all records of calls, jobs and artifacts are as they were written.
    #[arg(long, conflicts_with_all = ["json", "failed", "since", "limit", "pattern"])]
    pub(crate) verify: bool,
    /// Show calls of every bashd of this user as they happen, until interrupted.
    #[arg(long, short = 'f', conflicts_with_all = ["since", "limit", "verify"])]
    pub(crate) follow: bool,
    /// With --follow: go on behind this place (`place` in the output of --json).
    #[arg(long, value_name = "PLACE", requires = "follow")]
    pub(crate) from: Option<String>,
    /// Show at most this many calls; 0 shows all.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 50,
        allow_negative_numbers = true
    )]
    pub(crate) limit: usize,
    /// Show only commands that contain this text, ignoring case.
    pub(crate) pattern: Option<String>,
    #[command(subcommand)]
    pub(crate) action: Option<LogAction>,
    #[command(flatten)]
    everywhere: Everywhere,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum LogAction {
    Show(LogShow),
}

/// Print everything that is recorded about a call.
#[derive(Debug, Args)]
pub(crate) struct LogShow {
    /// The call's id, or the beginning of it; by default the newest call.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Print the record as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Run commands at a terminal, watch them and step in.
///
/// At its prompt, a command runs as in a shell, and `/help` lists what else you can do.
#[derive(Debug, Args)]
pub(crate) struct Console {
    /// Draw nothing: lines in, lines out. For screen readers, and without a terminal.
    #[arg(long)]
    pub(crate) plain: bool,
    /// Run all commands at this place (docs/places.md).
    #[arg(long, value_name = "PLACE")]
    pub(crate) on: Option<String>,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Watch the calls of every bashd of this user: open, answer and end them.
///
/// Shows client, session, command, state, time and bytes of each. While it is open, a command that
/// a rule wants approval for, and whose client can ask nobody, waits for your answer here.
#[derive(Debug, Args)]
pub(crate) struct TopOptions {
    /// Print what there is now, and end.
    #[arg(long)]
    pub(crate) once: bool,
    /// Likewise, as one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show only calls with this text in their command, client, session or directory, ignoring
    /// case.
    pub(crate) pattern: Option<String>,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// List the profiles: the contracts of known tools, and your own.
#[derive(Debug, Args)]
pub(crate) struct ProfilesOptions {
    /// Print one JSON object per line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Print a profile's tool definition, ready for an LLM API.
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// The profile; by default the configured one.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Print this tool of the profile instead of the one that runs commands.
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<SchemaTool>,
    /// Print the protocol of `bashd rpc` instead: every message, for programs that write clients.
    #[arg(long, conflicts_with_all = ["profile", "tool"])]
    pub(crate) rpc: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// The tools of a profile besides the one that runs commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaTool {
    Job,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ConfigAction {
    Show(ConfigShow),
    /// Open the configuration file in your editor (`VISUAL`, `EDITOR`), and check it afterwards.
    Edit {
        #[command(flatten)]
        everywhere: Everywhere,
    },
    /// Print where the configuration file is.
    Path {
        #[command(flatten)]
        everywhere: Everywhere,
    },
    /// Print the commented defaults: every key and what it means.
    Reference,
}

/// Print every value and where it comes from.
#[derive(Debug, Args)]
pub(crate) struct ConfigShow {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// Check this machine for everything that bashd needs or can use.
///
/// Exits with status 1 when something that bashd needs is missing.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    everywhere: Everywhere,
}

/// One `NAME=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: OsString,
    pub(crate) value: OsString,
}

fn variable() -> impl clap::builder::TypedValueParser<Value = Variable> {
    use clap::builder::{OsStringValueParser, TypedValueParser};
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    OsStringValueParser::new().try_map(|text| {
        let bytes = text.as_bytes();
        let at = bytes
            .iter()
            .position(|byte| *byte == b'=')
            .filter(|at| *at > 0);
        let Some((name, value)) = at.and_then(|at| bytes.split_at_checked(at)) else {
            return Err("expected NAME=VALUE");
        };
        let value = value.get(1..).unwrap_or_default();
        Ok(Variable {
            name: OsString::from_vec(name.to_vec()),
            value: OsString::from_vec(value.to_vec()),
        })
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "expected a number of seconds".to_owned())?;
    if seconds < 0.0 {
        return Err("a time can't be negative".to_owned());
    }
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn over_mcp_a_call_waits_50_seconds_unless_said_otherwise() {
        for (arguments, seconds) in [
            (&["bashd", "mcp"][..], 50),
            (&["bashd", "mcp", "--wait-max", "7"], 7),
        ] {
            let Subcommand::Mcp(mcp) = Cli::parse_from(arguments).subcommand else {
                panic!("{arguments:?}");
            };
            assert_eq!(mcp.wait_max, Duration::from_secs(seconds));
        }
    }
}
