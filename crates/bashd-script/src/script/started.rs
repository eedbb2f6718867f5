//! Commands that a command starts with its own words: behind a wrapper, in `find -exec`, under a
//! name that is a pattern or unknown.

use super::lowering::{Lowering, written};
use super::view::{CommandOrigin, SimpleCommand, Span};
use super::word::{Word, WordPart};
use super::{containers, git_scripts, patterns, wrappers};

/// Names of programs that this file asks for.
pub(super) const NAMES: [&str; 8] = [
    "find", "gfind", "fd", "fdfind", "git", "docker", "podman", "exe",
];

/// Programs that a name with a pattern may mean (`/bin/r?`).
const MATCHED: [&str; 30] = [
    "rm",
    "dd",
    "git",
    "chmod",
    "chown",
    "chgrp",
    "mkfs",
    "mkfs.ext4",
    "mke2fs",
    "wipefs",
    "shred",
    "find",
    "bash",
    "sh",
    "dash",
    "zsh",
    "sudo",
    "env",
    "xargs",
    "eval",
    "python3",
    "python",
    "perl",
    "kill",
    "killall5",
    "curl",
    "wget",
    "tee",
    "mv",
    "busybox",
];

/// Most lines for each of which `xargs -I` runs its command.
const MOST_LINES: usize = 16;

/// Where programs are.
const DIRECTORIES: [&str; 4] = ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"];

impl Lowering<'_> {
    /// Adds the commands that the one with this index starts with its own words.
    pub(super) fn add_all_started(&mut self, at: usize) {
        let Some(command) = self.script.commands.get(at) else {
            return;
        };
        let mut started: Vec<Vec<Word>> = Vec::new();
        let mut guessed: Vec<Vec<Word>> = Vec::new();
        match command.name() {
            Some("find" | "gfind") => started = wrappers::find_commands(command),
            Some("fd" | "fdfind") => started.extend(wrappers::fd_command(command)),
            Some("git") if git_scripts::may_run(command) => {
                started.extend(git_scripts::aliased(command));
            }
            // `/proc/self/exe -c x`: the shell that reads this.
            Some("exe") if is_own_shell(command) => guessed.push(renamed(command, "bash")),
            None => {
                started.extend(named_by_pattern(command));
                guessed = guesses(command);
            }
            Some(_) => {}
        }
        started.extend(other_choices(command));
        if !matches!(command.origin, CommandOrigin::StartedBy(_)) {
            started.extend(self.constants.without_links(command));
        }
        let wrapped = wrappers::wrapped(command).unwrap_or_default();
        if let Some(words) = wrapped.shell.and_then(|at| command.words.get(at..)) {
            let shell = Word::of(
                "bash",
                command.words.first().map_or(command.span, |it| it.span),
            );
            started.push([std::slice::from_ref(&shell), words].concat());
        }
        if let Some(inner) = wrapped.command {
            let words = command.words.get(inner..).unwrap_or_default().to_vec();
            started.extend(containers::on_host(command, inner));
            match command.name() {
                Some("xargs" | "gxargs") => {
                    let command = command.clone();
                    started.extend(self.xargs_words(at, &command, inner, words));
                }
                _ => started.push(words),
            }
        }
        for words in started.into_iter().filter(|words| !words.is_empty()) {
            self.add_started(at, words, false);
        }
        for words in guessed {
            self.add_started(at, words, true);
        }
    }

    fn xargs_words(
        &mut self,
        at: usize,
        command: &SimpleCommand,
        inner: usize,
        words: Vec<Word>,
    ) -> Vec<Vec<Word>> {
        let input = self.file_of_xargs(command).or_else(|| self.known_input(at));
        if is_whole_input(command)
            && let Some((text, span)) = &input
        {
            let mut words = words;
            words.push(Word {
                span: *span,
                ..super::printed::as_word(text.trim_end_matches(['\n', '\0']))
            });
            return vec![words];
        }
        if takes_lines(command)
            && let Some((text, span)) = &input
        {
            let line = |line: &str| Word {
                span: *span,
                ..super::printed::as_word(line)
            };
            let lines: Vec<Word> = text.lines().take(MOST_LINES).map(line).collect();
            let each = lines
                .iter()
                .map(|line| [words.as_slice(), std::slice::from_ref(line)]);
            let mut all: Vec<Vec<Word>> = each.map(|row| row.concat()).collect();
            all.push([words, lines].concat());
            return all;
        }
        if let Some(placeholder) = wrappers::xargs_placeholder(command, inner) {
            let with = |line: Option<&str>| {
                let words = words.iter();
                words
                    .map(|word| wrappers::with_placeholder(word, &placeholder, line))
                    .collect()
            };
            return match &input {
                Some((text, _)) => text
                    .lines()
                    .take(MOST_LINES)
                    .map(|it| with(Some(it)))
                    .collect(),
                None => vec![with(None)],
            };
        }
        let mut words = words;
        self.reach_below(at, &mut words);
        match input {
            Some((text, span)) => {
                let is_between =
                    |c: char| c.is_whitespace() || c == '\0' || c == ',' && has_comma(command);
                let given = text
                    .split(is_between)
                    .filter(|text| !text.is_empty())
                    .take(64);
                words.extend(given.map(|text| Word {
                    span,
                    ..super::printed::as_word(text.trim_matches(['\'', '"']))
                }));
            }
            None => words.push(Word::unknown(command.span)),
        }
        vec![words]
    }

    /// `find / | xargs chmod 777`: everything below is meant, as with `-R`.
    fn reach_below(&self, at: usize, words: &mut Vec<Word>) {
        let Some(name) = words
            .first()
            .filter(|name| matches!(name.known(), Some("chmod" | "chown" | "chgrp" | "chattr")))
        else {
            return;
        };
        let span = name.span;
        let lists = |source: &SimpleCommand| matches!(source.name(), Some("find" | "gfind"));
        let command = written(&self.script.commands, at);
        if command.is_some_and(|command| self.sources(at, command).iter().any(lists)) {
            words.insert(1, Word::of("-R", span));
        }
    }

    /// `xargs -a FILE`
    fn file_of_xargs(&mut self, command: &SimpleCommand) -> Option<(String, Span)> {
        let at = command.words.iter().position(|word| word.is("-a"))?;
        let file = command.words.get(at + 1)?;
        Some((self.constants.file_text(file)?, file.span))
    }
}

