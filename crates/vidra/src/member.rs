//! Reads members of the JSON that callers send, for programs with request bodies of their own. The error of a
//! member is a fault: the rest of a sentence that begins with its name.

use std::ops::RangeInclusive;

use jiff::Timestamp;
use serde_json::Value;

use crate::error::Result as Parsed;
use crate::language::LanguageCode;
use crate::list::DateRange;
use crate::transcript::{CaptionKind, Languages};
use crate::whole::{self, MAX};

/// A whole number, also from a string or from `3.0`.
///
/// # Errors
///
/// If it is anything else, or out of bounds.
///
/// ```
/// use serde_json::json;
/// use vidra::member::number;
/// assert_eq!(number(&json!("8"), 1..=20), Ok(8));
/// assert_eq!(number(&json!(0), 1..=20).unwrap_err(), "must be a whole number from 1 to 20");
/// ```
pub fn number(value: &Value, bounds: RangeInclusive<u64>) -> Result<u64, String> {
    let number = match value {
        Value::Number(number) => whole::whole(number),
        Value::String(text) if text.trim().bytes().all(|byte| byte.is_ascii_digit()) => {
            text.trim().parse().ok()
        }
        _ => None,
    };
    number.filter(|number| bounds.contains(number)).ok_or_else(|| match bounds.into_inner() {
        (least, MAX) => format!("must be a whole number, {least} or more"),
        (least, most) => format!("must be a whole number from {least} to {most}"),
    })
}

/// `true` or `false`, also as a string.
///
/// # Errors
///
/// If it is anything else.
pub fn boolean(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(value) => Ok(*value),
        Value::String(text) if text == "true" => Ok(true),
        Value::String(text) if text == "false" => Ok(false),
        _ => Err("must be true or false".to_owned()),
    }
}

/// Language codes by preference. An empty string is the spoken language.
///
/// # Errors
///
/// If it is no string, or a code is not valid.
pub fn languages(value: &Value) -> Result<Languages, String> {
    match value {
        Value::String(text) if text.trim().is_empty() => Ok(Languages::default()),
        Value::String(text) => message(Languages::parse(text)),
        _ => Err("must be a language code, or several separated by commas".to_owned()),
    }
}

/// A language code. `None` for an empty string.
///
/// # Errors
///
/// If it is no string, or the code is not valid.
pub fn language(value: &Value) -> Result<Option<LanguageCode>, String> {
    match value {
        Value::String(text) if text.trim().is_empty() => Ok(None),
        Value::String(text) => message(LanguageCode::parse(text)).map(Some),
        _ => Err("must be a language code".to_owned()),
    }
}

/// A kind of captions.
///
/// # Errors
///
/// If it is no such word.
pub fn captions(value: &Value) -> Result<CaptionKind, String> {
    let found = CaptionKind::ALL.iter().find(|(word, _)| value.as_str() == Some(word));
    found.map(|(_, kind)| *kind).ok_or_else(|| "must be manual or auto".to_owned())
}

/// The earliest time of a range: a date (UTC) or a time.
///
/// # Errors
///
/// If it is neither.
pub fn since(value: &Value) -> Result<Timestamp, String> {
    message(DateRange::parse_since(value.as_str().unwrap_or_default().trim()))
}

/// The latest time of a range: a date (UTC) or a time.
///
/// # Errors
///
/// If it is neither.
pub fn until(value: &Value) -> Result<Timestamp, String> {
    message(DateRange::parse_until(value.as_str().unwrap_or_default().trim()))
}

fn message<T>(parsed: Parsed<T>) -> Result<T, String> {
    parsed.map_err(|error| error.message().to_owned())
}
