//! A validator for the discovery document, the platform's description of its answers.

use serde_json::Value;
use std::path::PathBuf;

/// The folder of responses recorded from the platform; `None`, with a message, if there is none.
pub(crate) fn fixtures() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures");
    let folder = std::env::var_os("VIDRA_FIXTURES").map_or_else(|| default.into(), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    let required = std::env::var_os("VIDRA_REQUIRE_FIXTURES").is_some_and(|value| value == "1");
    assert!(!required, "VIDRA_REQUIRE_FIXTURES=1, but there is no {}", folder.display());
    println!("skipped: no {}; set VIDRA_FIXTURES to the folder of recordings", folder.display());
    None
}

/// The second folder of recordings, beside the first; `None`, with a message, if there is none.
pub(crate) fn more_fixtures() -> Option<PathBuf> {
    let first = fixtures()?;
    let mut name = first.file_name()?.to_owned();
    name.push("-2");
    let second = first.with_file_name(name);
    if !second.is_dir() {
        println!("skipped: no {}", second.display());
        return None;
    }
    Some(second)
}

/// Members that the platform sends and the document does not describe.
const UNDESCRIBED: [&str; 1] = ["SearchListResponse.items.snippet.publishTime"];

/// The discovery document.
pub(crate) struct Discovery(Value);

impl Discovery {
    /// Reads the document; `None`, with a message, if the fixtures are missing.
    pub(crate) fn load() -> Option<Self> {
        let text = std::fs::read(fixtures()?.join("discovery/youtube-v3.json"));
        let text = text.expect("the fixtures have a discovery document");
        Some(Self(serde_json::from_slice(&text).expect("the discovery document is JSON")))
    }

    /// The names of the parameters of a method.
    pub(crate) fn parameters(&self, resource: &str) -> Vec<&str> {
        let parameters = &self.0["resources"][resource]["methods"]["list"]["parameters"];
        parameters
            .as_object()
            .expect("a method with parameters")
            .keys()
            .map(String::as_str)
            .collect()
    }

    /// All violations of a schema by a value.
    pub(crate) fn check(&self, schema: &str, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        self.check_at(schema, &self.0["schemas"][schema], value, &mut faults);
        faults
    }

    fn check_at(&self, at: &str, schema: &Value, value: &Value, faults: &mut Vec<String>) {
        if let Some(name) = schema["$ref"].as_str() {
            return self.check_at(at, &self.0["schemas"][name], value, faults);
        }
        let fits = match (schema["type"].as_str(), value) {
            (Some("object"), Value::Object(_)) => {
                self.check_object(at, schema, value, faults);
                true
            }
            (Some("array"), Value::Array(entries)) => {
                entries.iter().for_each(|entry| self.check_at(at, &schema["items"], entry, faults));
                true
            }
            (Some("string"), Value::String(text)) => string_fits(schema, text),
            (Some("integer"), Value::Number(number)) => {
                integer_fits(schema["format"].as_str(), number)
            }
            (Some("number"), Value::Number(_)) | (Some("boolean"), Value::Bool(_)) => true,
            _ => false,
        };
        if !fits {
            faults.push(format!("{at}: {value} is not {schema}"));
        }
    }

    fn check_object(&self, at: &str, schema: &Value, value: &Value, faults: &mut Vec<String>) {
        for (name, member) in value.as_object().into_iter().flatten() {
            let here = format!("{at}.{name}");
            let described =
                schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
            match described {
                Some(schema) => self.check_at(&here, schema, member, faults),
                None if UNDESCRIBED.iter().any(|known| here.ends_with(known)) => {}
                None => faults.push(format!("{here} is not described")),
            }
        }
    }
}

fn string_fits(schema: &Value, text: &str) -> bool {
    let listed =
        schema["enum"].as_array().is_none_or(|values| values.iter().any(|value| value == text));
    let shaped = match schema["format"].as_str() {
        Some("uint64") => text.parse::<u64>().is_ok(),
        Some("int64") => text.parse::<i64>().is_ok(),
        Some("date-time") => text.parse::<jiff::Timestamp>().is_ok() && text.ends_with('Z'),
        _ => true,
    };
    listed && shaped
}

fn integer_fits(format: Option<&str>, number: &serde_json::Number) -> bool {
    match format {
        Some("uint32") => number.as_u64().is_some_and(|n| u32::try_from(n).is_ok()),
        _ => number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
    }
}

#[test]
fn validator_reports_every_schema_violation() {
    let Some(discovery) = Discovery::load() else { return };
    let wrong = serde_json::json!({
        "kind": 1,
        "surprise": true,
        "items": [{
            "statistics": {"viewCount": 5, "likeCount": "many"},
            "snippet": {"publishedAt": "yesterday", "liveBroadcastContent": "maybe"},
            "status": {"embeddable": "true"},
        }],
    });
    let faults = discovery.check("VideoListResponse", &wrong);
    assert_eq!(faults.len(), 7, "{faults:#?}");
    assert!(discovery.check("VideoListResponse", &serde_json::json!({"items": []})).is_empty());
}
