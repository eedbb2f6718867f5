//! What a command may reach: one value, decided before anything starts, and what came of it.
//!
//! The value says what is to hold. How it is held is the operating system's side
//! (`os::confine`): by namespaces, Landlock and a filter of system calls together, or by the latter
//! two where namespaces are not to be had. Which of these it was is found by doing it, at every
//! start, and told as a [`ConfinementInForce`].

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file that says to whom looks that it is in a confined view. It can't be removed there.
pub const INSIDE: &str = "/run/bashd-confined";

/// Whether this process is in a confined view.
pub fn is_inside() -> bool {
    Path::new(INSIDE).exists()
}

/// What a command may reach. Every path is absolute; those that do not exist are skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The name under which it was asked for.
    pub preset: String,
    /// The directory that the command works on.
    pub workspace: PathBuf,
    /// What it may write, with everything below.
    pub write: Vec<PathBuf>,
    /// What it may read, with everything below.
    pub read: Vec<PathBuf>,
    /// What it sees nothing of, whatever else says that it may be read or written.
    pub hide: Vec<PathBuf>,
    /// What it can't change, though what is around it may be written.
    pub protect: Vec<PathBuf>,
    /// Sockets of other programs that it may connect to.
    pub sockets: Vec<PathBuf>,
    /// What of the network it has.
    pub network: Network,
    /// The hosts that it may connect to, if its network is [`Network::Named`] (`hosts`).
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Addresses of names, as `name=address`, that are not asked for.
    #[serde(default)]
    pub resolve: Vec<String>,
    /// A home whose files it may change for itself alone: the changes go with the run.
    pub home: Option<PathBuf>,
    /// Directories whose changes go to a layer that stays, and not to the machine.
    #[serde(default)]
    pub layers: Vec<HeldLayer>,
    /// Files of ours that it needs, even where they are in something hidden.
    pub bring: Vec<PathBuf>,
    /// The level below which nothing runs.
    pub require: Level,
    /// The level that is tried first.
    pub most: Level,
    /// Whether its calls are watched, so that refused files can be told.
    #[serde(default)]
    pub watches_files: bool,
}

/// A confinement that many calls have in common. It has a hundred paths: whoever passes it on
/// copies none of them, and a comparison with itself looks at none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedConfinement(Arc<Confinement>);

impl SharedConfinement {
    /// It, to be changed for one call alone.
    pub fn to_mut(&mut self) -> &mut Confinement {
        Arc::make_mut(&mut self.0)
    }
}

impl Deref for SharedConfinement {
    type Target = Confinement;

    fn deref(&self) -> &Confinement {
        &self.0
    }
}

impl From<Confinement> for SharedConfinement {
    fn from(confinement: Confinement) -> Self {
        Self(Arc::new(confinement))
    }
}

impl Serialize for SharedConfinement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SharedConfinement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Confinement::deserialize(deserializer).map(Self::from)
    }
}

/// A directory that a command changes in a layer of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLayer {
    /// The directory.
    pub root: PathBuf,
    /// Where the layer is: what changed is in [`HeldLayer::upper`]. Locked while it is in use.
    pub directory: PathBuf,
}

impl HeldLayer {
    /// Where what changed is.
    pub fn upper(&self) -> PathBuf {
        self.directory.join("upper")
    }

    /// What the kernel works with.
    pub fn work(&self) -> PathBuf {
        self.directory.join("work")
    }
}

/// What a command can do with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathReach {
    /// It sees nothing of it.
    Hidden,
    /// It can read it, in the middle of what it may write.
    Protected,
    /// It can write it.
    Written,
    /// It can write it, for itself alone.
    Layered,
    /// It can read it.
    Read,
    /// It can't read it.
    Closed,
}

impl Confinement {
    /// What a command can do with a path, and the entry that says so. Links are not resolved.
    pub fn reach(&self, path: &Path) -> (PathReach, Option<&Path>) {
        let within = |list: &'_ [PathBuf]| -> Option<usize> {
            list.iter().position(|entry| path.starts_with(entry))
        };
        let (hidden, written) = (within(&self.hide), within(&self.write));
        let (protected, read) = (within(&self.protect), within(&self.read));
        let home = self.home.as_deref().filter(|home| path.starts_with(home));
        let (reach, list, at) = match (hidden, written, protected, read) {
            (Some(at), ..) => (PathReach::Hidden, &self.hide, at),
            (None, Some(_), Some(at), _) => (PathReach::Protected, &self.protect, at),
            (None, Some(at), None, _) => (PathReach::Written, &self.write, at),
            (None, None, _, _) if home.is_some() => return (PathReach::Layered, home),
            (None, None, _, Some(at)) => (PathReach::Read, &self.read, at),
            (None, None, _, None) => return (PathReach::Closed, None),
        };
        (reach, list.get(at).map(PathBuf::as_path))
    }
}

/// How much of the network a command has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// None but its own loopback.
    #[default]
    None,
    /// Hosts by name, through a proxy.
    Named,
    /// That of the machine.
    All,
}

/// By how much a confinement is held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// By nothing.
    None,
    /// By Landlock and a filter of system calls: there are no namespaces.
    Landlock,
    /// By namespaces, Landlock and a filter of system calls.
    #[default]
    Full,
}

impl Level {
    /// Every level, the weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Landlock, Self::Full];

    /// Its name in configurations and replies.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Full => "full",
        }
    }

    /// The level of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Network {
    /// Its name in configurations and replies.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Named => "named",
            Self::All => "all",
        }
    }

    /// Whether a command with it has a network namespace of its own, where there are any.
    pub fn is_own(self) -> bool {
        self != Self::All
    }
}

/// How a command gets at the hosts that it may connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostAccess {
    /// Programs that heed the variables for proxies do.
    Proxy,
    /// So do all others, at the ports that rules name and at the usual ones: names lead to the
    /// proxy.
    Transparent,
}

/// The confinement that holds for a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfinementInForce {
    /// By how much it is held.
    pub level: Level,
    /// The name under which it was asked for.
    pub preset: String,
    /// What of the network the command has.
    pub network: Network,
    /// The hosts that it may connect to, if these are listed.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// How it gets at them.
    #[serde(default)]
    pub hosts_by: Option<HostAccess>,
    /// Whether refused files are told.
    #[serde(default)]
    pub files_watched: bool,
    /// Why it is held by less than the most.
    pub reason: Option<String>,
}
