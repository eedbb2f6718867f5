//! Finds internal addresses in a text: pure, and aware of quotes if the text is a script.
//!
//! In a script an address counts as a word or at the end of one (`--file=local://x`), bare or
//! quoted as a whole. Inside a longer quotation it is prose, as it is in comments and
//! here-documents; inside `$(…)` and backticks, anywhere, it counts again. A variable's value is
//! not a script: there it counts everywhere.

use std::ops::Range;

/// What kind of text is scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// A script.
    Shell,
    /// A value that no shell reads.
    Plain,
}

/// An address in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAddress {
    /// Its range, quotes included.
    pub span: Range<usize>,
    /// The text before `://`.
    pub scheme: String,
    /// The address itself, always with `://`, quotes removed.
    pub url: String,
    /// Whether the shell would expand something in it.
    pub expands: bool,
}

/// Every address of these schemes, in the order of the text.
pub fn addresses(text: &str, schemes: &[String], spelling: Spelling) -> Vec<FoundAddress> {
    // Most texts have none, and pay nothing more.
    if schemes.is_empty() || !(text.contains("://") || text.contains("local:/")) {
        return Vec::new();
    }
    let mut scan = Scan {
        text,
        schemes,
        at: 0,
        inside: Vec::new(),
        starts_word: true,
        here_docs: Vec::new(),
        found: Vec::new(),
    };
    match spelling {
        Spelling::Shell => scan.script(),
        Spelling::Plain => scan.value(),
    }
    scan.found
}

/// What the scan is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Parenthesis,
    Backticks,
    DoubleQuotes,
    Braces,
    Arithmetic(usize),
}

