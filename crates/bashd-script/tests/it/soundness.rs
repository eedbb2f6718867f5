//! Scripts in which real bash has the last word: what is said to be right, and what commands there
//! are in them.
//!
//! Scripts are put together from pieces of the grammar; most are then changed a little. Where they
//! are said to be right, bash finds no mistake in them, and where another parser sees a command, so
//! does our scan, unless bash does not accept the text.

use crate::second_opinion;
use bashd_script::script::{Readings, Script, ScriptShape, builtins};
use bashd_testkit::repetitions;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use std::path::Path;
use std::process::{Command, Stdio};

/// Longer than what the parser is asked about.
const PADDING: usize = 4 << 10;

/// Texts in a soak run.
const TEXTS: usize = 40_000;

/// What the other parser is asked about: it needs exponential time for parentheses in each other.
const MOST_PARENTHESES: usize = 12;

/// How deep pieces are put into pieces.
const MOST_DEPTH: usize = 4;

/// How many pieces are put into pieces.
const MOST_TOKENS: usize = 120;

/// Pieces of the grammar: a `%` is replaced by another piece, a `@` by a word.
const PIECES: &[&str] = &[
    "@",
    "echo @ @",
    "x=@",
    "x+=@ y[0]=@ @",
    "x= @",
    "a=( @ @ )",
    "declare -a x=( @ ) y",
    "[ @ = @ ]",
    "! @ @",
    "[[ -f @ ]]",
    "[[ @ == @ && ! @ ]]",
    "[[ @ =~ ^a[0-9]$ ]] 2>&1",
    "[[ @ < @ || @ -lt @ ]]",
    "(( x + 1 ))",
    "@ > @",
    "@ @ 2>&1 >>@",
    "@ <<<@ >&-",
    "@ &> @",
    "exec 3<@ 3<&-",
    "echo @ # it's\n %",
    "% ; %",
    "% && %",
    "% || %",
    "% | %",
    "% & %",
    "% \n %",
    "{ % ; } >@",
    "( % )",
    "if % ; then % ; fi",
    "if % \n then % \n elif % ; then % ; else % \n fi >@",
    "while % ; do % ; done <@",
    "until % \n do % & done",
    "for i in @ @ ; do % ; done",
    "for i in @\n do % \n done",
    "for i ; do % ; done",
    "for ((i=0; i<3; i++)) ; do % ; done",
    "case @ in @ | b ) % ;; (*) % ;; esac",
    "case @ in\n @)\n % \n ;;\n *) % ; esac",
    "f() { % ; }",
    "function f { % \n }",
    "x=$( % )",
    "echo \"a $( % )\" @",
    "@ <( % ) @",
    "cat <<'EOF'\n if ( \" \nEOF\n %",
    "cat <<-E | @\n\ta $x\n\tE\n %",
];

/// How many of [`PIECES`], from the first on, have no others in them.
const LEAVES: usize = 19;

const WORDS: &[&str] = &[
    "a",
    "echo",
    "-n",
    "x=1",
    "2",
    "*.c",
    "[a-z]*",
    "a[1]",
    "{}",
    "{a,b}",
    "}",
    "!",
    "]]",
    "if",
    "esac",
    "do",
    "$x",
    "${x}",
    "${x:-a b}",
    "${x##*/}",
    "${a[@]}",
    "$?",
    "a$",
    "$((x + 1))",
    "$(( (a) * 2 ))",
    "'a b'",
    "''",
    "\"$x\"",
    "\"a\nb\"",
    "\"5$\"",
    "\"\\\"\"",
    "\\;",
    "\\ ",
    "$'\\''",
    "a#b",
    "é",
    "a\\\nb",
    "\\\n",
];

/// What is put somewhere, where it is mostly wrong.
const STRAY: &[&str] = &[
    "(", ")", "((", "))", "$(", "$((", "`", "'", "\"", "\\", "$", "${", "}", "{", "[", "[[", "]]",
    "<", "<<", ">", "<(", "&", "&&", "|", "||", "|&", ";", ";;", ";&", "#", "\n", "!", "if",
    "then", "fi", "do", "done", "case", "esac", "in", "for", "while", "else", "elif", "function",
    "time", "=", "()", "a=(", "x[", "<<EOF\n", "EOF\n", "2>", ">&-", "&>", "<>", "@(", "$[", "=~",
    "-eq", "12",
];

