//! What the user configured, resolved: flags override variables, variables the file, the file the
//! defaults.
//!
//! Nothing here reads the environment, the home directory or a file: front ends hand the texts
//! over as [`Sources`], and [`resolve`] turns them into a [`Config`] and a [`ConfigReport`] of
//! where each value came from. Programs that embed the library and read no configuration start from
//! [`Config::new`].

mod confinement;
mod credentials;
pub mod env_vars;
mod keys;
mod minimizer;
mod notify;
mod places;
mod reference;
mod report;
mod resolve;
mod rows;
mod rules;
pub mod size;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub use confinement::{ConfinementSettings, Preset, RefusalReport};
pub use credentials::{EnvPreset, EnvSettings, SecretSettings};
pub use keys::{ConfigKey, ValueKind, find, nearest};
pub use minimizer::MinimizerSettings;
pub use notify::{NotifyBy, NotifySettings};
pub use reference::reference;
pub use report::{ConfigEntry, ConfigReport, ValueOrigin, Warning};
pub use resolve::{ConfigFile, Sources, resolve};
pub use table::KEYS;
pub use value::Value;

use crate::changes::Effects;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::SessionLimits;
use crate::guard::interceptor::{Interceptor, InterceptorRule};
use crate::guard::safe_mode::SafeMode;
use crate::guard::{self, Gate, Guard, Judgement, UserRule};
use crate::jobs::JobLimits;
use crate::ledger::{LedgerSettings, RecordListener};
use crate::place::PlaceSettings;
use crate::plan::confinement as confinement_plan;
use crate::plan::{Cgroups, Confinement, ConfinementInForce, Quota, Resources, Survivors};
use crate::profile::Profile;
use crate::request::Request;
use crate::rewrite::Command;
use crate::slip;
use bashd_keeper::spool::{Retention, Storage};
use bashd_keeper::variables::Variables;
use resolve::Values;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What the end of an engine means for its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lease {
    /// Nothing.
    #[default]
    None,
    /// They end, too: at a place that must leave nothing behind, such as an allocation.
    OfEngine,
}

