//! Which variables commands get, and what is hidden of secrets, as it is configured.

use super::resolve::Values;
use crate::error::Result;
use crate::secrets::{KnownSecrets, is_credential};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// What programs need to work at all. A `*` at the end stands for anything.
const BASIC: &[&str] = &[
    "BASHD_RUN",
    "COLORTERM",
    "COLUMNS",
    "EDITOR",
    "HOME",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LINES",
    "LOGNAME",
    "NO_COLOR",
    "OLDPWD",
    "PAGER",
    "PATH",
    "PWD",
    "SHELL",
    "SHLVL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_*",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];

/// Which variables commands get, by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum EnvPreset {
    /// [`EnvPreset::NoSecrets`] where commands are confined, else [`EnvPreset::All`].
    #[default]
    Auto,
    /// All.
    All,
    /// All but credentials.
    NoSecrets,
    /// Those that programs need to work at all.
    Basic,
}

/// Which variables commands get.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct EnvSettings {
    /// Which ones by kind.
    pub preset: EnvPreset,
    /// Which ones whatever the preset says. A `*` at the end stands for anything.
    pub allow: Vec<String>,
}

impl EnvSettings {
    pub(super) fn from_values(values: &Values) -> Result<Self> {
        Ok(Self {
            preset: match values.text("env.preset")? {
                "all" => EnvPreset::All,
                "no-secrets" => EnvPreset::NoSecrets,
                "basic" => EnvPreset::Basic,
                _ => EnvPreset::Auto,
            },
            allow: values.list("env.allow")?.to_vec(),
        })
    }

    /// What holds for a command.
    pub(crate) fn of(&self, is_confined: bool) -> EnvRules<'_> {
        EnvRules {
            preset: match self.preset {
                EnvPreset::Auto if is_confined => EnvPreset::NoSecrets,
                EnvPreset::Auto => EnvPreset::All,
                preset => preset,
            },
            allow: &self.allow,
            is_confined,
        }
    }
}

/// Which variables a command gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EnvRules<'a> {
    preset: EnvPreset,
    allow: &'a [String],
    is_confined: bool,
}

impl EnvRules<'_> {
    /// Whether there is anything that a command does not get.
    pub(crate) fn keeps_any(self) -> bool {
        self.preset != EnvPreset::All || self.is_confined
    }

    /// Whether a command does without this variable.
    pub(crate) fn keeps(self, name: &OsStr, value: &OsStr) -> bool {
        let name = name.to_string_lossy();
        // A directory for temporary files that was meant for others can't be written.
        if self.is_confined && name == "TMPDIR" {
            return true;
        }
        let is_kept = match self.preset {
            EnvPreset::Auto | EnvPreset::All => false,
            EnvPreset::NoSecrets => is_credential(&name, &value.to_string_lossy()),
            EnvPreset::Basic => !BASIC.iter().any(|known| is_meant(known, &name)),
        };
        is_kept && !self.allow.iter().any(|allowed| is_meant(allowed, &name))
    }
}

fn is_meant(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(begins) => name.starts_with(begins),
        None => pattern == name,
    }
}

/// What is hidden of secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecretSettings {
    /// Overrides what profiles say about output.
    pub output: Option<bool>,
    /// Files of `NAME=value` lines whose values are secrets, too.
    pub files: Vec<PathBuf>,
    /// What is known: everything that is made from this configuration shares it.
    pub known: KnownSecrets,
}

impl SecretSettings {
    pub(super) fn from_values(values: &Values, home: Option<&Path>) -> Result<Self> {
        let files = values.list("secrets.files")?.iter();
        let files = files.map(|file| match (file.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(file),
        });
        Ok(Self {
            output: match values.text("secrets.output")? {
                "hide" => Some(true),
                "show" => Some(false),
                _ => None,
            },
            files: files.collect(),
            known: KnownSecrets::default(),
        })
    }

    /// Learns the secrets of an environment and of the files. Those that can't be read are
    /// returned: what is in them is shown.
    pub fn learn(&self, env: &[(OsString, OsString)]) -> Vec<(PathBuf, io::Error)> {
        self.known.learn(env);
        let learnt = |file: &PathBuf| {
            let failed = self.known.learn_file(file).err();
            failed.map(|error| (file.clone(), error))
        };
        self.files.iter().filter_map(learnt).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(preset: EnvPreset, is_confined: bool) -> Vec<&'static str> {
        let settings = EnvSettings {
            preset,
            allow: vec!["ALLOWED_TOKEN".to_owned(), "MY_*".to_owned()],
        };
        let variables = [
            ("HOME", "/home/somebody"),
            ("LC_ALL", "C"),
            ("TMPDIR", "/var/tmp"),
            ("CARGO_HOME", "/opt/cargo"),
            ("API_TOKEN", "short"),
            ("ALLOWED_TOKEN", "s3cr3t-canary"),
            ("MY_PASSWORD", "s3cr3t-canary"),
            (
                "DATABASE_URL",
                "postgres://app:Tr0ub4dor&3@db.example.org/x",
            ),
        ];
        let rules = settings.of(is_confined);
        let kept = variables
            .into_iter()
            .filter(|(name, value)| rules.keeps(OsStr::new(name), OsStr::new(value)));
        kept.map(|(name, _)| name).collect()
    }

    #[test]
    fn presets_say_which_variables_commands_get() {
        let secrets = ["API_TOKEN", "DATABASE_URL"];
        assert!(kept(EnvPreset::Auto, false).is_empty());
        assert_eq!(kept(EnvPreset::NoSecrets, false), secrets);
        assert_eq!(
            kept(EnvPreset::Auto, true),
            ["TMPDIR", "API_TOKEN", "DATABASE_URL"]
        );
        assert_eq!(kept(EnvPreset::All, true), ["TMPDIR"]);
        let besides = ["CARGO_HOME", "API_TOKEN", "DATABASE_URL"];
        assert_eq!(kept(EnvPreset::Basic, false), besides);
    }
}
