//! A quick look for lines that must stand as they are: it finds every such line, and a few others.
//!
//! The patterns of trouble and of kept names take several times as long as everything else that is
//! done to a text. Each of their words has a piece of four bytes that is rare in other words; a
//! text without any of these pieces needs no further look.

use memchr::{memchr_iter, memchr2};
use std::sync::LazyLock;

/// Pieces of the words of trouble, and of kept names, in small letters.
const PIECES: &[&str] = &[
    // Trouble.
    "erro", "warn", "fata", "fail", "pani", "epti", "aceb", "abor", "deni", "forb", "naut", "cann",
    "an't", "ld n", "ldn'", "unab", "t fo", "no s", "miss", "ndef", "unre", "unkn", "unex", "unsu",
    "inva", "ille", "nfli", "refu", "reje", "meou", "edou", "e-ou", "e ou", "d ou", "- ou", "segm",
    "kill", "e du", "f me", "sser", "mism", "depr", "vuln", "brok", "rrup", "riti", "vere", "emer",
    "aler", "\ne  ", // Credentials.
    ".env", "id_r", "id_d", "id_e", "d_ke", "n_ho", ".ssh", ".aws", ".azu", ".gnu", "kube", "pmrc",
    "ypir", "etrc", ".pgp", "cred", ".htp", ".doc", ".vau", "shad", "secr", "assw", "assp", "toke",
    "apik", "api_", "api-", "priv", "e-ac", "e_ac", "tfst", "et.d", ".pem", ".key", ".p12", ".pfx",
    ".jks", ".kdb", ".ppk", ".gpg", ".crt", ".cer", ".der", ".tfv",
    // Weaknesses, and what did not happen.
    "cve-", "ghsa", "tsec", "ysec", "cwe-", "mote", "skip", "no-s", "dry-", "dry ", "xfai", "xpas",
    "0 of", "0 te", "0 fi", "0 ro", "0 pa", "0 ta", "0 ma", "no t", "no f", "no r", "no p", "no m",
    "none", "noth",
];

/// Makes small letters of four bytes; others change, too, but each always to the same.
const SMALL: u32 = 0x2020_2020;

/// `err` may end a line, or stand before anything.
const SHORT: u32 = u32::from_le_bytes([b'e', b'r', b'r', 0]);
const THREE: u32 = 0x00ff_ffff;

/// The pieces.
struct PieceTable {
    /// By their hashes, two to a place.
    places: [[u32; 2]; PLACES],
    /// Whether three bytes may be the first three, or the last three, of any: of each piece in a
    /// text, these or those begin at an even place.
    triples: [bool; TRIPLES],
}

/// Places of the table, each a power of two.
const PLACES: usize = 1024;
const TRIPLES: usize = 1 << TRIPLE_BITS;
const TRIPLE_BITS: u32 = 13;

/// What tells three letters apart, large or small: other bytes look like one of them.
const LETTERS: u32 = 0x001f_1f1f;

static TABLE: LazyLock<PieceTable> = LazyLock::new(|| {
    let mut table = PieceTable {
        places: [[0; 2]; PLACES],
        triples: [false; TRIPLES],
    };
    for piece in PIECES {
        if let Ok(bytes) = piece.as_bytes().try_into() {
            let piece = u32::from_le_bytes(bytes) | SMALL;
            let place = table.places.get_mut(place_of(piece)).into_iter().flatten();
            if let Some(free) = place.into_iter().find(|known| **known == 0) {
                *free = piece;
            }
            table.add_triple(piece);
            table.add_triple(piece >> 8);
        }
    }
    table.add_triple(SHORT);
    (0..=u8::MAX).for_each(|any| table.add_triple(u32::from_le_bytes([b'r', b'r', any, 0])));
    table
});

impl PieceTable {
    fn add_triple(&mut self, triple: u32) {
        if let Some(known) = self.triples.get_mut(triple_place(triple)) {
            *known = true;
        }
    }

    /// Whether the first three of these bytes may be of a piece.
    fn may_be(&self, bytes: u32) -> bool {
        self.triples
            .get(triple_place(bytes))
            .copied()
            .unwrap_or(true)
    }

    /// Whether a piece stands here.
    fn has(&self, bytes: &[u8], at: usize) -> bool {
        let window = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
        window.is_some_and(|window| {
            let piece = u32::from_le_bytes(*window) | SMALL;
            let known = self.places.get(place_of(piece)).unwrap_or(&[0; 2]);
            known.contains(&piece) || piece & THREE == SHORT
        })
    }
}

/// Where a piece is in the table.
fn place_of(piece: u32) -> usize {
    (piece.wrapping_mul(0x9e37_79b1) >> 22) as usize
}

