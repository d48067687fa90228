//! Webhooks: messages about jobs and collections, to destinations that the operator has listed. A URL of a caller is
//! never fetched.

mod signature;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::uri::Scheme;
use axum::http::{Request, StatusCode, Uri, header};
use bytes::Bytes;
use futures_util::future::join_all;
use jiff::Timestamp;
use tokio::time::{sleep, timeout};
use vidra::Network;
use vidra::clock::Clock;
use vidra::transport::{BoxFuture, Failure};
use vidra_library::{Library, WebhookMessage};

pub use signature::Secret;

/// How long a destination may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How often the library is read for messages.
const POLL: Duration = Duration::from_secs(1);

/// The pauses after the first failed attempts. Later ones are as long as the last.
const PAUSES: [Duration; 7] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(2 * 60),
    Duration::from_secs(10 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(3600),
    Duration::from_secs(2 * 3600),
];

/// Sends a request, and returns the status of its answer without reading the body.
type Post =
    Arc<dyn Fn(Request<Bytes>) -> BoxFuture<'static, Result<StatusCode, Failure>> + Send + Sync>;

/// A destination of messages. Clones share its counts.
#[derive(Clone)]
pub struct Webhook(Arc<Inner>);

struct Inner {
    name: String,
    url: Uri,
    secret: Secret,
    post: Post,
    delivered: AtomicU64,
    failed: AtomicU64,
    given_up: AtomicU64,
}

impl Webhook {
    /// A destination with an `http` or `https` URL. It must have a public address, unless `is_private`. Redirects are not
    /// followed.
    ///
    /// # Errors
    ///
    /// If the name or the URL is not valid.
    pub fn new(name: &str, url: &str, secret: Secret, is_private: bool) -> Result<Self, String> {
        let is_here = |host: &str| {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost" || host.parse().is_ok_and(|it: IpAddr| it.is_loopback())
        };
        if !is_private && url.parse::<Uri>().is_ok_and(|url| url.host().is_some_and(is_here)) {
            return Err("the URL is one of this machine: list the name as private".to_owned());
        }
        let network = if is_private { Network::new() } else { Network::to_public_addresses() };
        let post = move |request| -> BoxFuture<'static, Result<StatusCode, Failure>> {
            let network = network.clone();
            // The body is dropped, and with it the rest of the answer.
            Box::pin(async move { Ok(network.open(request).await?.status()) })
        };
        Self::posting(name, url, secret, Arc::new(post))
    }

    /// A destination in this process, for tests.
    ///
    /// # Errors
    ///
    /// Those of [`Webhook::new`].
    #[doc(hidden)]
    pub fn posting(name: &str, url: &str, secret: Secret, post: Post) -> Result<Self, String> {
        if !vidra_library::is_webhook_name(name) {
            return Err("a name has 1 to 64 letters, digits, hyphens or underscores".to_owned());
        }
        let is_http = |url: &Uri| {
            let scheme = url.scheme();
            let has_user = url.authority().is_some_and(|it| it.as_str().contains('@'));
            (scheme == Some(&Scheme::HTTP) || scheme == Some(&Scheme::HTTPS)) && !has_user
        };
        let url = url.parse().ok().filter(is_http);
        let url: Uri =
            url.ok_or("the URL must begin with http:// or https://, without a user name")?;
        let counter = || AtomicU64::new(0);
        let (name, delivered, failed, given_up) =
            (name.to_owned(), counter(), counter(), counter());
        Ok(Self(Arc::new(Inner { name, url, secret, post, delivered, failed, given_up })))
    }

    /// Sends one message.
    ///
    /// # Errors
    ///
    /// Why it was not delivered, without the URL.
    async fn send(&self, message: &WebhookMessage, now: Timestamp) -> Result<(), String> {
        let Inner { url, secret, post, .. } = &*self.0;
        let time = now.as_second().to_string();
        let signature = secret.sign(&message.id, &time, &message.body);
        let request = Request::post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .header("webhook-id", &message.id)
            .header("webhook-timestamp", time)
            .header("webhook-signature", signature)
            .body(Bytes::from(message.body.clone()));
        let request = request.map_err(|error| error.to_string())?;
        match timeout(TIMEOUT, post(request)).await {
            Ok(Ok(status)) if status.is_success() => Ok(()),
            Ok(Ok(status)) => Err(format!("the destination answered {status}")),
            Ok(Err(failure)) => Err(failure.to_string()),
            Err(_) => Err("the destination did not answer in time".to_owned()),
        }
    }

    /// Sends a message, and notes the outcome.
    async fn deliver(&self, library: &Library, clock: &dyn Clock, message: &WebhookMessage) {
        let sent = self.send(message, clock.now()).await;
        let (id, attempt, webhook) = (&*message.id, message.attempt, &*self.0.name);
        let again = match &sent {
            Ok(()) => None,
            Err(_) => next_attempt(message, clock.now()),
        };
        let count = match (&sent, again) {
            (Ok(()), _) => {
                tracing::debug!(webhook, id, attempt, "message delivered");
                &self.0.delivered
            }
            (Err(cause), Some(_)) => {
                tracing::warn!(
                    webhook,
                    id,
                    attempt,
                    cause,
                    "message not delivered, it will be sent again"
                );
                &self.0.failed
            }
            (Err(cause), None) => {
                tracing::error!(webhook, id, attempt, cause, "message given up");
                &self.0.given_up
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = library.end_attempt(message, again).await {
            // It is sent again. A receiver knows the id.
            tracing::warn!(webhook, id, reason = error.reason().code(), "outcome not stored");
        }
    }

    /// Sends messages one after the other until it is dropped.
    async fn run(&self, library: &Library, clock: &dyn Clock) {
        loop {
            match library.claim_message(&self.0.name).await {
                Ok(Some(message)) => self.deliver(library, clock, &message).await,
                // The library logs that its disk fails.
                Ok(None) | Err(_) => sleep(POLL).await,
            }
        }
    }
}

/// When a message is tried again. `None` if it is too old.
fn next_attempt(message: &WebhookMessage, now: Timestamp) -> Option<Timestamp> {
    let failures = message.attempt.saturating_sub(1) as usize;
    let pause = PAUSES.get(failures).unwrap_or(&PAUSES[PAUSES.len() - 1]);
    // Messages that failed together are not sent together again.
    let pause = pause.mul_f64(fastrand::f64().mul_add(0.2, 0.9));
    now.checked_add(pause).ok().filter(|at| *at < message.expires_at)
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("name", &self.0.name).finish_non_exhaustive()
    }
}

