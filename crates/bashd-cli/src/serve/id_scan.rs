//! The id of a message that can't be read: found by a tolerant scan, so that its sender gets an
//! answer.
//!
//! The message may be broken anywhere (a lone surrogate, no end), or be too long to be kept. So
//! the scan takes bytes as they come, knows only strings, brackets and the names of the outermost
//! object, and keeps nothing but a name or an id at a time.

use serde_json::Value;

/// Bytes of an id, or of a name, at most: longer ones are nobody's.
const LONGEST: usize = 256;

/// A scan for the id of one message.
#[derive(Debug, Default)]
pub(crate) struct IdScan {
    depth: usize,
    place: ScanPlace,
    /// The string or number that is being read, if it may be of use.
    text: Vec<u8>,
    is_escaped: bool,
    in_string: bool,
    found: Option<Value>,
}

/// Where the scan is in the outermost object.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ScanPlace {
    /// Before a name, or in one.
    #[default]
    Name,
    /// After a name.
    AfterName,
    /// In the value of `id`.
    Id,
    /// In another value.
    Other,
}

impl IdScan {
    /// The id of a whole message.
    pub(crate) fn of(message: &[u8]) -> Option<Value> {
        let mut scan = Self::default();
        scan.push(message);
        scan.found()
    }

    /// Takes the next bytes of the message.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.found.is_some() {
                return;
            }
            self.take(*byte);
        }
    }

    /// What was found, at the message's end.
    pub(crate) fn found(mut self) -> Option<Value> {
        if self.found.is_none() && self.place == ScanPlace::Id && !self.in_string {
            self.end_value();
        }
        self.found
    }

    fn take(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.end_string(),
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.text.clear();
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.text.clear();
            }
            b'}' | b']' => {
                self.end_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => {
                self.end_value();
                if self.depth == 1 {
                    self.place = ScanPlace::Name;
                }
            }
            b':' if self.depth == 1 && self.place == ScanPlace::AfterName => {
                let is_id = self.text == b"\"id\"";
                self.place = if is_id {
                    ScanPlace::Id
                } else {
                    ScanPlace::Other
                };
                self.text.clear();
            }
            byte if byte.is_ascii_whitespace() => {}
            byte => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.place != ScanPlace::Other && self.text.len() <= LONGEST {
            self.text.push(byte);
        }
    }

    fn end_string(&mut self) {
        self.in_string = false;
        match self.place {
            ScanPlace::Name if self.depth == 1 => self.place = ScanPlace::AfterName,
            ScanPlace::Id => self.end_value(),
            ScanPlace::Name | ScanPlace::AfterName | ScanPlace::Other => {}
        }
    }

    fn end_value(&mut self) {
        if self.depth == 1 && self.place == ScanPlace::Id && self.text.len() <= LONGEST {
            let read = serde_json::from_slice(&self.text).ok();
            self.found = read.filter(|id: &Value| id.is_string() || id.is_number());
            self.place = ScanPlace::Other;
        }
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_id_is_found_in_what_is_broken() {
        for (message, id) in [
            (
                r#"{"id":"7","type":"bash","command":"\ud800"}"#,
                Some(json!("7")),
            ),
            (
                r#"{"type":"bash","command":"\ud800","id" : 7 }"#,
                Some(json!(7)),
            ),
            (
                r#"{"a":{"id":1},"b":["id",2],"id":"x\"y""#,
                Some(json!("x\"y")),
            ),
            (r#"{"id":-3.5,"#, Some(json!(-3.5))),
            (r#"{"id":12"#, Some(json!(12))),
            (r#"{"command":"\"id\":1","id":2"#, Some(json!(2))),
            (r#"{"command":"it never ends "#, None),
            (r#"{"a":{"id":1}}"#, None),
            (r#"{"id":{"id":1}}"#, None),
            (r#"{"id":[1]}"#, None),
            (r#"{"id":null}"#, None),
            (r#"{"id":"\ud800"}"#, None),
            (r#"["id",1]"#, None),
            ("nonsense", None),
            ("", None),
            ("}}}}{\"id\":1}", Some(json!(1))),
        ] {
            assert_eq!(IdScan::of(message.as_bytes()), id, "{message}");
            let mut scan = IdScan::default();
            for byte in message.as_bytes() {
                scan.push(&[*byte]);
            }
            assert_eq!(scan.found(), id, "{message}, byte by byte");
        }
    }

    #[test]
    fn an_id_that_is_longer_than_any_is_none() {
        let long = format!(r#"{{"id":"{}","x":1}}"#, "i".repeat(LONGEST * 2));
        assert_eq!(IdScan::of(long.as_bytes()), None);
        let name = format!(r#"{{"{}":1,"id":2}}"#, "n".repeat(1 << 20));
        assert_eq!(IdScan::of(name.as_bytes()), Some(json!(2)));
    }
}
