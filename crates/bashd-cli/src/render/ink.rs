//! The colors and styles that a command chose for its own output.

use bashd::output::terminal_lines::Pen;
use bashd::screen::Colour;

/// How a piece of a command's output looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ink {
    /// The color of the text.
    pub(crate) foreground: Colour,
    /// The color behind it.
    pub(crate) background: Colour,
    /// Its styles, as a set.
    styles: u8,
}

/// A style that a command may switch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InkStyle {
    Bold = 1,
    Dim = 2,
    Italic = 4,
    Underlined = 8,
    Inverse = 16,
}

impl Ink {
    /// Whether a style is on.
    pub(crate) fn has(self, style: InkStyle) -> bool {
        self.styles & style as u8 != 0
    }

    fn switch_on(&mut self, style: InkStyle) {
        self.styles |= style as u8;
    }

    fn switch_off(&mut self, styles: &[InkStyle]) {
        for style in styles {
            self.styles &= !(*style as u8);
        }
    }
}

impl Pen for Ink {
    fn change<'a>(&mut self, parts: impl Iterator<Item = &'a [u16]>) {
        let mut parts = parts;
        while let Some(part) = parts.next() {
            let Some(&number) = part.first() else {
                continue;
            };
            match number {
                0 => *self = Self::default(),
                1 => self.switch_on(InkStyle::Bold),
                2 => self.switch_on(InkStyle::Dim),
                3 => self.switch_on(InkStyle::Italic),
                4 => self.switch_on(InkStyle::Underlined),
                7 => self.switch_on(InkStyle::Inverse),
                22 => self.switch_off(&[InkStyle::Bold, InkStyle::Dim]),
                23 => self.switch_off(&[InkStyle::Italic]),
                24 => self.switch_off(&[InkStyle::Underlined]),
                27 => self.switch_off(&[InkStyle::Inverse]),
                30..=37 => self.foreground = Colour::Indexed((number - 30) as u8),
                38 => self.foreground = further(part, &mut parts).unwrap_or(self.foreground),
                39 => self.foreground = Colour::Default,
                40..=47 => self.background = Colour::Indexed((number - 40) as u8),
                48 => self.background = further(part, &mut parts).unwrap_or(self.background),
                49 => self.background = Colour::Default,
                90..=97 => self.foreground = Colour::Indexed((number - 82) as u8),
                100..=107 => self.background = Colour::Indexed((number - 92) as u8),
                _ => {}
            }
        }
    }
}

/// One of the 256 colors, or a mixed one: in the same part (`38:5:1`), or in those that follow
/// (`38;5;1`).
fn further<'a>(part: &[u16], rest: &mut impl Iterator<Item = &'a [u16]>) -> Option<Colour> {
    let byte = |number: u16| u8::try_from(number).ok();
    if let [_, kind, numbers @ ..] = part {
        return match (kind, numbers) {
            (5, [index, ..]) => byte(*index).map(Colour::Indexed),
            // With four numbers the first names a color space.
            (2, [red, green, blue] | [_, red, green, blue, ..]) => {
                Some(Colour::Rgb(byte(*red)?, byte(*green)?, byte(*blue)?))
            }
            _ => None,
        };
    }
    let mut next = || rest.next().and_then(|part| part.first().copied());
    match next()? {
        5 => byte(next()?).map(Colour::Indexed),
        2 => {
            let (red, green, blue) = (next()?, next()?, next()?);
            Some(Colour::Rgb(byte(red)?, byte(green)?, byte(blue)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ink(parts: &[&[u16]]) -> Ink {
        let mut ink = Ink::default();
        ink.change(parts.iter().copied());
        ink
    }

    #[test]
    fn sequences_set_colours_and_styles() {
        let red = ink(&[&[1], &[31]]);
        assert!(red.has(InkStyle::Bold));
        assert_eq!(red.foreground, Colour::Indexed(1));
        assert_eq!(ink(&[&[31], &[0]]), Ink::default());
        assert_eq!(ink(&[&[1], &[22]]), Ink::default());
        assert_eq!(ink(&[&[95]]).foreground, Colour::Indexed(13));
        assert_eq!(ink(&[&[103]]).background, Colour::Indexed(11));
        let indexed = Colour::Indexed(200);
        assert_eq!(ink(&[&[38], &[5], &[200]]).foreground, indexed);
        assert_eq!(ink(&[&[38, 5, 200]]).foreground, indexed);
        let mixed = Colour::Rgb(1, 2, 3);
        assert_eq!(ink(&[&[48], &[2], &[1], &[2], &[3]]).background, mixed);
        assert_eq!(ink(&[&[48, 2, 1, 2, 3]]).background, mixed);
        assert_eq!(ink(&[&[48, 2, 0, 1, 2, 3]]).background, mixed);
        // What is cut off or out of range changes nothing, and what follows counts.
        for broken in [&[&[38][..]][..], &[&[38], &[5]], &[&[38], &[5], &[300]]] {
            assert_eq!(ink(broken), Ink::default(), "{broken:?}");
        }
        assert_eq!(ink(&[&[999], &[32]]).foreground, Colour::Indexed(2));
    }
}
