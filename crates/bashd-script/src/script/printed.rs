//! What a script prints, where that is plain from the text: `$(echo cm0= | base64 -d)`.
//!
//! Texts may have holes (`HOLE`) where something is unknown. Programs that would have to run are
//! unknown altogether.

use super::braces::into_one_word;
use super::constants::{Constants, NamedText};
use super::decoders;
use super::deferred;
use super::escapes;
use super::inner_scripts::printed_text;
use super::paths_printed;
use super::printed_code;
use super::reader::ScriptReader;
use super::view::{Construct, Joint, Readings, RedirectOperator, SimpleCommand, Span};
use super::word::{Word, WordPart};
use super::word_reader::{HOLE, Pieces, text_with_holes};
use super::wrappers::rest_of;
use std::rc::Rc;

/// Most bytes of a text that is worked out.
const MOST_BYTES: usize = 16 << 10;

/// How deep functions may call each other here.
const MOST_CALLS: usize = 4;

/// A text with holes as a word.
pub(super) fn as_word(text: &str) -> Word {
    let mut pieces = Pieces::default();
    // What was a home where it was printed is one still.
    let (home, text) = match text.strip_prefix('~').map(|rest| (rest, user_of(rest))) {
        Some((rest, Some(user))) => {
            let after = rest.find('/').and_then(|slash| rest.get(slash..));
            (Some(user), after.unwrap_or_default())
        }
        _ => (None, text),
    };
    if let Some(user) = home {
        pieces.part(WordPart::Tilde(user.into()));
    }
    text_with_holes(&mut pieces, text);
    into_one_word(pieces.0, Span::default())
}

/// Whose home a tilde means, by what follows it: nobody's name is one's own.
fn user_of(rest: &str) -> Option<&str> {
    let user = rest.split('/').next()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let is_own = ["USER", "LOGNAME"].iter().any(|name| user == hole(name));
    match user {
        _ if is_own => Some(""),
        user => (user.len() < 33 && user.chars().all(is_name)).then_some(user),
    }
}

/// The text without holes, if it has none.
fn whole(text: &str) -> Option<&str> {
    (!text.contains(HOLE)).then_some(text)
}

/// Of several possibilities one that is known. Among those, one in which least is empty: a
/// parameter that nobody gave says nothing about what a person gives. Then the last: it was
/// assigned last.
fn most_telling(possibilities: &[Vec<Word>]) -> Option<&Vec<Word>> {
    let is_text = |words: &&Vec<Word>| words.iter().all(Word::is_literal_or_glob);
    let is_known = |words: &&Vec<Word>| !words.iter().any(super::constants::is_unknown);
    let said = |words: &&Vec<Word>| words.iter().filter(|word| !word.is("")).count();
    let texts = possibilities.iter().filter(is_text).max_by_key(said);
    texts.or_else(|| possibilities.iter().filter(is_known).max_by_key(said))
}

impl Constants {
    /// What a script prints; what it changes is forgotten.
    pub(super) fn printed_by(&mut self, script: &str) -> Option<String> {
        if !self.may_work(script.len()) {
            return None;
        }
        let outer = self.begin_trial();
        let printed = self.printed_here(script);
        self.drop_script(outer);
        printed.filter(|text| text.len() <= MOST_BYTES)
    }

