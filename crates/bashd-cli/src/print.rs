//! The only file that writes to stdout and stderr.
//!
//! Results go to stdout, everything else to stderr. If the reader stops reading, we end quietly.

use crate::args::ColorWhen;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::for_people;
use crate::render::{ColoursOnly, StyledLine, Tone};
use crate::surroundings::ColorHints;
use anstyle::{AnsiColor, Style};
use bashd::output::text::Decoder;
use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::os::fd::AsFd;

/// Writes to stdout and stderr.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    out: Colors,
    err: Colors,
}

/// Whether a stream gets colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colors {
    On,
    Off,
}

/// The kind of a piece of text, which decides its color.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Paint {
    Good,
    Bad,
    Warning,
    Hint,
    Faint,
    Title,
}

impl Printer {
    /// A printer that uses colors as told, or as the surroundings suggest.
    pub(crate) fn new(when: ColorWhen, hints: &ColorHints) -> Self {
        let colors = |is_terminal: bool| {
            let wanted = match when {
                ColorWhen::Always => true,
                ColorWhen::Never => false,
                ColorWhen::Auto => {
                    !hints.no_color && (hints.force || (is_terminal && !hints.dumb_terminal))
                }
            };
            if wanted { Colors::On } else { Colors::Off }
        };
        Self {
            out: colors(io::stdout().is_terminal()),
            err: colors(io::stderr().is_terminal()),
        }
    }

    /// Writes text to stdout as it is.
    pub(crate) fn out(&self, text: &str) -> Result<(), Failure> {
        let mut page = self.page();
        page.text(text)?;
        page.finish()
    }

    /// Writes text to stderr as it is.
    pub(crate) fn err(text: &str) {
        // There is no other way to report that stderr can't be written.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Whether anything that is printed reaches a terminal.
    pub(crate) fn reaches_terminal() -> bool {
        io::stderr().is_terminal() || io::stdout().is_terminal()
    }

    /// Writes what is for the terminal itself, if there is one.
    pub(crate) fn to_terminal(sign: &str) {
        if io::stderr().is_terminal() {
            Self::err(sign);
        } else if io::stdout().is_terminal() {
            let mut out = io::stdout().lock();
            // Nobody misses a sign at a terminal that is gone.
            let _ = out.write_all(sign.as_bytes()).and_then(|()| out.flush());
        }
    }

    /// Writes a line for people to stderr, if that is a terminal.
    pub(crate) fn err_line(&self, line: &StyledLine) {
        if io::stderr().is_terminal() {
            Self::err(&format!("{}\n", self.err_text(line)));
        }
    }

    /// A line as it is written to stderr.
    pub(crate) fn err_text(&self, line: &StyledLine) -> String {
        let spans = line.0.iter();
        let painted = spans.map(|span| match paint_of(span.tone) {
            Some(paint) => painted(self.err, paint, &span.text),
            None => span.text.clone(),
        });
        painted.collect()
    }

    /// Columns of the terminal behind stderr; `None` if there is none. A terminal of unknown size
    /// has the usual one.
    pub(crate) fn err_columns() -> Option<usize> {
        let columns = columns_of(rustix::stdio::stderr());
        io::stderr().is_terminal().then(|| columns.unwrap_or(80))
    }

    /// Writes a warning to stderr.
    pub(crate) fn warn(&self, text: &str) {
        self.remark(Paint::Warning, "warning:", text);
    }

    /// Tells people something on stderr.
    pub(crate) fn note(&self, text: &str) {
        self.remark(Paint::Faint, "bashd:", text);
    }

    /// Whether stdout gets colors.
    pub(crate) fn paints(&self) -> bool {
        self.out == Colors::On
    }

    /// Whether stdout is a terminal.
    pub(crate) fn is_terminal() -> bool {
        io::stdout().is_terminal()
    }

    /// Opens stdout for many lines.
    pub(crate) fn page(&self) -> BufferedStdout {
        BufferedStdout {
            sink: PageSink::Stdout(BufWriter::new(io::stdout().lock())),
            colors: self.out,
        }
    }

    /// Opens stdout for a list: at a terminal, a long one is shown in the user's pager.
    pub(crate) fn list(&self) -> BufferedStdout {
        if !Self::is_terminal() {
            return self.page();
        }
        BufferedStdout {
            sink: PageSink::List(Vec::new()),
            colors: self.out,
        }
    }

    /// Columns and rows of the terminal behind stdout; `None` if there is none.
    pub(crate) fn size() -> Option<(u16, u16)> {
        let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
        Some((size.ws_col, size.ws_row)).filter(|(columns, rows)| *columns > 0 && *rows > 0)
    }

    /// Columns of the terminal behind stdout; `None` if there is none.
    pub(crate) fn columns() -> Option<usize> {
        columns_of(rustix::stdio::stdout())
    }

    /// Writes a line to stderr, its first word painted. At a terminal it breaks between words.
    pub(crate) fn remark(&self, paint: Paint, word: &str, text: &str) {
        let columns = columns_of(rustix::stdio::stderr());
        let text = for_people::remark(text, word.chars().count() + 1, columns);
        Self::err(&format!("{} {text}\n", painted(self.err, paint, word)));
    }

    /// Writes clap's message: help on stdout, errors on stderr.
    pub(crate) fn clap(&self, error: &clap::Error) -> ExitStatus {
        let text = error.render();
        let rendered = |colors| match colors {
            Colors::On => text.ansi().to_string(),
            Colors::Off => text.to_string(),
        };
        if error.use_stderr() {
            Self::err(&rendered(self.err));
            return ExitStatus::Failed;
        }
        match self.out(&rendered(self.out)) {
            Ok(()) => ExitStatus::Success,
            Err(failure) => failure.show(self),
        }
    }
}

/// What commands wrote, on its way to stdout or stderr: exact, unless that is a terminal. There it
/// keeps its colours, and acts on nothing.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    decoder: Decoder,
    colours: Option<ColoursOnly>,
}

