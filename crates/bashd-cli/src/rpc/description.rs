//! The protocol as data, in JSON Schema: clients in other languages are made from it (`sdk/`).
//!
//! `protocol.json` has every message. The types that the code defines elsewhere are added here:
//! the reply from its own lines, and the arguments of the `default` profile's tools. A test holds
//! it against the parser, and another against what a server really says.

use super::connection::PROTOCOL;
use crate::failure::{Failure, FailureKind};
use crate::serve::{field_type, stored};
use bashd::profile::schema;
use bashd::{Nothing, Profile, Reply, ReplyField};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Every message, without the types that are made from code.
const MESSAGES: &str = include_str!("protocol.json");

/// The whole description.
pub(crate) fn description() -> Result<Value, Failure> {
    let broken = |reason: String| Failure::new(FailureKind::System, reason);
    let mut description: Value =
        serde_json::from_str(MESSAGES).map_err(|error| broken(error.to_string()))?;
    description["protocol"] = json!(PROTOCOL);
    let profile = Profile::builtin("")?.ok_or_else(|| broken("there is no profile".to_owned()))?;
    let config = bashd::config::Config::new(PathBuf::new());
    let bash = schema::definition(&profile, "", &config);
    let job = schema::job_definition(&profile, &config).unwrap_or_default();
    for (name, about, definition) in [
        (
            "Reply",
            "The answer to a call, whatever happened.",
            of_object(Reply::FIELDS),
        ),
        (
            "BashArguments",
            "What runs a command.",
            open(&bash["input_schema"]),
        ),
        (
            "JobArguments",
            "What manages jobs.",
            open(&job["input_schema"]),
        ),
        (
            "ArtifactArguments",
            "Which part of stored output.",
            open(&stored::input()),
        ),
    ] {
        let mut found = Map::new();
        let mut definition = named_apart(definition, &mut found);
        definition["description"] = json!(about);
        description["$defs"][name] = definition;
        for (name, definition) in found {
            description["$defs"][name] = definition;
        }
    }
    Ok(description)
}

/// A schema to which fields may be added.
fn open(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        members.shift_remove("additionalProperties");
    }
    schema
}

fn of_object(fields: &[ReplyField]) -> Value {
    let required = fields
        .iter()
        .filter(|field| field.without != Nothing::Absent);
    let required: Vec<&str> = required.map(|field| field.name).collect();
    let property = |field: &ReplyField| {
        let mut property = field_type::schema(field.holds, of_object);
        if field.without == Nothing::Null {
            property = json!({"anyOf": [property, {"type": "null"}]});
        }
        property["description"] = json!(field.about());
        (field.name.to_owned(), property)
    };
    let properties: Map<String, Value> = fields.iter().map(property).collect();
    if fields.is_empty() {
        return json!({"type": "object"});
    }
    json!({"type": "object", "required": required, "properties": properties})
}

/// The schema of an object whose inner objects are types with names: those of their fields.
fn named_apart(mut schema: Value, found: &mut Map<String, Value>) -> Value {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (field, property) in properties.into_iter().flatten() {
        let about = property["description"].clone();
        for place in ["", "/items", "/anyOf/0"] {
            let Some(inner) = property.pointer_mut(place) else {
                continue;
            };
            if inner["properties"].is_object() {
                let name = type_name(field);
                let reference = json!({"$ref": format!("#/$defs/{name}")});
                let mut definition = named_apart(open(inner), found);
                *inner = reference;
                definition["description"] = about.clone();
                found.insert(name, definition);
            }
        }
        property["description"] = about;
    }
    schema
}

/// `left_behind` as the name of a type: `LeftBehind`.
fn type_name(field: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    field.split('_').map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::super::message;
    use super::*;

    /// Some value of a type.
    fn sample(schema: &Value, description: &Value) -> Value {
        if let Some(path) = schema["$ref"]
            .as_str()
            .and_then(|path| path.strip_prefix('#'))
        {
            return sample(description.pointer(path).unwrap(), description);
        }
        match schema["type"].as_str() {
            Some("boolean") => json!(true),
            Some("string") => json!("x"),
            Some("object") => {
                let properties = schema["properties"].as_object().cloned();
                let properties = properties.unwrap_or_default().into_iter();
                properties
                    .map(|(name, property)| (name, sample(&property, description)))
                    .collect::<Map<_, _>>()
                    .into()
            }
            _ => json!("1"),
        }
    }

    #[test]
    fn the_description_has_exactly_the_fields_that_are_read() {
        let description = description().unwrap();
        let requests = description["requests"].as_object().unwrap();
        for (name, request) in requests {
            let mut line = sample(&request["fields"], &description);
            line["type"] = json!(name);
            if name == "reply" {
                // It has an error or a result.
                line.as_object_mut().unwrap().remove("error");
            }
            line["id"] = json!("1");
            let read = |line: &Value| message::read(line.to_string().as_bytes());
            assert!(read(&line).is_ok(), "{name}: {:?}", read(&line));
            line["nonsense"] = json!(1);
            let reason = read(&line).unwrap_err().reason;
            let known = reason.split("there are id, type").nth(1).unwrap();
            let known: Vec<&str> = known.split(", ").filter(|name| !name.is_empty()).collect();
            let described = request["fields"]["properties"].as_object();
            let described: Vec<&String> = described.into_iter().flat_map(Map::keys).collect();
            assert_eq!(known, described, "{name}");
        }
        for name in message::KNOWN {
            assert!(requests.contains_key(*name), "{name} is not described");
        }
    }
}
