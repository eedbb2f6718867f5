//! The minimizer: never panics inside, is never longer than its text, and its exact tier can be
//! read backwards.

use bashd_minimize::{
    FilterSettings, Reach, SHORTEST, Subject, Unchanged, minimize, plain_form, rebuild,
};

/// Takes the bytes for a command, its status and its output.
pub fn try_bytes(bytes: &[u8]) {
    let (command, rest) = crate::split_text(bytes);
    let Some((status, text)) = rest.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(text);
    // A short text is never touched: repeated, it is long enough.
    let times = SHORTEST.div_ceil(text.len().max(1));
    let text = text.repeat(times);
    for reach in [Reach::Lossless, Reach::All] {
        try_text(&command, i32::from(status % 3), &text, reach);
    }
}

fn try_text(command: &str, exit: i32, text: &str, reach: Reach) {
    let subject = Subject {
        command,
        exit: Some(exit),
        text,
    };
    let settings = FilterSettings {
        reach,
        ..FilterSettings::default()
    };
    let digest = match minimize(subject, &settings) {
        Ok(digest) => digest,
        Err(why) => {
            assert_ne!(why, Unchanged::Panicked, "a filter panicked");
            return;
        }
    };
    assert!(digest.text.len() < text.len(), "nothing was saved");
    if reach == Reach::Lossless {
        let plain = plain_form(text).unwrap_or_default();
        // A line feed alone is one empty line, and nothing at all is none.
        let lines: Vec<&str> = match &*plain {
            "" => Vec::new(),
            plain => plain
                .strip_suffix('\n')
                .unwrap_or(plain)
                .split('\n')
                .collect(),
        };
        assert_eq!(rebuild(&digest.text), lines, "the exact tier is not exact");
    }
}
