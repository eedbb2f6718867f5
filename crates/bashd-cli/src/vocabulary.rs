//! The tokenizer's vocabulary: a file beside the program, which only `bashd stats` reads.
//!
//! It is three and a half megabytes. Within the program, every server that is started would carry
//! it; so packages install it as a file, and without the file tokens are estimated.

use crate::surroundings;
use anyhow::{Context, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bashd::savings::estimated_tokens;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use tiktoken_rs::{CoreBPE, O200K_BASE_PAT_STR};

/// The tokenizer's name.
pub(crate) const TOKENIZER: &str = "o200k_base";

/// The vocabulary's file, as its authors call it.
const FILE: &str = "o200k_base.tiktoken";

/// The hash of that file. Any other would give other counts under the same name.
const SHA256: &str = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d";

/// Counts the tokens of texts, exactly if there is a vocabulary.
#[derive(Default)]
pub(crate) struct TokenCounter {
    vocabulary: Option<Result<Vocabulary, anyhow::Error>>,
}

enum Vocabulary {
    Loaded(Box<CoreBPE>),
    /// It is in none of these places.
    Missing(Vec<PathBuf>),
}

impl TokenCounter {
    /// The tokens of a text. The first call loads the vocabulary, which takes a moment.
    pub(crate) fn count(&mut self, text: &str) -> u64 {
        match self.vocabulary.get_or_insert_with(load) {
            Ok(Vocabulary::Loaded(tokenizer)) => tokenizer.count_ordinary(text) as u64,
            _ => estimated_tokens(text),
        }
    }

    /// How the tokens were counted, for people and for programs.
    pub(crate) fn finish(self) -> Result<Counting, anyhow::Error> {
        match self.vocabulary.transpose()? {
            Some(Vocabulary::Missing(places)) => Ok(Counting::Estimated(places)),
            _ => Ok(Counting::Exact),
        }
    }
}

/// How tokens were counted.
#[derive(Debug)]
pub(crate) enum Counting {
    /// By the tokenizer.
    Exact,
    /// From bytes: the vocabulary is in none of these places.
    Estimated(Vec<PathBuf>),
}

impl Counting {
    /// The tokenizer's name, if it counted.
    pub(crate) fn tokenizer(&self) -> Option<&'static str> {
        matches!(self, Self::Exact).then_some(TOKENIZER)
    }

    /// What to do to get exact counts, if they are not.
    pub(crate) fn remedy(&self) -> Option<String> {
        let Self::Estimated(places) = self else {
            return None;
        };
        let place = places.last()?.display();
        Some(format!(
            "the tokens are estimated, at three bytes each: there is no vocabulary. bashd's \
             packages have it; or save {FILE} as {place} (docs/install.md says from where)"
        ))
    }
}

fn load() -> Result<Vocabulary, anyhow::Error> {
    let places = surroundings::data_dirs().into_iter();
    let places: Vec<PathBuf> = places.map(|folder| folder.join(FILE)).collect();
    for place in &places {
        match fs::read_to_string(place) {
            Ok(text) => {
                let read = tokenizer(&text).with_context(|| place.display().to_string())?;
                return Ok(Vocabulary::Loaded(Box::new(read)));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if error.kind() == ErrorKind::NotADirectory => {}
            Err(error) => return Err(error).context(place.display().to_string()),
        }
    }
    Ok(Vocabulary::Missing(places))
}

fn tokenizer(text: &str) -> Result<CoreBPE, anyhow::Error> {
    let hash = Sha256::digest(text.as_bytes());
    let hash = hash.iter().fold(String::new(), |mut hash, byte| {
        let _ = write!(hash, "{byte:02x}");
        hash
    });
    if hash != SHA256 {
        bail!("this is not the vocabulary of {TOKENIZER}: its SHA-256 is {hash}, not {SHA256}");
    }
    let token = |line: &str| {
        let (token, rank) = line.split_once(' ').context("a line without a rank")?;
        anyhow::Ok((BASE64_STANDARD.decode(token)?, rank.parse()?))
    };
    let tokens = text.lines().map(token).collect::<Result<_, _>>()?;
    CoreBPE::new(tokens, std::iter::empty().collect(), O200K_BASE_PAT_STR)
}
