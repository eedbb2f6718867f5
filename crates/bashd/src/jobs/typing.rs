//! What is sent to a job's input: text, a paste, keys by name, end of input.

use super::control::Control;
use super::state::Job;
use super::{AfterInput, Jobs};
use crate::error::{Error, ErrorKind, Result};
use crate::screen::keys::{self, Code, KeyModes, KeyPress};
use bashd_keeper::signal;

/// What is sent to a job's input, in this order.
///
/// At a terminal a newline in the text is typed as Enter, and keys have the bytes that the program
/// asked for. Without a terminal `C-c` is a SIGINT and `C-d` the end of the input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Typing {
    /// Text, sent as it is.
    pub text: Vec<u8>,
    /// Text as a paste: between markers, if the program asked for them.
    pub paste: Option<String>,
    /// Keys.
    pub keys: Vec<KeyPress>,
    /// What follows.
    pub then: AfterInput,
}

impl Typing {
    /// Just text.
    pub fn text(text: impl Into<Vec<u8>>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Adds these keys, by their names; the error is for people.
    pub fn keys<'a>(
        mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> std::result::Result<Self, String> {
        for name in names {
            let key = KeyPress::named(name).ok_or_else(|| {
                let names = keys::names();
                format!("there is no key `{name}`; the keys are {names}, C-c, M-x, S-Tab")
            })?;
            self.keys.push(key);
        }
        Ok(self)
    }

    /// Adds a paste before the keys.
    #[must_use]
    pub fn paste(mut self, text: Option<String>) -> Self {
        self.paste = text;
        self
    }

    /// Adds the end of the input.
    #[must_use]
    pub fn then(mut self, then: AfterInput) -> Self {
        self.then = then;
        self
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        let nothing = self.text.is_empty() && self.paste.is_none() && self.keys.is_empty();
        nothing && self.then == AfterInput::StayOpen
    }

    /// The bytes for a terminal whose program wants its keys this way.
    fn at_terminal(&self, modes: KeyModes) -> Vec<u8> {
        let text = self.text.iter();
        let mut bytes: Vec<u8> = text
            .map(|byte| if *byte == b'\n' { b'\r' } else { *byte })
            .collect();
        if let Some(text) = &self.paste {
            bytes.extend(keys::paste(text, modes));
        }
        bytes.extend(self.keys.iter().flat_map(|key| key.bytes(modes)));
        bytes
    }

    /// The bytes for a pipe, and what the keys mean there otherwise.
    fn at_pipe(&self) -> (Vec<u8>, Instead) {
        let mut bytes = self.text.clone();
        bytes.extend(self.paste.iter().flat_map(|text| text.bytes()));
        let mut instead = Instead {
            then: self.then,
            interrupts: false,
        };
        for key in &self.keys {
            match (key.code, key.modifiers.control) {
                (Code::Character('c' | 'C'), true) => instead.interrupts = true,
                (Code::Character('d' | 'D'), true) => instead.then = AfterInput::Close,
                (Code::Enter, _) => bytes.push(b'\n'),
                _ => bytes.extend(key.bytes(KeyModes::default())),
            }
        }
        (bytes, instead)
    }
}

/// What keys mean that only a terminal interprets.
struct Instead {
    then: AfterInput,
    interrupts: bool,
}

impl Jobs {
    /// Types at a job, with or without a terminal; returns the number of bytes.
    pub async fn type_at(&self, job: &Job, typing: &Typing) -> Result<usize> {
        self.book.noted(job, "send", self.press(job, typing)).await
    }

    async fn press(&self, job: &Job, typing: &Typing) -> Result<usize> {
        if job.terminal.is_some() {
            let needs_modes = typing.paste.is_some() || !typing.keys.is_empty();
            let modes = if needs_modes {
                self.key_modes(job).await?
            } else {
                KeyModes::default()
            };
            let bytes = typing.at_terminal(modes);
            self.pass(job, &bytes, typing.then).await?;
            return Ok(bytes.len());
        }
        let (bytes, instead) = typing.at_pipe();
        if !bytes.is_empty() || instead.then == AfterInput::Close {
            self.pass(job, &bytes, instead.then).await?;
        }
        if instead.interrupts {
            let number = signal::number("INT").ok_or_else(|| {
                Error::new(ErrorKind::Job, "SIGINT is not available here").about(&job.id)
            })?;
            Control::open(job).await?.signal(number).await?;
        }
        Ok(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_bytes_at_a_terminal_and_deeds_at_a_pipe() {
        let typing = Typing::text("a\n")
            .paste(Some("b\nc".to_owned()))
            .keys(["Enter", "Up", "ctrl-c", "C-d"])
            .unwrap();
        let modes = KeyModes {
            application_cursor: true,
            bracketed_paste: true,
            kitty: 0,
        };
        assert_eq!(
            typing.at_terminal(modes),
            b"a\r\x1b[200~b\rc\x1b[201~\r\x1bOA\x03\x04"
        );
        let (bytes, instead) = typing.at_pipe();
        assert_eq!(bytes, b"a\nb\nc\n\x1b[A");
        assert!(instead.interrupts && instead.then == AfterInput::Close);
        let unknown = Typing::default().keys(["Hyper-x"]).unwrap_err();
        assert!(
            unknown.starts_with("there is no key `Hyper-x`; the keys are Enter"),
            "{unknown}"
        );
        assert!(Typing::default().is_empty());
    }
}
