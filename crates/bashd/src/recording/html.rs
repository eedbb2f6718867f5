//! A run as one HTML page that plays it, and that needs nothing else.
//!
//! The page has what rows showed as data, and a player that puts it there as text, never as markup.
//! Its policy allows exactly this player's script and style, by their hashes, and nothing from
//! anywhere: whatever a command wrote can neither run nor load anything.

use super::frames::{Film, RowShot, SpanLook, hex};
use super::svg::{BACKGROUND, FOREGROUND, escaped};
use super::{AboutRun, Timing};
use crate::screen::Colour;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("player.css");
const SCRIPT: &str = include_str!("player.js");

/// The page.
pub fn of(film: &Film, about: &AboutRun) -> String {
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    let title = escaped(&about.command);
    let remark = match about.timing {
        Timing::Recorded => String::new(),
        timing => {
            let remark = escaped(timing.remark().unwrap_or_default());
            format!("<p id=\"remark\">{remark}</p>\n")
        }
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1><bdi>{title}</bdi></h1>\n{remark}\
         <div id=\"screen\" role=\"img\" aria-label=\"what the command wrote\"></div>\n\
         <div id=\"controls\"><button id=\"play\" type=\"button\">Play</button>\
         <input id=\"seek\" type=\"range\" min=\"0\" step=\"1\" value=\"0\" aria-label=\"time\">\
         <output id=\"time\"></output>\
         <label>speed <select id=\"speed\"><option>0.5</option><option selected>1</option>\
         <option>2</option><option>4</option><option>8</option></select></label></div>\n\
         <noscript>The player needs JavaScript.</noscript>\n\
         <script id=\"film\" type=\"application/json\">{}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        as_data(film)
    )
}

/// The film as JSON that can't end the element it is in.
fn as_data(film: &Film) -> String {
    let data = json!({
        "columns": film.columns,
        "rows": film.rows,
        "duration": film.duration_ms,
        "shots": film.shots.iter().map(shot).collect::<Vec<_>>(),
    });
    let mut text = data.to_string();
    for (character, escape) in [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ] {
        text = text.replace(character, escape);
    }
    text
}

fn shot(shot: &RowShot) -> Value {
    let spans = shot.spans.iter().map(|span| {
        let text: String = (span.text.chars())
            .map(|one| {
                if super::harmless::reorders(one) {
                    '\u{fffd}'
                } else {
                    one
                }
            })
            .collect();
        json!([span.column, span.columns, text, style(span.look)])
    });
    let spans: Vec<Value> = spans.collect();
    json!([shot.row, shot.from_ms, shot.upto_ms, spans])
}

/// Foreground and background, or null for the terminal's own, and switches as bits.
fn style(look: SpanLook) -> Value {
    let colour = |colour, default| match colour {
        Colour::Default => Value::Null,
        named => Value::from(hex(named, default)),
    };
    let switches = [
        look.is_bold,
        look.is_dim,
        look.is_italic,
        look.is_underlined,
    ];
    let bits = switches
        .iter()
        .rev()
        .fold(0, |bits, is_on| bits * 2 + u8::from(*is_on));
    json!([
        colour(look.foreground, FOREGROUND),
        colour(look.background, BACKGROUND),
        bits
    ])
}

/// The hash of a script or style, as a policy names it.
fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}
