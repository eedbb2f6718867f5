//! Programs with a language of their own, and where their code stands: `python -c`, `perl -e`,
//! `awk`, `vim -c`, `tar --checkpoint-action`. What the code runs or removes is in
//! `foreign_code.rs`.

use super::beginnings::Beginnings;
use super::foreign_code::{self, Language};
use super::foreign_files;
use super::inner_scripts::{SHELLS, printed_text};
use super::name_hash::{NameMap, NameSet};
use super::word::Word;
use super::wrappers::{self, rest_of};
use super::{handed_scripts, sed_scripts};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// A program, how its options with code are called, and in which language that is.
struct Interpreter {
    /// Its name; versions may follow it (`python3.12`).
    name: &'static str,
    language: Language,
    /// Short options with code as their value.
    letters: &'static str,
    /// Long options with code as their value.
    long: &'static [&'static str],
    /// Whether the first word that is not an option is code.
    is_operand: bool,
}

const fn known(
    name: &'static str,
    language: Language,
    letters: &'static str,
    long: &'static [&'static str],
) -> Interpreter {
    Interpreter {
        name,
        language,
        letters,
        long,
        is_operand: false,
    }
}

const fn awk(name: &'static str) -> Interpreter {
    Interpreter {
        is_operand: true,
        ..known(name, Language::Awk, "e", &["source"])
    }
}

/// Every interpreter, a line each.
const INTERPRETERS: &[Interpreter] = &[
    known("python", Language::Other, "c", &[]),
    known("pypy", Language::Other, "c", &[]),
    known("ipython", Language::Other, "c", &[]),
    known("perl", Language::Backticks, "eE", &[]),
    known("ruby", Language::Backticks, "e", &[]),
    known("php", Language::Backticks, "rBRE", &["run"]),
    known("node", Language::Other, "ep", &["eval", "print"]),
    known("nodejs", Language::Other, "ep", &["eval", "print"]),
    known("tsx", Language::Other, "ep", &["eval", "print"]),
    known("ts-node", Language::Other, "ep", &["eval", "print"]),
    known("bun", Language::Other, "ep", &["eval", "print"]),
    known("deno", Language::Other, "", &["eval"]),
    known("lua", Language::Other, "e", &[]),
    known("luajit", Language::Other, "e", &[]),
    known("Rscript", Language::Other, "e", &[]),
    known("julia", Language::Backticks, "e", &["eval"]),
    known("elixir", Language::Other, "e", &["eval"]),
    known("groovy", Language::Other, "e", &[]),
    known("guile", Language::Other, "c", &[]),
    known("scala", Language::Other, "e", &[]),
    known("osascript", Language::Other, "e", &[]),
    known("tclsh", Language::Other, "c", &[]),
    known("expect", Language::Other, "c", &[]),
    known("emacs", Language::Other, "", &["eval"]),
    known("sqlite3", Language::Bang, "", &["cmd"]),
    known("psql", Language::Bang, "c", &["command"]),
    known("gdb", Language::Bang, "", &["ex", "eval-command"]),
    known("vim", Language::Bang, "c", &["cmd"]),
    known("vi", Language::Bang, "c", &["cmd"]),
    known("nvim", Language::Bang, "c", &["cmd"]),
    known("view", Language::Bang, "c", &["cmd"]),
    known("ex", Language::Bang, "c", &["cmd"]),
    known("ed", Language::Bang, "", &[]),
    awk("awk"),
    awk("gawk"),
    awk("mawk"),
    awk("nawk"),
];

/// Tcl has words where others have calls.
const TCL: Interpreter = known("tclsh", Language::Other, "c", &[]);

/// Names of programs that this file knows.
pub(super) const NAMES: [&str; 50] = [
    "groovy",
    "guile",
    "scala",
    "tsx",
    "ts-node",
    "aws",
    "python",
    "pypy",
    "ipython",
    "perl",
    "ruby",
    "php",
    "node",
    "bun",
    "deno",
    "lua",
    "Rscript",
    "julia",
    "elixir",
    "osascript",
    "tclsh",
    "expect",
    "emacs",
    "sqlite3",
    "psql",
    "gdb",
    "vim",
    "vi",
    "nvim",
    "view",
    "ex",
    "ed",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "tar",
    "gtar",
    "rsync",
    "make",
    "gmake",
    "sed",
    "scp",
    "sftp",
    "man",
    "zip",
    "split",
    "sort",
    "crontab",
    "ssh",
];

