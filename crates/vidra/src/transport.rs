//! One exchange with the platform. Decides nothing: no retry, no redirect, no reading of the body
//! beyond its size.

pub(crate) mod resolver;
pub(crate) mod traced;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::BodyExt;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use tower_service::Service;

use crate::error::{self, Error, Reason};
use resolver::Resolver;

/// What has to be escaped in a query: all but what RFC 3986 leaves alone everywhere, and the comma,
/// which the platform's lists are written with.
pub(crate) const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b',');

/// What the platform answered, read to its end.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers, as sent.
    pub headers: HeaderMap,
    /// The whole body, decoded from its content encoding.
    pub body: Bytes,
}

impl Answer {
    /// `Retry-After` in either of its forms; anything else counts as absent.
    pub(crate) fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        let value = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
        if let Ok(seconds) = value.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let at = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
        Some(now.duration_until(at).try_into().unwrap_or_default())
    }
}

/// Why there is no answer. Texts never hold the URL or a header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// There was no connection, so nothing was sent.
    NotSent(String),
    /// The connection broke before the answer was whole.
    Broken(String),
    /// Nobody answered in the time that there was.
    TimedOut,
    /// The body is larger than an honest answer can be.
    TooLarge,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(why) => write!(f, "no connection: {why}"),
            Self::Broken(why) => write!(f, "connection failed: {why}"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::TooLarge => write!(f, "the answer is larger than {MAX_BODY} bytes"),
        }
    }
}

/// The largest body that is read, measured after decompression while it streams in. A full page of
/// 100 comments of the greatest length stays below a quarter of it.
pub const MAX_BODY: usize = 32 * 1024 * 1024;

/// Nearly every answer is smaller.
const USUAL: usize = 1024 * 1024;

/// A future of a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Carries one request to the platform and its answer back.
pub trait Transport: Send + Sync + 'static {
    /// Sends `request` and reads the answer to its end, giving up past [`MAX_BODY`].
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>>;
}

/// HTTP over the network: TLS with the roots compiled in, so that it also works where the machine
/// has none.
#[derive(Debug, Clone)]
pub struct Network {
    client: reqwest::Client,
}

impl Network {
    /// A connection pool of its own.
    pub fn new() -> Self {
        Self::build(None, Arc::new(Resolver::new()))
    }

    /// The same through a proxy: `http://`, `https://`, `socks5://` or `socks5h://`, with user and
    /// password where it asks for them. `Err` says what is wrong with the address, without it.
    pub fn through(proxy: &str) -> error::Result<Self> {
        let invalid = |message: &str| Error::new(Reason::InvalidInput, message);
        let schemes = ["http://", "https://", "socks5://", "socks5h://"];
        if !schemes.iter().any(|scheme| proxy.starts_with(scheme)) {
            return Err(invalid("a proxy is an http, https or socks5 URL"));
        }
        // The source would quote the URL, and with it the password.
        let proxy =
            reqwest::Proxy::all(proxy).map_err(|_| invalid("the proxy's URL is not valid"))?;
        Ok(Self::build(Some(proxy), Arc::new(Resolver::new())))
    }

    /// The same with other answers to the question where a name leads.
    #[cfg(test)]
    fn resolving(resolver: Arc<Resolver>) -> Self {
        Self::build(None, resolver)
    }

    /// Sends `request`, and gives the answer as soon as its head has come: the body streams in, however
    /// long it is.
    pub async fn open(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<impl Body<Data = Bytes, Error = Failure> + Send + use<>>, Failure> {
        let request = reqwest::Request::try_from(request).map_err(reason)?;
        let response = self.client.execute(request).await.map_err(reason)?;
        Ok(Response::from(response).map(|body| body.map_err(reason)))
    }

    fn build(proxy: Option<reqwest::Proxy>, resolver: Arc<Resolver>) -> Self {
        let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring speaks the default TLS versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        // With a TLS configuration of our own, HTTP/2 has to be offered by hand.
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let builder = match proxy {
            Some(proxy) => reqwest::Client::builder().proxy(proxy),
            None => reqwest::Client::builder(),
        };
        let client = builder
            .tls_backend_preconfigured(tls)
            .dns_resolver(resolver)
            // A redirect could carry the key to another host.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(5))
            .pool_idle_timeout(Duration::from_secs(60))
            // The platform compresses only for those who say "gzip" here too.
            .user_agent(concat!("vidra/", env!("CARGO_PKG_VERSION"), " (gzip)"))
            .build()
            .expect("the settings above are valid");
        Self { client }
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

impl Transport for Network {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        Box::pin(async move { read(self.open(request).await?).await })
    }
}

/// Any service in this process: a simulator in tests and in demo mode. No socket is opened.
#[derive(Debug, Clone)]
pub struct InProcess<S>(pub S);

impl<S, B> Transport for InProcess<S>
where
    S: Service<Request<Bytes>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Error: fmt::Display,
    S::Future: Send,
    B: Body<Data = Bytes> + Send,
    B::Error: fmt::Display,
{
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        let mut service = self.0.clone();
        Box::pin(async move {
            std::future::poll_fn(|cx| service.poll_ready(cx)).await.map_err(broken)?;
            read(service.call(request).await.map_err(broken)?).await
        })
    }
}

/// Reads the body to its end, counting while it streams: a promise of its size may be a lie.
async fn read<B>(response: Response<B>) -> Result<Answer, Failure>
where
    B: Body<Data = Bytes>,
    B::Error: fmt::Display,
{
    let (head, body) = response.into_parts();
    let mut body = std::pin::pin!(body);
    // As large as promised, within reason: growing by doubling would leave twice the room.
    let promised = usize::try_from(body.size_hint().lower()).unwrap_or(0).min(USUAL);
    let mut whole = BytesMut::with_capacity(promised);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if whole.len() + data.len() > MAX_BODY {
            return Err(Failure::TooLarge);
        }
        // Room for the most there may be, at once: what is not written to takes no memory, and growing
        // by doubling would have the old and the new there together.
        if whole.len() + data.len() > USUAL {
            whole.reserve(MAX_BODY - whole.len());
        }
        whole.extend_from_slice(&data);
    }
    Ok(Answer { status: head.status, headers: head.headers, body: whole.freeze() })
}

fn broken(error: impl fmt::Display) -> Failure {
    Failure::Broken(error.to_string())
}

/// The innermost cause; what wraps it names the URL, which is nobody's business.
fn reason(error: reqwest::Error) -> Failure {
    if error.is_timeout() && !error.is_connect() {
        return Failure::TimedOut;
    }
    let is_connect = error.is_connect() || error.is_builder();
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if is_connect {
        Failure::NotSent(cause.to_string())
    } else {
        Failure::Broken(cause.to_string())
    }
}
