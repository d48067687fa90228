//! Parses the JSON of a job request, and reports all faults at once.

use std::collections::HashSet;

use serde_json::{Map, Value};
use vidra::member::{self, boolean, captions, language, languages, number};
use vidra::{DateRange, Error, Reason, Result, TranscriptQuery};

use super::request::{JobRequest, JobSource};

/// The maximum number of sources in a JSON request.
pub(crate) const MAX_SOURCES: usize = 500;

/// The maximum number of sources in a list.
pub(crate) const MAX_VIDEOS: usize = 50_000;

/// The maximum number of items that one job runs at once.
const MAX_CONCURRENCY: u64 = 20;

const MAX_NAME: usize = 100;

/// The maximum length of a line of a list. The links of YouTube are shorter.
const MAX_LINE: usize = 2_000;

impl JobRequest {
    /// Parses `{"type", "sources", "since", "until", "limit", "lang", "translate", "captions", "concurrency",
    /// "unitBudget", "name", "refresh", "webhook"}`. Only `sources` is required.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] with one detail for each fault, and [`Reason::TooManySources`].
    ///
    /// ```
    /// use vidra_library::{JobRequest, JobSource};
    /// let body = serde_json::json!({"sources": ["@fermata", "PLsize50"], "since": "2026-01-31", "lang": "de,en"});
    /// let (request, sources) = JobRequest::from_json(&body)?;
    /// assert_eq!((request.concurrency, sources.len()), (4, 2));
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn from_json(body: &Value) -> Result<(Self, Vec<JobSource>)> {
        let mut faults = vec![];
        let members = object(body)?;
        let request = options(members, &["sources"], &mut faults);
        let sources = match members.get("sources") {
            Some(value) => sources(value, &mut faults, JobSource::parse)?,
            None => {
                faults.push("sources: is required".to_owned());
                vec![]
            }
        };
        finish(faults, (request, sources))
    }

    /// Parses the options of a request whose sources come separately.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] with one detail for each fault.
    pub fn from_options(options_json: &Value) -> Result<Self> {
        let mut faults = vec![];
        let request = options(object(options_json)?, &[], &mut faults);
        finish(faults, request)
    }

    /// Parses a list of sources: one id or link a line, or one JSON text or object with `id` a line. At most 500 of them
    /// are playlists and channels. Empty lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] with one detail for each of the first 20 faults, and [`Reason::TooManySources`].
    pub fn parse_list(text: &str) -> Result<Vec<JobSource>> {
        const SHOWN: usize = 20;
        let (mut sources, mut faults, mut seen) = (vec![], vec![], HashSet::new());
        let mut lists = 0;
        let lines = (1..).zip(text.lines()).filter(|(_, line)| is_entry(line.trim()));
        for (count, (number, line)) in lines.enumerate() {
            if count >= MAX_VIDEOS {
                return Err(too_many(MAX_VIDEOS));
            }
            match list_entry(line.trim()) {
                Ok(source) => {
                    lists += usize::from(!matches!(source, JobSource::Video(_)));
                    if lists > MAX_SOURCES {
                        return Err(too_many_lists());
                    }
                    if seen.insert(source.to_string()) {
                        sources.push(source);
                    }
                }
                Err(fault) if faults.len() < SHOWN => {
                    faults.push(format!("line {number}: {fault}"));
                }
                Err(_) => {}
            }
        }
        if sources.is_empty() && faults.is_empty() {
            faults.push("body: has no ids".to_owned());
        }
        finish(faults, sources)
    }
}

