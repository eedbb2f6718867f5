//! Whether a message is the one that a tape has, and what differs if not.

use serde_json::Value;
use similar::TextDiff;

/// What stands for a secret begins and ends with these.
pub(super) const SECRET: (&str, char) = ("[secret ", ']');

/// Lines around a difference.
const CONTEXT: usize = 3;

/// What counts of a message: not its number, what is only for its transport, nor the client's
/// version.
pub(super) fn essence(message: &Value) -> Value {
    let mut message = message.clone();
    if let Value::Object(fields) = &mut message {
        fields.remove("id");
        fields.remove("jsonrpc");
    }
    if let Some(Value::Object(params)) = message.get_mut("params") {
        params.remove("_meta");
        if let Some(Value::Object(client)) = params.get_mut("clientInfo") {
            client.remove("version");
        }
    }
    message
}

/// Whether a message is what the tape has. A secret on the tape stands for any text.
pub(super) fn is_same(taped: &Value, came: &Value) -> bool {
    match (taped, came) {
        (Value::String(taped), Value::String(came)) => is_same_text(taped, came),
        (Value::Array(taped), Value::Array(came)) => {
            taped.len() == came.len() && taped.iter().zip(came).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(taped), Value::Object(came)) => {
            taped.len() == came.len()
                && (taped.iter())
                    .all(|(name, value)| came.get(name).is_some_and(|other| is_same(value, other)))
        }
        (taped, came) => taped == came,
    }
}

fn is_same_text(taped: &str, came: &str) -> bool {
    if taped == came {
        return true;
    }
    let mut rest = came;
    let mut taped = taped;
    let mut is_open = false;
    while let Some(at) = taped.find(SECRET.0) {
        let (before, mark) = taped.split_at(at);
        let Some(found) = position(rest, before, is_open) else {
            return false;
        };
        rest = rest.get(found + before.len()..).unwrap_or_default();
        let end = mark.find(SECRET.1).map_or(mark.len(), |end| end + 1);
        taped = mark.get(end..).unwrap_or_default();
        is_open = true;
    }
    is_open && rest.ends_with(taped) && rest.len() > taped.len()
}

/// Where a text begins: at once, or anywhere behind at least one character if a secret precedes it.
fn position(text: &str, part: &str, is_open: bool) -> Option<usize> {
    if is_open {
        let first = text.chars().next()?.len_utf8();
        text.get(first..)?.find(part).map(|at| at + first)
    } else {
        text.starts_with(part).then_some(0)
    }
}

/// What differs, as lines.
pub(super) fn difference(taped: &Value, came: &Value) -> String {
    let pretty = |value| serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    let (taped, came) = (pretty(taped), pretty(came));
    let diff = TextDiff::from_lines(&taped, &came);
    let mut unified = diff.unified_diff();
    let text = unified.context_radius(CONTEXT).header("expected", "came");
    text.to_string()
}

/// How alike two messages are, from 0 to 1.
pub(super) fn likeness(taped: &Value, came: &Value) -> f64 {
    strsim::normalized_levenshtein(&short(taped), &short(came))
}

/// The beginning of a message: what is alike is alike there.
fn short(value: &Value) -> String {
    value.to_string().chars().take(400).collect()
}
