//! Output that is stored at a place, since it is too long to be brought here: parts of it, lines
//! and searches are looked for over there, and only what was found travels.

use crate::artifact::{Grep, Range, Selection};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// Bytes that are sent at once, whatever is asked for.
pub(crate) const MOST: usize = 1024 * 1024;

/// Where an output is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredThere {
    /// The place.
    #[serde(default)]
    pub place: String,
    /// The node of an allocation that has it: `4711.n2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Its number there.
    pub id: u64,
    /// Bytes of it that are kept.
    pub kept: u64,
}

/// A part of one that is wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredWish {
    id: u64,
    range: Range,
    grep: Option<(String, usize)>,
    most: usize,
    /// Whether it is for its user's own eyes, with what is secret there.
    #[serde(default)]
    pub(crate) is_raw: bool,
}

/// A part of an output that is stored at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FarPart {
    /// The bytes as the command wrote them; lines of a search begin with their numbers.
    pub bytes: Vec<u8>,
    /// Whether there is more than was asked for at most.
    pub is_cut: bool,
    /// What follows, unless lines were searched for.
    pub rest: Option<Range>,
}

impl From<PartThere> for FarPart {
    fn from(part: PartThere) -> Self {
        let rest = part.rest;
        Self {
            bytes: part.bytes.into_vec(),
            is_cut: part.is_cut,
            rest: rest.map(|(first, last)| Range::Bytes(first, Some(last))),
        }
    }
}

/// What was found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartThere {
    pub(crate) bytes: ByteBuf,
    /// Whether there is more of it.
    pub(crate) is_cut: bool,
    /// The first and the last byte of what follows, unless lines were searched for.
    pub(crate) rest: Option<(u64, u64)>,
}

impl StoredWish {
    pub(crate) fn new(id: u64, selection: &Selection, most: usize) -> Self {
        let grep = selection.grep.as_ref();
        Self {
            id,
            range: selection.range,
            grep: grep.map(|grep| (grep.pattern().to_owned(), grep.context)),
            most,
            is_raw: false,
        }
    }

    /// The same with every byte as the command wrote it.
    pub(crate) fn raw(self) -> Self {
        Self {
            is_raw: true,
            ..self
        }
    }

    /// The number of the output, what is wanted of it, and how much at most; the text says what is
    /// wrong with the pattern.
    pub(crate) fn selection(self) -> Result<(u64, Selection, usize), String> {
        let grep = self.grep.map(|(pattern, context)| {
            let grep = Grep::new(&pattern)?;
            Ok::<_, String>(grep.with_context(context))
        });
        let selection = Selection {
            range: self.range,
            grep: grep.transpose()?,
        };
        Ok((self.id, selection, self.most.min(MOST)))
    }
}
