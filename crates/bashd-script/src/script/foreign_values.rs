//! What an expression in code of other languages comes to, as far as the code tells: names that
//! literals were given, parts that are joined, lists, and values in dictionaries.
//!
//! `c = "rm"; system(c + " -rf /")`, `d = {"a": "rm -rf /"}; run(d["a"])`, `f"{c} -rf /"`. No
//! language is parsed: what most of them write alike is read alike.

use super::escapes;
use super::foreign_code::literal_span;
use super::foreign_known::ForeignValue;
use super::foreign_names::{combined, firsts, joined, placed, split};
use std::cell::Cell;

/// Most values of one expression, most places of a name, how many names of names are followed.
pub(super) const MOST_VALUES: usize = 8;
pub(super) const MOST_PLACES: usize = 16;
pub(super) const MOST_DEPTH: usize = 6;

/// How deep terms may be in each other: whoever reads them must not run out of stack.
const MOST_NESTED: usize = 24;

/// What reading a term counts for, in bytes of code: terms that are read more than once must not
/// take for ever.
const TERM: usize = 64;

/// Most bytes of a value, and of code that is gone through for one expression.
pub(super) const MOST_BYTES: usize = 4096;
pub(super) const MOST_WORK: usize = 256 << 10;

/// The arguments in a text that begins with or without the parenthesis of a call: of each, what it
/// may come to. Those that have a name are left out.
pub(super) fn arguments(code: &str, inside: &str, is_awk: bool) -> Vec<Vec<ForeignValue>> {
    let inside = inside.trim_start();
    let inside = inside.strip_prefix('(').unwrap_or(inside);
    let reader = ExpressionReader {
        code,
        rest: inside,
        is_awk,
        depth: 0,
        nested: 0,
        work: &Cell::new(0),
    };
    reader.arguments()
}

/// A part of a code that is read from its beginning.
#[derive(Clone, Copy)]
pub(super) struct ExpressionReader<'a> {
    pub(super) code: &'a str,
    pub(super) rest: &'a str,
    pub(super) is_awk: bool,
    /// How many names are being followed.
    pub(super) depth: usize,
    /// How many terms this is inside of.
    pub(super) nested: usize,
    /// Bytes of code that were gone through.
    pub(super) work: &'a Cell<usize>,
}

pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> ExpressionReader<'a> {
    pub(super) fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\\']);
    }

    pub(super) fn take(&mut self, sign: &str) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub(super) fn take_name(&mut self) -> &'a str {
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        name
    }

    fn arguments(mut self) -> Vec<Vec<ForeignValue>> {
        let mut found = Vec::new();
        for _ in 0..MOST_PLACES {
            self.skip_blanks();
            let mut named = self;
            let is_named = !named.take_name().is_empty() && {
                named.skip_blanks();
                named.rest.starts_with('=') && !named.rest.starts_with("==")
            };
            let values = self.expression();
            if !is_named && !values.is_empty() {
                found.push(values);
            }
            self.skip_to(&[',']);
            if !self.take(",") {
                break;
            }
        }
        found
    }

    /// Passes over what could not be read, up to one of these or the end of what is around.
    pub(super) fn skip_to(&mut self, ends: &[char]) {
        let mut open = 0_usize;
        while let Some(first) = self.rest.chars().next() {
            match first {
                '"' | '\'' => {
                    let length = literal_span(self.rest, 0).map_or(1, |(_, length)| length);
                    self.rest = self.rest.get(length..).unwrap_or_default();
                    continue;
                }
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' | ';' | '\n' if open == 0 => return,
                ')' | ']' | '}' => open -= 1,
                other if open == 0 && ends.contains(&other) => return,
                _ => {}
            }
            self.rest = self.rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }

    /// Terms that are joined; nothing if there is none.
    pub(super) fn expression(&mut self) -> Vec<ForeignValue> {
        let mut values = self.term();
        for _ in 0..MOST_PLACES {
            if values.is_empty() {
                return values;
            }
            let before = *self;
            self.rest = self.rest.trim_start_matches([' ', '\t']);
            if self.rest.starts_with("+=") || self.rest.starts_with("...") {
                *self = before;
                break;
            }
            let is_joined = self.take("..") || self.take("+") || self.take("<>");
            // `Path("/") / "etc"`, `"a" . "b"`
            let is_path = !is_joined && self.take("/");
            let is_dot = !is_joined && !is_path && self.take(".");
            let is_placed = !is_joined && !is_path && !is_dot && self.take("%");
            let begins = |c: char| c == '"' || c == '\'' || c == '$';
            let is_next =
                self.rest.starts_with(begins) || self.is_awk && self.rest.starts_with(is_name);
            if !(is_joined || is_path || is_dot || is_placed || is_next) {
                *self = before;
                break;
            }
            self.skip_blanks();
            let next = self.term();
            if next.is_empty() {
                *self = before;
                break;
            }
            values = if is_placed {
                combined(&values, &next, |format, value| {
                    placed(format, std::slice::from_ref(value))
                })
            } else {
                let between = if is_path { "/" } else { "" };
                combined(&values, &next, |one, other| joined(one, other, between))
            };
        }
        values
    }

    /// A literal, a name, a list, a call that is known; with what is done to it. Nothing where that
    /// is too deep, or too much was read before.
    fn term(&mut self) -> Vec<ForeignValue> {
        let (nested, work) = (self.nested, self.work.get() + TERM);
        if nested >= MOST_NESTED || work > MOST_WORK {
            return Vec::new();
        }
        self.work.set(work);
        self.nested = nested + 1;
        let values = self.term_here();
        self.nested = nested;
        values
    }

    fn term_here(&mut self) -> Vec<ForeignValue> {
        self.skip_blanks();
        let mut values = match self.rest.chars().next() {
            Some('"' | '\'' | '`') => self.literal(""),
            Some('[') => self.list(']'),
            Some('{') => self.list('}'),
            Some('(') => self.list(')'),
            Some('*' | '$' | '@' | '%' | '&' | '\\') => {
                self.rest = self
                    .rest
                    .trim_start_matches(['*', '$', '@', '%', '&', '\\']);
                self.name()
            }
            Some(c) if c.is_ascii_digit() => vec![ForeignValue::Text(self.take_name().to_owned())],
            Some(c) if is_name(c) => self.name(),
            _ => return Vec::new(),
        };
        for _ in 0..MOST_PLACES {
            match self.suffix(&values) {
                Some(next) => values = next,
                None => break,
            }
        }
        values.truncate(MOST_VALUES);
        values
    }

    fn literal(&mut self, prefix: &str) -> Vec<ForeignValue> {
        let Some((inner, length)) = literal_span(self.rest, 0) else {
            return Vec::new();
        };
        let quote = self.rest.chars().next();
        self.rest = self.rest.get(length..).unwrap_or_default();
        let text = if prefix.contains(['r', 'R']) {
            inner.to_owned()
        } else {
            escapes::unescaped(inner)
        };
        if prefix.contains(['f', 'F']) {
            return self.filled(&text, &["{"]);
        }
        match quote {
            Some('\'') => vec![ForeignValue::Text(text)],
            _ if self.is_awk => vec![ForeignValue::Text(text)],
            _ => self.filled(&text, &["#{", "${", "{$", "$"]),
        }
    }

    /// A text with the values of the names in it: `{c}`, `${c}`, `#{c}`, `$c`.
    fn filled(&self, text: &str, signs: &[&str]) -> Vec<ForeignValue> {
        let mut values = vec![ForeignValue::Text(String::new())];
        let mut rest = text;
        for _ in 0..MOST_PLACES {
            let places = signs
                .iter()
                .filter_map(|sign| Some((rest.find(sign)?, *sign)));
            let Some((at, sign)) = places.min_by_key(|(at, sign)| (*at, usize::MAX - sign.len()))
            else {
                break;
            };
            let (before, behind) = rest.split_at(at);
            let behind = behind.get(sign.len()..).unwrap_or_default();
            let mut inner = ExpressionReader {
                code: self.code,
                rest: behind,
                is_awk: self.is_awk,
                depth: self.depth + 1,
                nested: self.nested,
                work: self.work,
            };
            let found = if sign.contains('{') {
                inner.rest = inner.rest.trim_start_matches('$');
                let found = inner.expression();
                inner.skip_to(&[]);
                inner.take("}").then_some(found)
            } else {
                inner.take_name();
                let name = behind
                    .get(..behind.len() - inner.rest.len())
                    .unwrap_or_default();
                let found = self.given_to(name);
                (!name.is_empty() && !found.is_empty()).then_some(found)
            };
            let (known, after) = match found {
                Some(found) if !found.is_empty() => (found, inner.rest),
                Some(_) => (vec![ForeignValue::hole()], inner.rest),
                None => (vec![ForeignValue::Text(sign.to_owned())], behind),
            };
            let before = [ForeignValue::Text(before.to_owned())];
            values = combined(&values, &before, |one, other| joined(one, other, ""));
            values = combined(&values, &known, |one, other| joined(one, other, ""));
            rest = after;
        }
        let last = [ForeignValue::Text(rest.to_owned())];
        combined(&values, &last, |one, other| joined(one, other, ""))
    }

    /// `[a, b]`, `{"k": v}`, `(k => v)`; one value in parentheses is that value.
    fn list(&mut self, close: char) -> Vec<ForeignValue> {
        self.rest = self.rest.get(1..).unwrap_or_default();
        let (mut items, mut pairs) = (Vec::new(), Vec::new());
        let mut has_comma = false;
        for _ in 0..MOST_PLACES * 4 {
            self.skip_blanks();
            if self.rest.is_empty() || self.rest.starts_with(close) {
                break;
            }
            let is_spread = self.rest.starts_with(['*', '@']) || self.take("...");
            let before = *self;
            let key = self.key();
            if let Some(key) = key {
                let value = self.expression().into_iter().next();
                pairs.push((key, value.unwrap_or(ForeignValue::Unknown)));
            } else {
                *self = before;
                match self.expression().into_iter().next() {
                    Some(ForeignValue::List(more)) if is_spread => items.extend(more),
                    Some(value) => items.push(value),
                    None => items.push(ForeignValue::Unknown),
                }
            }
            self.skip_to(&[',']);
            has_comma |= self.rest.starts_with(',');
            if !self.take(",") && !self.take("\n") {
                break;
            }
        }
        self.skip_blanks();
        self.take(close.encode_utf8(&mut [0; 4]));
        if !pairs.is_empty() {
            return vec![ForeignValue::Map(pairs)];
        }
        match <[ForeignValue; 1]>::try_from(items) {
            Ok([value]) if close == ')' && !has_comma => vec![value],
            Ok(items) => vec![ForeignValue::List(items.to_vec())],
            Err(items) => vec![ForeignValue::List(items)],
        }
    }

    /// `"k":`, `k:`, `:k =>`, `k =`, `["k"] =`
    pub(super) fn key(&mut self) -> Option<String> {
        let is_bracketed = self.take("[");
        self.take(":");
        let key = match self.rest.chars().next()? {
            '"' | '\'' => {
                let (inner, length) = literal_span(self.rest, 0)?;
                self.rest = self.rest.get(length..)?;
                inner.to_owned()
            }
            _ => self.take_name().to_owned(),
        };
        if is_bracketed && !self.take("]") {
            return None;
        }
        self.skip_blanks();
        let is_key = self.take("=>") || !self.rest.starts_with("==") && self.take("=");
        let is_key = is_key || !self.rest.starts_with("::") && self.take(":");
        (is_key && !key.is_empty()).then_some(key)
    }

    /// A name, or a call that is known.
    fn name(&mut self) -> Vec<ForeignValue> {
        let name = self.take_name();
        let is_prefix = name.len() <= 2 && name.chars().all(|c| "frbuFRBU".contains(c));
        if is_prefix && self.rest.starts_with(['"', '\'']) {
            return self.literal(name);
        }
        if matches!(
            name,
            "lambda" | "not" | "new" | "if" | "else" | "for" | "in" | "async"
        ) {
            return Vec::new();
        }
        if self.rest.starts_with('(') {
            return match name {
                "str" | "Path" | "list" | "tuple" | "String" | "dict" => self.list(')'),
                "dumps" | "stringify" => {
                    let first = firsts(self.call()).into_iter().next();
                    let text = first.map_or_else(String::new, |value| value.as_json());
                    vec![ForeignValue::Text(text)]
                }
                "sprintf" => {
                    let arguments = firsts(self.call());
                    let made = arguments.split_first();
                    made.map(|(format, rest)| placed(format, rest))
                        .into_iter()
                        .collect()
                }
                _ => {
                    self.call();
                    vec![ForeignValue::hole()]
                }
            };
        }
        let is_module = matches!(name, "os" | "path" | "File" | "shlex" | "json" | "JSON");
        if is_module && self.take(".") {
            return self.of_module();
        }
        let values = self.given_to(name);
        if values.is_empty() && !name.is_empty() {
            return vec![ForeignValue::Unknown];
        }
        values
    }

    /// `os.path.join(…)`, `shlex.split(…)`: what follows the module.
    fn of_module(&mut self) -> Vec<ForeignValue> {
        let mut before = *self;
        let name = self.take_name();
        if matches!(name, "dumps" | "stringify") && self.rest.starts_with('(') {
            let values = before.name();
            *self = before;
            return values;
        }
        if name == "path" && self.take(".") {
            return self.of_module();
        }
        if !self.rest.starts_with('(') {
            return vec![ForeignValue::Unknown];
        }
        let parts = firsts(self.call());
        match name {
            "join" => {
                let joined = parts
                    .into_iter()
                    .reduce(|one, other| joined(&one, &other, "/"));
                joined.into_iter().collect()
            }
            "split" => parts
                .first()
                .map(|it| split(it, None))
                .into_iter()
                .collect(),
            _ => vec![ForeignValue::hole()],
        }
    }

    /// The arguments of the call that begins here.
    pub(super) fn call(&mut self) -> Vec<Vec<ForeignValue>> {
        let inner = Self {
            rest: self.rest.get(1..).unwrap_or_default(),
            ..*self
        };
        let found = inner.arguments();
        self.rest = self.rest.get(1..).unwrap_or_default();
        self.skip_to_close();
        found
    }

    fn skip_to_close(&mut self) {
        for _ in 0..MOST_PLACES * 4 {
            self.skip_to(&[]);
            if !self.rest.starts_with([';', '\n']) {
                break;
            }
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        self.rest = self.rest.strip_prefix(')').unwrap_or(self.rest);
    }
}