/// The resolved configuration of an engine.
///
/// Every key lands in a field here; a test checks that.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own, as in the file"
)]
pub struct Config {
    /// Where runs, ledger and artifacts live.
    pub state_dir: PathBuf,
    /// How much output is kept of a run.
    pub quota: Quota,
    /// How much stored output is kept in all.
    pub retention: Retention,
    /// Overrides how much profiles show of the start of a long output, where they let it be set.
    pub head_bytes: Option<u64>,
    /// What is recorded of calls.
    pub ledger: LedgerSettings,
    /// Who else is told of the record of every call; nobody, unless the host sets it.
    pub on_record: Option<RecordListener>,
    /// Where spans of calls are sent, by OTLP over HTTP; nowhere if empty.
    pub otlp_endpoint: Option<String>,
    /// Whether spans have the text of commands.
    pub otlp_commands: bool,
    /// Whether calls are told to those who watch.
    pub feed: bool,
    /// Overrides what profiles say about recording the times of output.
    pub recording: Option<bool>,
    /// Name of the profile for calls that name none.
    pub profile: String,
    /// Directory of the user's own profiles, which may be missing.
    pub profiles_dir: Option<PathBuf>,
    /// The shell for profiles that leave the choice open: a path, or a name looked up in `PATH`.
    pub shell: Option<String>,
    /// Words put before every command.
    pub prefix: Option<String>,
    /// Overrides what profiles say about taking over the user's rc file.
    pub rc_script: Option<bool>,
    /// How many started shells wait for a call without a session.
    pub started_shells: usize,
    /// What the end of the engine means for jobs; no key, since only an outpost decides it.
    pub lease: Lease,
    /// How many sessions there may be, and how long they wait for a call.
    pub sessions: SessionLimits,
    /// How much jobs may take.
    pub jobs: JobSettings,
    /// What commands may use.
    pub resources: Resources,
    /// Where control groups for that may be made.
    pub cgroups: Cgroups,
    /// Which variables commands get.
    pub env: EnvSettings,
    /// What is hidden in output and in records.
    pub secrets: SecretSettings,
    /// What commands may reach.
    pub confinement: ConfinementSettings,
    /// When the effects of commands on files become real, and how long they are kept.
    pub effects: EffectSettings,
    /// Overrides what profiles say about processes that outlive their shell.
    pub survivors: Option<Survivors>,
    /// Whether the rules that are on by default are on besides the profile's.
    pub guard_default: bool,
    /// Names of compiled-in rules that are on besides the profile's.
    pub guard_enable: Vec<String>,
    /// Names of compiled-in rules that are off whatever the profile says.
    pub guard_disable: Vec<String>,
    /// The user's own rules.
    pub rules: Vec<UserRule>,
    /// Overrides what profiles say about safe mode.
    pub safe_mode: Option<SafeMode>,
    /// Overrides what profiles say about turning commands back for which the caller has a better
    /// tool.
    pub interceptor: Option<bool>,
    /// The interceptor's rules; none means its defaults.
    pub interceptor_rules: Vec<InterceptorRule>,
    /// Whether a call may ask to run in the background.
    pub async_enabled: bool,
    /// Whether and for what output is minimized.
    pub minimizer: MinimizerSettings,
    /// When a long-running call becomes a job by itself, in profiles that do that; `None` for
    /// never.
    pub auto_background: Option<Duration>,
    /// Whether a call may ask for a terminal.
    pub virtual_terminal: bool,
    /// Whether the MCP server also gives results as data, for programs.
    pub mcp_structured: bool,
    /// The key that ends a command at whose terminal somebody types, by its name; `None` for the
    /// profile's.
    pub console_end_key: Option<String>,
    /// How people learn that something long is over.
    pub notify: NotifySettings,
    /// The other places at which commands can run.
    pub places: Vec<PlaceSettings>,
    /// The place at which all commands run; `None` means here, unless a call names another.
    pub default_place: Option<String>,
    /// Where internal URLs lead.
    pub urls: UrlDirectories,
}

/// When the effects of commands on files become real, and how long changes are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EffectSettings {
    /// The mode of calls that name none; a call may name a later one.
    pub mode: Effects,
    /// For how long; `None` for ever.
    pub max_age: Option<Duration>,
    /// How many bytes in all; `None` for any number.
    pub total_bytes: Option<u64>,
}

/// Where internal URLs lead; `None` means not set up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UrlDirectories {
    /// Root of `local://`.
    pub local: Option<PathBuf>,
    /// A directory of skills: a directory with a `SKILL.md` each.
    pub skills: Option<PathBuf>,
    /// A directory of what agents wrote: `ID.md` each.
    pub agents: Option<PathBuf>,
    /// Root of `memory://root`.
    pub memory: Option<PathBuf>,
    /// A directory of rules: `NAME.md` each.
    pub rules: Option<PathBuf>,
}

impl UrlDirectories {
    fn from_values(values: &Values, sources: &Sources) -> Result<Self> {
        let directory = |name| Ok::<_, Error>(values.optional(name)?.map(PathBuf::from));
        Ok(Self {
            local: directory("urls.local_dir")?.or_else(|| Some(sources.state_dir.join("local"))),
            skills: directory("urls.skills_dir")?,
            agents: directory("urls.agents_dir")?,
            memory: directory("urls.memory_dir")?,
            rules: directory("urls.rules_dir")?,
        })
    }
}

/// How much jobs may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobSettings {
    /// How many there may be that have not ended.
    pub limits: JobLimits,
    /// What ends a job at the latest.
    pub max_time: Duration,
    /// Bytes of output that a job's file takes; what comes after goes through the ring.
    pub output_bytes: u64,
    /// How long a poll of several jobs waits for the first to end.
    pub poll_wait: Duration,
}

