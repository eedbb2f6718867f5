//! Which commands' output a text is, and whether the exit status speaks for them.

use super::Unchanged;
use super::machine_format;
use crate::script::{Command, Construct, Joint, Origin, RedirectOperator, Script};

/// A command as a filter knows it: through `sudo`, `env`, `npx`, `python -m`, `uv run` and the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invocation {
    /// The program's name, without directory and version, in lower case.
    pub(crate) program: String,
    /// Its arguments; one that only the shell knows is empty.
    pub(crate) arguments: Vec<String>,
}

/// What a script says about the text that it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The commands whose output it is, without those that print next to nothing.
    pub(crate) commands: Vec<Invocation>,
    /// Whether exit status 0 means that each of them succeeded.
    pub(crate) status: Status,
}

/// Whom the exit status speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Status 0 says that every command of interest succeeded.
    Theirs,
    /// It may be another command's.
    Unsure,
}

/// Commands that print nothing, or a line.
const QUIET: &[&str] = &[
    "cd",
    "pushd",
    "popd",
    "export",
    "set",
    "unset",
    "source",
    ".",
    "echo",
    "printf",
    "true",
    "false",
    ":",
    "mkdir",
    "rm",
    "cp",
    "mv",
    "touch",
    "ln",
    "chmod",
    "chown",
    "sleep",
    "test",
    "[",
    "pwd",
    "exit",
    "return",
    "wait",
    "trap",
    "umask",
    "ulimit",
    "shopt",
    "alias",
    "local",
    "declare",
    "readonly",
    "read",
    "date",
    "which",
    "type",
    "command",
    "kill",
    "nvm",
    "conda",
    "pyenv",
    "deactivate",
    "hash",
    "eval",
    "exec",
];

/// Last stages of a pipeline that show lines of what the first one printed.
const PASSING: &[&str] = &[
    "cat", "head", "tail", "tee", "less", "more", "grep", "egrep", "fgrep", "rg",
];

/// Last stages whose lines are text, but not the first one's.
const TEXT: &[&str] = &[
    "sort", "uniq", "column", "wc", "nl", "tac", "fold", "expand", "fmt", "ts",
];

/// Programs that print the content of files: it is wanted as it is.
const CONTENT: &[&str] = &[
    "cat", "bat", "batcat", "head", "tail", "sed", "awk", "gawk", "less", "more", "nl", "tac",
    "xxd", "hexdump", "od", "base64", "strings", "jq", "yq", "xmllint", "cut", "tr", "paste",
    "rev", "openssl", "gpg", "xclip", "envsubst",
];

/// Reads which commands a text came from; an error says why it must stay as it is.
pub(crate) fn read(script: &Script) -> Result<Reading, Unchanged> {
    if script.bound.is_some() {
        return Err(Unchanged::Unread);
    }
    // `$TOOL build`: what follows a name that nobody knows is no command of its own.
    let is_unknown = |command: &Command| {
        let first = command.words.first();
        first.is_some_and(|word| word.known().is_none())
            && !command.place.inside.contains(Construct::Substitution)
    };
    if script.commands.iter().any(is_unknown) {
        return Err(Unchanged::UnknownCommand);
    }
    let leaves: Vec<&Command> = leaves(script).collect();
    let certain_from = certain_from(&leaves);
    let is_negated = script.constructs.contains(Construct::Negation);
    let mut reading = Reading {
        commands: Vec::new(),
        status: if is_negated {
            Status::Unsure
        } else {
            Status::Theirs
        },
    };
    for command in leaves.iter().copied().filter(|command| is_shown(command)) {
        let followers = leaves.iter().copied();
        let last = followers
            .filter(|other| other.place.pipeline == command.place.pipeline)
            .max_by_key(|other| other.place.stage)
            .unwrap_or(command);
        let Some(invocation) = Invocation::of(command) else {
            if command.words.is_empty() {
                continue;
            }
            return Err(Unchanged::UnknownCommand);
        };
        if machine_format::is_asked(&invocation) {
            return Err(Unchanged::MachineFormat);
        }
        if last.place.stage > command.place.stage {
            match passes(last) {
                Passing::Lines => reading.status = Status::Unsure,
                Passing::OtherText => continue,
                Passing::Unknown => return Err(Unchanged::UnknownPipeline),
            }
        } else if command.place.stage > 0 && is_one_of(PASSING, command) {
            continue;
        } else if command.place.reads_pipe && command.place.stage == 0 {
            // The body of a loop or group that reads a pipe.
            return Err(Unchanged::UnknownPipeline);
        }
        if invocation.is_quiet() {
            continue;
        }
        if !speaks_for(command, certain_from) {
            reading.status = Status::Unsure;
        }
        reading.commands.push(invocation);
    }
    if reading.commands.iter().any(Invocation::prints_content) {
        return Err(Unchanged::Content);
    }
    Ok(reading)
}

