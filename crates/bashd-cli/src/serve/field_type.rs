//! The type of a reply's field in JSON Schema. Protocols differ in how they describe objects.

use bashd::{FieldType, ReplyField};
use serde_json::{Value, json};

/// What a field holds; `of_object` describes fields that are objects.
pub(crate) fn schema(holds: FieldType, of_object: fn(&[ReplyField]) -> Value) -> Value {
    match holds {
        FieldType::Text => json!({"type": "string"}),
        FieldType::Flag => json!({"type": "boolean"}),
        FieldType::Integer => json!({"type": "integer"}),
        FieldType::Count => json!({"type": "integer", "minimum": 0}),
        FieldType::OneOf(words) => json!({"type": "string", "enum": words}),
        FieldType::List(of) => json!({"type": "array", "items": schema(*of, of_object)}),
        FieldType::Object(fields) => of_object(fields),
    }
}
