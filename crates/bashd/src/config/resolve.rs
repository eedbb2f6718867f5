//! From flags, variables and file to one [`Config`]: pure; the last source wins.
//!
//! Nothing here touches the system: callers hand over the texts they found.

use super::keys::{self, ConfigKey};
use super::report::{ConfigEntry, ConfigReport, ValueOrigin, Warning};
use super::table::KEYS;
use super::value::{Unfit, Value};
use super::{Config, env_vars, places, rules};
use crate::error::{Error, ErrorKind, Result};
use crate::guard::interceptor::InterceptorRule;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// What the layers say, weakest last in precedence: flags, variables, file, defaults.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Where runs, ledger and artifacts live.
    pub state_dir: PathBuf,
    /// Directory that holds `profiles` unless `profiles_dir` says otherwise.
    pub config_dir: Option<PathBuf>,
    /// What `~/` stands for in paths.
    pub home: Option<PathBuf>,
    /// The configuration file, if there is one.
    pub file: Option<ConfigFile>,
    /// Environment variables that begin with `BASHD_`; others are ignored.
    pub variables: Vec<(OsString, OsString)>,
    /// `KEY=VALUE` texts; if a key is set twice, the later one wins.
    pub flags: Vec<String>,
}

/// A configuration file as it was read.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// Resolves the layers into the configuration in force, and reports where each value came from.
pub fn resolve(sources: &Sources) -> Result<(Config, ConfigReport)> {
    let mut values = Values::defaults()?;
    if let Some(ConfigFile { path, text }) = &sources.file {
        values.read_toml(text, &|line| ValueOrigin::File {
            path: path.clone(),
            line,
        })?;
    }
    values.read_variables(&sources.variables)?;
    values.read_flags(&sources.flags)?;
    values.expand_paths(sources.home.as_deref());
    let mut config = Config::from_values(&values, sources)?;
    if let Some(file) = &sources.file {
        config.rules = rules::read(file)?;
        config.places = places::read(file)?;
    }
    let Values { slots, warnings } = values;
    let entries = KEYS
        .iter()
        .zip(slots)
        .filter_map(|(key, slot)| slot.map(|(value, origin)| ConfigEntry { key, value, origin }));
    Ok((
        config,
        ConfigReport {
            entries: entries.collect(),
            warnings,
        },
    ))
}

/// The values so far, one slot per key of the table.
pub(super) struct Values {
    slots: [Option<(Value, ValueOrigin)>; KEYS.len()],
    warnings: Vec<Warning>,
}

impl Values {
    /// Every key with its default.
    fn defaults() -> Result<Self> {
        let mut slots = std::array::from_fn(|_| None);
        for (key, slot) in KEYS.iter().zip(&mut slots) {
            let read = Value::from_text(key.kind, key.default);
            let value = fit(key, read, &ValueOrigin::Default)?;
            *slot = Some((value, ValueOrigin::Default));
        }
        Ok(Self {
            slots,
            warnings: Vec::new(),
        })
    }

    fn set(
        &mut self,
        key: &'static ConfigKey,
        read: Result<Value, Unfit>,
        origin: ValueOrigin,
    ) -> Result<()> {
        let value = fit(key, read, &origin)?;
        for (known, slot) in KEYS.iter().zip(&mut self.slots) {
            if known.name == key.name {
                // TOML knows a key that is there twice, but not by another spelling.
                if let (Some((_, before @ ValueOrigin::File { .. })), ValueOrigin::File { .. }) =
                    (&slot, &origin)
                {
                    let message =
                        format!("`{}` is given twice, at {before} and {origin}", key.name);
                    return Err(Error::new(ErrorKind::Config, message));
                }
                *slot = Some((value, origin));
                break;
            }
        }
        Ok(())
    }

    fn warn(&mut self, unknown: &str, origin: ValueOrigin, nearest: Option<String>) {
        self.warnings.push(Warning {
            unknown: unknown.to_owned(),
            origin,
            nearest,
        });
    }

