//! Typed input. Malformed requests are rejected here, before they cost anything.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::time::timeout;
use vidra::{ChannelRef, CommentId, Error, PlaylistId, Reason, Seconds, VideoId};
use vidra_library::{CollectionName, JobId};

use crate::error_body::ApiError;

/// The identifier in the path, bare or as a URL.
pub(crate) struct Id<T>(pub(crate) T);

/// An identifier that a path can contain.
pub(crate) trait Identifier: Sized {
    fn parse(text: &str) -> vidra::Result<Self>;
}

macro_rules! identifiers {
    ($($id:ident),+) => {$(
        impl Identifier for $id {
            fn parse(text: &str) -> vidra::Result<Self> {
                $id::parse(text)
            }
        }
    )+};
}
identifiers!(VideoId, PlaylistId, ChannelRef, CommentId, JobId, CollectionName);

/// A video, and the time at which its URL begins (`t=`).
pub(crate) struct StartedVideo(pub(crate) VideoId, pub(crate) Option<Seconds>);

impl Identifier for StartedVideo {
    fn parse(text: &str) -> vidra::Result<Self> {
        VideoId::parse_with_start(text).map(|(id, start)| Self(id, start))
    }
}

impl<S: Send + Sync, T: Identifier> FromRequestParts<S> for Id<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        // Every route with an identifier has exactly one parameter.
        let text = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) =
            text.map_err(|_| invalid("The path is not valid", "path: must be UTF-8"))?;
        Ok(Self(T::parse(&text)?))
    }
}

/// The query string. It collects faults, so that one error can report all of them.
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
    faults: Vec<String>,
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::parse(parts.uri.query().unwrap_or_default())
    }
}

const BAD_QUERY: &str = "The query parameters are not valid";

/// The parameters that [`Query::list`] reads. All others may be given once.
const LISTS: [&str; 6] = ["ids", "files", "include", "fields", "in", "video"];

/// The longest name of a parameter that an error repeats.
const LONGEST_NAME: usize = 64;

impl Query {
    pub(crate) fn parse(query: &str) -> Result<Self, ApiError> {
        let pairs: Option<Vec<_>> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                Some((decode(name)?, decode(value)?))
            })
            .collect();
        let pairs = pairs.ok_or_else(|| invalid(BAD_QUERY, "query: must be UTF-8"))?;
        Ok(Self { pairs, faults: vec![] })
    }

    /// Fails if a parameter has another name than these, or more than one value.
    pub(crate) fn only(mut self, names: &HashSet<String>) -> Result<(), ApiError> {
        let mut counts = BTreeMap::<String, usize>::new();
        for (name, _) in self.pairs.drain(..) {
            *counts.entry(name).or_default() += 1;
        }
        for (name, count) in counts {
            if !names.contains(&name) {
                let shown: String = name.chars().take(LONGEST_NAME).collect();
                self.fault(&shown.escape_debug().to_string(), "unknown parameter");
            } else if count > 1 && !LISTS.contains(&&*name) {
                self.fault(&name, "is given more than once");
            }
        }
        self.check()
    }
}

/// The error of input with one fault.
pub(crate) fn invalid(message: &str, fault: impl Into<String>) -> ApiError {
    Error::invalid(message, vec![fault.into()]).into()
}

/// Form decoding: `+` is a space.
fn decode(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    Some(percent_decode_str(&spaced).decode_utf8().ok()?.into_owned())
}

