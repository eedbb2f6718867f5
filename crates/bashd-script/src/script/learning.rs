//! What a command changes in the shell that runs it: variables, its directory, names of scripts.

use super::constants::{
    Constants, Known, LetterCase, MOST_POSSIBILITIES, NamedText, is_conditional, text_word,
};
use super::parameters::{elements, map_key};
use super::printed::file_key;
use super::view::{Assigned, Assignment, Joint, RedirectOperator, SimpleCommand};
use super::word::{ScriptText, Word, WordPart};

/// Builtins whose arguments are assignments.
const DECLARING: [&str; 5] = ["export", "declare", "local", "readonly", "typeset"];

impl Constants {
    /// Records what a command changes; `input` is what it reads, if that is known.
    pub(super) fn learn(&mut self, command: &SimpleCommand, input: Option<&str>) {
        let maybe = is_conditional(command);
        let is_bare = command.words.is_empty();
        // `[ -n "$1" ] && x=$1`
        let maybe_set = maybe || is_bare && command.place.joint == Joint::And;
        self.learn_locals(command);
        for assignment in &command.assignments {
            let is_array = matches!(
                assignment.value,
                Assigned::List(_) | Assigned::AppendedList(_)
            );
            if is_bare || is_array {
                self.learn_assignment(assignment, maybe_set);
            }
        }
        let Some(name) = command.name() else { return };
        let words = command.arguments();
        match name {
            _ if DECLARING.contains(&name) => {
                let is_reference = has_letter(words, 'n') && name != "export";
                self.learn_cases(words);
                for word in words {
                    match word.known().and_then(|text| text.split_once('=')) {
                        Some((name, target)) if is_reference => self.refer(name, target),
                        _ => self.learn_declared(word, maybe),
                    }
                }
            }
            "read" => self.learn_read(command, input),
            "mapfile" | "readarray" => self.learn_lines(words, input),
            "printf" => self.learn_printed(words, maybe),
            "let" => self.learn_counted(words, maybe),
            "set" => self.learn_set(words),
            "shift" => self.shift(words),
            "unset" => {
                for name in words.iter().filter_map(Word::known) {
                    match name {
                        // Without it, words are split as usual.
                        "IFS" => self.forget(name),
                        name if maybe => self.assign(name, &Word::default(), maybe),
                        name => self.set(name.into(), Known::OneOf(vec![Word::default()])),
                    }
                }
            }
            "getopts" => self.learn_options(words),
            "cd" | "pushd" => self.learn_directory(words, maybe),
            "popd" => self.forget("PWD"),
            "alias" => {
                for (name, value) in words.iter().filter_map(|word| {
                    let text = word.known()?;
                    text.split_once('=')
                }) {
                    self.define(NamedText::Alias, name, value);
                }
            }
            "hash" => {
                if let [option, path, name] = words
                    && let (true, Some(path), Some(name)) =
                        (option.is("-p"), path.known(), name.known())
                {
                    self.define(NamedText::Alias, name, path);
                }
            }
            "exec" if words.is_empty() => self.learn_descriptors(command),
            "mkfifo" => self.learn_pipes(words),
            "coproc" => self.learn_coproc(words),
            "mount" => self.learn_mount(words),
            "ln" => {
                self.learn_copy(words);
                self.learn_link(words);
            }
            "cp" | "mv" | "install" => self.learn_copy(words),
            "npm" | "pnpm" => self.learn_tasks(words),
            _ => {}
        }
    }

    /// `declare -l x`, `declare -u x`
    fn learn_cases(&mut self, words: &[Word]) {
        let case = match (has_letter(words, 'l'), has_letter(words, 'u')) {
            (true, false) => LetterCase::Small,
            (false, true) => LetterCase::Capital,
            _ => return,
        };
        let declared = words.iter().map(Word::known_beginning);
        for text in declared.filter(|text| !text.starts_with('-')) {
            self.declare_case(text.split(['=', '+']).next().unwrap_or_default(), case);
        }
    }

    /// `local x`, `declare x` in the body of a function.
    fn learn_locals(&mut self, command: &SimpleCommand) {
        let words = command.arguments();
        let is_local = match command.name() {
            Some("local") => true,
            Some("declare" | "typeset") => !has_letter(words, 'g'),
            _ => false,
        };
        if !is_local {
            return;
        }
        let declared = words.iter().map(Word::known_beginning);
        let declared = declared.map(|text| text.split('=').next().unwrap_or_default());
        let lists = command.assignments.iter().map(|it| it.name.as_str());
        for name in declared.chain(lists) {
            self.make_local(name);
        }
    }

