//! The library's integration tests: one program, and this is its map.
//!
//! | file | shows |
//! |---|---|
//! | `contracts` | every case id of the profiles' documents has a test that exists; so has every decision |
//! | `engine_under_test` | (no tests) an engine in a hermetic home, and a run of it with its bytes |
//! | `guard` | what the guard denies never runs; who is asked; what the environment can't slip past it |
//! | `guard_cases` | the guard on data: `tests/cases/guard/` and the documents' table |
//! | `guard_properties` | any text gets a verdict in linear time; wrappers, quotes and pipelines free nothing |
//! | `oracle` | scripts behave as under plain `bash -c`, byte for byte, short or long |
//! | `sources` | (no tests) the repository's files and the names of its tests, for `contracts` and `tidy` |
//! | `tidy` | the house rules that a machine can check |
//!
//! Cases that are data live in `tests/cases/`. A file that is missing here fails `tidy`.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "test code: it runs programs of its own, and a panic with a text is how it says what is wrong"
)]

mod contracts;
mod engine_under_test;
mod guard;
mod guard_cases;
mod guard_properties;
mod oracle;
mod sources;
mod tidy;