/// The surroundings that a host process hands to its engine.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Directory in which calls without a `cwd` run.
    pub cwd: PathBuf,
    /// The environment that commands inherit.
    pub env: Vec<(OsString, OsString)>,
}

impl Surroundings {
    /// The environment as processes get it.
    pub fn variables(&self) -> Variables {
        let pairs = self.env.iter();
        pairs.map(|(name, value)| (name, value)).collect()
    }
}

impl Config {
    /// The defaults, with everything that is stored below `state_dir`, and without
    /// [`started_shells`](Self::started_shells): a host that makes a few calls should not pay for
    /// processes that wait for more.
    ///
    /// # Panics
    ///
    /// Never happens: the compiled-in defaults resolve, and a test checks that.
    #[expect(clippy::expect_used, reason = "see Panics")]
    pub fn new(state_dir: impl Into<PathBuf>) -> Self {
        let sources = Sources {
            state_dir: state_dir.into(),
            ..Sources::default()
        };
        let (mut config, _) = resolve(&sources).expect("compiled-in defaults resolve");
        config.started_shells = 0;
        config
    }

    /// Where runs keep their output.
    pub fn runs_dir(&self) -> PathBuf {
        self.state_dir.join("runs")
    }

    /// Where and how long output is kept.
    pub fn storage(&self) -> Storage {
        Storage {
            runs: self.runs_dir(),
            quota: self.quota,
            retention: self.retention,
        }
    }

    /// Where shells find what they start with: their name, and what was left by the user's rc file.
    pub fn shells_dir(&self) -> PathBuf {
        self.state_dir.join("shells")
    }

    /// Where the feed's files live.
    pub fn feed_dir(&self) -> PathBuf {
        self.state_dir.join("feed")
    }

    /// Where the ledger's files live.
    pub fn ledger_dir(&self) -> PathBuf {
        self.state_dir.join("ledger")
    }

    /// The rules that apply to calls of a profile.
    pub fn guard(&self, profile: &Profile) -> Guard {
        let names = profile.guard.rules.iter().chain(&self.guard_enable);
        let default = self.guard_default.then_some(guard::DEFAULT_RULES);
        let names = names.map(String::as_str).chain(default);
        let guard = Guard::new(names, &self.rules).without(&self.guard_disable);
        if profile.guard.to_the_letter {
            guard.to_the_letter()
        } else {
            guard
        }
    }

    /// Everything that decides about a call of a profile before it runs.
    pub fn gate(&self, profile: &Profile, request: &Request) -> Gate {
        if request.by.is_person() {
            return Gate::default();
        }
        let intercepts = request.interceptor.or(self.interceptor);
        let intercepts = intercepts.unwrap_or(profile.guard.interceptor);
        let mode = request.safe_mode.or(self.safe_mode);
        Gate {
            guard: self.guard(profile),
            safe_mode: mode.unwrap_or(profile.guard.safe_mode),
            interceptor: intercepts.then(|| Interceptor::new(&self.interceptor_rules)),
            tools: request.tools.clone(),
            ancestors: crate::ancestors::of_this_process,
        }
    }

    /// Judges what a request would run: safe mode, rules, interceptor.
    pub fn judge(&self, profile: &Profile, request: &Request, command: &Command) -> Judgement {
        let variables = request
            .env
            .iter()
            .map(|(name, _)| name.to_str().unwrap_or("?"));
        self.gate(profile, request).judge_with(command, variables)
    }

    /// What a request may reach, with this environment; `None` if that is everything that its user
    /// may.
    pub fn confinement_of(
        &self,
        profile: &Profile,
        request: &Request,
        surroundings: &Surroundings,
    ) -> Result<Option<Confinement>> {
        let preset = confinement_plan::preset(profile, self, request)?;
        let home = surroundings.variables();
        let configured = confinement_plan::configured(profile, self);
        let presets = (preset, configured);
        let decided = confinement_plan::of(presets, self, surroundings, home.get("HOME"))?;
        Ok(decided.map(|confinement| Confinement::clone(&confinement)))
    }

