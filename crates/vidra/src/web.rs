//! The keyless interface: player, watch page, timedtext, feeds. It chooses the egress address, paces the
//! requests and retries them. Callers interpret the responses.

mod captions;
pub(crate) mod clients;
pub(crate) mod egress;
pub(crate) mod feed;
pub(crate) mod page;
pub(crate) mod transcript;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use tokio::time::{Instant, timeout, timeout_at};

use crate::clock::Clock;
use crate::context::waiters::Urgency;
use crate::context::{Context, no_waiters};
use crate::error::{Error, Reason, Result};
use crate::ident::VideoId;
use crate::resilience::outcome::CallOutcome;
use crate::resilience::pace::PermitUrgency;
use crate::resilience::send::{Fault, Sender, Unanswered};
use crate::transport::{Answer, Failure, Transport};
use egress::pool::Egresses;
use egress::shared::{Permits, SharedEgress};
use egress::{Egress, Session};
use feed::Feeds;

use clients::{Client, Clients};

/// The client of the keyless interface, shared by all requests.
pub(crate) struct Web {
    /// The base URL, without a trailing slash. The client sends requests to no other host.
    pub(crate) origin: String,
    pub(crate) egresses: Arc<Egresses>,
    /// The state that machines with the same addresses share. `None` if they do not.
    pub(crate) shared: Option<Arc<SharedEgress>>,
    pub(crate) clients: Clients,
    pub(crate) pot_provider: Option<PotProvider>,
    pub(crate) sender: Sender,
    pub(crate) feeds: Feeds,
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
pub(crate) enum WebRequestKind {
    /// A player request.
    Player,
    /// A watch page.
    Page,
    /// Captions, which follow a player request.
    Captions,
    /// Translated captions.
    Translation,
}

impl WebRequestKind {
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

impl TranscriptContext<'_> {
    /// Sends a request from `egress` within its rate limit, with retries. The caller interprets
    /// error responses, except for 429, blocks, proxy errors and server errors.
    pub(crate) async fn send(
        &self,
        egress: &Egress,
        kind: WebRequestKind,
        request: &Request<Bytes>,
    ) -> Result<Answer> {
        let send = |is_retry| self.send_once(egress, kind, request, is_retry);
        self.web.sender.with_retries(self.ctx, egress.breaker(kind), send).await
    }

    /// Sends one attempt within the rate limit of `egress`.
    pub(crate) async fn send_once(
        &self,
        egress: &Egress,
        kind: WebRequestKind,
        request: &Request<Bytes>,
        is_retry: bool,
    ) -> Result<Answer, Fault> {
        self.check(egress, kind).map_err(Fault::permanent)?;
        let permit = self.take_permit(egress, kind).await.map_err(Fault::permanent)?;
        // The address may have been blocked, or the waiters may have left, during the wait.
        self.check(egress, kind).map_err(Fault::permanent)?;
        let failed = |reason: Reason| reason.error(self.id);
        match self.attempt(egress, kind, request, permit, is_retry).await? {
            answer if answer.status == StatusCode::TOO_MANY_REQUESTS => {
                Err(Fault::permanent(self.too_many(egress, kind, &answer)))
            }
            answer if page::is_sorry(&answer) => Err(Fault::permanent(failed(Reason::Blocked))),
            // This response comes from the proxy and never from YouTube. A retry would fail too.
            answer if answer.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                let cause = "the proxy rejected the user or the password";
                Err(Fault::permanent(failed(Reason::Unreachable).with_source(cause)))
            }
            answer if answer.status.is_server_error() => {
                let cause = answer.status.to_string();
                Err(Fault::transient(failed(Reason::UpstreamFailed).with_source(cause)))
            }
            answer => Ok(answer),
        }
    }

    /// Fails if there are no waiters, or if `egress` does not admit this kind of request.
    fn check(&self, egress: &Egress, kind: WebRequestKind) -> Result<()> {
        if self.ctx.waiters.is_gone() {
            return Err(no_waiters());
        }
        self.check_open(egress, kind)
    }

    fn check_open(&self, egress: &Egress, kind: WebRequestKind) -> Result<()> {
        match egress.closed(kind, Instant::now()) {
            Some((why, wait)) => Err(why.error(self.id).with_retry_after(Some(wait))),
            None => Ok(()),
        }
    }

    /// Why `egress` cannot send a translation before the deadline. `None` if it can.
    pub(crate) fn held_back(&self, egress: &Egress) -> Option<Error> {
        let wait = egress.translations.wait(self.urgency().now(), Instant::now());
        let closed = self.check_open(egress, WebRequestKind::Translation).err();
        closed.or_else(|| {
            let is_too_long = !wait.is_zero() && wait >= self.left();
            is_too_long.then(|| self.paced(WebRequestKind::Translation, wait))
        })
    }

    pub(crate) fn paced(&self, kind: WebRequestKind, wait: Duration) -> Error {
        let error = match kind {
            WebRequestKind::Player | WebRequestKind::Page | WebRequestKind::Captions => {
                Reason::Paced.error(self.id)
            }
            WebRequestKind::Translation => Reason::Paced.error_saying(
                "The service delays translations, so that YouTube does not limit them",
                self.id,
            ),
        };
        // Followers of the same fetch may have more time.
        error.with_retry_after(Some(wait)).for_one_caller()
    }

    fn deadline_passed(&self) -> Error {
        // Followers of the same fetch may have more time.
        Reason::TimedOut.error(self.id).for_one_caller()
    }

