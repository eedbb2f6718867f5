//! The name that a TLS client says, in its first message.

/// The largest first message that is read.
const LARGEST: usize = 64 * 1024;

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// Not enough to tell.
    Unfinished,
    /// Not TLS, or TLS without a name.
    Nameless,
    /// TLS, to this name.
    To(String),
    /// TLS that nobody should send.
    Broken,
}

/// Looks at the first bytes of a connection.
pub(super) fn hello(bytes: &[u8]) -> Hello {
    const HANDSHAKE: u8 = 22;
    match bytes.first() {
        None => return Hello::Unfinished,
        Some(&HANDSHAKE) => {}
        Some(_) => return Hello::Nameless,
    }
    // The message may be in several records.
    let mut message = Vec::new();
    let mut rest = bytes;
    let body = loop {
        if let Some(body) = whole(&message) {
            break body;
        }
        let [kind, _, _, high, low, after @ ..] = rest else {
            return unfinished(bytes);
        };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if *kind != HANDSHAKE || length == 0 {
            return Hello::Broken;
        }
        let part = after.get(..length.min(after.len())).unwrap_or_default();
        message.extend(part);
        if message.first().is_some_and(|first| *first != 1) {
            return Hello::Broken;
        }
        rest = after.get(length..).unwrap_or_default();
        if after.len() < length && whole(&message).is_none() {
            return unfinished(bytes);
        }
    };
    named(body).unwrap_or(Hello::Broken)
}

fn unfinished(bytes: &[u8]) -> Hello {
    if bytes.len() < LARGEST {
        Hello::Unfinished
    } else {
        Hello::Broken
    }
}

/// The body of a message, if all of it is there.
fn whole(message: &[u8]) -> Option<&[u8]> {
    let [_, a, b, c, body @ ..] = message else {
        return None;
    };
    let length = u32::from_be_bytes([0, *a, *b, *c]);
    body.get(..usize::try_from(length).ok()?)
}

/// What the body of a client's first message says; `None` if it is broken.
fn named(body: &[u8]) -> Option<Hello> {
    const SERVER_NAME: u16 = 0;
    let mut reader = Reader(body);
    reader.take(2 + 32)?;
    reader.part(1)?; // session
    reader.part(2)?; // ciphers
    reader.part(1)?; // compressions
    if reader.0.is_empty() {
        return Some(Hello::Nameless);
    }
    let mut extensions = Reader(reader.part(2)?);
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let content = extensions.part(2)?;
        if kind == usize::from(SERVER_NAME) {
            let mut names = Reader(Reader(content).part(2)?);
            let is_host = names.number(1)? == 0;
            let text = std::str::from_utf8(names.part(2)?).ok()?;
            return is_host.then(|| Hello::To(text.to_ascii_lowercase()));
        }
    }
    Some(Hello::Nameless)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        let taken = self.take(bytes)?.iter();
        Some(taken.fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// What follows its length, which has this many bytes.
    fn part(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let length = self.number(bytes)?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: Option<&str>) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        let mut extensions = vec![0, 23, 0, 0];
        if let Some(name) = name {
            let length = name.len() as u16;
            extensions.extend([0, 0]);
            extensions.extend((length + 5).to_be_bytes());
            extensions.extend((length + 3).to_be_bytes());
            extensions.push(0);
            extensions.extend(length.to_be_bytes());
            extensions.extend(name.bytes());
        }
        body.extend((extensions.len() as u16).to_be_bytes());
        body.extend(extensions);
        let mut message = vec![1, 0, 0, body.len() as u8];
        message.extend(body);
        message
    }

    fn records(message: &[u8], size: usize) -> Vec<u8> {
        let records = message.chunks(size).flat_map(|part| {
            let mut record = vec![22, 3, 1, 0, part.len() as u8];
            record.extend(part);
            record
        });
        records.collect()
    }

    #[test]
    fn the_name_is_found_in_however_many_records() {
        let message = message(Some("Git.Test"));
        for size in [1, 2, 7, 50, 255] {
            let bytes = records(&message, size);
            assert_eq!(hello(&bytes), Hello::To("git.test".into()), "{size}");
            for end in 0..bytes.len() {
                assert_eq!(hello(&bytes[..end]), Hello::Unfinished, "{size} {end}");
            }
        }
    }

    #[test]
    fn other_bytes_have_no_name() {
        assert_eq!(hello(b"SSH-2.0-x\r\n"), Hello::Nameless);
        assert_eq!(hello(&records(&message(None), 255)), Hello::Nameless);
        assert_eq!(hello(&[22, 3, 1, 0, 0]), Hello::Broken);
        assert_eq!(hello(&[22, 3, 1, 0, 1, 2]), Hello::Broken);
        assert_eq!(hello(&records(&[1, 0, 0, 3, 3, 3, 0], 255)), Hello::Broken);
        assert_eq!(hello(&vec![22; LARGEST]), Hello::Broken);
    }
}
