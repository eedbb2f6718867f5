//! What a command reads, where that is in the text: a here-document, a file that the script wrote,
//! or what is printed into its pipe.

use super::inner_scripts::printed_text;
use super::lowering::{Lowering, written};
use super::printed;
use super::view::{CommandOrigin, CommandPlace, Construct, RedirectOperator, SimpleCommand, Span};
use super::word::Word;

/// How far the commands of a pipeline may be apart.
const MOST_BETWEEN: usize = 32;

impl Lowering<'_> {
    /// What the command with this index reads, and where that is.
    pub(super) fn known_input(&mut self, at: usize) -> Option<(String, Span)> {
        let command = written(&self.script.commands, at)?;
        if let Some(text) = self.constants.read_from_descriptor(command) {
            return Some((text, command.span));
        }
        if has_input(command) {
            return self.constants.redirected_input(command);
        }
        // Copies cost more than everything else that is asked of most commands.
        let (has_group, reads_pipe) = (!command.place.inside.is_empty(), command.place.reads_pipe);
        if !has_group && (!reads_pipe || self.is_fed_unknown(at, command)) {
            return None;
        }
        let command = command.clone();
        if let Some(input) = self.input_of_group(&command) {
            return Some(input);
        }
        if !reads_pipe {
            return None;
        }
        let sources = self.sources(at, &command);
        self.printed_by_pipeline(&sources)
    }

    /// Whether the stage before a command prints what only running tells, by its name alone.
    fn is_fed_unknown(&self, at: usize, command: &SimpleCommand) -> bool {
        let place = command.place;
        let earlier = self.script.commands.get(..at).unwrap_or_default();
        let mut earlier = earlier.iter().rev().take(MOST_BETWEEN);
        let before = earlier.find(|other| other.origin == CommandOrigin::Written);
        let before = before.filter(|other| {
            other.place.pipeline == place.pipeline
                && other.place.stage < place.stage
                && other.span.end <= command.span.start
        });
        let name = before.and_then(SimpleCommand::name);
        !self.constants.has_texts() && name.is_some_and(|name| !printed::may_be_told(name))
    }

    /// The commands whose output the command may read, in their order.
    pub(super) fn sources(&self, at: usize, command: &SimpleCommand) -> Vec<SimpleCommand> {
        let place = command.place;
        let start = at.saturating_sub(MOST_BETWEEN * 4);
        let earlier = self.script.commands.get(start..at).unwrap_or_default();
        // What stands outside of a substitution prints nothing into it.
        let is_substituted = |place: CommandPlace| place.inside.contains(Construct::Substitution);
        let earlier = earlier.iter().filter(|other| {
            other.origin == CommandOrigin::Written
                && other.span.end <= command.span.start
                && (is_substituted(other.place) || !is_substituted(place))
        });
        let of_pipeline = |pipeline: u32, stages: u32| {
            let stages = move |other: &&SimpleCommand| {
                other.place.pipeline == pipeline && other.place.stage < stages
            };
            let found: Vec<SimpleCommand> = earlier.clone().filter(stages).cloned().collect();
            found
        };
        let found = of_pipeline(place.pipeline, place.stage);
        if let Some(first) = found.first() {
            // `echo x | { cat | bash; }`: the first stage reads the pipe around it.
            let mut before = earlier.clone().rev();
            let feeding = before.find(|other| other.place.pipeline != place.pipeline);
            let feeding = feeding.filter(|other| self.pipes_into(other, first));
            let before = feeding.map(|it| of_pipeline(it.place.pipeline, it.place.stage + 1));
            return [before.unwrap_or_default(), found].concat();
        }
        // `{ echo x; } | bash`
        if place.stage > 0 {
            let all: Vec<&SimpleCommand> = earlier.clone().collect();
            let group = self.group_before(&all, command.span.start, "|");
            if !group.is_empty() {
                return group;
            }
        }
        // `echo x | (bash)`
        let before = earlier.clone().next_back();
        if place.stage == 0
            && let Some(before) = before.filter(|before| self.pipes_into(before, command))
        {
            return of_pipeline(before.place.pipeline, before.place.stage + 1);
        }
        // It is in a group that reads the pipe around it.
        let around = of_pipeline(place.outermost_pipeline, u32::MAX);
        if place.stage == 0 && !around.is_empty() {
            return around;
        }
        // The stage before it is a group.
        let is_in_group =
            |other: &&SimpleCommand| other.place.outermost_pipeline == place.outermost_pipeline;
        earlier.filter(is_in_group).cloned().collect()
    }

    /// What commands print one after the other, each stage reading the one before it.
    fn printed_by_pipeline(&mut self, sources: &[SimpleCommand]) -> Option<(String, Span)> {
        let mut printed = String::new();
        let mut piped: Option<String> = None;
        let mut last: Option<&SimpleCommand> = None;
        for source in sources {
            if source.words.is_empty() {
                continue;
            }
            let is_next = last.is_some_and(|last| {
                let is_later = source.place.stage > last.place.stage;
                let is_same = last.place.pipeline == source.place.pipeline;
                is_later && is_same || !is_same && self.pipes_into(last, source)
            });
            if is_next {
                // What the stage before has printed is this one's input.
                printed.clear();
            } else {
                piped = None;
            }
            let output = match listed(source) {
                Some(output) => output,
                None => self.output_of(source, piped.take())?,
            };
            printed.push_str(&output);
            piped = Some(output);
            last = Some(source);
        }
        let (first, last) = (sources.first()?, last?);
        let span = Span {
            start: first
                .words
                .get(1)
                .map_or(first.span.start, |word| word.span.start),
            end: last.span.end,
        };
        Some((printed, span))
    }

    /// Whether what a command prints is read by the first one of a group: `x | { y; }`.
    fn pipes_into(&self, command: &SimpleCommand, first: &SimpleCommand) -> bool {
        let between = self.text.get(command.span.end..first.span.start);
        let between = between.unwrap_or_default().trim();
        between.starts_with('|') && !between.starts_with("||") && between.ends_with(['{', '('])
    }

    /// The commands of the group that ends before a place, with this between both.
    fn group_before(
        &self,
        earlier: &[&SimpleCommand],
        place: usize,
        joint: &str,
    ) -> Vec<SimpleCommand> {
        let mut group = Vec::new();
        let mut next = place;
        for other in earlier.iter().rev().take(MOST_BETWEEN) {
            let between = self
                .text
                .get(other.span.end..next)
                .unwrap_or_default()
                .trim();
            let is_end = || {
                let end = between.strip_suffix(joint).unwrap_or_default().trim_end();
                end.ends_with(['}', ')'])
            };
            let is_part = if other.span.end > next {
                // `time { echo x; }`: it stands around the group.
                false
            } else if group.is_empty() {
                is_end()
            } else {
                !between.contains(['{', '('])
            };
            if !is_part {
                break;
            }
            next = other.span.start;
            group.push((*other).clone());
        }
        group.reverse();
        group
    }

    /// `{ echo x; } > FILE`: the redirect with this index follows a group that prints.
    pub(super) fn learn_group_written(&mut self, at: usize) {
        let Some(command) = self.script.commands.get(at).cloned() else {
            return;
        };
        let mut redirects = command.redirects.iter();
        let Some(redirect) = redirects.rfind(|it| it.operator.writes()) else {
            return;
        };
        let start = at.saturating_sub(MOST_BETWEEN);
        let earlier = self.script.commands.get(start..at).unwrap_or_default();
        // Behind `time` and `coproc` the end of a group is read as a command.
        let written = |other: &&SimpleCommand| {
            other.origin == CommandOrigin::Written && other.name() != Some("}")
        };
        let earlier: Vec<&SimpleCommand> = earlier.iter().filter(written).collect();
        let sources = self.group_before(&earlier, command.span.start, "");
        if let Some(path) = redirect.target.known()
            && let Some((text, _)) = self.printed_by_pipeline(&sources)
        {
            let is_added = redirect.operator == RedirectOperator::Append;
            self.constants.write(path, &text, is_added);
        }
    }

    /// What a command prints. What only running could tell of its words was given up already, but
    /// may be worked out again from the text: `cat <(echo x)`.
    fn output_of(&mut self, command: &SimpleCommand, piped: Option<String>) -> Option<String> {
        let is_unknown = |word: &Word| word.known().is_none();
        let is_first = piped.is_none();
        let output = self.constants.output_of(command, piped);
        if output.is_some() || !is_first || !command.words.iter().any(is_unknown) {
            return output;
        }
        let text = self.text.get(command.span.start..command.span.end)?;
        self.constants.printed_by(text)
    }

    /// `while read x; do …; done <<< text`: the redirect follows the group.
    fn input_of_group(&mut self, command: &SimpleCommand) -> Option<(String, Span)> {
        if command.place.inside.is_empty() {
            return None;
        }
        let coming = self.coming.as_slice().iter().take(MOST_BETWEEN);
        let mut redirects = coming.filter(|other| {
            other.words.is_empty() && other.assignments.is_empty() && has_input(other)
        });
        let mut of_group = redirects.next()?.clone();
        self.constants.fill(&mut of_group);
        self.constants.redirected_input(&of_group)
    }
}

