//! The view on scripts that are small enough to be judged by eye.

use super::*;

/// Every command as its words, unknown ones as `?`.
fn commands(text: &str) -> Vec<String> {
    let script = Script::parse(text);
    assert_eq!(script.bound, None, "{text}");
    let shown = script.commands.iter().map(|command| {
        let words = command.words.iter();
        let words = words.map(|word| word.known().unwrap_or("?").to_owned());
        words.collect::<Vec<_>>().join(" ")
    });
    shown.filter(|words| !words.is_empty()).collect()
}

#[test]
fn x() {
    assert_eq!(commands("a b"), ["a b"]);
}
