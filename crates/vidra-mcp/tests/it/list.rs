//! The list of tools is a contract: it changes only on purpose.

use std::collections::HashSet;

use serde_json::Value;
use vidra_mcp::{Format, tools};

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tools.json");

/// Run with `VIDRA_UPDATE_DOCS=1` to rewrite the file.
#[test]
fn tools_json_is_up_to_date() {
    let current = Format::JsonSchema.list();
    if std::env::var_os("VIDRA_UPDATE_DOCS").is_some() {
        std::fs::write(LIST, serde_json::to_string_pretty(&current).unwrap() + "\n").unwrap();
    }
    let documented: Value = serde_json::from_str(&std::fs::read_to_string(LIST).unwrap()).unwrap();
    assert!(
        documented == current,
        "docs/tools.json is out of date: VIDRA_UPDATE_DOCS=1 rewrites it"
    );
}

#[test]
fn tool_names_match_the_contract() {
    let names: Vec<&str> = tools().iter().map(|tool| tool.name).collect();
    assert_eq!(
        names,
        [
            "get_video",
            "get_videos",
            "search_youtube",
            "get_popular_videos",
            "get_channel",
            "get_channel_videos",
            "get_channel_playlists",
            "get_feed",
            "get_playlist",
            "get_playlist_info",
            "get_playlist_videos",
            "query_playlist",
            "get_comments",
            "get_top_comments",
            "search_comments",
            "get_caption_tracks",
            "transcribe_video",
            "batch_transcribe",
            "transcribe_playlist",
        ]
    );
}

#[test]
fn every_argument_is_described_and_bounded() {
    for tool in tools() {
        let schema = Value::Object((*tool.input_schema).clone());
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        assert!(tool.description.len() > 60 && tool.description.len() < 1_000, "{}", tool.name);
        for (name, argument) in schema["properties"].as_object().unwrap() {
            let what = format!("{} {name}: {argument}", tool.name);
            assert!(argument["description"].is_string(), "{what}");
            match argument["type"].as_str().unwrap() {
                "integer" => assert!(argument["maximum"].is_number(), "{what}"),
                "array" => assert!(argument["maxItems"].is_number(), "{what}"),
                "string" => {
                    let bounds = ["maxLength", "enum", "pattern"];
                    assert!(bounds.iter().any(|it| !argument[it].is_null()), "{what}");
                }
                "boolean" => {}
                "object" => assert_eq!(argument["additionalProperties"], false, "{what}"),
                other => panic!("{what}: {other}"),
            }
        }
        let output = Value::Object((*tool.output_schema).clone());
        assert_eq!(output["type"], "object", "{}", tool.name);
        assert!(output["required"].as_array().unwrap().contains(&"notice".into()));
    }
}

/// Keywords that callers with limited JSON Schema support do not understand.
#[test]
fn schemas_avoid_unsupported_keywords() {
    fn words(schema: &Value, found: &mut HashSet<String>) {
        match schema {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if name == "properties" {
                        value.as_object().unwrap().values().for_each(|it| words(it, found));
                    } else {
                        found.insert(name.clone());
                        words(value, found);
                    }
                }
            }
            Value::Array(all) => all.iter().for_each(|it| words(it, found)),
            _ => {}
        }
    }
    let (mut inputs, mut gemini) = (HashSet::new(), HashSet::new());
    for tool in tools() {
        words(&Value::Object((*tool.input_schema).clone()), &mut inputs);
        words(&Value::Object((*tool.output_schema).clone()), &mut inputs);
    }
    for word in ["$ref", "$defs", "title", "format", "oneOf", "anyOf"] {
        assert!(!inputs.contains(word), "{word}");
    }
    for declared in Format::Gemini.list()[0]["functionDeclarations"].as_array().unwrap() {
        words(&declared["parameters"], &mut gemini);
    }
    for word in ["$schema", "additionalProperties", "examples"] {
        assert!(!gemini.contains(word), "{word}");
    }
}