    fn learn_assignment(&mut self, assignment: &Assignment, maybe: bool) {
        let name = &assignment.name;
        match &assignment.value {
            Assigned::Value(word) => self.assign(name, word, maybe),
            Assigned::EachOf(words) => {
                let most = words.get(..words.len().min(MOST_POSSIBILITIES));
                let mut words = most.unwrap_or_default().to_vec();
                for word in &mut words {
                    // `for d in /*`: names that matched, which quotes do not make a pattern again.
                    word.is_expanded |= word.has_glob();
                }
                self.set(name.clone(), Known::OneOf(words));
            }
            Assigned::Appended(word) => self.append(name, word, maybe),
            Assigned::List(words) => {
                self.learn_map(name, words);
                self.set(name.clone(), Known::List(in_order(words)));
            }
            Assigned::AppendedList(words) => {
                self.learn_map(name, words);
                let mut all = match self.known(name) {
                    Some(Known::List(list)) => list.clone(),
                    Some(Known::OneOf(values)) => values.clone(),
                    None => Vec::new(),
                };
                all.extend(words.iter().cloned());
                self.set(name.clone(), Known::List(all));
            }
            Assigned::Element(index, word) => self.set_element(name, index, word),
        }
    }

    /// `x+=y`
    fn append(&mut self, name: &str, word: &Word, maybe: bool) {
        let values = match self.known(name) {
            Some(Known::OneOf(values)) => values.clone(),
            Some(Known::List(list)) => list.first().cloned().into_iter().collect(),
            // What was there is unknown: nothing, mostly.
            None => vec![Word::default()],
        };
        let mut longer: Vec<Word> = if maybe { values.clone() } else { Vec::new() };
        for value in values {
            let mut value = value;
            for part in &word.parts {
                value.push(part.clone());
            }
            longer.push(value);
        }
        if longer.iter().any(super::constants::is_unknown) {
            self.forget(name);
        } else {
            self.set(name.into(), Known::OneOf(longer));
        }
    }

    /// `a[1]=x`
    fn set_element(&mut self, name: &ScriptText, index: &str, word: &Word) {
        let mut list = match self.known(name) {
            Some(Known::List(list)) => list.clone(),
            Some(Known::OneOf(_)) => return,
            None => Vec::new(),
        };
        let Ok(index) = index.parse::<usize>() else {
            // The elements of a map have no order that could be known.
            self.forget(name);
            let key = map_key(name, index);
            self.set(key.as_str().into(), Known::OneOf(vec![word.clone()]));
            return;
        };
        if index > MOST_POSSIBILITIES {
            return;
        }
        while list.len() <= index {
            list.push(Word::default());
        }
        if let Some(element) = list.get_mut(index) {
            *element = word.clone();
        }
        self.set(name.clone(), Known::List(list));
    }

    /// `m=([key]=value)`
    fn learn_map(&mut self, name: &str, words: &[Word]) {
        for word in words.iter().take(MOST_POSSIBILITIES) {
            let text = word.literal_or_glob();
            let pair = text
                .as_deref()
                .and_then(|text| text.strip_prefix('[')?.split_once("]="));
            if let Some((key, value)) = pair
                && key.parse::<usize>().is_err()
            {
                let key = map_key(name, key);
                self.set(key.as_str().into(), Known::OneOf(vec![text_word(value)]));
            }
        }
    }

    fn learn_declared(&mut self, word: &Word, maybe: bool) {
        let Some((WordPart::Text(text), rest)) = word.parts.split_first() else {
            return;
        };
        let Some((name, value)) = text.split_once('=') else {
            return;
        };
        let mut assigned = Word::of(value, word.span);
        assigned.parts.extend(rest.iter().cloned());
        match name.strip_suffix('+') {
            Some(name) => self.append(name, &assigned, maybe),
            None => self.assign(name, &assigned, maybe),
        }
    }

    /// `set -- a b`
    fn learn_set(&mut self, words: &[Word]) {
        let dashes = words.iter().position(|word| word.is("--") || word.is("-"));
        let first = words.first().map(Word::known_beginning).unwrap_or_default();
        let given = match dashes {
            Some(at) => words.get(at + 1..),
            None if first.starts_with(['-', '+']) || words.is_empty() => None,
            None => Some(words),
        };
        if let Some(given) = given {
            self.set("@".into(), Known::List(in_order(given)));
        }
    }

    fn shift(&mut self, words: &[Word]) {
        let count = words
            .first()
            .and_then(Word::known)
            .and_then(|text| text.parse().ok());
        let count = if words.is_empty() { Some(1) } else { count };
        let Some(Known::List(list)) = self.known("@") else {
            return;
        };
        let elements = elements(list);
        match count.and_then(|count: usize| elements.get(count..)) {
            Some(rest) => {
                let rest = rest.iter().copied().flatten().cloned().collect();
                self.set("@".into(), Known::List(rest));
            }
            None => self.forget("@"),
        }
    }

    /// `cd`: where the commands after it run.
    fn learn_directory(&mut self, words: &[Word], maybe: bool) {
        let mut operands = words
            .iter()
            .filter(|word| !word.known_beginning().starts_with('-'));
        let target = match (operands.next(), words.last()) {
            (Some(word), _) => word.clone(),
            (None, Some(last)) if last.is("-") => {
                self.forget("PWD");
                return;
            }
            (None, _) => {
                let mut home = Word::default();
                home.push(WordPart::Tilde(ScriptText::default()));
                home
            }
        };
        match self.directory_of(&target) {
            Some(directory) => self.assign("PWD", &directory, maybe),
            None if maybe => {}
            None => self.forget("PWD"),
        }
    }

