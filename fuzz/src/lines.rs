//! What clients of the servers write: messages of RPC and MCP, and the ids of those that can't be
//! read.

use crate::serve::id_scan::IdScan;
use rmcp::model::ClientJsonRpcMessage;
use serde_json::Value;

/// Reads the bytes as a line of a client.
pub fn try_bytes(bytes: &[u8]) {
    let scanned = IdScan::of(bytes);
    // However the bytes arrive, the scan finds the same.
    let mut in_pieces = IdScan::default();
    for piece in bytes.chunks(3) {
        in_pieces.push(piece);
    }
    assert_eq!(in_pieces.found(), scanned);

    if let Some(id) = the_only_id(bytes) {
        assert_eq!(scanned, Some(id), "the scan found another id");
    }
    let answered = crate::rpc::id_of(bytes);
    assert!(answered.is_none_or(|id| id.is_string() || id.is_number()));
    // Our shorter way reads what the crate reads.
    let ours = crate::mcp::message_of(bytes).map(|message| as_json(&message));
    let theirs: Option<ClientJsonRpcMessage> = serde_json::from_slice(bytes).ok();
    assert_eq!(ours, theirs.map(|message| as_json(&message)));
}

/// The id of a message that can be read, if it has just one that an answer can carry.
fn the_only_id(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    // A name may be written with escapes, or come twice: then the two need not agree.
    if text.contains('\\') || text.matches("\"id\"").count() != 1 {
        return None;
    }
    let Value::Object(fields) = serde_json::from_str(text).ok()? else {
        return None;
    };
    // The scan gives up an id that is longer than any; a fraction may be written with any length.
    let id = fields.get("id")?;
    let is_short = id.to_string().len() < 200;
    let is_plain = id.is_string() || id.is_i64() || id.is_u64();
    (is_short && is_plain).then(|| id.clone())
}

fn as_json(message: &ClientJsonRpcMessage) -> Value {
    serde_json::to_value(message).unwrap_or_default()
}
