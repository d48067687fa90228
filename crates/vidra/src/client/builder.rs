//! The settings of a client.

mod build;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::clock::{Clock, SystemClock};
use crate::data_api::account::ApiKey;
#[cfg(feature = "postgres")]
use crate::database::Database;
use crate::ident::VideoId;
#[cfg(feature = "postgres")]
use crate::quota::PostgresPool;
use crate::quota::{LedgerDouble, QuotaLimits, QuotaPool};
use crate::resilience::pace::Pace;
use crate::resilience::retry::RetryPolicy;
use crate::resource::OnTranscript;
use crate::resource::lifetime::Lifetimes;
#[cfg(feature = "redis")]
use crate::store::Redis;
use crate::store::{Leases, Store};
use crate::transcript::TranscriptQuery;
use crate::transport::Transport;
use crate::transport::resolver::{DATA_API_HOST, WEB_HOST};
use crate::web::clients::Clients;
#[cfg(feature = "postgres")]
use crate::web::egress::postgres::PostgresEgress;
use crate::web::egress::shared::EgressPool;

/// Settings of a [`Vidra`](crate::Vidra). The defaults suit YouTube itself.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use vidra::store::Fs;
/// use vidra::{Lifetimes, Network, Pace, Pacing, Resource, RetryPolicy, Vidra};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let vidra = Vidra::builder()
///     // The quota ledger and the cache survive restarts.
///     .state_dir(folder.join("state"))
///     .store(Arc::new(Fs::open(folder.join("cache"), 1 << 30)?))
///     .lifetimes(Lifetimes::default().with_ttl(Resource::Comments, Duration::from_secs(60)))
///     .retry(RetryPolicy { retries: 4, ..RetryPolicy::default() })
///     .deadline(Duration::from_secs(30))
///     // Transcript requests use a proxy and a rate limit.
///     .proxies(vec![Network::through("socks5://127.0.0.1:1080")?])
///     .pacing(Pacing::At(Pace { burst: 100, per_hour: 500 }))
///     .build()?;
/// assert!(!vidra.has_key());
/// # Ok(()) }
/// ```
pub struct Builder {
    data_api_url: String,
    key: Option<ApiKey>,
    transport: Option<Arc<dyn Transport>>,
    clock: Arc<dyn Clock>,
    limits: QuotaLimits,
    state_dir: Option<PathBuf>,
    ledger_double: Option<LedgerDouble>,
    quota_pool: Option<Arc<dyn QuotaPool>>,
    egress_pool: Option<Arc<dyn EgressPool>>,
    egress_id: Option<String>,
    retry: RetryPolicy,
    attempt_timeout: Duration,
    deadline: Duration,
    batch_deadline: Duration,
    search: bool,
    web_url: String,
    proxies: Vec<Arc<dyn Transport>>,
    pacing: Pacing,
    block_pause: Option<Duration>,
    breaker_pause: Option<Duration>,
    pot_provider: Option<String>,
    clients: Clients,
    cache_bytes: u64,
    store: Option<Arc<dyn Store>>,
    leases: Option<(Arc<dyn Leases>, Duration)>,
    lifetimes: Lifetimes,
    max_misses: usize,
    max_batches: usize,
    max_answer_memory: u64,
    max_spool: u64,
    on_transcript: Option<OnTranscript>,
}

/// The default memory limit of the cache: 20,000 videos of 4 KB, the longest list that YouTube
/// shows.
const CACHE_BYTES: u64 = 96 << 20;

/// The rate limit of transcript requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pacing {
    /// [`Pace::default`] for YouTube itself, and no limit for any other URL.
    Auto,
    /// No rate limit.
    Off,
    /// This rate limit for every URL.
    At(Pace),
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            data_api_url: format!("https://{DATA_API_HOST}/youtube/v3"),
            key: None,
            transport: None,
            clock: Arc::new(SystemClock),
            limits: QuotaLimits::default(),
            state_dir: None,
            ledger_double: None,
            quota_pool: None,
            egress_pool: None,
            egress_id: None,
            retry: RetryPolicy::default(),
            attempt_timeout: Duration::from_secs(10),
            deadline: Duration::from_secs(120),
            batch_deadline: Duration::from_secs(3600),
            search: true,
            web_url: format!("https://{WEB_HOST}"),
            proxies: vec![],
            pacing: Pacing::Auto,
            block_pause: None,
            breaker_pause: None,
            pot_provider: None,
            clients: Clients::builtin(),
            cache_bytes: CACHE_BYTES,
            store: None,
            leases: None,
            lifetimes: Lifetimes::default(),
            max_misses: 1_000,
            max_batches: 32,
            max_answer_memory: 128 << 20,
            max_spool: 2 << 30,
            on_transcript: None,
        }
    }
}

