//! The access log: one line per request, formatted straight into the buffer of the log.

use std::cell::Cell;
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use percent_encoding::{CONTROLS, utf8_percent_encode};
use tracing::Level;

use crate::log_sink::LogSink;

/// The maximum length of a path in a line.
const MAX_PATH_BYTES: usize = 1024;

/// Writes one line per request. Clones share the log.
#[derive(Clone)]
pub struct AccessLog {
    pub(crate) sink: LogSink,
    is_json: bool,
    /// Lines of this level and more important ones are written; `None` for no line.
    level: Option<Level>,
}

/// The facts of a request that has ended.
pub(super) struct Line<'a> {
    pub(super) level: Level,
    pub(super) message: &'static str,
    pub(super) request_id: &'a str,
    /// The name of the caller's key.
    pub(super) caller: Option<&'a str>,
    pub(super) client: Option<IpAddr>,
    pub(super) method: &'a str,
    /// The template of the path.
    pub(super) route: &'a str,
    /// Without the query, which may contain a secret that somebody pasted by mistake.
    pub(super) path: &'a str,
    /// `None` if the caller disconnected before the response.
    pub(super) status: Option<u16>,
    /// The cache outcome; empty if the response does not come from the cache.
    pub(super) cache: &'a str,
    pub(super) cost: u32,
    pub(super) upstream_calls: u32,
    pub(super) upstream_time: Duration,
    pub(super) bytes: u64,
    pub(super) first_byte: Duration,
    pub(super) elapsed: Duration,
    pub(super) reason: Option<&'static str>,
    pub(super) error: Option<&'a str>,
    pub(super) source: Option<String>,
}

impl AccessLog {
    /// A log that writes to `sink`, as JSON or as text. The subscriber of `tracing`, which must be installed
    /// before, decides the level with the target `vidra_server`.
    pub fn new(sink: LogSink, is_json: bool) -> Self {
        let level = if tracing::enabled!(target: "vidra_server", Level::DEBUG) {
            Some(Level::DEBUG)
        } else if tracing::enabled!(target: "vidra_server", Level::INFO) {
            Some(Level::INFO)
        } else if tracing::enabled!(target: "vidra_server", Level::WARN) {
            Some(Level::WARN)
        } else {
            None
        };
        Self { sink, is_json, level }
    }

    /// Whether lines of this level are written.
    pub(super) fn writes(&self, level: Level) -> bool {
        self.level.is_some_and(|most| level <= most)
    }

    pub(super) fn write(&self, line: &Line<'_>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.sink.add(|buffer| match self.is_json {
            true => write_json(buffer, line, now),
            false => write_text(buffer, line, now),
        });
    }
}

/// The name of a field with its punctuation, in both forms.
#[derive(Clone, Copy)]
struct Name {
    json: &'static str,
    text: &'static str,
}

/// Joins a name and its punctuation at compile time: a copy of a known length takes few instructions.
macro_rules! name {
    ($name:literal) => {
        Name { json: concat!(",\"", $name, "\":"), text: concat!(" ", $name, "=") }
    };
}

fn write_json(buffer: &mut Vec<u8>, line: &Line<'_>, now: Duration) {
    buffer.extend_from_slice(b"{\"timestamp\":\"");
    write_time(buffer, now);
    buffer.push(b'"');
    let mut fields = Fields::<true>(&mut *buffer);
    fields.word(name!("level"), line.level.as_str());
    fields.word(name!("message"), line.message);
    line.write_fields(&mut fields);
    buffer.push(b'}');
}

fn write_text(buffer: &mut Vec<u8>, line: &Line<'_>, now: Duration) {
    write_time(buffer, now);
    buffer.push(b' ');
    // Levels are aligned, as in the other lines of the log.
    buffer.extend_from_slice(&b"     "[line.level.as_str().len().min(5)..]);
    buffer.extend_from_slice(line.level.as_str().as_bytes());
    buffer.push(b' ');
    buffer.extend_from_slice(line.message.as_bytes());
    line.write_fields(&mut Fields::<false>(buffer));
}