/// The destinations of a service.
#[derive(Debug, Clone, Default)]
pub struct Webhooks(Arc<[Webhook]>);

impl Webhooks {
    /// These destinations.
    pub fn new(all: Vec<Webhook>) -> Self {
        Self(all.into())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names().any(|it| it == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|webhook| webhook.0.name.as_str())
    }

    /// The numbers of attempts of each destination: delivered, failed, and given up.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = (&str, [(&'static str, u64); 3])> {
        let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
        self.0.iter().map(move |Webhook(webhook)| {
            let outcomes = [
                ("delivered", count(&webhook.delivered)),
                ("failed", count(&webhook.failed)),
                ("given_up", count(&webhook.given_up)),
            ];
            (webhook.name.as_str(), outcomes)
        })
    }

    /// Sends the messages of the library until `stop` resolves. A slow destination does not delay the others.
    pub(crate) async fn deliver(
        &self,
        library: &Library,
        clock: &dyn Clock,
        stop: impl Future<Output = ()>,
    ) {
        // The operator may have removed a destination.
        for (webhook, messages) in library.waiting_messages().await.unwrap_or_default() {
            if !self.has(&webhook) {
                tracing::warn!(webhook, messages, "no such webhook, its messages are not sent");
            }
        }
        if self.0.is_empty() {
            return;
        }
        let all = join_all(self.0.iter().map(|webhook| webhook.run(library, clock)));
        tokio::select! {
            biased;
            () = stop => {}
            _ = all => {}
        }
    }
}
