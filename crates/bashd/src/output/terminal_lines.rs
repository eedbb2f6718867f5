//! The one reader of what a terminal is sent as lines: escape sequences are dropped, a carriage
//! return and a backspace move back, and what is then written replaces what was there.
//!
//! A [`LineSink`] keeps the lines: a reply's text, or the last lines of a live view. Its [`Pen`]
//! says whether it wants to know how each character was written.

/// Characters of a line that can still be overwritten; those before them stay.
const LONGEST: usize = 64 * 1024;

/// How characters are written: what the sequences for colors and the like set.
pub trait Pen: Copy + Default {
    /// A sequence that changes it came (`CSI … m`); each part is a number with its subordinates.
    fn change<'a>(&mut self, parts: impl Iterator<Item = &'a [u16]>);
}

/// For who wants the characters alone; costs nothing.
impl Pen for () {
    fn change<'a>(&mut self, _: impl Iterator<Item = &'a [u16]>) {}
}

/// A character, and how it was written.
pub type Written<P> = (char, P);

/// Takes the lines that were read.
pub trait LineSink {
    /// What it wants to know of how characters were written.
    type Pen: Pen;

    /// Takes the next characters of a line that goes on.
    fn part(&mut self, characters: &[Written<Self::Pen>]);

    /// Takes the rest of a line that has ended.
    fn line(&mut self, characters: &[Written<Self::Pen>]);

    /// Forgets the parts of the line that goes on: it is written anew.
    fn anew(&mut self);
}

/// What a carriage return does that no newline follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterReturn {
    /// What follows overwrites the line, character by character, as on a screen.
    Overwrites,
    /// What follows takes the line's place.
    Replaces,
    /// It ends the line.
    EndsLine,
}

/// Reads text in pieces of any size; escape sequences may be split anywhere.
pub struct TerminalLines<S: LineSink> {
    parser: vte::Parser,
    lines: OpenLine<S>,
}

impl<S: LineSink> TerminalLines<S> {
    /// A reader at the start of a stream.
    pub fn new(sink: S, after_return: AfterReturn) -> Self {
        let lines = OpenLine {
            sink,
            after_return,
            line: Vec::new(),
            at: 0,
            returned: false,
            pen: S::Pen::default(),
        };
        Self {
            parser: vte::Parser::new(),
            lines,
        }
    }

    /// Reads the next piece. It is text, because the parser loses characters after a split one.
    pub fn push(&mut self, text: &str) {
        self.parser.advance(&mut self.lines, text.as_bytes());
    }

    /// Where the lines went.
    pub fn sink(&self) -> &S {
        &self.lines.sink
    }

    /// The same, to be changed.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.lines.sink
    }

    /// What is written so far of the last line, after the parts that the sink has.
    pub fn open(&self) -> &[Written<S::Pen>] {
        &self.lines.line
    }

    /// Ends the stream: the sink gets what is left.
    pub fn finish(mut self) -> S {
        self.lines.flush();
        self.lines.sink
    }
}

/// The line that is being written.
struct OpenLine<S: LineSink> {
    sink: S,
    after_return: AfterReturn,
    line: Vec<Written<S::Pen>>,
    at: usize,
    /// Whether a carriage return waits for what follows it.
    returned: bool,
    pen: S::Pen,
}

impl<S: LineSink> OpenLine<S> {
    fn put(&mut self, character: char) {
        self.take_return();
        let written = (character, self.pen);
        match self.line.get_mut(self.at) {
            Some(place) => *place = written,
            None => self.line.push(written),
        }
        self.at += 1;
        if self.line.len() >= LONGEST {
            self.flush();
        }
    }

    /// Handles a carriage return that was not followed by a newline.
    fn take_return(&mut self) {
        if std::mem::take(&mut self.returned) {
            match self.after_return {
                AfterReturn::Overwrites => self.at = 0,
                AfterReturn::Replaces => self.begin_anew(),
                AfterReturn::EndsLine => self.end_line(),
            }
        }
    }

