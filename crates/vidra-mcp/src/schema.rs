//! JSON Schemas of the inputs and outputs of tools.

use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of a type as an input.
pub(crate) fn input_schema<T: JsonSchema>() -> Map<String, Value> {
    schema::<T>(Contract::Deserialize)
}

/// The schema of a type as an output.
pub(crate) fn output_schema<T: JsonSchema>() -> Map<String, Value> {
    schema::<T>(Contract::Serialize)
}

fn schema<T: JsonSchema>(contract: Contract) -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.contract = contract;
    // Many clients do not resolve references, and our types are small.
    settings.inline_subschemas = true;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = Value::from(schema);
    tidy(&mut schema);
    if let Value::Object(fields) = &mut schema {
        fields.remove("description");
    }
    match schema {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Removes what is of no use to callers: names of Rust types, sizes of Rust numbers, and `null` as an
/// alternative to an absent member.
fn tidy(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
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
    each_below(fields, tidy);
}

/// Visits the schemas directly within a schema.
pub(crate) fn each_below(fields: &mut Map<String, Value>, visit: fn(&mut Value)) {
    for (name, value) in fields {
        match (name.as_str(), value) {
            // Its keys are names of fields and no keywords.
            ("properties", Value::Object(members)) => members.values_mut().for_each(visit),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(members)) => {
                members.iter_mut().for_each(visit);
            }
            ("items" | "additionalProperties", value) => visit(value),
            _ => {}
        }
    }
}
