//! Transcripts: player, choice of a track, captions, lines. Needs no key.

pub mod choice;
pub mod clients;
mod cue;
mod parse;
pub mod player;
pub mod reason;
mod render;

use std::borrow::Cow;
use std::sync::Arc;

use http::StatusCode;
use percent_encoding::utf8_percent_encode;
use tokio::time::Instant;

use crate::error::{Error, Result};
use crate::ident::VideoId;
use crate::upstream::call::ESCAPED;
use crate::upstream::egress::Egress;
use crate::upstream::web::{Errand, Load};
use crate::upstream::wire::innertube as wire;
use choice::Languages;
use clients::Client;
use player::{Player, Track, Verdict};
use reason::Reason;

pub use cue::{Cue, Seconds, TranscriptLine};
pub use parse::{Unreadable, parse};
pub use player::CaptionTrack;
pub use render::{to_srt, to_text, to_vtt};

/// Which transcript of a video.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranscriptQuery {
    /// The languages that will do, most wanted first; by default the one that is spoken.
    pub languages: Languages,
    /// The language to have the platform translate it to.
    pub translate: Option<String>,
}

/// Lines of one video.
pub type Transcript = Vec<TranscriptLine>;

/// The transcript of a video.
pub(crate) async fn one(errand: &Errand<'_>, query: &TranscriptQuery) -> Result<Transcript> {
    let mut addresses = Addresses::new(errand);
    loop {
        let egress = addresses.next()?;
        let result = match playable(errand, egress).await {
            Ok((client, player)) => read_captions(errand, egress, client, &player, query).await,
            Err(error) => Err(error),
        };
        if let Some(settled) = addresses.settle(egress, result) {
            return settled;
        }
    }
}

/// The caption tracks of a video.
pub(crate) async fn tracks(errand: &Errand<'_>) -> Result<Vec<CaptionTrack>> {
    let mut addresses = Addresses::new(errand);
    loop {
        let egress = addresses.next()?;
        let result = playable(errand, egress).await;
        let result = result.map(|(_, player)| player.tracks.iter().map(Track::listed).collect());
        if let Some(settled) = addresses.settle(egress, result) {
            return settled;
        }
    }
}

/// Goes from one address to the next when the platform turns against it.
struct Addresses<'a> {
    errand: &'a Errand<'a>,
    /// How many may still be tried: each once.
    left: usize,
    /// What the last one was told.
    last: Option<Error>,
}

impl<'a> Addresses<'a> {
    fn new(errand: &'a Errand<'a>) -> Self {
        Self { errand, left: errand.web.egresses.count(), last: None }
    }

    /// An address that the platform has nothing against.
    fn next(&mut self) -> Result<&'a Egress> {
        self.left = self.left.saturating_sub(1);
        self.errand.web.egresses.choose(Instant::now()).map_err(|wait| {
            let told = self.last.take();
            told.unwrap_or_else(|| Reason::Blocked.error(self.errand.id).retry_in(Some(wait)))
        })
    }

    /// Notes what a result says about its address; `None` where another one should be tried.
    fn settle<T>(&mut self, egress: &Egress, result: Result<T>) -> Option<Result<T>> {
        let now = Instant::now();
        let error = match result {
            Err(error) if error.reason().is_some_and(Reason::is_about_the_address) => {
                let pause = egress.blocked(now, error.retry_after());
                error.retry_in(Some(pause))
            }
            // A dead proxy is passed over; a dead network has nobody to pass on to.
            Err(error) if error.reason() == Some(Reason::Unreachable) => {
                egress.unreachable(now);
                error
            }
            // No word of the platform's: nothing is known of how it sees this address.
            Err(error) if error.reason().is_none_or(|reason| reason == Reason::Paced) => {
                egress.unknown(now);
                return Some(Err(error));
            }
            result => {
                egress.trusted();
                return Some(result);
            }
        };
        if self.left == 0 {
            return Some(Err(error));
        }
        self.last = Some(error);
        None
    }
}

/// Asks one player after the other until one says something that counts.
async fn playable<'a>(errand: &'a Errand<'_>, egress: &Egress) -> Result<(&'a Client, Player)> {
    let mut told = Reason::PlatformChanged;
    for client in errand.web.clients.iter() {
        let reason = match ask_player(errand, egress, client).await? {
            Verdict::Captions(player) => return Ok((client, player)),
            Verdict::Final(reason) => return Err(reason.error(errand.id)),
            Verdict::AskAnother(reason) => reason,
        };
        // The first that says more than "I do not understand".
        if told == Reason::PlatformChanged {
            told = reason;
        }
    }
    Err(told.error(errand.id))
}

