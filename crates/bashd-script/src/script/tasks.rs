//! Tasks in files that the script itself writes, where a program runs them: a makefile, the scripts
//! of `package.json`, a `justfile`, a `Taskfile.yml`.

use super::constants::NamedText;
use super::foreign_code::literal_span;
use super::handed_scripts::apart;
use super::inner_scripts::printed_text;
use super::lowering::{InnerScript, Lowering};
use super::view::SimpleCommand;
use super::word::Word;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Most tasks that one call is followed into.
const MOST_TASKS: usize = 32;

/// Most bytes of a file of tasks that is looked at, and of a recipe with its variables filled in.
const MOST_TEXT: usize = 16 << 10;

/// Most variables of such a file, and bytes of the value of one.
const MOST_VARIABLES: usize = 64;
const MOST_VALUE: usize = 1024;

/// How the tasks of a program are written down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TaskFormat {
    /// Targets with what they need, and lines that begin with a tab.
    Make,
    /// The same with lines that begin with blanks.
    Just,
    /// JSON with an object of names and scripts.
    Json,
    /// YAML with lists of commands.
    Yaml,
}

/// The files in which a program finds its tasks.
fn files_of(name: &str) -> Option<(TaskFormat, &'static [&'static str])> {
    Some(match name {
        "make" | "gmake" => (TaskFormat::Make, &["GNUmakefile", "makefile", "Makefile"]),
        "npm" | "pnpm" | "yarn" | "bun" => (TaskFormat::Json, &["package.json"]),
        "deno" => (
            TaskFormat::Json,
            &["deno.json", "deno.jsonc", "package.json"],
        ),
        "composer" => (TaskFormat::Json, &["composer.json"]),
        "just" => (TaskFormat::Just, &["justfile", "Justfile", ".justfile"]),
        "task" | "go-task" => (
            TaskFormat::Yaml,
            &[
                "Taskfile.yml",
                "Taskfile.yaml",
                "taskfile.yml",
                "taskfile.yaml",
            ],
        ),
        _ => return None,
    })
}

/// What a call says of the tasks that it wants.
#[derive(Default)]
struct TaskCall {
    /// Where the file is, if the call says so.
    directory: Option<String>,
    file: Option<Word>,
    /// `NAME=VALUE`
    variables: Vec<(String, String)>,
    names: Vec<String>,
    /// Makefiles that are arguments.
    texts: Vec<String>,
}

impl TaskCall {
    fn of(words: &[Word]) -> Self {
        let mut call = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let text = printed_text(word);
            match text.as_str() {
                "-C" | "--prefix" | "--cwd" | "--directory" | "-d" | "--dir" => {
                    call.directory = words.next().map(printed_text);
                }
                "-f" | "--file" | "--makefile" | "-t" | "--taskfile" | "--justfile" => {
                    call.file = words.next().cloned();
                }
                "-f-" | "-f/dev/stdin" => call.file = Some(Word::of("-", word.span)),
                "--" => break,
                option if option.starts_with("--eval=") => {
                    call.texts
                        .extend(option.split_once('=').map(|it| it.1.to_owned()));
                }
                option if option.starts_with('-') => {}
                setting if setting.contains('=') => {
                    let pair = setting.split_once('=');
                    call.variables
                        .extend(pair.map(|(name, value)| (name.to_owned(), value.to_owned())));
                }
                name => call.names.push(name.to_owned()),
            }
        }
        call
    }
}

impl Lowering<'_> {
    /// The scripts of the tasks that the command with this index runs.
    pub(super) fn scripts_of_tasks(
        &mut self,
        at: usize,
        name: &str,
        command: &SimpleCommand,
    ) -> Vec<InnerScript> {
        let is_make = matches!(name, "make" | "gmake") && !command.arguments().is_empty();
        if !is_make && !self.constants.has_texts() {
            return Vec::new();
        }
        let Some((format, files)) = files_of(name) else {
            return Vec::new();
        };
        let call = TaskCall::of(command.arguments());
        let mut texts = call.texts.clone();
        let is_input = |file: &Word| matches!(file.known(), Some("-" | "/dev/stdin"));
        match &call.file {
            Some(file) if is_input(file) => {
                texts.extend(self.known_input(at).map(|(text, _)| text));
            }
            Some(file) => texts.extend(self.constants.file_text(file)),
            None => texts.extend(files.iter().find_map(|file| {
                let path = match &call.directory {
                    Some(directory) => format!("{}/{file}", directory.trim_end_matches('/')),
                    None => (*file).to_owned(),
                };
                self.constants.file_text(&Word::of(path, command.span))
            })),
        }
        let mut found: Vec<String> = Vec::new();
        for text in texts
            .iter()
            .filter(|text| self.constants.may_work(text.len()))
        {
            found.extend(match format {
                TaskFormat::Make | TaskFormat::Just => recipes(text, format, &call),
                TaskFormat::Json => of_json(text, &wanted(name, &call.names)),
                TaskFormat::Yaml => of_yaml(text, &call.names),
            });
        }
        if format == TaskFormat::Json {
            let named = wanted(name, &call.names).into_iter();
            let set = named.filter_map(|task| self.constants.text(NamedText::Task, &task));
            found.extend(set.map(|script| script.to_string()));
        }
        let found = found.into_iter().take(MOST_TASKS);
        found.map(|text| apart(text, command.span)).collect()
    }
}

