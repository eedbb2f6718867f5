//! Lists of plain commands: texts that can be read in only one way, as most can.
//!
//! The parser, which takes longer for its first line than a shell takes to start, need not be asked
//! about them: it reads them without an error, and sees no command that the scan does not. The
//! tests ask it.

use super::byte_set::{ByteSet, NAME, SPECIAL_IN_QUOTES};
use super::keywords::is_reserved;

/// Characters that the name of a command may have.
static PLAIN: ByteSet =
    ByteSet::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-");

/// Characters that an argument may also have, except at its start: `==` alone is something else to
/// the grammar.
static PLAIN_IN_ARGUMENT: ByteSet = ByteSet::of(b"=:,@%+~^");

/// Commands whose arguments the grammar reads in its own way.
const DECLARING: [&str; 8] = [
    "declare", "export", "let", "local", "readonly", "typeset", "unset", "unsetenv",
];

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextToken {
    /// A command, or assignments before it.
    Name,
    /// A command, assignments before it, or nothing: assignments are a command by themselves.
    NameOrEnd,
    Argument,
    /// The grammar takes a word after a redirect for another file of it.
    Redirect,
}

/// Whether a text that the scan finds correct is a list of plain commands, joined by `;`, `&&`,
/// `||`, `|` and newlines.
pub(super) fn is_one(text: &str) -> bool {
    let mut rest = text;
    let mut next = NextToken::Name;
    loop {
        rest = rest.trim_start_matches(' ');
        if rest.is_empty() {
            return true;
        }
        let read = match next {
            NextToken::Name | NextToken::NameOrEnd => assignment(rest).or_else(|| name(rest)),
            NextToken::Argument => redirect(rest).or_else(|| argument(rest)),
            NextToken::Redirect => redirect(rest),
        };
        let read = read.or_else(|| operator(rest, next));
        let Some((length, comes)) = read else {
            return false;
        };
        next = comes;
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// Length of the operator at the start of a text, in bytes.
fn operator(text: &str, next: NextToken) -> Option<(usize, NextToken)> {
    let length = match text.as_bytes() {
        [b'\n', ..] => 1,
        _ if next == NextToken::Name => return None,
        [b';', b';', ..] | [b'|', b'&', ..] => return None,
        [b'&', b'&', ..] | [b'|', b'|', ..] => 2,
        [b';' | b'|', ..] => 1,
        _ => return None,
    };
    Some((length, NextToken::Name))
}

/// Length of the plain name at the start of a text, in bytes.
fn name(text: &str) -> Option<(usize, NextToken)> {
    let length = PLAIN.run_in(text.as_bytes());
    let name = text.get(..length).filter(|name| !name.is_empty())?;
    // To the grammar, `- x=1 y` assigns something to `x` for `y`.
    if name.starts_with('-') {
        return None;
    }
    let is_plain = !is_reserved(name) && !DECLARING.contains(&name) && ends(text, length);
    is_plain.then_some((length, NextToken::Argument))
}

/// Length of the assignment at the start of a text, if its value is plain and of one part: what the
/// grammar makes of several depends on each.
fn assignment(text: &str) -> Option<(usize, NextToken)> {
    let name = variable_length(text.as_bytes())?;
    let value = text.get(name..)?.strip_prefix('=')?.as_bytes();
    let after = value.get(1..)?;
    let length = match value.first()? {
        b'\'' => 2 + memchr::memchr(b'\'', after)?,
        b'"' => 1 + quoted_length(after)?,
        b'$' => 1 + variable_length(after)?,
        _ => PLAIN.run_in(value),
    };
    let (is_empty, length) = (length == 0, name + 1 + length);
    // To the grammar, `_=a` is the name of a command.
    let is_plain = !is_empty && !text.starts_with("_=") && ends(text, length);
    is_plain.then_some((length, NextToken::NameOrEnd))
}

/// Length of the plain argument at the start of a text, in bytes.
fn argument(text: &str) -> Option<(usize, NextToken)> {
    let length = word_length(text)?;
    ends(text, length).then_some((length, NextToken::Argument))
}

/// Length of the redirect at the start of a text, if its file is plain.
fn redirect(text: &str) -> Option<(usize, NextToken)> {
    const OPERATORS: [&str; 7] = ["2>&1", "1>&2", "2>>", "2>", ">>", ">", "<"];
    if !matches!(text.as_bytes().first(), Some(b'1' | b'2' | b'<' | b'>')) {
        return None;
    }
    let mut operators = OPERATORS.into_iter();
    let operator = operators.find(|operator| text.starts_with(operator))?;
    let length = if operator.contains('&') {
        operator.len()
    } else {
        let file = text.get(operator.len()..)?.trim_start_matches(' ');
        text.len() - file.len() + word_length(file)?
    };
    ends(text, length).then_some((length, NextToken::Redirect))
}

/// Length of a word of plain parts, quoted ones and variables; the first of them is not a sign.
fn word_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let after = bytes.get(at + 1..)?;
        at += 1 + match byte {
            b'\'' => 1 + memchr::memchr(b'\'', after)?,
            b'"' => quoted_length(after)?,
            b'$' => variable_length(after)?,
            byte if PLAIN.contains(byte) || byte == b'*' => 0,
            byte if at > 0 && PLAIN_IN_ARGUMENT.contains(byte) => 0,
            _ => break,
        };
    }
    (at > 0).then_some(at)
}