    /// Where a path leads from the directory that is known.
    pub(super) fn directory_of(&self, target: &Word) -> Option<Word> {
        let is_anchored =
            target.known_beginning().starts_with('/') || target.after_home().is_some();
        if is_anchored {
            return Some(target.clone());
        }
        let text = target.known()?;
        let mut directory = self.only("PWD")?.clone();
        directory.push(WordPart::Text("/".into()));
        directory.push(WordPart::Text(text.into()));
        Some(directory)
    }

    /// `npm pkg set scripts.x='rm y'`
    fn learn_tasks(&mut self, words: &[Word]) {
        let [verb, action, settings @ ..] = words else {
            return;
        };
        if !verb.is("pkg") || !action.is("set") {
            return;
        }
        for setting in settings.iter().filter_map(Word::known) {
            let task = setting.strip_prefix("scripts.");
            if let Some((name, script)) = task.and_then(|task| task.split_once('=')) {
                self.define(NamedText::Task, name, script);
            }
        }
    }

    /// What a file that the script wrote is also called.
    fn learn_copy(&mut self, words: &[Word]) {
        let mut names = words
            .iter()
            .filter_map(Word::known)
            .filter(|word| !word.starts_with('-'));
        if let (Some(from), Some(to), None) = (names.next(), names.next(), names.next()) {
            if let Some(text) = self.text(NamedText::File, file_key(from)) {
                self.define(NamedText::File, file_key(to), &text);
            } else if is_program(from) && !to.ends_with(['/', '.']) {
                // `cp /bin/rm x; ./x -rf /`
                self.define(NamedText::Alias, to, from);
                self.define(NamedText::Alias, &format!("./{}", file_key(to)), from);
            }
        }
    }

    /// What a command writes into files, if it is known what it prints.
    pub(super) fn learn_written(&mut self, command: &SimpleCommand, piped: Option<&str>) {
        let is_tee = command.name() == Some("tee");
        let writes = |operator: RedirectOperator| {
            operator.writes() && operator != RedirectOperator::ReadWrite
        };
        let is_output = |descriptor: Option<&str>| matches!(descriptor, None | Some("1"));
        let written = command.redirects.iter().rfind(|redirect| {
            writes(redirect.operator) && is_output(redirect.descriptor.as_deref())
        });
        if written.is_none() && !is_tee {
            return;
        }
        let mut quiet = command.clone();
        quiet
            .redirects
            .retain(|redirect| !writes(redirect.operator));
        let Some(text) = self.output_of(&quiet, piped.map(str::to_owned)) else {
            return;
        };
        let is_added = written.is_some_and(|redirect| {
            matches!(
                redirect.operator,
                RedirectOperator::Append | RedirectOperator::AppendBoth
            )
        });
        if let Some(path) = written.and_then(|redirect| redirect.target.known()) {
            self.write(path, &text, is_added);
        }
        if is_tee {
            let is_added = command.arguments().iter().any(|word| word.is("-a"));
            for path in command.arguments().iter().filter_map(Word::known) {
                if !path.starts_with('-') {
                    self.write(path, &text, is_added);
                }
            }
        }
    }

    pub(super) fn write(&mut self, path: &str, text: &str, is_added: bool) {
        let path = file_key(path);
        let before = self.text(NamedText::File, path).filter(|_| is_added);
        let text = before.as_deref().unwrap_or_default().to_owned() + text;
        if path.len() <= 256 && self.may_work(text.len()) {
            self.define(NamedText::File, path, &text);
        }
    }
}

/// Whether an option has this letter.
fn has_letter(words: &[Word], letter: char) -> bool {
    let mut options = words.iter().map(Word::known_beginning);
    options.any(|text| {
        let letters = text.strip_prefix('-');
        letters.is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
    })
}

/// Whether a path is that of a program of the system.
fn is_program(path: &str) -> bool {
    let places = ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"];
    let name = places.iter().find_map(|place| path.strip_prefix(place));
    name.is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

/// The words of an array in the order of their indices, as far as they have any.
fn in_order(words: &[Word]) -> Vec<Word> {
    let element = |word: &Word| {
        let text = word.literal_or_glob()?;
        let (index, value) = text.strip_prefix('[')?.split_once("]=")?;
        let index: usize = index.parse().ok()?;
        Some((index, text_word(value)))
    };
    let mut elements: Vec<(usize, Word)> = Vec::with_capacity(words.len());
    for word in words {
        let next = elements.last().map_or(0, |(index, _)| index + 1);
        elements.push(element(word).unwrap_or_else(|| (next, word.clone())));
    }
    elements.sort_by_key(|(index, _)| *index);
    elements.into_iter().map(|(_, word)| word).collect()
}
