//! Types to JSON Schema, and the list of tools in the words of those who call functions.

use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::tools::tools;

/// The schema of what a type is read from.
pub(crate) fn of_input<T: JsonSchema>() -> Map<String, Value> {
    of::<T>(Contract::Deserialize)
}

/// The schema of what a type is written to.
pub(crate) fn of_output<T: JsonSchema>() -> Map<String, Value> {
    of::<T>(Contract::Serialize)
}

fn of<T: JsonSchema>(contract: Contract) -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.contract = contract;
    // Many callers do not follow references, and our types are small.
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

/// Leaves out what says nothing: names of Rust types, sizes of Rust numbers, and that what may be left
/// out may also be `null`.
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

/// Visits the schemas within a schema.
fn each_below(fields: &mut Map<String, Value>, visit: fn(&mut Value)) {
    for (name, value) in fields {
        match (name.as_str(), value) {
            // Its members are fields of the data, whatever their names.
            ("properties", Value::Object(members)) => members.values_mut().for_each(visit),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(members)) => {
                members.iter_mut().for_each(visit);
            }
            ("items" | "additionalProperties", value) => visit(value),
            _ => {}
        }
    }
}

/// In whose words the tools are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `tools` of OpenAI's chat completions, which many others understand too.
    OpenAi,
    /// `tools` of Anthropic's messages.
    Anthropic,
    /// `tools` of Gemini's generateContent.
    Gemini,
    /// Name, schemas and annotations, as MCP lists them.
    JsonSchema,
}

impl Format {
    /// The list of tools.
    pub fn list(self) -> Value {
        let each = tools().iter().map(|tool| {
            let (name, description) = (tool.name, tool.description);
            let input = Value::Object((*tool.input_schema).clone());
            match self {
                Self::OpenAi => json!({
                    "type": "function",
                    "function": {"name": name, "description": description, "parameters": input},
                }),
                Self::Anthropic => {
                    json!({"name": name, "description": description, "input_schema": input})
                }
                Self::Gemini => {
                    let mut parameters = input;
                    for_gemini(&mut parameters);
                    json!({"name": name, "description": description, "parameters": parameters})
                }
                Self::JsonSchema => json!({
                    "name": name,
                    "title": tool.title,
                    "description": description,
                    "inputSchema": input,
                    "outputSchema": *tool.output_schema,
                    "annotations": annotations(tool.title),
                }),
            }
        });
        let each: Vec<Value> = each.collect();
        match self {
            Self::Gemini => json!([{"functionDeclarations": each}]),
            _ => Value::Array(each),
        }
    }
}

/// What is the same of all tools: they read, and what they read is the world outside.
pub(crate) fn annotations(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title)
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(true)
}

/// Gemini takes a part of OpenAPI's schemas and refuses what is beyond it.
fn for_gemini(schema: &mut Value) {
    const KNOWN: [&str; 16] = [
        "type",
        "description",
        "enum",
        "items",
        "properties",
        "required",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "pattern",
        "anyOf",
        "format",
        "default",
    ];
    let Value::Object(fields) = schema else { return };
    fields.retain(|name, _| KNOWN.contains(&name.as_str()));
    each_below(fields, for_gemini);
}