/// Whether a line of a list is neither empty nor a comment.
fn is_entry(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

fn list_entry(line: &str) -> Result<JobSource, String> {
    // The parsed form of JSON can take a hundred times the memory of its text.
    if line.len() > MAX_LINE {
        return Err(format!("is longer than {MAX_LINE} bytes"));
    }
    let message = |error: Error| error.message().to_owned();
    if !line.starts_with(['"', '{']) {
        return JobSource::parse(line).map_err(message);
    }
    let value: Value = serde_json::from_str(line).map_err(|_| "is not valid JSON".to_owned())?;
    let id = value.as_str().or_else(|| {
        let members = value.as_object().filter(|members| members.len() == 1)?;
        members.get("id")?.as_str()
    });
    JobSource::parse(id.ok_or("must be a text, or an object with id alone")?).map_err(message)
}

fn too_many_lists() -> Error {
    let message = format!("A list may have at most {MAX_SOURCES} playlists and channels");
    Error::new(Reason::TooManySources, message)
}

fn too_many(most: usize) -> Error {
    Error::new(Reason::TooManySources, format!("A request may have at most {most} sources"))
}

pub(crate) fn object(body: &Value) -> Result<&Map<String, Value>> {
    let wrong = || invalid(vec!["body: must be an object".to_owned()]);
    body.as_object().ok_or_else(wrong)
}

fn invalid(faults: Vec<String>) -> Error {
    Error::invalid("The request is not valid", faults)
}

pub(crate) fn finish<T>(faults: Vec<String>, read: T) -> Result<T> {
    if faults.is_empty() { Ok(read) } else { Err(invalid(faults)) }
}

/// Reads a list of sources, each once.
pub(crate) fn sources<T: PartialEq>(
    value: &Value,
    faults: &mut Vec<String>,
    parse: impl Fn(&str) -> Result<T>,
) -> Result<Vec<T>> {
    let Some(texts) = value.as_array() else {
        faults.push("sources: must be a list of links or ids".to_owned());
        return Ok(vec![]);
    };
    if texts.is_empty() {
        faults.push("sources: is empty".to_owned());
    }
    if texts.len() > MAX_SOURCES {
        return Err(too_many(MAX_SOURCES));
    }
    let mut sources = vec![];
    for (position, text) in (1..).zip(texts) {
        match text.as_str().map(&parse) {
            Some(Ok(source)) if sources.contains(&source) => {}
            Some(Ok(source)) => sources.push(source),
            Some(Err(error)) => faults.push(format!("sources.{position}: {}", error.message())),
            None => faults.push(format!("sources.{position}: must be a text")),
        }
    }
    Ok(sources)
}

/// Reads each member, and adds its fault.
pub(crate) fn each_member(
    members: &Map<String, Value>,
    faults: &mut Vec<String>,
    mut read: impl FnMut(&str, &Value) -> Result<(), String>,
) {
    for (name, value) in members {
        if let Err(fault) = read(name, value) {
            let shown: String = name.chars().take(40).filter(|it| !it.is_control()).collect();
            faults.push(format!("{shown}: {fault}"));
        }
    }
}

/// Reads a member that chooses captions. `None` for members with other names.
pub(crate) fn captions_member(
    name: &str,
    value: &Value,
    query: &mut TranscriptQuery,
) -> Option<Result<(), String>> {
    Some(match name {
        "lang" => languages(value).map(|languages| query.languages = languages),
        "translate" => language(value).map(|code| query.translate = code),
        "captions" => captions(value).map(|kind| query.captions = Some(kind)),
        _ => return None,
    })
}

/// The largest budget of units.
pub(crate) const MAX_UNITS: u64 = 1_000_000_000;

/// The largest number of videos.
pub(crate) const MAX_LIMIT: u64 = 1_000_000;

/// Reads the options. Members with `other` names are read elsewhere.
fn options(members: &Map<String, Value>, other: &[&str], faults: &mut Vec<String>) -> JobRequest {
    let mut request = JobRequest::default();
    let (mut since, mut until) = (None, None);
    let mut query = TranscriptQuery::default();
    each_member(members, faults, |name, value| {
        if let Some(read) = captions_member(name, value, &mut query) {
            return read;
        }
        match name {
            name if other.contains(&name) => Ok(()),
            "type" => match value.as_str() {
                Some("transcripts") => Ok(()),
                _ => Err("must be transcripts".to_owned()),
            },
            "name" => read_name(value).map(|name| request.name = name),
            "since" => member::since(value).map(|date| since = Some(date)),
            "until" => member::until(value).map(|date| until = Some(date)),
            "limit" => number(value, 1..=MAX_LIMIT).map(|limit| request.limit = Some(limit)),
            "concurrency" => number(value, 1..=MAX_CONCURRENCY)
                .map(|number| request.concurrency = number as usize),
            "unitBudget" => {
                number(value, 0..=MAX_UNITS).map(|units| request.unit_budget = Some(units))
            }
            "refresh" => boolean(value).map(|refresh| request.refresh = refresh),
            "webhook" => webhook(value).map(|name| request.webhook = name),
            _ => Err("unknown field".to_owned()),
        }
    });
    match DateRange::new(since, until) {
        Ok(dates) => request.dates = dates,
        Err(error) => faults.extend(error.details().iter().cloned()),
    }
    request.transcript = query;
    request
}

/// Reads the name of a webhook. `None` for an empty one.
pub(crate) fn webhook(value: &Value) -> Result<Option<String>, String> {
    match value.as_str().map(str::trim) {
        Some("") => Ok(None),
        Some(name) if is_webhook_name(name) => Ok(Some(name.to_owned())),
        _ => Err("must be the name of a webhook of this service, not a URL".to_owned()),
    }
}

/// Whether a text can be the name of a webhook: 1 to 64 letters, digits, hyphens and underscores.
pub fn is_webhook_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it))
}