impl Line<'_> {
    fn write_fields<const JSON: bool>(&self, fields: &mut Fields<'_, JSON>) {
        fields.word(name!("request_id"), self.request_id);
        if let Some(caller) = self.caller {
            fields.text(name!("caller"), caller);
        }
        if let Some(client) = self.client {
            fields.address(name!("client"), client);
        }
        fields.word(name!("method"), self.method);
        fields.word(name!("route"), self.route);
        fields.path(name!("path"), self.path);
        if let Some(status) = self.status {
            fields.number(name!("status"), status.into());
        }
        if !self.cache.is_empty() {
            fields.word(name!("cache"), self.cache);
        }
        fields.number(name!("cost"), self.cost.into());
        fields.number(name!("upstream_calls"), self.upstream_calls.into());
        fields.milliseconds(name!("upstream_ms"), self.upstream_time);
        fields.number(name!("bytes"), self.bytes);
        fields.milliseconds(name!("first_byte_ms"), self.first_byte);
        fields.milliseconds(name!("elapsed_ms"), self.elapsed);
        if let Some(reason) = self.reason {
            fields.word(name!("reason"), reason);
        }
        if let Some(error) = self.error {
            fields.text(name!("error"), error);
        }
        if let Some(source) = &self.source {
            fields.text(name!("source"), source);
        }
    }
}

/// Writes `,"name":value` or ` name=value`.
struct Fields<'a, const JSON: bool>(&'a mut Vec<u8>);

