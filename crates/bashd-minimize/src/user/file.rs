//! The TOML format of a file of filters.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The version of the format.
const SCHEMA_VERSION: i64 = 1;

/// A whole file. Tables of other names are options of other tools, and are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct FilterFile {
    schema_version: i64,
    pub(super) enabled: Option<bool>,
    #[serde(default)]
    pub(super) only: Vec<String>,
    #[serde(default)]
    pub(super) except: Vec<String>,
    pub(super) max_capture_bytes: Option<usize>,
    #[serde(default)]
    pub(super) filters: BTreeMap<String, Definition>,
    #[serde(default)]
    pub(super) tests: BTreeMap<String, Vec<Test>>,
}

/// One filter as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Definition {
    #[serde(rename = "description")]
    _description: Option<String>,
    pub(super) match_command: String,
    pub(super) match_subcommand: Option<String>,
    #[serde(default, rename = "strip_ansi")]
    _strip_ansi: bool,
    #[serde(default)]
    pub(super) replace: Vec<Replace>,
    #[serde(default)]
    pub(super) match_output: Vec<MatchOutput>,
    #[serde(default)]
    pub(super) strip_lines_matching: Vec<String>,
    #[serde(default)]
    pub(super) keep_lines_matching: Vec<String>,
    pub(super) truncate_lines_at: Option<usize>,
    pub(super) head_lines: Option<usize>,
    pub(super) tail_lines: Option<usize>,
    pub(super) max_lines: Option<usize>,
    pub(super) on_empty: Option<String>,
    #[serde(default)]
    pub(super) only_on_exit: Vec<i32>,
    #[serde(default)]
    pub(super) except_on_exit: Vec<i32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replace {
    pub(super) pattern: String,
    pub(super) replacement: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MatchOutput {
    pub(super) pattern: String,
    pub(super) message: String,
    pub(super) unless: Option<String>,
}

/// One test of a filter.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) input: String,
    pub(super) expected: String,
    pub(super) exit: Option<i32>,
}

impl FilterFile {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let file: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if file.schema_version == SCHEMA_VERSION {
            Ok(file)
        } else {
            Err(format!(
                "schema_version is {}, but only {SCHEMA_VERSION} is supported",
                file.schema_version
            ))
        }
    }
}
