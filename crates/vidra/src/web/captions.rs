//! Reads captions: the best track that the player offered, and where its body is empty, the next.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use http::{StatusCode, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use percent_encoding::{percent_decode_str, utf8_percent_encode};
use tokio::sync::OnceCell;

use super::clients::Client;
use crate::clock::Clock;
use crate::error::{Error, Reason, Result};
use crate::ident::VideoId;
use crate::language::LanguageCode;
use crate::transcript::{
    Cue, Player, Track, Transcript, TranscriptLine, TranscriptQuery, Unreadable, parse,
};
use crate::transport::Answer;
use crate::transport::ESCAPED;
use crate::web::egress::Egress;
use crate::web::{Load, TranscriptContext};

/// Where captions are read: for whom, from which address, and as which player.
pub(super) struct Reader<'a> {
    pub(super) fetch: &'a TranscriptContext<'a>,
    pub(super) egress: &'a Egress,
    pub(super) client: &'a Client,
    pub(super) token: &'a Token,
}

/// The proof-of-origin token of one video: asked for when it is first needed, and only once.
#[derive(Default)]
pub(super) struct Token(OnceCell<Result<Option<String>>>);

impl Token {
    /// The token; `None` where nobody makes any.
    async fn get(&self, fetch: &TranscriptContext<'_>) -> Result<Option<&str>> {
        let told = self.0.get_or_init(|| fetch.po_token()).await;
        told.as_ref().map(Option::as_deref).map_err(Error::clone)
    }

    /// The token, where it has been got already.
    fn known(&self) -> Option<&str> {
        self.0.get()?.as_ref().ok()?.as_deref()
    }

    /// Why there is none, where one was asked for.
    fn failure(&self) -> Option<Error> {
        self.0.get()?.as_ref().err().cloned()
    }
}

/// What came for a track.
enum Body<T> {
    Full(T),
    Empty,
    /// Empty as well, because the track's address is past its time.
    Expired,
}

/// More empty bodies than this are no accident.
const MOST_TRACKS: usize = 4;