    /// The highest level at which commands can be confined here, found by doing it; or why that
    /// can't be found out. Needs a process with one thread.
    pub fn confinement_level(&self) -> Result<ConfinementInForce> {
        bashd_keeper::os::confine::level(&self.state_dir)
            .map_err(|trouble| Error::io(ErrorKind::Confinement, trouble.doing, trouble.error))
    }

    fn from_values(values: &Values, sources: &Sources) -> Result<Self> {
        let config_dir = sources.config_dir.as_ref();
        Ok(Self {
            state_dir: sources.state_dir.clone(),
            quota: Quota {
                head: values.number("spool.head_bytes")?,
                ring: values.number("spool.ring_bytes")?,
            },
            retention: Retention {
                total: unless_zero(values.number("spool.total_bytes")?),
                max_age: unless_zero(values.number("spool.max_age_days")?).map(days),
            },
            head_bytes: values.number_unless_profile("head_bytes")?,
            on_record: None,
            otlp_endpoint: values.optional("otlp.endpoint")?.map(str::to_owned),
            otlp_commands: values.switch("otlp.commands")?,
            feed: values.switch("feed.enabled")?,
            recording: values.switch_unless_profile("recording.enabled")?,
            ledger: LedgerSettings {
                enabled: values.switch("ledger.enabled")?,
                retention: unless_zero(values.number("ledger.retention_days")?).map(days),
                max_command_bytes: values.number("ledger.max_command_bytes")? as usize,
            },
            profile: values.optional("profile")?.unwrap_or("default").to_owned(),
            profiles_dir: values
                .optional("profiles_dir")?
                .map(PathBuf::from)
                .or_else(|| config_dir.map(|directory| directory.join("profiles"))),
            shell: values.optional("shell")?.map(str::to_owned),
            prefix: values.optional("prefix")?.map(str::to_owned),
            rc_script: on_or_off(values.text("snapshot")?),
            started_shells: values.number("sessions.warm_shells")? as usize,
            lease: Lease::default(),
            sessions: SessionLimits {
                most: values.number("sessions.limit")? as usize,
                idle: unless_zero(values.number("sessions.idle_seconds")?).map(Duration::from_secs),
            },
            jobs: JobSettings {
                limits: JobLimits {
                    in_all: values.number("jobs.max")? as usize,
                    per_owner: values.number("jobs.max_per_owner")? as usize,
                },
                max_time: Duration::from_secs(values.number("jobs.max_seconds")?),
                output_bytes: values.number("jobs.output_bytes")?,
                poll_wait: poll_wait(values.text("async.poll_wait_duration")?)?,
            },
            resources: resources(values)?,
            cgroups: cgroups(values.text("limits.cgroup")?),
            env: EnvSettings::from_values(values)?,
            secrets: SecretSettings::from_values(values, sources.home.as_deref())?,
            confinement: ConfinementSettings::from_values(values)?,
            effects: EffectSettings::from_values(values)?,
            survivors: survivors(values.text("survivors")?)?,
            guard_default: values.text("guard.rules")? == guard::DEFAULT_RULES,
            guard_enable: rule_names(values, "guard.enable")?,
            guard_disable: rule_names(values, "guard.disable")?,
            rules: Vec::new(),
            safe_mode: SafeMode::from_name(values.text("safe_mode")?),
            interceptor: values.switch_unless_profile("bash_interceptor.enabled")?,
            interceptor_rules: values.rules("bash_interceptor.patterns")?.to_vec(),
            async_enabled: values.switch("async.enabled")?,
            minimizer: MinimizerSettings::from_values(values)?,
            auto_background: values
                .switch("bash.auto_background.enabled")?
                .then(|| values.number("bash.auto_background.threshold_ms"))
                .transpose()?
                .map(Duration::from_millis),
            virtual_terminal: values.text("bash.virtual_terminal")? == "on",
            mcp_structured: values.switch("mcp.structured")?,
            console_end_key: end_key(values)?,
            places: Vec::new(),
            default_place: None,
            notify: NotifySettings::from_values(values)?,
            urls: UrlDirectories::from_values(values, sources)?,
        })
    }
}

