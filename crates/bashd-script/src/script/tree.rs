//! tree-sitter-bash's reading of a script: where it sees commands.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use tree_sitter::{Node, Parser, Tree, TreeCursor};

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

/// The parser's tree of a text; nothing if the parser can't be had.
fn parse(text: &str) -> Option<Tree> {
    PARSER.with_borrow_mut(|kept| {
        let parser = match kept {
            Some(parser) => parser,
            None => kept.insert(new_parser()?),
        };
        parser.parse(as_ascii(text).as_ref(), None)
    })
}

/// The statements of a text that follow each other on lines of their own; those that `;`, `&&` or
/// `|` joins are one, and so is everything behind a here-document, which ends with a line itself.
/// Comments belong to the statement before them. Nothing if the text is an error to the parser.
pub(super) fn statements(text: &str) -> Option<Vec<Range<usize>>> {
    let tree = parse(text)?;
    let root = tree.root_node();
    if root.has_error() {
        return None;
    }
    let mut cursor = root.walk();
    let children = root.named_children(&mut cursor);
    let found: Vec<Node<'_>> = children.filter(|node| node.kind() != "comment").collect();
    let mut begins: Vec<usize> = found.first().map(Node::start_byte).into_iter().collect();
    for pair in found.windows(2) {
        let [one, next] = pair else { continue };
        let between = text.get(one.end_byte()..next.start_byte());
        let is_new_line = between.is_some_and(|between| between.contains('\n'));
        if is_new_line && !ends_with_here_doc(*one) {
            begins.push(next.start_byte());
        }
    }
    let ends = begins.iter().skip(1).copied().chain([text.len()]);
    Some(
        begins
            .iter()
            .copied()
            .zip(ends)
            .map(|(from, to)| from..to)
            .collect(),
    )
}

/// Whether the last word of a statement is the end of a here-document.
fn ends_with_here_doc(node: Node<'_>) -> bool {
    let mut last = node;
    while let Some(count) = last.named_child_count().checked_sub(1)
        && let Some(child) = u32::try_from(count)
            .ok()
            .and_then(|count| last.named_child(count))
    {
        last = child;
    }
    last.kind() == "heredoc_end" && last.end_byte() == node.end_byte()
}

/// Reads a text that the scan finds to be right; nothing if the parser can't be had.
pub(super) fn read(text: &str) -> Option<TreeReading> {
    let tree = parse(text)?;
    let root = tree.root_node();
    let mut starts = Vec::new();
    if !root.has_error() {
        collect(&mut root.walk(), &mut starts);
    }
    Some(TreeReading {
        starts,
        has_error: root.has_error(),
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
