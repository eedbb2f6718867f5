//! What a command did that somebody is asked about: its paths and its difference.

use super::WebServer;
use super::runs::NotDone;
use crate::changes::question;
use serde_json::{Value, json};

/// The lines that are shown of a call that asks.
pub(super) async fn asked(server: &WebServer, id: &str) -> Result<Value, NotDone> {
    let missing = || NotDone::Missing("it does not ask about what it did\n".to_owned());
    let told = server.board.row(id).and_then(|row| row.asked_effects());
    let told = told.ok_or_else(missing)?;
    let (changes, id) = (server.changes.clone(), id.to_owned());
    let looking = tokio::task::spawn_blocking(move || {
        let change = changes.find(&id)?;
        Ok::<_, bashd::Error>(question::of_change(&change, &told))
    });
    let lines = looking
        .await
        .map_err(|error| NotDone::Not(error.to_string()))??;
    let lines = lines
        .iter()
        .map(|line| json!({"tone": line.tone.name(), "text": line.text}));
    Ok(json!({"lines": lines.collect::<Vec<_>>()}))
}
