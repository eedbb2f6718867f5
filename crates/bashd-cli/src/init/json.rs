//! Edits JSON as text: what is not ours stays as it is, to the byte. Comments and trailing commas
//! are understood.
//!
//! A new item comes last in its object or list, in the style of its neighbours. Taking it out again
//! gives the same text as before.

use super::edit::{ConfigEdit, EditKind};
use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

/// What people put into such files, and no more: what an agent would not read is broken.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// What a text says.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let root = root(text)?;
    check_names(&Node::Object(root))?;
    jsonc_parser::parse_to_serde_value(text, &OPTIONS).map_err(|error| error.to_string())
}

/// Puts an edit in that is not there.
pub(super) fn insert(text: &str, edit: &ConfigEdit) -> Result<String, String> {
    let root = root(text)?;
    let mut object = &root;
    for (depth, key) in edit.path.iter().enumerate() {
        let below = edit.path.get(depth + 1..).unwrap_or_default();
        let Some(found) = object.get(key) else {
            let value = below
                .iter()
                .rev()
                .fold(first_value(edit), |value, key| wrapped(key, value));
            let container = Container::of_object(object);
            return Ok(container.with(text, Some(key), &value));
        };
        match &found.value {
            Node::Object(below) => object = below,
            Node::Array(list) => {
                let container = Container {
                    range: list.range,
                    items: list.elements.iter().map(Ranged::range).collect(),
                };
                return Ok(container.with(text, None, &edit.value));
            }
            _ => break,
        }
    }
    Err("bashd can't edit a file of this form".to_owned())
}

/// Takes out what is at a path: the member, or of its list the element of an edit.
pub(super) fn remove(
    text: &str,
    path: &[String],
    element_of: Option<&ConfigEdit>,
) -> Result<String, String> {
    let root = root(text)?;
    let gone = || "it is not there".to_owned();
    let (last, above) = path.split_last().ok_or_else(gone)?;
    let mut object = &root;
    for key in above {
        object = object.get_object(key).ok_or_else(gone)?;
    }
    let element = element_of.filter(|edit| matches!(edit.kind, EditKind::Element { .. }));
    if let Some(edit) = element {
        let elements = object.get_array(last).ok_or_else(gone)?;
        let items: Vec<Range> = elements.elements.iter().map(Ranged::range).collect();
        let is_it = |range: &Range| {
            let text = text.get(range.start..range.end).unwrap_or_default();
            let value: Option<Value> = jsonc_parser::parse_to_serde_value(text, &OPTIONS).ok();
            value.as_ref() == Some(&edit.value)
        };
        let index = items.iter().position(is_it).ok_or_else(gone)?;
        let range = elements.range;
        return Ok(Container { range, items }.without(text, index));
    }
    let is_it = |member: &jsonc_parser::ast::ObjectProp<'_>| member.name.as_str() == last;
    let index = object.properties.iter().position(is_it).ok_or_else(gone)?;
    Ok(Container::of_object(object).without(text, index))
}

/// The object that a text is.
fn root(text: &str) -> Result<Object<'_>, String> {
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &OPTIONS);
    match parsed.map_err(|error| error.to_string())?.value {
        Some(Node::Object(root)) => Ok(root),
        Some(_) => Err("it does not hold an object".to_owned()),
        None => Err("it is empty".to_owned()),
    }
}

/// Fails if a name occurs twice: nobody knows which of them an agent reads.
fn check_names(node: &Node<'_>) -> Result<(), String> {
    match node {
        Node::Object(object) => {
            let mut seen = std::collections::HashSet::new();
            for member in &object.properties {
                let name = member.name.as_str();
                if !seen.insert(name) {
                    return Err(format!("the key `{name}` occurs twice"));
                }
                check_names(&member.value)?;
            }
            Ok(())
        }
        Node::Array(list) => list.elements.iter().try_for_each(check_names),
        _ => Ok(()),
    }
}

/// The value that an edit brings, if even its list is missing.
fn first_value(edit: &ConfigEdit) -> Value {
    match edit.kind {
        EditKind::Member => edit.value.clone(),
        EditKind::Element { .. } => Value::Array(vec![edit.value.clone()]),
    }
}

fn wrapped(key: &str, value: Value) -> Value {
    let mut object = serde_json::Map::new();
    object.insert(key.to_owned(), value);
    Value::Object(object)
}

/// An object or a list in a text.
struct Container {
    range: Range,
    items: Vec<Range>,
}

impl Container {
    fn of_object(object: &Object<'_>) -> Self {
        Self {
            range: object.range,
            items: object.properties.iter().map(Ranged::range).collect(),
        }
    }

