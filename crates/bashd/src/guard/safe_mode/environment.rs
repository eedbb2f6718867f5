//! What strict safe mode removes from the environment, and what it adds.

use crate::variables::Variables;
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

/// The environment of a strict run: nothing in it controls what runs.
pub(crate) fn scrub(env: &mut Variables, workspace: &Path) {
    env.retain(|name| !is_removed(name));
    let path = env.get("PATH");
    if let Some(path) = path.map(|path| own_path(path, workspace, env.get("HOME"))) {
        env.set("PATH", path);
    }
    env.extend(GIT.iter().copied());
    for (at, (key, value)) in GIT_CONFIG.iter().enumerate() {
        env.set(format!("GIT_CONFIG_KEY_{at}"), key);
        env.set(format!("GIT_CONFIG_VALUE_{at}"), value);
    }
    env.set("GIT_CONFIG_COUNT", GIT_CONFIG.len().to_string());
}

fn is_removed(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    REMOVED.contains(&&*name)
        || REMOVED_BEGINNINGS
            .iter()
            .any(|beginning| name.starts_with(beginning))
}

/// The search path without what a repository could bring along: relative directories, and those in
/// the workspace (unless the workspace is the root or the home directory, which is no
/// repository's).
fn own_path(path: &OsStr, workspace: &Path, home: Option<&OsStr>) -> OsString {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubbed(env: &[(&str, &str)], workspace: &str) -> Vec<(String, String)> {
        let mut env: Variables = env.iter().copied().collect();
        scrub(&mut env, Path::new(workspace));
        let text = |text: &OsStr| text.to_str().unwrap().to_owned();
        env.iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect()
    }

    #[test]
    fn what_steers_is_gone_and_what_describes_stays() {
        let kept = scrubbed(
            &[
                ("GIT_EXTERNAL_DIFF", "evil"),
                ("GIT_PAGER", "evil"),
                ("BASH_FUNC_git%%", "() { evil; }"),
                ("BASH_ENV", "evil"),
                ("NODE_OPTIONS", "--require evil"),
                ("LD_PRELOAD", "evil"),
                ("npm_config_script_shell", "evil"),
                ("USER", "me"),
            ],
            "/w",
        );
        assert!(
            kept.iter().all(|(_, value)| !value.contains("evil")),
            "{kept:?}"
        );
        assert!(kept.contains(&("USER".into(), "me".into())));
        assert!(kept.contains(&("GIT_PAGER".into(), "cat".into())));
    }

    #[test]
    fn no_program_comes_from_the_workspace() {
        let path = "/w/node_modules/.bin:.::bin:/usr/bin:/x/../w:/wide";
        for (workspace, expected) in [
            ("/w", "/usr/bin:/wide"),
            ("/", "/w/node_modules/.bin:/usr/bin:/wide"),
        ] {
            let kept = scrubbed(&[("PATH", path)], workspace);
            assert!(kept.contains(&("PATH".into(), expected.into())), "{kept:?}");
        }
        let kept = scrubbed(&[("PATH", "/h/bin:/bin"), ("HOME", "/h")], "/h");
        assert!(
            kept.contains(&("PATH".into(), "/h/bin:/bin".into())),
            "{kept:?}"
        );
    }
}
