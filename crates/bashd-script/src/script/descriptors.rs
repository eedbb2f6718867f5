//! What descriptors and pipes with a name lead to, where the script opens them: `exec 3> >(sh)`,
//! `exec 4<<< 'rm x'`, `mkfifo p; sh < p &`, `coproc bash`.

use super::constants::{Constants, Known, NamedText, text_word};
use super::inner_scripts::{SHELLS, printed_text};
use super::printed::file_key;
use super::view::{Redirect, RedirectOperator, SimpleCommand, Span};
use super::word::{ScriptText, Word, WordPart};

/// Stands for the numbers that the shell chooses: `exec {fd}> x`, `coproc x`.
const CHOSEN: [&str; 2] = ["60", "63"];

/// Programs whose output into a descriptor is looked at: what most print is theirs to know.
const MOST_READERS: usize = 4;

impl Constants {
    /// `exec 3> >(sh)`, `exec 3<<< x`, `exec 5>&4`
    pub(super) fn learn_descriptors(&mut self, command: &SimpleCommand) {
        for redirect in &command.redirects {
            let is_written = redirect.operator.writes()
                || redirect.operator == RedirectOperator::DuplicateOutput;
            let number = match redirect.descriptor.as_deref() {
                None if is_written => "1".to_owned(),
                None => "0".to_owned(),
                Some(name) if name.starts_with('{') => {
                    let name: ScriptText = name.trim_matches(['{', '}']).into();
                    let number = text_word(CHOSEN[0]);
                    self.set(name, Known::OneOf(vec![number]));
                    CHOSEN[0].to_owned()
                }
                Some(number) => number.to_owned(),
            };
            let reader = self.reader_of(redirect);
            if is_written {
                // What is opened anew leads nowhere else any more.
                let script = reader.unwrap_or_default();
                if !script.is_empty() || self.text(NamedText::Reader, &number).is_some() {
                    self.define(NamedText::Reader, &number, &script);
                }
            } else if number != "0" {
                let alone = SimpleCommand {
                    redirects: vec![Redirect {
                        descriptor: None,
                        ..redirect.clone()
                    }],
                    ..command.clone()
                };
                let text = self.redirected_input(&alone);
                if let Some((text, _)) = text {
                    self.define(NamedText::Opened, &number, &text);
                }
            }
        }
    }

    /// `mkfifo p`: nobody reads it yet.
    pub(super) fn learn_pipes(&mut self, words: &[Word]) {
        for path in words.iter().filter_map(Word::known) {
            if !path.starts_with('-') {
                self.define(NamedText::Reader, file_key(path), "");
            }
        }
    }

    /// `coproc sh`, `coproc NAME { sh; }`
    pub(super) fn learn_coproc(&mut self, words: &[Word]) {
        let is_shell = |word: &Word| word.known().is_some_and(|name| SHELLS.contains(&name));
        let name = match words {
            [shell, ..] if is_shell(shell) => "COPROC",
            [name, open, shell, ..] if open.is("{") && is_shell(shell) => {
                name.known().unwrap_or("COPROC")
            }
            _ => return,
        };
        let ends = CHOSEN.iter().map(|number| text_word(number));
        self.set(name.into(), Known::List(ends.collect()));
        self.define(NamedText::Reader, CHOSEN[1], "sh");
    }

    /// `sh < p`, where `p` is a pipe with a name.
    pub(super) fn learn_reader(&mut self, command: &SimpleCommand) {
        if !self.has_text_of(NamedText::Reader) {
            return;
        }
        let Some(name) = command.name() else { return };
        if !SHELLS.contains(&name) && !matches!(name, "source" | ".") {
            return;
        }
        let inputs = command.redirects.iter();
        let inputs = inputs.filter(|it| it.operator == RedirectOperator::Read);
        let paths = inputs
            .map(|it| &it.target)
            .chain(command.arguments().first());
        let paths: Vec<String> = paths
            .filter_map(|word| word.known().map(|path| file_key(path).to_owned()))
            .collect();
        for path in paths {
            if self.text(NamedText::Reader, &path).is_some() {
                self.define(NamedText::Reader, &path, "sh");
            }
        }
    }

    /// The script that reads what a redirect writes, if there is one.
    fn reader_of(&self, redirect: &Redirect) -> Option<String> {
        let target = &redirect.target;
        if let [WordPart::Variable { name, .. }] = &*target.parts {
            let script = name.strip_prefix(">(")?.strip_suffix(')')?;
            return Some(script.to_owned());
        }
        let path = file_key(target.known()?);
        let places = ["/dev/fd/", "/proc/self/fd/"];
        let number = places.iter().find_map(|place| path.strip_prefix(place));
        let script = self.text(NamedText::Reader, number.unwrap_or(path))?;
        (!script.is_empty()).then(|| script.to_string())
    }

    /// The scripts that read what a command writes, by what was opened before.
    pub(super) fn readers_of(&self, command: &SimpleCommand) -> Vec<(String, Span)> {
        if !self.has_text_of(NamedText::Reader)
            || command.words.is_empty()
            || command.name() == Some("exec")
        {
            return Vec::new();
        }
        let is_output = |redirect: &&Redirect| {
            let is_written = redirect.operator.writes()
                || redirect.operator == RedirectOperator::DuplicateOutput;
            is_written && matches!(redirect.descriptor.as_deref(), None | Some("1"))
        };
        let written: Vec<&Redirect> = command.redirects.iter().filter(is_output).collect();
        if written.is_empty() {
            let script = self
                .text(NamedText::Reader, "1")
                .filter(|it| !it.is_empty());
            let script = script.map(|script| (script.to_string(), command.span));
            return script.into_iter().collect();
        }
        let known =
            |redirect: &&&Redirect| !matches!(&*redirect.target.parts, [WordPart::Variable { .. }]);
        let found = written.iter().filter(known).take(MOST_READERS);
        found
            .filter_map(|redirect| Some((self.reader_of(redirect)?, redirect.span)))
            .collect()
    }

    /// What a descriptor reads that was opened before.
    pub(super) fn opened_text(&self, number: &str) -> Option<String> {
        let text = self.text(NamedText::Opened, number)?;
        Some(text.to_string())
    }

    /// `read -u 3 x`
    pub(super) fn read_from_descriptor(&self, command: &SimpleCommand) -> Option<String> {
        let is_reading = matches!(command.name(), Some("read" | "mapfile" | "readarray"));
        if !is_reading || !self.has_text_of(NamedText::Opened) {
            return None;
        }
        let words = command.arguments();
        let at = words.iter().position(|word| {
            let letters = word.known_beginning().strip_prefix('-');
            letters.is_some_and(|letters| letters.contains('u'))
        })?;
        let text = words.get(at).map(printed_text)?;
        let attached = text.split_once('u').map(|(_, number)| number.to_owned());
        let number = attached.filter(|number| !number.is_empty());
        let number = number.or_else(|| words.get(at + 1).map(printed_text))?;
        self.opened_text(&number)
    }
}
