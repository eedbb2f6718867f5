//! A command as a filter knows it: the program that really runs, and its words.

use super::{families, words};
use bashd_script::script::SimpleCommand;

/// A command as a filter knows it: through `sudo`, `env`, `npx`, `python -m`, `uv run` and the
/// like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invocation {
    /// The program's name, without directory and version, in lower case.
    pub(crate) program: String,
    /// Its arguments; one that only the shell knows is empty.
    pub(crate) arguments: Vec<String>,
}

/// Commands that print nothing, or a line.
const QUIET: &str = "\
    cd pushd popd export set unset source . echo printf true false : mkdir rm cp mv touch ln \
    chmod chown sleep test [ pwd exit return wait trap umask ulimit shopt alias local \
    declare readonly read date which type command kill nvm conda pyenv deactivate hash eval \
    exec";

/// Programs that print the content of files: it is wanted as it is.
const CONTENT: &str = "\
    cat bat batcat head tail sed awk gawk less more nl tac xxd hexdump od base64 strings jq \
    yq xmllint cut tr paste rev openssl gpg xclip envsubst";

impl Invocation {
    /// Identifies a command; `None` if its name is unknown.
    pub(crate) fn of(command: &SimpleCommand) -> Option<Self> {
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
            ("yarn" | "pnpm" | "bun", tool) if families::is_node_tool(tool) => self.rest_from(0),
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
    pub(super) fn is_quiet(&self) -> bool {
        let program = self.program.as_str();
        let edits = program == "sed" && !self.prints_content();
        let cleans = matches!(program, "cargo" | "make" | "ninja" | "go" | "gradle")
            && self.subcommand() == "clean";
        // `uv cache clean`: not `pip cache list`.
        let cleans_cache = self.subcommand() == "cache"
            && matches!(self.operand(1), "clean" | "purge" | "prune" | "rm");
        edits || cleans || cleans_cache || words::has(QUIET, program)
    }

    /// Whether it prints files as they are. Logs do not count as content here.
    pub(super) fn prints_content(&self) -> bool {
        let of_git = self.program == "git"
            && (matches!(self.subcommand(), "cat-file" | "grep" | "config")
                || self.subcommand() == "show"
                    && self.operands().skip(1).any(|operand| operand.contains(':')));
        let edits_in_place = matches!(self.program.as_str(), "sed" | "gawk")
            && self
                .arguments
                .iter()
                .any(|argument| argument.starts_with("-i") || argument == "--in-place");
        of_git || !edits_in_place && words::has(CONTENT, &self.program) && !self.reads_log()
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

/// Options of a program that come before its subcommand with a value after them.
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