/// Options of programs whose value is a script: the program, the option, and what stands before the
/// script in its value.
const SCRIPT_VALUES: &[(&str, &str, &str)] = &[
    ("tar", "--checkpoint-action", "exec="),
    ("tar", "--to-command", ""),
    ("tar", "--use-compress-program", ""),
    ("tar", "-I", ""),
    ("tar", "--rsh-command", ""),
    ("gtar", "--checkpoint-action", "exec="),
    ("gtar", "--to-command", ""),
    ("rsync", "-e", ""),
    ("rsync", "--rsh", ""),
    ("rsync", "--rsync-path", ""),
    ("ssh", "-oProxyCommand", "="),
    ("ssh", "-o", "ProxyCommand="),
    ("ssh", "-o", "LocalCommand="),
    ("scp", "-o", "ProxyCommand="),
    ("sftp", "-o", "ProxyCommand="),
    ("man", "-P", ""),
    ("zip", "-TT", ""),
    ("split", "--filter", ""),
    ("sort", "--compress-program", ""),
    ("make", "SHELL", ""),
    ("gmake", "SHELL", ""),
    ("crontab", "-e", "\0"),
    ("aws", "--parameters", "commands="),
];

/// The names of all programs that this file knows.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let values = SCRIPT_VALUES.iter().map(|(program, _, _)| *program);
    NAMES
        .into_iter()
        .chain(INTERPRETERS.iter().map(|it| it.name))
        .chain(values)
}

/// What a program of this name runs, by scripts in its options and its code; `input` is what it
/// reads.
pub(super) fn scripts(name: &str, arguments: &[Word], input: Option<&str>) -> Vec<String> {
    let mut scripts = script_values(name, arguments);
    if let Some(interpreter) = interpreter(name) {
        let (codes, has_operand) = code(interpreter, arguments);
        let reads = codes.is_empty() && (!has_operand || arguments.iter().any(|word| word.is("-")));
        // `awk -v c='rm x' 'BEGIN{system(c)}'`
        let given = match interpreter.language {
            Language::Awk => given_names(arguments),
            _ => String::new(),
        };
        for code in codes
            .iter()
            .map(String::as_str)
            .chain(input.filter(|_| reads))
        {
            let code = &with_names(&given, code);
            scripts.extend(foreign_code::scripts(code, interpreter.language));
            let is_awk = interpreter.language == Language::Awk;
            if is_awk && foreign_code::runs_lines(code) {
                scripts.extend(input.map(str::to_owned));
            }
        }
    }
    match name {
        "sed" => scripts.extend(sed_scripts::executed(arguments, input)),
        "tclsh" | "expect" => {
            let (codes, has_operand) = code(&TCL, arguments);
            let read = input.filter(|_| codes.is_empty() && !has_operand);
            let codes = codes.iter().map(String::as_str).chain(read);
            scripts.extend(codes.filter_map(spawned));
        }
        _ => {}
    }
    scripts
}

/// The files that code in the arguments writes, or in what is read, with their texts.
pub(super) fn written(
    name: &str,
    arguments: &[Word],
    input: Option<&str>,
) -> Vec<(String, String)> {
    let Some(interpreter) = interpreter(name) else {
        return Vec::new();
    };
    let (codes, has_operand) = code(interpreter, arguments);
    let reads = codes.is_empty() && (!has_operand || arguments.iter().any(|word| word.is("-")));
    let codes = codes.iter().map(String::as_str);
    let codes = codes.chain(input.filter(|_| reads));
    codes.flat_map(foreign_files::written).collect()
}

/// `spawn rm -rf /`, `exec rm -rf /`, `file delete -force /` of Tcl.
fn spawned(code: &str) -> Option<String> {
    if let Some((_, rest)) = code.split_once("file delete ") {
        let paths = rest
            .split([';', '\n'])
            .next()?
            .trim_start_matches("-force ");
        return Some(format!("rm -rf {paths}"));
    }
    let words = ["spawn ", "exec "];
    let script = words.iter().find_map(|word| code.split_once(word))?.1;
    Some(
        script
            .split(';')
            .next()?
            .trim_start_matches("-noecho ")
            .to_owned(),
    )
}

/// The scripts in code of a file that `name` runs.
pub(super) fn scripts_of_file(name: &str, code: &str) -> Vec<String> {
    match interpreter(name) {
        Some(interpreter) => foreign_code::scripts(code, interpreter.language),
        None => Vec::new(),
    }
}

/// Whether a program of this name is known here.
pub(super) fn is_known(name: &str) -> bool {
    interpreter(name).is_some()
        || name == "sed"
        || SCRIPT_VALUES.iter().any(|(program, _, _)| *program == name)
}

/// Whether a program of this name runs code, and no script or command by other means.
pub(super) fn runs_only_code(name: &str) -> bool {
    interpreter(name).is_some() && !BY_OTHER_MEANS.contains(name)
}

