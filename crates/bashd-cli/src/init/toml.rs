//! Edits TOML: `toml_edit` keeps comments, order and formatting.

use super::edit::{ConfigEdit, EditKind};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

/// What a text says.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let document = parsed(text)?;
    Ok(of_table(document.as_table()))
}

/// Puts an edit in that is not there.
pub(super) fn insert(text: &str, edit: &ConfigEdit) -> Result<String, String> {
    let refused = || "bashd can't edit a file of this form".to_owned();
    if edit.kind != EditKind::Member {
        return Err(refused());
    }
    let mut document = parsed(text)?;
    let is_first = document.as_table().is_empty() && text.trim().is_empty();
    let (last, above) = edit.path.split_last().ok_or_else(refused)?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in above {
        let below = table.entry(key).or_insert_with(|| {
            let mut new = Table::new();
            // A table of tables needs no header of its own.
            new.set_implicit(edit.value.is_object());
            if !is_first {
                new.decor_mut().set_prefix("\n");
            }
            Item::Table(new)
        });
        table = below.as_table_like_mut().ok_or_else(refused)?;
    }
    let item = match edit.value.as_object() {
        // In an inline table it becomes one, too.
        Some(members) => {
            let mut new = Table::new();
            for (key, value) in members {
                new.insert(key, Item::Value(to_value(value).ok_or_else(refused)?));
            }
            if !is_first {
                new.decor_mut().set_prefix("\n");
            }
            Item::Table(new)
        }
        None => Item::Value(to_value(&edit.value).ok_or_else(refused)?),
    };
    table.insert(last, item);
    Ok(with_newlines_of(text, document.to_string()))
}

/// Takes out what is at a path.
pub(super) fn remove(text: &str, path: &[String]) -> Result<String, String> {
    let gone = || "it is not there".to_owned();
    let mut document = parsed(text)?;
    let (last, above) = path.split_last().ok_or_else(gone)?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in above {
        let below = table.get_mut(key).and_then(Item::as_table_like_mut);
        table = below.ok_or_else(gone)?;
    }
    table.remove(last).ok_or_else(gone)?;
    Ok(with_newlines_of(text, document.to_string()))
}

/// The document, if writing it would change nothing but a missing newline at the end.
fn parsed(text: &str) -> Result<DocumentMut, String> {
    let mut plain = if has_long_newlines(text) {
        text.replace("\r\n", "\n")
    } else {
        text.to_owned()
    };
    if !plain.is_empty() && !plain.ends_with('\n') {
        plain.push('\n');
    }
    let document: DocumentMut = plain
        .parse()
        .map_err(|error: toml_edit::TomlError| error.to_string().trim_end().to_owned())?;
    if document.to_string() != plain {
        return Err("bashd can't edit a file of this form".to_owned());
    }
    Ok(document)
}

fn has_long_newlines(text: &str) -> bool {
    text.contains('\n') && text.matches('\n').count() == text.matches("\r\n").count()
}

fn with_newlines_of(text: &str, edited: String) -> String {
    if has_long_newlines(text) {
        edited.replace('\n', "\r\n")
    } else {
        edited
    }
}

fn of_table(table: &dyn TableLike) -> Value {
    let members = table
        .iter()
        .map(|(key, item)| (key.to_owned(), of_item(item)));
    Value::Object(members.collect())
}

fn of_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => of_value(value),
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| of_table(table)).collect(),
    }
}

fn of_value(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => text.value().as_str().into(),
        Toml::Integer(number) => (*number.value()).into(),
        Toml::Float(number) => (*number.value()).into(),
        Toml::Boolean(word) => (*word.value()).into(),
        Toml::Datetime(time) => time.value().to_string().into(),
        Toml::Array(list) => list.iter().map(of_value).collect(),
        Toml::InlineTable(table) => of_table(table),
    }
}

/// The value in TOML, which has no null.
fn to_value(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(word) => (*word).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(list) => {
            let list: Option<Array> = list.iter().map(to_value).collect();
            list?.into()
        }
        Value::Object(members) => {
            let mut table = InlineTable::new();
            for (key, value) in members {
                table.insert(key, to_value(value)?);
            }
            table.into()
        }
    })
}
