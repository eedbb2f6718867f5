//! A profile: one document's contract as data, and the shaping of replies by it.
//!
//! `profiles/*.toml` hold the values and literal texts; what differs in kind is a small enum here.

pub mod reply;

use crate::plan::{Streams, Survivors};
use serde::Deserialize;

/// One document's contract.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// One line for `bashd schema --list` and docs.
    pub summary: String,
    /// How the output is captured and shown.
    pub output: OutputRules,
    /// When and how runs are ended.
    pub limits: LimitRules,
}

/// When and how a profile's runs are ended.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitRules {
    /// Default limit in seconds.
    pub timeout_s: u64,
    /// From TERM to KILL, in milliseconds.
    pub grace_ms: u64,
    /// Silence that ends the drain while something lives, in milliseconds.
    pub drain_silence_ms: u64,
    /// The drain's bound, in milliseconds.
    pub drain_total_ms: u64,
    /// What happens to what a normally finished shell left running.
    pub survivors: Survivors,
}

/// How a profile captures and shows output.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OutputRules {
    /// One pipe or two.
    pub streams: Streams,
    /// The window that each shown text passes.
    pub window: crate::output::window::Window,
}
