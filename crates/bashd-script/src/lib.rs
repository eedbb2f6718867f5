//! Reads bash scripts without running them.
//!
//! [`script`] takes a text apart into the commands that bash would execute; [`guard`] judges them
//! by rules; [`rewrite`] lifts a leading `cd` and trailing line limits off them; [`addresses`]
//! finds internal URLs. Everything here is pure: no file is opened, no process is made, nothing
//! waits. So a verdict can be had without an engine, by any program.
//!
//! ```
//! use bashd_script::guard::{Guard, Verdict};
//! use bashd_script::script::Script;
//!
//! let text = "cd /tmp && git push --force";
//! let guard = Guard::new(["no_force_push"], &[]);
//! assert!(matches!(guard.check(&Script::parse(text), text), Verdict::Ask(_)));
//! ```
//!
//! Used by `bashd-minimize` (which tool wrote an output), by `bashd` (every call) and by the binary
//! (`bashd check`). It depends on none of them.

#![deny(missing_docs)]
// The example of the README is run.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

pub mod addresses;
pub mod guard;
pub mod rewrite;
pub mod script;
