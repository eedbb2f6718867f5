//! bashd runs shell commands for LLM agents.
#![deny(missing_docs)]

pub mod config;
pub mod error;
pub mod event;
pub mod exec;
pub mod guard;
pub mod ledger;
pub mod notice;
pub mod output;
pub mod plan;
pub mod profile;
pub mod reply;
pub mod request;
pub mod rewrite;
mod template;
