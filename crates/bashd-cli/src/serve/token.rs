//! Tokens of HTTP servers: made at random, compared without telling how far they agree.

use crate::failure::{Failure, FailureKind};
use anyhow::Context;
use std::fmt::Write;

/// Bytes of randomness in a generated token.
pub(crate) const RANDOM: usize = 16;

/// Compares in a time that does not reveal where two texts differ.
pub(crate) fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other);
    let differing = differences.fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && differing == 0
}

/// A token that nobody can guess.
pub(crate) fn random() -> Result<String, Failure> {
    let mut bytes = [0; RANDOM];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("no token can be generated")
        .map_err(|chain| Failure::of(FailureKind::System, chain))?;
    Ok(in_hex(&bytes))
}

/// Bytes as text.
pub(crate) fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
