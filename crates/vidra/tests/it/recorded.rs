//! Recorded answers of the platform, read through the library's own operations.
//!
//! The recordings are no part of the repository: `VIDRA_FIXTURES` names their folder, by default
//! `../shared/fixtures` beside the workspace. If it is missing, these tests report that and pass,
//! unless `VIDRA_REQUIRE_FIXTURES` is set. A second set of recordings is in the folder of the same name with `-2`
//! beside it. Expected values are read from the same files as plain JSON,
//! and spelled out for the cases that each file covers.

mod channels;
mod comments;
mod details;
mod errors;
mod feeds;
mod lists;
mod odd;
mod playlists;
mod regions;
mod searches;
mod videos;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use serde_json::{Value, json};
use vidra::format::Moment;
use vidra::transport::{Answer, BoxFuture, Failure};
use vidra::{ApiKey, RetryPolicy, Transport, Vidra};

/// Every recording that a test below reads, by folder.
const READ: [(&str, &[&str]); 9] = [
    ("categories", regions::CATEGORIES),
    ("channels", channels::FILES),
    ("comment-threads", comments::THREADS),
    ("comments", comments::REPLIES),
    ("errors", errors::FILES),
    ("i18n", regions::I18N),
    ("playlist-items", playlists::ITEMS),
    ("playlists", playlists::LISTS),
    ("videos", videos::FILES),
];

#[test]
fn every_recording_is_tested() {
    let Some(folder) = fixtures() else { return };
    let read: BTreeSet<String> = READ
        .iter()
        .flat_map(|(folder, files)| files.iter().map(move |file| format!("{folder}/{file}")))
        .collect();
    assert_eq!(recordings(&folder), read);
}

#[test]
fn every_recording_of_the_second_set_is_tested() {
    let Some(folder) = second_fixtures_of("data-api") else { return };
    let named = |folder: &'static str| move |file: &str| format!("{folder}/{file}");
    let read = (searches::files().map(named("search")))
        .chain(lists::playlist_files().map(named("playlists")))
        .chain(details::SECOND.iter().copied().map(named("videos")));
    // No operation reads activities.
    let unread = |name: &String| name.starts_with("activities/");
    let recorded: BTreeSet<String> =
        recordings(&folder).into_iter().filter(|name| !unread(name)).collect();
    assert_eq!(recorded, read.collect());
}

#[test]
fn every_recorded_time_is_read_to_the_millisecond() {
    let Some(folder) = fixtures() else { return };
    let mut digits = BTreeSet::new();
    let mut count = 0;
    for name in recordings(&folder) {
        for text in times_in(&json_of(&folder, &name)) {
            let fraction =
                text.trim_end_matches('Z').split_once('.').map_or("", |(_, digits)| digits);
            assert_eq!(Moment::parse(Some(&text)).to_string(), millis(&text), "{name}");
            digits.insert(fraction.len());
            count += 1;
        }
    }
    assert_eq!(digits, BTreeSet::from([0, 3, 4, 5, 6]));
    assert!(count > 600, "{count} times");
}

fn recordings(folder: &Path) -> BTreeSet<String> {
    let folders = std::fs::read_dir(folder).expect("the folder can be listed");
    folders
        .flat_map(|entry| {
            let entry = entry.expect("its entries too");
            let inside = entry.file_name().into_string().expect("a plain name");
            let files = std::fs::read_dir(entry.path()).expect("a folder of recordings");
            files.map(move |file| {
                let file = file.expect("a recording").file_name();
                format!("{inside}/{}", file.to_str().expect("a plain name"))
            })
        })
        .collect()
}

/// Every `publishedAt` and `updatedAt` at any depth.
fn times_in(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| match value {
                Value::String(text) if name == "publishedAt" || name == "updatedAt" => {
                    vec![text.clone()]
                }
                other => times_in(other),
            })
            .collect(),
        Value::Array(values) => values.iter().flat_map(times_in).collect(),
        _ => vec![],
    }
}

/// A recorded time with exactly three fractional digits, by cutting text.
fn millis(text: &str) -> String {
    let time = text.trim_end_matches('Z');
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    if seconds.is_empty() { String::new() } else { format!("{seconds}.{fraction:0<3.3}Z") }
}

/// The folder of Data API recordings, or `None` if it is missing and not required.
fn fixtures() -> Option<PathBuf> {
    fixtures_of("data-api")
}

/// The folder of recordings of one part of the platform, or `None` if it is missing and not required.
pub(crate) fn fixtures_of(part: &str) -> Option<PathBuf> {
    if_present(first_set().join(part))
}

/// The folder of one part of the second set of recordings, or `None` if it is missing and not required.
fn second_fixtures_of(part: &str) -> Option<PathBuf> {
    let first = first_set();
    let name = first.file_name().and_then(|name| name.to_str()).expect("a plain name");
    if_present(first.with_file_name(format!("{name}-2")).join(part))
}

