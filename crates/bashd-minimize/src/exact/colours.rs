//! Lines that say something by their colours alone.
//!
//! Two texts of different colours with nothing between them (`git diff --color-words` writes the
//! old value and the new one so) would become one word that nobody wrote. And where a list has a
//! green sign in one line and a red one in the next, the colour is the state. Such lines keep their
//! escapes.

use super::super::trouble::is_trouble;
use super::escapes::{Escape, escape_at};
use memchr::memchr2_iter;
use std::collections::HashMap;
use std::ops::Range;

/// A colour, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CellInk {
    /// That of the terminal.
    #[default]
    Plain,
    Red,
    Green,
    Other(u32),
}

/// What is drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct SequencePen {
    text: CellInk,
    ground: CellInk,
}

impl SequencePen {
    /// The colour that a reader sees first.
    fn ink(self) -> CellInk {
        if self.ground == CellInk::Plain {
            self.text
        } else {
            self.ground
        }
    }

    /// Takes the numbers of a sequence.
    fn take(&mut self, parameters: &[u8]) {
        let value = |number: &[u8]| {
            let digit = |sum: u32, byte: &u8| match byte {
                b'0'..=b'9' => sum
                    .saturating_mul(10)
                    .saturating_add(u32::from(byte - b'0')),
                _ => sum,
            };
            number.iter().fold(0, digit)
        };
        let mut numbers = parameters
            .split(|byte| matches!(byte, b';' | b':'))
            .map(value);
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                30..=37 => self.text = basic(number - 30),
                90..=97 => self.text = basic(number - 90),
                39 => self.text = CellInk::Plain,
                40..=47 => self.ground = basic(number - 40),
                100..=107 => self.ground = basic(number - 100),
                49 => self.ground = CellInk::Plain,
                38 => self.text = of_palette(&mut numbers),
                48 => self.ground = of_palette(&mut numbers),
                _ => {}
            }
        }
    }
}

fn basic(number: u32) -> CellInk {
    match number {
        1 => CellInk::Red,
        2 => CellInk::Green,
        // White and black are what most terminals draw with anyway.
        0 | 7 => CellInk::Plain,
        other => CellInk::Other(other),
    }
}

/// `5;196` or `2;220;30;30`
fn of_palette(numbers: &mut impl Iterator<Item = u32>) -> CellInk {
    match numbers.next() {
        Some(5) => match numbers.next().unwrap_or(0) {
            number @ 0..=7 => basic(number),
            number @ 8..=15 => basic(number - 8),
            number @ 16..=231 => {
                let of_cube = |step: u32| (number - 16) / step % 6 * 51;
                mixed(of_cube(36), of_cube(6), of_cube(1))
            }
            _ => CellInk::Plain,
        },
        Some(2) => {
            let [red, green, blue] = [(); 3].map(|()| numbers.next().unwrap_or(0));
            mixed(red, green, blue)
        }
        _ => CellInk::Plain,
    }
}

fn mixed(red: u32, green: u32, blue: u32) -> CellInk {
    if red > 2 * green && red > 2 * blue {
        CellInk::Red
    } else if green > 2 * red && green > 2 * blue {
        CellInk::Green
    } else if red == green && green == blue {
        CellInk::Plain
    } else {
        CellInk::Other(red << 16 | green << 8 | blue)
    }
}

/// A piece of a line in one colour.
#[derive(Debug, Clone, Copy)]
struct ColouredRun<'a> {
    text: &'a str,
    ink: CellInk,
}

/// Where a piece stands, and what it begins with: pieces that stand so are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct StatePlace<'a> {
    /// How many bytes a reader sees before it.
    column: usize,
    /// What is before it, if that is a label: `Expected: `.
    label: &'a str,
    first: char,
}

/// A line with a red or a green piece, by the first of them.
struct StateLine<'a> {
    line: Range<usize>,
    place: StatePlace<'a>,
    run: ColouredRun<'a>,
}

/// What the colours of a text say.
#[derive(Debug, Default)]
pub(super) struct ColourReading {
    /// The lines, without their ends, that would be read wrongly without colours.
    pub(super) fused: Vec<Range<usize>>,
    /// Those in which a colour is the only sign of a state that most lines like them do not have.
    pub(super) states: Vec<Range<usize>>,
}

