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
    /// Whether two bytes are the first two, or the second and the third, of any: of each piece in a
    /// text, one of these pairs stands at an even place.
    pairs: Box<[bool; PAIRS]>,
}

/// Places of the table, each a power of two.
const PLACES: usize = 1024;

/// All pairs of bytes.
const PAIRS: usize = 1 << 16;

/// Makes small letters of two bytes.
const SMALL_PAIR: u16 = 0x2020;

static TABLE: LazyLock<PieceTable> = LazyLock::new(|| {
    let mut table = PieceTable {
        places: [[0; 2]; PLACES],
        pairs: Box::new([false; PAIRS]),
    };
    for piece in PIECES {
        if let Ok(bytes) = piece.as_bytes().try_into() {
            let piece = u32::from_le_bytes(bytes) | SMALL;
            let place = table.places.get_mut(place_of(piece)).into_iter().flatten();
            if let Some(free) = place.into_iter().find(|known| **known == 0) {
                *free = piece;
            }
            table.add_pairs(&bytes);
        }
    }
    table.add_pairs(b"err");
    table
});

impl PieceTable {
    fn add_pairs(&mut self, piece: &[u8]) {
        for pair in piece.array_windows::<2>().take(2) {
            let pair = u16::from_le_bytes(*pair) | SMALL_PAIR;
            if let Some(known) = self.pairs.get_mut(usize::from(pair)) {
                *known = true;
            }
        }
    }
}

/// Where a piece is in the table.
fn place_of(piece: u32) -> usize {
    (piece.wrapping_mul(0x9e37_79b1) >> 22) as usize
}

/// The first place at or after which a line must be looked at.
pub(super) fn find(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let found = match (piece_in(bytes), memchr2(b'^', 0x1b, bytes)) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    let before = found.unwrap_or(bytes.len());
    drawn_in(bytes.get(..before).unwrap_or_default()).or(found)
}

fn piece_in(bytes: &[u8]) -> Option<usize> {
    let table: &PieceTable = &TABLE;
    let is_piece = |at: &usize| {
        let window = bytes.get(*at..).and_then(|rest| rest.first_chunk::<4>());
        window.is_some_and(|window| {
            let piece = u32::from_le_bytes(*window) | SMALL;
            let known = table.places.get(place_of(piece)).unwrap_or(&[0; 2]);
            known.contains(&piece) || piece & THREE == SHORT
        })
    };
    if bytes.starts_with(b"E  ") || bytes.starts_with(b"e  ") {
        return Some(0);
    }
    let (pairs, _) = bytes.as_chunks::<2>();
    let may_be = |pair: &[u8; 2]| {
        let pair = u16::from_le_bytes(*pair) | SMALL_PAIR;
        table.pairs.get(usize::from(pair)).copied().unwrap_or(true)
    };
    let mut places = pairs.iter().enumerate().filter(|(_, pair)| may_be(pair));
    let found = places.find_map(|(pair, _)| {
        let at = pair * 2;
        [at.saturating_sub(1), at].into_iter().find(is_piece)
    });
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