    fn printed_here(&mut self, script: &str) -> Option<String> {
        let mut reader = ScriptReader::new(script, 1);
        reader.outer_functions = self.functions();
        reader.read_all();
        let read = reader.finish(Readings::ScanOnly);
        if read.bound.is_some() {
            return None;
        }
        let is_outer = |command: &&SimpleCommand| {
            let inside = command.place.inside;
            !inside.contains(Construct::Substitution) && !inside.contains(Construct::Function)
        };
        let commands: Vec<&SimpleCommand> = read.commands.iter().filter(is_outer).collect();
        for body in &read.function_bodies {
            let length = body.span.end.saturating_sub(body.span.start);
            if length > super::handed_scripts::MOST_CALLED {
                continue;
            }
            if let Some(text) = script.get(body.span.start..body.span.end) {
                self.define(NamedText::Function, &body.name, text);
            }
        }
        let mut printed = String::new();
        let mut input = None;
        for (index, command) in commands.iter().enumerate() {
            let place = command.place;
            let is_uncertain = place.inside.contains(Construct::Loop)
                || place.inside.contains(Construct::Condition);
            if is_uncertain || printed.len() > MOST_BYTES {
                return None;
            }
            if place.joint == Joint::Or {
                continue;
            }
            if place.stage > 0 && input.is_none() {
                // What the group before it has printed.
                input = Some(std::mem::take(&mut printed));
            }
            let mut command = (*command).clone();
            let filled = self.fill(&mut command);
            if let Some(words) = most_telling(&filled.others) {
                command.words.clone_from(words);
            }
            let output = self.output_of(&command, input.take())?;
            self.learn(&command, None);
            let next = commands.get(index + 1).map(|next| next.place);
            let is_piped = next
                .is_some_and(|next| next.pipeline == place.pipeline && next.stage > place.stage);
            if is_piped {
                input = Some(output);
            } else {
                printed.push_str(&output);
            }
        }
        Some(printed)
    }

    /// What a command reads besides a pipe: a here-document, a here-string, a file that is known.
    pub(super) fn redirected_input(&mut self, command: &SimpleCommand) -> Option<(String, Span)> {
        let redirect = command.redirects.iter().rev().find(|redirect| {
            use RedirectOperator::{DuplicateInput, HereDoc, HereString, Read};
            matches!(
                redirect.operator,
                HereDoc | HereString | Read | DuplicateInput
            ) && matches!(redirect.descriptor.as_deref(), None | Some("0"))
        })?;
        let target = &redirect.target;
        let text = match redirect.operator {
            RedirectOperator::Read => self.file_text(target)?,
            RedirectOperator::DuplicateInput => self.opened_text(target.known()?)?,
            RedirectOperator::HereString => printed_text(target) + "\n",
            _ => printed_text(target),
        };
        Some((text, target.span))
    }

    /// The text of a file that the script wrote, or of `<(…)`.
    pub(super) fn file_text(&mut self, word: &Word) -> Option<String> {
        if let [WordPart::Variable { name, .. }] = &*word.parts
            && let Some(script) = name.strip_prefix("<(")
        {
            return self.printed_by(script.strip_suffix(')')?);
        }
        let path = file_key(word.known()?);
        if path == "/dev/null" {
            return Some(String::new());
        }
        let places = ["/dev/fd/", "/proc/self/fd/"];
        if let Some(number) = places.iter().find_map(|place| path.strip_prefix(place)) {
            return self.opened_text(number);
        }
        self.text(NamedText::File, path)
            .map(|text| text.to_string())
    }

