//! The integration tests of `bashd-minimize`: one program, and this is its map.
//!
//! | file | shows |
//! |---|---|
//! | `cases` | recorded outputs of real tools: what is shown of each, its facts, and the tokens saved |
//! | `fresh` | outputs that nobody recorded, written with their facts before they were measured |
//! | `insertions` | lines of a user put into recorded outputs: each is in what is shown |
//! | `outside` | recorded outputs that no filter was written with: what is saved, lost and false of each tool |
//! | `properties` | every filter on any text: never larger, nothing of a failure lost, the same when done again |
//! | `seen` | outputs in which something that mattered was once lost, and their like |
//! | `truth` | the contract of the tiers: the exact one read backwards, every number of the footer counted again |
//! | `windows` | how many facts of long outputs a window shows, by its size |
//!
//! Cases that are data live in `tests/cases/`. A file that is missing here fails `tidy`.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "test code: variables switch its modes, and a panic with a text is how it says what is wrong"
)]

mod cases;
mod fresh;
mod insertions;
mod outside;
mod properties;
mod seen;
mod truth;
mod windows;
