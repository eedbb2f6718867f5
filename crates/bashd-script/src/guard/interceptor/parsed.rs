//! The defaults by the parsed command, as the guard sees it: which tool does what a command does.
//!
//! Left alone is what a tool could not do as well: whatever reads a pipe or fills one that is more
//! than a view, values for the script itself (`$(…)`), formats for machines, other users and
//! machines.

use super::defaults::DefaultRule;
use crate::guard::options::{has_short, is_long, operands};
use crate::script::{
    CommandOrigin, Construct, Redirect, RedirectOperator, Script, SimpleCommand, Span, Word,
};
use std::collections::HashMap;

/// Files that can be written without changing anything.
const SINKS: [&str; 4] = ["/dev/null", "/dev/tty", "/dev/stdout", "/dev/stderr"];

/// Programs that only show what comes through a pipe.
const VIEWS: [&str; 6] = ["head", "tail", "less", "more", "cat", "nl"];

/// Programs that run a command as somebody else, or somewhere else.
const ELSEWHERE: [&str; 12] = [
    "sudo", "doas", "su", "runuser", "ssh", "docker", "podman", "kubectl", "chroot", "nsenter",
    "pkexec", "lxc",
];

/// The first command for which one of these rules has a tool.
pub(super) fn find(
    script: &Script,
    has_tool: impl Fn(DefaultRule) -> bool,
) -> Option<(DefaultRule, Span)> {
    let scene = Scene::of(script);
    script
        .commands
        .iter()
        .enumerate()
        .find_map(|(at, command)| {
            let rule = scene.rule(at, command)?;
            has_tool(rule).then_some((rule, command.span))
        })
}

/// What is known of the script around a command.
struct Scene<'a> {
    script: &'a Script,
    /// For each pipeline, where its last command begins that reads it and is more than a view.
    readers: HashMap<u32, usize>,
    /// Whether all that the script does is to print texts.
    only_prints: bool,
}

impl<'a> Scene<'a> {
    fn of(script: &'a Script) -> Self {
        let mut readers = HashMap::new();
        for command in script
            .commands
            .iter()
            .filter(|command| command.place.reads_pipe)
        {
            let is_view = command.name().is_some_and(|name| VIEWS.contains(&name));
            if !is_view || writes_file(command) {
                let last = readers.entry(command.place.outermost_pipeline).or_insert(0);
                *last = command.span.start.max(*last);
            }
        }
        let prints = |command: &SimpleCommand| match command.name() {
            Some("echo" | "printf" | "cd") => true,
            Some("cat") => has_here_text(command) && command.arguments().is_empty(),
            _ => command.words.is_empty(),
        };
        Self {
            script,
            readers,
            only_prints: script.commands.iter().all(prints),
        }
    }

    /// Whether something else works on what a command prints.
    fn is_read(&self, command: &SimpleCommand) -> bool {
        let last = self.readers.get(&command.place.outermost_pipeline);
        last.is_some_and(|last| *last > command.span.start)
    }

    /// The command as it is written, whatever starts it.
    fn written(&self, at: usize) -> Option<&'a SimpleCommand> {
        let mut command = self.script.commands.get(at)?;
        while let CommandOrigin::StartedBy(by) = command.origin {
            command = self.script.commands.get(by)?;
        }
        Some(command)
    }

    /// Whether it runs as somebody else, or somewhere else.
    fn is_elsewhere(&self, at: usize) -> bool {
        let mut command = self.script.commands.get(at);
        while let Some(SimpleCommand {
            origin: CommandOrigin::StartedBy(by) | CommandOrigin::ScriptOf(by),
            ..
        }) = command
        {
            command = self.script.commands.get(*by);
            let name = command.and_then(SimpleCommand::name).unwrap_or_default();
            if ELSEWHERE.contains(&name) {
                return true;
            }
        }
        false
    }

    /// The rule that has a better tool for a command.
    fn rule(&self, at: usize, command: &SimpleCommand) -> Option<DefaultRule> {
        if self.is_elsewhere(at) {
            return None;
        }
        let written = self.written(at)?;
        let Some(name) = command.name() else {
            let is_block =
                command.words.is_empty() && self.only_prints && self.script.commands.len() > 1;
            return (is_block && writes_file(command)).then_some(DefaultRule::Write);
        };
        if let Some(rule) = in_place(name, command.arguments()) {
            return Some(rule);
        }
        if name == "tee" {
            return self
                .is_typed_by_tee(command, written)
                .then_some(DefaultRule::Write);
        }
        let is_value = command.place.inside.contains(Construct::Substitution);
        if is_value || command.place.reads_pipe || self.is_read(command) {
            return None;
        }
        match name {
            "echo" | "printf" => writes_file(written).then_some(DefaultRule::Write),
            "cat" => cat(command, written),
            "head" | "tail" | "less" | "more" => reads(name, command, written),
            "grep" | "egrep" | "fgrep" | "rg" | "ripgrep" | "ag" | "ack" => {
                searches(name, command, written)
            }
            "find" | "fd" | "fdfind" | "locate" => finds(name, command, written),
            _ => None,
        }
    }

    /// `tee FILE <<E`, `echo x | tee FILE`
    fn is_typed_by_tee(&self, tee: &SimpleCommand, written: &SimpleCommand) -> bool {
        let is_file = |word: &Word| {
            !word
                .known()
                .is_some_and(|text| SINKS.contains(&text) || text == "-")
        };
        if !operands(tee.arguments()).any(is_file) {
            return false;
        }
        if has_here_text(written) {
            return true;
        }
        let mine = self.script.commands.iter().filter(|other| {
            other.place.pipeline == tee.place.pipeline && other.place.stage < tee.place.stage
        });
        let mut sources = mine.peekable();
        let prints = |other: &SimpleCommand| match other.name() {
            Some("echo" | "printf") => true,
            Some("cat") => has_here_text(other),
            _ => false,
        };
        sources.peek().is_some() && sources.all(prints)
    }
}