/// Length up to the closing double quote, if there are only plain variables in between.
fn quoted_length(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += SPECIAL_IN_QUOTES.first_in(text.get(at..)?);
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'$' => at += 1 + variable_length(text.get(at + 1..)?)?,
            _ => return None,
        }
    }
}

/// Length of the variable name at the start of a text, in bytes.
fn variable_length(text: &[u8]) -> Option<usize> {
    let is_name = !text.first()?.is_ascii_digit();
    let length = NAME.run_in(text);
    (is_name && length > 0).then_some(length)
}

/// Whether a word ends there.
fn ends(text: &str, length: usize) -> bool {
    let next = text.as_bytes().get(length);
    next.is_none_or(|byte| b" \n;|&".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::super::reader::ScriptReader;
    use super::super::tree;
    use super::*;
    use proptest::prelude::*;

    /// Whether it is one; if so, the parser is asked too.
    fn holds_for(text: &str) -> bool {
        let mut scan = ScriptReader::new(text, 0);
        scan.read_all();
        if !scan.is_sound() || !is_one(text) {
            return false;
        }
        let seen = tree::read(text).unwrap();
        assert!(!seen.has_error, "{text:?}");
        let known: Vec<usize> = scan.command_starts().collect();
        for start in seen.starts {
            assert!(known.contains(&start), "{text:?} at {start}: {known:?}");
        }
        true
    }

    #[test]
    fn the_parser_agrees_about_plain_words() {
        let words = "true test echo [ if then elif else fi while until do done for select case esac \
                     function in coproc time declare export let local unset 7 007 2x - -- -n . .. \
                     ./a ../b /bin/ls a/ a-b a_b a.b _ A-Z 1.5 x-";
        let words: Vec<_> = words.split_whitespace().collect();
        for first in &words {
            holds_for(first);
            for second in &words {
                for joint in [" ", "|", "\n", ";", "&&", " || "] {
                    holds_for(&format!("{first}{joint}{second}"));
                    holds_for(&format!("  {first}  -x{joint}{second} a "));
                }
            }
        }
        for one in [
            " git status -sb",
            "a=b",
            "note='a\nb' c=\"$note\"; CC=gcc make -j8 x=y && d=$c",
            "cd a && make -j8 CC=gcc 2>&1 | tail -5 > 'a b'; echo \"a; $b\" x=\"y\"'z' *.c HEAD~1\n",
        ] {
            assert!(holds_for(one), "{one:?}");
        }
        for other in [
            "a=",
            "a= b",
            "a=(b)",
            "a+=b",
            "a[0]=b",
            "a==b",
            "1=b",
            "a=b > c",
            "a=b &",
            "a=b if",
            "_=b",
            "a=*",
            "a='b'c",
            "a=$(b)",
            "if a",
            "a | time b",
            "a $(b)",
            "a ${b}",
            "a \"`b`\"",
            "日",
            "a &",
            "a;;b",
            "a\n;b",
            "a |& b",
            "a &&& b",
            "a\tb",
            "a # b",
            "- x=1 y",
            "a ==",
            "a > x y",
            "a <<b",
            "a <(b)",
            "> a",
        ] {
            assert!(!is_one(other), "{other:?}");
        }
    }

    /// Words, quotations, redirects and operators, most of them plain.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-zA-Z0-9_./-]{1,6}",
            2 => "[a-zA-Z0-9_]{1,3}=",
            1 => "[a-zA-Z0-9_]{1,3}=[a-zA-Z0-9_./*$~=-]{1,4}",
            2 => "[a-z0-9*_./=:,@%+~^-]{1,5}",
            1 => "'[ -&(-~\n]{0,5}'",
            1 => "\"[ !#%-Z_a-~\n]{0,5}\"",
            1 => prop::sample::select(vec!["$x", "\"$x\"", "\"a$x.y\"", "$x/$y", "\"$x[0]\""])
                .prop_map(str::to_owned),
            1 => prop::sample::select(vec!["2>&1", "1>&2", "> a", ">>'a b'", "2>/dev/null", "<$x"])
                .prop_map(str::to_owned),
            3 => prop::sample::select(vec![";", "|", "&&", "||", "\n", " "]).prop_map(str::to_owned),
        ];
        (
            prop::collection::vec(piece, 0..14),
            prop::sample::select(vec![" ", ""]),
        )
            .prop_map(|(pieces, gap)| pieces.join(gap))
    }

    proptest! {
        #[test]
        fn the_parser_agrees_about_any_plain_text(text in pieces()) {
            holds_for(&text);
        }
    }
}
