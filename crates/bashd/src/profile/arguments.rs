//! Checks the arguments of a tool against its schema: an error names the parameter and what it may
//! be, because a model has to correct it.

use serde_json::{Map, Value};

/// Bytes of a wrong value that a complaint shows.
const MOST_SHOWN: usize = 256;

/// Reads the arguments of a call, and says what is wrong with them.
pub fn read(schema: &Value, input: &str) -> Result<Value, String> {
    let arguments = serde_json::from_str(input)
        .map_err(|error| format!("the arguments are not JSON: {error}"))?;
    check(schema, &arguments)?;
    Ok(arguments)
}

/// Says what is wrong with those that the schema names; further ones are no fault.
pub fn check_known(schema: &Value, arguments: &Value) -> Result<(), String> {
    let mut known = arguments.clone();
    if let Some(known) = known.as_object_mut() {
        known.retain(|name, _| schema["properties"].get(name).is_some());
    }
    check(schema, &known)
}

/// One thing that is wrong with the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Issue {
    /// This parameter is missing.
    Missing(String),
    /// There is no parameter of this name.
    Unknown(String),
    /// It has another type than the schema says.
    WrongType {
        /// Its name.
        name: String,
        /// The type that the schema names.
        expected: String,
        /// The type that it has.
        got: &'static str,
    },
}

/// Everything that is wrong with the arguments of a call, as data: what is missing or of the wrong
/// type in the order of the schema, then what is unknown. Each property comes with its name, and
/// whether it is required.
pub(crate) fn issues<'a>(
    properties: impl IntoIterator<Item = (&'a str, Value, bool)>,
    arguments: &Map<String, Value>,
) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut known = Vec::new();
    for (name, property, is_required) in properties {
        known.push(name);
        match arguments.get(name).filter(|value| !value.is_null()) {
            None if is_required => issues.push(Issue::Missing(name.to_owned())),
            Some(value) if !fits(&property, value) => issues.push(Issue::WrongType {
                name: name.to_owned(),
                expected: property["type"].as_str().unwrap_or("value").to_owned(),
                got: type_of(value),
            }),
            None | Some(_) => {}
        }
    }
    let unknown = arguments
        .keys()
        .filter(|name| !known.contains(&name.as_str()));
    issues.extend(unknown.cloned().map(Issue::Unknown));
    issues
}

/// The type of a value, as schemas call it.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Says what is wrong with the arguments of a call. A null is a parameter that is not given.
pub fn check(schema: &Value, arguments: &Value) -> Result<(), String> {
    let Some(arguments) = arguments.as_object() else {
        return Err("the arguments must be a JSON object".to_owned());
    };
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    for (name, value) in arguments {
        let Some(property) = properties.get(name) else {
            let names: Vec<&str> = properties.keys().map(String::as_str).collect();
            return Err(format!(
                "there is no parameter `{name}`; there are {}",
                listed(&names)
            ));
        };
        if !value.is_null() && !fits(property, value) {
            let wanted = wanted(property);
            return Err(format!("`{name}` must be {wanted}, not {}", short(value)));
        }
    }
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if arguments.get(name).is_none_or(Value::is_null) {
            let wanted = properties.get(name).map(wanted).unwrap_or_default();
            return Err(format!("`{name}` is missing; it must be {wanted}"));
        }
    }
    Ok(())
}

/// A value as a complaint shows it: nobody needs to read all of a long one.
fn short(value: &Value) -> String {
    let mut shown = value.to_string();
    if shown.len() > MOST_SHOWN {
        let end = (0..=MOST_SHOWN)
            .rev()
            .find(|end| shown.is_char_boundary(*end));
        shown.truncate(end.unwrap_or(0));
        shown.push('…');
    }
    shown
}

fn fits(property: &Value, value: &Value) -> bool {
    let is_within = |number: f64| {
        let bound = |name: &str, or: f64| property[name].as_f64().unwrap_or(or);
        (bound("minimum", f64::MIN)..=bound("maximum", f64::MAX)).contains(&number)
    };
    match property["type"].as_str() {
        Some("string") => {
            let words = property["enum"].as_array();
            let is_short = |text: &str| {
                let most = property["maxLength"].as_u64().unwrap_or(u64::MAX);
                text.len() as u64 <= most || text.chars().count() as u64 <= most
            };
            value.as_str().is_some_and(is_short) && words.is_none_or(|words| words.contains(value))
        }
        Some("integer") => {
            (value.is_i64() || value.is_u64()) && value.as_f64().is_some_and(is_within)
        }
        Some("number") => value.as_f64().is_some_and(is_within),
        Some("boolean") => value.is_boolean(),
        Some("object") => value.is_object(),
        Some("array") => {
            let most = property["maxItems"].as_u64().unwrap_or(u64::MAX);
            value.as_array().is_some_and(|items| {
                let all_fit = || items.iter().all(|item| fits(&property["items"], item));
                items.len() as u64 <= most && all_fit()
            })
        }
        _ => true,
    }
}

