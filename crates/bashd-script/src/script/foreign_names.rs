//! What names stand for in code of other languages, and what is done with values: an index, a
//! method, a format.

use super::foreign_known::ForeignValue;
use super::foreign_values::{
    ExpressionReader, MOST_BYTES, MOST_DEPTH, MOST_PLACES, MOST_VALUES, MOST_WORK, is_name,
};

impl ExpressionReader<'_> {
    /// Every value that the code gives a name.
    pub(super) fn given_to(&self, name: &str) -> Vec<ForeignValue> {
        let work = self.work.get() + self.code.len();
        let begins = name.chars().next().is_some_and(|c| !c.is_ascii_digit());
        if self.depth >= MOST_DEPTH || work > MOST_WORK || !begins {
            return Vec::new();
        }
        self.work.set(work);
        let mut values: Vec<ForeignValue> = Vec::new();
        let places = self.code.match_indices(name).filter(|(at, _)| {
            let before = self.code.get(..*at).and_then(|it| it.chars().next_back());
            let behind = self.code.get(at + name.len()..).unwrap_or_default();
            !before.is_some_and(is_name) && !behind.starts_with(is_name)
        });
        for (at, _) in places.take(MOST_PLACES) {
            let before = self.code.get(..at).unwrap_or_default();
            let behind = self.code.get(at + name.len()..).unwrap_or_default();
            let inner = Self {
                rest: behind,
                depth: self.depth + 1,
                ..*self
            };
            inner.learn(before, &mut values);
            values.truncate(MOST_VALUES);
        }
        values
    }

    /// What a place of a name says about its values.
    fn learn(mut self, before: &str, values: &mut Vec<ForeignValue>) {
        // `push @a, "x"`
        if before.ends_with("push @") || before.ends_with("push(@") {
            self.skip_blanks();
            if self.take(",") {
                add_item(values, &self.expression());
            }
            return;
        }
        for method in [".append(", ".push(", ".add(", " << "] {
            if self.take(method) {
                add_item(values, &self.expression());
                return;
            }
        }
        if self.take(".extend(") {
            let more = self.expression();
            *values = combined(values, &more, |one, other| joined(one, other, ""));
            return;
        }
        let mut indexed = self;
        if let Some(key) = indexed.index()
            && let Some(value) = indexed.assigned()
        {
            set_at(values, &key, &value);
            return;
        }
        self.rest = self.rest.trim_start_matches([' ', ')']);
        if self.take("+=") || self.take(".=") {
            self.skip_blanks();
            let more = self.expression();
            *values = combined(values, &more, |one, other| joined(one, other, ""));
            return;
        }
        if self.take("in ") || self.take("of ") {
            for value in self.expression() {
                match value {
                    ForeignValue::List(items) => values.extend(items),
                    other => values.push(other),
                }
            }
            return;
        }
        values.extend(self.assigned_values());
    }

    /// What stands behind the sign of an assignment, if one comes next.
    fn assigned_values(&mut self) -> Vec<ForeignValue> {
        self.rest = self.rest.trim_start_matches(' ');
        let is_value = self.take(":=") || self.take("=");
        if !is_value || self.rest.starts_with(['=', '>', '~']) {
            return Vec::new();
        }
        self.skip_blanks();
        self.expression()
    }

    fn assigned(&mut self) -> Option<ForeignValue> {
        self.assigned_values().into_iter().next()
    }

    /// `["k"]`, `{k}`, `[:k]`, `[0]`: the key.
    fn index(&mut self) -> Option<String> {
        self.take("->");
        let close = if self.take("[") {
            "]"
        } else if self.take("{") {
            "}"
        } else {
            return None;
        };
        self.rest = self.rest.trim_start_matches([':', ' ']);
        let is_quoted = self.rest.starts_with(['"', '\'']);
        let key = if is_quoted {
            let key = self.expression().into_iter().next()?;
            key.text()?.to_owned()
        } else {
            self.take_name().to_owned()
        };
        self.take(close).then_some(key)
    }

    /// What is done with a value: an index, a method, a member.
    pub(super) fn suffix(&mut self, values: &[ForeignValue]) -> Option<Vec<ForeignValue>> {
        if self.take("[::-1]") {
            let reversed = values.iter().map(|value| match value.text() {
                Some(text) => ForeignValue::Text(text.chars().rev().collect()),
                None => ForeignValue::Unknown,
            });
            return Some(reversed.collect());
        }
        let has_members =
            |value: &ForeignValue| !matches!(value, ForeignValue::Text(_) | ForeignValue::List(_));
        let is_member = self.rest.starts_with("->")
            || self.rest.starts_with('{') && values.iter().any(has_members);
        if self.rest.starts_with('[') || is_member {
            let mut inner = *self;
            let key = inner.index();
            if let Some(key) = key {
                *self = inner;
                return Some(members(values, &key));
            }
            if !self.rest.starts_with('[') {
                return None;
            }
            self.take("[");
            self.skip_to(&[]);
            self.take("]");
            return Some(vec![ForeignValue::Unknown]);
        }
        let mut inner = *self;
        if !inner.take(".") || !inner.rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let name = inner.take_name();
        if !inner.rest.starts_with('(') {
            let is_map = values.iter().any(has_members);
            *self = inner;
            return Some(if is_map || name != "split" {
                members(values, name)
            } else {
                values.iter().map(|value| split(value, None)).collect()
            });
        }
        let arguments = firsts(inner.call());
        *self = inner;
        Some(
            values
                .iter()
                .map(|value| done(value, name, &arguments))
                .collect(),
        )
    }
}

