//! What of the machine commands may reach, as it is configured: a preset, and what is adjusted.

use super::resolve::Values;
use crate::error::{Error, ErrorKind, Result};
use bashd_keeper::confinement::{Level, Network};
use bashd_keeper::hosts::HostRules;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A confinement by its name. The later in this list, the less a command may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Preset {
    /// None: a command may do what its user may.
    #[default]
    #[serde(rename = "off")]
    Off,
    /// As `workspace`, with an allow-list for the network.
    #[serde(rename = "workspace+net")]
    WorkspaceNet,
    /// Reads the machine, writes the workspace and what is the command's own; no network, no
    /// credentials.
    #[serde(rename = "workspace")]
    Workspace,
    /// Likewise, and the workspace can only be read.
    #[serde(rename = "read-only")]
    ReadOnly,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 4] = [
        Self::Off,
        Self::WorkspaceNet,
        Self::Workspace,
        Self::ReadOnly,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::WorkspaceNet => "workspace+net",
            Self::Workspace => "workspace",
            Self::ReadOnly => "read-only",
        }
    }

    /// The preset of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which refusals of a confinement are told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalReport {
    /// Hosts: they cost nothing.
    #[default]
    Network,
    /// Files and system calls as well: mass work on files takes longer.
    All,
    /// Likewise, in a second run of a command that failed and may be repeated.
    Retry,
}

impl RefusalReport {
    fn from_name(name: &str) -> Self {
        match name {
            "all" => Self::All,
            "retry" => Self::Retry,
            _ => Self::Network,
        }
    }
}

/// What is configured about confinement. A path may begin with `~/`; a relative one is in the
/// workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConfinementSettings {
    /// Overrides what profiles say.
    pub preset: Option<Preset>,
    /// The directory that commands work on; `None` for the one in which calls without a `cwd` run.
    pub workspace: Option<PathBuf>,
    /// What may be written besides.
    pub write: Vec<String>,
    /// What may be read; none means everything that is not hidden.
    pub read: Vec<String>,
    /// What is hidden besides what always is.
    pub hide: Vec<String>,
    /// What is read-only within the workspace, besides what always is.
    pub protect: Vec<String>,
    /// Overrides what the preset says of the network.
    pub network: Option<Network>,
    /// The hosts that may be connected to, if the network is [`Network::Named`].
    pub hosts: Vec<String>,
    /// Addresses of names, as `name=address`.
    pub resolve: Vec<String>,
    /// Sockets that may be connected to.
    pub sockets: Vec<String>,
    /// The level below which nothing runs.
    pub require: Level,
    /// The level that is tried first.
    pub most: Level,
    /// Which refusals are told.
    pub report: RefusalReport,
}

impl ConfinementSettings {
    pub(super) fn from_values(values: &Values) -> Result<Self> {
        let list = |key| Ok::<_, Error>(values.list(key)?.to_vec());
        let hosts = list("confinement.network")?;
        let (network, hosts) = match hosts.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] | ["preset"] => (None, Vec::new()),
            ["none"] => (Some(Network::None), Vec::new()),
            ["all"] => (Some(Network::All), Vec::new()),
            _ => (Some(Network::Named), hosts),
        };
        let resolve = list("confinement.resolve")?;
        if let Err(unfit) = HostRules::parse(&hosts, &resolve) {
            let text = format!("confinement.network: {unfit}");
            return Err(Error::new(ErrorKind::Config, text));
        }
        Ok(Self {
            preset: Preset::from_name(values.text("confinement.preset")?),
            workspace: values.optional("confinement.workspace")?.map(PathBuf::from),
            write: list("confinement.write")?,
            read: list("confinement.read")?,
            hide: list("confinement.hide")?,
            protect: list("confinement.protect")?,
            network,
            hosts,
            resolve,
            sockets: list("confinement.sockets")?,
            require: Level::from_name(values.text("confinement.require")?).unwrap_or_default(),
            most: Level::from_name(values.text("confinement.most")?).unwrap_or_default(),
            report: RefusalReport::from_name(values.text("confinement.report")?),
        })
    }
}