    /// The urgency of the fetch: that of its most urgent waiter. Nobody waits for a renewal, so that it counts as an
    /// entry of a batch, or of the background if a background request began it.
    pub(crate) fn urgency(&self) -> PermitUrgency {
        let alone = self.ctx.urgency.min(Urgency::Batch);
        PermitUrgency::OfWaiters { waiters: self.ctx.waiters.clone(), alone }
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

    async fn take_permit<'e>(
        &self,
        egress: &'e Egress,
        kind: WebRequestKind,
    ) -> Result<Option<Permits<'e>>> {
        let pacer = match kind {
            WebRequestKind::Player | WebRequestKind::Page => &egress.pacer,
            WebRequestKind::Translation => &egress.translations,
            WebRequestKind::Captions => return Ok(None),
        };
        let urgency = match kind {
            // Every request that gets a 400 from the player waits for the page.
            WebRequestKind::Page => PermitUrgency::Interactive,
            _ => self.urgency(),
        };
        loop {
            // The wait keeps the batch slot, so that no more entries queue than may run.
            let announce = |wait: Duration| self.announce(wait);
            let permit = tokio::select! {
                // A permit that is available is taken first. The waiters are checked after it.
                biased;
                permit = pacer.acquire(urgency.clone(), self.ctx.deadline, announce) => {
                    permit.map_err(|wait| self.paced(kind, wait))?
                }
                () = self.ctx.waiters.gone() => return Err(no_waiters()),
            };
            let Some(shared) = &self.web.shared else {
                return Ok(Some(Permits::own(permit)));
            };
            shared.exchange(&self.web.egresses);
            let is_translation = kind == WebRequestKind::Translation;
            let taking = egress.shared_permit(shared, pacer, permit, is_translation);
            let permits = tokio::select! {
                biased;
                permits = timeout_at(self.ctx.deadline, taking) => {
                    permits.map_err(|_| self.deadline_passed())?
                }
                () = self.ctx.waiters.gone() => return Err(no_waiters()),
            };
            if permits.is_some() {
                return Ok(permits);
            }
        }
    }

    async fn attempt(
        &self,
        egress: &Egress,
        kind: WebRequestKind,
        request: &Request<Bytes>,
        permits: Option<Permits<'_>>,
        is_retry: bool,
    ) -> Result<Answer, Fault> {
        let deadline_passed = || Fault::permanent(self.deadline_passed());
        if self.left().is_zero() {
            return Err(deadline_passed());
        }
        let sender = &self.web.sender;
        let attempt = sender.begin(kind.endpoint(), egress.breaker(kind), is_retry);
        let attempt = attempt.map_err(|wait| {
            Fault::permanent(Reason::Failing.error(self.id).with_retry_after(Some(wait)))
        })?;
        // From here on the request counts as sent, even if this future is dropped.
        if let Some(permits) = permits {
            permits.used();
        }
        let failure = match attempt.exchange(&*egress.transport, request.clone(), self.ctx).await {
            Ok((answer, attempt)) => {
                let is_blocked = page::is_sorry(&answer);
                attempt.end(if is_blocked {
                    CallOutcome::Blocked
                } else {
                    CallOutcome::of_answer(&answer)
                });
                return Ok(answer);
            }
            Err(Unanswered::DeadlinePassed) => return Err(deadline_passed()),
            Err(Unanswered::Failed(failure)) => failure,
        };
        let cause = failure.to_string();
        Err(match failure {
            Failure::NotSent(_) => {
                Fault::transient(Reason::Unreachable.error(self.id).with_source(cause))
            }
            Failure::Broken(_) => {
                Fault::transient(Reason::UpstreamFailed.error(self.id).with_source(cause))
            }
            // A retry would get the same large response.
            Failure::TooLarge => Fault::permanent(Reason::PlatformChanged.error(self.id)),
            Failure::TimedOut => Fault::transient(Reason::TimedOut.error(self.id)),
        })
    }

    fn too_many(&self, egress: &Egress, kind: WebRequestKind, answer: &Answer) -> Error {
        let asked = answer.retry_after(self.web.clock.now());
        match kind {
            WebRequestKind::Translation => {
                let pause = egress.limit_translations(asked, Instant::now());
                Reason::TranslationLimited.error(self.id).with_retry_after(Some(pause))
            }
            WebRequestKind::Player | WebRequestKind::Page | WebRequestKind::Captions => {
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
        let answer = timeout(self.web.sender.attempt_timeout.min(self.left()), exchange)
            .await
            .map_err(|_| failed("no answer in time".to_owned()))?
            .map_err(|failure| failed(failure.to_string()))?;
        if !answer.status.is_success() {
            return Err(failed(answer.status.to_string()));
        }
        let body: serde_json::Value =
            serde_json::from_slice(&answer.body).map_err(|error| failed(error.to_string()))?;
        // It becomes a part of a URL.
        let is_usable = |token: &&str| (1..=MAX_PO_TOKEN_LENGTH).contains(&token.len());
        let token = body["poToken"].as_str().filter(is_usable);
        token
            .map(|token| Some(token.to_owned()))
            .ok_or_else(|| failed("no usable poToken".to_owned()))
    }
}

/// The maximum length of a proof-of-origin token. Real ones have some hundred characters.
const MAX_PO_TOKEN_LENGTH: usize = 4_096;

/// Requests use English, because error messages are recognised by their words.
pub(crate) const ENGLISH: &str = "en-US,en;q=0.9";

pub(crate) fn built(request: http::Result<Request<Bytes>>) -> Result<Request<Bytes>> {
    request.map_err(Error::internal)
}
