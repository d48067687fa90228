//! Parses JSON into a [`BatchSource`] and a [`BatchQuery`], and reports all faults at once.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::wire::sentence;
use super::{BatchQuery, BatchSource, MAX_CONCURRENCY};
use crate::error::{Error, Result};
use crate::ident::{ChannelRef, PlaylistId, VideoId, shown};
use crate::member::{captions, language, languages, number, since};
use crate::transcript::{ChunkBy, ChunkQuery, Seconds, TimeRange};
use crate::whole::MAX;

/// The maximum number of videos to skip.
const MAX_SKIPPED: usize = 4_000;

/// The maximum number of videos in a list.
const MAX_VIDEOS: usize = 500;

/// The members that name the source.
const SOURCES: [&str; 3] = ["videos", "playlist", "channel"];

impl BatchQuery {
    /// Parses `{"concurrency", "from", "to", "lang", "translate", "captions", "start", "end", "chunks", "skip"}`. All
    /// members are optional, and numbers may be strings. `chunks` is `{"by", "size", "overlap"}`.
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
        let mut reader = Reader::new(body)?;
        let query = reader.query(&[]);
        reader.finish(query)
    }

    /// Parses a query with its source: one of `{"videos", "playlist", "channel"}`, and also `since`, except for videos.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput), with one detail for each fault.
    ///
    /// ```
    /// use vidra::{BatchQuery, BatchSource};
    /// let body = serde_json::json!({"channel": "@fermata", "since": "2026-01-31", "lang": "de,en"});
    /// let (source, query) = BatchQuery::from_json_with_source(&body)?;
    /// assert!(matches!(source, BatchSource::Channel(_)));
    /// assert_eq!(query.since.unwrap().to_string(), "2026-01-31T00:00:00Z");
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn from_json_with_source(body: &Value) -> Result<(BatchSource, Self)> {
        let mut reader = Reader::new(body)?;
        let source = reader.source();
        let query = reader.query(&["videos", "playlist", "channel", "since"]);
        reader.finish((source, query)).and_then(|(source, query)| match source {
            Some(source) => Ok((source, query)),
            None => Err(Error::internal("a source without a fault")),
        })
    }
}

fn invalid(faults: Vec<String>) -> Error {
    Error::invalid("The request is not valid", faults)
}