/// The commands that start no other one and that are not somebody's value.
fn leaves(script: &Script) -> impl Iterator<Item = &Command> {
    let starters: std::collections::HashSet<usize> = script
        .commands
        .iter()
        .filter_map(|command| match command.origin {
            Origin::StartedBy(index) | Origin::ScriptOf(index) => Some(index),
            Origin::Written => None,
        })
        .collect();
    let commands = script.commands.iter().enumerate();
    commands
        .filter(move |(index, _)| !starters.contains(index))
        .map(|(_, command)| command)
        .filter(|command| {
            let inside = command.place.inside;
            !inside.contains(Construct::Substitution) && !inside.contains(Construct::Function)
        })
}

/// Whether its stdout goes where the script's goes.
fn is_shown(command: &Command) -> bool {
    !command.redirects.iter().any(|redirect| {
        let is_stdout = redirect
            .descriptor
            .as_deref()
            .is_none_or(|descriptor| descriptor == "1");
        match redirect.operator {
            RedirectOperator::Write | RedirectOperator::Clobber | RedirectOperator::Append => {
                is_stdout
            }
            RedirectOperator::WriteBoth | RedirectOperator::AppendBoth => true,
            _ => false,
        }
    })
}

enum Passing {
    Lines,
    OtherText,
    Unknown,
}

fn passes(last: &Command) -> Passing {
    if is_one_of(PASSING, last) {
        Passing::Lines
    } else if is_one_of(TEXT, last)
        || Invocation::of(last).is_some_and(|last| super::families::find(&last).is_some())
    {
        Passing::OtherText
    } else {
        Passing::Unknown
    }
}

fn is_one_of(names: &[&str], command: &Command) -> bool {
    command.name().is_some_and(|name| names.contains(&name))
}

/// The first pipeline from which on everything is joined by `&&`: status 0 says that all of them succeeded.
fn certain_from(leaves: &[&Command]) -> u32 {
    let is_break = |command: &&&Command| !matches!(command.place.joint, Joint::And | Joint::Pipe);
    let breaks = leaves.iter().filter(is_break);
    breaks
        .map(|command| command.place.outermost_pipeline)
        .max()
        .unwrap_or(0)
}

/// Whether the script's status 0 says that this command succeeded.
fn speaks_for(command: &Command, certain_from: u32) -> bool {
    let place = command.place;
    let uncertain = [
        Construct::Loop,
        Construct::Condition,
        Construct::Subshell,
        Construct::Group,
        Construct::Coprocess,
    ];
    let is_inside = |construct: &Construct| place.inside.contains(*construct);
    !place.background
        && !uncertain.iter().any(is_inside)
        && place.outermost_pipeline >= certain_from
        && place.joint != Joint::Or
}

impl Invocation {
    /// What a command is; nothing where its name is not known.
    pub(crate) fn of(command: &Command) -> Option<Self> {
        let name = command.name()?;
        let arguments: Vec<String> = command
            .arguments()
            .iter()
            .map(|word| word.known().unwrap_or_default().to_owned())
            .collect();
        let invocation = Self {
            program: program_name(name),
            arguments,
        };
        Some(invocation.unwrapped())
    }

    /// The first argument that is not an option.
    pub(crate) fn subcommand(&self) -> &str {
        self.operand(0)
    }

    /// The operand with this number, counted from 0, without options and their values.
    pub(crate) fn operand(&self, number: usize) -> &str {
        self.operands().nth(number).unwrap_or_default()
    }

    pub(crate) fn operands(&self) -> impl Iterator<Item = &str> {
        let takes_value = value_options(&self.program);
        let mut is_value = false;
        self.arguments
            .iter()
            .map(String::as_str)
            .filter(move |argument| {
                if std::mem::take(&mut is_value) {
                    return false;
                }
                if argument.starts_with('-') || argument.starts_with('+') {
                    is_value = takes_value.contains(argument);
                    return false;
                }
                !argument.is_empty()
            })
    }

