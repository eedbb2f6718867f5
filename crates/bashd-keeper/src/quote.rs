//! Quoting for a shell.

/// One word for a shell, whatever it holds.
pub fn quote(text: &mut Vec<u8>, word: &[u8]) {
    text.push(b'\'');
    for &byte in word {
        if byte == b'\'' {
            text.extend(br"'\''");
        } else {
            text.push(byte);
        }
    }
    text.push(b'\'');
}