impl<const JSON: bool> Fields<'_, JSON> {
    #[inline]
    fn name(&mut self, name: Name) {
        let name = if JSON { name.json } else { name.text };
        self.0.extend_from_slice(name.as_bytes());
    }

    #[inline]
    fn number(&mut self, name: Name, value: u64) {
        self.name(name);
        self.digits(value);
    }

    fn digits(&mut self, value: u64) {
        self.0.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    /// Milliseconds with three decimals.
    #[inline]
    fn milliseconds(&mut self, name: Name, time: Duration) {
        self.name(name);
        self.thousandths(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    fn thousandths(&mut self, value: u64) {
        self.digits(value / 1000);
        let rest = value % 1000;
        if rest > 0 {
            let digits = [rest / 100, rest / 10 % 10, rest % 10].map(|digit| b'0' + digit as u8);
            self.0.push(b'.');
            self.0.extend_from_slice(&digits);
        }
    }

    fn address(&mut self, name: Name, address: IpAddr) {
        thread_local! {
            // One client usually sends many requests.
            static LAST: Cell<Option<(IpAddr, [u8; 48], usize)>> = const { Cell::new(None) };
        }
        let (text, length) = match LAST.get() {
            Some((last, text, length)) if last == address => (text, length),
            _ => {
                let mut text = [0; 48];
                let formatted = address.to_string();
                let length = formatted.len().min(text.len());
                text[..length].copy_from_slice(&formatted.as_bytes()[..length]);
                LAST.set(Some((address, text, length)));
                (text, length)
            }
        };
        self.name(name);
        self.quoted(&text[..length]);
    }

    /// A text that [`is_plain`], which is not checked.
    #[inline]
    fn word(&mut self, name: Name, value: &str) {
        self.name(name);
        self.quoted(value.as_bytes());
    }

    /// A text in quotes; without them in a line of text, where it has no spaces.
    fn text(&mut self, name: Name, value: &str) {
        if is_plain::<JSON>(value) {
            return self.word(name, value);
        }
        self.name(name);
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(&mut *self.0, value);
    }

    fn quoted(&mut self, value: &[u8]) {
        if JSON {
            self.0.push(b'"');
        }
        self.0.extend_from_slice(value);
        if JSON {
            self.0.push(b'"');
        }
    }

    /// A path as ASCII: other characters could reverse the text of a terminal or control it.
    fn path(&mut self, name: Name, path: &str) {
        if path.len() <= MAX_PATH_BYTES && path.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return self.text(name, path);
        }
        let mut path = utf8_percent_encode(path, CONTROLS).to_string();
        if path.len() > MAX_PATH_BYTES {
            path.truncate(MAX_PATH_BYTES);
            path.push_str("...");
        }
        self.text(name, &path);
    }
}

/// Whether a text needs no escapes, and in a line of text no quotes.
fn is_plain<const JSON: bool>(text: &str) -> bool {
    let is_plain = |byte: u8| {
        matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\') && (JSON || byte != b' ')
    };
    text.bytes().all(is_plain)
}

/// Writes a time since 1970 in UTC, to the millisecond.
fn write_time(buffer: &mut Vec<u8>, time: Duration) {
    thread_local! {
        // The second and its text, which is the same for many lines.
        static LAST: Cell<(u64, [u8; 19])> = const { Cell::new((u64::MAX, [b'0'; 19])) };
    }
    let seconds = time.as_secs();
    let (last, mut text) = LAST.get();
    if last != seconds {
        let timestamp = i64::try_from(seconds).ok().and_then(|it| Timestamp::from_second(it).ok());
        let formatted = timestamp.unwrap_or_default().to_string();
        text.copy_from_slice(&formatted.as_bytes()[..19]);
        LAST.set((seconds, text));
    }
    let millis = time.subsec_millis();
    let digits = [millis / 100, millis / 10 % 10, millis % 10].map(|digit| b'0' + digit as u8);
    buffer.extend_from_slice(&text);
    buffer.push(b'.');
    buffer.extend_from_slice(&digits);
    buffer.push(b'Z');
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn line() -> Line<'static> {
        Line {
            level: Level::INFO,
            message: "request",
            request_id: "00ff",
            caller: Some("alice"),
            client: Some([127, 0, 0, 1].into()),
            method: "GET",
            route: "/api/video/{id}",
            path: "/api/video/fda4eREcaTQ",
            status: Some(200),
            cache: "miss",
            cost: 1,
            upstream_calls: 1,
            upstream_time: Duration::from_micros(80_005),
            bytes: 915,
            first_byte: Duration::from_micros(81_250),
            elapsed: Duration::from_millis(82),
            reason: None,
            error: None,
            source: None,
        }
    }

    fn as_json(line: &Line<'_>) -> Value {
        let mut buffer = vec![];
        write_json(&mut buffer, line, Duration::from_millis(1_794_853_555_298));
        serde_json::from_slice(&buffer).expect("a line is JSON")
    }

    #[test]
    fn a_line_of_json_has_every_fact() {
        let expected = json!({
            "timestamp": "2026-11-16T18:25:55.298Z", "level": "INFO", "message": "request",
            "request_id": "00ff", "caller": "alice", "client": "127.0.0.1", "method": "GET",
            "route": "/api/video/{id}", "path": "/api/video/fda4eREcaTQ", "status": 200,
            "cache": "miss", "cost": 1, "upstream_calls": 1, "upstream_ms": 80.005, "bytes": 915,
            "first_byte_ms": 81.25, "elapsed_ms": 82,
        });
        assert_eq!(as_json(&line()), expected);
    }

    #[test]
    fn a_line_of_text_has_the_same_facts() {
        let mut buffer = vec![];
        let line = Line {
            level: Level::WARN,
            message: "request failed",
            caller: None,
            status: Some(502),
            cache: "",
            reason: Some("blocked"),
            error: Some("two words"),
            ..line()
        };
        write_text(&mut buffer, &line, Duration::ZERO);
        assert_eq!(
            String::from_utf8(buffer).unwrap(),
            "1970-01-01T00:00:00.000Z  WARN request failed request_id=00ff client=127.0.0.1 method=GET \
             route=/api/video/{id} path=/api/video/fda4eREcaTQ status=502 cost=1 upstream_calls=1 \
             upstream_ms=80.005 bytes=915 first_byte_ms=81.250 elapsed_ms=82 reason=blocked \
             error=\"two words\""
        );
    }

    #[test]
    fn texts_of_callers_are_escaped_and_bounded() {
        let long = format!("/{}", "é".repeat(30_000));
        let table = [("/\"quote\\", "/\"quote\\"), ("/\u{202e}x\u{1b}[0m", "/%E2%80%AEx%1B[0m")];
        for (path, expected) in table {
            assert_eq!(as_json(&Line { path, ..line() })["path"], expected);
        }
        let logged = as_json(&Line { path: &long, ..line() });
        let logged = logged["path"].as_str().unwrap();
        assert!(logged.len() == MAX_PATH_BYTES + 3 && logged.ends_with("..."), "{logged}");
        let error = "a \"quoted\" text\nwith \u{1} and é";
        assert_eq!(as_json(&Line { error: Some(error), ..line() })["error"], error);
    }
}
