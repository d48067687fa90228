//! One HTTP exchange with YouTube. It makes no decisions: it does not retry, follow redirects or
//! interpret the body.

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
use resolver::{Resolver, is_public};

/// The characters to escape in a query: all except the unreserved ones of RFC 3986, and the comma,
/// which separates YouTube's lists.
pub(crate) const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b',');

/// A complete response.
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
    /// Parses `Retry-After` in both of its forms. Anything else counts as absent.
    pub(crate) fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        let value = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
        if let Ok(seconds) = value.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let at = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
        Some(now.duration_until(at).try_into().unwrap_or_default())
    }
}

/// Why an exchange failed. The texts never contain the URL or a header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The connection failed, so nothing was sent.
    NotSent(String),
    /// The connection broke before the response was complete.
    Broken(String),
    /// No response before the timeout.
    TimedOut,
    /// The body exceeds [`MAX_BODY`].
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

/// The maximum size of a body, measured during streaming and after decompression. A full page of
/// 100 comments of maximum length stays below a quarter of it.
pub const MAX_BODY: usize = 32 * 1024 * 1024;

/// The usual maximum size of a body.
const USUAL: usize = 1024 * 1024;

/// A boxed future, for trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends one request and returns its response.
pub trait Transport: Send + Sync + 'static {
    /// Sends `request` and reads the whole response. Dropping the future cancels the exchange.
    ///
    /// # Errors
    ///
    /// Any [`Failure`]. Only [`Failure::NotSent`] guarantees that nothing was sent and billed.
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>>;

    /// The name of the address that requests come from, for example the URL of a proxy. It identifies the address after
    /// a restart ([`EgressState`](crate::EgressState)), and is stored and shown: it must not contain credentials. `None`
    /// for a transport without a name of its own.
    fn name(&self) -> Option<String> {
        None
    }
}

/// HTTP over the network. Its TLS root certificates are compiled in, so it works on machines
/// without any.
#[derive(Debug, Clone)]
pub struct Network {
    client: reqwest::Client,
    /// Whether it connects to public addresses alone.
    is_public_only: bool,
    /// The URL of the proxy, without its credentials.
    name: Option<String>,
}

impl Network {
    /// Creates a transport with its own connection pool.
    pub fn new() -> Self {
        Self::build(None, Arc::new(Resolver::new()))
    }

    /// Creates a transport through a proxy: `http://`, `https://`, `socks5://` or `socks5h://`,
    /// with a user and password if necessary.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] if the URL is not valid. The message does not quote the URL.
    pub fn through(proxy: &str) -> error::Result<Self> {
        let invalid = |message: &str| Error::new(Reason::InvalidInput, message);
        let schemes = ["http://", "https://", "socks5://", "socks5h://"];
        if !schemes.iter().any(|scheme| proxy.starts_with(scheme)) {
            return Err(invalid("a proxy is an http, https or socks5 URL"));
        }
        // The source would quote the URL, which can contain a password.
        let name = name_of(proxy);
        let proxy =
            reqwest::Proxy::all(proxy).map_err(|_| invalid("the proxy's URL is not valid"))?;
        Ok(Self { name, ..Self::build(Some(proxy), Arc::new(Resolver::new())) })
    }

    /// Creates a transport that connects to public addresses alone, for URLs that others chose. Names are resolved once,
    /// for the check and for the connection. It uses no proxy.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use vidra::transport::Failure;
    /// let network = vidra::Network::to_public_addresses();
    /// let request = http::Request::post("http://localhost:9/").body(bytes::Bytes::new()).unwrap();
    /// assert!(matches!(network.open(request).await.err(), Some(Failure::NotSent(_))));
    /// # }
    /// ```
    pub fn to_public_addresses() -> Self {
        let builder = reqwest::Client::builder().no_proxy();
        let client = Self::client(builder, Arc::new(Resolver::only_public()));
        Self { client, is_public_only: true, name: None }
    }

    /// Creates a transport with another resolver.
    #[cfg(test)]
    fn resolving(resolver: Arc<Resolver>) -> Self {
        Self::build(None, resolver)
    }

    /// Sends `request` and returns the response after its head has arrived. The body streams
    /// without a size limit.
    ///
    /// # Errors
    ///
    /// Any [`Failure`].
    pub async fn open(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<impl Body<Data = Bytes, Error = Failure> + Send + use<>>, Failure> {
        let request = reqwest::Request::try_from(request).map_err(reason)?;
        // The resolver sees names only.
        let is_private = |host: &str| {
            let address = host.trim_start_matches('[').trim_end_matches(']').parse();
            address.is_ok_and(|address| !is_public(address))
        };
        if self.is_public_only && request.url().host_str().is_some_and(is_private) {
            return Err(Failure::NotSent("the address is private".to_owned()));
        }
        let response = self.client.execute(request).await.map_err(reason)?;
        Ok(Response::from(response).map(|body| body.map_err(reason)))
    }

    fn build(proxy: Option<reqwest::Proxy>, resolver: Arc<Resolver>) -> Self {
        let builder = match proxy {
            Some(proxy) => reqwest::Client::builder().proxy(proxy),
            None => reqwest::Client::builder(),
        };
        let client = Self::client(builder, resolver);
        Self { client, is_public_only: false, name: None }
    }

    fn client(builder: reqwest::ClientBuilder, resolver: Arc<Resolver>) -> reqwest::Client {
        let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring speaks the default TLS versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        // With our own TLS configuration, HTTP/2 needs an explicit ALPN entry.
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        builder
            .tls_backend_preconfigured(tls)
            .dns_resolver(resolver)
            // A redirect could send the key to another host.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(5))
            .pool_idle_timeout(Duration::from_secs(60))
            // YouTube compresses only if the user agent contains "gzip" too.
            .user_agent(concat!("vidra/", env!("CARGO_PKG_VERSION"), " (gzip)"))
            .build()
            .expect("the settings above are valid")
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

    fn name(&self) -> Option<String> {
        self.name.clone()
    }
}

/// Scheme, host and port of a proxy's URL. The rest can contain a password.
fn name_of(proxy: &str) -> Option<String> {
    let url = reqwest::Url::parse(proxy).ok()?;
    let (scheme, host) = (url.scheme(), url.host_str()?);
    // The port that SOCKS proxies have by default, which the URL parser does not know.
    let port = url.port_or_known_default().unwrap_or(1080);
    Some(format!("{scheme}://{host}:{port}"))
}

/// Sends requests to a service in this process, for example a simulator in tests and in demo mode.
/// It opens no socket.
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
            read(service.call(request).await.map_err(broken)?.map(|body| body.map_err(broken)))
                .await
        })
    }
}

/// Reads the whole body and counts its bytes during streaming, because the announced size can be
/// wrong.
async fn read<B>(response: Response<B>) -> Result<Answer, Failure>
where
    B: Body<Data = Bytes, Error = Failure>,
{
    let (head, body) = response.into_parts();
    let mut body = std::pin::pin!(body);
    // Allocates the announced size, up to a limit. Growth by doubling would leave spare capacity.
    let promised = usize::try_from(body.size_hint().lower()).unwrap_or(0).min(USUAL);
    let mut whole = BytesMut::with_capacity(promised);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if whole.len() + data.len() > MAX_BODY {
            return Err(Failure::TooLarge);
        }
        // Reserves the maximum at once. Untouched pages take no memory, and growth by doubling
        // would hold two buffers.
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

/// The innermost cause only, because the outer errors contain the URL.
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