impl ColourReading {
    /// Reads the colours of a text.
    pub(super) fn of(text: &str) -> Self {
        let mut reader = ColourReader::new(text);
        let bytes = text.as_bytes();
        for at in memchr2_iter(0x1b, b'\n', bytes) {
            if at < reader.from {
                continue;
            }
            reader.end_run(at);
            if bytes.get(at) == Some(&b'\n') {
                reader.end_line(at);
                continue;
            }
            let escape = escape_at(bytes, at);
            let end = at + escape.length();
            if let Escape::Sequence(b'm', _) = escape {
                reader
                    .pen
                    .take(bytes.get(at + 2..end - 1).unwrap_or_default());
            }
            reader.from = end;
        }
        reader.end_run(text.len());
        reader.end_line(text.len());
        let states = reader.rare_states();
        Self {
            fused: reader.fused,
            states,
        }
    }

    /// All of them, in their order.
    pub(super) fn lines(mut self) -> Vec<Range<usize>> {
        self.fused.append(&mut self.states);
        self.fused.sort_by_key(|line| line.start);
        self.fused.dedup();
        self.fused
    }
}

struct ColourReader<'a> {
    text: &'a str,
    pen: SequencePen,
    /// Where the current run, and the current line, begin.
    from: usize,
    line_start: usize,
    /// Bytes of the line that a reader sees.
    visible: usize,
    last: Option<ColouredRun<'a>>,
    is_fused: bool,
    state: Option<StateLine<'a>>,
    fused: Vec<Range<usize>>,
    states: Vec<StateLine<'a>>,
}

impl<'a> ColourReader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            pen: SequencePen::default(),
            from: 0,
            line_start: 0,
            visible: 0,
            last: None,
            is_fused: false,
            state: None,
            fused: Vec::new(),
            states: Vec::new(),
        }
    }

    fn end_run(&mut self, at: usize) {
        let text = self.text.get(self.from..at).unwrap_or_default();
        self.from = at + 1;
        if text.is_empty() {
            return;
        }
        let run = ColouredRun {
            text,
            ink: self.pen.ink(),
        };
        self.is_fused |= self.last.is_some_and(|last| are_fused(last, run));
        if self.state.is_none() && matches!(run.ink, CellInk::Red | CellInk::Green) {
            let first = text.trim_start().chars().next().unwrap_or(' ');
            let before = self.last.map_or("", |last| last.text);
            let label = if before.ends_with(": ") { before } else { "" };
            let class = if first.is_alphanumeric() { 'a' } else { first };
            self.state = Some(StateLine {
                line: self.line_start..self.line_start,
                place: StatePlace {
                    column: self.visible,
                    label,
                    first: class,
                },
                run,
            });
        }
        self.visible += text.len();
        self.last = Some(run);
    }

    fn end_line(&mut self, at: usize) {
        let line = self.line_start..at;
        if std::mem::take(&mut self.is_fused) {
            self.fused.push(line.clone());
        }
        if let Some(state) = self.state.take() {
            self.states.push(StateLine { line, ..state });
        }
        self.last = None;
        self.visible = 0;
        self.line_start = at + 1;
        self.from = at + 1;
    }

    /// Lines with a red piece where most like them have a green one, or the other way round.
    fn rare_states(&self) -> Vec<Range<usize>> {
        let is_red = |state: &StateLine<'_>| state.run.ink == CellInk::Red;
        // Most texts have one of the two colours alone, and nothing has to be counted.
        if self.states.iter().all(is_red) || !self.states.iter().any(is_red) {
            return Vec::new();
        }
        let mut known: HashMap<StatePlace<'_>, usize> = HashMap::new();
        let mut counts: Vec<[usize; 2]> = Vec::new();
        let mut places = Vec::with_capacity(self.states.len());
        for state in &self.states {
            let place = *known.entry(state.place).or_insert(counts.len());
            if place == counts.len() {
                counts.push([0; 2]);
            }
            if let Some([red, green]) = counts.get_mut(place) {
                *if is_red(state) { red } else { green } += 1;
            }
            places.push(place);
        }
        let is_rare = |(state, place): &(&StateLine<'_>, usize)| {
            let [red, green] = counts.get(*place).copied().unwrap_or_default();
            let is_rarer = if is_red(state) {
                red <= green
            } else {
                green < red
            };
            // Lines of a diff, and words like FAILED, say it themselves.
            let has_words = state.run.text.contains(char::is_alphabetic);
            red > 0
                && green > 0
                && is_rarer
                && !matches!(state.place.first, '+' | '-' | '<' | '>')
                && !(has_words && is_trouble(state.run.text))
        };
        let states = self.states.iter().zip(places);
        states
            .filter(is_rare)
            .map(|(state, _)| state.line.clone())
            .collect()
    }
}