struct Scan<'a> {
    text: &'a str,
    schemes: &'a [String],
    at: usize,
    inside: Vec<Inside>,
    /// Whether a word may begin here.
    starts_word: bool,
    /// Delimiters of here-documents that begin on the next line, and whether tabs before them are
    /// stripped.
    here_docs: Vec<(String, bool)>,
    found: Vec<FoundAddress>,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn sees(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    fn push(&mut self, inside: Inside, bytes: usize) {
        self.inside.push(inside);
        self.at += bytes;
        self.starts_word = true;
    }

    fn script(&mut self) {
        while let Some(byte) = self.peek() {
            match self.inside.last() {
                Some(Inside::DoubleQuotes) => self.in_double_quotes(byte),
                Some(Inside::Braces) => self.in_braces(byte),
                Some(Inside::Arithmetic(open)) => self.in_arithmetic(byte, *open),
                None | Some(Inside::Parenthesis | Inside::Backticks) => self.in_script(byte),
            }
        }
    }

    fn in_script(&mut self, byte: u8) {
        let was_start = std::mem::replace(&mut self.starts_word, false);
        match byte {
            b'\\' => self.skip_escaped(),
            b'\'' | b'"' => self.quote(byte),
            b'$' => self.dollar(),
            b'`' => self.backtick(),
            b'(' if was_start && self.sees("((") => self.push(Inside::Arithmetic(2), 2),
            b'(' => self.push(Inside::Parenthesis, 1),
            b')' => {
                self.inside.pop_if(|inside| *inside == Inside::Parenthesis);
                self.at += 1;
                self.starts_word = true;
            }
            b'#' if was_start => {
                let line = self.rest().find('\n').unwrap_or(self.rest().len());
                self.at += line;
                self.starts_word = true;
            }
            b'<' if self.sees("<<<") => self.operator(3),
            b'<' if self.sees("<<") => self.here_doc(),
            b'\n' => {
                self.at += 1;
                self.skip_here_docs();
                self.starts_word = true;
            }
            b' ' | b'\t' | b'\r' | b';' | b'&' | b'|' | b'<' | b'>' => self.operator(1),
            _ => {
                if !self.take_word() {
                    self.skip_character();
                }
            }
        }
    }

    fn operator(&mut self, bytes: usize) {
        self.at += bytes;
        self.starts_word = true;
    }

    fn skip_character(&mut self) {
        self.at += self.rest().chars().next().map_or(1, char::len_utf8);
    }

    fn skip_escaped(&mut self) {
        self.at += 1;
        self.skip_character();
    }

    /// A quotation: an address alone, or to be skipped.
    fn quote(&mut self, quote: u8) {
        if self.take_word() {
            return;
        }
        match quote {
            b'"' => self.push(Inside::DoubleQuotes, 1),
            _ => self.skip_single_quoted(),
        }
        self.starts_word = false;
    }

    fn skip_single_quoted(&mut self) {
        self.at += 1;
        let length = self
            .rest()
            .find('\'')
            .map_or(self.rest().len(), |at| at + 1);
        self.at += length;
    }

    fn dollar(&mut self) {
        if self.sees("$((") {
            self.push(Inside::Arithmetic(2), 3);
        } else if self.sees("$(") {
            self.push(Inside::Parenthesis, 2);
        } else if self.sees("${") {
            self.push(Inside::Braces, 2);
        } else if self.sees("$'") && self.inside.last() != Some(&Inside::DoubleQuotes) {
            self.at += 2;
            while let Some(byte) = self.peek() {
                match byte {
                    b'\\' => self.skip_escaped(),
                    b'\'' => break,
                    _ => self.skip_character(),
                }
            }
            self.at += 1;
        } else {
            self.at += 1;
        }
    }

    fn backtick(&mut self) {
        if self.inside.contains(&Inside::Backticks) {
            while self
                .inside
                .pop()
                .is_some_and(|inside| inside != Inside::Backticks)
            {}
            self.at += 1;
        } else {
            self.push(Inside::Backticks, 1);
        }
    }

    fn in_double_quotes(&mut self, byte: u8) {
        match byte {
            b'\\' => self.skip_escaped(),
            b'"' => {
                self.inside.pop();
                self.at += 1;
                self.starts_word = false;
            }
            b'$' => self.dollar(),
            b'`' => self.backtick(),
            _ => self.skip_character(),
        }
    }

    fn in_braces(&mut self, byte: u8) {
        match byte {
            b'\\' => self.skip_escaped(),
            b'}' => {
                self.inside.pop();
                self.at += 1;
            }
            b'\'' => self.skip_single_quoted(),
            b'"' => self.push(Inside::DoubleQuotes, 1),
            b'$' => self.dollar(),
            b'`' => self.backtick(),
            _ => self.skip_character(),
        }
    }

    fn in_arithmetic(&mut self, byte: u8, open: usize) {
        let open = match byte {
            b'(' => open + 1,
            b')' => open - 1,
            b'$' => return self.dollar(),
            b'`' => return self.backtick(),
            _ => open,
        };
        self.inside.pop();
        if open > 0 {
            self.inside.push(Inside::Arithmetic(open));
        }
        self.skip_character();
        self.starts_word = false;
    }

    /// Remembers how a here-document ends.
    fn here_doc(&mut self) {
        self.at += 2;
        let strips_tabs = self.sees("-");
        self.at += usize::from(strips_tabs);
        let blanks = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        self.at += blanks;
        let is_end = |c: char| c.is_whitespace() || ";&|<>()".contains(c);
        let length = self.rest().find(is_end).unwrap_or(self.rest().len());
        let word: String = self.rest().chars().take_while(|c| !is_end(*c)).collect();
        self.at += length;
        self.here_docs
            .push((word.replace(['\'', '"', '\\'], ""), strips_tabs));
    }

    fn skip_here_docs(&mut self) {
        for (end, strips_tabs) in std::mem::take(&mut self.here_docs) {
            while !self.rest().is_empty() {
                let line = self.rest().split('\n').next().unwrap_or_default();
                let trimmed = if strips_tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                let is_end = trimmed == end;
                self.at = (self.at + line.len() + 1).min(self.text.len());
                if is_end {
                    break;
                }
            }
        }
    }

    /// Takes an address that begins here, with the rest of its word.
    fn take_word(&mut self) -> bool {
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'));
        let begin = self.at + usize::from(quote.is_some());
        let Some((scheme, tail)) = self.scheme_at(begin) else {
            return false;
        };
        let scheme = scheme.to_owned();
        let mut word = AddressWord {
            text: self.text,
            at: tail,
            url: format!("{scheme}://"),
            expands: false,
        };
        let is_whole = match quote {
            Some(quote) => word.quotation(quote, Blanks::AreProse),
            None => true,
        };
        if !is_whole || !word.more() || word.url.len() == scheme.len() + 3 && !word.expands {
            return false;
        }
        self.found.push(FoundAddress {
            span: self.at..word.at,
            scheme,
            url: word.url,
            expands: word.expands,
        });
        self.at = word.at;
        true
    }

    /// The scheme of an address at this position, and where the part after its slashes begins.
    fn scheme_at(&self, begin: usize) -> Option<(&str, usize)> {
        let before = self.text.get(..self.at)?.chars().next_back();
        let is_part = |c: char| c.is_alphanumeric() || "_-./\\+'\"".contains(c);
        if before.is_some_and(is_part) {
            return None;
        }
        let text = self.text.get(begin..)?;
        let colon = text.find(':')?;
        let name = text.get(..colon)?;
        let scheme = self.schemes.iter().find(|known| *known == name)?;
        let after = text.get(colon + 1..)?;
        let slashes = match scheme.as_str() {
            _ if after.starts_with("//") => 2,
            "local" if after.starts_with('/') => 1,
            _ => return None,
        };
        Some((scheme, begin + colon + 1 + slashes))
    }

    /// Every address of a value that no shell reads.
    fn value(&mut self) {
        while self.peek().is_some() {
            let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'));
            let begin = self.at + usize::from(quote.is_some());
            let Some((scheme, tail)) = self.scheme_at(begin) else {
                self.skip_character();
                continue;
            };
            let rest = self.text.get(tail..).unwrap_or_default();
            let is_end = |c: char| c.is_whitespace() || "'\")`\\".contains(c);
            let length = rest.find(is_end).unwrap_or(rest.len());
            let url = format!("{scheme}://{}", rest.get(..length).unwrap_or_default());
            let closes = quote.is_none() || rest.as_bytes().get(length) == quote.as_ref();
            if length == 0 || !closes {
                self.skip_character();
                continue;
            }
            let end = tail + length + usize::from(quote.is_some());
            self.found.push(FoundAddress {
                span: self.at..end,
                scheme: scheme.to_owned(),
                url,
                expands: false,
            });
            self.at = end;
        }
    }
}

