//! Fetches captions: the best track of the player's list, or the next one if its body is empty.

use std::borrow::Cow;
use std::collections::BTreeSet;

use http::{StatusCode, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use percent_encoding::{percent_decode_str, utf8_percent_encode};
use tokio::sync::OnceCell;

use super::clients::Client;
use crate::clock::Clock;
use crate::error::{Error, Reason, Result};
use crate::language::LanguageCode;
use crate::transcript::{Cue, FullTranscript, Player, Track, TranscriptQuery, Unreadable, parse};
use crate::transport::Answer;
use crate::transport::ESCAPED;
use crate::web::egress::Egress;
use crate::web::{TranscriptContext, WebRequestKind};

/// The context of caption requests: fetch, egress address and player client.
pub(super) struct Reader<'a> {
    pub(super) fetch: &'a TranscriptContext<'a>,
    pub(super) egress: &'a Egress,
    pub(super) client: &'a Client,
    pub(super) token: &'a Token,
}

/// The proof-of-origin token of one video. It is requested on first use, and only once.
#[derive(Default)]
pub(super) struct Token(OnceCell<Result<Option<String>>>);

impl Token {
    /// The token. `None` if there is no provider.
    async fn get(&self, fetch: &TranscriptContext<'_>) -> Result<Option<&str>> {
        let token = self.0.get_or_init(|| fetch.po_token()).await;
        token.as_ref().map(Option::as_deref).map_err(Error::clone)
    }

    /// The token, if it was already requested.
    fn known(&self) -> Option<&str> {
        self.0.get()?.as_ref().ok()?.as_deref()
    }

    /// The error of a failed token request.
    fn failure(&self) -> Option<Error> {
        self.0.get()?.as_ref().err().cloned()
    }
}

/// The response for a track.
enum Body<T> {
    Full(T),
    Empty,
    /// An empty response, because the track's URL has expired.
    Expired,
}

/// More empty bodies than this are not accidental.
const MAX_TRACKS: usize = 4;

impl Reader<'_> {
    /// Fetches the best track. `None` if the player's URLs have expired.
    pub(super) async fn read(
        &self,
        player: &Player,
        query: &TranscriptQuery,
    ) -> Result<Option<FullTranscript>> {
        let candidates = player.candidates(&query.languages, query.captions);
        if candidates.is_empty() {
            return Err(self.no_track(player, query));
        }
        let translate = query.translate.as_ref().map(LanguageCode::as_str);
        for track in candidates.into_iter().take(MAX_TRACKS) {
            match self.track(player, track, translate).await? {
                Body::Full(transcript) => return Ok(Some(transcript)),
                Body::Expired => return Ok(None),
                Body::Empty => {}
            }
        }
        // YouTube lists the track but serves it empty. That is how it demands a token.
        Err(match (self.token.failure(), self.token.known()) {
            (Some(failure), _) => failure,
            (None, Some(_)) => Reason::PoTokenRequired.error_saying(
                "YouTube does not accept the proof-of-origin token of the configured provider",
                self.fetch.id,
            ),
            (None, None) => self.failed(Reason::PoTokenRequired),
        })
    }

    async fn track(
        &self,
        player: &Player,
        track: &Track,
        translate: Option<&str>,
    ) -> Result<Body<FullTranscript>> {
        // A translation into the track's own language would damage the text.
        let translate = translate.filter(|wanted| !is_already(&track.language_code, wanted));
        let Some(address) = TimedText::checked(&track.base_url, &self.fetch.web.origin) else {
            return Err(self.failed(Reason::PlatformChanged));
        };
        if address.needs_token() && self.token.get(self.fetch).await?.is_none() {
            // No fallback to the next track: a worse one must not pass for the selected one.
            return Err(self.failed(Reason::PoTokenRequired));
        }
        let known = self.token.known();
        let mut body = self.cues(&address, translate, known).await?;
        if matches!(body, Body::Empty) && known.is_none() {
            // YouTube can also demand a token without saying so. Without a token, the next track
            // may work.
            if let Ok(token @ Some(_)) = self.token.get(self.fetch).await {
                body = self.cues(&address, translate, token).await?;
            }
        }
        Ok(match body {
            Body::Full(cues) => {
                Body::Full(FullTranscript::new(self.fetch.id, player, track, translate, cues))
            }
            Body::Empty => Body::Empty,
            Body::Expired => Body::Expired,
        })
    }

    /// The error if no track matches. Its details list the available tracks.
    fn no_track(&self, player: &Player, query: &TranscriptQuery) -> Error {
        let tracks = player.tracks().iter();
        let Some(kind) = query.captions else {
            let codes = tracks.map(|track| track.language_code.clone());
            return self.failed(Reason::LanguageUnavailable).with_detail(available(codes));
        };
        // Another language helps only if it has captions of this kind.
        let is_about_language = player.candidates(&query.languages, None).is_empty()
            && tracks.clone().any(|track| track.kind() == kind);
        let why = match is_about_language {
            true => Reason::LanguageUnavailable,
            false => Reason::CaptionsKindUnavailable,
        };
        let named = |track: &Track| format!("{} ({})", track.language_code, track.kind().word());
        self.failed(why).with_detail(available(tracks.map(named)))
    }

    async fn cues(
        &self,
        address: &TimedText<'_>,
        translate: Option<&str>,
        token: Option<&str>,
    ) -> Result<Body<Vec<Cue>>> {
        let kind = if translate.is_some() {
            WebRequestKind::Translation
        } else {
            WebRequestKind::Captions
        };
        let target = address.target(self.client, translate, token);
        let request = self.fetch.captions_request(self.client, &target)?;
        let answer = self.fetch.send(self.egress, kind, &request).await?;
        if translate.is_some() && answer.status == StatusCode::BAD_REQUEST {
            let detail = "YouTube does not translate these captions to that language";
            return Err(self.failed(Reason::LanguageUnavailable).with_detail(detail));
        }
        if !answer.status.is_success() {
            return Err(self
                .failed(Reason::PlatformChanged)
                .with_source(answer.status.to_string()));
        }
        match parse(&answer.body) {
            Ok(cues) => Ok(Body::Full(cues)),
            Err(Unreadable::Empty)
                if address.has_expired(platform_time(&answer, &*self.fetch.web.clock)) =>
            {
                Ok(Body::Expired)
            }
            Err(Unreadable::Empty) => Ok(Body::Empty),
            Err(Unreadable::NotTimedText) => Err(self.failed(Reason::Blocked)),
            Err(Unreadable::Malformed(why)) => {
                Err(self.failed(Reason::PlatformChanged).with_source(why))
            }
        }
    }

    fn failed(&self, why: Reason) -> Error {
        why.error(self.fetch.id)
    }
}

