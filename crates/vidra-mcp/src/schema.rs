//! JSON Schemas of the inputs and outputs of tools.

use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// The schema of a type as an input or as an output.
pub(crate) fn schema<T: JsonSchema>(contract: Contract) -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.contract = contract;
    // Many clients do not resolve references, and our types are small.
    settings.inline_subschemas = true;
    let settings = settings.with_transform(RecursiveTransform(tidy));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("description");
    schema.to_value().as_object().cloned().unwrap_or_default()
}

/// Removes what is of no use to callers: names of Rust types, sizes of Rust numbers, and `null` as an
/// alternative to an absent member.
fn tidy(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut() else { return };
    fields.remove("title");
    if fields.get("default") == Some(&Value::Null) {
        fields.remove("default");
    }
    if let Some(format) = fields.get("format").and_then(Value::as_str)
        && format.trim_start_matches('u').starts_with("int")
    {
        fields.remove("format");
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(words)) = fields.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
        choices.retain(|choice| *choice != json!({"type": "null"}));
        if choices.len() == 1
            && let Some(Value::Object(only)) = choices.pop()
        {
            fields.remove("anyOf");
            for (name, value) in only {
                fields.entry(name).or_insert(value);
            }
        }
    }
}
