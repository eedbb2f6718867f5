//! A stream without the secrets in it.
//!
//! Offsets, lengths and line numbers stay those of the stream, so counts are of what was written,
//! and whoever remembers an offset goes on where it was. What must not be shown becomes a piece of
//! its own ([`StreamPiece::Replaced`]); line breaks within it stay. A read looks a little further
//! than was asked for, as far as a secret may reach, and no further: a flood costs no more than
//! what is shown of it.

use super::{Source, StreamPiece};
use bashd_keeper::secrets::{SecretRun, Secrets};
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// What must not be shown; nothing by default.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Option<Secrets>", into = "Option<Secrets>")]
pub(crate) struct Veil(Option<Arc<Secrets>>);

impl From<Option<Secrets>> for Veil {
    fn from(secrets: Option<Secrets>) -> Self {
        Self(secrets.map(Arc::new))
    }
}

impl From<Veil> for Option<Secrets> {
    fn from(veil: Veil) -> Self {
        veil.0.map(Arc::unwrap_or_clone)
    }
}

impl Veil {
    /// A veil over these.
    pub(crate) fn over(secrets: Arc<Secrets>) -> Self {
        Self(Some(secrets))
    }

    /// Whether anything is hidden.
    pub(crate) fn hides(&self) -> bool {
        self.0.is_some()
    }

    /// How far around what is shown it looks.
    pub(crate) fn reach(&self) -> usize {
        self.secrets().map_or(0, Secrets::reach)
    }

    /// A text as it may be shown.
    pub(crate) fn text(&self, text: String) -> String {
        match &self.0 {
            Some(secrets) => match secrets.veil(&text) {
                std::borrow::Cow::Owned(veiled) => veiled,
                std::borrow::Cow::Borrowed(_) => text,
            },
            None => text,
        }
    }

    /// A line as it may be shown; the end of one that grows is left out while it may become a
    /// secret.
    pub(crate) fn line(&self, mut line: String, is_growing: bool) -> String {
        if is_growing {
            line.truncate(self.decided(&line));
        }
        self.text(line)
    }

    /// How much of a text that goes on can be shown already.
    pub(crate) fn decided(&self, text: &str) -> usize {
        let undecided = |secrets: &Secrets| secrets.undecided(text.as_bytes(), false);
        let undecided = self.secrets().map_or(0, undecided);
        text.floor_char_boundary(text.len() - undecided)
    }

    /// The secrets, if there is anything to hide.
    pub(super) fn secrets(&self) -> Option<&Secrets> {
        self.0.as_deref()
    }

    /// Up to where it is decided what may be shown of a stream that grows and is so long now.
    pub(crate) fn settled(&self, source: &dyn Source, end: u64) -> io::Result<u64> {
        let Some(secrets) = self.secrets() else {
            return Ok(end);
        };
        let from = end.saturating_sub(secrets.reach() as u64);
        let mut last = Kept {
            from,
            bytes: Vec::new(),
            begins: from == 0,
        };
        for piece in source.read(from..end)? {
            last.follow(piece);
        }
        Ok(end - secrets.undecided(&last.bytes, last.begins) as u64)
    }
}

/// The stream `source` without these secrets.
pub(super) struct Veiled<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) secrets: &'a Secrets,
}

/// Bytes of a stream that follow one another.
#[derive(Default)]
struct Kept {
    from: u64,
    bytes: Vec<u8>,
    /// Whether nothing precedes them, as far as anybody knows.
    begins: bool,
}

impl Kept {
    /// Goes on behind a piece; what is gone begins anew.
    fn follow(&mut self, piece: StreamPiece) {
        match piece {
            StreamPiece::Kept(more) if self.bytes.is_empty() => self.bytes = more,
            StreamPiece::Kept(more) => self.bytes.extend_from_slice(&more),
            StreamPiece::Dropped(bytes) | StreamPiece::Replaced { bytes, .. } => {
                self.from += self.bytes.len() as u64 + bytes;
                self.bytes.clear();
                self.begins = true;
            }
        }
    }
}

impl Veiled<'_> {
    /// What may be shown of a range.
    pub(super) fn read(&self, range: Range<u64>) -> io::Result<Vec<StreamPiece>> {
        if range.is_empty() {
            return self.source.read(range);
        }
        let reach = self.secrets.reach() as u64;
        let from = range.start.saturating_sub(reach);
        let upto = self.source.len().min(range.end.saturating_add(reach));
        let mut shown = ShownPieces {
            range,
            pieces: Vec::new(),
        };
        let mut kept = Kept {
            from,
            bytes: Vec::new(),
            begins: from == 0,
        };
        for piece in self.source.read(from..upto)? {
            // Nothing is known of what is gone, or is hidden already.
            if !matches!(piece, StreamPiece::Kept(_)) {
                let gap = kept.from + kept.bytes.len() as u64;
                shown.take(&kept, &self.secrets.find(&kept.bytes, kept.begins));
                shown.push(gap..gap + piece.span(), |part| {
                    let bytes = part.end - part.start;
                    match &piece {
                        StreamPiece::Replaced { by, .. } => StreamPiece::Replaced {
                            bytes,
                            by: if part.start == gap {
                                by.clone()
                            } else {
                                String::new()
                            },
                        },
                        StreamPiece::Dropped(_) | StreamPiece::Kept(_) => {
                            StreamPiece::Dropped(bytes)
                        }
                    }
                });
            }
            kept.follow(piece);
        }
        shown.take(&kept, &self.secrets.find(&kept.bytes, kept.begins));
        Ok(shown.pieces)
    }
}

/// The pieces of a range.
struct ShownPieces {
    range: Range<u64>,
    pieces: Vec<StreamPiece>,
}

impl ShownPieces {
    /// Adds the part of a stretch that is within the range.
    fn push(&mut self, stretch: Range<u64>, piece: impl FnOnce(Range<u64>) -> StreamPiece) {
        let part = stretch.start.max(self.range.start)..stretch.end.min(self.range.end);
        if !part.is_empty() {
            self.pieces.push(piece(part));
        }
    }

    /// Adds bytes, except for these runs of them.
    fn take(&mut self, kept: &Kept, runs: &[SecretRun<'_>]) {
        let mut at = 0;
        for run in runs {
            self.plain(kept, at..run.range.start);
            let (mut from, mut mark) = (run.range.start, run.mark());
            let ends = run.range.end..run.range.end;
            for between in run.between.iter().chain([&ends]) {
                let stretch = kept.from + from as u64..kept.from + between.start as u64;
                let begins = stretch.start;
                self.push(stretch, |part| StreamPiece::Replaced {
                    bytes: part.end - part.start,
                    by: if part.start == begins {
                        std::mem::take(&mut mark)
                    } else {
                        String::new()
                    },
                });
                // It stands where the run begins, and nowhere else.
                mark.clear();
                self.plain(kept, between.clone());
                from = between.end;
            }
            at = run.range.end;
        }
        self.plain(kept, at..kept.bytes.len());
    }

    fn plain(&mut self, kept: &Kept, range: Range<usize>) {
        let stretch = kept.from + range.start as u64..kept.from + range.end as u64;
        self.push(stretch, |part| {
            let within = (part.start - kept.from) as usize..(part.end - kept.from) as usize;
            StreamPiece::Kept(kept.bytes.get(within).unwrap_or_default().to_vec())
        });
    }
}

#[cfg(test)]
mod tests;
