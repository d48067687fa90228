//! The list of tools in the format of each vendor's function calling.

use std::sync::Arc;

use rmcp::model::ToolAnnotations;
use schemars::Schema;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::{Value, json};

use crate::tools::{Tool, ToolList};

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
    /// The tools of a list, for a caller with or without a library.
    pub fn list(self, list: ToolList, has_library: bool) -> Value {
        let each = list.tools(has_library).map(|tool| {
            let (name, description) = (tool.name, tool.description);
            let input = &*tool.input_schema;
            match self {
                Self::OpenAi => json!({
                    "type": "function",
                    "function": {"name": name, "description": description, "parameters": input},
                }),
                Self::Anthropic => {
                    json!({"name": name, "description": description, "input_schema": input})
                }
                Self::Gemini => {
                    let mut parameters = Schema::from((*tool.input_schema).clone());
                    RecursiveTransform(for_gemini).transform(&mut parameters);
                    json!({"name": name, "description": description, "parameters": parameters})
                }
                Self::JsonSchema => json!(mcp_tool(tool)),
            }
        });
        let each: Vec<Value> = each.collect();
        match self {
            Self::Gemini => json!([{"functionDeclarations": each}]),
            _ => Value::Array(each),
        }
    }
}

/// The MCP definition of a tool. Tools access the outside world, and destroy nothing.
pub(crate) fn mcp_tool(tool: &Tool) -> rmcp::model::Tool {
    let annotations = ToolAnnotations::with_title(tool.title)
        .read_only(!tool.is_action())
        .destructive(false)
        .idempotent(!tool.is_action())
        .open_world(true);
    rmcp::model::Tool::new(tool.name, tool.description, Arc::clone(&tool.input_schema))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::clone(&tool.output_schema))
        .with_annotations(annotations)
}

/// Removes the keywords that Gemini rejects: it accepts a subset of OpenAPI's schemas.
fn for_gemini(schema: &mut Schema) {
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
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|name, _| KNOWN.contains(&name.as_str()));
    }
}
