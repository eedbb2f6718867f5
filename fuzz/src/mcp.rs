//! The file of the binary that reads messages of MCP.

use rmcp::model::ClientJsonRpcMessage;

#[path = "../../crates/bashd-cli/src/mcp/message.rs"]
#[expect(
    dead_code,
    reason = "the server limits the length of lines, not the reader"
)]
mod message;

/// The message in a line.
pub(crate) fn message_of(line: &[u8]) -> Option<ClientJsonRpcMessage> {
    message::read(line).ok()
}
