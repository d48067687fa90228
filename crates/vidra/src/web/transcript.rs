//! Fetches transcripts: player, track selection, captions. It needs no key.

use std::pin::pin;

use http::StatusCode;
use tokio::time::{Instant, timeout_at};

use super::captions::{Reader, Token};
use super::clients::Client;
use super::egress::pool::Closed;
use super::egress::{Egress, InUse};
use super::{TranscriptContext, WebRequestKind};
use crate::context::no_waiters;
use crate::error::{Error, Reason, Result};
use crate::transcript::{
    CaptionTrack, FullTranscript, Player, PlayerAnswer, Track, TranscriptQuery,
};

/// Fetches the transcript of a video.
pub(crate) async fn one(
    fetch: &TranscriptContext<'_>,
    query: &TranscriptQuery,
) -> Result<FullTranscript> {
    let mut addresses = Addresses::new(fetch, WebRequestKind::Captions);
    // The token belongs to the video and not to the address.
    let token = Token::default();
    loop {
        let egress = addresses.next().await?;
        // Checked before the player request, whose response would be useless.
        let held_back = query.translate.as_ref().and_then(|_| fetch.held_back(&egress));
        if let Some(error) = held_back {
            match addresses.pass_over(error) {
                Some(error) => return Err(error),
                None => continue,
            }
        }
        let result = read(fetch, &egress, &token, query).await;
        if let Some(settled) = addresses.settle(&egress, result) {
            return settled;
        }
    }
}

async fn read(
    fetch: &TranscriptContext<'_>,
    egress: &Egress,
    token: &Token,
    query: &TranscriptQuery,
) -> Result<FullTranscript> {
    // A second try if the caption URLs have expired, because the next player response has new ones.
    for _ in 0..2 {
        let (client, player) = playable(fetch, egress).await?;
        let reader = Reader { fetch, egress, client, token };
        if let Some(transcript) = reader.read(&player, query).await? {
            return Ok(transcript);
        }
    }
    Err(Reason::PlatformChanged
        .error(fetch.id)
        .with_source("captions at addresses that have expired"))
}

/// Fetches the caption tracks of a video.
pub(crate) async fn tracks(fetch: &TranscriptContext<'_>) -> Result<Vec<CaptionTrack>> {
    let mut addresses = Addresses::new(fetch, WebRequestKind::Player);
    loop {
        let egress = addresses.next().await?;
        let result = playable(fetch, &egress).await;
        let result = result.map(|(_, player)| player.tracks().iter().map(Track::listed).collect());
        if let Some(settled) = addresses.settle(&egress, result) {
            return settled;
        }
    }
}

/// Iterates over the egress addresses until one works.
struct Addresses<'a> {
    fetch: &'a TranscriptContext<'a>,
    /// The kind of the last request of the fetch.
    kind: WebRequestKind,
    /// The numbers of the addresses that were tried. Each is tried once.
    tried: Vec<usize>,
    /// The error of the last address.
    last: Option<Error>,
}

impl<'a> Addresses<'a> {
    fn new(fetch: &'a TranscriptContext<'a>, kind: WebRequestKind) -> Self {
        Self { fetch, kind, tried: vec![], last: None }
    }

