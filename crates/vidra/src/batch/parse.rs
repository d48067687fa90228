//! Parses JSON into a [`BatchQuery`], and reports all faults at once.

use std::collections::HashSet;

use serde_json::Value;

use super::{BatchQuery, MAX_CONCURRENCY};
use crate::error::{Error, Result};
use crate::ident::VideoId;
use crate::transcript::Languages;
use crate::whole::{self, MAX};

/// The maximum number of videos to skip. A body of 64 KB has room for this many.
const MAX_SKIPPED: usize = 4_000;

impl BatchQuery {
    /// Parses `{"concurrency", "from", "to", "lang", "skip"}`. All fields are optional, and numbers
    /// may be strings.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput), with one detail for each fault.
    ///
    /// ```
    /// use vidra::BatchQuery;
    /// let query = BatchQuery::from_json(&serde_json::json!({"concurrency": "8", "to": 50})).unwrap();
    /// assert_eq!((query.concurrency, query.from, query.to), (8, None, Some(50)));
    /// ```
    pub fn from_json(body: &Value) -> Result<Self> {
        let mut faults = vec![];
        let Some(fields) = body.as_object() else {
            return Err(invalid(vec!["body: must be an object".to_owned()]));
        };
        let mut query = Self::default();
        for (name, value) in fields {
            let fault = match name.as_str() {
                "concurrency" => number(value, 1..=MAX_CONCURRENCY as u64)
                    .map(|number| query.concurrency = number as usize)
                    .err(),
                "from" => number(value, 1..=MAX).map(|position| query.from = Some(position)).err(),
                "to" => number(value, 1..=MAX).map(|position| query.to = Some(position)).err(),
                "lang" => languages(value).map(|wanted| query.languages = wanted).err(),
                "skip" => videos(value).map(|known| query.skip = known).err(),
                _ => Some("unknown field".to_owned()),
            };
            faults.extend(fault.map(|fault| format!("{}: {fault}", crate::ident::shown(name))));
        }
        if query.from.zip(query.to).is_some_and(|(from, to)| from > to) {
            faults.push("from: is greater than to".to_owned());
        }
        if faults.is_empty() { Ok(query) } else { Err(invalid(faults)) }
    }
}

fn invalid(faults: Vec<String>) -> Error {
    Error::invalid("The request is not valid", faults)
}

/// Parses a whole number, also from a string or from `3.0`.
fn number(value: &Value, bounds: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
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

fn videos(value: &Value) -> Result<HashSet<VideoId>, String> {
    let wrong = || format!("must be a list of at most {MAX_SKIPPED} video ids");
    let ids = value.as_array().filter(|ids| ids.len() <= MAX_SKIPPED).ok_or_else(wrong)?;
    let id = |id: &Value| VideoId::parse(id.as_str()?).ok();
    ids.iter().map(|text| id(text).ok_or_else(wrong)).collect()
}

fn languages(value: &Value) -> Result<Languages, String> {
    match value {
        Value::String(text) if text.trim().is_empty() => Ok(Languages::default()),
        Value::String(text) => Languages::parse(text).map_err(|error| error.message().to_owned()),
        _ => Err("must be a language code, or several separated by commas".to_owned()),
    }
}