    /// What a command prints, if it gets `piped` on its stdin.
    pub(super) fn output_of(
        &mut self,
        command: &SimpleCommand,
        piped: Option<String>,
    ) -> Option<String> {
        let redirected = self.redirected_input(command).map(|(text, _)| text);
        let has_input = command.redirects.iter().any(|redirect| {
            use RedirectOperator::{DuplicateInput, Read};
            matches!(redirect.operator, Read | DuplicateInput) && redirect.descriptor.is_none()
        });
        if has_input && redirected.is_none() {
            return None;
        }
        let input = redirected.or(piped);
        let words = command.arguments();
        if command.words.is_empty() {
            return Some(if has_input { input? } else { String::new() });
        }
        let name = command.words.first()?.known()?;
        let output = match name.rsplit('/').next()? {
            "echo" => echoed(words),
            "printf" => printed(words)?,
            "true" | ":" | "cd" | "set" | "shift" | "local" | "declare" | "export" | "read" => {
                String::new()
            }
            "eval" => {
                let texts: Vec<String> = words.iter().map(printed_text).collect();
                self.printed_by(&texts.join(" "))?
            }
            "pwd" => match self.only("PWD") {
                Some(word) => printed_text(word) + "\n",
                None => hole("PWD") + "\n",
            },
            "ls" | "find" => super::input::listed(command)?,
            "whoami" => hole("USER") + "\n",
            // What is scheduled already was not written here.
            "crontab" if words.iter().any(|word| word.is("-l")) => String::new(),

            "cat" | "tee" => self.concatenated(name, words, input)?,
            "dirname" | "basename" | "realpath" | "readlink" => {
                paths_printed::printed(name, words)?
            }
            "dd" => self.copied(words, input)?,
            "jq" => printed_code::printed_by_jq(words)?,
            name if decoders::CODES.contains(&name) => match printed_code::printed(name, words) {
                Some(text) => text,
                None if name == "awk" => decoders::fields(words, whole(&input?)?)?,
                None => return None,
            },
            name if decoders::NAMES.contains(&name) => {
                let input = self.filtered_input(name, words, input)?;
                decoders::decoded(name, words, whole(&input)?)?
            }
            name => self.called(name, words)?,
        };
        let is_redirected = command.redirects.iter().any(|redirect| {
            let is_output = matches!(redirect.descriptor.as_deref(), None | Some("1"));
            redirect.operator.writes() && is_output
        });
        Some(if is_redirected { String::new() } else { output })
    }

    /// The input of a filter: a file behind its options, or what it reads.
    fn filtered_input(
        &mut self,
        name: &str,
        words: &[Word],
        input: Option<String>,
    ) -> Option<String> {
        if input.is_some() {
            return input;
        }
        let last = words.last().filter(|_| !matches!(name, "tr"))?;
        self.file_text(last)
    }

    /// `cat`, `tee`: files that are known, or the input.
    fn concatenated(
        &mut self,
        name: &str,
        words: &[Word],
        input: Option<String>,
    ) -> Option<String> {
        let mut printed = String::new();
        let mut has_file = false;
        for word in words {
            if word.is("-") || word.known_beginning().starts_with('-') || name == "tee" {
                continue;
            }
            has_file = true;
            printed.push_str(&self.file_text(word)?);
        }
        if has_file { Some(printed) } else { input }
    }

    /// `dd if=FILE`: a file that is known, or the input.
    fn copied(&mut self, words: &[Word], input: Option<String>) -> Option<String> {
        let is_source = |word: &&Word| word.known_beginning().starts_with("if=");
        match words.iter().find(is_source) {
            Some(word) => {
                let file = rest_of(word, "if=".len())?;
                let is_text =
                    |part: &&WordPart| !matches!(part, WordPart::Text(text) if text.is_empty());
                let parts: Vec<WordPart> = file.parts.iter().filter(is_text).cloned().collect();
                self.file_text(&Word {
                    parts: parts.into(),
                    ..file
                })
            }
            None if words.is_empty() => input,
            None => None,
        }
    }

    /// A function of the script.
    fn called(&mut self, name: &str, words: &[Word]) -> Option<String> {
        let body = self.text(NamedText::Function, name)?;
        if self.calls.len() >= MOST_CALLS || !self.may_work(body.len()) {
            return None;
        }
        self.calls.push(Rc::clone(&body));
        let outer = self.begin_trial();
        self.set_positional(&[&[Word::of(name, Span::default())], words].concat());
        let printed = self.printed_here(&body);
        self.drop_script(outer);
        self.calls.pop();
        printed
    }
}

/// Whether it may be known what a program of this name prints, functions aside.
pub(super) fn may_be_told(name: &str) -> bool {
    const SILENT: [&str; 9] = [
        "set", "shift", "local", "declare", "export", "read", "crontab", "gfind", "dd",
    ];
    deferred::prints(name) || SILENT.contains(&name)
}

