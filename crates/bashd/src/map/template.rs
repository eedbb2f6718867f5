//! Where an item stands in a command: at each mark, or behind everything as the last argument.
//!
//! An item is data: whatever it holds, the shell that runs the command sees it as one word, or as a
//! part of one. So the quotes around a mark are read, and where they can't be read with certainty
//! the command is refused.

/// What stands for the item, unless the caller says otherwise.
pub const MARK: &str = "{}";

/// A command with gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemTemplate {
    /// The text before each gap, and what is around the gap.
    gaps: Vec<(String, Quotes)>,
    /// The text behind the last one.
    rest: String,
}

/// What a gap stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

/// What a part of a command is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// As commands; in a substitution, with so many open parentheses.
    Commands {
        open: usize,
    },
    Single,
    Double,
    /// `$'…'`: not a place for an item.
    Escapes,
    /// `` `…` ``: likewise.
    Backticks,
    /// `${…}`: likewise.
    Parameter {
        open: usize,
    },
    Comment,
}

impl ItemTemplate {
    /// Reads a command; the sentence says why an item can't be put into it.
    pub fn new(command: &str, mark: &str) -> Result<Self, String> {
        if mark.is_empty() || mark.contains(['\'', '"', '\\', '\n']) {
            return Err(format!("`{mark}` can't stand for the item"));
        }
        let mut scan = QuoteScan::of(command, mark);
        let mut gaps = Vec::new();
        let (mut at, mut from) = (0, 0);
        while at < command.len() {
            if scan.rest(at).starts_with(mark) {
                let before = command.get(from..at).unwrap_or_default();
                let quotes = scan.quotes(before.ends_with('$'))?;
                gaps.push((before.to_owned(), quotes));
                at += mark.len();
                from = at;
            } else {
                at = scan.step(at);
            }
        }
        let mut rest = scan.rest(from).to_owned();
        if gaps.is_empty() {
            if scan.readings[..] != [Reading::Commands { open: 0 }] {
                let text = "it ends in a comment or in open quotes, so no item can follow";
                return Err(format!("{text} (put {mark} where it belongs)"));
            }
            if scan.has_here_document {
                let text = "it ends in a here-document, so no item can follow";
                return Err(format!("{text} (put {mark} where it belongs)"));
            }
            let before = format!("{} ", rest.trim_end());
            gaps.push((before, Quotes::None));
            rest = String::new();
        }
        Ok(Self { gaps, rest })
    }

    /// The command for an item.
    pub fn with(&self, item: &str) -> String {
        let mut text = String::new();
        for (before, quotes) in &self.gaps {
            text.push_str(before);
            match quotes {
                Quotes::None => {
                    text.push('\'');
                    push_single(&mut text, item);
                    text.push('\'');
                }
                Quotes::Single => push_single(&mut text, item),
                Quotes::Double => push_double(&mut text, item),
            }
        }
        text.push_str(&self.rest);
        text
    }
}

fn push_single(text: &mut String, item: &str) {
    text.push_str(&item.replace('\'', r"'\''"));
}

fn push_double(text: &mut String, item: &str) {
    for c in item.chars() {
        if matches!(c, '$' | '`' | '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
}

/// A walk through a command that knows which quotes are open.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact about the text so far"
)]
struct QuoteScan<'a> {
    command: &'a str,
    mark: &'a str,
    readings: Vec<Reading>,
    /// Whether the next characters begin a word.
    at_word: bool,
    /// Whether a here-document was announced,
    is_announced: bool,
    /// and has begun.
    has_here_document: bool,
    /// Whether a parenthesis may end a pattern of `case` instead of a substitution,
    has_case: bool,
    /// and whether there was one of these.
    has_substitution: bool,
}

impl<'a> QuoteScan<'a> {
    fn of(command: &'a str, mark: &'a str) -> Self {
        Self {
            command,
            mark,
            readings: vec![Reading::Commands { open: 0 }],
            at_word: true,
            is_announced: false,
            has_here_document: false,
            has_case: command.contains("esac"),
            has_substitution: false,
        }
    }

