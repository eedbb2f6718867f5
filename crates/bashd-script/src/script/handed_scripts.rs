//! Text that a command hands to a shell: `bash -c`, `eval`, `source`, `trap`, functions, aliases,
//! files that the script wrote, code of other languages.

use super::constants::NamedText;
use super::inner_scripts::{
    SHELLS, ShellScript, assigned_files, assigned_scripts, callback, crontab_script, env_string,
    fed_scripts, printed_text, reads_input, script_text, shell_script, startup_files, trap_script,
    writes_startup,
};
use super::lowering::{InnerScript, InnerShell, Lowering, MOST_SCRIPTS};
use super::view::{Construct, SimpleCommand, Span};
use super::word::{Word, WordPart};
use super::{foreign_files, git_scripts, interpreters, wrappers};

/// Names of programs that this file asks for.
pub(super) const NAMES: [&str; 26] = [
    "source",
    ".",
    "eval",
    "trap",
    "env",
    "genv",
    "git",
    "mapfile",
    "readarray",
    "complete",
    "compgen",
    "at",
    "batch",
    "crontab",
    "ssh",
    "parallel",
    "export",
    "declare",
    "typeset",
    "readonly",
    "sudo",
    "cmake",
    "scp",
    "sftp",
    "make",
    "gmake",
];

/// What ends a text that is handed on as a here-document.
const END: &str = "END_OF_WHAT_IS_READ";

/// How deep aliases may be nested: two may name each other forever. Inside other scripts they may
/// be deeper, as long as there is work left.
const MOST_ALIASES: usize = 3;
const DEEPEST_ALIAS: usize = MOST_SCRIPTS - 1;

/// Most lines that `parallel` reads, each of which is a word of a command.
const MOST_LINES: usize = 64;

/// How many functions may call each other and be gone through.
const MOST_CALLS: usize = 8;

/// How often one function may be called inside itself.
const MOST_SAME_CALLS: usize = 3;

/// Most bytes of a function that is gone through where it is called.
pub(super) const MOST_CALLED: usize = 4096;

