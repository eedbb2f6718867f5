//! The key that leaves a job's terminal: Ctrl-] twice, in whatever form the program has it sent.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The key as the byte that terminals have always sent.
const LEAVE: u8 = 0x1d;

/// The key as the character that newer protocols send, and Ctrl among its modifiers.
const BRACKET: u32 = 93;
const CONTROL: u32 = 4;

/// Shift, Alt, Super and the like; with one of them it is another key. Locks do not count.
const OTHERS: u32 = 0b11_1011;

/// Keys that Kitty's protocol may tell of although nothing but a modifier is pressed.
const MODIFIERS: std::ops::RangeInclusive<u32> = 57441..=57454;

/// The time between the two.
const TWICE: Duration = Duration::from_secs(1);

/// Bytes of a sequence at most.
const LONGEST: usize = 32;

/// Watches for the key that leaves.
#[derive(Debug, Default)]
pub(super) struct LeaveWatch {
    last: Option<Instant>,
    /// An escape sequence that has begun.
    sequence: Vec<u8>,
}

/// What was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pressed {
    /// Ctrl-].
    Leave,
    /// A modifier alone, or a key was released.
    Nothing,
    Other,
}

impl LeaveWatch {
    /// What of these bytes is for the program, and whether the person leaves.
    pub(super) fn typed(&mut self, bytes: &[u8], now: Instant) -> (Vec<u8>, ControlFlow<()>) {
        let mut passed = Vec::with_capacity(bytes.len());
        for byte in bytes {
            passed.push(*byte);
            let length = self.sequence.len() + 1;
            let Some(pressed) = self.next(*byte) else {
                continue;
            };
            let last = self.last;
            self.last = match pressed {
                Pressed::Leave => Some(now),
                Pressed::Nothing => last,
                Pressed::Other => None,
            };
            let is_in_time = last.is_some_and(|last| now.duration_since(last) < TWICE);
            if pressed == Pressed::Leave && is_in_time {
                passed.truncate(passed.len().saturating_sub(length));
                return (passed, ControlFlow::Break(()));
            }
        }
        if bytes == b"\x1b" {
            // It came alone: somebody pressed Esc.
            self.sequence.clear();
            self.last = None;
        }
        (passed, ControlFlow::Continue(()))
    }

    /// What is pressed with this byte; `None` while a sequence goes on.
    fn next(&mut self, byte: u8) -> Option<Pressed> {
        match (self.sequence.len(), byte) {
            (_, 0x1b) => {
                self.sequence = vec![byte];
                return None;
            }
            (0, LEAVE) => return Some(Pressed::Leave),
            (0, _) => return Some(Pressed::Other),
            (1, b'[') | (2..LONGEST, b' '..=b'?') => {
                self.sequence.push(byte);
                return None;
            }
            _ => {}
        }
        let sequence = std::mem::take(&mut self.sequence);
        let numbers = sequence.get(2..).unwrap_or_default();
        Some(pressed(numbers, byte).unwrap_or(Pressed::Other))
    }
}

/// What `ESC [ numbers last` means: `93;5u` of Kitty's protocol, `27;5;93~` of xterm's.
fn pressed(numbers: &[u8], last: u8) -> Option<Pressed> {
    let text = std::str::from_utf8(numbers).ok()?;
    let parts: Vec<&str> = text.split(';').collect();
    let (key, modifiers) = match (last, parts.as_slice()) {
        (b'u', [key, modifiers, ..]) | (b'~', ["27", modifiers, key]) => (*key, *modifiers),
        _ => return None,
    };
    // A key may have other forms after a colon, and modifiers what happened to it.
    let mut modifiers = modifiers.split(':');
    let held: u32 = modifiers.next()?.parse().ok()?;
    let held = held.saturating_sub(1);
    let key: u32 = key.split(':').next()?.parse().ok()?;
    let is_released = modifiers.next() == Some("3");
    Some(match key {
        _ if is_released => Pressed::Nothing,
        key if MODIFIERS.contains(&key) => Pressed::Nothing,
        BRACKET if held & CONTROL != 0 && held & OTHERS == 0 => Pressed::Leave,
        _ => Pressed::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

    #[test]
    fn only_twice_in_a_row_and_in_time_leaves() {
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        let mut watch = LeaveWatch::default();
        assert_eq!(watch.typed(b"a\x1d", after(0)), (b"a\x1d".to_vec(), GO_ON));
        assert_eq!(watch.typed(b"\x1d", after(1500)), (b"\x1d".to_vec(), GO_ON));
        assert_eq!(
            watch.typed(b"x\x1d", after(1600)),
            (b"x\x1d".to_vec(), GO_ON)
        );
        let leaves = (b"".to_vec(), ControlFlow::Break(()));
        assert_eq!(watch.typed(b"\x1drest", after(1700)), leaves);
        let both = LeaveWatch::default().typed(b"b\x1d\x1d", after(0));
        assert_eq!(both, (b"b\x1d".to_vec(), ControlFlow::Break(())));
    }

    #[test]
    fn the_key_is_known_in_every_form_and_in_pieces() {
        let now = Instant::now();
        for (form, leaves) in [
            ("\x1b[93;5u", true),
            ("\x1b[93;5:1u", true),
            ("\x1b[93::93;133u", true),
            ("\x1b[27;5;93~", true),
            ("\x1b[93;6u", false),
            ("\x1b[93;1u", false),
            ("\x1b[27;5;91~", false),
            ("\x1b[93;5~", false),
            ("\x1b[A", false),
            ("\x1b\x1d", false),
        ] {
            let twice = format!("{form}{form}");
            let whole = LeaveWatch::default().typed(twice.as_bytes(), now);
            assert_eq!(whole.1.is_break(), leaves, "{form:?}");
            let kept = if leaves { form } else { &twice };
            assert_eq!(whole.0, kept.as_bytes(), "{form:?}");
            let mut watch = LeaveWatch::default();
            // The first byte of a sequence alone would be the key Esc.
            let (start, rest) = twice.split_at(2);
            let mut is_left = watch.typed(start.as_bytes(), now).1.is_break();
            for piece in rest.as_bytes().chunks(3) {
                is_left |= watch.typed(piece, now).1.is_break();
            }
            let is_split_at_escape = rest.as_bytes().chunks(3).any(|piece| piece == b"\x1b");
            assert!(is_left == leaves || is_split_at_escape, "{form:?}");
        }
    }

    #[test]
    fn releases_and_modifiers_come_between_and_other_keys_do_not() {
        let now = Instant::now();
        let press = "\x1b[93;5u";
        for (between, leaves) in [
            ("\x1b[93;5:3u", true),
            ("\x1b[57442;5:3u\x1b[57442;5u", true),
            ("\x1b[97;1u", false),
            ("\x1b", false),
            ("x", false),
        ] {
            let mut watch = LeaveWatch::default();
            for typed in [press, between] {
                assert!(watch.typed(typed.as_bytes(), now).1.is_continue());
            }
            let left = watch.typed(press.as_bytes(), now).1.is_break();
            assert_eq!(left, leaves, "{between:?}");
        }
    }
}