    pub(crate) fn has(&self, option: &str) -> bool {
        self.arguments.iter().any(|argument| argument == option)
    }

    /// The tool that a launcher runs: `npx jest`, `python -m pytest`, `uv run ruff`.
    fn unwrapped(self) -> Self {
        let inner = match (self.program.as_str(), self.subcommand()) {
            ("npx" | "bunx" | "pnpx" | "uvx" | "pipx", _) | ("uv", "pip") => self.rest_from(0),
            ("npm" | "pnpm" | "yarn" | "bun", "exec" | "dlx" | "x")
            | ("uv" | "poetry" | "pipenv" | "rye" | "hatch" | "pdm", "run")
            | ("bundle", "exec") => self.rest_from(1),
            ("yarn" | "pnpm" | "bun", tool) if super::families::is_node_tool(tool) => {
                self.rest_from(0)
            }
            ("python" | "py", _) => self.module(),
            _ => None,
        };
        match inner {
            Some(inner) if inner.program != self.program => inner.unwrapped(),
            _ => self,
        }
    }

    /// The words from this operand on, as a command.
    fn rest_from(&self, operand: usize) -> Option<Self> {
        let name = self.operand(operand);
        let at = self
            .arguments
            .iter()
            .position(|argument| argument == name)?;
        let (name, rest) = self.arguments.get(at..)?.split_first()?;
        (!name.is_empty()).then(|| Self {
            program: program_name(name),
            arguments: rest.to_vec(),
        })
    }

    fn module(&self) -> Option<Self> {
        let at = self
            .arguments
            .iter()
            .position(|argument| argument == "-m")?;
        let (name, rest) = self.arguments.get(at + 1..)?.split_first()?;
        Some(Self {
            program: program_name(name),
            arguments: rest.to_vec(),
        })
    }

    /// Whether it prints nothing, or a line.
    fn is_quiet(&self) -> bool {
        let program = self.program.as_str();
        let edits = program == "sed" && !self.prints_content();
        let cleans = matches!(program, "cargo" | "make" | "ninja" | "go" | "gradle")
            && self.subcommand() == "clean";
        edits || cleans || QUIET.contains(&program)
    }

    /// Whether it prints files as they are. Logs are no content in this sense.
    fn prints_content(&self) -> bool {
        let of_git = self.program == "git"
            && (matches!(self.subcommand(), "cat-file" | "grep" | "config")
                || self.subcommand() == "show"
                    && self.operands().skip(1).any(|operand| operand.contains(':')));
        let edits_in_place = matches!(self.program.as_str(), "sed" | "gawk")
            && self
                .arguments
                .iter()
                .any(|argument| argument.starts_with("-i") || argument == "--in-place");
        of_git || !edits_in_place && CONTENT.contains(&self.program.as_str()) && !self.reads_log()
    }

    /// Whether it prints a log file.
    pub(crate) fn reads_log(&self) -> bool {
        let is_log = |operand: &str| {
            let extension = std::path::Path::new(operand).extension();
            extension.is_some_and(|extension| extension == "log")
                || operand.contains("/log/")
                || operand.ends_with("/log")
        };
        matches!(
            self.program.as_str(),
            "cat" | "head" | "tail" | "less" | "more" | "bat" | "batcat"
        ) && self.operands().any(is_log)
    }
}

/// `python3.11` is `python`, `gcc-12` is `gcc`, `./gradlew` is `gradle`.
fn program_name(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let name = name.split('@').next().unwrap_or(&name);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let bare = bare.strip_suffix('-').unwrap_or(bare);
    match bare {
        // A version for the eye only.
        "flake" if name == "flake8" => name.to_owned(),
        "gradlew" => "gradle".to_owned(),
        "mvnw" => "mvn".to_owned(),
        "fdfind" => "fd".to_owned(),
        "py.test" => "pytest".to_owned(),
        "" => name.to_owned(),
        bare => bare.to_owned(),
    }
}