/// The scripts that a call means by its words: `npm run x`, `npm test`, `yarn x`.
fn wanted(program: &str, words: &[String]) -> Vec<String> {
    let Some((verb, rest)) = words.split_first() else {
        return match program {
            "yarn" => installing(),
            _ => Vec::new(),
        };
    };
    let task = match verb.as_str() {
        "run" | "run-script" | "rum" | "task" | "run-s" => rest.first(),
        "test" | "start" | "stop" | "restart" => Some(verb),
        "t" | "tst" => return with_hooks("test"),
        "install" | "i" | "ci" | "add" => return installing(),
        "publish" | "pack" => return with_hooks("prepublishOnly"),
        _ if matches!(program, "npm" | "deno") => None,
        _ => Some(verb),
    };
    task.map(|task| with_hooks(task)).unwrap_or_default()
}

fn with_hooks(task: &str) -> Vec<String> {
    vec![format!("pre{task}"), task.to_owned(), format!("post{task}")]
}

fn installing() -> Vec<String> {
    let hooks = ["preinstall", "install", "postinstall", "prepare"];
    hooks.map(str::to_owned).to_vec()
}

/// The scripts of these names in JSON: `"name": "script"`, `"name": ["script"]`.
fn of_json(text: &str, names: &[String]) -> Vec<String> {
    let places = ["\"scripts\"", "\"tasks\""];
    let Some(start) = places.iter().find_map(|place| text.find(place)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for name in names {
        let key = format!("\"{name}\"");
        let behind = text.get(start..).and_then(|text| text.split_once(&key));
        let value = behind.map(|(_, value)| value.trim_start());
        let value = value.and_then(|value| value.strip_prefix(':'));
        let Some(value) = value.map(|value| value.trim_start_matches([' ', '\n', '\t', '[']))
        else {
            continue;
        };
        let script = literal_span(value, 0).filter(|_| value.starts_with('"'));
        found.extend(script.map(|(script, _)| unescaped(script)));
    }
    found
}

fn unescaped(json: &str) -> String {
    let text = json.replace("\\\"", "\"").replace("\\n", "\n");
    text.replace("\\t", "\t").replace("\\\\", "\\")
}

/// The commands of these tasks in YAML; of all, if the call names none.
fn of_yaml(text: &str, names: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_wanted = false;
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        let inner = line.trim();
        if depth <= 2 && inner.ends_with(':') {
            let name = inner.trim_end_matches(':').trim_matches(['"', '\'']);
            let is_default = names.is_empty() && name == "default";
            is_wanted = is_default || names.iter().any(|wanted| wanted == name);
            continue;
        }
        let signs = ["- cmd:", "cmd:", "- "];
        let command = signs.iter().find_map(|sign| inner.strip_prefix(sign));
        let command = command.filter(|_| is_wanted && depth > 2);
        let plain = command.map(|it| it.trim().trim_matches(['"', '\'']).to_owned());
        found.extend(plain);
    }
    found
}

/// A target of a makefile.
#[derive(Default)]
struct MakeTarget {
    needs: Vec<String>,
    recipe: Vec<String>,
}

/// A makefile or a justfile.
#[derive(Default)]
struct Makefile {
    targets: HashMap<String, MakeTarget>,
    first: Option<String>,
    variables: HashMap<String, String>,
    /// What it runs when it is read: `$(shell x)`, `!=`.
    read: Vec<String>,
}

/// The recipes that a call runs.
fn recipes(text: &str, format: TaskFormat, call: &TaskCall) -> Vec<String> {
    if text.len() > MOST_TEXT {
        return Vec::new();
    }
    let mut makefile = Makefile::read(text, format);
    let given = call.variables.iter().take(MOST_VARIABLES).cloned();
    makefile.variables.extend(given);
    let mut names: Vec<String> = call.names.clone();
    if names.is_empty() || format == TaskFormat::Just && !makefile.targets.contains_key(&names[0]) {
        names = makefile.first.clone().into_iter().collect();
    }
    let mut scripts: Vec<String> = makefile.read.clone();
    let mut seen: Vec<String> = Vec::new();
    while let Some(name) = names.pop() {
        if seen.contains(&name) || seen.len() > MOST_TASKS {
            continue;
        }
        // A target that a pattern makes: every pattern may.
        let own = makefile.targets.get(&name).into_iter();
        let by_pattern = makefile.targets.iter().filter(|(own, _)| own.contains('%'));
        for target in own.chain(by_pattern.map(|(_, target)| target)) {
            names.extend(target.needs.iter().cloned());
            scripts.extend(target.recipe.iter().cloned());
        }
        seen.push(name);
    }
    scripts
        .iter()
        .take(MOST_TASKS)
        .map(|script| makefile.filled(script))
        .collect()
}

