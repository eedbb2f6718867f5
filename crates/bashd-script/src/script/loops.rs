//! Loops over known words, gone through once for each: `for c in r m; do x+=$c; done; $x -rf /`.
//!
//! The commands of the body are judged once, with every word as a possibility. What they leave in
//! variables is worked out here, and is one more possibility behind the loop.

use super::constants::{Known, MOST_POSSIBILITIES};
use super::lowering::Lowering;
use super::view::{Assigned, Construct, Constructs, Joint, SimpleCommand};
use super::word::{ScriptText, Word, WordPart};

/// Most commands in the body of a loop that is gone through.
const MOST_COMMANDS: usize = 16;

/// A loop that is gone through.
pub(super) struct OpenLoop {
    /// How many commands are left behind it.
    pub(super) left: usize,
    /// What variables hold behind it.
    results: Vec<(ScriptText, Word)>,
    /// Whether nothing in it may be left out.
    is_certain: bool,
}

/// Whether a body makes a value of what an earlier pass has left: otherwise one pass tells all.
fn gathers(body: &[SimpleCommand]) -> bool {
    let assignments = || body.iter().flat_map(|command| &command.assignments);
    let is_changed = |name: &str| assignments().any(|it| name.contains(it.name.as_str()));
    assignments().any(|assignment| match &assignment.value {
        Assigned::Value(word) => word.parts.iter().any(|part| match part {
            WordPart::Variable { name, .. } => is_changed(name),
            _ => false,
        }),
        Assigned::Appended(_) | Assigned::AppendedList(_) | Assigned::Element(..) => true,
        Assigned::List(_) | Assigned::EachOf(_) => false,
    })
}

/// Whether a command in the body of a loop is run in each pass, as far as its place tells.
fn is_always_run(command: &SimpleCommand) -> bool {
    let place = command.place;
    let leaves = matches!(
        command.name(),
        Some("break" | "continue" | "return" | "exit")
    );
    !leaves
        && !place.inside.contains(Construct::Condition)
        && !matches!(place.joint, Joint::And | Joint::Or)
}

impl Lowering<'_> {
    /// Goes through the loop that the command with this index begins, if it begins one.
    pub(super) fn begin_loop(&mut self, at: usize) {
        let Some(command) = self.script.commands.get(at) else {
            return;
        };
        let [assignment] = command.assignments.as_slice() else {
            return;
        };
        let Assigned::EachOf(words) = &assignment.value else {
            return;
        };
        let is_short = (2..=MOST_POSSIBILITIES).contains(&words.len());
        if !is_short || !command.words.is_empty() {
            return;
        }
        let body = self.body_behind(command.span.end);
        let work = words.len() * body.len() * 64;
        if !gathers(&body) || !self.constants.may_work(work) {
            return;
        }
        let (name, words) = (assignment.name.clone(), words.clone());
        let left = self.coming.len() - body.len();
        let results = self.gone_through(&name, &words, &body);
        self.open_loop = Some(OpenLoop {
            left,
            results,
            is_certain: body.iter().all(is_always_run),
        });
    }

    /// The commands that follow in the body of a loop.
    fn body_behind(&self, start: usize) -> Vec<SimpleCommand> {
        let mut end = start;
        let mut body = Vec::new();
        for command in self.coming.as_slice().iter().take(MOST_COMMANDS) {
            let between = self.text.get(end..command.span.start).unwrap_or_default();
            let is_body = command.place.inside.contains(Construct::Loop);
            if !is_body || between.contains("done") {
                break;
            }
            end = command.span.end;
            body.push(command.clone());
        }
        body
    }

    fn gone_through(
        &mut self,
        name: &ScriptText,
        words: &[Word],
        body: &[SimpleCommand],
    ) -> Vec<(ScriptText, Word)> {
        let outer = self.constants.begin_trial();
        for word in words {
            self.constants
                .set(name.clone(), Known::OneOf(vec![word.clone()]));
            for command in body {
                let mut command = command.clone();
                // In this pass it is known to run.
                command.place.inside = Constructs::default();
                command.place.joint = Joint::Sequence;
                self.constants.fill(&mut command);
                self.constants.learn(&command, None);
            }
        }
        let names = body.iter().flat_map(|command| &command.assignments);
        let result = |name: &ScriptText| {
            let value = self.constants.only(name)?.clone();
            Some((name.clone(), value))
        };
        let results = names.filter_map(|it| result(&it.name)).collect();
        self.constants.drop_script(outer);
        results
    }

    /// What the loop leaves behind is possible from here on.
    pub(super) fn end_loop(&mut self) {
        let Some(ended) = self.open_loop.take() else {
            return;
        };
        for (name, value) in ended.results {
            let mut values = match self.constants.known(&name) {
                _ if ended.is_certain => Vec::new(),
                Some(Known::OneOf(values)) => values.clone(),
                Some(Known::List(_)) => continue,
                None => Vec::new(),
            };
            values.retain(|other| *other != value);
            values.insert(0, value);
            values.truncate(MOST_POSSIBILITIES);
            self.constants.set(name, Known::OneOf(values));
        }
    }
}
