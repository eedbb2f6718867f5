//! What clients may read by address: stored output, and jobs.

use super::job;
use crate::for_people;
use bashd::artifact::{self, Artifact, ArtifactStore, Range, Selection, Summary};
use rmcp::model::{
    CacheScope, ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult,
    Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;
use std::fmt::Write;

/// Addresses in one answer.
const PAGE: usize = 100;

/// Bytes of a resource that are returned at most: in JSON they may become six times as many, and
/// clients take no event of more than a MiB.
const LIMIT: u64 = 128 * 1024;

/// What comes between an address and the byte to read from.
const OFFSET: &str = "?offset=";

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
    let part = ResourceTemplate::new("artifact://{id}?offset={offset}", "part of stored output")
        .with_description("The same from a byte on: what was read says where it goes on")
        .with_mime_type("text/plain");
    ListResourceTemplatesResult::with_all_items(vec![artifact, part, job::template()])
}

/// The error for an address that nothing has.
pub(super) fn missing(uri: &str) -> ErrorData {
    let text = format!("there is no {uri}");
    ErrorData::resource_not_found(text, Some(json!({"uri": uri})))
}

/// Reads one resource. It reads files, so it must not run on the runtime's own thread.
pub(super) fn read(store: &ArtifactStore, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let (address, offset) = uri.split_once(OFFSET).unwrap_or((uri, "0"));
    let id = address
        .starts_with(artifact::SCHEME)
        .then(|| artifact::parse_id(address));
    let id = id.flatten().ok_or_else(|| missing(uri))?;
    let begin: u64 = offset.parse().map_err(|_| missing(uri))?;
    let stored = store.open(id).map_err(|_| missing(uri))?;
    let bytes = stored.summary().bytes;
    let mut end = begin.saturating_add(LIMIT).min(bytes);
    let mut text = part(&stored, begin, end)?;
    // A character is not cut in two: it has at most four bytes.
    for shorter in (end.saturating_sub(3)..end).rev() {
        if end == bytes || !text.ends_with(char::REPLACEMENT_CHARACTER) {
            break;
        }
        let other = part(&stored, begin, shorter)?;
        if !other.ends_with(char::REPLACEMENT_CHARACTER) {
            (text, end) = (other, shorter);
        }
    }
    if end < bytes {
        let next = format!("{}{OFFSET}{end}", artifact::address(id));
        let _ = write!(text, "\n[{end} of {bytes} bytes; next: {next}]");
    }
    store.note_read(id, text.len());
    let contents = ResourceContents::text(text, uri);
    let mut result = ReadResourceResult::new(vec![contents]);
    result.ttl_ms = Some(FRESH_MS);
    result.cache_scope = Some(CacheScope::Private);
    Ok(result)
}

/// The bytes from `begin` to before `end`, as text.
fn part(stored: &Artifact, begin: u64, end: u64) -> Result<String, ErrorData> {
    let range = match end.checked_sub(1) {
        Some(last) if begin <= last => Range::Bytes(begin, Some(last)),
        _ => return Ok(String::new()),
    };
    // What was dropped is told in words, which need room of their own.
    let passage = stored.passage(&Selection { range, grep: None }, 2 * LIMIT as usize);
    let passage = passage.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(passage.text)
}