impl Makefile {
    fn read(text: &str, format: TaskFormat) -> Self {
        let mut makefile = Self::default();
        let mut current: Vec<String> = Vec::new();
        let joined = text.replace("\\\n", " ");
        for line in joined.lines() {
            let is_recipe =
                line.starts_with('\t') || format == TaskFormat::Just && line.starts_with(' ');
            if is_recipe {
                let recipe = line.trim_start_matches(['@', '-', '+', ' ', '\t']);
                for name in &current {
                    let target = makefile.targets.entry(name.clone()).or_default();
                    target.recipe.push(recipe.to_owned());
                }
                continue;
            }
            makefile.read.extend(shell_calls(line));
            let is_target = |head: &str| !head.contains('=') && !head.starts_with('#');
            match line.split_once(':') {
                Some((head, behind)) if is_target(head) && !behind.starts_with('=') => {
                    let head = head.trim_start_matches('@');
                    current = head.split_whitespace().map(str::to_owned).collect();
                    current.truncate(match format {
                        TaskFormat::Just => 1,
                        _ => MOST_TASKS,
                    });
                    makefile.add(&current, behind);
                }
                _ => makefile.learn(line),
            }
        }
        makefile
    }

    fn add(&mut self, names: &[String], behind: &str) {
        let (needs, recipe) = match behind.split_once(';') {
            Some((needs, recipe)) => (needs, Some(recipe)),
            None => (behind, None),
        };
        for name in names {
            let target = self.targets.entry(name.clone()).or_default();
            target.needs.extend(
                needs
                    .trim_start_matches(':')
                    .split_whitespace()
                    .map(str::to_owned),
            );
            let recipe = recipe.map(|it| it.trim_start_matches(['@', '-', '+', ' ']).to_owned());
            target.recipe.extend(recipe);
            if self.first.is_none() && !name.starts_with('.') {
                self.first = Some(name.clone());
            }
        }
    }

    /// `D = /x`, `D := /x`
    fn learn(&mut self, line: &str) {
        if let Some((name, value)) = line.split_once('=') {
            if name.ends_with('!') {
                self.read.push(value.trim().to_owned());
            }
            let name = name.trim_end_matches([':', '?', '+', '!', ' ']).trim();
            let name = name.trim_start_matches("export ");
            let value = value.trim().trim_matches(['"', '\'']);
            if self.variables.len() < MOST_VARIABLES && value.len() <= MOST_VALUE {
                self.variables.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// A recipe with the values of variables in it; those that nobody gave stay those of a shell.
    fn filled(&self, recipe: &str) -> String {
        // Two dollars are one for the shell.
        let mut text = recipe.replace("$$", "\u{1}");
        for _ in 0..4 {
            let before = text.clone();
            for (name, value) in &self.variables {
                for form in [
                    format!("$({name})"),
                    format!("${{{name}}}"),
                    format!("{{{{{name}}}}}"),
                ] {
                    let more = text.matches(&form).count() * value.len();
                    if more > 0 && text.len() + more <= MOST_TEXT {
                        text = text.replace(&form, value);
                    }
                }
            }
            if text == before {
                break;
            }
        }
        let unset = |text: &str| -> String {
            // `$(DESTDIR)/usr` is a variable, not a substitution.
            let mut made = String::new();
            let mut rest = text;
            while let Some((before, behind)) = rest.split_once("$(") {
                made.push_str(before);
                let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                match end.and_then(|end| Some((behind.get(..end)?, behind.get(end..)?))) {
                    Some((name, after)) if after.starts_with(')') && !before.ends_with('$') => {
                        let _ = write!(made, "${{{name}}}");
                        rest = after.get(1..).unwrap_or_default();
                    }
                    _ => {
                        made.push_str("$(");
                        rest = behind;
                    }
                }
            }
            made + rest
        };
        unset(&text).replace('\u{1}', "$")
    }
}

/// `$(shell x)`
fn shell_calls(line: &str) -> Vec<String> {
    let calls = line.split("$(shell ").skip(1);
    let script = |call: &str| Some(call.get(..call.rfind(')')?)?.to_owned());
    calls.filter_map(script).collect()
}