impl Query {
    /// The text of a parameter; an empty one counts as absent.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.given(name).filter(|value| !value.is_empty())
    }

    /// The entries of a list: separated by commas, or the parameter given more than once.
    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        debug_assert!(LISTS.contains(&name), "{name} may be given once");
        let values = self.pairs.iter().filter(|(key, _)| key == name);
        let entries = values.flat_map(|(_, value)| value.split(','));
        let entries = entries.map(|entry| entry.trim_matches(' '));
        entries.filter(|entry| !entry.is_empty()).collect()
    }

    /// The value without spaces around it. Other white space is not trimmed.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim_matches(' '))
    }

    /// A whole number within bounds.
    pub(crate) fn whole(
        &mut self,
        name: &str,
        bounds: RangeInclusive<usize>,
        default: usize,
    ) -> usize {
        let Some(text) = self.given(name) else { return default };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if digits && bounds.contains(&number) => number,
            _ => {
                let (least, most) = bounds.into_inner();
                self.fault(name, format!("must be a whole number from {least} to {most}"));
                default
            }
        }
    }

    /// One of a few words; the first if the parameter is absent.
    pub(crate) fn choice<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> T {
        let text = self.given(name).unwrap_or(words[0].0);
        if let Some((_, choice)) = words.iter().find(|(word, _)| *word == text) {
            return *choice;
        }
        let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.fault(name, format!("must be one of {}", allowed.join(", ")));
        words[0].1
    }

    /// One of a few words; `None` if the parameter is absent.
    pub(crate) fn optional_choice<T: Copy>(
        &mut self,
        name: &str,
        words: &[(&str, T)],
    ) -> Option<T> {
        self.text(name)?;
        Some(self.choice(name, words))
    }

    /// A value that `parse` accepts.
    pub(crate) fn parsed<T, E: Display>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        parse(self.text(name)?).map_err(|error| self.fault(name, error)).ok()
    }

    /// Adds a fault of a parameter.
    pub(crate) fn fault(&mut self, name: &str, what: impl Display) {
        self.faults.push(format!("{name}: {what}"));
    }

    /// Adds faults that already name their parameters, and returns a value in their place.
    pub(crate) fn add_faults<T: Default>(&mut self, error: &Error) -> T {
        self.faults.extend_from_slice(error.details());
        T::default()
    }

    /// Fails with all faults that were found.
    pub(crate) fn check(self) -> Result<(), ApiError> {
        if self.faults.is_empty() {
            return Ok(());
        }
        Err(Error::invalid(BAD_QUERY, self.faults).into())
    }
}

/// A JSON body. An empty body, white space alone and `null` are `None`.
pub(crate) struct JsonBody(pub(crate) Option<Value>);

/// The largest body: room for a batch of 500 URLs that skips 4,000 videos.
pub(crate) const MAX_BODY_BYTES: usize = 128 * 1024;

/// How long a caller may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

impl<S: Sync> FromRequest<S> for JsonBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let body = read_body(body, BodyLimits::default()).await?;
        parse_json(&parts.headers, &body).map(Self)
    }
}

/// How large a body may be, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { bytes: MAX_BODY_BYTES, time: BODY_TIMEOUT }
    }
}

/// Reads a whole body. Fails if it is too large or too slow.
pub(crate) async fn read_body(body: Body, limits: BodyLimits) -> Result<Bytes, ApiError> {
    let BodyLimits { bytes: most, time } = limits;
    let too_large = || {
        let message = format!("The body is larger than {most} bytes");
        ApiError::new(Reason::BodyTooLarge, message)
    };
    // A declared length is enough to refuse the body without reading it.
    if http_body::Body::size_hint(&body).lower() > most as u64 {
        return Err(too_large());
    }
    let collected = timeout(time, Limited::new(body, most).collect()).await;
    let Ok(collected) = collected else {
        return Err(ApiError::new(Reason::BodyTimeout, "The body did not arrive in time"));
    };
    match collected {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(invalid("The body is not valid", "body: could not be read to its end")),
    }
}

pub(crate) fn parse_json(headers: &HeaderMap, bytes: &Bytes) -> Result<Option<Value>, ApiError> {
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let media_type = media_type(headers);
    let unsupported = |message| Err(ApiError::new(Reason::UnsupportedMediaType, message));
    if !media_type.eq_ignore_ascii_case("application/json") {
        return unsupported("The body has to be application/json");
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        return unsupported("The body must not be compressed");
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Null) => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(invalid("The body is not valid JSON", format!("body: {error}"))),
    }
}

/// The header with the caller's deadline.
pub(crate) const X_REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("x-request-timeout");

/// The caller's deadline: seconds, with `s` or without, or milliseconds with `ms`.
pub(crate) fn request_timeout(headers: &HeaderMap) -> Result<Option<Duration>, ApiError> {
    let Some(value) = headers.get(X_REQUEST_TIMEOUT) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, number) => (number.unwrap_or(text), 1.0),
    };
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds = number.parse::<f64>().ok().filter(|_| is_plain).map(|number| number * unit);
    let seconds = seconds.filter(|seconds| (0.001..=86_400.0).contains(seconds));
    let fault = "x-request-timeout: expected a time such as 2, 2.5s or 300ms";
    let seconds = seconds.ok_or_else(|| invalid("A header is not valid", fault))?;
    Ok(Some(Duration::from_secs_f64(seconds)))
}

/// The media type of a body, without its parameters. Empty if there is none.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    media_type.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

/// The items of a header that is a list separated by commas. Lines of the same name form one list.
pub(crate) fn list_items(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}
