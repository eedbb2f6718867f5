//! Long scripts that are said to be right: real bash finds no mistake in them.
//!
//! Scripts are put together from pieces of the grammar; most are then changed a little. The parsers
//! are not asked about texts as long as these, so that our own check says what is right.

use bashd_script::script::{Script, Shape};
use bashd_testkit::repetitions;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use std::process::{Command, Stdio};

/// Longer than what the parsers are asked about.
const PADDING: usize = 4 << 10;

/// Texts in a soak run.
const TEXTS: usize = 40_000;

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
        if Script::parse(&long).shape(&long) != Shape::Unsound {
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
