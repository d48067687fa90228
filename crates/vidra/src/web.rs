//! The keyless interface: player, watch page, timedtext. It chooses the egress address, paces the
//! requests and retries them. Callers interpret the responses.

mod captions;
pub(crate) mod clients;
pub(crate) mod egress;
pub(crate) mod page;
pub(crate) mod transcript;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use tokio::time::{Instant, sleep, timeout};

use crate::clock::Clock;
use crate::context::{Context, nobody_waits};
use crate::error::{Error, Reason, Result};
use crate::ident::VideoId;
use crate::resilience::outcome::Ending;
use crate::resilience::pace::{Turn, Urgent};
use crate::resilience::retry::{RetryBudget, RetryPolicy};
use crate::resilience::traffic::Traffic;
use crate::transport::{Answer, Failure, Transport, traced};
use egress::{Egress, Egresses, Session};

use clients::{Client, Clients};

/// The client of the keyless interface, shared by all requests.
pub(crate) struct Web {
    /// The base URL, without a trailing slash. The client sends requests to no other host.
    pub(crate) origin: String,
    pub(crate) egresses: Egresses,
    pub(crate) clients: Clients,
    pub(crate) pot_provider: Option<PotProvider>,
    pub(crate) retry: RetryPolicy,
    pub(crate) budget: RetryBudget,
    pub(crate) attempt_timeout: Duration,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The operator's provider of proof-of-origin tokens.
pub(crate) struct PotProvider {
    pub(crate) url: String,
    /// A direct transport, because the provider belongs to the operator and is not behind the
    /// proxies.
    pub(crate) transport: Arc<dyn Transport>,
}

/// The fetch of one transcript, or of its tracks.
pub(crate) struct TranscriptContext<'a> {
    pub(crate) web: &'a Web,
    pub(crate) id: VideoId,
    pub(crate) ctx: &'a Context,
}

/// The kind of a request, which selects its rate limit and circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// A player request.
    Player,
    /// A watch page.
    Page,
    /// Captions, which follow a player request.
    Captions,
    /// Translated captions.
    Translation,
}

/// A failed attempt.
pub(crate) struct FailedAttempt {
    error: Error,
    /// Whether a retry would fail too.
    is_final: bool,
}

impl Load {
    pub(crate) const ALL: [Self; 4] = [Self::Player, Self::Page, Self::Captions, Self::Translation];

    /// The name in reports.
    pub(crate) fn endpoint(self) -> &'static str {
        match self {
            Self::Player => "player",
            Self::Page => "watch",
            Self::Captions => "timedtext",
            Self::Translation => "translation",
        }
    }
}

impl FailedAttempt {
    fn passing(error: Error) -> Self {
        Self { error, is_final: false }
    }

    fn lasting(error: Error) -> Self {
        Self { error, is_final: true }
    }
}