impl Builder {
    /// Sets the key for the Data API. Without a key, every operation that needs one fails with
    /// [`ErrorKind::UpstreamKey`](crate::ErrorKind::UpstreamKey).
    pub fn key(mut self, key: Option<ApiKey>) -> Self {
        self.key = key;
        self
    }

    /// Sets another base URL for the Data API, for example of a simulator or a mirror.
    pub fn data_api_url(mut self, url: &str) -> Self {
        self.data_api_url = url.trim_end_matches('/').to_owned();
        self
    }

    /// Sets another transport than the network.
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Sets another wall clock than the machine's, for example a simulated one.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the daily quota limits of the key.
    pub fn quota(mut self, limits: QuotaLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets a folder for the quota ledger, which then survives restarts. Without a folder the
    /// ledger lives in memory.
    pub fn state_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(folder.into());
        self
    }

    /// Replaces the ledger's file in a simulation.
    #[doc(hidden)]
    pub fn ledger_double(mut self, double: LedgerDouble) -> Self {
        self.ledger_double = Some(double);
        self
    }

    /// Shares the daily quota with all clients that use the same database and the same key, and the rate limits and blocks
    /// of egress addresses with all that use the same addresses. Each client takes a few units in advance;
    /// [`Vidra::settled`](crate::Vidra::settled) returns those that it did not spend.
    #[cfg(feature = "postgres")]
    pub fn database(self, database: &Database) -> Self {
        self.quota_pool(Arc::new(PostgresPool(database.clone())))
            .egress_pool(Arc::new(PostgresEgress::new(database.clone())))
    }

    /// Names the IP address of this machine. By default all machines that share a database count as one address, as
    /// behind one gateway. Proxies are identified by their URLs.
    pub fn egress_id(mut self, id: impl Into<String>) -> Self {
        self.egress_id = Some(id.into());
        self
    }

    /// Shares the daily quota through a pool of your own, for simulations.
    #[doc(hidden)]
    pub fn quota_pool(mut self, pool: Arc<dyn QuotaPool>) -> Self {
        self.quota_pool = Some(pool);
        self
    }

    /// Shares egress addresses through a pool of your own, for simulations.
    #[doc(hidden)]
    pub fn egress_pool(mut self, pool: Arc<dyn EgressPool>) -> Self {
        self.egress_pool = Some(pool);
        self
    }

