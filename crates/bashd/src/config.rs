//! What the user configured, resolved: the library's slice of it. Nothing here reads env or home.
use crate::plan::Quota;
use std::ffi::OsString;
use std::path::PathBuf;

/// The resolved configuration of an engine.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Where runs, ledger and artifacts live.
    pub state_dir: PathBuf,
    /// How much output is kept of a run.
    pub quota: Quota,
}

/// What a host process hands to the engine of its own surroundings.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Directory in which calls without a `cwd` run.
    pub cwd: PathBuf,
    /// The environment that commands inherit.
    pub env: Vec<(OsString, OsString)>,
}