/// `sed -i`, `perl -pi`, `awk -i inplace`, `ruby -i`, wherever the option stands.
fn in_place(name: &str, words: &[Word]) -> Option<DefaultRule> {
    let options = || words.iter().take_while(|word| !word.is("--"));
    let letter_i = |values: &str| options().any(|word| has_short(word, "i", values));
    match name {
        "sed" | "gsed" => {
            let long = options().any(|word| {
                let text = word.known_beginning();
                text.starts_with("--in-place") || is_long(word, "in-place", 2)
            });
            (long || letter_i("efl")).then_some(DefaultRule::EditBySed)
        }
        "perl" | "ruby" => letter_i("eEIMmxCdDFrSTW").then_some(DefaultRule::EditByPerl),
        "awk" | "gawk" => {
            let is_inplace = |pair: &[Word]| matches!(pair, [option, value] if option.is("-i") && value.is("inplace"));
            let attached =
                |word: &Word| matches!(word.known(), Some("-iinplace" | "--include=inplace"));
            (words.windows(2).any(is_inplace) || options().any(attached))
                .then_some(DefaultRule::EditByAwk)
        }
        _ => None,
    }
}

fn cat(command: &SimpleCommand, written: &SimpleCommand) -> Option<DefaultRule> {
    let has_files = operands(command.arguments()).any(|word| !word.is("-"));
    if writes_file(written) {
        // What files hold is copied, which no tool does better.
        return (!has_files).then_some(DefaultRule::Write);
    }
    let is_typed = has_here_text(written);
    (has_files && !is_typed || reads_file(written)).then_some(DefaultRule::Read)
}

fn reads(name: &str, command: &SimpleCommand, written: &SimpleCommand) -> Option<DefaultRule> {
    let words = command.arguments();
    let follows = |word: &Word| {
        name == "tail"
            && (has_short(word, "fF", "nc") || word.known_beginning().starts_with("--follow"))
    };
    let counts_bytes = |word: &Word| {
        matches!(name, "head" | "tail")
            && (has_short(word, "c", "n") || word.known_beginning().starts_with("--bytes"))
    };
    if words.iter().any(|word| follows(word) || counts_bytes(word)) || writes_file(written) {
        return None;
    }
    let has_file = files(words, &["-n", "--lines", "-p"]).any(|word| !word.is("-"));
    (has_file || reads_file(written)).then_some(DefaultRule::Read)
}

/// Options of searches after which there is nothing for people to read.
const FOR_MACHINES: &[&str] = &[
    "--quiet",
    "--silent",
    "--count",
    "--count-matches",
    "--only-matching",
    "--null",
    "--json",
    "--vimgrep",
    "--null-data",
    "--version",
    "--help",
    "--type-list",
    "-V",
    "--stats",
];