fn has_input(command: &SimpleCommand) -> bool {
    use RedirectOperator::{DuplicateInput, HereDoc, HereString, Read};
    command.redirects.iter().any(|redirect| {
        matches!(
            redirect.operator,
            HereDoc | HereString | Read | DuplicateInput
        ) && matches!(redirect.descriptor.as_deref(), None | Some("0"))
    })
}

/// `find / | xargs rm`, `ls -d /* | xargs rm`: what is listed is below these paths.
pub(super) fn listed(command: &SimpleCommand) -> Option<String> {
    let name = command.name()?;
    let words = command.arguments();
    match name {
        "find" | "gfind" => {
            let is_chosen = words.iter().any(|word| {
                let text = word.known_beginning();
                text.contains("name") || text.contains("path") || text.contains("regex")
            });
            let paths = words
                .iter()
                .take_while(|word| !word.known_beginning().starts_with('-'));
            let paths: Vec<&Word> = paths.collect();
            let is_far = |word: &&Word| {
                word.known_beginning().starts_with('/') || word.after_home().is_some()
            };
            let all = !is_chosen && !paths.is_empty() && paths.iter().all(is_far);
            all.then(|| lines(paths.into_iter()))
        }
        "ls" => {
            let is_path = |word: &&Word| !word.known_beginning().starts_with('-');
            let paths = words.iter().filter(is_path);
            // Everything in a directory is the directory.
            let text = lines(paths).replace("/*\n", "/\n");
            words.iter().any(Word::has_glob).then_some(text)
        }
        _ => None,
    }
}

fn lines<'a>(words: impl Iterator<Item = &'a Word>) -> String {
    words.map(|word| printed_text(word) + "\n").collect()
}