impl CommandOutput {
    /// On its way to stdout.
    pub(crate) fn to_stdout() -> Self {
        Self::to(io::stdout().is_terminal())
    }

    /// On its way to stderr.
    pub(crate) fn to_stderr() -> Self {
        Self::to(io::stderr().is_terminal())
    }

    fn to(is_terminal: bool) -> Self {
        Self {
            decoder: Decoder::new(),
            colours: is_terminal.then(ColoursOnly::default),
        }
    }

    /// What of a text is written.
    pub(crate) fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        match &mut self.colours {
            Some(colours) => colours.push(text).into(),
            None => text.into(),
        }
    }

    /// Likewise for bytes, which may break a character in two.
    pub(crate) fn bytes<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        match &mut self.colours {
            Some(colours) => colours.push(&self.decoder.push(bytes)).into_bytes().into(),
            None => bytes.into(),
        }
    }

    /// What comes after the last of it: a colour that was left on ends.
    pub(crate) fn end(&mut self) -> &'static str {
        self.colours.as_mut().map_or("", ColoursOnly::end)
    }
}

/// stdout, buffered.
pub(crate) struct BufferedStdout {
    sink: PageSink,
    colors: Colors,
}

/// Where the lines go.
enum PageSink {
    Stdout(BufWriter<StdoutLock<'static>>),
    /// All of them are shown at the end.
    List(Vec<u8>),
}

impl PageSink {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Stdout(writer) => writer,
            Self::List(text) => text,
        }
    }
}

impl BufferedStdout {
    /// Writes text as it is.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.sink.writer().write_all(bytes).map_err(failure)
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Failure> {
        writeln!(self.sink.writer(), "{line}").map_err(failure)
    }

    /// Writes a text behind what it is about, which takes so many columns. At a terminal it breaks
    /// between words, and goes on below itself.
    pub(crate) fn beside(
        &mut self,
        head: &str,
        taken: usize,
        paint: Option<Paint>,
        text: &str,
    ) -> Result<(), Failure> {
        let columns = Printer::columns().filter(|_| Printer::is_terminal());
        let lines = for_people::wrapped(text, taken, columns);
        for (number, line) in lines.iter().enumerate() {
            let line = paint.map_or_else(|| line.clone(), |paint| self.paint(paint, line));
            if number == 0 {
                self.line(format_args!("{head}{line}"))?;
            } else {
                self.line(format_args!("{:taken$}{line}", ""))?;
            }
        }
        Ok(())
    }

    /// Where to write what is made piece by piece.
    pub(crate) fn writer(&mut self) -> &mut dyn Write {
        self.sink.writer()
    }

    /// What became of writing there.
    pub(crate) fn written(written: io::Result<()>) -> Result<(), Failure> {
        written.map_err(failure)
    }

    /// The text in its color, if colors are on.
    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        painted(self.colors, paint, text)
    }

    /// Makes sure that everything is written.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self.sink {
            PageSink::Stdout(mut writer) => writer.flush().map_err(failure),
            PageSink::List(text) => crate::pager::show(&text),
        }
    }
}

fn failure(error: io::Error) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::BrokenPipe => FailureKind::ReaderGone,
        _ => FailureKind::System,
    };
    Failure::of(
        kind,
        anyhow::Error::new(error).context("stdout can't be written"),
    )
}

fn columns_of(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

fn paint_of(tone: Tone) -> Option<Paint> {
    match tone {
        // Here a command's text has only the colors that we give it.
        Tone::Plain | Tone::Own(_) => None,
        Tone::Command | Tone::Found | Tone::FoundHere => Some(Paint::Title),
        Tone::Faint => Some(Paint::Faint),
        Tone::Good => Some(Paint::Good),
        Tone::Bad => Some(Paint::Bad),
        Tone::Warning => Some(Paint::Warning),
        Tone::Active => Some(Paint::Hint),
    }
}

fn painted(colors: Colors, paint: Paint, text: &str) -> String {
    let style = match paint {
        Paint::Good => AnsiColor::Green.on_default(),
        Paint::Bad => AnsiColor::Red.on_default().bold(),
        Paint::Warning => AnsiColor::Yellow.on_default(),
        Paint::Hint => AnsiColor::Cyan.on_default(),
        Paint::Faint => Style::new().dimmed(),
        Paint::Title => Style::new().bold(),
    };
    match colors {
        Colors::On => format!("{style}{text}{style:#}"),
        Colors::Off => text.to_owned(),
    }
}
