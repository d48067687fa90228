//! Reads the arguments of a call. Usual slips of models are accepted, and faults are explained so that a model can correct
//! them.

use std::fmt::Write;

use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};
use serde_path_to_error::{Path, Segment};

use crate::call_error::CallError;
use crate::page::{clip, one_line};

/// The maximum length of a given value in a fault, in characters.
const SHOWN: usize = 80;

/// The most faults that are reported.
const MOST_FAULTS: usize = 10;

/// The longest name of an argument that is compared with the known ones, in characters.
const LONGEST_NAME: usize = 40;

/// Parses arguments as the input of a tool that has this schema.
///
/// # Errors
///
/// [`CallError::BadArguments`] with all faults. Each names the argument, the given value, the expected form and an example.
pub(crate) fn parse<T: DeserializeOwned>(
    arguments: Value,
    schema: &Map<String, Value>,
) -> Result<T, CallError> {
    let mut members = match arguments {
        Value::Null => Map::new(),
        Value::Object(members) => members,
        other => {
            let got = shown(&other);
            return Err(CallError::bad(format!("arguments: {got}; expected an object")));
        }
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let property = |name: &str| properties.and_then(|it| it.get(name)).unwrap_or(&Value::Null);
    let mut faults = vec![];
    // Some models send null for arguments that they leave out.
    members.retain(|_, value| !value.is_null());
    let names: Vec<String> = members.keys().cloned().collect();
    for name in names {
        match property(&name) {
            Value::Null => {
                members.remove(&name);
                if faults.len() <= MOST_FAULTS {
                    faults.push(unknown(&name, properties));
                }
            }
            schema => members[&name] = coerced(members[&name].take(), schema),
        }
    }
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let Some(name) = name.as_str() else { continue };
        if !members.contains_key(name) {
            faults.push(format!("{name}: is missing; {}", expected(property(name))));
        }
    }
    loop {
        match serde_path_to_error::deserialize::<_, T>(Value::Object(members.clone())) {
            Ok(input) if faults.is_empty() => return Ok(input),
            Ok(_) => break,
            Err(error) => {
                let Some(Segment::Map { key }) = error.path().iter().next() else {
                    // A missing argument, which was reported above.
                    if faults.is_empty() {
                        faults.push(error.inner().to_string());
                    }
                    break;
                };
                faults.push(fault(
                    error.path(),
                    &error.inner().to_string(),
                    &members,
                    property(key),
                ));
                // Without it, the others are read too. A required one ends the search for faults.
                members.remove(key);
            }
        }
    }
    if faults.len() > MOST_FAULTS {
        let more = faults.len() - MOST_FAULTS;
        faults.truncate(MOST_FAULTS);
        faults.push(format!("{more} more faults"));
    }
    Err(CallError::BadArguments(faults))
}

