//! What builtins leave in variables that they fill: `read`, `mapfile`, `printf -v`, `getopts`,
//! `let`.

use super::constants::{Constants, Known, MOST_POSSIBILITIES, text_word};
use super::printed::{as_word, printed};
use super::view::{Assigned, SimpleCommand};
use super::word::Word;

/// Most lines of a text that `read` or `mapfile` gets.
const MOST_LINES: usize = MOST_POSSIBILITIES;

impl Constants {
    /// `getopts ab: x`: any of the words may be the value of an option.
    pub(super) fn learn_options(&mut self, words: &[Word]) {
        let [letters, name, given @ ..] = words else {
            return;
        };
        let given = match self.known("@") {
            Some(Known::List(list)) if given.is_empty() => list.clone(),
            _ => given.to_vec(),
        };
        let is_letter = |word: &&Word| {
            let text = word.known_beginning();
            text.len() == 2 && text.starts_with('-')
        };
        // What follows a letter that takes a value is one, whatever it looks like.
        let takes_value = |word: &Word| {
            let letter = word.known().and_then(|text| text.strip_prefix('-'));
            let known = letters.known().unwrap_or_default();
            letter.is_some_and(|it| it.len() == 1 && known.contains(&format!("{it}:")))
        };
        let pairs = given.windows(2).filter_map(|pair| match pair {
            [letter, value] if takes_value(letter) => Some(value.clone()),
            _ => None,
        });
        let behind: Vec<Word> = pairs.filter(|word| is_letter(&word)).collect();
        let is_cluster = |text: &&str| text.len() > 2 && text.starts_with('-');
        let clusters = given.iter().filter_map(Word::known).filter(is_cluster);
        let attached = clusters.filter_map(|text| text.get(2..)).map(text_word);
        let values = given.iter().filter(|word| !is_letter(word)).cloned();
        // The last one is what is printed where one has to be: a word of its own is likelier.
        let values: Vec<Word> = attached.chain(behind).chain(values).collect();
        self.set("OPTARG".into(), Known::OneOf(values));
        let Some(name) = name.known() else { return };
        let letters = letters.known().unwrap_or_default().chars();
        let letters = letters.filter(|letter| *letter != ':');
        let letters = letters.map(|letter| text_word(&letter.to_string()));
        self.set(name.into(), Known::OneOf(letters.collect()));
    }

    /// `read a b <<< 'x y'`: each line may be the one that is read.
    pub(super) fn learn_read(&mut self, command: &SimpleCommand, input: Option<&str>) {
        let mut names = Vec::new();
        let mut array = None;
        let mut words = command.arguments().iter();
        while let Some(word) = words.next() {
            let Some(text) = word.known() else { continue };
            match text.strip_prefix('-') {
                Some(letters) if letters.ends_with('a') => {
                    array = words.next().and_then(Word::known);
                }
                Some(letters) if letters.ends_with(['d', 'n', 'N', 'p', 't', 'u', 'i']) => {
                    words.next();
                }
                Some(_) => {}
                None => names.push(text),
            }
        }
        if names.is_empty() && array.is_none() {
            names.push("REPLY");
        }
        let own = command
            .assignments
            .iter()
            .find(|assignment| assignment.name == "IFS");
        let separators = match own.map(|own| &own.value) {
            Some(Assigned::Value(word)) => word.known().unwrap_or(" \t\n").to_owned(),
            _ => self.separators().to_owned(),
        };
        let lines: Vec<&str> = input.unwrap_or_default().lines().take(MOST_LINES).collect();
        if let Some(array) = array {
            let fields = lines
                .first()
                .map(|line| fields(line, &separators, usize::MAX));
            match fields {
                Some(fields) => self.set(array.into(), Known::List(words_of(&fields))),
                None => self.forget(array),
            }
        }
        for (index, name) in names.iter().enumerate() {
            let values: Vec<Word> = lines
                .iter()
                .map(|line| fields(line, &separators, names.len()))
                .map(|fields| as_word(fields.get(index).copied().unwrap_or_default()))
                .collect();
            self.set((*name).into(), Known::OneOf(values));
        }
    }

    /// `mapfile -t a`
    pub(super) fn learn_lines(&mut self, words: &[Word], input: Option<&str>) {
        let name = words.last().and_then(Word::known);
        let name = name
            .filter(|name| !name.starts_with('-'))
            .unwrap_or("MAPFILE");
        match input {
            Some(text) => {
                let lines: Vec<&str> = text.lines().take(MOST_LINES).collect();
                self.set(name.into(), Known::List(words_of(&lines)));
            }
            None => self.forget(name),
        }
    }

    /// `printf -v x …`
    pub(super) fn learn_printed(&mut self, words: &[Word], maybe: bool) {
        let Some((name, rest)) = printed_into(words) else {
            return;
        };
        match printed(rest) {
            Some(text) => self.assign(name, &as_word(&text), maybe),
            None => self.forget(name),
        }
    }

    /// `printf -v x …` with words of which several are possible: each of these is one call of it.
    pub(super) fn learn_possible_prints(&mut self, calls: &[Vec<Word>]) {
        for call in calls {
            if let Some((name, rest)) = printed_into(call.get(1..).unwrap_or_default())
                && let Some(text) = printed(rest)
            {
                self.assign(name, &as_word(&text), true);
            }
        }
    }

    /// `let n=1+1`
    pub(super) fn learn_counted(&mut self, words: &[Word], maybe: bool) {
        for word in words {
            let pair = word.known().and_then(|text| text.split_once('='));
            let Some((name, expression)) = pair else {
                continue;
            };
            let name = name.trim();
            match self.number_of(expression) {
                Some(value) => self.assign(name, &text_word(&value.to_string()), maybe),
                None => self.forget(name),
            }
        }
    }
}

/// The variable that `printf -v` prints into, and the words that it prints.
fn printed_into(words: &[Word]) -> Option<(&str, &[Word])> {
    let (option, rest) = words.split_first()?;
    match option.known()? {
        "-v" => {
            let (name, rest) = rest.split_first()?;
            Some((name.known()?, rest))
        }
        text => Some((text.strip_prefix("-v")?, rest)),
    }
}

fn words_of(texts: &[&str]) -> Vec<Word> {
    texts.iter().map(|text| as_word(text)).collect()
}

/// The fields of a line; the last of `most` takes the rest.
fn fields<'a>(line: &'a str, separators: &str, most: usize) -> Vec<&'a str> {
    let is_blank = |c: char| c.is_whitespace() && separators.contains(c);
    let is_separator = |c: char| separators.contains(c);
    let mut rest = line.trim_matches(is_blank);
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let end = if fields.len() + 1 >= most {
            None
        } else {
            rest.find(is_separator)
        };
        let Some(end) = end else {
            fields.push(rest);
            break;
        };
        let (field, after) = rest.split_at(end);
        fields.push(field);
        let mut after = after.trim_start_matches(is_blank);
        if let Some(first) = after.chars().next().filter(|c| is_separator(*c)) {
            after = after.get(first.len_utf8()..).unwrap_or_default();
        }
        rest = after.trim_start_matches(is_blank);
    }
    fields
}
