//! A job on disk: the directory by which every bashd process knows a run that outlives its call.
//!
//! The keeper writes it and anybody reads it, so the files and their meaning are fixed here.

pub mod abandoned;
pub mod directory;
pub mod end_line;
pub mod recall;
pub mod roster;

/// A file beside the jobs that is touched whenever one ends.
pub const BELL: &str = "bell";
