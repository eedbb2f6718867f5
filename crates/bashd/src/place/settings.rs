//! What is configured about places, and what of the configuration travels with an order.

use super::container::ContainerSettings;
use super::kubernetes::PodSettings;
use super::order::is_default;
use super::program::ProgramSources;
use super::slurm::SlurmSettings;
use crate::config::{Config, ConfinementSettings, EnvSettings};
use crate::jobs::JobLimits;
use crate::plan::{Quota, Resources, Survivors};
use bashd_keeper::spool::Retention;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A place in the configuration: `[places.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlaceSettings {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub kind: PlaceKind,
    /// Directories here, and the same ones there.
    pub map: Vec<(PathBuf, PathBuf)>,
    /// Where commands run there, if their directory here is mapped nowhere and no call names one.
    pub cwd: Option<PathBuf>,
    /// Variables of this side that commands get there.
    pub pass: Vec<String>,
    /// How long it may take until the outpost answers.
    pub connect: Duration,
    /// How long a call waits for a place that is not reached, past the time of its command.
    pub patience: Duration,
    /// How long its outpost stays without anything to do; ten minutes by default.
    pub idle: Option<Duration>,
    /// The place through which it is reached.
    pub via: Option<String>,
    /// The program that is sent there if it is missing; else it is looked for.
    pub program: Option<PathBuf>,
    /// The directory there in which that is kept; else one is looked for.
    pub upload_to: Option<PathBuf>,
    /// Where programs to send are looked for.
    pub programs: ProgramSources,
}

/// How a place is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaceKind {
    /// By a program whose stdin and stdout are an outpost's; without words, this program itself.
    Pipe {
        /// Program and arguments.
        command: Vec<String>,
    },
    /// By ssh.
    Ssh {
        /// A host as ssh knows it.
        host: String,
        /// bashd there, if it is installed.
        bin: Option<String>,
    },
    /// By podman or docker.
    Container(ContainerSettings),
    /// By kubectl.
    Kubernetes(PodSettings),
    /// By allocations of Slurm.
    Slurm(SlurmSettings),
}

impl PlaceKind {
    /// Its name in the configuration.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pipe { .. } => "pipe",
            Self::Ssh { .. } => "ssh",
            Self::Container(_) => "container",
            Self::Kubernetes(_) => "kubernetes",
            Self::Slurm(_) => "slurm",
        }
    }
}

impl PlaceSettings {
    /// A place without a mapping.
    pub fn new(name: impl Into<String>, kind: PlaceKind) -> Self {
        Self {
            name: name.into(),
            kind,
            map: Vec::new(),
            cwd: None,
            pass: Vec::new(),
            connect: Duration::from_secs(20),
            patience: Duration::from_mins(1),
            idle: None,
            via: None,
            program: None,
            upload_to: None,
            programs: ProgramSources::default(),
        }
    }

    /// The same for who is in this directory: a container may have it as its workspace.
    pub(crate) fn for_directory(mut self, here: &Path) -> Self {
        if let PlaceKind::Container(ContainerSettings {
            workspace: Some(workspace),
            ..
        }) = &self.kind
        {
            let ours = (here.to_owned(), workspace.clone());
            if !self.map.contains(&ours) {
                self.map.push(ours);
            }
        }
        self
    }

    /// The directory there that a directory here is, by the longest prefix that is mapped.
    pub fn mapped(&self, here: &Path) -> Option<PathBuf> {
        let mut found: Option<(&PathBuf, &PathBuf)> = None;
        for (near, far) in &self.map {
            let is_longer = found.is_none_or(|(longest, _)| {
                near.components().count() > longest.components().count()
            });
            if here.starts_with(near) && is_longer {
                found = Some((near, far));
            }
        }
        let (near, far) = found?;
        let rest = here.strip_prefix(near).ok()?;
        // Joining nothing would add a slash.
        Some(if rest.as_os_str().is_empty() {
            far.clone()
        } else {
            far.join(rest)
        })
    }

    /// The directory there that confined commands work on: what ours is mapped to, or the place's.
    pub(crate) fn workspace(&self, config: &Config, here: &Path) -> Option<PathBuf> {
        let ours = config.confinement.workspace.as_deref().unwrap_or(here);
        self.mapped(ours).or_else(|| self.cwd.clone())
    }
}

/// What of the configuration concerns where commands run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OrderSettings {
    quota: Quota,
    #[serde(default = "usual_retention", skip_serializing_if = "is_usual")]
    retention: Retention,
    #[serde(default, skip_serializing_if = "is_default")]
    shell: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    prefix: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    rc_script: Option<bool>,
    most_sessions: usize,
    idle_sessions: Option<Duration>,
    #[serde(default, skip_serializing_if = "is_default")]
    resources: Resources,
    confinement: ConfinementSettings,
    env: EnvSettings,
    #[serde(default, skip_serializing_if = "is_default")]
    survivors: Option<Survivors>,
    virtual_terminal: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    async_enabled: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    auto_background: Option<Duration>,
    job_limits: JobLimits,
    longest_job: Duration,
    #[serde(default, skip_serializing_if = "is_default")]
    /// Whether secrets of there are hidden in output, if not as the profile says.
    hides_secrets: Option<bool>,
    #[serde(default, skip_serializing_if = "is_default")]
    /// Whether `sh` will do where there is no bash, for profiles whose shell can be chosen.
    sh_will_do: bool,
}

impl OrderSettings {
    /// What concerns it in a configuration. Paths of this side mean nothing there, so confined
    /// commands work on a directory of there.
    pub(crate) fn of(config: &Config, workspace: Option<PathBuf>) -> Self {
        let mut confinement = config.confinement.clone();
        confinement.workspace = workspace;
        Self {
            quota: config.quota,
            retention: config.retention,
            shell: config.shell.clone(),
            prefix: config.prefix.clone(),
            rc_script: config.rc_script,
            most_sessions: config.sessions.most,
            idle_sessions: config.sessions.idle,
            resources: config.resources,
            confinement,
            env: config.env.clone(),
            survivors: config.survivors,
            virtual_terminal: config.virtual_terminal,
            async_enabled: config.async_enabled,
            auto_background: config.auto_background,
            job_limits: config.jobs.limits,
            longest_job: config.jobs.max_time,
            hides_secrets: config.secrets.output,
            sh_will_do: false,
        }
    }

    /// The same at a place of this kind: what is made of an image often has no bash.
    pub(crate) fn at(mut self, kind: &PlaceKind) -> Self {
        self.sh_will_do = matches!(kind, PlaceKind::Container(_) | PlaceKind::Kubernetes(_));
        self
    }

    /// The shell of such orders where there is no bash, if another will do.
    pub(crate) fn other_shell(&self) -> Option<&'static str> {
        (self.sh_will_do && self.shell.is_none()).then_some("sh")
    }

    /// The configuration of an outpost's engine for such orders. Records, and what output is stored
    /// of calls, are the near side's.
    pub(crate) fn config(&self, state: &Path) -> Config {
        let mut config = Config::new(state);
        config.quota = self.quota;
        config.retention = self.retention;
        config.shell.clone_from(&self.shell);
        config.prefix.clone_from(&self.prefix);
        config.rc_script = self.rc_script;
        config.sessions.most = self.most_sessions;
        config.sessions.idle = self.idle_sessions;
        config.resources = self.resources;
        config.confinement = self.confinement.clone();
        config.env = self.env.clone();
        config.survivors = self.survivors;
        config.virtual_terminal = self.virtual_terminal;
        config.async_enabled = self.async_enabled;
        config.auto_background = self.auto_background;
        config.jobs.limits = self.job_limits;
        config.jobs.max_time = self.longest_job;
        config.secrets.output = self.hides_secrets;
        config.ledger.enabled = false;
        config.feed = false;
        config.started_shells = 1;
        config
    }
}

/// How much stored output is kept if nothing else is configured: that need not travel.
fn usual_retention() -> Retention {
    Retention {
        total: Some(10 << 30),
        max_age: Some(Duration::from_hours(7 * 24)),
    }
}

fn is_usual(retention: &Retention) -> bool {
    *retention == usual_retention()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_much_is_stored_there_is_what_is_configured_here() {
        let mut config = Config::new("/state");
        assert_eq!(config.retention, usual_retention());
        let travelled = |config: &Config| {
            let sent = rmp_serde::to_vec_named(&OrderSettings::of(config, None)).unwrap();
            let got: OrderSettings = rmp_serde::from_slice(&sent).unwrap();
            (sent.len(), got.config(Path::new("/there")).retention)
        };
        let (usual, there) = travelled(&config);
        assert_eq!(there, config.retention);
        config.retention.total = None;
        let (more, there) = travelled(&config);
        assert_eq!(there, config.retention);
        assert!(more > usual, "what is usual does not travel");
    }

    #[test]
    fn a_directory_is_mapped_by_its_longest_prefix() {
        let mut place = PlaceSettings::new(
            "x",
            PlaceKind::Pipe {
                command: Vec::new(),
            },
        );
        place.map = vec![
            ("/src".into(), "/home/u/src".into()),
            ("/src/app".into(), "/app".into()),
        ];
        for (here, there) in [
            ("/src", Some("/home/u/src")),
            ("/src/lib/a", Some("/home/u/src/lib/a")),
            ("/src/app", Some("/app")),
            ("/src/app/b", Some("/app/b")),
            ("/src/application", Some("/home/u/src/application")),
            ("/srcs", None),
            ("/", None),
        ] {
            let mapped = place.mapped(Path::new(here));
            assert_eq!(mapped.as_deref(), there.map(Path::new), "{here}");
        }
    }
}
