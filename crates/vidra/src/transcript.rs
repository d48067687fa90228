//! Transcripts: player, choice of a track, captions, lines. Needs no key.

pub mod choice;
pub mod clients;
mod cue;
mod parse;
pub mod player;
pub mod reason;
mod render;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use http::StatusCode;
use percent_encoding::{percent_decode_str, utf8_percent_encode};
use tokio::time::Instant;

use crate::error::{Error, Result};
use crate::ident::VideoId;
use crate::upstream::call::ESCAPED;
use crate::upstream::egress::{Egress, InUse};
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
        let result = match playable(errand, &egress).await {
            Ok((client, player)) => read_captions(errand, &egress, client, &player, query).await,
            Err(error) => Err(error),
        };
        if let Some(settled) = addresses.settle(&egress, result) {
            return settled;
        }
    }
}

/// The caption tracks of a video.
pub(crate) async fn tracks(errand: &Errand<'_>) -> Result<Vec<CaptionTrack>> {
    let mut addresses = Addresses::new(errand);
    loop {
        let egress = addresses.next()?;
        let result = playable(errand, &egress).await;
        let result = result.map(|(_, player)| player.tracks.iter().map(Track::listed).collect());
        if let Some(settled) = addresses.settle(&egress, result) {
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
    fn next(&mut self) -> Result<InUse<'a>> {
        self.left = self.left.saturating_sub(1);
        self.errand.web.egresses.choose(Instant::now()).map_err(|(why, wait)| {
            let told = self.last.take();
            told.unwrap_or_else(|| why.error(self.errand.id).retry_in(Some(wait)))
        })
    }

    /// Notes what a result says about its address; `None` where another one should be tried.
    fn settle<T>(&mut self, egress: &InUse<'_>, result: Result<T>) -> Option<Result<T>> {
        let now = Instant::now();
        let mut error = match result {
            Err(error) => error,
            read => {
                egress.trusted();
                return Some(read);
            }
        };
        match error.reason() {
            Some(why) if why.is_about_the_address() => {
                let pause = egress.blocked(why, error.retry_after(), now);
                error = error.retry_in(Some(pause));
            }
            // A dead proxy is passed over; a dead network has nobody to pass on to.
            Some(Reason::Unreachable) if self.errand.web.egresses.count() > 1 => {
                egress.unreachable(now);
            }
            // The platform spoke of the video, and so has nothing against the address.
            Some(why) if why != Reason::TimedOut && !why.may_go_better_elsewhere() => {
                egress.trusted();
            }
            _ => {}
        }
        let elsewhere = error.reason().is_some_and(Reason::may_go_better_elsewhere);
        if !elsewhere || self.left == 0 {
            return Some(Err(error));
        }
        self.last = Some(error);
        None
    }
}

/// Asks one player after the other until one says something that counts.
async fn playable<'a>(errand: &'a Errand<'_>, egress: &Egress) -> Result<(&'a Client, Player)> {
    let mut told = Reason::PlatformChanged;
    // The page is a megabyte: once is enough for all players.
    let mut may_renew = true;
    for client in errand.web.clients.iter() {
        let reason = match ask_player(errand, egress, client, &mut may_renew).await? {
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

async fn ask_player(
    errand: &Errand<'_>,
    egress: &Egress,
    client: &Client,
    may_renew: &mut bool,
) -> Result<Verdict> {
    let known = egress.session(Instant::now());
    let request = errand.player_request(client, known.as_ref())?;
    let mut answer = errand.send(egress, Load::Page, &request).await?;
    if answer.status == StatusCode::BAD_REQUEST && std::mem::take(may_renew) {
        // It asks for what stands in the watch page, or for something newer than what stood there.
        let session = errand.renew_session(egress, known.as_ref()).await?;
        let request = errand.player_request(client, Some(&session))?;
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
    for track in candidates.into_iter().take(MOST_TRACKS) {
        let lines = read_track(errand, egress, client, track, query.translate.as_deref()).await?;
        if let Some(lines) = lines {
            return Ok(lines);
        }
    }
    // The platform declines to serve what it lists: that is how it asks for a token.
    Err(Reason::PoTokenRequired.error(errand.id))
}

/// More empty bodies than this are no accident.
const MOST_TRACKS: usize = 4;

/// Reads one track; `None` where its body is empty.
async fn read_track(
    errand: &Errand<'_>,
    egress: &Egress,
    client: &Client,
    track: &Track,
    translate: Option<&str>,
) -> Result<Option<Transcript>> {
    // Asked to translate to its own language, the platform damages the text.
    let translate = translate.filter(|code| !code.eq_ignore_ascii_case(&track.language_code));
    let Some(address) = TimedText::checked(&track.base_url, &errand.web.origin) else {
        return Err(Reason::PlatformChanged.error(errand.id));
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
    if translate.is_some() && answer.status == StatusCode::BAD_REQUEST {
        let hint = "the platform does not translate these captions to that language";
        return Err(Reason::LanguageUnavailable.error(errand.id).hint(hint));
    }
    if !answer.status.is_success() {
        return Err(Reason::PlatformChanged.error(errand.id).because(answer.status.to_string()));
    }
    let lang = translate.unwrap_or(&track.language_code);
    match parse(&answer.body) {
        Ok(cues) => Ok(Some(lines(cues, lang))),
        Err(Unreadable::Empty) => Ok(None),
        Err(Unreadable::NotTimedText) => Err(Reason::Blocked.error(errand.id)),
        Err(Unreadable::Malformed(why)) => {
            Err(Reason::PlatformChanged.error(errand.id).because(why))
        }
    }
}

fn lines(cues: Vec<Cue>, lang: &str) -> Transcript {
    let lang = Arc::from(lang);
    cues.into_iter().map(|cue| TranscriptLine::new(cue, &lang)).collect()
}

/// Says which languages there are.
fn other_languages(id: VideoId, player: &Player) -> Error {
    let codes: BTreeSet<&str> = player.tracks.iter().map(|track| &*track.language_code).collect();
    let codes = codes.into_iter().collect::<Vec<_>>().join(", ");
    Reason::LanguageUnavailable.error(id).hint(&format!("available: {codes}"))
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
