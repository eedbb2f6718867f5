//! The only file that reads the environment and the home directory.

use crate::failure::{Failure, FailureKind};
use bashd::config::env_vars;
use jiff::tz::TimeZone;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where bashd's files are.
#[derive(Debug)]
pub(crate) struct BashdPaths {
    /// Holds `config.toml` and `profiles`.
    pub(crate) config_dir: PathBuf,
    /// The file that `BASHD_CONFIG` names.
    pub(crate) named_config: Option<PathBuf>,
    /// Holds runs, ledger and artifacts.
    pub(crate) state_dir: PathBuf,
    /// The home directory, if there is one.
    pub(crate) home: Option<PathBuf>,
}

/// Where agents have their files.
#[derive(Debug, Clone)]
pub(crate) struct AgentPlaces {
    /// The home directory.
    pub(crate) home: PathBuf,
    /// `XDG_CONFIG_HOME`, or what is in its place.
    pub(crate) config: PathBuf,
    /// `CLAUDE_CONFIG_DIR`, if it is set.
    pub(crate) claude: Option<PathBuf>,
    /// `CODEX_HOME`, if it is set.
    pub(crate) codex: Option<PathBuf>,
}

/// What the environment says about colors.
#[derive(Debug)]
pub(crate) struct ColorHints {
    pub(crate) no_color: bool,
    pub(crate) force: bool,
    pub(crate) dumb_terminal: bool,
}

/// What the environment says about the terminal.
#[derive(Debug)]
pub(crate) struct TerminalHints {
    /// `TERM`.
    pub(crate) term: String,
    /// `TERM_PROGRAM`.
    pub(crate) program: String,
    /// Whether tmux or screen is between us and it.
    pub(crate) is_multiplexed: bool,
    /// Whether the person's desktop is on this machine.
    pub(crate) has_desktop: bool,
}

/// Whether a command of ours started this process.
pub(crate) fn is_in_a_run() -> bool {
    env::var_os(env_vars::RUN).is_some()
}

