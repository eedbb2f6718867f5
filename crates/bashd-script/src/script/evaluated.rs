//! Text that bash expands a second time: a substitution in the subscript of a name that a builtin
//! or arithmetic gets as text (`test -v 'a[$(x)]'`, `z='a[$(x)]'; ((z))`), and in the value of
//! `${x@P}`.

use super::lowering::Lowering;
use super::view::{CommandOrigin, Construct, Span};
use super::{Context, parse_within};

/// Most texts of this kind in one script that are looked into.
const MOST_TEXTS: usize = 16;

/// The quoted texts in a script that bash may expand again.
fn texts(script: &str) -> Vec<Span> {
    let is_prompt = script.contains("@P}");
    let mut found: Vec<Span> = Vec::new();
    for (at, _) in script.match_indices("$(") {
        let is_subscript = script.get(..at).is_some_and(|it| it.ends_with('['));
        let is_inside = found.last().is_some_and(|last| at < last.end);
        if is_inside || !is_subscript && !is_prompt {
            continue;
        }
        let start = script.get(..at).and_then(|before| before.rfind('\''));
        let end = script.get(at..).and_then(|after| after.find('\''));
        if let (Some(start), Some(end)) = (start, end) {
            found.push(Span {
                start: start + 1,
                end: at + end,
            });
        }
        if found.len() >= MOST_TEXTS {
            break;
        }
    }
    found
}

impl Lowering<'_> {
    /// Adds the commands in such texts. Whether bash gets to expand one is not asked: nobody writes
    /// a harmful command into a subscript to keep it from being run.
    pub(super) fn add_evaluated(&mut self) {
        // Asked of every script: most have no dollar at all.
        if self.context.depth > 0 || memchr::memchr(b'$', self.text.as_bytes()).is_none() {
            return;
        }
        if !self.text.contains("[$(") && !self.text.contains("@P}") {
            return;
        }
        for span in texts(self.text) {
            let text = self.text.get(span.start..span.end).unwrap_or_default();
            let quoted = format!(": \"{}\"", text.replace('"', "\\\""));
            let context = Context {
                depth: self.context.depth + 1,
                parser: false,
                constants: self.constants.hand_on(&[], None),
            };
            let (nested, _) = parse_within(&quoted, context);
            let first = self.script.commands.len();
            for mut command in nested.commands {
                command.move_to(span);
                command.origin = match command.origin {
                    CommandOrigin::Written => CommandOrigin::Written,
                    CommandOrigin::StartedBy(index) => CommandOrigin::StartedBy(first + index),
                    CommandOrigin::ScriptOf(index) => CommandOrigin::ScriptOf(first + index),
                };
                command.place.inside = command.place.inside.with(Construct::Quoted);
                self.script.commands.push(command);
            }
        }
    }
}
