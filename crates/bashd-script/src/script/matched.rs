//! What a regular expression matched: `[[ $x =~ a(.*) ]]; echo "${BASH_REMATCH[1]}"`.
//!
//! A test is not a command, so that it is looked for in the text before the command that uses what
//! it found.

use super::constants::{Known, text_word};
use super::lowering::Lowering;
use super::word::Word;

const NAME: &str = "BASH_REMATCH";

/// Most bytes of an expression, and of the regex that is made of it.
const MOST_BYTES: usize = 256;
const MOST_SIZE: usize = 1 << 16;

/// Whether anything of this kind is in a script.
pub(super) fn is_in(script: &str) -> bool {
    memchr::memchr(b'$', script.as_bytes()).is_some() && script.contains(NAME)
}

impl Lowering<'_> {
    /// Before a command that stands between these places: what the last test before it has matched.
    pub(super) fn learn_matched(&mut self, start: usize, end: usize) {
        let is_used = self.text.get(start..end).is_some_and(is_in);
        if !is_used {
            return;
        }
        let before = self.text.get(..start).unwrap_or_default();
        let Some(matched) = self.matched(before) else {
            return;
        };
        self.constants.set(NAME.into(), Known::List(matched));
    }

    fn matched(&mut self, before: &str) -> Option<Vec<Word>> {
        let at = before.rfind("=~")?;
        let (left, right) = (before.get(..at)?, before.get(at + 2..)?);
        let left = left.get(left.rfind("[[")? + 2..)?.trim();
        let right = right.get(..right.find("]]")?)?.trim();
        // `[[ -n x && y =~ z ]]`
        let left = left.rsplit("&&").next()?.trim();
        if left.len() > MOST_BYTES || right.len() > MOST_BYTES {
            return None;
        }
        let left = self.constants.operand(left)?.known()?.to_owned();
        let expression = if right.starts_with('$') {
            self.constants.operand(right)?.known()?.to_owned()
        } else {
            right.replace(['"', '\''], "")
        };
        let regex = regex::RegexBuilder::new(&expression)
            .size_limit(MOST_SIZE)
            .build()
            .ok()?;
        let groups = regex.captures(&left)?;
        let texts = groups
            .iter()
            .map(|group| group.map_or("", |it| it.as_str()));
        Some(texts.map(text_word).collect())
    }
}