/// What a parameter may be, in words.
fn wanted(property: &Value) -> String {
    let words = property["enum"].as_array().into_iter().flatten();
    let words: Vec<&str> = words.filter_map(Value::as_str).collect();
    if !words.is_empty() {
        return format!("one of {}", listed(&words));
    }
    let kind = match property["type"].as_str() {
        Some("string") => "a string",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        Some("boolean") => "true or false",
        Some("object") => "an object",
        Some("array") if property["items"].is_null() => "a list",
        Some("array") => "a list of strings",
        _ => "a value",
    };
    match (&property["minimum"], &property["maximum"]) {
        (Value::Null, _) => match (&property["maxItems"], &property["maxLength"]) {
            (Value::Null, Value::Null) => kind.to_owned(),
            (Value::Null, most) => format!("{kind} of at most {most} characters"),
            (most, _) => format!("{kind}, at most {most}"),
        },
        (least, Value::Null) => format!("{kind} from {least} on"),
        (least, most) => format!("{kind} from {least} to {most}"),
    }
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        [only] => format!("`{only}`"),
        [first @ .., last] => format!("`{}` and `{last}`", first.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_wrong_names_the_parameter_and_what_it_may_be() {
        let schema = json!({
            "type": "object",
            "required": ["action"],
            "properties": {
                "action": {"type": "string", "enum": ["list", "wait"]},
                "jobs": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
                "grep": {"type": "string", "maxLength": 3},
                "tail": {"type": "integer", "minimum": 0},
                "port": {"type": "integer", "minimum": 1, "maximum": 9},
                "any": {"type": "boolean"},
            },
        });
        for (input, expected) in [
            (
                r#"{"action": "list", "tail": null, "jobs": ["a"], "any": true, "port": 9}"#,
                None,
            ),
            (
                r#"{"action": "dance"}"#,
                Some("`action` must be one of `list` and `wait`, not \"dance\""),
            ),
            (
                r#"{"tail": 1}"#,
                Some("`action` is missing; it must be one of `list` and `wait`"),
            ),
            (
                r#"{"action": "list", "speed": 1}"#,
                Some(
                    "there is no parameter `speed`; there are `action`, `jobs`, `grep`, `tail`, `port` and `any`",
                ),
            ),
            (
                r#"{"action": "list", "tail": -1}"#,
                Some("`tail` must be a whole number from 0 on, not -1"),
            ),
            (
                r#"{"action": "list", "tail": 1.5}"#,
                Some("`tail` must be a whole number from 0 on, not 1.5"),
            ),
            (
                r#"{"action": "list", "port": 10}"#,
                Some("`port` must be a whole number from 1 to 9, not 10"),
            ),
            (
                r#"{"action": "list", "any": "yes"}"#,
                Some("`any` must be true or false, not \"yes\""),
            ),
            (
                r#"{"action": "list", "jobs": [1]}"#,
                Some("`jobs` must be a list of strings, at most 2, not [1]"),
            ),
            (
                r#"{"action": "list", "jobs": ["a", "b", "c"]}"#,
                Some(r#"`jobs` must be a list of strings, at most 2, not ["a","b","c"]"#),
            ),
            (r#"{"action": "list", "grep": "äöü"}"#, None),
            (
                r#"{"action": "list", "grep": "abcd"}"#,
                Some("`grep` must be a string of at most 3 characters, not \"abcd\""),
            ),
            ("[]", Some("the arguments must be a JSON object")),
        ] {
            assert_eq!(read(&schema, input).err().as_deref(), expected, "{input}");
        }
        let further = json!({"action": "list", "speed": 1});
        assert_eq!(check_known(&schema, &further), Ok(()));
        let long = json!({"action": "ä".repeat(1000)}).to_string();
        assert!(read(&schema, &long).unwrap_err().len() < 2 * MOST_SHOWN);
        let complaint = read(&schema, "{").unwrap_err();
        assert!(
            complaint.starts_with("the arguments are not JSON: "),
            "{complaint}"
        );
    }
}