impl TranscriptContext<'_> {
    /// Sends a request from `egress` within its rate limit, with retries. The caller interprets
    /// error responses, except for 429, blocks, proxy errors and server errors.
    pub(crate) async fn send(
        &self,
        egress: &Egress,
        load: Load,
        request: &Request<Bytes>,
    ) -> Result<Answer> {
        let mut failed = 0;
        loop {
            match self.send_once(egress, load, request, failed > 0).await {
                Ok(answer) => return Ok(answer),
                Err(attempt) => self.back_off(egress, load, &mut failed, attempt).await?,
            }
        }
    }

    /// Sends one attempt within the rate limit of `egress`.
    pub(crate) async fn send_once(
        &self,
        egress: &Egress,
        load: Load,
        request: &Request<Bytes>,
        is_retry: bool,
    ) -> Result<Answer, FailedAttempt> {
        self.check(egress, load).map_err(FailedAttempt::lasting)?;
        let turn = self.take_turn(egress, load).await.map_err(FailedAttempt::lasting)?;
        // The address may have been blocked, or the waiters may have left, during the wait.
        self.check(egress, load).map_err(FailedAttempt::lasting)?;
        let failed = |reason: Reason| reason.error(self.id);
        match self.attempt(egress, load, request, turn, is_retry).await? {
            answer if answer.status == StatusCode::TOO_MANY_REQUESTS => {
                Err(FailedAttempt::lasting(self.too_many(egress, load, &answer)))
            }
            answer if page::is_sorry(&answer) => {
                Err(FailedAttempt::lasting(failed(Reason::Blocked)))
            }
            // This response comes from the proxy and never from YouTube. A retry would fail too.
            answer if answer.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                let cause = "the proxy asks for another user or password";
                Err(FailedAttempt::lasting(failed(Reason::Unreachable).with_source(cause)))
            }
            answer if answer.status.is_server_error() => {
                let cause = answer.status.to_string();
                Err(FailedAttempt::passing(failed(Reason::UpstreamFailed).with_source(cause)))
            }
            answer => Ok(answer),
        }
    }

    /// Waits before the next attempt, or fails if there is none. It keeps the batch slot: the wait
    /// is short, and the caller may hold a lock.
    pub(crate) async fn back_off(
        &self,
        egress: &Egress,
        load: Load,
        failed: &mut u32,
        FailedAttempt { error, is_final }: FailedAttempt,
    ) -> Result<()> {
        *failed += 1;
        let wait = self.web.retry.wait(*failed, None, Duration::MAX, fastrand::f64());
        // No retry after the circuit breaker has opened.
        let is_final = is_final || egress.breaker(load).refuses(Instant::now()).is_some();
        // A follower may have time for a retry that exceeds the leader's deadline.
        if !is_final && wait.is_some_and(|wait| wait >= self.left()) {
            return Err(error.of_one_caller());
        }
        match wait.filter(|_| !is_final && self.web.budget.spend()) {
            Some(wait) => {
                self.web.traffic.note_retry();
                // Even a timer of zero takes a millisecond.
                if !wait.is_zero() {
                    sleep(wait).await;
                }
                Ok(())
            }
            None => Err(error),
        }
    }

    /// Fails if there are no waiters, or if `egress` does not admit this kind of request.
    fn check(&self, egress: &Egress, load: Load) -> Result<()> {
        if self.ctx.waiters.is_gone() {
            return Err(nobody_waits());
        }
        self.check_open(egress, load)
    }

    fn check_open(&self, egress: &Egress, load: Load) -> Result<()> {
        match egress.closed(load, Instant::now()) {
            Some((why, wait)) => Err(why.error(self.id).with_retry_after(Some(wait))),
            None => Ok(()),
        }
    }

    /// Why `egress` cannot send a translation before the deadline. `None` if it can.
    pub(crate) fn held_back(&self, egress: &Egress) -> Option<Error> {
        let wait = egress.translations.wait(Instant::now());
        let closed = self.check_open(egress, Load::Translation).err();
        closed.or_else(|| {
            let is_too_long = !wait.is_zero() && wait >= self.left();
            is_too_long.then(|| self.paced(Load::Translation, wait))
        })
    }

    pub(crate) fn paced(&self, load: Load, wait: Duration) -> Error {
        let error = match load {
            Load::Player | Load::Page | Load::Captions => Reason::Paced.error(self.id),
            Load::Translation => Reason::Paced.error_saying(
                "The service delays translations, so that YouTube does not limit them",
                self.id,
            ),
        };
        // Followers of the same fetch may have more time.
        error.with_retry_after(Some(wait)).of_one_caller()
    }

    /// Reports a wait for the rate limiter, unless it is short.
    pub(crate) fn announce(&self, wait: Duration) {
        if wait > Duration::from_secs(1) {
            tracing::info!(video = %self.id, wait_s = wait.as_secs(), "waiting for rate limiter");
            if let Some(on_wait) = &self.ctx.on_wait {
                on_wait(wait);
            }
        }
    }

    async fn take_turn<'e>(&self, egress: &'e Egress, load: Load) -> Result<Option<Turn<'e>>> {
        let pacer = match load {
            Load::Player | Load::Page => &egress.pacer,
            Load::Translation => &egress.translations,
            Load::Captions => return Ok(None),
        };
        let urgency = match load {
            // Every request that gets a 400 from the player waits for the page.
            Load::Page => Urgent::Always,
            _ => Urgent::While(self.ctx.waiters.clone()),
        };
        // The wait keeps the batch slot, so that no more entries queue than may run.
        let announce = |wait: Duration| self.announce(wait);
        tokio::select! {
            // A permit that is available is taken first. The waiters are checked after it.
            biased;
            turn = pacer.turn(urgency, self.ctx.deadline, announce) => {
                turn.map(Some).map_err(|wait| self.paced(load, wait))
            }
            () = self.ctx.waiters.gone() => Err(nobody_waits()),
        }
    }

    async fn attempt(
        &self,
        egress: &Egress,
        load: Load,
        request: &Request<Bytes>,
        turn: Option<Turn<'_>>,
        is_retry: bool,
    ) -> Result<Answer, FailedAttempt> {
        let too_late = || Reason::TimedOut.error(self.id);
        let limit = self.web.attempt_timeout.min(self.left());
        if limit.is_zero() {
            return Err(FailedAttempt::lasting(too_late().of_one_caller()));
        }
        let pass = egress.breaker(load).admit(Instant::now());
        let pass = pass.map_err(|wait| {
            FailedAttempt::lasting(Reason::Failing.error(self.id).with_retry_after(Some(wait)))
        })?;
        if !is_retry {
            self.web.budget.earn();
        }
        let started = Instant::now();
        let (transport, path) = (&*egress.transport, request.uri().path());
        // From here on the request counts as sent, even if this future is dropped.
        if let Some(turn) = turn {
            turn.used();
        }
        let exchange = traced::exchange(transport, path, request.clone());
        let outcome = timeout(limit, exchange).await;
        let ending = match &outcome {
            Ok(Ok(answer)) if page::is_sorry(answer) => Ending::Blocked,
            Ok(Ok(answer)) => Ending::of_answer(answer),
            Ok(Err(failure)) => Ending::of_failure(failure),
            Err(_) => Ending::out_of_time(limit, self.web.attempt_timeout),
        };
        self.web.traffic.note(load.endpoint(), ending, started.elapsed());
        pass.end(ending, is_retry);
        let passing = |reason: Reason, cause: Failure| {
            FailedAttempt::passing(reason.error(self.id).with_source(cause.to_string()))
        };
        match outcome {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(failure @ Failure::NotSent(_))) => Err(passing(Reason::Unreachable, failure)),
            Ok(Err(failure @ Failure::Broken(_))) => Err(passing(Reason::UpstreamFailed, failure)),
            // A retry would get the same large response.
            Ok(Err(Failure::TooLarge)) => {
                Err(FailedAttempt::lasting(Reason::PlatformChanged.error(self.id)))
            }
            Ok(Err(Failure::TimedOut)) => Err(FailedAttempt::passing(too_late())),
            // Followers of the same fetch may have more time.
            Err(_) if limit < self.web.attempt_timeout => {
                Err(FailedAttempt::lasting(too_late().of_one_caller()))
            }
            Err(_) => Err(FailedAttempt::passing(too_late())),
        }
    }

    fn too_many(&self, egress: &Egress, load: Load, answer: &Answer) -> Error {
        let asked = answer.retry_after(self.web.clock.now());
        match load {
            Load::Translation => {
                let pause = egress.limit_translations(asked, Instant::now());
                Reason::TranslationLimited.error(self.id).with_retry_after(Some(pause))
            }
            Load::Player | Load::Page | Load::Captions => {
                Reason::UpstreamRateLimited.error(self.id).with_retry_after(asked)
            }
        }
    }

    pub(crate) fn left(&self) -> Duration {
        self.ctx.left()
    }

    /// Builds a player request.
    pub(crate) fn player_request(
        &self,
        client: &Client,
        session: Option<&Session>,
    ) -> Result<Request<Bytes>> {
        let key = session.and_then(|session| session.key.as_ref());
        let key = key.map(|key| format!("&key={key}")).unwrap_or_default();
        let url = format!("{}/youtubei/v1/player?prettyPrint=false{key}", self.web.origin);
        let mut request = Request::post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, &client.user_agent)
            .header(header::ACCEPT_LANGUAGE, ENGLISH)
            .header(header::ORIGIN, "https://www.youtube.com")
            .header(header::COOKIE, page::CONSENT_GIVEN)
            .header("x-youtube-client-name", client.id)
            .header("x-youtube-client-version", &client.version);
        if let Some(visitor) = session.and_then(|session| session.visitor.as_ref()) {
            request = request.header("x-goog-visitor-id", visitor);
        }
        built(request.body(Bytes::from(client.player_body(self.id))))
    }

    /// Builds a caption request from a checked URL.
    pub(crate) fn captions_request(&self, client: &Client, target: &str) -> Result<Request<Bytes>> {
        let request = Request::get(format!("{}{target}", self.web.origin))
            .header(header::USER_AGENT, &client.user_agent)
            .header(header::ACCEPT_LANGUAGE, ENGLISH);
        built(request.body(Bytes::new()))
    }

    /// Requests a proof-of-origin token for this video. `None` if the operator has configured no
    /// provider.
    pub(crate) async fn po_token(&self) -> Result<Option<String>> {
        let Some(provider) = &self.web.pot_provider else { return Ok(None) };
        let body = serde_json::json!({"content_binding": self.id.as_str()}).to_string();
        let request = Request::post(format!("{}/get_pot", provider.url))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Bytes::from(body));
        let exchange = provider.transport.exchange(built(request)?);
        let failed = |cause: String| Reason::NoPoToken.error(self.id).with_source(cause);
        let answer = timeout(self.web.attempt_timeout.min(self.left()), exchange)
            .await
            .map_err(|_| failed("no answer in time".to_owned()))?
            .map_err(|failure| failed(failure.to_string()))?;
        if !answer.status.is_success() {
            return Err(failed(answer.status.to_string()));
        }
        let body: serde_json::Value =
            serde_json::from_slice(&answer.body).map_err(|error| failed(error.to_string()))?;
        let token = body["poToken"].as_str().filter(|token| !token.is_empty());
        token.map(|token| Some(token.to_owned())).ok_or_else(|| failed("no poToken".to_owned()))
    }
}

/// Requests use English, because error messages are recognised by their words.
pub(crate) const ENGLISH: &str = "en-US,en;q=0.9";

pub(crate) fn built(request: http::Result<Request<Bytes>>) -> Result<Request<Bytes>> {
    request.map_err(Error::internal)
}
