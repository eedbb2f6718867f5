//! Runs a shell under a *keeper*: a small process that owns the tree, the output and the deadline.
//!
//! [`keeper`] is what runs in that process and the protocol by which it is asked; [`spool`] is
//! where the output goes, bounded and with exact counts; [`job`] is the directory of a run that
//! outlives its call; [`os`] is the operating system behind all of it. The keeper is
//! single-threaded and waits for nobody, so there is no asynchronous runtime here; and this is the
//! only crate with `unsafe` code, all of it in `os`.
//!
//! Used by `bashd`, which decides what runs and speaks to keepers. It depends on no other crate of
//! ours.

#![deny(missing_docs)]
// The example of the README is run.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

pub mod capture;
pub mod confinement;
pub mod counted;
pub mod exit;
pub mod file_lock;
pub mod hosts;
pub mod job;
pub mod keeper;
pub mod left_behind;
pub mod mounted;
pub mod os;
pub mod quote;
pub mod refusals;
pub mod reset;
pub mod resources;
pub mod runtime;
pub mod seal;
pub mod secrets;
pub mod seen_clock;
pub mod signal;
pub mod size;
pub mod source;
pub mod spool;
pub mod template;
pub mod text;
pub mod variables;