impl Reader<'_> {
    /// Reads the best track there is; `None` where the player's addresses are past their time.
    pub(super) async fn read(
        &self,
        player: &Player,
        query: &TranscriptQuery,
    ) -> Result<Option<Transcript>> {
        let candidates = player.candidates(&query.languages);
        if candidates.is_empty() {
            return Err(other_languages(self.fetch.id, player));
        }
        let translate = query.translate.as_ref().map(LanguageCode::as_str);
        for track in candidates.into_iter().take(MOST_TRACKS) {
            match self.track(track, translate).await? {
                Body::Full(lines) => return Ok(Some(lines)),
                Body::Expired => return Ok(None),
                Body::Empty => {}
            }
        }
        // The platform declines to serve what it lists: that is how it asks for a token.
        Err(match (self.token.failure(), self.token.known()) {
            (Some(failure), _) => failure,
            (None, Some(_)) => Reason::PoTokenRequired.error_saying(
                "YouTube does not accept the proof-of-origin token of the configured provider",
                self.fetch.id,
            ),
            (None, None) => self.failed(Reason::PoTokenRequired),
        })
    }

    async fn track(&self, track: &Track, translate: Option<&str>) -> Result<Body<Transcript>> {
        // Asked to translate to its own language, the platform damages the text.
        let translate = translate.filter(|wanted| !is_already(&track.language_code, wanted));
        let Some(address) = TimedText::checked(&track.base_url, &self.fetch.web.origin) else {
            return Err(self.failed(Reason::PlatformChanged));
        };
        if address.needs_token() && self.token.get(self.fetch).await?.is_none() {
            // Not the next track: a lesser one must not pass for the one that was chosen.
            return Err(self.failed(Reason::PoTokenRequired));
        }
        let known = self.token.known();
        let mut body = self.cues(&address, translate, known).await?;
        if matches!(body, Body::Empty) && known.is_none() {
            // The platform also asks for a token without saying so. Where there is none to be had, the
            // next track may do.
            if let Ok(token @ Some(_)) = self.token.get(self.fetch).await {
                body = self.cues(&address, translate, token).await?;
            }
        }
        let lang = translate.unwrap_or(&track.language_code);
        Ok(match body {
            Body::Full(cues) => Body::Full(lines(cues, lang)),
            Body::Empty => Body::Empty,
            Body::Expired => Body::Expired,
        })
    }

    async fn cues(
        &self,
        address: &TimedText<'_>,
        translate: Option<&str>,
        token: Option<&str>,
    ) -> Result<Body<Vec<Cue>>> {
        let load = if translate.is_some() { Load::Translation } else { Load::Captions };
        let target = address.target(self.client, translate, token);
        let request = self.fetch.captions_request(self.client, &target)?;
        let answer = self.fetch.send(self.egress, load, &request).await?;
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
                if address.is_over(now_there(&answer, &*self.fetch.web.clock)) =>
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

fn lines(cues: Vec<Cue>, lang: &str) -> Transcript {
    let lang = Arc::from(lang);
    cues.into_iter().map(|cue| TranscriptLine::new(cue, &lang)).collect()
}

/// The time by the platform's clock, which set the end of its addresses; else by ours.
fn now_there(answer: &Answer, clock: &dyn Clock) -> Timestamp {
    let date = answer.headers.get(header::DATE).and_then(|date| date.to_str().ok());
    let date = date.and_then(|date| DateTimeParser::new().parse_timestamp(date).ok());
    date.unwrap_or_else(|| clock.now())
}

/// Whether captions in `code` need no translation to `wanted`: `en-US` is English. But `pt-PT` is not
/// `pt-BR`, and what is just `zh` may be in another script than `zh-Hant`.
fn is_already(code: &str, wanted: &str) -> bool {
    [Some(code), code.split('-').next()]
        .into_iter()
        .flatten()
        .any(|known| known.eq_ignore_ascii_case(wanted))
}

/// Says which languages there are.
fn other_languages(id: VideoId, player: &Player) -> Error {
    let codes: BTreeSet<&str> = player.tracks().iter().map(|track| &*track.language_code).collect();
    let codes = codes.into_iter().collect::<Vec<_>>().join(", ");
    Reason::LanguageUnavailable.error(id).with_detail(format!("available: {codes}"))
}

/// Far more than the platform signs.
const LONGEST_QUERY: usize = 8192;

/// The address of captions, which is the platform's word and not ours: only its own host, only this
/// path, and it is asked for at our configured address in any case.
struct TimedText<'a> {
    params: Vec<(&'a str, &'a str)>,
}

impl<'a> TimedText<'a> {
    const PATH: &'static str = "/api/timedtext";

    fn checked(base_url: &'a str, origin: &str) -> Option<Self> {
        let hosts =
            ["https://www.youtube.com", "https://m.youtube.com", "https://youtube.com", origin];
        // A relative address is the platform's as well.
        let target = hosts.iter().find_map(|host| base_url.strip_prefix(host)).unwrap_or(base_url);
        let (path, query) = target.split_once('?')?;
        let allowed =
            |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'"' | b'<' | b'>');
        let clean = query.len() <= LONGEST_QUERY && query.bytes().all(allowed);
        let params =
            || query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
        (path == Self::PATH && clean).then(|| Self { params: params() })
    }

    /// An experiment in which the platform wants a token.
    fn needs_token(&self) -> bool {
        let experiments = self.params.iter().filter(|(name, _)| *name == "exp");
        experiments.into_iter().any(|(_, list)| {
            let list = percent_decode_str(list).decode_utf8_lossy();
            list.split(',').any(|name| matches!(name, "xpe" | "xpv"))
        })
    }

    /// Whether its time is over.
    fn is_over(&self, now: Timestamp) -> bool {
        let expire = self.params.iter().find(|(name, _)| *name == "expire");
        let expire = expire.and_then(|(_, seconds)| seconds.parse().ok());
        expire.is_some_and(|expire: i64| expire <= now.as_second())
    }

    /// Path and query: what was signed as it is, and what we want instead of what it says.
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