fn first_set() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures");
    std::env::var_os("VIDRA_FIXTURES").map_or(beside, PathBuf::from)
}

fn if_present(folder: PathBuf) -> Option<PathBuf> {
    if folder.is_dir() {
        return Some(folder);
    }
    let missing = "no recordings: set VIDRA_FIXTURES to their folder";
    assert!(std::env::var_os("VIDRA_REQUIRE_FIXTURES").is_none(), "{missing}");
    println!("skipped, {missing}");
    None
}

pub(crate) fn bytes_of(folder: &Path, name: &str) -> Bytes {
    let path = folder.join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).into()
}

fn json_of(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&bytes_of(folder, name))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The items of a list, none where there is no such member.
fn items_of(folder: &Path, name: &str) -> Vec<Value> {
    json_of(folder, name)["items"].as_array().cloned().unwrap_or_default()
}

/// The text at a JSON pointer, empty where there is none.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The count at a JSON pointer, whether string or number.
fn count(value: &Value, pointer: &str) -> Option<u64> {
    let value = value.pointer(pointer)?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// A transport that answers from memory and panics on any other request.
#[derive(Clone, Default)]
struct Recorded {
    pages: Vec<Page>,
    /// Ids that `videos` does not find. If set, the details of all others are generated.
    unavailable: Option<Vec<String>>,
    requested: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone)]
struct Page {
    endpoint: &'static str,
    /// The page token of its request; empty for the first page.
    token: String,
    status: StatusCode,
    body: Bytes,
}

impl Recorded {
    /// The next page of an endpoint. It is found under the `nextPageToken` of the page before, so a
    /// walk that garbles a token fails.
    fn page(self, endpoint: &'static str, body: impl Into<Bytes>) -> Self {
        self.answer(endpoint, StatusCode::OK, body)
    }

    fn answer(
        mut self,
        endpoint: &'static str,
        status: StatusCode,
        body: impl Into<Bytes>,
    ) -> Self {
        let before = self.pages.iter().rev().find(|page| page.endpoint == endpoint);
        let token = before.map_or_else(String::new, |page| {
            let page: Value = serde_json::from_slice(&page.body).expect("a page is JSON");
            text(&page, "/nextPageToken").to_owned()
        });
        self.pages.push(Page { endpoint, token, status, body: body.into() });
        self
    }

    /// Answers `videos` with one-minute videos for all ids but these.
    fn details_without(mut self, unavailable: &[&str]) -> Self {
        self.unavailable = Some(unavailable.iter().map(|id| (*id).to_owned()).collect());
        self
    }

    fn client(&self) -> Vidra {
        Vidra::builder()
            .cache_bytes(0)
            .key(ApiKey::new("a-key"))
            .transport(self.clone())
            .retry(RetryPolicy { retries: 0, delay: Duration::ZERO })
            .build()
            .unwrap()
    }

    /// The endpoints requested so far, in order.
    fn requested(&self) -> Vec<String> {
        self.requested.lock().expect("no test panicked under it").clone()
    }

    fn reply(&self, request: &Request<Bytes>) -> Answer {
        let endpoint = request.uri().path().rsplit('/').next().unwrap_or_default();
        self.requested.lock().expect("no test panicked under it").push(endpoint.to_owned());
        let answer = |status, body| Answer { status, headers: HeaderMap::new(), body };
        if let ("videos", Some(unavailable)) = (endpoint, &self.unavailable) {
            let known = |id: &&str| !unavailable.iter().any(|gone| gone == id);
            let ids = param(request, "id");
            let items: Vec<Value> = ids
                .split(',')
                .filter(known)
                .map(|id| json!({"id": id, "contentDetails": {"duration": "PT1M"}}))
                .collect();
            return answer(StatusCode::OK, json!({ "items": items }).to_string().into());
        }
        let token = param(request, "pageToken");
        let page = self.pages.iter().find(|page| page.endpoint == endpoint && page.token == token);
        let page = page.unwrap_or_else(|| panic!("not recorded: {}", request.uri()));
        answer(page.status, page.body.clone())
    }
}

impl Transport for Recorded {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        let answer = self.reply(&request);
        Box::pin(async move { Ok(answer) })
    }
}

/// A decoded query parameter, empty where it is absent.
fn param(request: &Request<Bytes>, name: &str) -> String {
    let query = request.uri().query().unwrap_or_default();
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let value = pairs.find(|(key, _)| *key == name).map_or("", |(_, value)| value);
    percent_encoding::percent_decode_str(value).decode_utf8().expect("UTF-8").into_owned()
}

/// An id as text, which is empty where YouTube sends none.
fn id<T: AsRef<str>>(id: &Option<T>) -> &str {
    id.as_ref().map_or("", AsRef::as_ref)
}
