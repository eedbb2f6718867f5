//! What a run may reach: from profile, configuration and call to one value.
//!
//! A call can only narrow: it may name a stricter preset than the configured one, never a looser
//! one. What always is hidden and protected stands here, as two tables.

use super::{PlanInput, Variables};
use crate::config::{Config, ConfinementSettings, Preset, Surroundings};
use crate::error::{Error, ErrorKind, Result};
use crate::profile::Profile;
use crate::request::Request;
use bashd_keeper::confinement::{Confinement, Network};
use bashd_keeper::secrets::is_secret;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// What nobody sees of a home: keys, credentials, browsers.
const HIDDEN_AT_HOME: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".azure",
    ".docker",
    ".kube",
    ".netrc",
    ".git-credentials",
    ".pypirc",
    ".vault-token",
    ".password-store",
    ".mozilla",
    ".thunderbird",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".terraform.d/credentials.tfrc.json",
    ".config/gh",
    ".config/hub",
    ".config/gcloud",
    ".config/git/credentials",
    ".config/op",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".local/share/keyrings",
];

/// What nobody sees of the system: root owns it, and a confined root is still its owner.
const HIDDEN_OF_SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/spool/cron",
    "/boot",
];

/// What is read-only in a workspace: it is run by somebody who is not confined.
const PROTECTED: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".husky",
    ".pre-commit-config.yaml",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".idea/runConfigurations",
    ".github/workflows",
    ".gitlab-ci.yml",
    ".circleci",
    ".mcp.json",
    ".claude/settings.json",
    ".cursor/mcp.json",
];

/// The names of private keys of this machine.
const HOST_KEYS: (&str, &str, &str) = ("/etc/ssh", "ssh_host_", "_key");

/// The preset of calls that name none.
pub(super) fn configured(profile: &Profile, config: &Config) -> Preset {
    config
        .confinement
        .preset
        .unwrap_or(profile.guard.confinement)
}

/// The preset that a call gets.
pub(crate) fn preset(profile: &Profile, config: &Config, request: &Request) -> Result<Preset> {
    let configured = configured(profile, config);
    match request.confine {
        Some(asked) if asked < configured => Err(refused(format!(
            "a call can only narrow its confinement: `{configured}` is configured, and `{asked}` is less"
        ))),
        Some(asked) => Ok(asked),
        None => Ok(configured),
    }
}

/// What a call may reach; `None` if that is everything that its user may.
pub(crate) fn decide(wish: PlanInput<'_>, env: &Variables) -> Result<Option<Confinement>> {
    let setting = wish.setting;
    let preset = preset(wish.profile, setting.config, wish.request)?;
    of(
        preset,
        setting.config,
        setting.surroundings,
        env.get("HOME"),
    )
}

/// What a preset means with this configuration.
pub(crate) fn of(
    preset: Preset,
    config: &Config,
    surroundings: &Surroundings,
    home: Option<&OsStr>,
) -> Result<Option<Confinement>> {
    let settings = &config.confinement;
    let network = match preset {
        Preset::Off => return Ok(None),
        Preset::WorkspaceNet => {
            return Err(refused(
                "the preset `workspace+net` needs an allow-list of hosts, which this version does not \
                 have; use `workspace`, and `confinement.network = \"all\"` if the commands may have the \
                 whole network",
            ));
        }
        Preset::Workspace | Preset::ReadOnly => settings.network.unwrap_or(Network::None),
    };
    let workspace = workspace(settings, surroundings)?;
    let home = home.map(PathBuf::from).filter(|home| home.is_absolute());
    let place = PathBase {
        workspace: &workspace,
        home: home.as_deref(),
    };
    let mut write = place.all(&settings.write);
    let is_written = preset == Preset::Workspace;
    if is_written {
        write.insert(0, workspace.clone());
    }
    let mut hide = hidden(config, place);
    hide.extend(place.all(&settings.hide));
    check(&workspace, &hide)?;
    let mut protect: Vec<PathBuf> = PROTECTED.iter().map(|path| workspace.join(path)).collect();
    protect.extend(modules(&workspace));
    protect.extend(place.all(&settings.protect));
    let mut read = match &*settings.read {
        [] => vec![PathBuf::from("/")],
        listed => place.all(listed),
    };
    read.push(workspace.clone());
    Ok(Some(Confinement {
        preset: preset.name().to_owned(),
        write,
        read,
        hide,
        protect,
        sockets: place.all(&settings.sockets),
        network,
        home: home.filter(|_| is_written),
        bring: Vec::new(),
        require: settings.require.min(settings.most),
        most: settings.most,
        workspace,
    }))
}

