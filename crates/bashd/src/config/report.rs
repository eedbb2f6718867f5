//! Where each value came from, and what was not understood: the data of `config show`.

use super::keys::ConfigKey;
use super::value::Value;
use std::fmt;
use std::path::PathBuf;

/// Where every value came from, and what was not understood.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ConfigReport {
    /// One entry per key, in the order of the reference.
    pub entries: Vec<ConfigEntry>,
    /// What was given and not understood.
    pub warnings: Vec<Warning>,
}

/// One key with its value.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConfigEntry {
    /// The key.
    pub key: &'static ConfigKey,
    /// The value in force.
    pub value: Value,
    /// Where it came from.
    pub origin: ValueOrigin,
}

/// Who gave a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueOrigin {
    /// bashd itself.
    Default,
    /// This line of this file.
    File {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
    },
    /// This environment variable.
    Variable(String),
    /// A `--set` flag.
    Flag,
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(formatter, "default"),
            Self::File { path, line } => write!(formatter, "{}:{line}", path.display()),
            Self::Variable(name) => write!(formatter, "{name}"),
            Self::Flag => write!(formatter, "--set"),
        }
    }
}

/// Something given that bashd does not understand.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The key, or the variable, as it was given.
    pub unknown: String,
    /// Who gave it.
    pub origin: ValueOrigin,
    /// What was probably meant.
    pub nearest: Option<String>,
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            ValueOrigin::Variable(name) => write!(formatter, "unknown variable {name}")?,
            ValueOrigin::Default | ValueOrigin::File { .. } | ValueOrigin::Flag => {
                write!(
                    formatter,
                    "unknown key `{}` ({})",
                    self.unknown, self.origin
                )?;
            }
        }
        match &self.nearest {
            Some(name) => write!(formatter, "; did you mean {name}?"),
            None => Ok(()),
        }
    }
}
