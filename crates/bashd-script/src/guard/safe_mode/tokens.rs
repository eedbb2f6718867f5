//! The document's tokenizer: quotes and escapes, and no other shell syntax.
//!
//! Two defects of the original are fixed: an empty quoted argument stays an argument, and callers
//! compare lists of tokens, not joined strings.

/// A quote that is opened and never closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unterminated;

/// Splits at spaces and tabs outside quotes. A backslash outside single quotes makes any character
/// literal, even inside double quotes; at the very end it is dropped. Operators, patterns,
/// variables and substitutions are plain text.
pub fn tokens(text: &str) -> Result<Vec<String>, Unterminated> {
    let mut tokens = Vec::new();
    let mut current: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = text.trim().chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', None | Some('"')) => current.get_or_insert_default().extend(characters.next()),
            ('\'' | '"', None) => {
                quote = Some(character);
                current.get_or_insert_default();
            }
            (_, Some(open)) if character == open => quote = None,
            (' ' | '\t', None) => tokens.extend(current.take()),
            _ => current.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err(Unterminated);
    }
    tokens.extend(current);
    Ok(tokens)
}