/// Whether a confined command does without a variable of this name.
pub(crate) fn keeps_from(settings: &ConfinementSettings, name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    // A directory for temporary files that was meant for others can't be written.
    name == "TMPDIR" || is_secret(&name) && !settings.env.iter().any(|allowed| *allowed == name)
}

/// The directory that commands work on.
fn workspace(settings: &ConfinementSettings, surroundings: &Surroundings) -> Result<PathBuf> {
    let named = settings.workspace.as_ref().unwrap_or(&surroundings.cwd);
    let found = fs::canonicalize(named).map_err(|error| {
        let doing = format!("the workspace {} can't be used", named.display());
        Error::io(ErrorKind::Confinement, doing, error)
    })?;
    if found.parent().is_none() {
        return Err(refused(
            "the workspace is `/`: name the directory to work on with `confinement.workspace`",
        ));
    }
    if !found.is_dir() {
        return Err(refused(format!(
            "the workspace {} is not a directory",
            found.display()
        )));
    }
    Ok(found)
}

fn check(workspace: &Path, hide: &[PathBuf]) -> Result<()> {
    let hidden = hide.iter().find(|hidden| {
        let real = fs::canonicalize(hidden);
        workspace.starts_with(real.as_ref().unwrap_or(hidden))
    });
    match hidden {
        Some(hidden) => Err(refused(format!(
            "the workspace {} is in {}, which is hidden",
            workspace.display(),
            hidden.display()
        ))),
        None => Ok(()),
    }
}

/// What is always hidden.
fn hidden(config: &Config, place: PathBase<'_>) -> Vec<PathBuf> {
    let mut hidden: Vec<PathBuf> = HIDDEN_OF_SYSTEM.iter().map(PathBuf::from).collect();
    let homes = entries(Path::new("/home")).into_iter();
    let homes = homes.chain([PathBuf::from("/root")]);
    hidden.extend(homes.filter(|home| !place.uses(home)));
    let (directory, begin, end) = HOST_KEYS;
    hidden.extend(entries(Path::new(directory)).into_iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(begin) && name.ends_with(end)
    }));
    if let Some(home) = place.home {
        hidden.extend(HIDDEN_AT_HOME.iter().map(|path| home.join(path)));
    }
    // Our own records, grants and sockets.
    hidden.push(config.state_dir.clone());
    hidden
}

/// The configurations of submodules.
fn modules(workspace: &Path) -> Vec<PathBuf> {
    let modules = entries(&workspace.join(".git/modules"));
    modules
        .into_iter()
        .flat_map(|module| [module.join("config"), module.join("hooks")])
        .collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn refused(message: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Confinement, message)
}

/// What paths are relative to.
#[derive(Clone, Copy)]
struct PathBase<'a> {
    workspace: &'a Path,
    home: Option<&'a Path>,
}

impl PathBase<'_> {
    /// A path as it was configured.
    fn path(self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.workspace.join(text),
        }
    }

    fn all(self, texts: &[String]) -> Vec<PathBuf> {
        texts.iter().map(|text| self.path(text)).collect()
    }

    /// Whether somebody's home is needed: it is our own, or the workspace is in it.
    fn uses(self, home: &Path) -> bool {
        self.home.is_some_and(|own| own.starts_with(home)) || self.workspace.starts_with(home)
    }
}