/// Whether `xargs` takes what it reads as one word, or one each line: `-0`, `-d '\n'`.
fn is_whole_input(command: &SimpleCommand) -> bool {
    let is_null = |word: &Word| matches!(word.known(), Some("-0" | "--null"));
    command.words.iter().any(is_null)
}

/// Whether `xargs` takes each line as one word, without a place for it in its command.
fn takes_lines(command: &SimpleCommand) -> bool {
    let texts = || command.arguments().iter().filter_map(Word::known);
    let is_line = |text: &str| matches!(text, "\\n" | "\n");
    let is_attached = |text: &str| {
        let value = text
            .strip_prefix("-d")
            .or(text.strip_prefix("--delimiter="));
        value.is_some_and(is_line)
    };
    let has_place = texts().any(|text| text.starts_with("-I") || text.starts_with("--replace"));
    let is_next = texts()
        .zip(texts().skip(1))
        .any(|(option, value)| option == "-d" && is_line(value));
    !has_place && (is_next || texts().any(is_attached))
}

fn has_comma(command: &SimpleCommand) -> bool {
    let mut words = command.words.iter();
    words.any(|word| matches!(word.known(), Some("-d," | ",")))
}

/// Most words of a command that are left out in turn.
const MOST_CHOICES: usize = 8;

