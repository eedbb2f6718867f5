//! What must hold for any bytes, one file for each reader of foreign input.
//!
//! `cargo fuzz` calls these functions with bytes that it makes up (`fuzz/run`); the test `replay`
//! calls them with the committed corpus. They panic when something does not hold.

#![expect(
    clippy::missing_panics_doc,
    reason = "a panic is how each of them says that something does not hold"
)]

mod mcp;
mod rpc;
mod serve;

pub mod guard;
pub mod lines;
pub mod messages;
pub mod minimizer;
pub mod outpost;
pub mod request;
pub mod script;
pub mod spool;

/// A fuzz target: its name, which is also its corpus' directory, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("guard", guard::try_bytes),
    ("lines", lines::try_bytes),
    ("messages", messages::try_bytes),
    ("minimizer", minimizer::try_bytes),
    ("outpost", outpost::try_bytes),
    ("request", request::try_bytes),
    ("script", script::try_bytes),
    ("spool", spool::try_bytes),
];

/// The bytes before the first NUL, as text, and the bytes behind it.
fn split_text(bytes: &[u8]) -> (String, &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0);
    let (text, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
    (
        String::from_utf8_lossy(text).into_owned(),
        rest.get(1..).unwrap_or_default(),
    )
}
