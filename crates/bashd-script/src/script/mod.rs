//! A script as the guard sees it: every simple command, with what is known of its words.
//!
//! Our own scan reads everything, in linear time, and never gives up. Where `sound`, a reader of
//! its own that knows the usual grammar and nothing else, agrees that bash accepts the text, that
//! is the view: there is only one way to read it, and the tests hold the scan against a second
//! parser there, with bash as the referee. Of anything unusual that is right and small enough,
//! tree-sitter-bash adds the commands that the scan did not see. So a syntax that one of them can't
//! read never hides a command from the other. On top of that, `wrappers` sees through `sudo`,
//! `xargs` or `bash -c`, and `constants` follows what variables hold.
//!
//! Pure and total: any text gives a [`Script`]. Only its bounds fail closed, by [`Script::bound`].
//! What it can't know (`eval "$x"`, the words of a file that is sourced) it says to be unknown.

mod arithmetic;
mod beginnings;
mod braces;
mod builtins;
mod byte_set;
mod constants;
mod containers;
mod decoders;
mod deferred;
mod descriptors;
mod dollar;
mod escapes;
mod evaluated;
mod few;
mod filled_variables;
mod filling;
mod foreign_calls;
mod foreign_code;
mod foreign_files;
mod foreign_known;
mod foreign_names;
mod foreign_values;
mod frames;
mod git_scripts;
mod handed_scripts;
mod here_doc;
mod inner_scripts;
mod input;
mod interpreters;
mod keywords;
mod learning;
mod links;
mod loops;
mod lowering;
mod matched;
mod name_hash;
mod parameters;
mod parser_limits;
mod paths_printed;
mod patterns;
mod plain_list;
mod printed;
mod printed_code;
mod reader;
#[cfg(test)]
mod second_opinion;
mod sed_scripts;
mod shape;
mod simple;
mod sound;
mod started;
mod tasks;
mod tree;
mod view;
mod word;
mod word_reader;
mod wrappers;

pub(crate) use beginnings::Beginnings;
pub use builtins::{builtins, is_builtin};
pub use few::Few;
pub(crate) use name_hash::{NameMap, NameSet};
pub use shape::ScriptShape;
pub use view::{
    Assigned, Assignment, Bound, CommandOrigin, CommandPlace, Construct, Constructs, Joint,
    Readings, Redirect, RedirectOperator, Script, SimpleCommand, Span,
};
pub use word::{ScriptText, Word, WordPart};

use constants::Constants;
use lowering::Lowering;
use reader::ScriptReader;

/// The largest script that is read at all. Above it nobody could say what it does.
const MOST_BYTES: usize = 4 << 20;

impl Script {
    /// Reads a script. Never fails: what can't be read within bounds has [`Script::bound`] set.
    pub fn parse(text: &str) -> Self {
        let context = Context {
            depth: 0,
            parser: parser_limits::allow(text),
            constants: Constants::default(),
        };
        parse_within(text, context).0
    }
}

/// The statements of a script that stand on lines of their own; one, if it can't be read.
pub fn statements(text: &str) -> Vec<&str> {
    let found = Some(text).filter(|text| parser_limits::allow(text));
    let found = found.and_then(tree::statements).unwrap_or_default();
    let found = found.into_iter().filter_map(|range| text.get(range));
    let found: Vec<&str> = found.map(str::trim_end).collect();
    if found.is_empty() { vec![text] } else { found }
}

/// What a script is read within.
struct Context {
    /// How many scripts are around it.
    depth: usize,
    /// Whether the parser is asked; decided by the size of the outermost script.
    parser: bool,
    /// What is known of variables where it runs.
    constants: Constants,
}

/// Reads a script, on its own or inside another; also returns what is known of variables behind it.
fn parse_within(text: &str, mut context: Context) -> (Script, Constants) {
    if text.len() > MOST_BYTES {
        return (Script::beyond(Bound::Size), context.constants);
    }
    let mut scan = ScriptReader::new(text, context.depth);
    scan.outer_functions = context.constants.functions();
    scan.read_all();
    // The outermost text was looked at already.
    let parser = context.parser && (context.depth == 0 || parser_limits::allow(text));
    let readings = add_what_the_parser_sees(&mut scan, text, parser);
    let script = scan.finish(readings);
    let constants = std::mem::take(&mut context.constants);
    Lowering::new(text, context, constants, script).finish()
}

/// Asks the parser, and reads the commands that only it has seen.
fn add_what_the_parser_sees(scan: &mut ScriptReader<'_>, text: &str, parser: bool) -> Readings {
    if !parser || !scan.is_sound() {
        return Readings::ScanOnly;
    }
    if plain_list::is_one(text) || sound::is_certain(text) {
        return Readings::ScanAndCheck;
    }
    match tree::read(text) {
        Some(tree) if !tree.has_error => {
            scan.read_missing(tree.starts);
            Readings::ScanAndTree
        }
        _ => Readings::ScanOnly,
    }
}

#[cfg(test)]
mod tests;