fn members(values: &[ForeignValue], key: &str) -> Vec<ForeignValue> {
    let found = values.iter().map(|value| value.at(key));
    found
        .map(|value| value.unwrap_or(ForeignValue::Unknown))
        .collect()
}

/// What a method makes of a value.
fn done(value: &ForeignValue, name: &str, arguments: &[ForeignValue]) -> ForeignValue {
    let first = arguments.first();
    match (name, value) {
        ("join", ForeignValue::Text(between)) => first.map_or(ForeignValue::Unknown, |list| {
            ForeignValue::Text(list.texts().join(between))
        }),
        ("join", list) => {
            let between = first.and_then(ForeignValue::text).unwrap_or(",");
            ForeignValue::Text(list.texts().join(between))
        }
        ("split", value) => split(value, first.and_then(ForeignValue::text)),
        ("format", ForeignValue::Text(_)) => placed(value, arguments),
        ("concat", value) => {
            let all = arguments.iter();
            all.fold(value.clone(), |one, other| joined(&one, other, ""))
        }
        ("replace" | "gsub", ForeignValue::Text(text)) => match arguments {
            [ForeignValue::Text(from), ForeignValue::Text(to), ..] if !from.is_empty() => {
                bounded(text.replace(from.as_str(), to))
            }
            _ => ForeignValue::Unknown,
        },
        ("get" | "fetch", value) => {
            let key = first.and_then(ForeignValue::text);
            let found = key.and_then(|key| value.at(key));
            found.unwrap_or(ForeignValue::Unknown)
        }
        ("strip" | "trim" | "toString" | "to_s" | "copy" | "decode" | "encode", value) => {
            value.clone()
        }
        ("lower" | "downcase" | "toLowerCase", ForeignValue::Text(text)) => {
            ForeignValue::Text(text.to_lowercase())
        }
        _ => ForeignValue::Unknown,
    }
}

fn add_item(values: &mut [ForeignValue], items: &[ForeignValue]) {
    for value in values {
        if let (ForeignValue::List(list), Some(item)) = (value, items.first()) {
            list.push(item.clone());
        }
    }
}