    /// The text with a further item at the end of the container.
    fn with(&self, text: &str, key: Option<&str>, value: &Value) -> String {
        let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        let (open, close) = (self.range.start + 1, self.range.end - 1);
        let style = Style::of(text);
        let outer = indent_at(text, self.range.start);
        let Some(last) = self.items.last() else {
            let inner = part(open, close);
            let kept = inner.trim_end();
            if !kept.is_empty() && !inner.contains('\n') {
                // Behind a comment in the same line.
                let item = compact(key, value);
                let (before, after) = (part(0, open), part(open + kept.len(), text.len()));
                return format!("{before}{kept} {item}{after}");
            }
            let child = format!("{outer}{}", style.unit);
            let item = style.item(&child, key, value);
            let newline = style.newline;
            // A comment over several lines has its last newline already.
            let end = if kept.is_empty() {
                format!("{newline}{outer}")
            } else {
                part(open + kept.len(), close).to_owned()
            };
            return format!(
                "{}{kept}{newline}{child}{item}{end}{}",
                part(0, open),
                part(close, text.len())
            );
        };
        let first = self.items.first().unwrap_or(last);
        let comma = comma_after(text, last.end, close);
        if !part(open, first.start).contains('\n') {
            let item = compact(key, value);
            return format!(
                "{}, {item}{}",
                part(0, last.end),
                part(last.end, text.len())
            );
        }
        let child = indent_at(text, first.start);
        let item = style.item(child, key, value);
        let newline = style.newline;
        // Behind what stands in the same line as the last item.
        let (before, comma_before, comma_behind) = match comma {
            Some(at) => (at + 1, "", ","),
            None => (last.end, ",", ""),
        };
        let at = end_of_remark(text, before, close);
        format!(
            "{}{comma_before}{}{newline}{child}{item}{comma_behind}{}",
            part(0, before),
            part(before, at),
            part(at, text.len())
        )
    }

    /// The text without one of the items.
    fn without(&self, text: &str, index: usize) -> String {
        let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        let (open, close) = (self.range.start + 1, self.range.end - 1);
        let Some(item) = self.items.get(index) else {
            return text.to_owned();
        };
        let comma = comma_after(text, item.end, close);
        if self.items.len() == 1 {
            let end = comma.map_or(item.end, |at| at + 1);
            let (before, after) = (part(open, item.start), part(end, close));
            let blank = before.trim().is_empty() && after.trim().is_empty();
            let kept = if blank {
                String::new()
            } else {
                format!("{}{after}", before.trim_end())
            };
            return format!("{}{kept}{}", part(0, open), part(close, text.len()));
        }
        let is_last = index + 1 == self.items.len();
        let begin = start_of_line(text, item.start);
        match (is_last, comma) {
            (true, None) => {
                let previous = index.checked_sub(1).and_then(|index| self.items.get(index));
                let from = previous.map_or(open, |previous| previous.end);
                let at = comma_after(text, from, item.start).unwrap_or(from);
                let begin = begin.unwrap_or(at + 1);
                format!(
                    "{}{}{}",
                    part(0, at),
                    part(at + 1, begin),
                    part(item.end, text.len())
                )
            }
            (_, comma) => {
                let mut end = comma.map_or(item.end, |at| at + 1);
                let from = begin.unwrap_or_else(|| {
                    let rest = part(end, close);
                    end += rest.len() - rest.trim_start_matches([' ', '\t']).len();
                    item.start
                });
                format!("{}{}", part(0, from), part(end, text.len()))
            }
        }
    }
}

/// How a text is written.
struct Style {
    newline: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indents = text.lines().map(indent).filter(|indent| !indent.is_empty());
        let unit = indents.min_by_key(|indent| indent.len()).unwrap_or("  ");
        Self {
            newline,
            unit: unit.to_owned(),
        }
    }

    /// An item over several lines, of which the first is not indented.
    fn item(&self, indent: &str, key: Option<&str>, value: &Value) -> String {
        let mut lines = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = Serializer::with_formatter(&mut lines, formatter);
        let written = value.serialize(&mut serializer);
        debug_assert!(written.is_ok(), "a vector takes everything");
        let lines = String::from_utf8(lines).unwrap_or_default();
        let lines = lines.replace('\n', &format!("{}{indent}", self.newline));
        match key {
            Some(key) => format!("{}: {lines}", Value::from(key)),
            None => lines,
        }
    }
}

fn compact(key: Option<&str>, value: &Value) -> String {
    match key {
        Some(key) => format!("{}: {value}", Value::from(key)),
        None => value.to_string(),
    }
}

/// The blanks at the start of a line.
fn indent(line: &str) -> &str {
    let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..blanks).unwrap_or_default()
}

/// The blanks at the start of the line in which a position is.
fn indent_at(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    indent(text.get(start..).unwrap_or_default())
}

/// The end of the line before, if only blanks are between it and a position.
fn start_of_line(text: &str, at: usize) -> Option<usize> {
    let before = text.get(..at)?.trim_end_matches([' ', '\t']);
    let before = before.strip_suffix('\n')?;
    Some(before.strip_suffix('\r').unwrap_or(before).len())
}

/// Where the comma is that follows a position, behind blanks and comments.
fn comma_after(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = text.get(at..to)?;
        let blank = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        at += blank;
        if rest.starts_with(',') {
            return Some(at);
        }
        let comment = if rest.starts_with("//") {
            rest.find('\n')
        } else if rest.starts_with("/*") {
            rest.find("*/").map(|end| end + 2)
        } else {
            None
        };
        at += comment?;
    }
}

/// Where a remark ends that follows a position in the same line; the position, if there is none.
fn end_of_remark(text: &str, at: usize, close: usize) -> usize {
    let rest = text.get(at..close).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default().trim_end();
    let is_remark = line.trim_start().starts_with("//")
        || (line.trim_start().starts_with("/*")
            && line.ends_with("*/")
            && line.matches("*/").count() == 1);
    if is_remark { at + line.len() } else { at }
}
