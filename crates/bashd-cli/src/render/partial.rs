//! Reads JSON arguments before all of them have come.
//!
//! A total reader, for display only: it takes what is there, and stops at the end of the text or at
//! the first thing that is not JSON. What runs is decided by the whole text and a real parser.

use super::CallText;
use bashd::Profile;
use bashd::profile::sets::Sets;
use std::iter::Peekable;
use std::str::Chars;

/// Reads the call's command, directory and variables out of the beginning of a JSON object.
pub(super) fn recover(profile: &Profile, json: &str) -> CallText {
    let mut call = CallText::default();
    let mut reader = PartialReader(json.chars().peekable());
    let _ = reader.members(|reader, name| {
        let parameter = profile
            .parameters
            .iter()
            .find(|parameter| parameter.names().any(|known| known == name));
        match parameter.map(|parameter| parameter.sets) {
            Some(Sets::Command) => reader.text(|text| call.command = Some(text)),
            Some(Sets::Cwd) => reader.text(|text| call.cwd = Some(text)),
            Some(Sets::Env) => reader.members(|reader, name| {
                reader.text(|value| call.env.push((name.to_owned(), value)))
            }),
            _ => reader.skip(),
        }
    });
    call
}

/// Continues as long as there is something; `None` is the end, wherever it is.
struct PartialReader<'text>(Peekable<Chars<'text>>);

impl PartialReader<'_> {
    fn next_solid(&mut self) -> Option<char> {
        while self.0.next_if(char::is_ascii_whitespace).is_some() {}
        self.0.peek().copied()
    }

    fn take(&mut self, expected: char) -> Option<()> {
        self.next_solid().filter(|next| *next == expected)?;
        self.0.next().map(drop)
    }

    /// Reads an object; `value` reads the value of each member whose name is complete.
    fn members(&mut self, mut value: impl FnMut(&mut Self, &str) -> Option<()>) -> Option<()> {
        self.take('{')?;
        if self.take('}').is_some() {
            return Some(());
        }
        loop {
            let (name, is_whole) = self.string()?;
            if !is_whole {
                return None;
            }
            self.take(':')?;
            value(self, &name)?;
            if self.take('}').is_some() {
                return Some(());
            }
            self.take(',')?;
        }
    }

    /// Reads a value that should be a string, even an unfinished one; any other is skipped.
    fn text(&mut self, give: impl FnOnce(String)) -> Option<()> {
        if self.next_solid()? != '"' {
            return self.skip();
        }
        let (text, is_whole) = self.string()?;
        give(text);
        is_whole.then_some(())
    }

    /// A string as far as it goes, and whether its end has come.
    fn string(&mut self) -> Option<(String, bool)> {
        self.take('"')?;
        let mut text = String::new();
        while let Some(next) = self.0.next() {
            match next {
                '"' => return Some((text, true)),
                '\\' => match self.escaped() {
                    Some(character) => text.push(character),
                    None => break,
                },
                other => text.push(other),
            }
        }
        Some((text, false))
    }

    fn escaped(&mut self) -> Option<char> {
        Some(match self.0.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let unit = self.hexadecimal()?;
                if !(0xd800..0xdc00).contains(&unit) {
                    return Some(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                (self.0.next()? == '\\' && self.0.next()? == 'u').then_some(())?;
                let low = self.hexadecimal()?.checked_sub(0xdc00)?;
                char::from_u32(0x10000 + ((unit - 0xd800) << 10) + low)
                    .unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => other,
        })
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |number, _| {
            Some(number * 16 + self.0.next()?.to_digit(16)?)
        })
    }

    /// Skips a value of any kind.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.next_solid()? {
                '"' => self.string()?.1.then_some(())?,
                '{' | '[' => {
                    depth += 1;
                    self.0.next();
                }
                '}' | ']' => {
                    depth = depth.checked_sub(1)?;
                    self.0.next();
                }
                ',' | ':' if depth > 0 => drop(self.0.next()),
                ',' | ':' => return None,
                _ => {
                    while self
                        .0
                        .next_if(|next| !",:{}[]\" \t\r\n".contains(*next))
                        .is_some()
                    {}
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }
}