/// `d["k"] = value`
fn set_at(values: &mut Vec<ForeignValue>, key: &str, value: &ForeignValue) {
    if !values.iter().any(|it| matches!(it, ForeignValue::Map(_))) {
        values.push(ForeignValue::Map(Vec::new()));
    }
    for own in values {
        if let ForeignValue::Map(pairs) = own {
            pairs.push((key.to_owned(), value.clone()));
        }
    }
}

/// The first of the values of each.
pub(super) fn firsts(arguments: Vec<Vec<ForeignValue>>) -> Vec<ForeignValue> {
    let first = |values: Vec<ForeignValue>| values.into_iter().next();
    arguments.into_iter().filter_map(first).collect()
}

/// What is made of each value of one and each of the other.
pub(super) fn combined(
    values: &[ForeignValue],
    others: &[ForeignValue],
    make: impl Fn(&ForeignValue, &ForeignValue) -> ForeignValue,
) -> Vec<ForeignValue> {
    let pairs = values
        .iter()
        .flat_map(|one| others.iter().map(move |other| (one, other)));
    pairs
        .map(|(one, other)| make(one, other))
        .take(MOST_VALUES)
        .collect()
}

/// Two values as one.
pub(super) fn joined(one: &ForeignValue, other: &ForeignValue, between: &str) -> ForeignValue {
    if let (ForeignValue::List(items), ForeignValue::List(more)) = (one, other) {
        let all = items.iter().chain(more).take(MOST_PLACES * 4);
        return ForeignValue::List(all.cloned().collect());
    }
    let (one, other) = (text_of(one), text_of(other));
    // A path that begins at the root takes the place of what is before it.
    if !between.is_empty() && other.starts_with('/') {
        return bounded(other);
    }
    bounded(one.trim_end_matches(between).to_owned() + between + &other)
}

fn text_of(value: &ForeignValue) -> String {
    match value {
        ForeignValue::Text(text) => text.clone(),
        _ => text_of(&ForeignValue::hole()),
    }
}

fn bounded(text: String) -> ForeignValue {
    if text.len() > MOST_BYTES {
        return ForeignValue::Unknown;
    }
    ForeignValue::Text(text)
}

/// The words of a text.
pub(super) fn split(value: &ForeignValue, between: Option<&str>) -> ForeignValue {
    let Some(text) = value.text() else {
        return ForeignValue::Unknown;
    };
    let items: Vec<&str> = match between.filter(|it| !it.trim().is_empty()) {
        Some(between) => text.split(between).take(MOST_PLACES * 4).collect(),
        None => text.split_whitespace().take(MOST_PLACES * 4).collect(),
    };
    let items = items
        .into_iter()
        .map(|item| ForeignValue::Text(item.to_owned()));
    ForeignValue::List(items.collect())
}

/// A format with values in it: `%s`, `{}`, `{0}`.
pub(super) fn placed(format: &ForeignValue, values: &[ForeignValue]) -> ForeignValue {
    let Some(format) = format.text() else {
        return ForeignValue::Unknown;
    };
    let flat: Vec<String> = match values {
        [ForeignValue::List(items)] => items.iter().map(text_of).collect(),
        values => values.iter().map(text_of).collect(),
    };
    let mut values = flat.iter();
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find(['%', '{']) {
        let (before, behind) = rest.split_at(at);
        text.push_str(before);
        let sign = behind.get(..1).unwrap_or_default();
        let behind = behind.get(1..).unwrap_or_default();
        let end = match sign {
            "%" => behind.find(|c: char| c.is_ascii_alphabetic() || c == '%'),
            _ => behind.find('}'),
        };
        let Some(end) = end.filter(|end| *end <= 8) else {
            text.push_str(sign);
            rest = behind;
            continue;
        };
        let number = behind.get(..end).and_then(|it| it.parse::<usize>().ok());
        let value = match (sign, number) {
            ("{", Some(number)) => flat.get(number),
            _ => values.next(),
        };
        text.push_str(value.map(String::as_str).unwrap_or_default());
        rest = behind.get(end + 1..).unwrap_or_default();
    }
    text.push_str(rest);
    bounded(text)
}
