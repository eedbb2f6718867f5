//! For tests: where brush-parser sees commands in a script. Production code never asks it.
//!
//! It is a reader that shares nothing with ours, and so a good one to be held against. It is asked
//! about small, shallow texts only: its recursion is as deep as the text is nested, and some of its
//! errors are found after more than linear time.

use brush_parser::ast::{
    AndOr, AndOrList, Command, CompoundCommand, CompoundList, CompoundListItem, FunctionBody,
    Pipeline, SimpleCommand,
};
use brush_parser::{Parser, ParserOptions};
use std::io::Cursor;

/// Digits of a descriptor that the parser's number type surely holds; it panics beyond.
const MOST_DIGITS: usize = 9;

/// Where the names of commands begin, if the parser accepts the text.
pub(super) fn read(text: &str) -> Option<Vec<usize>> {
    let bytes = text.as_bytes();
    if has_long_descriptor(bytes) || has_odd_here_doc(text) {
        return None;
    }
    let parse = || {
        let options = ParserOptions::default();
        Parser::new(Cursor::new(text), &options).parse_program()
    };
    // What is known to make it panic is kept from it above; this is for what is not known.
    let program = std::panic::catch_unwind(parse).ok()?.ok()?;
    // The parser counts characters, we count bytes.
    let mut seen = SecondReading {
        offsets: text.char_indices().map(|(offset, _)| offset).collect(),
        starts: Vec::new(),
    };
    for list in &program.complete_commands {
        seen.list(list);
    }
    Some(seen.starts)
}

fn has_long_descriptor(text: &[u8]) -> bool {
    let mut digits = 0;
    for byte in text {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'<' | b'>' if digits > MOST_DIGITS => return true,
            _ => digits = 0,
        }
    }
    false
}

/// Here-documents inside expansions make the parser (0.4.0) unwrap characters that are not there,
/// and one without a name (`<<''`) makes it read the end of the text forever.
fn has_odd_here_doc(text: &str) -> bool {
    let mut after_operators = text.split("<<").skip(1).peekable();
    let has_expansion = ["$(", "${", "$[", "`"]
        .iter()
        .any(|sign| text.contains(sign));
    if after_operators.peek().is_some() && has_expansion {
        return true;
    }
    after_operators.any(|after| {
        let word = after.trim_start_matches(['-', '<', ' ', '\t']);
        let word = word.trim_start_matches(['\'', '"', '\\']);
        !word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    })
}

struct SecondReading {
    offsets: Vec<usize>,
    starts: Vec<usize>,
}

impl SecondReading {
    fn list(&mut self, list: &CompoundList) {
        for CompoundListItem(and_or, _) in &list.0 {
            self.and_or(and_or);
        }
    }

    fn and_or(&mut self, list: &AndOrList) {
        self.pipeline(&list.first);
        for next in &list.additional {
            match next {
                AndOr::And(pipeline) | AndOr::Or(pipeline) => self.pipeline(pipeline),
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        for command in &pipeline.seq {
            self.command(command);
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, _) => self.compound(compound),
            Command::Function(function) => {
                let FunctionBody(body, _) = &function.body;
                self.compound(body);
            }
            Command::ExtendedTest(..) => {}
        }
    }

    fn simple(&mut self, command: &SimpleCommand) {
        let name = command.word_or_name.as_ref();
        let location = name.and_then(|name| name.loc.as_ref());
        let start = location.and_then(|location| self.offsets.get(location.start.index));
        self.starts.extend(start.copied());
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => self.list(&clause.body.list),
            CompoundCommand::ArithmeticForClause(clause) => self.list(&clause.body.list),
            CompoundCommand::CaseClause(clause) => {
                for list in clause.cases.iter().filter_map(|case| case.cmd.as_ref()) {
                    self.list(list);
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.list(condition);
                    }
                    self.list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Coprocess(coprocess) => self.command(&coprocess.body),
            CompoundCommand::Arithmetic(_) => {}
        }
    }
}
