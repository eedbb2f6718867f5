//! tree-sitter-bash's reading of a script: where it sees commands.

use std::borrow::Cow;
use std::cell::RefCell;
use tree_sitter::{Node, Parser, TreeCursor};

/// What tree-sitter saw.
pub(super) struct TreeReading {
    /// Where the names of commands begin that the scan may have missed.
    pub(super) starts: Vec<usize>,
    /// Whether parts of the text are errors to it, so that the rest may be misread, too.
    pub(super) has_error: bool,
}

thread_local! {
    /// Making a parser and giving it its language costs more than a line's parse.
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

/// Reads a text that the scan finds to be right; nothing if the parser can't be had.
pub(super) fn read(text: &str) -> Option<TreeReading> {
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
        Some(TreeReading {
            starts,
            has_error: root.has_error(),
        })
    })
}

/// The text with a letter for every byte that is not ASCII, and for NUL.
///
/// To the shell they are letters, too, and offsets stay the same. The grammar's scanner (0.25.1)
/// hands characters to C's `isdigit`, which reads beyond its table for most that are not ASCII:
/// `echo {日` ends the process.
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
