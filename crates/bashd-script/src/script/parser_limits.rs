//! What the parser is asked at all: it has no bound on time or stack of its own.
//!
//! It looks for ways out of errors by trying, and some texts have exponentially many: 150 bytes of
//! `r | r |` with a slip in them take tree-sitter half a second. So it gets only what our scan
//! finds to be right, small, and not too rich in what branches. The tests' second parser needs the
//! same: twenty parentheses take it as long.

use super::byte_set::ByteSet;

/// The largest text. What an agent writes in one call is mostly shorter.
const MOST_BYTES: usize = 4 << 10;

/// Parentheses, or braces, that may be open at once, quoted or not.
const MOST_OPEN: usize = 12;

/// Bars in the text, quoted or not.
const MOST_BARS: usize = 16;

/// Characters that can have a meaning to the grammar, quoted or not.
const MOST_STRUCTURE: usize = 256;

/// Those characters.
static STRUCTURE: ByteSet = ByteSet::of(b"|&;()<>{}[]!\n");

/// Whether a parser may be asked about a text that is right as far as the scan can tell.
pub(super) fn allow(text: &str) -> bool {
    if text.len() > MOST_BYTES {
        return false;
    }
    let (mut parentheses, mut braces) = (0_usize, 0_usize);
    let (mut bars, mut structure) = (0_usize, 0_usize);
    for byte in text.bytes().filter(|byte| STRUCTURE.contains(*byte)) {
        structure += 1;
        match byte {
            b'(' => parentheses += 1,
            b')' => parentheses = parentheses.saturating_sub(1),
            b'{' => braces += 1,
            b'}' => braces = braces.saturating_sub(1),
            b'|' => bars += 1,
            _ => {}
        }
        if parentheses > MOST_OPEN
            || braces > MOST_OPEN
            || bars > MOST_BARS
            || structure > MOST_STRUCTURE
        {
            return false;
        }
    }
    true
}