/// Describes a value that its parser rejected.
fn fault(path: &Path, why: &str, members: &Map<String, Value>, schema: &Value) -> String {
    let (mut value, mut schema) = (None::<&Value>, schema);
    for segment in path.iter() {
        match segment {
            Segment::Map { key } if value.is_none() => value = members.get(key),
            Segment::Map { key } => {
                value = value.and_then(|it| it.get(key));
                schema = &schema["properties"][key];
            }
            Segment::Seq { index } => {
                value = value.and_then(|it| it.get(index));
                schema = &schema["items"];
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    let got = value.map_or_else(|| "nothing".to_owned(), shown);
    if schema["enum"].is_array() {
        return format!("{path}: {got} is not valid; {}", expected(schema));
    }
    let why = one_line(why.trim_end_matches('.'));
    let expected = match why.contains("expected ") {
        true => described(schema).trim_start_matches([' ', ',']).to_owned(),
        false => expected(schema),
    };
    format!("{path}: {got} is not valid: {why}; {expected}")
}

fn shown(value: &Value) -> String {
    clip(&one_line(&value.to_string()), SHOWN).0
}

fn unknown(name: &str, properties: Option<&Map<String, Value>>) -> String {
    let known: Vec<&str> = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    let distance = |it: &&&str| strsim::damerau_levenshtein(it, name);
    let is_short = name.chars().count() <= LONGEST_NAME;
    let nearest = known.iter().filter(|_| is_short).min_by_key(distance);
    let nearest = nearest.filter(|it| distance(it) <= 3);
    let advice = nearest.map_or_else(|| ".".to_owned(), |it| format!("; did you mean {it}?"));
    let name = clip(&one_line(name), SHOWN).0;
    format!("{name}: there is no such argument{advice} Expected any of: {}", known.join(", "))
}

/// The expected form of an argument and an example of it.
fn expected(schema: &Value) -> String {
    let mut text = "expected ".to_owned();
    let words = schema["enum"].as_array().or_else(|| schema["items"]["enum"].as_array());
    let range = (schema["minimum"].as_u64(), schema["maximum"].as_u64());
    match (words, range, schema["type"].as_str()) {
        (Some(words), ..) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            text += &format!("one of {}", words.join(", "));
        }
        (_, (Some(least), Some(most)), _) => {
            text += &format!("a whole number from {least} to {most}");
        }
        (_, _, Some("array")) => text += "a list of texts",
        (_, _, Some("boolean")) => text += "true or false",
        (_, _, Some("object")) => text += "an object",
        _ => text += "a text",
    }
    text + &described(schema)
}

/// The description of an argument and an example of it.
fn described(schema: &Value) -> String {
    let mut text = String::new();
    let words = schema["enum"].as_array().or_else(|| schema["items"]["enum"].as_array());
    if let Some(description) = schema["description"].as_str() {
        let _ = write!(text, " ({})", one_line(description.trim_end_matches('.')));
    }
    let examples = schema["examples"].as_array().and_then(|it| it.first());
    let of_items = schema["items"]["examples"].as_array().and_then(|it| it.first());
    let example = examples.cloned().or_else(|| Some(Value::Array(vec![of_items?.clone()])));
    let word = || words.and_then(|it| it.first()).cloned();
    if let Some(example) =
        example.or_else(word).or_else(|| schema["minimum"].as_u64().map(Value::from))
    {
        let _ = write!(text, ", for example {example}");
    }
    text
}

/// A value in the type of its schema, if it is obvious what was meant: a number or a list as text, a text with spaces around
/// it, a single value instead of a list.
fn coerced(value: Value, schema: &Value) -> Value {
    match (schema["type"].as_str(), value) {
        (Some("string"), Value::String(text)) => Value::String(text.trim().to_owned()),
        (Some("string"), Value::Number(number)) => Value::String(number.to_string()),
        (Some("integer"), Value::String(text)) => number(&text).unwrap_or(Value::String(text)),
        (Some("boolean"), Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::String(text),
        },
        (Some("array"), Value::Array(items)) => {
            items.into_iter().map(|it| coerced(it, &schema["items"])).collect()
        }
        (Some("array"), value) => match from_json(&value).filter(Value::is_array) {
            Some(list) => coerced(list, schema),
            None => Value::Array(vec![coerced(value, &schema["items"])]),
        },
        (Some("object"), Value::Object(members)) => {
            let member = |(name, value)| {
                let value = coerced(value, &schema["properties"][&name]);
                (name, value)
            };
            let present = members.into_iter().filter(|(_, value)| !value.is_null());
            present.map(member).collect::<Map<_, _>>().into()
        }
        (Some("object"), value) => match from_json(&value).filter(Value::is_object) {
            Some(object) => coerced(object, schema),
            None => value,
        },
        (_, value) => value,
    }
}

fn number(text: &str) -> Option<Value> {
    let text = text.trim();
    let groups: Vec<&str> = text.split([',', '_']).collect();
    let is_grouped = groups.iter().skip(1).all(|it| it.len() == 3 && !it.contains('.'));
    let text = if is_grouped { groups.concat() } else { text.to_owned() };
    let number = text.parse::<u64>().map(Number::from);
    number.ok().or_else(|| Number::from_f64(text.parse().ok()?)).map(Value::Number)
}

/// The value that a text is the JSON of.
fn from_json(value: &Value) -> Option<Value> {
    let text = value.as_str()?.trim();
    let is_json = text.starts_with(['[', '{']);
    is_json.then(|| serde_json::from_str(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn usual_slips_are_accepted() {
        let list = json!({"type": "array", "items": {"type": "string"}});
        let object = json!({"type": "object", "properties": {"min": {"type": "integer"}}});
        let (text, integer) = (json!({"type": "string"}), json!({"type": "integer"}));
        let table = [
            (json!(" a "), &text, json!("a")),
            (json!(90), &text, json!("90")),
            (json!(" 3 "), &integer, json!(3)),
            (json!("1,000"), &integer, json!(1_000)),
            (json!("3.0"), &integer, json!(3.0)),
            (json!("three"), &integer, json!("three")),
            (json!("1,5"), &integer, json!("1,5")),
            (json!("a"), &list, json!(["a"])),
            (json!([" a", 5]), &list, json!(["a", "5"])),
            (json!("[\"a\", \"b\"]"), &list, json!(["a", "b"])),
            (json!("[a"), &list, json!(["[a"])),
            (json!("True"), &json!({"type": "boolean"}), json!(true)),
            (json!("yes"), &json!({"type": "boolean"}), json!("yes")),
            (json!({"min": "5", "max": null}), &object, json!({"min": 5})),
            (json!("{\"min\": 5}"), &object, json!({"min": 5})),
            (json!("5"), &object, json!("5")),
        ];
        for (value, schema, expected) in table {
            assert_eq!(coerced(value.clone(), schema), expected, "{value} {schema}");
        }
    }

    #[test]
    fn expected_form_has_bounds_words_and_an_example() {
        let table = [
            (
                json!({"type": "string", "description": "A video.", "examples": ["dQw4w9WgXcQ"]}),
                "expected a text (A video), for example \"dQw4w9WgXcQ\"",
            ),
            (
                json!({"type": "integer", "minimum": 1, "maximum": 50}),
                "expected a whole number from 1 to 50, for example 1",
            ),
            (
                json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}),
                "expected one of a, b, for example \"a\"",
            ),
            (json!({"type": "boolean"}), "expected true or false"),
        ];
        for (schema, text) in table {
            assert_eq!(expected(&schema), text);
        }
    }
}