    fn rest(&self, at: usize) -> &'a str {
        self.command.get(at..).unwrap_or_default()
    }

    /// What an item here would stand in.
    fn quotes(&mut self, is_behind_dollar: bool) -> Result<Quotes, String> {
        let mark = self.mark;
        let refused = |place: &str| {
            let hint = "write it elsewhere, or name another mark by -I";
            Err(format!("{mark} stands in {place}: {hint}"))
        };
        if self.has_here_document {
            return refused("a here-document");
        }
        if self.has_case && self.has_substitution {
            return refused("a substitution beside a `case`");
        }
        self.at_word = false;
        match self.readings.last() {
            Some(Reading::Single) => Ok(Quotes::Single),
            // What follows would be read as a name, or with escapes.
            _ if is_behind_dollar => refused("the text behind a $"),
            Some(Reading::Double) => Ok(Quotes::Double),
            Some(Reading::Commands { .. }) | None => Ok(Quotes::None),
            Some(Reading::Escapes) => refused("$'…'"),
            Some(Reading::Backticks) => refused("backticks (use $(…))"),
            Some(Reading::Parameter { .. }) => refused("${…}"),
            Some(Reading::Comment) => refused("a comment"),
        }
    }

    /// Reads what is next; where the rest begins.
    fn step(&mut self, at: usize) -> usize {
        let rest = self.rest(at);
        let c = rest.chars().next().unwrap_or_default();
        let next = at + c.len_utf8();
        let begins_word = std::mem::replace(&mut self.at_word, false);
        let reading = *self.readings.last().unwrap_or(&Reading::Double);
        match (reading, c) {
            (Reading::Comment, '\n') => {
                self.readings.pop();
                self.newline();
            }
            (Reading::Single, '\'') => drop(self.readings.pop()),
            (Reading::Comment | Reading::Single, _) => {}
            (_, '\\') => {
                let skipped = self.rest(next).chars().next();
                return next + skipped.map_or(0, char::len_utf8);
            }
            (Reading::Escapes, '\'') | (Reading::Double, '"') | (Reading::Backticks, '`') => {
                self.readings.pop();
            }
            (Reading::Escapes, _) => {}
            (_, '$') if rest.starts_with("$(") => {
                self.readings.push(Reading::Commands { open: 1 });
                self.has_substitution = true;
                self.at_word = true;
                return next + 1;
            }
            (_, '$') if rest.starts_with("${") && !self.rest(next).starts_with(self.mark) => {
                self.readings.push(Reading::Parameter { open: 1 });
                return next + 1;
            }
            (_, '`') => self.readings.push(Reading::Backticks),
            (Reading::Commands { .. } | Reading::Parameter { .. } | Reading::Backticks, '"') => {
                self.readings.push(Reading::Double);
            }
            (Reading::Double, _) => {}
            (Reading::Commands { .. }, '$') if rest.starts_with("$'") => {
                self.readings.push(Reading::Escapes);
                return next + 1;
            }
            (_, '\'') => self.readings.push(Reading::Single),
            (Reading::Parameter { open }, '{' | '}') => self.count(c == '{', open),
            (Reading::Parameter { .. } | Reading::Backticks, _) => {}
            (Reading::Commands { .. }, '<') if rest.starts_with("<<<") => {
                self.at_word = true;
                return next + 2;
            }
            (Reading::Commands { open }, _) => self.command_character(c, rest, begins_word, open),
        }
        next
    }

    fn command_character(&mut self, c: char, rest: &str, begins_word: bool, open: usize) {
        match c {
            '#' if begins_word => self.readings.push(Reading::Comment),
            '\n' => self.newline(),
            '(' | ')' => {
                self.at_word = true;
                if open > 0 {
                    self.count(c == '(', open);
                }
            }
            '<' if rest.starts_with("<<") => self.is_announced = true,
            ' ' | '\t' | ';' | '&' | '|' | '<' | '>' => self.at_word = true,
            _ => {}
        }
    }

    fn newline(&mut self) {
        self.at_word = true;
        self.has_here_document |= self.is_announced;
    }

    /// Counts what is open in a substitution, which ends with the last of it.
    fn count(&mut self, is_more: bool, open: usize) {
        let open = if is_more { open + 1 } else { open - 1 };
        match self.readings.last_mut() {
            Some(Reading::Commands { open: now } | Reading::Parameter { open: now })
                if open > 0 =>
            {
                *now = open;
            }
            _ => drop(self.readings.pop()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(command: &str, item: &str) -> String {
        ItemTemplate::new(command, MARK).unwrap().with(item)
    }

    #[test]
    fn an_item_stands_at_each_mark_or_behind_everything() {
        assert_eq!(made("echo", "a b"), "echo 'a b'");
        assert_eq!(made("cp {} {}.old", "x"), "cp 'x' 'x'.old");
        assert_eq!(made("echo \\{} {}", "x"), "echo \\{} 'x'");
        let other = ItemTemplate::new("find %f -exec ls {} +", "%f").unwrap();
        assert_eq!(other.with("d"), "find 'd' -exec ls {} +");
    }

    #[test]
    fn where_an_item_can_not_stand_is_said() {
        for (command, place) in [
            ("echo `cat {}`", "backticks"),
            ("echo # {}", "a comment"),
            ("echo $'{}'", "$'…'"),
            ("echo ${}", "the text behind a $"),
            ("echo \"${}\"", "the text behind a $"),
            ("echo ${x:-{}}", "${…}"),
            ("cat <<E\n{}\nE", "a here-document"),
            (
                "echo \"$(case x in x) echo {};; esac)\"",
                "a substitution beside a `case`",
            ),
            ("echo # x", "ends in a comment"),
            ("echo 'x", "open quotes"),
            ("cat <<E\nx\nE\n", "ends in a here-document"),
        ] {
            let error = ItemTemplate::new(command, MARK).unwrap_err();
            assert!(error.contains(place), "{command}: {error}");
        }
        assert!(ItemTemplate::new("echo", "").is_err());
    }
}