/// Choices, one after the other; the first of everything when there are no more.
struct Choices(std::vec::IntoIter<u16>);

impl Choices {
    fn below(&mut self, count: usize) -> usize {
        usize::from(self.0.next().unwrap_or_default()) % count.max(1)
    }

    fn one_of(&mut self, list: &[&'static str]) -> &'static str {
        list.get(self.below(list.len()))
            .copied()
            .unwrap_or_default()
    }
}

/// Adds the tokens of a piece.
fn add_piece(tokens: &mut Vec<String>, choices: &mut Choices, depth: usize) {
    let is_leaf = depth == MOST_DEPTH || tokens.len() > MOST_TOKENS;
    let pieces = PIECES.get(..LEAVES).filter(|_| is_leaf);
    let piece = choices.one_of(pieces.unwrap_or(PIECES));
    for token in piece.split(' ') {
        match token {
            "%" => add_piece(tokens, choices, depth + 1),
            token => tokens.push(token.replace('@', choices.one_of(WORDS))),
        }
    }
}

/// Changes a text in one place.
fn change(tokens: &mut Vec<String>, choices: &mut Choices) {
    let (at, other) = (choices.below(tokens.len()), choices.below(tokens.len()));
    match choices.below(6) {
        0 => drop(tokens.remove(at)),
        1 => tokens.insert(other, tokens[at].clone()),
        2 => tokens.swap(at, other),
        3 => tokens.insert(at, choices.one_of(STRAY).to_owned()),
        4 if at + 1 < tokens.len() => {
            let next = tokens.remove(at + 1);
            tokens[at].push_str(&next);
        }
        _ => drop(tokens[at].pop()),
    }
}

/// Puts tokens together, with blanks between them that are no part of a line's beginning or end.
fn joined(tokens: &[String]) -> String {
    let mut text = String::new();
    for token in tokens {
        if !text.is_empty() && !text.ends_with('\n') && !token.starts_with('\n') {
            text.push(' ');
        }
        text.push_str(token);
    }
    text
}

fn script(choices: Vec<u16>) -> String {
    let mut choices = Choices(choices.into_iter());
    let changes = choices.below(4);
    let mut tokens = Vec::new();
    add_piece(&mut tokens, &mut choices, 0);
    for _ in 0..changes {
        if !tokens.is_empty() {
            change(&mut tokens, &mut choices);
        }
    }
    joined(&tokens)
}

/// What bash has to say about a script that it does not run.
fn complaints(script: &str) -> String {
    let output = Command::new("bash")
        .args(["-n", "-c", "--", script])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .expect("bash is there");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_builtins_are_those_of_bash() {
    let output = Command::new("bash")
        .args(["--norc", "-c", "compgen -b"])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .expect("bash is there");
    let of_bash = String::from_utf8(output.stdout).expect("names");
    let mut of_bash: Vec<&str> = of_bash.lines().collect();
    let mut ours: Vec<&str> = builtins().collect();
    of_bash.sort_unstable();
    ours.sort_unstable();
    assert_eq!(ours, of_bash);
}

#[test]
fn bash_finds_no_mistake_in_what_is_said_to_be_right() {
    let cases = u32::try_from(repetitions(TEXTS)).expect("a small number");
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    };
    let (right, padding) = (Cell::new(0_u32), "#".repeat(PADDING));
    let choices = prop::collection::vec(any::<u16>(), 1..80);
    let result = TestRunner::new(config).run(&choices, |choices| {
        let script = script(choices);
        let long = format!("{padding}\n{script}");
        if Script::parse(&long).shape(&long) != ScriptShape::Unsound {
            right.set(right.get() + 1);
            prop_assert_eq!(complaints(&script), "", "{:?}", script);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let right = right.get();
    assert!(
        right > cases / 5,
        "only {right} of {cases} were said to be right"
    );
}

#[test]
fn what_is_short_and_said_to_be_right_is_right_as_well() {
    let (mut right, mut wrong) = (0, Vec::new());
    for script in generated(repetitions(TEXTS)).chain(recorded()) {
        let readings = Script::parse(&script).readings;
        if readings == Readings::ScanAndCheck {
            right += 1;
            let complaints = complaints(&script);
            if !complaints.is_empty() {
                wrong.push(format!("{script:?}: {complaints}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(right > 50, "only {right} were checked");
}

#[test]
fn another_parser_sees_no_command_that_the_scan_does_not() {
    let (mut read, mut missed) = (0, Vec::new());
    for script in generated(repetitions(TEXTS)).chain(recorded()) {
        let Some(starts) = seen_by_another(&script) else {
            continue;
        };
        read += 1;
        let known = seen_by_the_scan(&script);
        let is_missed = |start: &usize| !known.contains(start) && !is_misread(&script, *start);
        if let Some(start) = starts.into_iter().find(is_missed)
            && complaints(&script).is_empty()
        {
            missed.push(format!("{:?} in {script:?}", script.get(start..)));
        }
    }
    assert!(
        missed.is_empty(),
        "{}:\n{}",
        missed.len(),
        missed.join("\n")
    );
    assert!(read > 1000, "only {read} were read by both");
}

/// Where another parser sees commands, if it accepts a script.
fn seen_by_another(script: &str) -> Option<Vec<usize>> {
    let is_small = script.len() < PADDING && script.matches('(').count() <= MOST_PARENTHESES;
    is_small.then(|| second_opinion::read(script))?
}

/// Where commands begin to our scan, also those that others start. The text is too long for the
/// parser to be asked.
fn seen_by_the_scan(script: &str) -> Vec<usize> {
    let padding = format!("{}\n", "#".repeat(PADDING));
    let commands = Script::parse(&format!("{padding}{script}")).commands;
    let names = commands.iter().filter_map(|command| command.words.first());
    names
        .filter_map(|name| name.span.start.checked_sub(padding.len()))
        .collect()
}

/// Whether the other parser is known to be wrong here: mostly it has seen the command, and says
/// that it is elsewhere.
fn is_misread(script: &str, start: usize) -> bool {
    let (before, after) = script.split_at_checked(start).unwrap_or_default();
    let is_blank = after.starts_with([' ', '\n']);
    // Ours: behind `time`, a word that is not known may be an option.
    let is_unknown = before.ends_with("time ") && after.starts_with('$');
    // Lines that go on, and lines in substitutions.
    let is_miscounted = script.contains("\\\n") || before.contains("$(") && before.contains('\n');
    // Arithmetic that makes no sense, which it takes for subshells.
    let is_arithmetic = before.rfind("((") > before.rfind("))");
    is_blank || is_unknown || is_miscounted || is_arithmetic
}

/// The same scripts each time: what another parser gets wrong is no reason to fail once in a while.
fn generated(count: usize) -> impl Iterator<Item = String> {
    let mut runner = TestRunner::deterministic();
    let choices = prop::collection::vec(any::<u16>(), 1..80);
    (0..count).map(move |_| {
        let tree = choices.new_tree(&mut runner).expect("choices");
        script(tree.current())
    })
}

/// Every text of the case files of the guard, of rewriting and of the oracle. Not all of them are
/// scripts.
fn recorded() -> impl Iterator<Item = String> {
    let mut texts = Vec::new();
    for folder in ["tests/cases", "../bashd/tests/cases/oracle"] {
        add_files(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
            &mut texts,
        );
    }
    assert!(texts.len() > 2000, "only {} texts", texts.len());
    texts.into_iter()
}

fn add_files(folder: &Path, texts: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of cases") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add_files(&path, texts);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let text = std::fs::read_to_string(&path).expect("a case file");
            add_texts(toml::from_str(&text).expect("cases"), texts);
        }
    }
}

fn add_texts(value: toml::Value, texts: &mut Vec<String>) {
    match value {
        toml::Value::String(text) => texts.push(text),
        toml::Value::Array(values) => values.into_iter().for_each(|value| add_texts(value, texts)),
        toml::Value::Table(table) => table
            .into_iter()
            .for_each(|(_, value)| add_texts(value, texts)),
        _ => {}
    }
}