/// Reads the members of an object, and collects their faults.
struct Reader<'a> {
    members: &'a Map<String, Value>,
    faults: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(body: &'a Value) -> Result<Self> {
        let object = || invalid(vec!["body: must be an object".to_owned()]);
        Ok(Self { members: body.as_object().ok_or_else(object)?, faults: vec![] })
    }

    /// Returns `read`, or all faults.
    fn finish<T>(self, read: T) -> Result<T> {
        if self.faults.is_empty() { Ok(read) } else { Err(invalid(self.faults)) }
    }

    fn fault(&mut self, name: &str, fault: &str) {
        self.faults.push(format!("{}: {fault}", shown(name)));
    }

    fn source(&mut self) -> Option<BatchSource> {
        let given: Vec<&str> =
            SOURCES.into_iter().filter(|name| self.members.contains_key(*name)).collect();
        let [name] = given[..] else {
            let all = "give exactly one of videos, playlist and channel";
            self.fault(given.get(1).unwrap_or(&"videos"), all);
            return None;
        };
        if name == "videos" && self.members.contains_key("since") {
            self.fault("since", "can be combined with playlist and channel only");
        }
        let value = &self.members[name];
        let text = || value.as_str().ok_or_else(|| "must be a text".to_owned());
        let message = |error: Error| sentence(&error);
        let read = match name {
            "videos" => return self.videos(value).map(BatchSource::Videos),
            "playlist" => text()
                .and_then(|text| PlaylistId::parse(text).map_err(message))
                .map(BatchSource::Playlist),
            _ => text()
                .and_then(|text| ChannelRef::parse(text).map_err(message))
                .map(BatchSource::Channel),
        };
        read.map_err(|fault| self.fault(name, &fault)).ok()
    }

    /// Reads the list of videos. Each bad one is a fault.
    fn videos(&mut self, value: &Value) -> Option<Vec<VideoId>> {
        let Some(ids) = value.as_array().filter(|ids| (1..=MAX_VIDEOS).contains(&ids.len())) else {
            self.fault("videos", &format!("must be a list of 1 to {MAX_VIDEOS} video ids or URLs"));
            return None;
        };
        let mut videos = vec![];
        for (position, id) in (1..).zip(ids) {
            match id.as_str().map(VideoId::parse) {
                Some(Ok(id)) => videos.push(id),
                Some(Err(error)) => self.fault(&format!("videos.{position}"), &sentence(&error)),
                None => self.fault(&format!("videos.{position}"), "must be a text"),
            }
        }
        Some(videos)
    }

    /// Reads the options. Members with `other` names are read elsewhere.
    fn query(&mut self, other: &[&str]) -> BatchQuery {
        let mut query = BatchQuery::default();
        let (mut start, mut end) = (None, None);
        for (name, value) in self.members {
            let read = match name.as_str() {
                "since" if other.contains(&"since") => {
                    since(value).map(|since| query.since = Some(since))
                }
                name if other.contains(&name) => Ok(()),
                "concurrency" => number(value, 1..=MAX_CONCURRENCY as u64)
                    .map(|number| query.concurrency = number as usize),
                "from" => number(value, 1..=MAX).map(|position| query.from = Some(position)),
                "to" => number(value, 1..=MAX).map(|position| query.to = Some(position)),
                "lang" => languages(value).map(|wanted| query.transcript.languages = wanted),
                "translate" => language(value).map(|code| query.transcript.translate = code),
                "captions" => captions(value).map(|kind| query.transcript.captions = Some(kind)),
                "start" => time(value).map(|time| start = Some(time)),
                "end" => time(value).map(|time| end = Some(time)),
                "skip" => skipped(value).map(|known| query.skip = known),
                "chunks" => {
                    let read = chunks(value).map(|chunks| query.chunks = Some(chunks));
                    self.faults.extend(read.err().into_iter().flatten());
                    Ok(())
                }
                _ => Err("unknown field".to_owned()),
            };
            if let Err(fault) = read {
                self.fault(name, &fault);
            }
        }
        if query.from.zip(query.to).is_some_and(|(from, to)| from > to) {
            self.fault("from", "is greater than to");
        }
        match TimeRange::new(start, end) {
            Ok(range) => query.range = range,
            Err(error) => self.faults.extend(error.details().iter().cloned()),
        }
        query
    }
}

fn skipped(value: &Value) -> Result<HashSet<VideoId>, String> {
    let wrong = || format!("must be a list of at most {MAX_SKIPPED} video ids");
    let ids = value.as_array().filter(|ids| ids.len() <= MAX_SKIPPED).ok_or_else(wrong)?;
    let id = |id: &Value| VideoId::parse(id.as_str()?).ok();
    ids.iter().map(|text| id(text).ok_or_else(wrong)).collect()
}

/// Parses a time: a number of seconds, or a string.
fn time(value: &Value) -> Result<Seconds, String> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => String::new(),
    };
    text.parse().map_err(|error: Error| error.message().to_owned())
}

/// The faults have the names of their members.
fn chunks(value: &Value) -> Result<ChunkQuery, Vec<String>> {
    let Some(members) = value.as_object() else {
        return Err(vec!["chunks: must be an object with by, size and overlap".to_owned()]);
    };
    let (mut by, mut size, mut overlap, mut faults) = (ChunkBy::default(), None, None, vec![]);
    for (name, value) in members {
        let read = match name.as_str() {
            "by" => {
                let read = value.as_str().unwrap_or_default().parse();
                read.map(|unit| by = unit).map_err(|error: Error| error.details()[0].clone())
            }
            "size" => number(value, 0..=MAX)
                .map(|number| size = Some(number))
                .map_err(|fault| format!("size: {fault}")),
            "overlap" => number(value, 0..=MAX)
                .map(|number| overlap = Some(number))
                .map_err(|fault| format!("overlap: {fault}")),
            _ => Err(format!("{}: unknown field", shown(name))),
        };
        faults.extend(read.err());
    }
    let query = ChunkQuery::new(by, size, overlap);
    if let Err(error) = &query {
        faults.extend(error.details().iter().cloned());
    }
    match query {
        Ok(query) if faults.is_empty() => Ok(query),
        _ => Err(faults.into_iter().map(|fault| format!("chunks.{fault}")).collect()),
    }
}
