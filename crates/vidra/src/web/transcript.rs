//! Transcripts: player, choice of a track, captions, lines. Needs no key.

use std::pin::pin;

use http::StatusCode;
use tokio::time::{Instant, timeout_at};

use super::captions::{Reader, Token};
use super::clients::Client;
use super::egress::{Closed, Egress, InUse};
use super::{Load, TranscriptContext};
use crate::context::nobody_waits;
use crate::error::{Error, Reason, Result};
use crate::transcript::{CaptionTrack, Player, Track, Transcript, TranscriptQuery, Verdict};

/// The transcript of a video.
pub(crate) async fn one(
    fetch: &TranscriptContext<'_>,
    query: &TranscriptQuery,
) -> Result<Transcript> {
    let mut addresses = Addresses::new(fetch, Load::Captions);
    // Bound to the video and not to the address.
    let token = Token::default();
    loop {
        let egress = addresses.next().await?;
        // Before the player is asked, for whose answer there would be no use.
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
) -> Result<Transcript> {
    // Once more where the addresses of the captions are past their time: the next answer has new ones.
    for _ in 0..2 {
        let (client, player) = playable(fetch, egress).await?;
        let reader = Reader { fetch, egress, client, token };
        if let Some(lines) = reader.read(&player, query).await? {
            return Ok(lines);
        }
    }
    Err(Reason::PlatformChanged
        .error(fetch.id)
        .with_source("captions at addresses that have expired"))
}

/// The caption tracks of a video.
pub(crate) async fn tracks(fetch: &TranscriptContext<'_>) -> Result<Vec<CaptionTrack>> {
    let mut addresses = Addresses::new(fetch, Load::Player);
    loop {
        let egress = addresses.next().await?;
        let result = playable(fetch, &egress).await;
        let result = result.map(|(_, player)| player.tracks().iter().map(Track::listed).collect());
        if let Some(settled) = addresses.settle(&egress, result) {
            return settled;
        }
    }
}

/// Goes from one address to the next when the platform turns against it.
struct Addresses<'a> {
    fetch: &'a TranscriptContext<'a>,
    /// What it is all for.
    load: Load,
    /// The numbers of those that were tried: each is tried once.
    tried: Vec<usize>,
    /// What the last one was told.
    last: Option<Error>,
}

impl<'a> Addresses<'a> {
    fn new(fetch: &'a TranscriptContext<'a>, load: Load) -> Self {
        Self { fetch, load, tried: vec![], last: None }
    }

    /// An address that the platform does not block. Waits for the end of a probe, because a refusal might be
    /// wrong a moment later, and for the turn of an address whose pause is over.
    async fn next(&mut self) -> Result<InUse<'a>> {
        let fetch = self.fetch;
        let egresses = &fetch.web.egresses;
        loop {
            let mut probed = pin!(egresses.probed.notified());
            // Enabled before the check, so that no wake-up is lost between the two.
            probed.as_mut().enable();
            let now = Instant::now();
            let chosen = egresses.choose(self.load, &self.tried, now);
            let Closed { why, wait, turn, is_probed } = match chosen {
                Ok(egress) => {
                    self.tried.push(egress.number);
                    return Ok(egress);
                }
                Err(closed) => closed,
            };
            let turn = turn.filter(|turn| now + *turn < fetch.ctx.deadline);
            if !is_probed && turn.is_none() {
                let refusal = || match why {
                    Reason::Paced => fetch.paced(self.load, wait),
                    _ => why.error(fetch.id).with_retry_after(Some(wait)),
                };
                return Err(self.last.take().unwrap_or_else(refusal));
            }
            if let Some(turn) = turn {
                fetch.announce(turn);
            }
            // Another address may be free sooner.
            let until = fetch.ctx.deadline.min(now + wait);
            tokio::select! {
                biased;
                () = fetch.ctx.waiters.gone() => return Err(nobody_waits()),
                _ = timeout_at(until, probed) => {}
            }
            if Instant::now() >= fetch.ctx.deadline {
                return Err(Reason::TimedOut.error(fetch.id).of_one_caller());
            }
        }
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
            why if why.is_about_the_address() => {
                let pause = egress.blocked(why, error.retry_after(), now);
                error = error.with_retry_after(Some(pause));
            }
            // A dead proxy is passed over; a dead network has nobody to pass on to.
            Reason::Unreachable if self.fetch.web.egresses.count() > 1 => {
                egress.unreachable(now);
            }
            // It was content until then.
            Reason::TranslationLimited => egress.trusted(),
            // The platform spoke of the video, and so has nothing against the address.
            why if why != Reason::TimedOut && !why.may_go_better_elsewhere() => {
                egress.trusted();
            }
            _ => {}
        }
        match error.reason().may_go_better_elsewhere() {
            true => self.pass_over(error).map(Err),
            false => Some(Err(error)),
        }
    }

    /// Leaves an address for the next; the error where all have been tried.
    fn pass_over(&mut self, error: Error) -> Option<Error> {
        if self.tried.len() == self.fetch.web.egresses.count() {
            return Some(error);
        }
        self.last = Some(error);
        None
    }
}

impl Reason {
    /// Whether it says nothing about the video, so that asking from another address may go better.
    fn may_go_better_elsewhere(self) -> bool {
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

    /// Whether the platform has turned against the address that asked, not against the video.
    fn is_about_the_address(self) -> bool {
        matches!(self, Self::Blocked | Self::UpstreamRateLimited)
    }
}

/// Asks one player after the other until one says something that counts.
async fn playable<'a>(
    fetch: &'a TranscriptContext<'_>,
    egress: &Egress,
) -> Result<(&'a Client, Player)> {
    let mut told = Reason::PlatformChanged;
    // The page is a megabyte: once is enough for all players.
    let mut may_renew = true;
    for client in fetch.web.clients.iter() {
        let reason = match ask_player(fetch, egress, client, &mut may_renew).await? {
            Verdict::Captions(player) => return Ok((client, player)),
            Verdict::Final(reason) => return Err(reason.error(fetch.id)),
            Verdict::FinalSaying(reason, words) => {
                return Err(reason.error_saying(words, fetch.id));
            }
            Verdict::AskAnother(reason) => reason,
        };
        // The first that says more than "I do not understand".
        if told == Reason::PlatformChanged {
            told = reason;
        }
    }
    Err(told.error(fetch.id))
}

async fn ask_player(
    fetch: &TranscriptContext<'_>,
    egress: &Egress,
    client: &Client,
    may_renew: &mut bool,
) -> Result<Verdict> {
    let known = egress.session(Instant::now());
    let request = fetch.player_request(client, known.as_ref())?;
    let mut answer = fetch.send(egress, Load::Player, &request).await?;
    if answer.status == StatusCode::BAD_REQUEST && std::mem::take(may_renew) {
        // It asks for what stands in the watch page, or for something newer than what stood there.
        let session = fetch.renew_session(egress, known.as_ref()).await?;
        let request = fetch.player_request(client, Some(&session))?;
        answer = fetch.send(egress, Load::Player, &request).await?;
    }
    if !answer.status.is_success() {
        return Ok(Verdict::AskAnother(Reason::PlatformChanged));
    }
    Ok(Verdict::of(&answer.body, fetch.id))
}