    /// Returns an unblocked address. It waits for the end of a probe, because the refusal may be
    /// outdated a moment later. It also waits for the rate limiter of an address whose pause is
    /// over.
    async fn next(&mut self) -> Result<InUse<'a>> {
        let fetch = self.fetch;
        let egresses = &fetch.web.egresses;
        loop {
            let mut probed = pin!(egresses.signals.probed.notified());
            // Enabled before the check, so that no wake-up is lost between the two.
            probed.as_mut().enable();
            let now = Instant::now();
            let urgency = fetch.urgency();
            let before = urgency.now();
            let chosen = egresses.choose(self.kind, before, &self.tried, now);
            let Closed { why, wait, pace_wait, is_probed } = match chosen {
                Ok(egress) => {
                    self.tried.push(egress.number);
                    return Ok(egress);
                }
                Err(closed) => closed,
            };
            let pace_wait = pace_wait.filter(|pace_wait| now + *pace_wait < fetch.ctx.deadline);
            if !is_probed && pace_wait.is_none() {
                let refusal = || match why {
                    Reason::Paced => fetch.paced(self.kind, wait),
                    _ => why.error(fetch.id).with_retry_after(Some(wait)),
                };
                return Err(self.last.take().unwrap_or_else(refusal));
            }
            if let Some(pace_wait) = pace_wait {
                fetch.announce(pace_wait);
            }
            // Another address may become available sooner.
            let until = fetch.ctx.deadline.min(now + wait);
            tokio::select! {
                biased;
                () = fetch.ctx.waiters.gone() => return Err(no_waiters()),
                _ = timeout_at(until, probed) => {}
                () = urgency.raised_from(before) => {}
            }
            if Instant::now() >= fetch.ctx.deadline {
                return Err(Reason::TimedOut.error(fetch.id).for_one_caller());
            }
        }
    }

    /// Records what a result says about its address. `None` if the next address should be tried.
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
            why if why.is_about_the_address() => {
                let pause = egress.blocked(why, error.retry_after(), now);
                error = error.with_retry_after(Some(pause));
            }
            // With several addresses, a dead proxy is skipped. A single address has no alternative.
            Reason::Unreachable if self.fetch.web.egresses.count() > 1 => {
                egress.unreachable(now);
            }
            // The address itself is not blocked.
            Reason::TranslationLimited => egress.trusted(),
            // The response concerns the video, so the address is not blocked.
            why if why != Reason::TimedOut && !why.another_address_may_succeed() => {
                egress.trusted();
            }
            _ => {}
        }
        match error.reason().another_address_may_succeed() {
            true => self.pass_over(error).map(Err),
            false => Some(Err(error)),
        }
    }

    /// Skips an address. Returns the error if all addresses were tried.
    fn pass_over(&mut self, error: Error) -> Option<Error> {
        if self.tried.len() == self.fetch.web.egresses.count() {
            return Some(error);
        }
        self.last = Some(error);
        None
    }
}

impl Reason {
    /// Whether the reason does not concern the video, so that another address may succeed.
    fn another_address_may_succeed(self) -> bool {
        self.is_about_the_address()
            || matches!(
                self,
                Self::TranslationLimited
                    | Self::Paced
                    | Self::Unreachable
                    | Self::UpstreamFailed
                    | Self::Failing
            )
    }

    /// Whether YouTube rejects the address and not the video.
    fn is_about_the_address(self) -> bool {
        matches!(self, Self::Blocked | Self::UpstreamRateLimited)
    }
}

/// Tries the player clients in order until one gives a definite response.
async fn playable<'a>(
    fetch: &'a TranscriptContext<'_>,
    egress: &Egress,
) -> Result<(&'a Client, Player)> {
    let mut reason = Reason::PlatformChanged;
    // The page has about a megabyte. One fetch is enough for all clients.
    let mut may_renew = true;
    for client in fetch.web.clients.iter() {
        let next = match call_player(fetch, egress, client, &mut may_renew).await? {
            PlayerAnswer::Captions(player) => return Ok((client, player)),
            PlayerAnswer::Final(reason) => return Err(reason.error(fetch.id)),
            PlayerAnswer::FinalWithMessage(reason, words) => {
                return Err(reason.error_saying(words, fetch.id));
            }
            PlayerAnswer::TryNextClient(reason) => reason,
        };
        // The first reason that is more specific than `PlatformChanged`.
        if reason == Reason::PlatformChanged {
            reason = next;
        }
    }
    Err(reason.error(fetch.id))
}

async fn call_player(
    fetch: &TranscriptContext<'_>,
    egress: &Egress,
    client: &Client,
    may_renew: &mut bool,
) -> Result<PlayerAnswer> {
    let known = egress.session(Instant::now());
    let request = fetch.player_request(client, known.as_ref())?;
    let mut answer = fetch.send(egress, WebRequestKind::Player, &request).await?;
    if answer.status == StatusCode::BAD_REQUEST && std::mem::take(may_renew) {
        // The player requires the session data of the watch page, or newer data.
        let session = fetch.renew_session(egress, known.as_ref()).await?;
        let request = fetch.player_request(client, Some(&session))?;
        answer = fetch.send(egress, WebRequestKind::Player, &request).await?;
    }
    if !answer.status.is_success() {
        return Ok(PlayerAnswer::TryNextClient(Reason::PlatformChanged));
    }
    Ok(PlayerAnswer::parse(&answer.body, fetch.id))
}