    /// Sets the number of retries and their backoff.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Sets the timeout of one attempt. The default is 10 seconds.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt_timeout = limit;
        self
    }

    /// Sets the deadline of an operation, retries and pages included. The default is 120 seconds.
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = limit;
        self
    }

    /// Allows a search for a channel's custom name if no cheaper lookup finds it. The default is
    /// `true`.
    pub fn search(mut self, allowed: bool) -> Self {
        self.search = allowed;
        self
    }

    /// Sets the deadline of a playlist batch. The default is one hour.
    pub fn batch_deadline(mut self, limit: Duration) -> Self {
        self.batch_deadline = limit;
        self
    }

    /// Sets another base URL for YouTube's public pages, for example of a simulator.
    pub fn web_url(mut self, url: &str) -> Self {
        self.web_url = url.trim_end_matches('/').to_owned();
        self
    }

    /// Sends transcript requests through these proxies in turn, and never from this machine's
    /// address.
    pub fn proxies<T: Transport>(mut self, proxies: Vec<T>) -> Self {
        self.proxies = proxies.into_iter().map(|proxy| Arc::new(proxy) as _).collect();
        self
    }

    /// Sets the rate limit of transcript requests. It applies to each egress address separately.
    pub fn pacing(mut self, pacing: Pacing) -> Self {
        self.pacing = pacing;
        self
    }

    /// Sets the pause of an egress address after YouTube blocks it. The default is 15 minutes for
    /// YouTube, and one second for any other URL.
    ///
    /// A rate limit on translations pauses only translations. It lasts as long as YouTube says, and
    /// at most one minute if YouTube gives no time.
    pub fn block_pause(mut self, pause: Duration) -> Self {
        self.block_pause = Some(pause);
        self
    }

    /// Sets the first pause of an open circuit breaker. Each consecutive opening adds the same
    /// time, up to ten times this value.
    ///
    /// The default is 30 seconds for YouTube, up to 300. For any other URL it is one second, up to
    /// five. Zero disables the circuit breakers.
    pub fn breaker_pause(mut self, pause: Duration) -> Self {
        self.breaker_pause = Some(pause);
        self
    }

    /// Sets the URL of a provider of proof-of-origin tokens. The client calls its `POST /get_pot`.
    pub fn pot_provider(mut self, url: &str) -> Self {
        self.pot_provider = Some(url.trim_end_matches('/').to_owned());
        self
    }

    /// Replaces the built-in list of player clients.
    pub fn clients(mut self, clients: Clients) -> Self {
        self.clients = clients;
        self
    }

    /// Sets the memory limit of the cache in bytes. Zero disables the memory cache.
    pub fn cache_bytes(mut self, limit: u64) -> Self {
        self.cache_bytes = limit;
        self
    }

    /// Sets a store behind memory, in which answers survive restarts.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Shares fetches with all clients whose store is the same Redis: one of them fetches a record that several miss.
    /// `redis` is the same as for [`Self::store`]. A client fetches alone if Redis does not answer within `timeout`. 20 ms
    /// are usual.
    #[cfg(feature = "redis")]
    pub fn share_fetches(self, redis: Arc<Redis>, timeout: Duration) -> Self {
        self.leases(redis, timeout)
    }

    /// Shares fetches by leases of your own, for simulations.
    #[doc(hidden)]
    pub fn leases(mut self, leases: Arc<dyn Leases>, timeout: Duration) -> Self {
        self.leases = Some((leases, timeout));
        self
    }

    /// Sets the cache lifetimes per resource.
    pub fn lifetimes(mut self, lifetimes: Lifetimes) -> Self {
        self.lifetimes = lifetimes;
        self
    }

    /// Limits concurrent fetches of uncached answers. The default is 1,000. A follower of a shared
    /// fetch does not count.
    ///
    /// Beyond the limit a cache miss fails at once with
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable). Cached answers are still served.
    pub fn max_misses(mut self, max: usize) -> Self {
        self.max_misses = max;
        self
    }

    /// Limits concurrent playlist batches. The default is 32. Beyond the limit a batch fails at
    /// once with [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable).
    pub fn max_batches(mut self, max: usize) -> Self {
        self.max_batches = max;
        self
    }

    /// Limits the memory of large answers that are built before they are sent: long playlists, and
    /// the results of whole batches. The default is 128 MB for all of them together. Beyond the
    /// limit they are written to temporary files.
    pub fn max_answer_memory(mut self, bytes: u64) -> Self {
        self.max_answer_memory = bytes;
        self
    }

    /// Limits the temporary files of large answers. The default is 2 GB. Beyond the limit an answer fails
    /// with [`Reason::Overloaded`](crate::Reason::Overloaded). The files are in the temporary folder of
    /// the system and have no name: nothing is left of them when the process ends.
    pub fn max_spool(mut self, bytes: u64) -> Self {
        self.max_spool = bytes;
        self
    }

    /// Calls `observer` with each transcript that is fetched from YouTube: the video, the query, and the record that
    /// [`FullTranscript::from_record`](crate::FullTranscript::from_record) reads. Cached transcripts and those of
    /// background handles ([`Vidra::in_background`](crate::Vidra::in_background)) are left out. The observer must not
    /// block.
    pub fn on_transcript(
        mut self,
        observer: impl Fn(VideoId, &TranscriptQuery, &Bytes) + Send + Sync + 'static,
    ) -> Self {
        self.on_transcript = Some(Box::new(observer));
        self
    }
}
