//! A run as an SVG: its last screen, or all of it moving. No script, no link, no file beside it.
//!
//! A moving one is made by `<set>`: rows are hidden until they were written, and again when they
//! were overwritten. What shows no motion shows the last screen.

use super::frames::{Film, RowShot, RowSpan, hex};
use super::{AboutRun, Timing};
use crate::screen::Colour;
use std::fmt::Write as _;

/// Width of a character and height of a row.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 19.0;
/// Room around.
const MARGIN: f64 = 14.0;

const FONT: &str = "14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";

/// The colours of the terminal itself.
pub(super) const FOREGROUND: &str = "#d7dae0";
pub(super) const BACKGROUND: &str = "#16181d";

/// The picture of a film; without motion if it has none.
pub fn of(film: &Film, about: &AboutRun) -> String {
    let width = f64::from(film.columns) * WIDTH + 2.0 * MARGIN;
    let height = f64::from(film.rows) * HEIGHT + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<title>{}</title>\n",
        escaped(&about.command)
    );
    if about.timing != Timing::Recorded
        && let Some(remark) = about.timing.remark()
    {
        let _ = writeln!(svg, "<desc>{}</desc>", escaped(remark));
    }
    let _ = writeln!(
        svg,
        "<style>text{{font:{FONT};white-space:pre;fill:{FOREGROUND};direction:ltr;\
         unicode-bidi:bidi-override}}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{BACKGROUND}\"/>"
    );
    for shot in &film.shots {
        row(&mut svg, shot);
    }
    svg.push_str("</svg>\n");
    svg
}

fn row(svg: &mut String, shot: &RowShot) {
    let seconds = |ms: u64| format!("{}.{:03}s", ms / 1000, ms % 1000);
    match shot.upto_ms {
        Some(upto) => {
            let (from, upto) = (seconds(shot.from_ms), seconds(upto));
            let _ = write!(
                svg,
                "<g visibility=\"hidden\"><set attributeName=\"visibility\" to=\"visible\" \
                 begin=\"{from}\" end=\"{upto}\"/>"
            );
        }
        None if shot.from_ms > 0 => {
            let from = seconds(shot.from_ms);
            let _ = write!(
                svg,
                "<g><set attributeName=\"visibility\" to=\"hidden\" begin=\"0s\" dur=\"{from}\"/>"
            );
        }
        None => svg.push_str("<g>"),
    }
    for one in &shot.spans {
        span(svg, shot.row, one);
    }
    svg.push_str("</g>\n");
}

fn span(svg: &mut String, row: u16, span: &RowSpan) {
    let x = MARGIN + f64::from(span.column) * WIDTH;
    let top = MARGIN + f64::from(row) * HEIGHT;
    let width = f64::from(span.columns) * WIDTH;
    let look = span.look;
    if look.background != Colour::Default {
        let colour = hex(look.background, BACKGROUND);
        let _ = write!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{HEIGHT:.1}\" \
             fill=\"{colour}\"/>"
        );
    }
    if span.text.trim().is_empty() && !look.is_underlined {
        return;
    }
    let baseline = top + HEIGHT - 5.0;
    let _ = write!(
        svg,
        "<text x=\"{x:.1}\" y=\"{baseline:.1}\" textLength=\"{width:.1}\" xml:space=\"preserve\""
    );
    if look.foreground != Colour::Default {
        let colour = hex(look.foreground, FOREGROUND);
        let _ = write!(svg, " style=\"fill:{colour}\"");
    }
    let switches = [
        (look.is_bold, " font-weight=\"bold\""),
        (look.is_italic, " font-style=\"italic\""),
        (look.is_dim, " opacity=\"0.65\""),
        (look.is_underlined, " text-decoration=\"underline\""),
    ];
    for (is_on, text) in switches {
        svg.push_str(if is_on { text } else { "" });
    }
    let _ = write!(svg, ">{}</text>", escaped(&span.text));
}

/// Text that XML takes, whatever it is.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' | '\u{2028}' | '\u{2029}' => escaped.push(' '),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            control if control.is_control() => escaped.push('\u{fffd}'),
            reordering if super::harmless::reorders(reordering) => escaped.push('\u{fffd}'),
            plain => escaped.push(plain),
        }
    }
    escaped
}