impl EffectSettings {
    fn from_values(values: &Values) -> Result<Self> {
        Ok(Self {
            mode: Effects::from_name(values.text("effects.mode")?).unwrap_or_default(),
            max_age: unless_zero(values.number("effects.max_age_days")?).map(days),
            total_bytes: unless_zero(values.number("effects.total_bytes")?),
        })
    }
}

fn on_or_off(word: &str) -> Option<bool> {
    match word {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

fn resources(values: &Values) -> Result<Resources> {
    Ok(Resources {
        cpu_seconds: unless_zero(values.number("limits.cpu_seconds")?),
        cpu_percent: unless_zero(values.number("limits.cpu_percent")?),
        memory_bytes: unless_zero(values.number("limits.memory_bytes")?),
        processes: unless_zero(values.number("limits.processes")?),
    })
}

fn cgroups(word: &str) -> Cgroups {
    match word {
        "" | "auto" => Cgroups::Found,
        "off" => Cgroups::Unused,
        path => Cgroups::Under(PathBuf::from(path)),
    }
}

fn unless_zero(number: u64) -> Option<u64> {
    Some(number).filter(|number| *number != 0)
}

fn days(count: u64) -> Duration {
    Duration::from_hours(24 * count)
}

/// A list of names of compiled-in rules, each of which must exist.
fn rule_names(values: &Values, key: &str) -> Result<Vec<String>> {
    let names = values.list(key)?;
    match names.iter().find(|name| guard::rule(name).is_none()) {
        Some(name) => {
            let known = guard::RULES.iter().map(|rule| rule.name);
            let meant = slip::meant(name, known).map(|meant| format!("; did you mean {meant}?"));
            let message = format!(
                "`{key}` names the rule {name:?}, which does not exist{}",
                meant.unwrap_or_default()
            );
            Err(Error::new(ErrorKind::Config, message))
        }
        None => Ok(names.to_vec()),
    }
}

fn poll_wait(word: &str) -> Result<Duration> {
    match word {
        "5s" => Ok(Duration::from_secs(5)),
        "10s" => Ok(Duration::from_secs(10)),
        "30s" => Ok(Duration::from_secs(30)),
        "1m" => Ok(Duration::from_mins(1)),
        "5m" => Ok(Duration::from_mins(5)),
        other => Err(Error::new(
            ErrorKind::Config,
            format!("`async.poll_wait_duration` can't be {other:?}"),
        )),
    }
}

fn survivors(word: &str) -> Result<Option<Survivors>> {
    match word {
        "profile" => Ok(None),
        "keep" => Ok(Some(Survivors::Keep)),
        "end" => Ok(Some(Survivors::End)),
        other => Err(Error::new(
            ErrorKind::Config,
            format!("`survivors` can't be {other:?}"),
        )),
    }
}

/// The key that ends a command in the console, if it is one.
fn end_key(values: &Values) -> Result<Option<String>> {
    let name = values.optional("console.end_key")?;
    match name {
        Some(name) if crate::screen::keys::once_or_twice(name).is_none() => {
            let text = format!(
                "`console.end_key` can't be {name:?}: name a key (F1 to F12, Escape, Home, C-] …), or the same key \
                 twice, as in C-] C-]"
            );
            Err(Error::new(ErrorKind::Config, text))
        }
        name => Ok(name.map(str::to_owned)),
    }
}
