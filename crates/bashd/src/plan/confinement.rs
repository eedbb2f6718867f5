//! What a run may reach: from profile, configuration and call to one value.
//!
//! A call can only narrow: it may name a stricter preset than the configured one, never a looser
//! one. What always is hidden and protected stands here, as two tables.

mod decided;
pub(crate) mod granted;

pub(crate) use decided::DecidedConfinements;

use super::{PlanInput, Variables};
use crate::changes::{ChangeStore, Effects, LAYERS_NEAR, layers_for};
use crate::config::{Config, ConfinementSettings, Preset, RefusalReport, Surroundings};
use crate::error::{Error, ErrorKind, Result};
use crate::profile::Profile;
use crate::request::Request;
use bashd_keeper::confinement::{Confinement, Network, SharedConfinement};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
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
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/fs/bpf",
    "/sys/fs/pstore",
];

/// What is read-only in a workspace: it is run by somebody who is not confined.
const PROTECTED: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".gitconfig",
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
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

/// Where users live.
const HOMES: &str = "/home";

/// Who they are.
const USERS: &str = "/etc/passwd";

/// Where git has the repositories of submodules.
const MODULES: &str = ".git/modules";

/// The names of private keys of this machine.
const HOST_KEYS: (&str, &str, &str) = ("/etc/ssh", "ssh_host_", "_key");

/// The preset of calls that name none.
pub(crate) fn configured(profile: &Profile, config: &Config) -> Preset {
    config
        .confinement
        .preset
        .unwrap_or(profile.guard.confinement)
}

/// The preset that a call gets.
pub(crate) fn preset(profile: &Profile, config: &Config, request: &Request) -> Result<Preset> {
    let configured = configured(profile, config);
    let preset = chosen(configured, request)?;
    // Only a view of its own can have layers.
    let needs_view = effects(config, request)? != Effects::Now && preset == Preset::Off;
    Ok(if needs_view {
        Preset::Workspace
    } else {
        preset
    })
}

/// When the effects of a call become real.
pub(crate) fn effects(config: &Config, request: &Request) -> Result<Effects> {
    let configured = config.effects.mode;
    match request.effects {
        Some(asked) if asked < configured => Err(refused(format!(
            "a call can only have its effects later: `{configured}` is configured, and `{asked}` is earlier"
        ))),
        Some(asked) => Ok(asked),
        None => Ok(configured),
    }
}

fn chosen(configured: Preset, request: &Request) -> Result<Preset> {
    match request.confine {
        Some(asked) if asked < configured => Err(refused(format!(
            "a call can only narrow its confinement: `{configured}` is configured, and `{asked}` is less"
        ))),
        Some(asked) => Ok(asked),
        None => Ok(configured),
    }
}

/// What a call may reach; `None` if that is everything that its user may.
pub(crate) fn decide(wish: PlanInput<'_>, env: &Variables) -> Result<Option<SharedConfinement>> {
    let setting = wish.setting;
    let chosen = preset(wish.profile, setting.config, wish.request)?;
    let configured = configured(wish.profile, setting.config);
    let (config, surroundings) = (setting.config, setting.surroundings);
    let (presets, home) = ((chosen, configured), env.get("HOME"));
    if chosen == Preset::Off {
        return Ok(None);
    }
    let workspace = config.confinement.workspace.as_ref();
    let workspace = workspace.unwrap_or(&surroundings.cwd);
    let modules = workspace.join(MODULES);
    let listed = [Path::new(HOMES), Path::new(HOST_KEYS.0), &modules];
    let decide = || of(presets, config, surroundings, home);
    let decided = setting
        .decided
        .get((presets, home), (workspace, &listed), decide)?;
    let mut decided = decided;
    if let Some(confinement) = decided.as_mut().filter(|_| !setting.granted.is_empty()) {
        granted::widen(confinement.to_mut(), setting.granted);
    }
    if let Some(confinement) = &mut decided {
        make_ours(confinement, config, surroundings);
        let mode = effects(config, wish.request)?;
        if mode != Effects::Now {
            let confinement = confinement.to_mut();
            // Who is asked about what it did is shown what it could not do as well.
            confinement.watches_files |= mode == Effects::Ask;
            let store = ChangeStore::in_state(&config.state_dir);
            layers_for(confinement, store.directory(), setting.id.as_str())?;
        }
    }
    Ok(decided)
}

/// Makes the directories of our configuration where a command could make them: only what is there
/// can be kept from it, and whoever makes our configuration says what is allowed.
fn make_ours(confinement: &Confinement, config: &Config, surroundings: &Surroundings) {
    let home = own_home(surroundings);
    let place = PathBase {
        workspace: &confinement.workspace,
        home: home.as_deref(),
    };
    for ours in our_directories(config, surroundings, place) {
        let could_be_made = confinement
            .write
            .iter()
            .any(|written| ours.starts_with(written));
        if could_be_made && !ours.exists() {
            // Where it can't be made, a command of the same user can't make it either.
            let _ = fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&ours);
        }
    }
}