/// Whether two pieces would be read as one word.
fn are_fused(one: ColouredRun<'_>, other: ColouredRun<'_>) -> bool {
    if one.ink == other.ink || one.ink == CellInk::Plain || other.ink == CellInk::Plain {
        return false;
    }
    let (Some(last), Some(first)) = (one.text.chars().next_back(), other.text.chars().next())
    else {
        return false;
    };
    // The marks of a test runner, and the scale of a diff, tell themselves apart.
    let are_marks = |run: ColouredRun<'_>| {
        let is_mark = |c: char| matches!(c, '+' | '-' | '.' | 'F' | 'E' | 's' | 'x' | 'X');
        run.text.chars().all(is_mark)
    };
    if last.is_whitespace() || first.is_whitespace() || are_marks(one) && are_marks(other) {
        return false;
    }
    let is_change = matches!(
        (one.ink, other.ink),
        (CellInk::Red, CellInk::Green) | (CellInk::Green, CellInk::Red)
    );
    let of_words = [last, first].map(char::is_alphanumeric);
    of_words == [true, true] || is_change && of_words.contains(&true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Vec<&str> {
        let lines = ColourReading::of(text).lines();
        lines
            .into_iter()
            .filter_map(|line| text.get(line))
            .collect()
    }

    #[test]
    fn words_of_two_colours_are_not_one() {
        for line in [
            "  apex = \x1b[31m30\x1b[0m\x1b[32m31\x1b[0m",
            "\x1b[38;5;196ma\x1b[38;5;46mb\x1b[m",
            "\x1b[48;2;90;0;0mold\x1b[48;2;0;90;0mnew\x1b[m",
            "\x1b[34mold\x1b[33mnew\x1b[m",
        ] {
            let text = format!("plain\n{line}\nplain\n");
            assert_eq!(kept(&text), [line]);
        }
    }

    #[test]
    fn colours_that_only_decorate_go() {
        for line in [
            "\x1b[1;31merror\x1b[0m: \x1b[1mx\x1b[0m",
            "a | 3 \x1b[32m++\x1b[m\x1b[31m-\x1b[m",
            "\x1b[32m.\x1b[0m\x1b[31mF\x1b[0m\x1b[33ms\x1b[0m",
            "\x1b[31m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m",
            "\x1b[32m12\x1b[0m\x1b[2mms\x1b[0m",
        ] {
            assert!(kept(line).is_empty(), "{line:?}");
        }
    }

    #[test]
    fn a_state_that_only_its_colour_tells_stays() {
        let up = "\x1b[32m●\x1b[0m node-1\n".repeat(3);
        let down = "\x1b[31m●\x1b[0m node-2";
        assert_eq!(kept(&format!("{up}{down}\n{up}")), [down]);
        let up = "\x1b[32mamber \x1b[0m eu-1\n".repeat(3);
        let down = "\x1b[31mbasil \x1b[0m eu-1";
        assert_eq!(kept(&format!("{up}{down}\n")), [down]);
        let told = "\x1b[32mPASSED\x1b[0m a\n\x1b[32mPASSED\x1b[0m b\n\x1b[31mFAILED\x1b[0m c\n";
        assert!(kept(told).is_empty());
        let diff = "\x1b[32m+a\x1b[0m\n\x1b[32m+b\x1b[0m\n\x1b[31m-c\x1b[0m\n";
        assert!(kept(diff).is_empty());
        let labels = "    Expected: \x1b[32m1\x1b[m\n    Received: \x1b[31m0\x1b[m\n";
        assert!(kept(labels).is_empty());
        let ticks = "\x1b[32m✓\x1b[0m a\n\x1b[31m✗\x1b[0m b\n";
        assert!(kept(ticks).is_empty());
    }
}