    fn begin_anew(&mut self) {
        self.sink.anew();
        self.line.clear();
        self.at = 0;
    }

    fn end_line(&mut self) {
        self.sink.line(&self.line);
        self.line.clear();
        self.at = 0;
    }

    fn flush(&mut self) {
        self.sink.part(&self.line);
        self.line.clear();
        self.at = 0;
    }

    fn erase(&mut self, what: u16) {
        match what {
            0 => self.line.truncate(self.at),
            1 => {
                let upto = self.line.len().min(self.at + 1);
                self.line
                    .iter_mut()
                    .take(upto)
                    .for_each(|place| *place = (' ', self.pen));
            }
            _ => self.begin_anew(),
        }
    }
}

impl<S: LineSink> vte::Perform for OpenLine<S> {
    fn print(&mut self, character: char) {
        if !character.is_control() {
            self.put(character);
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' => {
                self.returned = false;
                self.end_line();
            }
            b'\r' => {
                self.take_return();
                self.returned = true;
            }
            b'\t' => self.put('\t'),
            0x08 => self.at = self.at.saturating_sub(1),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, parameters: &vte::Params, _: &[u8], _: bool, action: char) {
        if action == 'm' {
            self.pen.change(parameters.iter());
        }
        if action == 'K' && self.after_return != AfterReturn::EndsLine {
            self.take_return();
            let what = parameters.iter().next().and_then(|part| part.first());
            self.erase(what.copied().unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct Together(String);

    impl LineSink for Together {
        type Pen = ();

        fn part(&mut self, characters: &[Written<()>]) {
            self.0.extend(characters.iter().map(|(one, ())| one));
        }

        fn line(&mut self, characters: &[Written<()>]) {
            self.part(characters);
            self.0.push('\n');
        }

        fn anew(&mut self) {
            let from = self.0.rfind('\n').map_or(0, |newline| newline + 1);
            self.0.truncate(from);
        }
    }

    fn read(pieces: &[&str], after_return: AfterReturn) -> String {
        let mut lines = TerminalLines::new(Together::default(), after_return);
        for piece in pieces {
            lines.push(piece);
        }
        lines.finish().0
    }

    #[test]
    fn a_return_overwrites_replaces_or_ends_the_line() {
        use AfterReturn::{EndsLine, Overwrites, Replaces};
        for (text, overwritten, replaced, ended) in [
            ("one\r\ntwo", "one\ntwo", "one\ntwo", "one\ntwo"),
            ("long line\rX\n", "Xong line\n", "X\n", "long line\nX\n"),
            ("long\r\x1b[Kx\n", "x\n", "x\n", "long\nx\n"),
            ("abc\x1b[2Kx\n", "x\n", "x\n", "abcx\n"),
            ("abc\x08\x08\x1b[1Kx\n", " xc\n", " xc\n", "axc\n"),
            ("a\tb\x07c\x08d\n", "a\tbd\n", "a\tbd\n", "a\tbd\n"),
        ] {
            assert_eq!(read(&[text], Overwrites), overwritten, "{text:?}");
            assert_eq!(read(&[text], Replaces), replaced, "{text:?}");
            assert_eq!(read(&[text], EndsLine), ended, "{text:?}");
        }
    }

    #[test]
    fn a_line_beyond_the_bound_is_replaced_with_its_parts() {
        let long = "x".repeat(LONGEST + 10);
        assert_eq!(read(&[&long, "\rdone\n"], AfterReturn::Replaces), "done\n");
        let whole = read(&[&long, "\n"], AfterReturn::Overwrites);
        assert_eq!(whole.len(), LONGEST + 11);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(pieces in prop::collection::vec("[a-c\r\n\t\u{8}\u{1b}\\[0-2K日]{0,6}", 0..20)) {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            for after in [AfterReturn::Overwrites, AfterReturn::Replaces, AfterReturn::EndsLine] {
                prop_assert_eq!(read(&pieces, after), read(&[&pieces.concat()], after));
            }
        }
    }
}