    fn read_toml(&mut self, text: &str, origin: &dyn Fn(usize) -> ValueOrigin) -> Result<()> {
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            let message = error.message().trim_end();
            Error::new(
                ErrorKind::Config,
                format!("not valid TOML at {}: {message}", origin(line)),
            )
        })?;
        self.read_table("", table.get_ref(), &|offset| origin(line_of(text, offset)))?;
        // The parser gives keys in alphabetical order, people look for them in the file's.
        self.warnings.sort_by_key(|warning| match warning.origin {
            ValueOrigin::File { line, .. } => line,
            ValueOrigin::Default | ValueOrigin::Variable(_) | ValueOrigin::Flag => 0,
        });
        Ok(())
    }

    fn read_table(
        &mut self,
        group: &str,
        table: &DeTable<'_>,
        origin: &dyn Fn(usize) -> ValueOrigin,
    ) -> Result<()> {
        for (part, found) in table {
            let name = match group {
                "" => Cow::Borrowed(part.get_ref().as_ref()),
                group => Cow::Owned(format!("{group}.{}", part.get_ref())),
            };
            let at = origin(part.span().start);
            match (keys::find(&name), found.get_ref()) {
                // Not a value but a list of tables, read apart.
                (None, DeValue::Array(_)) if name == rules::TABLE => {}
                (None, DeValue::Table(_)) if name == places::TABLE => {}
                (Some(key), found) => self.set(key, Value::from_toml(key.kind, found), at)?,
                (None, DeValue::Table(inner)) if keys::is_group(&name) => {
                    self.read_table(&name, inner, origin)?;
                }
                (None, _) if keys::is_group(&name) => {
                    return Err(wrong_type(&name, &"a table of keys", "a single value", &at));
                }
                (None, _) => self.warn(&name, at, nearest_key(&name)),
            }
        }
        Ok(())
    }

    fn read_variables(&mut self, variables: &[(OsString, OsString)]) -> Result<()> {
        for (name, text) in variables {
            let name = name.to_string_lossy();
            // By custom, an empty variable counts as unset.
            if !name.starts_with(env_vars::PREFIX) || text.is_empty() {
                continue;
            }
            let origin = ValueOrigin::Variable(name.clone().into_owned());
            match keys::of_variable(&name) {
                Some(key) => {
                    let read = match text.to_str() {
                        Some(text) => Value::from_text(key.kind, text),
                        None => Err(Unfit("bytes that are not UTF-8".to_owned())),
                    };
                    self.set(key, read, origin)?;
                }
                None if env_vars::NOT_KEYS.contains(&name.as_ref())
                    || name.starts_with(env_vars::TESTS) => {}
                None => self.warn(&name, origin, nearest_variable(&name)),
            }
        }
        Ok(())
    }

    fn read_flags(&mut self, flags: &[String]) -> Result<()> {
        for flag in flags {
            let Some((name, text)) = flag.split_once('=') else {
                let message = format!("expected KEY=VALUE after --set, found {flag:?}");
                return Err(Error::new(ErrorKind::Config, message));
            };
            let name = name.trim();
            match keys::find(name) {
                Some(key) => self.set(key, Value::from_text(key.kind, text), ValueOrigin::Flag)?,
                None => self.warn(name, ValueOrigin::Flag, nearest_key(name)),
            }
        }
        Ok(())
    }

    /// Makes paths independent of who reads them later: `~/` is the home directory, and a path in
    /// a file is relative to that file.
    fn expand_paths(&mut self, home: Option<&Path>) {
        for (key, slot) in KEYS.iter().zip(&mut self.slots) {
            let Some((Value::Text(text), origin)) = slot else {
                continue;
            };
            if key.kind != keys::ValueKind::Path || text.is_empty() {
                continue;
            }
            let expanded = match (text.strip_prefix("~/"), home, &*origin) {
                (Some(rest), Some(home), _) => home.join(rest),
                (None, _, ValueOrigin::File { path, .. }) => {
                    path.parent().unwrap_or(Path::new("")).join(&*text)
                }
                _ => continue,
            };
            *text = expanded.to_string_lossy().into_owned();
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        let mut slots = KEYS.iter().zip(&self.slots);
        slots
            .find(|(key, _)| key.name == name)?
            .1
            .as_ref()
            .map(|(value, _)| value)
    }

    pub(super) fn switch(&self, name: &str) -> Result<bool> {
        match self.get(name) {
            Some(Value::Switch(truth)) => Ok(*truth),
            other => Err(no_default(name, other)),
        }
    }

    /// A switch; `None` where it is left to the profile.
    pub(super) fn switch_unless_profile(&self, name: &str) -> Result<Option<bool>> {
        match self.get(name) {
            Some(Value::Switch(truth)) => Ok(Some(*truth)),
            Some(Value::Text(_)) => Ok(None),
            other => Err(no_default(name, other)),
        }
    }

    /// A number; `None` where it is left to the profile.
    pub(super) fn number_unless_profile(&self, name: &str) -> Result<Option<u64>> {
        match self.get(name) {
            Some(Value::Text(_)) => Ok(None),
            _ => self.number(name).map(Some),
        }
    }

    pub(super) fn list(&self, name: &str) -> Result<&[String]> {
        match self.get(name) {
            Some(Value::List(items)) => Ok(items),
            other => Err(no_default(name, other)),
        }
    }

    pub(super) fn rules(&self, name: &str) -> Result<&[InterceptorRule]> {
        match self.get(name) {
            Some(Value::Rules(rules)) => Ok(rules),
            other => Err(no_default(name, other)),
        }
    }

    pub(super) fn number(&self, name: &str) -> Result<u64> {
        match self.get(name) {
            Some(Value::Number(number) | Value::Size(number)) => Ok(*number),
            other => Err(no_default(name, other)),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<&str> {
        match self.get(name) {
            Some(Value::Text(text)) => Ok(text),
            other => Err(no_default(name, other)),
        }
    }

    /// A text for which empty means not set.
    pub(super) fn optional(&self, name: &str) -> Result<Option<&str>> {
        Ok(Some(self.text(name)?).filter(|text| !text.trim().is_empty()))
    }
}

fn nearest_key(name: &str) -> Option<String> {
    keys::nearest(name).map(str::to_owned)
}

fn nearest_variable(name: &str) -> Option<String> {
    let as_key = name.strip_prefix(env_vars::PREFIX)?.to_ascii_lowercase();
    let dotted = as_key.replacen('_', ".", 1);
    let name = keys::nearest(&dotted).or_else(|| keys::nearest(&as_key))?;
    keys::find(name).map(ConfigKey::variable)
}

fn fit(key: &ConfigKey, read: Result<Value, Unfit>, origin: &ValueOrigin) -> Result<Value> {
    read.map_err(|Unfit(found)| wrong_type(key.name, &key.kind, &found, origin))
}

fn wrong_type(
    name: &str,
    expected: &dyn std::fmt::Display,
    found: &str,
    origin: &ValueOrigin,
) -> Error {
    let message = format!("`{name}` must be {expected}, but {origin} gives {found}");
    Error::new(ErrorKind::Config, message)
}

/// The table of keys and the defaults disagree: a defect of ours that tests rule out.
fn no_default(name: &str, found: Option<&Value>) -> Error {
    Error::new(
        ErrorKind::Config,
        format!("no usable default for `{name}`: {found:?}"),
    )
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text
        .bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
}