impl Lowering<'_> {
    /// Scripts that the command with this index runs.
    pub(super) fn scripts_of(&mut self, at: usize) -> Vec<InnerScript> {
        let runs_scripts = |command: &&SimpleCommand| {
            command.name() != Some("git")
                || git_scripts::may_run(command)
                || !command.assignments.is_empty()
        };
        let command = self.script.commands.get(at).filter(runs_scripts);
        // A copy of a command costs more than everything that is asked of one that runs its own
        // code.
        if command.is_some_and(|command| self.has_only_code(command)) {
            return self.scripts_in_code(at);
        }
        let Some(command) = command.cloned() else {
            return Vec::new();
        };
        let mut found: Vec<InnerScript> = Vec::new();
        for word in assigned_scripts(&command) {
            found.extend(self.inner(&word, InnerShell::Other));
        }
        for file in assigned_files(&command) {
            let text = self.constants.file_text(&file);
            found.extend(text.map(|text| apart(text, file.span)));
        }
        let Some(name) = command.name() else {
            return found;
        };
        found.extend(self.scripts_written(at, &command));
        let arguments = command.arguments();
        if SHELLS.contains(&name) {
            found.extend(self.script_of_shell(at, &command));
            for file in startup_files(arguments) {
                let text = self.constants.file_text(file);
                found.extend(text.map(|text| apart(text, file.span)));
            }
        } else {
            found.extend(self.script_of_builtin(at, name, &command));
        }
        if let Some(wrapped) = wrappers::wrapped(&command) {
            for word in &wrapped.scripts {
                found.extend(self.inner(word, InnerShell::Other));
            }
            if let Some(words) = wrapped.script.and_then(|start| command.words.get(start..)) {
                match name {
                    "parallel" | "rust-parallel" => {
                        found.extend(self.scripts_of_parallel(at, words, command.span));
                    }
                    _ => {
                        let joined = self.joined(words, command.span, InnerShell::Other);
                        found.extend(joined.map(|inner| without_bang(name, inner)));
                    }
                }
                if name == "ssh" && words.first().is_some_and(is_shell_line) {
                    found.extend(self.input_script(at, InnerShell::Other));
                }
            }
        }
        if interpreters::is_known(name) {
            found.extend(self.scripts_in_code(at));
        }
        found.extend(self.scripts_of_tasks(at, name, &command));
        found.extend(self.called_text(name, &command));
        found
    }

    /// Whether nothing but its code may be a script that the command runs.
    fn has_only_code(&self, command: &SimpleCommand) -> bool {
        let mut redirects = command.redirects.iter();
        command.assignments.is_empty()
            && !self.constants.may_be_text(command)
            && command.name().is_some_and(interpreters::runs_only_code)
            && !redirects.any(|redirect| redirect.operator.writes())
    }

    /// The scripts in the code of an interpreter: in its options, in what it reads, in files that
    /// the script wrote.
    fn scripts_in_code(&mut self, at: usize) -> Vec<InnerScript> {
        let input = self.known_input(at).map(|(text, _)| text);
        let Some(command) = self.script.commands.get(at) else {
            return Vec::new();
        };
        let name = command.name().unwrap_or_default();
        let mut scripts = interpreters::scripts(name, command.arguments(), input.as_deref());
        for word in command.arguments() {
            if let Some(code) = self.constants.file_text(word) {
                scripts.extend(interpreters::scripts_of_file(name, &code));
            }
        }
        let span = command.span;
        let is_writing = |word: &Word| {
            let mut parts = word.parts.iter();
            parts.any(|part| matches!(part, WordPart::Text(text) if foreign_files::may_write(text)))
        };
        if input.as_deref().is_some_and(foreign_files::may_write)
            || command.arguments().iter().any(is_writing)
        {
            for (path, text) in interpreters::written(name, command.arguments(), input.as_deref()) {
                self.constants.write(&path, &text, false);
            }
        }
        scripts.into_iter().map(|text| apart(text, span)).collect()
    }

    /// What a command writes where it is run: into a file that the next shell runs, or into a
    /// script that reads it.
    fn scripts_written(&mut self, at: usize, command: &SimpleCommand) -> Vec<InnerScript> {
        let mut readers: Vec<(String, Span)> = fed_scripts(command)
            .into_iter()
            .map(|(script, span)| (script.to_owned(), span))
            .collect();
        readers.extend(self.constants.readers_of(command));
        let is_startup = writes_startup(command);
        if readers.is_empty() && !is_startup {
            return Vec::new();
        }
        let input = self.known_input(at).map(|(text, _)| text);
        let mut quiet = command.clone();
        quiet
            .redirects
            .retain(|redirect| !redirect.operator.writes());
        let Some(text) = self.constants.output_of(&quiet, input) else {
            return Vec::new();
        };
        let reading = readers.into_iter().filter(|_| !text.contains(END));
        let reading = reading.map(|(script, span)| {
            let script = format!("{{ {script}\n}} <<'{END}'\n{text}\n{END}\n");
            apart(script, span)
        });
        let mut found: Vec<InnerScript> = reading.collect();
        found.extend(is_startup.then(|| apart(text, command.span)));
        found
    }

    /// `parallel ::: 'rm x' 'rm y'`, `parallel rm ::: x`, `echo x | parallel rm`
    fn scripts_of_parallel(&mut self, at: usize, words: &[Word], span: Span) -> Vec<InnerScript> {
        let is_list = |word: &Word| matches!(word.known(), Some(":::" | ":::+"));
        if let Some((first, each)) = words.split_first()
            && is_list(first)
        {
            let scripts = each.iter();
            return scripts
                .filter_map(|word| self.inner(word, InnerShell::Other))
                .collect();
        }
        if let Some(at) = words.iter().position(is_list) {
            // `parallel rm {} ::: x y`
            let (command, values) = words.split_at(at);
            let values = values.iter().filter(|word| !is_list(word)).take(MOST_LINES);
            let has_place = command
                .iter()
                .any(|word| word.known_beginning().contains("{}"));
            let each = values.filter_map(|value| {
                let mut words = command.to_vec();
                if has_place {
                    let text = printed_text(value);
                    let placed = |word: &Word| wrappers::with_placeholder(word, "{}", Some(&text));
                    words = command.iter().map(placed).collect();
                } else {
                    words.push(value.clone());
                }
                self.joined(&words, span, InnerShell::Other)
            });
            return each.collect();
        }
        let mut words = words.to_vec();
        if !words.iter().any(is_list) {
            let input = self.known_input(at);
            let lines = input.iter().flat_map(|(text, span)| {
                let lines = text.lines().take(MOST_LINES);
                lines.map(|line| Word::of(line, *span))
            });
            words.extend(lines);
        }
        let joined = self.joined(&words, span, InnerShell::Other);
        joined.into_iter().collect()
    }

    fn script_of_shell(&mut self, at: usize, command: &SimpleCommand) -> Option<InnerScript> {
        let arguments = command.arguments();
        match shell_script(arguments) {
            ShellScript::Word(index) => {
                let positional = arguments.get(index + 1..).unwrap_or_default();
                let inner = self.inner(arguments.get(index)?, InnerShell::Other)?;
                Some(InnerScript {
                    positional: Some(positional.to_vec()),
                    ..inner
                })
            }
            ShellScript::Input(index) => {
                let name = command.words.first().cloned();
                let words = arguments.get(index..).unwrap_or_default();
                let positional = name.into_iter().chain(words.iter().cloned());
                Some(InnerScript {
                    positional: Some(positional.collect()),
                    ..self.input_script(at, InnerShell::Other)?
                })
            }
            ShellScript::File(index) => {
                let word = arguments.get(index)?;
                let text = self.constants.file_text(word)?;
                Some(InnerScript {
                    positional: Some(arguments.get(index..)?.to_vec()),
                    ..apart(text, word.span)
                })
            }
            ShellScript::None => None,
        }
    }

    fn script_of_builtin(
        &mut self,
        at: usize,
        name: &str,
        command: &SimpleCommand,
    ) -> Vec<InnerScript> {
        let arguments = command.arguments();
        let same = InnerShell::Same;
        let one = match name {
            "source" | "." if reads_input(arguments) => self.input_script(at, same),
            "source" | "." => arguments.first().and_then(|word| {
                let text = self.constants.file_text(word)?;
                Some(InnerScript {
                    shell: same,
                    ..apart(text, word.span)
                })
            }),
            "eval" => {
                let words = match arguments {
                    [first, rest @ ..] if first.is("--") => rest,
                    words => words,
                };
                self.joined(words, command.span, same)
            }
            "trap" => trap_script(arguments).and_then(|word| self.inner(word, same)),
            "mapfile" | "readarray" | "complete" | "compgen" => {
                callback(arguments).and_then(|word| self.inner(word, InnerShell::Other))
            }
            "env" | "genv" => env_string(arguments).map(|text| apart(text, command.span)),
            "at" | "batch" | "ssh" | "parallel" => {
                let wrapped = wrappers::wrapped(command);
                let has_command = wrapped.is_some_and(|wrapped| wrapped.script.is_some());
                if has_command {
                    None
                } else {
                    self.input_script(at, InnerShell::Other)
                }
            }
            "crontab" => self
                .known_input(at)
                .map(|(text, span)| apart(crontab_script(&text), span)),
            "cmake" => cmake_script(arguments).map(|text| apart(text, command.span)),
            _ => None,
        };
        let mut found: Vec<InnerScript> = one.into_iter().collect();
        if name == "git" {
            let scripts = git_scripts::scripts(arguments).into_iter();
            found.extend(scripts.map(|text| self.as_written(text, arguments, command.span)));
        }
        found
    }

    /// A function, an alias or a file that the name calls.
    fn called_text(&mut self, name: &str, command: &SimpleCommand) -> Option<InnerScript> {
        let first = command.words.first()?.known()?.to_owned();
        let span = command.span;
        if let Some(body) = self.constants.text(NamedText::Function, &first) {
            let calls = &self.constants.calls;
            let same = calls.iter().filter(|call| **call == body).count();
            let is_called = calls.len() >= MOST_CALLS || same >= MOST_SAME_CALLS;
            if is_called || !has_effect(&body) || !self.constants.may_work(body.len()) {
                return None;
            }
            return Some(InnerScript {
                positional: Some(command.words.clone()),
                construct: Construct::Function,
                shell: InnerShell::Function,
                ..apart(body.to_string(), span)
            });
        }
        if let Some(value) = self.constants.text(NamedText::Alias, &first) {
            let rest: Vec<String> = command.arguments().iter().map(printed_text).collect();
            let depth = self.context.depth;
            let is_deep = depth >= MOST_ALIASES
                && (depth >= DEEPEST_ALIAS || !self.constants.may_work(value.len()));
            if is_deep || value.split_whitespace().next() == Some(name) {
                return None;
            }
            return Some(InnerScript {
                shell: InnerShell::Same,
                ..apart(format!("{value} {}", rest.join(" ")), span)
            });
        }
        if !first.contains('/') {
            return None;
        }
        let text = self.constants.file_text(command.words.first()?)?;
        let is_shell = |line: &str| SHELLS.iter().any(|shell| line.ends_with(shell));
        let shebang = text.lines().next().and_then(|line| line.strip_prefix("#!"));
        match shebang.map(str::trim) {
            Some(line) if !is_shell(line.split(" -").next().unwrap_or(line)) => {
                let program = line.rsplit(['/', ' ']).next().unwrap_or_default();
                let scripts = interpreters::scripts_of_file(program, &text);
                Some(apart(scripts.join("\n"), span))
            }
            _ => Some(InnerScript {
                positional: Some(command.words.clone()),
                ..apart(text, span)
            }),
        }
    }

    /// A word as a script.
    fn inner(&self, word: &Word, shell: InnerShell) -> Option<InnerScript> {
        let text = script_text(word)?;
        let written = self.text.get(word.span.start..word.span.end);
        let is_exact = word.known().is_some();
        let exact_start = written
            .filter(|_| is_exact)
            .and_then(|written| written.find(&text))
            .filter(|offset| *offset <= 1)
            .map(|offset| word.span.start + offset);
        Some(InnerScript {
            exact_start,
            shell,
            ..apart(text, word.span)
        })
    }

    /// A text that may be one of the words, as a script.
    fn as_written(&self, text: String, words: &[Word], span: Span) -> InnerScript {
        let word = words.iter().find(|word| word.is(&text));
        let inner = word.and_then(|word| self.inner(word, InnerShell::Other));
        inner.unwrap_or_else(|| apart(text, span))
    }

    /// Words that are joined by blanks into a script.
    fn joined(&self, words: &[Word], span: Span, shell: InnerShell) -> Option<InnerScript> {
        if let [word] = words {
            return self.inner(word, shell);
        }
        if !words.iter().any(|word| script_text(word).is_some()) {
            return None;
        }
        let texts: Vec<String> = words.iter().map(printed_text).collect();
        Some(InnerScript {
            shell,
            ..apart(texts.join(" "), span)
        })
    }

    /// What the command reads, as a script.
    fn input_script(&mut self, at: usize, shell: InnerShell) -> Option<InnerScript> {
        let (text, span) = self.known_input(at)?;
        let written = self.text.get(span.start..span.end);
        let exact_start = written
            .filter(|written| **written == text)
            .map(|_| span.start);
        Some(InnerScript {
            exact_start,
            construct: Construct::HereDoc,
            shell,
            ..apart(text, span)
        })
    }
}