/// Finds bashd's places: `BASHD_HOME`, else the XDG directories.
pub(crate) fn places() -> Result<BashdPaths, Failure> {
    let home = env::home_dir().filter(|home| home.is_absolute());
    let named_config = set(env_vars::CONFIG).map(PathBuf::from);
    if let Some(own) = set(env_vars::HOME) {
        let own = std::path::absolute(own).map_err(|error| {
            Failure::new(
                FailureKind::System,
                format!("{} can't be resolved: {error}", env_vars::HOME),
            )
        })?;
        let state_dir = own.join("state");
        return Ok(BashdPaths {
            config_dir: own,
            named_config,
            state_dir,
            home,
        });
    }
    let directory = |variable: &str, default: &str| {
        // The specification wants relative values ignored.
        let given = set(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        given
            .or_else(|| home.as_ref().map(|home| home.join(default)))
            .ok_or_else(|| {
                let message = format!("there is no home directory, and {variable} is not set");
                let hint = format!("set {} to a directory for bashd's files", env_vars::HOME);
                Failure::new(FailureKind::System, message).hint(hint)
            })
    };
    Ok(BashdPaths {
        config_dir: directory("XDG_CONFIG_HOME", ".config")?.join("bashd"),
        named_config,
        state_dir: directory("XDG_STATE_HOME", ".local/state")?.join("bashd"),
        home,
    })
}

/// Where data may be that packages bring along: beside the program (in a wheel), in the directory
/// for data of the place where it is installed (`/usr/share/bashd` for `/usr/bin`), or in the
/// user's own.
pub(crate) fn data_dirs() -> Vec<PathBuf> {
    let program = env::current_exe().ok();
    let folder = program.as_deref().and_then(Path::parent);
    let shared = folder.and_then(Path::parent);
    let given = set("XDG_DATA_HOME").map(PathBuf::from);
    let given = given.filter(|path| path.is_absolute());
    let own = given.or_else(|| Some(env::home_dir()?.join(".local/share")));
    let folders = [
        folder.map(Path::to_owned),
        shared.map(|prefix| prefix.join("share/bashd")),
        own.map(|own| own.join("bashd")),
    ];
    folders.into_iter().flatten().collect()
}

/// Finds where agents have their files.
pub(crate) fn agent_places() -> Result<AgentPlaces, Failure> {
    let home = env::home_dir().filter(|home| home.is_absolute());
    let home = home.ok_or_else(|| {
        Failure::new(FailureKind::System, "there is no home directory")
            .hint("set HOME to yours: agents have their files there")
    })?;
    let directory = |variable: &str| {
        let given = set(variable).map(PathBuf::from);
        given.filter(|path| path.is_absolute())
    };
    Ok(AgentPlaces {
        config: directory("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
        claude: directory("CLAUDE_CONFIG_DIR"),
        codex: directory("CODEX_HOME"),
        home,
    })
}

/// The program that runs, as others should start it: by its name in `PATH`, which stays the same
/// when another version is installed, or else by where it is.
pub(crate) fn own_program() -> Result<PathBuf, Failure> {
    let own = env::current_exe().map_err(|error| {
        let chain = anyhow::Error::new(error).context("bashd's own program can't be found");
        Failure::of(FailureKind::System, chain)
    })?;
    let in_path = search_path().into_iter().map(|folder| folder.join("bashd"));
    let is_own =
        |path: &PathBuf| path.is_absolute() && path.canonicalize().is_ok_and(|real| real == own);
    Ok(in_path.into_iter().find(is_own).unwrap_or(own))
}

/// The value of a variable, unless it is empty.
pub(crate) fn given(name: &str) -> Option<OsString> {
    set(name)
}

/// The whole environment.
pub(crate) fn environment() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}

/// The variables that may override configuration keys.
pub(crate) fn variables() -> Vec<(OsString, OsString)> {
    let is_ours = |name: &OsString| {
        name.as_encoded_bytes()
            .starts_with(env_vars::PREFIX.as_bytes())
    };
    env::vars_os().filter(|(name, _)| is_ours(name)).collect()
}

/// What commands inherit. If the current directory is gone, an absolute `cwd` will do.
pub(crate) fn for_commands(cwd: Option<&Path>) -> Result<bashd::Surroundings, Failure> {
    let given = cwd.filter(|cwd| cwd.is_absolute()).map(Path::to_owned);
    Ok(bashd::Surroundings {
        cwd: self::cwd().or_else(|failure| given.ok_or(failure))?,
        // A tape is this server's: one that a command starts has none.
        env: env::vars_os()
            .filter(|(name, _)| !env_vars::TAPES.iter().any(|tape| name == tape))
            .collect(),
    })
}

/// The path of this program.
pub(crate) fn this_program() -> String {
    let path = env::current_exe().unwrap_or_else(|_| PathBuf::from("bashd"));
    path.to_string_lossy().into_owned()
}

/// What a single command inherits. If the current directory is gone, its former path is used, so
/// that there is a reply that says which directory is missing.
pub(crate) fn for_one_command() -> bashd::Surroundings {
    bashd::Surroundings {
        cwd: env::current_dir().unwrap_or_else(|_| path_of_gone_directory()),
        env: env::vars_os().collect(),
    }
}

fn path_of_gone_directory() -> PathBuf {
    let here = PathBuf::from("/proc/self/cwd");
    let Ok(link) = here.read_link() else {
        return here;
    };
    let bytes = link.as_os_str().as_bytes();
    let path = bytes.strip_suffix(b" (deleted)").unwrap_or(bytes);
    PathBuf::from(OsStr::from_bytes(path))
}

/// The current directory.
pub(crate) fn cwd() -> Result<PathBuf, Failure> {
    env::current_dir().map_err(|error| {
        let chain = anyhow::Error::new(error).context("the current directory is gone");
        Failure::of(FailureKind::System, chain).hint("change into a directory that exists")
    })
}

/// The directories in which programs are looked up.
pub(crate) fn search_path() -> Vec<PathBuf> {
    env::split_paths(&set("PATH").unwrap_or_default()).collect()
}

/// The program in which long lists are shown.
#[derive(Debug)]
pub(crate) struct UserPager {
    /// As a command line.
    pub(crate) command: OsString,
    /// What `LESS` is set to, unless the user did.
    pub(crate) less: Option<&'static str>,
}

/// The user's pager; none if that is `cat` or empty.
pub(crate) fn pager() -> Option<UserPager> {
    let chosen = env::var_os("PAGER").unwrap_or_else(|| "less".into());
    let is_none = chosen.is_empty() || chosen == "cat";
    (!is_none).then(|| UserPager {
        command: chosen,
        less: set("LESS").is_none().then_some("FRX"),
    })
}

/// The user's editor, as a command line.
pub(crate) fn editor() -> Option<OsString> {
    let usual = ["sensible-editor", "nano", "vim", "vi"].map(OsString::from);
    own_editor().or_else(|| usual.into_iter().find(|name| finds(name)))
}

fn own_editor() -> Option<OsString> {
    ["VISUAL", "EDITOR"].into_iter().find_map(set)
}

/// Whether the user has named an editor.
pub(crate) fn has_own_editor() -> bool {
    own_editor().is_some()
}

/// Whether there is a program of this name.
pub(crate) fn finds(name: impl AsRef<Path>) -> bool {
    let mut folders = search_path().into_iter();
    folders.any(|folder| folder.join(&name).exists())
}

/// What the environment says about the terminal.
pub(crate) fn terminal_hints() -> TerminalHints {
    let text = |name| set(name).map(|value| value.to_string_lossy().into_owned());
    let (term, program) = (text("TERM"), text("TERM_PROGRAM"));
    let is_set = |names: &[&str]| names.iter().any(|name| set(name).is_some());
    TerminalHints {
        term: term.unwrap_or_default(),
        program: program.unwrap_or_default(),
        is_multiplexed: is_set(&["TMUX", "STY"]),
        has_desktop: is_set(&["WAYLAND_DISPLAY", "DISPLAY"]) && !is_set(&["SSH_CONNECTION"]),
    }
}

/// What the environment says about colors.
pub(crate) fn color_hints() -> ColorHints {
    ColorHints {
        no_color: set("NO_COLOR").is_some(),
        force: set("CLICOLOR_FORCE").is_some_and(|value| value != "0"),
        dumb_terminal: set("TERM").is_some_and(|value| value == "dumb"),
    }
}

/// The time zone of the user.
pub(crate) fn time_zone() -> TimeZone {
    TimeZone::system()
}

/// A variable's value; as usual, an empty one counts as unset.
fn set(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}