/// Options of a program that stand before its subcommand with a value after them.
fn value_options(program: &str) -> &'static [&'static str] {
    match program {
        "git" => &["-C", "-c", "--git-dir", "--work-tree", "-n"],
        "cargo" => &[
            "--manifest-path",
            "-p",
            "--package",
            "--color",
            "-C",
            "--config",
            "-Z",
        ],
        "npm" | "pnpm" | "yarn" | "bun" => &[
            "--prefix",
            "-C",
            "--dir",
            "--cwd",
            "--filter",
            "-F",
            "-w",
            "--workspace",
        ],
        "docker" | "podman" => &[
            "-H",
            "--host",
            "--context",
            "-f",
            "--file",
            "--config",
            "-l",
        ],
        "kubectl" | "helm" => &["-n", "--namespace", "--context", "--kubeconfig", "-s"],
        "make" | "ninja" => &["-C", "-f", "-j", "-I", "-o"],
        "go" => &["-C"],
        "uv" | "poetry" => &["--directory", "--project", "-C", "--with", "--python", "-p"],
        "npx" | "uvx" => &["-p", "--package", "--from", "--with", "--python"],
        "systemctl" | "journalctl" => &["-u", "-n", "--unit", "-t", "-p"],
        "head" | "tail" => &["-n", "-c"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(command: &str) -> Result<Reading, Unchanged> {
        read(&Script::parse(command))
    }

    fn programs(command: &str) -> Vec<String> {
        let commands = reading(command).unwrap().commands;
        commands
            .into_iter()
            .map(|command| command.program)
            .collect()
    }

    #[test]
    fn launchers_are_seen_through() {
        for (command, program) in [
            ("RUST_LOG=debug cargo +nightly test", "cargo"),
            ("sudo -u x apt-get install y", "apt-get"),
            ("npx --yes jest tests", "jest"),
            ("python3 -m pytest -q", "pytest"),
            ("python3.11 -W error -m pip install x", "pip"),
            ("uv run --with x pytest", "pytest"),
            ("cd /tmp && timeout 60 make -j2", "make"),
            ("env A=1 nice -n 5 /usr/bin/gcc-12 a.c", "gcc"),
            ("bash -c 'cargo build'", "cargo"),
            ("npm exec -- eslint .", "eslint"),
            ("yarn jest", "jest"),
            ("./gradlew build", "gradle"),
            ("git log | cat", "git"),
            ("cargo test 2>&1 | tail -50", "cargo"),
            ("for f in *; do tsc -p $f; done", "tsc"),
            ("make > /dev/null; npm ci", "npm"),
            ("sed -i s/a/b/ x && make", "make"),
            ("make clean; make -j4", "make"),
            ("flake8 src", "flake8"),
        ] {
            assert_eq!(programs(command), [program], "{command}");
        }
        assert_eq!(
            programs("git add -A && cargo test && echo done"),
            ["git", "cargo"]
        );
    }

    #[test]
    fn status_speaks_only_for_what_it_is_of() {
        for (command, status) in [
            ("cargo test", Status::Theirs),
            ("cd x && cargo test", Status::Theirs),
            ("true; cargo test", Status::Theirs),
            ("rm -rf x; cargo build && cargo test", Status::Theirs),
            ("cargo build; cargo test", Status::Unsure),
            ("cargo build && cargo test || true", Status::Unsure),
            ("cargo test & wait", Status::Unsure),
            ("cargo test; echo $?", Status::Unsure),
            ("cargo test | tail", Status::Unsure),
            ("cargo test || true", Status::Unsure),
            ("true || cargo test", Status::Unsure),
            ("for i in 1 2; do cargo test; done", Status::Unsure),
            ("! cargo test", Status::Unsure),
            ("(cargo test)", Status::Unsure),
        ] {
            assert_eq!(reading(command).unwrap().status, status, "{command}");
        }
    }

    #[test]
    fn what_is_not_for_a_model_stays() {
        for (command, why) in [
            ("cargo test --message-format=json", Unchanged::MachineFormat),
            ("git status --porcelain", Unchanged::MachineFormat),
            ("git log | python3 count.py", Unchanged::UnknownPipeline),
            (
                "git ls-files | while read f; do wc -l $f; done",
                Unchanged::UnknownPipeline,
            ),
            ("cat src/main.rs", Unchanged::Content),
            ("git show HEAD:src/main.rs", Unchanged::Content),
            ("sed -n 1,80p a.py", Unchanged::Content),
            ("$TOOL build", Unchanged::UnknownCommand),
        ] {
            assert_eq!(reading(command).unwrap_err(), why, "{command}");
        }
    }

    #[test]
    fn what_is_consumed_is_not_counted() {
        assert_eq!(programs("x=$(git log); make"), ["make"]);
        assert_eq!(programs("tail -n 100 /var/log/dpkg.log"), ["tail"]);
        assert!(programs("cargo build > log 2>&1").is_empty());
    }
}