/// Where the first three of these bytes are in the table.
fn triple_place(bytes: u32) -> usize {
    ((bytes & LETTERS).wrapping_mul(0x9e37_79b1) >> (32 - TRIPLE_BITS)) as usize
}

/// The first place at or after which a line must be looked at.
pub(super) fn find(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let piece = piece_in(bytes);
    let before = piece.unwrap_or(bytes.len());
    let found = memchr2(b'^', 0x1b, bytes.get(..before).unwrap_or_default()).or(piece);
    let before = found.unwrap_or(bytes.len());
    drawn_in(bytes.get(..before).unwrap_or_default()).or(found)
}

fn piece_in(bytes: &[u8]) -> Option<usize> {
    let table: &PieceTable = &TABLE;
    if bytes.starts_with(b"E  ") || bytes.starts_with(b"e  ") {
        return Some(0);
    }
    // Three places at once, two bytes apart: the seventh byte is the last that they need.
    let mut at = 0;
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let eight = u64::from_le_bytes(*eight);
        let [first, second, third] =
            [eight, eight >> 16, eight >> 32].map(|bytes| table.may_be(bytes as u32));
        if first | second | third {
            let mut places = [(first, at), (second, at + 2), (third, at + 4)].into_iter();
            let found = places.find_map(|(may_be, at)| {
                let both = may_be.then(|| [at.saturating_sub(1), at]);
                both?.into_iter().find(|at| table.has(bytes, *at))
            });
            if found.is_some() {
                return found;
            }
        }
        at += 6;
    }
    let found = (at.saturating_sub(1)..bytes.len()).find(|at| table.has(bytes, *at));
    // The last three bytes of a text.
    let end = bytes.len().saturating_sub(3);
    found.or_else(|| {
        let last = bytes.get(end..)?;
        last.eq_ignore_ascii_case(b"err").then_some(end)
    })
}

/// Signs that are no letters of ASCII: crosses and the like, and two letters that patterns take for
/// an s and a k.
fn drawn_in(bytes: &[u8]) -> Option<usize> {
    if bytes.is_ascii() {
        return None;
    }
    let is_sign = |at: &usize| {
        matches!(
            bytes.get(*at..*at + 3),
            Some(
                [_, 0x9c, 0x96..=0x98]
                    | [_, 0x9d, 0x8c]
                    | [_, 0x9a, 0xa0]
                    | [_, 0x97, 0x8f]
                    | [_, 0x84, 0xaa]
            )
        )
    };
    let sign = memchr_iter(0xe2, bytes).find(is_sign);
    let others = ["×", "ſ"].map(|other| memchr::memmem::find(bytes, other.as_bytes()));
    sign.into_iter().chain(others.into_iter().flatten()).min()
}

#[cfg(test)]
mod tests {
    use super::super::super::names::whole_pattern;
    use super::super::super::trouble;
    use super::super::untouchable::is_untouchable;
    use super::*;
    use proptest::prelude::*;
    use proptest::string::string_regex;

    /// A pattern without what only looks at neighbours.
    fn words_of(pattern: &str) -> String {
        pattern
            .replace(r"(?-u:\b)", "")
            .replace("(?: ^ | [^a-z0-9] )", "[^a-z0-9]")
            .replace("(?: [^a-z0-9] | $ )", "[^a-z0-9]")
            .replace("| ^", "| ")
    }

    #[test]
    fn every_piece_has_four_bytes() {
        for piece in PIECES {
            assert_eq!(piece.len(), 4, "{piece}");
            assert!(piece_in(piece.as_bytes()).is_some(), "{piece} has a place");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

        /// The list of pieces and the patterns say the same.
        #[test]
        fn whatever_a_pattern_finds_has_a_sign(
            trouble in string_regex(&words_of(trouble::PATTERN)).unwrap(),
            name in string_regex(&words_of(&whole_pattern())).unwrap(),
            before in "[ -~]{0,3}",
        ) {
            for text in [trouble, name] {
                let line = format!("{before} {text}").replace('\n', " ");
                prop_assert!(find(&line).is_some() || !is_untouchable(&line), "{}", line);
                let line = text.replace('\n', " ");
                prop_assert!(find(&line).is_some() || !is_untouchable(&line), "{}", line);
            }
        }
    }

    #[test]
    fn plain_progress_has_none() {
        for line in [
            "   Compiling serde v1.0.0",
            "test parse::numbers ... ok",
            "Collecting requests",
            "src/deep/one.rs:12:fn a",
            "└── a tree of files",
        ] {
            assert_eq!(find(line), None, "{line}");
        }
    }
}