/// A word of several possibilities that stands in a list has become several words, and which of
/// them belong together is not kept: the same command without each of them, and without all before
/// it.
fn other_choices(command: &SimpleCommand) -> Vec<Vec<Word>> {
    let words = command.words.as_slice();
    let is_same = |one: &Word, other: &Word| {
        one.is_alternative && other.is_alternative && one.span == other.span
    };
    let are_many = words.windows(2).any(|pair| match pair {
        [one, other] => is_same(one, other),
        _ => false,
    });
    if matches!(command.origin, CommandOrigin::StartedBy(_)) || !are_many {
        return Vec::new();
    }
    let without = |at: usize| {
        let (before, rest) = words.split_at(at);
        let after = rest.get(1..).unwrap_or_default();
        [before, after].concat()
    };
    let is_choice = |at: &usize| words.get(*at).is_some_and(|word| word.is_alternative);
    let most = words.len().min(MOST_CHOICES);
    let mut choices: Vec<Vec<Word>> = (0..most).filter(is_choice).map(without).collect();
    let beginnings = (2..most.min(5)).filter(is_choice);
    choices.extend(beginnings.filter_map(|at| words.get(at..).map(<[Word]>::to_vec)));
    choices
}

fn is_own_shell(command: &SimpleCommand) -> bool {
    let path = command.words.first().and_then(Word::known);
    path.is_some_and(|path| path.starts_with("/proc/"))
}

/// `/bin/r? -rf /`: the programs that the pattern of the name matches.
fn named_by_pattern(command: &SimpleCommand) -> Vec<Vec<Word>> {
    let Some(first) = command.words.first().filter(|first| first.has_glob()) else {
        return Vec::new();
    };
    let Some(pattern) = first
        .literal_or_glob()
        .filter(|pattern| pattern.contains('/'))
    else {
        return Vec::new();
    };
    let pattern: Vec<char> = pattern.chars().collect();
    let is_matched = |name: &&&str| {
        DIRECTORIES.iter().any(|directory| {
            let path: Vec<char> = directory.chars().chain(name.chars()).collect();
            patterns::matches(&pattern, &path)
        })
    };
    let names = MATCHED.iter().filter(is_matched).take(4);
    names.map(|name| renamed(command, name)).collect()
}

fn renamed(command: &SimpleCommand, name: &str) -> Vec<Word> {
    let span = command.words.first().map(|word| word.span);
    let mut words = vec![Word::of(name, span.unwrap_or_default())];
    words.extend(command.arguments().iter().cloned());
    words
}

/// What a command may be whose name is unknown, by the shape of its words.
fn guesses(command: &SimpleCommand) -> Vec<Vec<Word>> {
    let unknown = command
        .words
        .first()
        .filter(|first| first.known().is_none());
    let Some(first) = unknown else {
        return Vec::new();
    };
    if let [WordPart::Variable { name, .. }] = &*first.parts
        && matches!(name.as_str(), "SHELL" | "BASH" | "0")
    {
        return vec![renamed(command, "bash")];
    }
    let texts = first.parts.iter().filter_map(|part| match part {
        WordPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let name: String = texts.collect();
    if !name.is_empty() && !first.has_glob() {
        return vec![renamed(command, &name)];
    }
    let arguments = command.arguments();
    let has =
        |test: &dyn Fn(&str) -> bool| arguments.iter().any(|word| test(word.known_beginning()));
    let has_letter = |letters: &[char]| {
        has(&|text| {
            let cluster = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            cluster.is_some_and(|cluster| cluster.contains(letters) && cluster.len() <= 5)
        })
    };
    let verb = arguments.first().and_then(Word::known).unwrap_or_default();
    let mut names = Vec::new();
    if has_letter(&['r', 'R']) || has(&|text| text.starts_with("--recursive")) {
        names.extend(["rm", "chmod"]);
    }
    if has(&|text| text.starts_with("of=")) {
        names.push("dd");
    }
    if has(&|text| text == "-c") {
        names.push("bash");
    }
    if matches!(
        verb,
        "push" | "reset" | "clean" | "checkout" | "restore" | "stash"
    ) {
        names.push("git");
    }
    names
        .into_iter()
        .map(|name| renamed(command, name))
        .collect()
}
