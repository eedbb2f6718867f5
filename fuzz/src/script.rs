//! Reading and rewriting scripts: total, and every place that is named is a place in the text.

use bashd_script::addresses::{Spelling, addresses};
use bashd_script::rewrite::{Command, lift, take};
use bashd_script::script::Script;

/// Reads the bytes as a script, in every way in which one is read.
pub fn try_bytes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let script = Script::parse(&text);
    for command in &script.commands {
        let span = command.span;
        assert!(
            text.get(span.start..span.end).is_some(),
            "{span:?} is no part of the text"
        );
    }
    let _ = script.shape(&text);
    for spelling in [Spelling::Shell, Spelling::Plain] {
        for found in addresses(&text, &["artifact".to_owned(), "job".to_owned()], spelling) {
            assert!(text.get(found.span.clone()).is_some(), "{found:?}");
        }
    }
    let mut command = Command::as_given(&text);
    lift(&mut command);
    take(&mut command);
    assert_eq!(command.given, text);
    if command.leading_cd.is_none() && command.lines.is_none() {
        assert_eq!(command.to_run, text, "nothing was lifted off");
    }
}