/// The names of programs that run scripts or commands by other means.
static BY_OTHER_MEANS: LazyLock<NameSet> = LazyLock::new(|| {
    let names = wrappers::names().chain(SHELLS);
    names.chain(handed_scripts::NAMES).collect()
});

fn interpreter(name: &str) -> Option<&'static Interpreter> {
    if !INTERPRETER_BEGINNINGS.may_have(name) {
        return None;
    }
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let found = BY_NAME.get(name).or_else(|| BY_NAME.get(plain));
    found.copied()
}

/// How their names begin: most programs are none.
static INTERPRETER_BEGINNINGS: Beginnings = {
    let (mut known, mut rest) = (Beginnings::NONE, INTERPRETERS);
    while let [one, after @ ..] = rest {
        known = known.and(&[one.name]);
        rest = after;
    }
    known
};

static BY_NAME: LazyLock<NameMap<&'static Interpreter>> =
    LazyLock::new(|| INTERPRETERS.iter().map(|it| (it.name, it)).collect());

/// The code in the arguments, and whether there is an operand before or without it.
fn code(interpreter: &Interpreter, arguments: &[Word]) -> (Vec<String>, bool) {
    let mut found = Vec::new();
    let mut has_operand = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.known_beginning();
        if let Some(command) = text
            .strip_prefix('+')
            .filter(|_| interpreter.letters == "c")
        {
            found.push(command.to_owned());
        } else if let Some(long) = text.strip_prefix("--").filter(|long| !long.is_empty()) {
            let (name, value) = match long.split_once('=') {
                Some((name, _)) => (name, rest_of(word, name.len() + 3)),
                None => (long, None),
            };
            if interpreter.long.contains(&name) {
                let value = value.or_else(|| words.next().cloned());
                found.extend(value.as_ref().map(printed_text));
            }
        } else if let Some(letters) = text.strip_prefix('-').filter(|it| !it.is_empty()) {
            if interpreter.long.contains(&letters) {
                found.extend(words.next().map(printed_text));
                continue;
            }
            if interpreter.is_operand && matches!(letters, "v" | "F" | "f") {
                words.next();
                continue;
            }
            let at = letters.find(|letter| interpreter.letters.contains(letter));
            let Some(at) = at else { continue };
            let is_last = at + 1 == letters.len() && word.parts.len() == 1;
            let value = if is_last {
                words.next().cloned()
            } else {
                rest_of(word, at + 2)
            };
            found.extend(value.as_ref().map(printed_text));
        } else if interpreter.is_operand && !has_operand && found.is_empty() {
            has_operand = true;
            found.push(printed_text(word));
        } else {
            has_operand |= !word.is("-");
            // `deno eval CODE`, `sqlite3 FILE CODE`
            if matches!(interpreter.name, "deno" | "sqlite3") {
                found.push(printed_text(word));
            }
        }
    }
    (found, has_operand)
}

/// `-v name=value` of awk, as its code would say it.
fn given_names(arguments: &[Word]) -> String {
    let mut given = String::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = match word.known_beginning().strip_prefix("-v") {
            Some("") => words.next().map(printed_text),
            Some(_) => rest_of(word, 2).as_ref().map(printed_text),
            None => None,
        };
        if let Some((name, value)) = text.as_deref().and_then(|text| text.split_once('=')) {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = write!(given, "{name}=\"{value}\";");
        }
    }
    given
}

fn with_names<'a>(given: &str, code: &'a str) -> Cow<'a, str> {
    match given {
        "" => Cow::Borrowed(code),
        given => Cow::Owned(given.to_owned() + code),
    }
}

fn script_values(name: &str, arguments: &[Word]) -> Vec<String> {
    let mut found = Vec::new();
    for (_, option, before) in SCRIPT_VALUES
        .iter()
        .filter(|(program, _, _)| *program == name)
    {
        for (index, word) in arguments.iter().enumerate() {
            let text = printed_text(word);
            let value = match text.strip_prefix(option) {
                Some("") => arguments.get(index + 1).map(printed_text),
                Some(rest) => Some(rest.strip_prefix('=').unwrap_or(rest).to_owned()),
                None => None,
            };
            let value = value
                .as_deref()
                .map(|value| value.strip_prefix('=').unwrap_or(value));
            let script = value.and_then(|value| value.strip_prefix(before));
            found.extend(script.map(|script| match name {
                // A list: `commands=["rm x"]`.
                "aws" => script.trim_matches(['[', ']', '"']).replace("\",\"", "\n"),
                _ => script.to_owned(),
            }));
        }
    }
    found
}
