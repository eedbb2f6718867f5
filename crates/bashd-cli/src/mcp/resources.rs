//! What clients may read by address: stored output, and jobs.

use super::job;
use crate::for_people;
use bashd::artifact::{self, ArtifactStore, Selection, Summary};
use rmcp::model::{
    CacheScope, ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult,
    Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;

/// Addresses in one answer.
const PAGE: usize = 100;

/// Bytes of a resource that are returned at most; the tool reads further.
const LIMIT: usize = 1024 * 1024;

/// How long clients may cache an artifact: stored output never changes.
const FRESH_MS: u64 = 24 * 60 * 60 * 1000;

/// The addresses of stored output, newest first; the cursor is the number to continue below.
pub(super) fn list(
    store: &ArtifactStore,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let below = match cursor.map(str::parse) {
        None => u64::MAX,
        Some(Ok(number)) => number,
        Some(Err(_)) => return Err(ErrorData::invalid_params("the cursor is unknown", None)),
    };
    let mut ids = store.ids().unwrap_or_default();
    ids.sort_unstable();
    let mut ids = ids.into_iter().rev().filter(|id| *id < below);
    let page: Vec<u64> = ids.by_ref().take(PAGE).collect();
    // Output that was removed meanwhile is left out.
    let summaries = page
        .iter()
        .filter_map(|id| Some(store.open(*id).ok()?.summary()));
    let mut result = ListResourcesResult::with_all_items(summaries.map(resource).collect());
    let last = page.last().filter(|_| ids.next().is_some());
    result.next_cursor = last.map(ToString::to_string);
    Ok(result)
}

fn resource(summary: Summary) -> Resource {
    let lines = for_people::count(summary.lines, "line");
    let about = format!("Output of a command: {lines}");
    Resource::new(summary.address, format!("output {}", summary.id))
        .with_description(about)
        .with_mime_type("text/plain")
        .with_size(summary.bytes)
}

/// The forms of our addresses.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let artifact = ResourceTemplate::new("artifact://{id}", "stored output")
        .with_description("The output of a command; its reply gives the address")
        .with_mime_type("text/plain");
    ListResourceTemplatesResult::with_all_items(vec![artifact, job::template()])
}

/// The error for an address that nothing has.
pub(super) fn missing(uri: &str) -> ErrorData {
    let text = format!("there is no {uri}");
    ErrorData::resource_not_found(text, Some(json!({"uri": uri})))
}

/// Reads one resource. It reads files, so it must not run on the runtime's own thread.
pub(super) fn read(store: &ArtifactStore, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let id = uri
        .starts_with(artifact::SCHEME)
        .then(|| artifact::parse_id(uri));
    let id = id.flatten().ok_or_else(|| missing(uri))?;
    let stored = store.open(id).map_err(|_| missing(uri))?;
    let excerpt = stored
        .passage(&Selection::default(), LIMIT)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let mut text = excerpt.text;
    if excerpt.truncated {
        text.push_str("\n[there is more: the artifact tool reads any part]");
    }
    store.note_read(id, text.len());
    let contents = ResourceContents::text(text, artifact::address(id));
    let mut result = ReadResourceResult::new(vec![contents]);
    result.ttl_ms = Some(FRESH_MS);
    result.cache_scope = Some(CacheScope::Private);
    Ok(result)
}