/// Whether spaces in a quotation mean that it is more than an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blanks {
    AreProse,
    ArePart,
}

/// The rest of a shell word that begins with an address.
struct AddressWord<'a> {
    text: &'a str,
    at: usize,
    url: String,
    expands: bool,
}

impl AddressWord<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.text.get(self.at..)?.chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    /// Reads past the closing quote. `false` if that is not an address.
    fn quotation(&mut self, quote: u8, blanks: Blanks) -> bool {
        while let Some(character) = self.next() {
            match character {
                _ if character == quote as char => return true,
                _ if character.is_whitespace() && blanks == Blanks::AreProse => return false,
                '\\' if quote == b'"' => match self.next() {
                    Some(special @ ('"' | '\\' | '$' | '`')) => self.url.push(special),
                    Some('\n') => {}
                    Some(other) => self.url.extend(['\\', other]),
                    None => return false,
                },
                '$' | '`' if quote == b'"' => {
                    self.url.push(character);
                    self.expands = true;
                }
                other => self.url.push(other),
            }
        }
        false
    }

    /// Reads to the end of the word. `false` if it cannot be read.
    fn more(&mut self) -> bool {
        while let Some(character) = self.peek() {
            if character.is_whitespace() || ";&|<>()`".contains(character) {
                break;
            }
            self.at += character.len_utf8();
            match character {
                '\'' if !self.quotation(b'\'', Blanks::ArePart) => return false,
                '"' if !self.quotation(b'"', Blanks::ArePart) => return false,
                '\'' | '"' => {}
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(other) => self.url.push(other),
                },
                '$' => {
                    self.url.push('$');
                    self.expands = true;
                }
                other => self.url.push(other),
            }
        }
        true
    }
}