fn searches(name: &str, command: &SimpleCommand, written: &SimpleCommand) -> Option<DefaultRule> {
    let words = command.arguments();
    let for_machines = |word: &Word| {
        let values = if name == "rg" {
            "efABCmgtTdDjr"
        } else {
            "efABCmdD"
        };
        has_short(word, "qcoZ", values)
            || word
                .known()
                .is_some_and(|text| FOR_MACHINES.contains(&text))
            || name == "rg" && has_short(word, "0", "efABCmgtTdjr")
    };
    if words.iter().any(for_machines) || writes_file(written) {
        return None;
    }
    if name == "rg" && words.iter().any(|word| word.is("--files")) {
        return Some(DefaultRule::Find);
    }
    let values = [
        "-e",
        "-f",
        "-A",
        "-B",
        "-C",
        "-m",
        "-g",
        "-t",
        "-T",
        "--include",
        "--exclude",
    ];
    let by_option = words.iter().any(|word| {
        matches!(word.known(), Some("-e" | "-f")) || word.known_beginning().starts_with("--regexp")
    });
    let count = files(words, &values).count() + usize::from(by_option);
    let is_recursive = !matches!(name, "grep" | "egrep" | "fgrep")
        || words
            .iter()
            .any(|word| has_short(word, "rR", "efABCm") || is_long(word, "recursive", 3));
    let has_input = count > 1 || is_recursive && count > 0 || reads_file(written);
    has_input.then_some(DefaultRule::Search)
}

/// What find does besides finding, and what it looks at besides names.
const MORE_THAN_NAMES: &[&str] = &[
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-delete",
    "-print0",
    "-printf",
    "-fprint",
    "-fprintf",
    "-ls",
    "-fls",
    "-newer",
    "-mtime",
    "-mmin",
    "-ctime",
    "-atime",
    "-amin",
    "-cmin",
    "-size",
    "-empty",
    "-perm",
    "-user",
    "-group",
    "-nouser",
    "-quit",
    "-x",
    "-X",
    "--exec",
    "--exec-batch",
    "-0",
    "--print0",
    "-samefile",
    "-links",
    "-inum",
    "--changed-within",
    "--changed-before",
    "--size",
    "--version",
    "--help",
];

fn finds(name: &str, command: &SimpleCommand, written: &SimpleCommand) -> Option<DefaultRule> {
    let words = command.arguments();
    let does_more = |word: &Word| {
        word.known()
            .is_some_and(|text| MORE_THAN_NAMES.contains(&text))
    };
    if words.iter().any(does_more) || writes_file(written) {
        return None;
    }
    let by_name = |word: &Word| {
        matches!(
            word.known(),
            Some(
                "-name"
                    | "-iname"
                    | "-type"
                    | "--type"
                    | "-glob"
                    | "--glob"
                    | "-path"
                    | "-ipath"
                    | "-wholename"
                    | "-regex"
                    | "-iregex"
                    | "-e"
                    | "--extension"
            )
        )
    };
    let is_search = match name {
        "find" => words.iter().any(by_name),
        _ => words
            .iter()
            .any(|word| by_name(word) || !word.known_beginning().starts_with('-')),
    };
    is_search.then_some(DefaultRule::Find)
}

/// The operands, without the values of these options.
fn files<'a>(words: &'a [Word], with_value: &'a [&str]) -> impl Iterator<Item = &'a Word> {
    let is_value = move |index: usize| {
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        before
            .and_then(Word::known)
            .is_some_and(|text| with_value.contains(&text))
    };
    let end = words.iter().position(|word| word.is("--"));
    words.iter().enumerate().filter_map(move |(index, word)| {
        let is_after = end.is_some_and(|end| index > end);
        let text = word.known_beginning();
        let is_option = text.starts_with(['-', '+']) && text.len() > 1;
        (is_after || !is_option && !is_value(index)).then_some(word)
    })
}

/// Whether its output goes to a real file.
fn writes_file(command: &SimpleCommand) -> bool {
    let writes = |redirect: &Redirect| {
        let target = redirect.target.known();
        redirect.operator.writes()
            && matches!(redirect.descriptor.as_deref(), None | Some("1"))
            && !target.is_some_and(|target| SINKS.contains(&target))
    };
    command.redirects.iter().any(writes)
}

fn reads_file(command: &SimpleCommand) -> bool {
    let mut redirects = command.redirects.iter();
    redirects.any(|redirect| redirect.operator == RedirectOperator::Read)
}

fn has_here_text(command: &SimpleCommand) -> bool {
    use RedirectOperator::{HereDoc, HereString};
    let mut redirects = command.redirects.iter();
    redirects.any(|redirect| matches!(redirect.operator, HereDoc | HereString))
}