async fn ask_player(errand: &Errand<'_>, egress: &Egress, client: &Client) -> Result<Verdict> {
    let knew_session = egress.session(Instant::now()).is_some();
    let request = errand.player_request(client, egress)?;
    let mut answer = errand.send(egress, Load::Page, &request).await?;
    if answer.status == StatusCode::BAD_REQUEST && !knew_session {
        // It asks for what stands in the watch page.
        errand.learn_session(egress).await?;
        let request = errand.player_request(client, egress)?;
        answer = errand.send(egress, Load::Page, &request).await?;
    }
    if !answer.status.is_success() {
        return Ok(Verdict::AskAnother(Reason::PlatformChanged));
    }
    let read: Result<wire::Player, _> = serde_json::from_slice(&answer.body);
    Ok(match read {
        Ok(player) => player::read(player, errand.id),
        Err(_) => Verdict::AskAnother(Reason::PlatformChanged),
    })
}

/// Reads the best track; where its body is empty, the next.
async fn read_captions(
    errand: &Errand<'_>,
    egress: &Egress,
    client: &Client,
    player: &Player,
    query: &TranscriptQuery,
) -> Result<Transcript> {
    let candidates = choice::candidates(player, &query.languages);
    if candidates.is_empty() {
        return Err(other_languages(errand.id, player));
    }
    let mut told = Reason::PoTokenRequired;
    for track in candidates {
        match read_track(errand, egress, client, track, query.translate.as_deref()).await? {
            Ok(lines) => return Ok(lines),
            Err(reason) => told = reason,
        }
    }
    Err(told.error(errand.id))
}

/// Reads one track; the inner `Err` says why another one should be tried.
async fn read_track(
    errand: &Errand<'_>,
    egress: &Egress,
    client: &Client,
    track: &Track,
    translate: Option<&str>,
) -> Result<Result<Transcript, Reason>> {
    // Asked to translate to its own language, the platform damages the text.
    let translate = translate.filter(|code| !code.eq_ignore_ascii_case(&track.language_code));
    let Some(address) = TimedText::checked(&track.base_url, &errand.web.origin) else {
        return Ok(Err(Reason::PlatformChanged));
    };
    let token = if address.needs_token() { errand.po_token().await? } else { None };
    if address.needs_token() && token.is_none() {
        // Not the next track: a lesser one must not pass for the one that was chosen.
        return Err(Reason::PoTokenRequired.error(errand.id));
    }
    let load = if translate.is_some() { Load::Translation } else { Load::Captions };
    let request =
        errand.captions_request(client, &address.target(client, translate, token.as_deref()))?;
    let answer = match errand.send(egress, load, &request).await {
        Err(error) if load == Load::Translation && error.reason() == Some(Reason::RateLimited) => {
            let limited = Reason::TranslationLimited.error(errand.id);
            return Err(limited.retry_in(error.retry_after()));
        }
        answer => answer?,
    };
    if !answer.status.is_success() {
        return Ok(Err(Reason::PlatformChanged));
    }
    let lang = translate.unwrap_or(&track.language_code);
    Ok(match parse(&answer.body) {
        Ok(cues) => Ok(lines(cues, lang)),
        Err(Unreadable::Empty) => Err(Reason::PoTokenRequired),
        Err(Unreadable::NotTimedText) => return Err(Reason::Blocked.error(errand.id)),
        Err(Unreadable::Malformed(_)) => Err(Reason::PlatformChanged),
    })
}

fn lines(cues: Vec<Cue>, lang: &str) -> Transcript {
    let lang = Arc::from(lang);
    cues.into_iter().map(|cue| TranscriptLine::new(cue, &lang)).collect()
}

/// Says which languages there are.
fn other_languages(id: VideoId, player: &Player) -> Error {
    let mut codes: Vec<&str> =
        player.tracks.iter().map(|track| track.language_code.as_str()).collect();
    codes.dedup();
    Reason::LanguageUnavailable.error(id).hint(&format!("available: {}", codes.join(", ")))
}

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
        let clean = query.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        let params =
            || query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
        (path == Self::PATH && clean).then(|| Self { params: params() })
    }

    /// An experiment in which the platform wants a token.
    fn needs_token(&self) -> bool {
        let experiments = self.params.iter().filter(|(name, _)| *name == "exp");
        experiments
            .flat_map(|(_, list)| list.split([',', '%']))
            .any(|name| matches!(name.trim_start_matches("2C"), "xpe" | "xpv"))
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
