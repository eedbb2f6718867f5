//! The settings `shell_minimizer.*`, and the user's file of filters that they may name.

use super::resolve::Values;
use crate::error::Result;
use crate::minimize::FilterSettings;
use crate::minimize::user::{Loaded, UserFilters};
use std::fs;
use std::path::PathBuf;

/// Whether output is minimized, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MinimizerSettings {
    /// Whether anything is minimized, in the profiles that do so.
    pub enabled: bool,
    /// A TOML file with filters of the user.
    pub settings_path: Option<PathBuf>,
    /// Only these programs' output is minimized; empty: all output.
    pub only: Vec<String>,
    /// These programs' output is never minimized.
    pub except: Vec<String>,
    /// Longer output is never minimized.
    pub max_capture_bytes: u64,
}

impl MinimizerSettings {
    pub(super) fn from_values(values: &Values) -> Result<Self> {
        Ok(Self {
            enabled: values.switch("shell_minimizer.enabled")?,
            settings_path: values
                .optional("shell_minimizer.settings_path")?
                .map(PathBuf::from),
            only: values.list("shell_minimizer.only")?.to_vec(),
            except: values.list("shell_minimizer.except")?.to_vec(),
            max_capture_bytes: values.number("shell_minimizer.max_capture_bytes")?,
        })
    }

    /// The settings in force, with the user's file; `None` if disabled. Problems in the file are
    /// reported, and the rest of it still applies.
    pub fn load(&self) -> (Option<FilterSettings>, Vec<String>) {
        let mut loaded = Loaded::default();
        if let Some(path) = &self.settings_path {
            match fs::read_to_string(path) {
                Ok(text) => loaded = UserFilters::load(&text),
                Err(error) => loaded.problems.push(error.to_string()),
            }
            let named = |problem: &String| format!("{}: {problem}", path.display());
            loaded.problems = loaded.problems.iter().map(named).collect();
        }
        let problems = std::mem::take(&mut loaded.problems);
        let enabled = self.enabled && loaded.enabled.unwrap_or(true);
        (enabled.then(|| self.with(loaded)), problems)
    }

    /// The narrower of the two applies.
    fn with(&self, loaded: Loaded) -> FilterSettings {
        let only = if self.only.is_empty() {
            loaded.only
        } else {
            self.only.clone()
        };
        let mut except = self.except.clone();
        except.extend(loaded.except);
        let own = self.max_capture_bytes as usize;
        FilterSettings {
            only,
            except,
            max_bytes: loaded.max_capture_bytes.map_or(own, |more| more.min(own)),
            user_filters: loaded.filters,
            ..FilterSettings::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn the_defaults_minimize_everything_up_to_four_mebibytes() {
        let (settings, problems) = Config::new("/nowhere").minimizer.load();
        let settings = settings.unwrap();
        assert_eq!((settings.max_bytes, problems.len()), (4 << 20, 0));
        assert!(settings.only.is_empty() && settings.except.is_empty());
    }

    #[test]
    fn a_file_narrows_and_its_problems_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("filters.toml");
        std::fs::write(&path, "schema_version = 1\nexcept = [\"git\"]\nmax_capture_bytes = 2000\n[filters.a]\nmatch_command = \"(\"\n").unwrap();
        let mut own = Config::new("/nowhere").minimizer;
        own.settings_path = Some(path);
        own.except = vec!["cargo".to_owned()];
        let (settings, problems) = own.load();
        let settings = settings.unwrap();
        assert_eq!(
            (settings.except, settings.max_bytes),
            (vec!["cargo".to_owned(), "git".to_owned()], 2000)
        );
        assert!(
            problems[0].contains("filters.toml: filter `a`"),
            "{problems:?}"
        );
        own.enabled = false;
        assert!(own.load().0.is_none());
        own.settings_path = Some("/nowhere/at/all".into());
        assert_eq!(own.load().1.len(), 1);
    }
}
