//! Searching a stream by a regular expression: where its hits are, some at a time.

use super::text::decode;
use super::{Source, StreamPiece};
use crate::errand::CalledBack;
use crate::patterns;
use regex::bytes::{Regex, RegexBuilder};
use std::io;
use std::time::{Duration, Instant};

/// Bytes that are searched at once.
const BLOCK: u64 = 1024 * 1024;

/// A line that is longer is searched in pieces.
const LONGEST_LINE: usize = 256 * 1024;

/// Bytes of a hit's line, and of the hit itself, that are told.
const MOST_TOLD: usize = 240;

/// How large a compiled pattern may be.
const MOST_COMPILED: usize = 1024 * 1024;

/// What is looked for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OutputSearch {
    pattern: Regex,
    /// Where to begin.
    pub from: u64,
    /// Hits at most.
    pub most: usize,
    /// How long to search before saying how far that was.
    pub longest: Duration,
}

impl OutputSearch {
    /// A search for this pattern; the error says what is wrong with it. Without capitals in it,
    /// case is ignored.
    pub fn new(pattern: &str, from: u64) -> Result<Self, String> {
        patterns::check(pattern)?;
        let compiled = RegexBuilder::new(pattern)
            .multi_line(true)
            .case_insensitive(!pattern.chars().any(char::is_uppercase))
            .size_limit(MOST_COMPILED)
            .build();
        Ok(Self {
            pattern: compiled.map_err(|error| error.to_string())?,
            from,
            most: 500,
            longest: Duration::from_secs(2),
        })
    }
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SearchHit {
    /// Where its line begins.
    pub line_offset: u64,
    /// Where the hit begins.
    pub offset: u64,
    /// What was hit, cut where it is long.
    pub text: String,
    /// Its line, likewise.
    pub line: String,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct SearchHits {
    /// One for each line, in order.
    pub hits: Vec<SearchHit>,
    /// How far was searched: go on from here.
    pub searched_to: u64,
    /// Where the stream ends for now.
    pub total: u64,
}

/// Searches until there are enough hits, the time is over, or the stream is at its end.
pub(crate) fn search(
    source: &dyn Source,
    query: &OutputSearch,
    called_back: &CalledBack,
) -> io::Result<SearchHits> {
    let begun = Instant::now();
    let total = source.len();
    let mut found = SearchHits {
        searched_to: query.from.min(total),
        total,
        ..SearchHits::default()
    };
    // An unfinished line, and where it begins.
    let mut rest: Vec<u8> = Vec::new();
    let mut at = found.searched_to;
    while at < total && found.hits.len() < query.most {
        called_back.check()?;
        if begun.elapsed() > query.longest && at > query.from {
            break;
        }
        let end = total.min(at + BLOCK);
        let mut begins = at - rest.len() as u64;
        let mut text = std::mem::take(&mut rest);
        for piece in source.read(at..end)? {
            match piece {
                StreamPiece::Kept(bytes) => text.extend(bytes),
                // Nothing is found across what is not shown.
                StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => {
                    hits_of(&text, begins, query, &mut found);
                    begins += text.len() as u64 + count;
                    text.clear();
                }
            }
        }
        let whole = memchr::memrchr(b'\n', &text).map_or(0, |newline| newline + 1);
        let whole = if end == total || text.len() - whole > LONGEST_LINE {
            text.len()
        } else {
            whole
        };
        let (lines, unfinished) = text.split_at(whole);
        hits_of(lines, begins, query, &mut found);
        rest = unfinished.to_vec();
        at = end;
        found.searched_to = at - rest.len() as u64;
    }
    if found.hits.len() >= query.most {
        found.hits.truncate(query.most);
        // The next search begins behind the last line that was told.
        if let Some(last) = found.hits.last() {
            found.searched_to = last.line_offset + line_length(source, last.line_offset)?;
        }
    }
    Ok(found)
}

fn hits_of(text: &[u8], begins: u64, query: &OutputSearch, found: &mut SearchHits) {
    let mut from = 0;
    while found.hits.len() <= query.most
        && let Some(hit) = query.pattern.find_at(text, from)
    {
        let before = text.get(..hit.start()).unwrap_or_default();
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let behind = text.get(hit.start()..).unwrap_or_default();
        let line_end = memchr::memchr(b'\n', behind).map_or(text.len(), |at| hit.start() + at);
        // What is empty and behind the last line is no line.
        if line_start == text.len() && !text.is_empty() {
            break;
        }
        found.hits.push(SearchHit {
            line_offset: begins + line_start as u64,
            offset: begins + hit.start() as u64,
            text: told(text.get(hit.start()..hit.end().min(line_end))),
            line: told(text.get(line_start..line_end)),
        });
        from = line_end + 1;
        if from > text.len() {
            break;
        }
    }
}

fn told(bytes: Option<&[u8]>) -> String {
    let bytes = bytes.unwrap_or_default();
    decode(bytes.get(..MOST_TOLD).unwrap_or(bytes))
}

/// Bytes of the line that begins here, with its newline.
fn line_length(source: &dyn Source, offset: u64) -> io::Result<u64> {
    let end = source.len().min(offset + BLOCK + LONGEST_LINE as u64);
    let mut length = 0;
    for piece in source.read(offset..end)? {
        match piece {
            StreamPiece::Kept(bytes) => match memchr::memchr(b'\n', &bytes) {
                Some(at) => return Ok(length + at as u64 + 1),
                None => length += bytes.len() as u64,
            },
            StreamPiece::Replaced { bytes, .. } => length += bytes,
            StreamPiece::Dropped(_) => break,
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixed::Fixed;

    fn found(source: &Fixed, query: &OutputSearch) -> (Vec<(u64, u64, String)>, u64) {
        let found = search(source, query, &CalledBack::default()).unwrap();
        let hits = found.hits.into_iter();
        let hits = hits.map(|hit| (hit.line_offset, hit.offset, hit.text));
        (hits.collect(), found.searched_to)
    }

    #[test]
    fn a_hit_is_told_with_its_line_once_for_each() {
        let source = Fixed::text("one Two\ntwo two\nnone\n");
        let query = OutputSearch::new("two", 0).unwrap();
        let hits = vec![(0, 4, "Two".into()), (8, 8, "two".into())];
        assert_eq!(found(&source, &query), (hits, 21));
        let capital = OutputSearch::new("Two$", 0).unwrap();
        assert_eq!(found(&source, &capital).0, [(0, 4, "Two".into())]);
        let empty = OutputSearch::new("^", 0).unwrap();
        assert_eq!(found(&source, &empty).0.len(), 3);
        assert!(OutputSearch::new("(", 0).is_err());
    }

    #[test]
    fn a_search_goes_on_where_it_stopped_and_misses_nothing() {
        let text: String = (0..5000).map(|n| n.to_string() + " line hit\n").collect();
        let source = Fixed::text(&text).in_pieces_of(1000);
        let mut query = OutputSearch::new("hit", 0).unwrap();
        query.most = 700;
        let mut all = Vec::new();
        while query.from < text.len() as u64 {
            let (hits, searched_to) = found(&source, &query);
            assert!(searched_to > query.from);
            all.extend(hits);
            query.from = searched_to;
        }
        assert_eq!(all.len(), 5000);
        assert!(all.is_sorted());
    }

    #[test]
    fn nothing_is_found_across_a_gap() {
        let text = format!("ab{}cd\nabcd\n", "x".repeat(10));
        let source = Fixed::text(&text).without(2..12);
        let query = OutputSearch::new("abcd", 0).unwrap();
        assert_eq!(found(&source, &query).0, [(15, 15, "abcd".into())]);
    }
}
