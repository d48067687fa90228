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

/// A schema of arguments as models see it. Bounds and examples are left out, because every token counts and a fault names
/// them.
pub(crate) fn short(mut schema: Map<String, Value>) -> Map<String, Value> {
    shorten(&mut schema);
    schema
}

fn shorten(schema: &mut Map<String, Value>) {
    const KEYWORDS: [&str; 6] = ["type", "description", "enum", "items", "properties", "required"];
    schema.retain(|keyword, _| KEYWORDS.contains(&keyword.as_str()));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(shorten);
    }
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        shorten(items);
        // It says the same as that of the list.
        items.remove("description");
    }
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
        && ["int", "uint", "double"].iter().any(|it| format.starts_with(it))
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
