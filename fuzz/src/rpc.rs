//! The file of the binary that reads messages of RPC.

use serde_json::Value;

#[path = "../../crates/bashd-cli/src/rpc/message.rs"]
#[cfg_attr(
    test,
    expect(dead_code, reason = "a list that only tests of the binary compare")
)]
mod message;

/// The id that the answer to a line carries, whether the line can be read or not.
pub(crate) fn id_of(line: &[u8]) -> Option<Value> {
    match message::read(line) {
        Ok(message) => message.id,
        Err(misunderstood) => misunderstood.id,
    }
}
