//! Typed input: what is malformed ends here, before anything is spent.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::time::timeout;
use vidra::{ChannelRef, CommentId, Error, PlaylistId, VideoId};

use crate::problem::Problem;

/// The identifier in the path, bare or as a URL.
pub(crate) struct Id<T>(pub(crate) T);

/// What can stand in the path.
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
identifiers!(VideoId, PlaylistId, ChannelRef, CommentId);

impl<S: Send + Sync, T: Identifier> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let not_text =
            || Error::invalid("The path is not valid", vec!["path: must be UTF-8".to_owned()]);
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(|_| not_text())?;
        // Every route with an identifier has just the one.
        let (_, text) = params.iter().next().ok_or_else(not_text)?;
        Ok(Self(T::parse(text)?))
    }
}

/// The query string, read parameter by parameter so that every fault can be told at once.
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
    faults: Vec<String>,
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        let pairs: Option<Vec<_>> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                Some((decode(name)?, decode(value)?))
            })
            .collect();
        let pairs = pairs
            .ok_or_else(|| Error::invalid(BAD_QUERY, vec!["query: must be UTF-8".to_owned()]))?;
        Ok(Self { pairs, faults: vec![] })
    }
}

const BAD_QUERY: &str = "The query parameters are not valid";

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
        let values = self.pairs.iter().filter(|(key, _)| key == name);
        let entries = values.flat_map(|(_, value)| value.split(','));
        let entries = entries.map(|entry| entry.trim_matches(' '));
        entries.filter(|entry| !entry.is_empty()).collect()
    }

    /// Spaces around it do not count; other white space is nothing that people type into a query.
    fn given(&self, name: &str) -> Option<&str> {
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

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> T {
        let text = self.given(name).unwrap_or(words[0].0);
        if let Some((_, choice)) = words.iter().find(|(word, _)| *word == text) {
            return *choice;
        }
        let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.fault(name, format!("must be one of {}", allowed.join(", ")));
        words[0].1
    }

    /// Text that some type can be read from.
    pub(crate) fn parsed<T>(&mut self, name: &str) -> Option<T>
    where
        T: FromStr,
        T::Err: Display,
    {
        let parsed = self.text(name)?.parse();
        parsed.map_err(|error| self.fault(name, error)).ok()
    }

    /// Notes a fault of a parameter.
    pub(crate) fn fault(&mut self, name: &str, what: impl Display) {
        self.faults.push(format!("{name}: {what}"));
    }

    /// Ends the reading: an error if anything was wrong.
    pub(crate) fn check(self) -> Result<(), Problem> {
        if self.faults.is_empty() {
            return Ok(());
        }
        Err(Error::invalid(BAD_QUERY, self.faults).into())
    }
}

/// A JSON body. No body at all, one of nothing but white space, and `null`, is `None`.
pub(crate) struct JsonBody(pub(crate) Option<Value>);

/// No body that an endpoint takes comes near it.
pub(crate) const MOST_BODY: usize = 64 * 1024;

/// Nor does any take so long to send.
const LONGEST_BODY: Duration = Duration::from_secs(10);

impl<S: Sync> FromRequest<S> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        read(&parts.headers, &collected(body).await?).map(Self)
    }
}

/// A whole body, if it is neither too large nor too slow.
pub(crate) async fn collected(body: Body) -> Result<Bytes, Problem> {
    let too_large = || {
        let message = format!("The body is larger than {MOST_BODY} bytes");
        Problem::Http(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    // What is announced need not come.
    if http_body::Body::size_hint(&body).lower() > MOST_BODY as u64 {
        return Err(too_large());
    }
    let collected = timeout(LONGEST_BODY, Limited::new(body, MOST_BODY).collect()).await;
    let Ok(collected) = collected else {
        let message = "The body did not come in time".to_owned();
        return Err(Problem::Http(StatusCode::REQUEST_TIMEOUT, message));
    };
    match collected {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => {
            let fault = "body: could not be read to its end".to_owned();
            Err(Error::invalid("The body is not valid", vec![fault]).into())
        }
    }
}

fn read(headers: &HeaderMap, bytes: &Bytes) -> Result<Option<Value>, Problem> {
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = media_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let is_json = media_type.eq_ignore_ascii_case("application/json");
    let refused =
        |message: &str| Problem::Http(StatusCode::UNSUPPORTED_MEDIA_TYPE, message.to_owned());
    if !is_json {
        return Err(refused("The body has to be application/json"));
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(refused("The body must not be compressed"));
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Null) => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            let fault = format!("body: {error}");
            Err(Error::invalid("The body is not valid JSON", vec![fault]).into())
        }
    }
}

/// What the caller likes best of `types`, by `Accept`; `None` where it names none of them.
pub(crate) fn accepted<T: Copy>(headers: &HeaderMap, types: &[(&str, T)]) -> Option<T> {
    let mut liked: Vec<(f32, T)> = vec![];
    for line in headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()) {
        for entry in line.split(',') {
            let mut parts = entry.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let quality =
                parts.find_map(|part| part.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0);
            let known = types.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            liked.extend(known.filter(|_| quality > 0.0).map(|(_, wanted)| (quality, *wanted)));
        }
    }
    // Stable, so that of equals the first named wins.
    liked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    liked.first().map(|(_, wanted)| *wanted)
}
