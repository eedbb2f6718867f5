//! What comes over a carrier, from an outpost or an engine: read or refused, whatever it is.

use bashd::place::{Assembler, LARGEST_FRAME, is_message};

/// Bytes of unfinished messages that are allowed here.
const MOST: usize = 64 * 1024;

/// Bytes of the head of a frame.
const HEAD: usize = 9;

/// Reads the bytes at once, and one by one.
pub fn try_bytes(bytes: &[u8]) {
    let mut at_once = Assembler::new(MOST);
    let whole = at_once.push(bytes);
    assert!(at_once.held() <= MOST + LARGEST_FRAME + HEAD);
    let mut by_one = Assembler::new(MOST);
    let mut messages = Vec::new();
    let mut is_refused = false;
    for byte in bytes {
        let Ok(more) = by_one.push(std::slice::from_ref(byte)) else {
            is_refused = true;
            break;
        };
        messages.extend(more);
    }
    match whole {
        Ok(whole) => assert!(!is_refused && whole == messages),
        Err(_) => assert!(is_refused),
    }
    for (_, message) in messages {
        let _ = is_message(&message);
    }
    let _ = is_message(bytes);
}
