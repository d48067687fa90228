//! The list of tools is a contract: it changes only on purpose.

use std::collections::HashSet;

use serde_json::Value;
use tiktoken_rs::o200k_base;
use vidra_mcp::{Format, ToolList, tools};

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tools.json");

/// Run with `VIDRA_UPDATE_DOCS=1` to rewrite the file.
#[test]
fn tools_json_is_up_to_date() {
    let current = Format::JsonSchema.list(ToolList::All, true);
    if std::env::var_os("VIDRA_UPDATE_DOCS").is_some() {
        std::fs::write(LIST, serde_json::to_string_pretty(&current).unwrap() + "\n").unwrap();
    }
    let documented: Value = serde_json::from_str(&std::fs::read_to_string(LIST).unwrap()).unwrap();
    assert!(
        documented == current,
        "docs/tools.json is out of date: VIDRA_UPDATE_DOCS=1 rewrites it"
    );
}

const SHORT: [&str; 11] = [
    "search_transcripts",
    "search_library",
    "search_youtube",
    "get_videos",
    "get_transcript",
    "get_channel",
    "get_playlist",
    "get_comments",
    "get_trends",
    "start_job",
    "get_job",
];

#[test]
fn tool_names_match_the_contract() {
    let names = |list: ToolList, has_library| -> Vec<&str> {
        list.tools(has_library).map(|tool| tool.name).collect()
    };
    assert_eq!(names(ToolList::Short, true), SHORT);
    let without = names(ToolList::Short, false);
    assert_eq!(
        without,
        [
            "search_youtube",
            "get_videos",
            "get_transcript",
            "get_channel",
            "get_playlist",
            "get_comments"
        ]
    );
    let former = [
        "get_video",
        "get_popular_videos",
        "get_channel_videos",
        "get_channel_playlists",
        "get_feed",
        "get_playlist_info",
        "get_playlist_videos",
        "query_playlist",
        "get_top_comments",
        "search_comments",
        "get_caption_tracks",
        "transcribe_video",
        "batch_transcribe",
        "transcribe_playlist",
    ];
    assert_eq!(names(ToolList::All, true), [&SHORT[..], &former].concat());
    assert_eq!(tools().len(), SHORT.len() + former.len());
}

/// The list is in the context of every conversation.
#[test]
fn the_list_costs_a_model_at_most_2800_tokens() {
    let tokenizer = o200k_base().unwrap();
    let tokens = |text: &str| tokenizer.encode_with_special_tokens(text).len();
    let list = Format::Anthropic.list(ToolList::Short, true);
    let each = list
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].clone(), tokens(&tool.to_string())));
    let each: Vec<_> = each.collect();
    let all = tokens(&list.to_string());
    println!("{all} tokens in {} tools: {each:?}", each.len());
    assert!(all <= 2_800, "{all}: {each:?}");
}

#[test]
fn every_tool_is_described() {
    for tool in tools() {
        let schema = Value::Object((*tool.input_schema).clone());
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert!(tool.description.len() > 40 && tool.description.len() < 300, "{}", tool.name);
        for (name, argument) in schema["properties"].as_object().unwrap() {
            assert!(argument["type"].is_string(), "{} {name}: {argument}", tool.name);
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
    for declared in
        Format::Gemini.list(ToolList::All, true)[0]["functionDeclarations"].as_array().unwrap()
    {
        words(&declared["parameters"], &mut gemini);
    }
    for word in ["$schema", "additionalProperties", "examples"] {
        assert!(!gemini.contains(word), "{word}");
    }
}
