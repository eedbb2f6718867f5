//! The command lines of `bashd replay` and `bashd export`.

use super::Everywhere;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Play a run again in the terminal, as fast as it was.
///
/// At a terminal, space pauses, and q or Ctrl-C ends it. A run that was not recorded
/// (`recording.enabled`) is shown at once.
#[derive(Debug, Args)]
pub(crate) struct ReplayOptions {
    /// The run: a call of `bashd log`, a job, or an artifact's number.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// How many times faster.
    #[arg(long, value_name = "FACTOR", value_parser = speed, default_value = "1")]
    pub(crate) speed: f64,
    /// The longest pause, such as `1s` or `500ms`.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) idle: Option<Duration>,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

/// Write a run down for others: as an asciicast, a picture, or a page that plays it.
///
/// Secrets that bashd knows of are replaced, and what would act on a reader's terminal is left out.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
#[command(group = clap::ArgGroup::new("form").required(true))]
pub(crate) struct ExportOptions {
    /// The run: a call of `bashd log`, a job, or an artifact's number.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// An asciicast, for asciinema and its player.
    #[arg(long, group = "form")]
    pub(crate) cast: bool,
    /// Version 3 of that format, with the exit status, instead of 2.
    #[arg(long, requires = "cast", conflicts_with_all = ["svg", "html"])]
    pub(crate) v3: bool,
    /// An SVG of the last screen.
    #[arg(long, group = "form")]
    pub(crate) svg: bool,
    /// Let the SVG move.
    #[arg(long, requires = "svg", conflicts_with_all = ["cast", "html"])]
    pub(crate) animated: bool,
    /// A page that plays it and needs nothing else.
    #[arg(long, group = "form")]
    pub(crate) html: bool,
    /// The longest pause, such as `1s` or `500ms`.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) idle: Option<Duration>,
    /// Write to this file instead of stdout.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
}

fn speed(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    if (0.01..=1000.0).contains(&number) {
        Ok(number)
    } else {
        Err("expected a number from 0.01 to 1000".to_owned())
    }
}

/// A time such as `1s`, `500ms` or `2m`; a number alone is seconds.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let split = text.find(|one: char| one.is_ascii_alphabetic());
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        _ => return Err("expected a time, such as 1s or 500ms".to_owned()),
    };
    let number: f64 = number
        .trim()
        .parse()
        .map_err(|_| "expected a time, such as 1s or 500ms".to_owned())?;
    Duration::try_from_secs_f64(number * scale).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        for (text, ms) in [("1s", 1000), ("500ms", 500), ("0.5", 500), ("2m", 120_000)] {
            assert_eq!(time(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for nonsense in ["", "s", "1h", "-1s", "soon", "1e99"] {
            assert!(time(nonsense).is_err(), "{nonsense}");
        }
        assert!(speed("0").is_err() && speed("nan").is_err() && speed("2").is_ok());
    }
}
