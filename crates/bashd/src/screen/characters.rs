//! Where characters begin and end in bytes that may not be text.

/// Bytes of the character that begins with this one; 1 for a byte that begins none.
fn length(lead: u8) -> usize {
    match lead {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    }
}

/// Bytes at the end that may be the beginning of a character.
pub(super) fn unfinished(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(3).enumerate();
    let mut lead = last.skip_while(|(_, byte)| (0x80..0xc0).contains(*byte));
    match lead.next() {
        Some((after, lead)) if length(*lead) > after + 1 => after + 1,
        _ => 0,
    }
}

/// Bytes of the first character, as far as they are there.
pub(super) fn first(bytes: &[u8]) -> usize {
    let wanted = bytes.first().map_or(1, |lead| length(*lead));
    let rest = bytes.get(1..wanted.min(bytes.len())).unwrap_or_default();
    let belonging = rest.iter().take_while(|byte| (0x80..0xc0).contains(*byte));
    1 + belonging.count()
}
