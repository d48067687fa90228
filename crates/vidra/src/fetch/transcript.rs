//! Transcripts: player, choice of a track, captions, lines. Needs no key.

mod captions;
pub(crate) mod clients;

use std::pin::pin;

use http::StatusCode;
use tokio::time::{Instant, timeout_at};

use crate::error::{Error, Result};
use crate::transcript::{
    CaptionTrack, Player, Reason, Track, Transcript, TranscriptQuery, Verdict,
};
use crate::upstream::egress::{Closed, Egress, InUse};
use crate::upstream::nobody_waits;
use crate::upstream::web::{Errand, Load};
use captions::{Reader, Token};
use clients::Client;

/// The transcript of a video.
pub(crate) async fn one(errand: &Errand<'_>, query: &TranscriptQuery) -> Result<Transcript> {
    let mut addresses = Addresses::new(errand, Load::Captions);
    // Bound to the video and not to the address.
    let token = Token::default();
    loop {
        let egress = addresses.next().await?;
        // Before the player is asked, for whose answer there would be no use.
        let held_back = query.translate.as_ref().and_then(|_| errand.held_back(&egress));
        if let Some(error) = held_back {
            match addresses.pass_over(error) {
                Some(error) => return Err(error),
                None => continue,
            }
        }
        let result = read(errand, &egress, &token, query).await;
        if let Some(settled) = addresses.settle(&egress, result) {
            return settled;
        }
    }
}

async fn read(
    errand: &Errand<'_>,
    egress: &Egress,
    token: &Token,
    query: &TranscriptQuery,
) -> Result<Transcript> {
    // Once more where the addresses of the captions are past their time: the next answer has new ones.
    for _ in 0..2 {
        let (client, player) = playable(errand, egress).await?;
        let reader = Reader { errand, egress, client, token };
        if let Some(lines) = reader.read(&player, query).await? {
            return Ok(lines);
        }
    }
    Err(Reason::PlatformChanged.error(errand.id).because("captions at addresses that have expired"))
}

/// The caption tracks of a video.
pub(crate) async fn tracks(errand: &Errand<'_>) -> Result<Vec<CaptionTrack>> {
    let mut addresses = Addresses::new(errand, Load::Player);
    loop {
        let egress = addresses.next().await?;
        let result = playable(errand, &egress).await;
        let result = result.map(|(_, player)| player.tracks().iter().map(Track::listed).collect());
        if let Some(settled) = addresses.settle(&egress, result) {
            return settled;
        }
    }
}

/// Goes from one address to the next when the platform turns against it.
struct Addresses<'a> {
    errand: &'a Errand<'a>,
    /// What it is all for.
    load: Load,
    /// The numbers of those that were tried: each is tried once.
    tried: Vec<usize>,
    /// What the last one was told.
    last: Option<Error>,
}

impl<'a> Addresses<'a> {
    fn new(errand: &'a Errand<'a>, load: Load) -> Self {
        Self { errand, load, tried: vec![], last: None }
    }

    /// An address that the platform does not block. Waits for the end of a probe, because a refusal might be
    /// wrong a moment later, and for the turn of an address whose pause is over.
    async fn next(&mut self) -> Result<InUse<'a>> {
        let errand = self.errand;
        let egresses = &errand.web.egresses;
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
            let turn = turn.filter(|turn| now + *turn < errand.deadline);
            if !is_probed && turn.is_none() {
                let refusal = || match why {
                    Reason::Paced => errand.paced(self.load, wait),
                    _ => why.error(errand.id).retry_in(Some(wait)),
                };
                return Err(self.last.take().unwrap_or_else(refusal));
            }
            if let Some(turn) = turn {
                errand.announce(turn);
            }
            // Another address may be free sooner.
            let until = errand.deadline.min(now + wait);
            tokio::select! {
                biased;
                () = errand.audience.gone() => return Err(nobody_waits()),
                _ = timeout_at(until, probed) => {}
            }
            if Instant::now() >= errand.deadline {
                return Err(Reason::TimedOut.error(errand.id).of_the_asker());
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
            Some(why) if why.is_about_the_address() => {
                let pause = egress.blocked(why, error.retry_after(), now);
                error = error.retry_in(Some(pause));
            }
            // A dead proxy is passed over; a dead network has nobody to pass on to.
            Some(Reason::Unreachable) if self.errand.web.egresses.count() > 1 => {
                egress.unreachable(now);
            }
            // It was content until then.
            Some(Reason::TranslationLimited) => egress.trusted(),
            // The platform spoke of the video, and so has nothing against the address.
            Some(why) if why != Reason::TimedOut && !why.may_go_better_elsewhere() => {
                egress.trusted();
            }
            _ => {}
        }
        match error.reason().is_some_and(Reason::may_go_better_elsewhere) {
            true => self.pass_over(error).map(Err),
            false => Some(Err(error)),
        }
    }

    /// Leaves an address for the next; the error where all have been tried.
    fn pass_over(&mut self, error: Error) -> Option<Error> {
        if self.tried.len() == self.errand.web.egresses.count() {
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
        matches!(self, Self::Blocked | Self::RateLimited)
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
            Verdict::FinalSaying(reason, words) => {
                return Err(reason.error_saying(words, errand.id));
            }
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
    let mut answer = errand.send(egress, Load::Player, &request).await?;
    if answer.status == StatusCode::BAD_REQUEST && std::mem::take(may_renew) {
        // It asks for what stands in the watch page, or for something newer than what stood there.
        let session = errand.renew_session(egress, known.as_ref()).await?;
        let request = errand.player_request(client, Some(&session))?;
        answer = errand.send(egress, Load::Player, &request).await?;
    }
    if !answer.status.is_success() {
        return Ok(Verdict::AskAnother(Reason::PlatformChanged));
    }
    Ok(Verdict::of(&answer.body, errand.id))
}
