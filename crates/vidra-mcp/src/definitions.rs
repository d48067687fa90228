//! The list of tools in the format of each vendor's function calling.

use rmcp::model::ToolAnnotations;
use serde_json::{Value, json};

use crate::schema::each_below;
use crate::tools::tools;

/// The vendor whose format the list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `tools` of OpenAI's chat completions, which many other APIs accept too.
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

/// The annotations of every tool: it only reads, and it accesses the outside world.
pub(crate) fn annotations(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title)
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(true)
}

/// Removes the keywords that Gemini rejects: it accepts a subset of OpenAPI's schemas.
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
