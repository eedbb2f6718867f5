//! How a person who looked away learns that something long is over. What is written where is the
//! front end's.

use super::resolve::Values;
use crate::error::{Error, ErrorKind, Result};
use std::time::Duration;

/// The sign, and from when on there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotifySettings {
    /// What the sign is.
    pub by: NotifyBy,
    /// What ended before this needs no sign.
    pub after: Duration,
}

/// What a sign is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotifyBy {
    /// What suits the terminal.
    Auto,
    /// There is none.
    Off,
    /// The terminal's bell.
    Bell,
    /// The terminal shows a text (`OSC 9`, as in kitty and Ghostty).
    Osc9,
    /// The terminal shows a title and a text (`OSC 777`, as in foot and rxvt).
    Osc777,
    /// The program of that name.
    NotifySend,
}

impl NotifyBy {
    /// The words of the configuration.
    pub(super) const NAMES: &'static [&'static str] =
        &["auto", "off", "bell", "osc9", "osc777", "notify-send"];

    fn of(word: &str) -> Result<Self> {
        Ok(match word {
            "auto" => Self::Auto,
            "off" => Self::Off,
            "bell" => Self::Bell,
            "osc9" => Self::Osc9,
            "osc777" => Self::Osc777,
            "notify-send" => Self::NotifySend,
            other => {
                let message = format!("`notify.by` can't be {other:?}");
                return Err(Error::new(ErrorKind::Config, message));
            }
        })
    }
}

impl NotifySettings {
    pub(super) fn from_values(values: &Values) -> Result<Self> {
        Ok(Self {
            by: NotifyBy::of(values.text("notify.by")?)?,
            after: Duration::from_secs(values.number("notify.after_seconds")?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_configuration_is_known() {
        for name in NotifyBy::NAMES {
            assert!(NotifyBy::of(name).is_ok(), "{name}");
        }
        assert!(NotifyBy::of("telegram").is_err());
    }
}
