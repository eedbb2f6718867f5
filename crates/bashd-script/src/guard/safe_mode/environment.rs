//! What strict safe mode removes from the environment, and what it adds.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};

/// Variables through which an inherited environment controls an allowed program: they load code,
/// name another program, or add unchecked options.
const REMOVED: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "IFS",
    "CDPATH",
    "GLOBIGNORE",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "SSH_ASKPASS",
    "RIPGREP_CONFIG_PATH",
    "GREP_OPTIONS",
    "NODE_OPTIONS",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "LD_PRELOAD",
    "LD_AUDIT",
    "XCODE_XCCONFIG_FILE",
];

/// Prefixes of such names.
const REMOVED_BEGINNINGS: &[&str] = &["BASH_FUNC_", "GIT_", "DYLD_", "npm_config_", "NPM_CONFIG_"];

/// What a call may set itself: how output looks, not what runs.
const MAY_BE_SET: &[&str] = &[
    "CI",
    "COLUMNS",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NO_COLOR",
    "TERM",
    "TZ",
];

/// For git: no pager, no prompt, no lock, no transport, no lazy fetch.
const GIT: &[(&str, &str)] = &[
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_EDITOR", "false"),
    ("GIT_ASKPASS", "false"),
];

/// Configuration that a repository cannot override, for programs that git would start by itself.
const GIT_CONFIG: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.alternateRefsCommand", "false"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("log.showSignature", "false"),
    ("log.diffMerges", "separate"),
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
];

/// Whether a call may set this variable.
pub(super) fn may_be_set(name: &str) -> bool {
    MAY_BE_SET.contains(&name) || name.starts_with("LC_")
}

/// What a strict run's environment has whatever was inherited: nothing that git would start by
/// itself.
pub fn settings() -> impl Iterator<Item = (String, String)> {
    let plain = GIT
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let numbered = GIT_CONFIG
        .iter()
        .enumerate()
        .flat_map(|(at, (key, value))| {
            [
                (format!("GIT_CONFIG_KEY_{at}"), (*key).to_owned()),
                (format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned()),
            ]
        });
    let count = ("GIT_CONFIG_COUNT".to_owned(), GIT_CONFIG.len().to_string());
    plain.chain(numbered).chain([count])
}

/// Whether a strict run does without this variable: it steers what runs.
pub fn is_removed(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    REMOVED.contains(&&*name)
        || REMOVED_BEGINNINGS
            .iter()
            .any(|beginning| name.starts_with(beginning))
}

/// The search path without what a repository could bring along: relative directories, and those in
/// the workspace (unless the workspace is the root or the home directory, which is no
/// repository's).
pub fn own_path(path: &OsStr, workspace: &Path, home: Option<&OsStr>) -> OsString {
    let is_repository = workspace.parent().is_some() && home != Some(workspace.as_os_str());
    let is_foreign = |directory: &Path| {
        let climbs = directory
            .components()
            .any(|part| part == Component::ParentDir);
        !directory.is_absolute() || climbs || (is_repository && directory.starts_with(workspace))
    };
    let kept = std::env::split_paths(path).filter(|directory| !is_foreign(directory));
    std::env::join_paths(kept).unwrap_or_default()
}
