//! tree-sitter-bash's reading of a script: where it sees commands.

use std::cell::RefCell;
use tree_sitter::{Node, Parser, TreeCursor};

/// What tree-sitter saw.
pub(super) struct Tree {
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
pub(super) fn read(text: &str) -> Option<Tree> {
    PARSER.with_borrow_mut(|kept| {
        let parser = match kept {
            Some(parser) => parser,
            None => kept.insert(new_parser()?),
        };
        let tree = parser.parse(text, None)?;
        let root = tree.root_node();
        let mut starts = Vec::new();
        if !root.has_error() {
            collect(&mut root.walk(), &mut starts);
        }
        Some(Tree {
            starts,
            has_error: root.has_error(),
        })
    })
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
