//! The integration tests of `bashd-script`: one program, and this is its map.
//!
//! | file | shows |
//! |---|---|
//! | `corpus` | the default rules on a thousand commands, bad and everyday, by class |
//! | `disguises` | (no tests) what can stand around a command that still runs |
//! | `documented` | (no tests) the guard as the documents have it, and their table of cases |
//! | `executed` | random scripts under real bash, with stubs: what really ran against the verdict |
//! | `fresh` | commands that were written down before any was judged: shares caught and refused |
//! | `guard_cases` | the guard on data: `tests/cases/guard/` and the documents' table |
//! | `guard_properties` | any text gets a verdict in linear time; wrappers, quotes and pipelines free nothing |
//! | `reading` | disguises on data: `tests/cases/reading/` |
//! | `soundness` | scripts in which bash has the last word: what is said to be right, and which commands another parser sees |
//! | `spellings` | (no tests) spellings of a word that the shell reads the same |
//! | `stage` | (no tests) a directory of stubs, where scripts run under real bash |
//! | `wrapper_help` | the table of wrappers against what the programs say of themselves |
//!
//! Cases that are data live in `tests/cases/`. A file that is missing here fails `tidy`.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "test code: it runs programs of its own, and a panic with a text is how it says what is wrong"
)]

mod corpus;
mod disguises;
mod documented;
mod executed;
mod fresh;
mod guard_cases;
mod guard_properties;
mod reading;
#[path = "../../src/script/second_opinion.rs"]
mod second_opinion;
mod soundness;
mod spellings;
mod stage;
mod wrapper_help;
