//! The line drawing characters that old programs request by letters (DEC special graphics).

/// What a letter stands for while the set is in use.
const CHARACTERS: [char; 31] = [
    '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼',
    '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

/// The character that a letter stands for, if any.
pub(super) fn character(letter: char) -> Option<char> {
    let at = u32::from(letter).checked_sub(u32::from('`'))?;
    CHARACTERS.get(at as usize).copied()
}