fn read_name(value: &Value) -> Result<Option<String>, String> {
    let name = value.as_str().map(str::trim);
    let is_good =
        |name: &&str| name.chars().count() <= MAX_NAME && !name.contains(char::is_control);
    match name.filter(is_good) {
        Some("") => Ok(None),
        Some(name) => Ok(Some(name.to_owned())),
        None => Err(format!(
            "must be a text of at most {MAX_NAME} characters, without control characters"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_faults_are_reported_at_once() {
        let body = json!({
            "sources": ["https://evil.example/watch?v=dQw4w9WgXcQ", 7, "@fermata"], "type": "videos",
            "since": "soon", "limit": 0, "lang": 1, "translate": "!", "captions": "both",
            "concurrency": 21, "unitBudget": -1, "webhook": "https://evil.example", "refresh": "maybe", "name": 1,
        });
        let error = JobRequest::from_json(&body).unwrap_err();
        let mut named: Vec<&str> =
            error.details().iter().map(|it| it.split(':').next().unwrap()).collect();
        named.sort_unstable();
        let expected = [
            "captions",
            "concurrency",
            "lang",
            "limit",
            "name",
            "refresh",
            "since",
            "sources.1",
            "sources.2",
            "translate",
            "type",
            "unitBudget",
            "webhook",
        ];
        assert_eq!(named, expected, "{error:?}");
        for body in [json!({}), json!({"sources": []}), json!([]), json!({"sources": "@fermata"})] {
            let error = JobRequest::from_json(&body).unwrap_err();
            assert_eq!((error.reason(), error.details().len()), (Reason::InvalidInput, 1));
        }
        let body = json!({"sources": ["@fermata"], "since": "2026-02-01", "until": "2026-01-01"});
        JobRequest::from_json(&body).unwrap_err();
    }

    #[test]
    fn sources_are_links_and_ids_of_every_kind() {
        let kinds = [
            ("dQw4w9WgXcQ", "video"),
            ("https://youtu.be/dQw4w9WgXcQ?t=3", "video"),
            ("https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PLsize50", "playlist"),
            ("PLsize50", "playlist"),
            // As long as the id of a video.
            ("https://www.youtube.com/playlist?list=PLabcdefghi", "playlist"),
            ("@fermata", "channel"),
            ("UCB-2_pXPtFYDifLXZF-S8PA", "channel"),
            ("https://www.youtube.com/c/fermata", "channel"),
        ];
        for (text, kind) in kinds {
            let source = JobSource::parse(text).unwrap();
            assert_eq!(source.kind(), kind, "{text}");
            // Sources are stored as text.
            let stored = JobSource::from_stored(source.kind(), &source.to_string());
            assert_eq!(stored.unwrap(), source, "{text}");
        }
        for text in ["", "a b", "https://youtube.com.evil.example/watch?v=dQw4w9WgXcQ"] {
            JobSource::parse(text).unwrap_err();
        }
    }

    #[test]
    fn lists_have_ids_links_and_json() {
        let text = "# mine\ndQw4w9WgXcQ\n\n\"fda4eREcaTQ\"\r\n{\"id\": \"https://youtu.be/quirkNoLike\"}\n";
        assert_eq!(JobRequest::parse_list(text).unwrap().len(), 3);
        assert_eq!(JobRequest::parse_list("dQw4w9WgXcQ\nyoutu.be/dQw4w9WgXcQ").unwrap().len(), 1);
        JobRequest::parse_list(r#"{"id": "dQw4w9WgXcQ", "lang": "de"}"#).unwrap_err();
        let lists: String = (0..=MAX_SOURCES).map(|n| format!("PL{n:032}\n")).collect();
        let error = JobRequest::parse_list(&lists).unwrap_err();
        assert_eq!(error.reason(), Reason::TooManySources);
        let error = JobRequest::parse_list("dQw4w9WgXcQ\n{\"id\": 7}\n{\nno id\n").unwrap_err();
        assert_eq!(error.details().len(), 3, "{error:?}");
        assert!(error.details()[0].starts_with("line 2: "), "{error:?}");
        let error = JobRequest::parse_list(&"dQw4w9WgXcQ\n".repeat(MAX_VIDEOS + 1)).unwrap_err();
        assert_eq!(error.reason(), Reason::TooManySources);
        JobRequest::parse_list(" \n").unwrap_err();
        let long = format!("{{\"id\":[{}0]}}", "0,".repeat(MAX_LINE / 2));
        let error = JobRequest::parse_list(&long).unwrap_err();
        assert_eq!(error.details(), ["line 1: is longer than 2000 bytes"]);
    }

    #[test]
    fn options_survive_their_storage() {
        let full = json!({
            "type": "transcripts", "name": "Night", "since": "2026-01-31", "until": "2026-02-28", "limit": 5,
            "lang": "de,en", "translate": "fr", "captions": "auto", "concurrency": 7, "unitBudget": 0,
            "refresh": true, "webhook": "ops",
        });
        for options in [full, json!({})] {
            let request = JobRequest::from_options(&options).unwrap();
            let stored = serde_json::to_value(&request).unwrap();
            assert_eq!(JobRequest::from_options(&stored).unwrap(), request, "{stored}");
        }
    }
}