/// What a preset means with this configuration, which has another one for calls that name none.
///
/// `home` is the `HOME` that the command gets. A call chooses it, so it never decides what is
/// hidden or where a configured `~` is: it only adds a home whose keys are hidden.
pub(crate) fn of(
    (preset, configured): (Preset, Preset),
    config: &Config,
    surroundings: &Surroundings,
    home: Option<&OsStr>,
) -> Result<Option<SharedConfinement>> {
    let settings = &config.confinement;
    let network = match preset {
        Preset::Off => return Ok(None),
        // Without hosts every host is refused and told.
        Preset::WorkspaceNet => settings.network.unwrap_or(Network::Named),
        // A call that narrows the one with a network to one without has none.
        Preset::Workspace | Preset::ReadOnly if configured == Preset::WorkspaceNet => Network::None,
        Preset::Workspace | Preset::ReadOnly => settings.network.unwrap_or(Network::None),
    };
    let workspace = workspace(settings, surroundings)?;
    let given = home.map(PathBuf::from).filter(|home| home.is_absolute());
    let home = own_home(surroundings);
    let place = PathBase {
        workspace: &workspace,
        home: home.as_deref(),
    };
    let mut write = place.all(&settings.write);
    let is_written = preset != Preset::ReadOnly;
    if is_written {
        write.insert(0, workspace.clone());
    }
    let mut hide = hidden(place, given);
    hide.extend(ours(config, surroundings, place));
    hide.extend(place.all(&settings.hide));
    // What other calls hold there is not this one's to see or to change.
    let near = |root: &PathBuf| root.join(LAYERS_NEAR);
    hide.extend(write.iter().map(near));
    check(&workspace, &hide)?;
    let mut protect: Vec<PathBuf> = PROTECTED.iter().map(|path| workspace.join(path)).collect();
    protect.extend(modules(&workspace));
    protect.extend(place.all(&settings.protect));
    let mut read = match &*settings.read {
        [] => vec![PathBuf::from("/")],
        listed => place.all(listed),
    };
    read.push(workspace.clone());
    let confinement = Confinement {
        preset: preset.name().to_owned(),
        write,
        read,
        hide,
        protect,
        sockets: place.all(&settings.sockets),
        network,
        hosts: settings.hosts.clone(),
        resolve: settings.resolve.clone(),
        home: home.filter(|_| is_written),
        layers: Vec::new(),
        bring: Vec::new(),
        require: settings.require.min(settings.most),
        most: settings.most,
        watches_files: settings.report == RefusalReport::All,
        workspace,
    };
    Ok(Some(confinement.into()))
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

/// What is always hidden. `given` is a home of the call's choice.
fn hidden(place: PathBase<'_>, given: Option<PathBuf>) -> Vec<PathBuf> {
    let mut hidden: Vec<PathBuf> = HIDDEN_OF_SYSTEM.iter().map(PathBuf::from).collect();
    let homes = entries(Path::new(HOMES)).into_iter();
    let homes = homes.chain([PathBuf::from("/root")]);
    let (used, others): (Vec<_>, Vec<_>) = homes.partition(|home| place.uses(home));
    hidden.extend(others);
    let (directory, begin, end) = HOST_KEYS;
    hidden.extend(entries(Path::new(directory)).into_iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(begin) && name.ends_with(end)
    }));
    let own = place.home.map(Path::to_owned);
    let mut homes: Vec<PathBuf> = own.into_iter().chain(users_home()).chain(given).collect();
    homes.extend(used);
    homes.sort_unstable();
    homes.dedup();
    for home in homes {
        hidden.extend(HIDDEN_AT_HOME.iter().map(|path| home.join(path)));
    }
    hidden
}

/// Where the user of this process is at home: by bashd's own variables, which no call changes, else
/// by the system's list of users.
fn own_home(surroundings: &Surroundings) -> Option<PathBuf> {
    named_path(surroundings, "HOME").or_else(users_home)
}

/// The home of this process' user in the system's list of users.
fn users_home() -> Option<PathBuf> {
    let users = fs::read_to_string(USERS).ok()?;
    let own = rustix::process::geteuid().as_raw().to_string();
    let mut users = users.lines().map(|line| line.split(':'));
    let home = users.find_map(|mut fields| {
        let is_own = fields.nth(2) == Some(&own);
        is_own.then(|| fields.nth(2)).flatten()
    })?;
    Some(PathBuf::from(home)).filter(|home| home.is_absolute() && home.parent().is_some())
}

/// What is ours: records, grants and sockets, and the configuration, which says what is allowed.
fn ours(config: &Config, surroundings: &Surroundings, place: PathBase<'_>) -> Vec<PathBuf> {
    let mut ours = our_directories(config, surroundings, place);
    ours.extend(named_path(surroundings, "BASHD_CONFIG"));
    ours
}

fn our_directories(
    config: &Config,
    surroundings: &Surroundings,
    place: PathBase<'_>,
) -> Vec<PathBuf> {
    let at_home = place.home.map(|home| home.join(".config/bashd"));
    let elsewhere = named_path(surroundings, "XDG_CONFIG_HOME").map(|path| path.join("bashd"));
    let configuration = [named_path(surroundings, "BASHD_HOME"), elsewhere, at_home];
    let configuration = configuration.into_iter().flatten();
    // A directory that holds the workspace as well is protected by being read-only.
    let mut ours: Vec<PathBuf> = configuration
        .filter(|path| !place.workspace.starts_with(path))
        .collect();
    ours.push(config.state_dir.clone());
    ours
}

/// The path that a variable names.
fn named_path(surroundings: &Surroundings, name: &str) -> Option<PathBuf> {
    let mut env = surroundings.env.iter();
    let (_, value) = env.find(|(known, _)| known == name)?;
    Some(PathBuf::from(value)).filter(|path| path.is_absolute())
}

/// The hooks of submodules. Their configuration is not protected: git writes it with every update
/// of a submodule, whose `.git`, which says where that is, is a file of the workspace.
fn modules(workspace: &Path) -> Vec<PathBuf> {
    let modules = entries(&workspace.join(MODULES)).into_iter();
    modules.map(|module| module.join("hooks")).collect()
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
