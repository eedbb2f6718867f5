//! tree-sitter-bash's reading of a script: where it sees commands.

use super::keywords::is_reserved;
use std::borrow::Cow;
use std::cell::RefCell;
use tree_sitter::{Node, Parser, TreeCursor};

/// What tree-sitter saw.
pub(super) struct Seen {
    /// Where the names of commands begin.
    pub(super) starts: Vec<usize>,
    /// Whether parts of the text are errors to it, so that the rest may be misread, too.
    pub(super) has_error: bool,
}

thread_local! {
    /// Making a parser and giving it its language costs more than a line's parse.
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

/// Parses; nothing if the parser can't be had.
pub(super) fn read(text: &str) -> Option<Seen> {
    if let Some(start) = plain_start(text) {
        return Some(Seen {
            starts: vec![start],
            has_error: false,
        });
    }
    parse(text)
}

/// Commands whose arguments the grammar reads in a way of its own.
const DECLARING: [&str; 8] = [
    "declare", "export", "let", "local", "readonly", "typeset", "unset", "unsetenv",
];

/// Where the one command of a text of nothing but plain words begins.
///
/// There is one way to read such a text, and most commands are like that. The parser, which takes longer
/// for its first line than a shell does to start, need not be asked.
fn plain_start(text: &str) -> Option<usize> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" _./-".contains(&byte);
    if !text.bytes().all(is_plain) {
        return None;
    }
    let start = text.bytes().position(|byte| byte != b' ')?;
    let first = text.split(' ').find(|word| !word.is_empty())?;
    (!is_reserved(first) && !DECLARING.contains(&first)).then_some(start)
}

fn parse(text: &str) -> Option<Seen> {
    PARSER.with_borrow_mut(|kept| {
        let parser = match kept {
            Some(parser) => parser,
            None => kept.insert(new_parser()?),
        };
        let tree = parser.parse(as_ascii(text).as_ref(), None)?;
        let root = tree.root_node();
        let mut starts = Vec::new();
        if !root.has_error() {
            collect(&mut root.walk(), &mut starts);
        }
        Some(Seen {
            starts,
            has_error: root.has_error(),
        })
    })
}

/// The text with a letter for every byte that is not ASCII, and for NUL.
///
/// To the shell they are letters, too, and offsets stay the same. The grammar's scanner (0.25.1) hands
/// characters to C's `isdigit`, which reads beyond its table for most that are not ASCII: `echo {日` ends
/// the process.
fn as_ascii(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() && !text.contains('\0') {
        return Cow::Borrowed(text.as_bytes());
    }
    let is_plain = |byte: u8| byte.is_ascii() && byte != 0;
    let bytes = text.bytes();
    Cow::Owned(
        bytes
            .map(|byte| if is_plain(byte) { byte } else { b'x' })
            .collect(),
    )
}

fn new_parser() -> Option<Parser> {
    let mut parser = Parser::new();
    let language = tree_sitter_bash::LANGUAGE.into();
    parser.set_language(&language).ok()?;
    Some(parser)
}

/// Walks without recursion: a tree may be as deep as the text is long.
fn collect(cursor: &mut TreeCursor<'_>, starts: &mut Vec<usize>) {
    loop {
        starts.extend(name_start(cursor.node()));
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

fn name_start(node: Node<'_>) -> Option<usize> {
    match node.kind() {
        "command_name" | "declaration_command" | "unset_command" => Some(node.start_byte()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds_for(text: &str) {
        if let Some(start) = plain_start(text) {
            let seen = parse(text).unwrap();
            assert!(!seen.has_error, "{text:?}");
            assert_eq!(seen.starts, [start], "{text:?}");
        }
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
                holds_for(&format!("{first} {second}"));
                holds_for(&format!("  {first}  -x {second} a "));
            }
        }
        assert_eq!(plain_start(" git status -sb"), Some(1));
        for other in [
            "", "  ", "a;b", "a=b", "if a", "time a", "a\nb", "a $b", "日",
        ] {
            assert_eq!(plain_start(other), None, "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn the_parser_agrees_about_any_plain_text(text in "[a-z0-9 _./A-Z-]{0,40}") {
            holds_for(&text);
        }
    }
}