/// `ssh host bash -s`: the shell there reads what this command reads.
fn is_shell_line(word: &Word) -> bool {
    let first = word.known().unwrap_or_default().split_whitespace().next();
    first.is_some_and(|first| SHELLS.contains(&first))
}

/// Whether the body of a function does something else where it is called than where it is defined:
/// it has a variable, or changes one, or the directory.
fn has_effect(body: &str) -> bool {
    body.contains(['$', '='])
        || ["read", "cd", "printf"]
            .iter()
            .any(|word| body.contains(word))
}

/// A script that is not literally in the text.
pub(super) fn apart(text: String, span: Span) -> InnerScript {
    InnerScript {
        text,
        span,
        exact_start: None,
        positional: None,
        construct: Construct::Quoted,
        shell: InnerShell::Other,
    }
}

/// `gh alias set x '!rm y'`: the sign says that what follows is for a shell.
fn without_bang(name: &str, inner: InnerScript) -> InnerScript {
    match inner.text.strip_prefix('!') {
        Some(text) if name == "gh" => apart(text.to_owned(), inner.span),
        _ => inner,
    }
}

/// `cmake -E rm -rf /`, `cmake -E env x`
fn cmake_script(arguments: &[Word]) -> Option<String> {
    let [option, tool, words @ ..] = arguments else {
        return None;
    };
    let texts: Vec<String> = words.iter().map(printed_text).collect();
    let before = match tool.known().filter(|_| option.is("-E"))? {
        "rm" => "rm",
        "remove_directory" => "rm -rf",
        "env" => "env",
        "time" => "time",
        _ => return None,
    };
    Some(format!("{before} {}", texts.join(" ")))
}