/// The time of YouTube's clock, which sets the expiry of URLs. The fallback is our clock.
fn platform_time(answer: &Answer, clock: &dyn Clock) -> Timestamp {
    let date = answer.headers.get(header::DATE).and_then(|date| date.to_str().ok());
    let date = date.and_then(|date| DateTimeParser::new().parse_timestamp(date).ok());
    date.unwrap_or_else(|| clock.now())
}

/// Whether captions in `code` need no translation to `wanted`. `en-US` is already `en`. But `pt-PT`
/// is not `pt-BR`, and `zh` can have another script than `zh-Hant`.
fn is_already(code: &str, wanted: &str) -> bool {
    [Some(code), code.split('-').next()]
        .into_iter()
        .flatten()
        .any(|known| known.eq_ignore_ascii_case(wanted))
}

/// A detail with the available names, without repetitions.
fn available(names: impl Iterator<Item = String>) -> String {
    let names: BTreeSet<String> = names.collect();
    format!("available: {}", names.into_iter().collect::<Vec<_>>().join(", "))
}

/// The maximum length of the query. YouTube's queries are far shorter.
const MAX_QUERY_LENGTH: usize = 8192;

/// The URL of captions. It comes from YouTube's response, so only YouTube's hosts and this path are
/// accepted. The request always goes to our configured base URL.
struct TimedText<'a> {
    params: Vec<(&'a str, &'a str)>,
}

impl<'a> TimedText<'a> {
    const PATH: &'static str = "/api/timedtext";

    fn checked(base_url: &'a str, origin: &str) -> Option<Self> {
        let hosts =
            ["https://www.youtube.com", "https://m.youtube.com", "https://youtube.com", origin];
        // A relative URL is YouTube's as well.
        let target = hosts.iter().find_map(|host| base_url.strip_prefix(host)).unwrap_or(base_url);
        let (path, query) = target.split_once('?')?;
        let allowed =
            |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'"' | b'<' | b'>');
        let clean = query.len() <= MAX_QUERY_LENGTH && query.bytes().all(allowed);
        let params =
            || query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
        (path == Self::PATH && clean).then(|| Self { params: params() })
    }

    /// Whether the URL belongs to an experiment that requires a token.
    fn needs_token(&self) -> bool {
        let experiments = self.params.iter().filter(|(name, _)| *name == "exp");
        experiments.into_iter().any(|(_, list)| {
            let list = percent_decode_str(list).decode_utf8_lossy();
            list.split(',').any(|name| matches!(name, "xpe" | "xpv"))
        })
    }

    /// Whether the URL has expired.
    fn has_expired(&self, now: Timestamp) -> bool {
        let expire = self.params.iter().find(|(name, _)| *name == "expire");
        let expire = expire.and_then(|(_, seconds)| seconds.parse().ok());
        expire.is_some_and(|expire: i64| expire <= now.as_second())
    }

    /// Builds path and query. It keeps the signed parameters and replaces ours.
    fn target(&self, client: &Client, translate: Option<&str>, token: Option<&str>) -> String {
        let ours = ["fmt", "tlang", "xosf", "pot", "potc", "c"];
        let theirs = self.params.iter().filter(|(name, _)| !ours.contains(name));
        let mut query: Vec<String> =
            theirs.map(|(name, value)| format!("{name}={value}")).collect();
        let encode = |text: &str| Cow::from(utf8_percent_encode(text, ESCAPED)).into_owned();
        query.push("fmt=json3".to_owned());
        query.extend(translate.map(|code| format!("tlang={}", encode(code))));
        query.extend(token.map(|token| format!("pot={}&potc=1&c={}", encode(token), client.name)));
        format!("{}?{}", Self::PATH, query.join("&"))
    }
}