/// What is written into a file, by its path without `./`.
pub(super) fn file_key(path: &str) -> &str {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path
}

fn hole(name: &str) -> String {
    let [open, close] = HOLE;
    format!("{open}{name}{close}")
}

/// What `echo` prints.
fn echoed(words: &[Word]) -> String {
    let is_option = |word: &Word| {
        let letters = word.known().and_then(|text| text.strip_prefix('-'));
        letters.is_some_and(|letters| {
            !letters.is_empty() && letters.chars().all(|letter| "neE".contains(letter))
        })
    };
    let options = words.iter().take_while(|word| is_option(word)).count();
    let (options, words) = words.split_at(options);
    let has = |letter: char| {
        options
            .iter()
            .any(|word| word.known_beginning().contains(letter))
    };
    let texts: Vec<String> = words.iter().map(printed_text).collect();
    let mut text = texts.join(" ");
    if has('e') {
        text = escapes::unescaped(&text);
    }
    if !has('n') {
        text.push('\n');
    }
    text
}

/// What `printf` prints: the format again and again while there are words.
pub(super) fn printed(words: &[Word]) -> Option<String> {
    let words = match words.first() {
        Some(first) if first.is("--") => words.get(1..)?,
        _ => words,
    };
    let (format, arguments) = words.split_first()?;
    let format = printed_text(format);
    let mut arguments = arguments.iter().map(printed_text);
    let mut printed = String::new();
    let mut left = arguments.len();
    loop {
        let before = left;
        print_once(&format, &mut || arguments.next(), &mut printed)?;
        left = arguments.len();
        if left == 0 || left == before || printed.len() > MOST_BYTES {
            return Some(printed);
        }
    }
}

fn print_once(
    format: &str,
    next: &mut dyn FnMut() -> Option<String>,
    printed: &mut String,
) -> Option<()> {
    let mut pieces = format.split('%');
    printed.push_str(&escapes::unescaped(pieces.next()?));
    while let Some(piece) = pieces.next() {
        if piece.is_empty() {
            printed.push('%');
            printed.push_str(&escapes::unescaped(pieces.next().unwrap_or_default()));
            continue;
        }
        let end = piece.find(|c: char| c.is_ascii_alphabetic())?;
        let (flags, rest) = piece.split_at(end);
        let conversion = rest.chars().next()?;
        let argument = next().unwrap_or_default();
        printed.push_str(&converted(flags, conversion, &argument)?);
        printed.push_str(&escapes::unescaped(rest.get(1..)?));
    }
    Some(())
}

fn converted(flags: &str, conversion: char, argument: &str) -> Option<String> {
    let number = || -> Option<i64> {
        let text = argument.trim();
        if let Some(character) = text.strip_prefix(['\'', '"']) {
            return character.chars().next().map(|c| i64::from(u32::from(c)));
        }
        if text.is_empty() {
            return Some(0);
        }
        super::arithmetic::value(text, &|_| None)
    };
    let width: usize = flags
        .trim_start_matches(['-', '+', ' ', '#'])
        .parse()
        .unwrap_or(0);
    let precision = flags
        .split_once('.')
        .and_then(|(_, digits)| digits.parse().ok());
    let text = match conversion {
        's' | 'q' => match precision {
            Some(most) => argument.chars().take(most).collect(),
            None => argument.to_owned(),
        },
        'b' => escapes::unescaped(argument),
        'c' => argument.chars().take(1).collect(),
        'd' | 'i' | 'u' => number()?.to_string(),
        'o' => format!("{:o}", number()?),
        'x' => format!("{:x}", number()?),
        'X' => format!("{:X}", number()?),
        _ => return None,
    };
    let missing = width.min(64).saturating_sub(text.chars().count());
    let filler = if flags.starts_with('0') { "0" } else { " " };
    Some(if flags.starts_with('-') {
        text + &" ".repeat(missing)
    } else {
        filler.repeat(missing) + &text
    })
}
