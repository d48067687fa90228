//! Builds a client from its settings.

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use ring::digest::{SHA256, digest};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{Builder, Pacing};
use crate::batch::Batches;
use crate::cache::freshness::FOREVER;
use crate::cache::{Cache, Limits, SharedFetches};
use crate::client::Vidra;
use crate::context::waiters::Urgency;
use crate::context::{Bill, CacheMode};
use crate::data_api::DataApi;
use crate::data_api::account::{ApiKey, CurrentAccount};
use crate::data_api::call::Endpoint;
use crate::error::{Error, Result};
use crate::quota::Ledger;
use crate::resilience::breaker::{Breaker, BreakerPolicy};
use crate::resilience::pace::Pace;
use crate::resilience::retry::{RetryBudget, RetryPolicy};
use crate::resilience::send::Sender;
use crate::resilience::traffic::Traffic;
use crate::resource::Services;
use crate::resource::lookup::{Lookup, SCHEMA};
use crate::resource::stored::has_valid_body;
use crate::spool::Spool;
use crate::store::{Memory, Tiers};
use crate::transport::{Network, Transport};
use crate::video::Include;
use crate::web::egress::pool::Egresses;
use crate::web::egress::shared::SharedEgress;
use crate::web::egress::{EgressAddress, EgressLimits};
use crate::web::feed::{ATTEMPT_TIMEOUT, FEED, Feeds};
use crate::web::{PotProvider, Web, WebRequestKind};

/// The lifetime of a cached failure. An immediate retry would only add load to a failing platform.
const FAILURES_LAST: Duration = Duration::from_secs(1);

impl Pacing {
    /// YouTube limits translations about ten times harder than captions.
    fn of_translations(Pace { burst, per_hour }: Pace) -> Pace {
        Pace { burst: (burst / 10).max(1), per_hour: (per_hour / 10).max(1) }
    }

    fn pace(self, web_url: &str) -> Option<Pace> {
        match self {
            Self::Auto => is_platform(web_url).then(Pace::default),
            Self::Off => None,
            Self::At(pace) => Some(pace),
        }
    }
}

/// Whether `url` points to YouTube itself. The host comparison ignores case.
fn is_platform(url: &str) -> bool {
    let host = url.parse::<Uri>().ok().and_then(|url| url.host().map(str::to_ascii_lowercase));
    let is_at = |domain: &str| {
        host.as_deref()
            .and_then(|host| host.strip_suffix(domain))
            .is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
    };
    is_at("youtube.com") || is_at("googleapis.com")
}

impl Builder {
    /// The limits of each egress address: strict for YouTube, and off for any other URL unless
    /// configured.
    fn egress_limits(&self) -> EgressLimits {
        let requests = self.pacing.pace(&self.web_url);
        let usual_pause = if is_platform(&self.web_url) { 15 * 60 } else { 1 };
        EgressLimits {
            requests,
            translations: requests.map(Pacing::of_translations),
            breaker: self.breaker_policy(&self.web_url),
            block_pause: self.block_pause.unwrap_or(Duration::from_secs(usual_pause)).min(FOREVER),
        }
    }

    /// The policy of a circuit breaker for `url`.
    fn breaker_policy(&self, url: &str) -> BreakerPolicy {
        let (first, longest) = match self.breaker_pause {
            Some(pause) => (pause, pause.saturating_mul(10)),
            None if is_platform(url) => (Duration::from_secs(30), Duration::from_secs(300)),
            None => (Duration::from_secs(1), Duration::from_secs(5)),
        };
        BreakerPolicy {
            failures: 5,
            first_pause: first.min(FOREVER),
            longest_pause: longest.min(FOREVER),
        }
    }

    /// Builds the client. It sends nothing.
    ///
    /// # Errors
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput) if a URL is not an `http` or `https` URL.
    ///
    /// ```
    /// use vidra::{Reason, Vidra};
    /// let error = Vidra::builder().data_api_url("not a url").build().err().unwrap();
    /// assert_eq!(error.reason(), Reason::InvalidInput);
    /// ```
    pub fn build(self) -> Result<Vidra> {
        self.check_urls()?;
        let settings = self.egress_limits();
        let policy = self.breaker_policy(&self.data_api_url);
        let transport = self.transport.unwrap_or_else(|| Arc::new(Network::new()));
        let now = Instant::now();
        let endpoints = Endpoint::ALL.map(Endpoint::path).into_iter();
        let endpoints = endpoints.chain(WebRequestKind::ALL.map(WebRequestKind::endpoint));
        let endpoints = endpoints.chain([FEED]);
        let traffic = Arc::new(Traffic::new(endpoints));
        let sender = || Sender {
            retry: self.retry,
            budget: RetryBudget::new(),
            traffic: Arc::clone(&traffic),
            attempt_timeout: self.attempt_timeout,
        };
        let feed_sender = Sender {
            // The Data API replaces a feed that fails.
            retry: RetryPolicy { retries: self.retry.retries.min(1), ..self.retry },
            attempt_timeout: self.attempt_timeout.min(ATTEMPT_TIMEOUT),
            ..sender()
        };
        let addresses = egress_addresses(self.proxies, &transport, self.egress_id);
        let pot_transport = || Arc::clone(&transport);
        let web = Web {
            origin: self.web_url,
            egresses: Arc::new(Egresses::new(addresses, settings, now)),
            shared: self.egress_pool.map(|pool| Arc::new(SharedEgress::new(pool))),
            clients: self.clients,
            pot_provider: self
                .pot_provider
                .map(|url| PotProvider { url, transport: pot_transport() }),
            sender: sender(),
            feeds: Feeds::new(feed_sender, Breaker::new(FEED, settings.breaker, now)),
            clock: Arc::clone(&self.clock),
        };
        let (limits, clock) = (self.limits, Arc::clone(&self.clock));
        let (double, state_dir, pool) = (self.ledger_double, self.state_dir, self.quota_pool);
        let open_ledger = move |key: Option<&ApiKey>| {
            let fingerprint = fingerprint(key);
            let ledger = match (&double, &state_dir) {
                (Some(double), _) => Ledger::in_double(limits, double.clone()),
                (None, Some(folder)) => {
                    let path = folder.join(format!("quota-{fingerprint}.json"));
                    Ledger::in_file(limits, path, clock.now())
                }
                (None, None) => Ledger::in_memory(limits),
            };
            match &pool {
                Some(pool) => ledger.sharing(Arc::clone(pool), fingerprint, Arc::clone(&clock)),
                None => ledger,
            }
        };
        let data_api = DataApi {
            base: self.data_api_url,
            transport,
            clock: Arc::clone(&self.clock),
            account: CurrentAccount::new(self.key, Box::new(open_ledger)),
            sender: sender(),
            breaker: Arc::new(Breaker::new("data-api", policy, now)),
            search_breaker: Arc::new(Breaker::new("search", policy, now)),
        };
        let keeps = self.cache_bytes > 0 || self.store.is_some();
        let failures_last = if keeps { FAILURES_LAST } else { Duration::ZERO };
        let max_misses = self.max_misses.min(Semaphore::MAX_PERMITS);
        let fetch_time = self.deadline.min(FOREVER);
        let limits = Limits { failures_last, refusals_last: policy, max_misses, fetch_time };
        let tiers = Tiers::new(Memory::new(self.cache_bytes), self.store).checked(has_valid_body);
        let cache = Cache::new(
            tiers,
            self.lifetimes.policies(),
            limits,
            Lookup::kind_of,
            SCHEMA,
            self.clock,
        );
        let leases = self.leases.map(|(leases, timeout)| SharedFetches::new(leases, timeout));
        let cache = cache.sharing(leases);
        let spool = Spool::new(self.max_answer_memory, self.max_spool, std::env::temp_dir());
        Ok(Vidra {
            services: Arc::new(Services {
                on_transcript: self.on_transcript,
                ..Services::new(cache, data_api, web, spool, self.search)
            }),
            batches: Arc::new(Batches::new(self.max_batches)),
            mode: CacheMode::Normal,
            include: Include::default(),
            deadline: self.deadline,
            caller_limit: FOREVER,
            batch_deadline: self.batch_deadline,
            bill: Bill::default(),
            urgency: Urgency::Interactive,
        })
    }

    fn check_urls(&self) -> Result<()> {
        let urls = [
            ("data_api_url", Some(&self.data_api_url)),
            ("web_url", Some(&self.web_url)),
            ("pot_provider", self.pot_provider.as_ref()),
        ];
        let is_url = |url: &str| {
            let url: Option<Uri> = url.parse().ok();
            let has_scheme = |url: &Uri| {
                matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some()
            };
            url.is_some_and(|url| has_scheme(&url) && url.query().is_none())
        };
        let wrong = urls.into_iter().filter(|(_, url)| url.is_some_and(|url| !is_url(url)));
        let faults: Vec<String> =
            wrong.map(|(name, _)| format!("{name}: must be an http or https URL")).collect();
        match faults.is_empty() {
            true => Ok(()),
            false => Err(Error::invalid("The settings are not valid", faults)),
        }
    }
}

/// The addresses of these proxies, or this machine's own address if there are none.
fn egress_addresses(
    proxies: Vec<Arc<dyn Transport>>,
    own: &Arc<dyn Transport>,
    own_id: Option<String>,
) -> Vec<EgressAddress> {
    let count = proxies.len();
    let address = |name, transport: Arc<dyn Transport>, unnamed: &str| {
        let identity = transport.name().unwrap_or_else(|| unnamed.to_owned());
        EgressAddress { name, identity, transport }
    };
    match count {
        0 => {
            let own = address("this machine's address".to_owned(), Arc::clone(own), "direct");
            vec![EgressAddress { identity: own_id.unwrap_or(own.identity), ..own }]
        }
        _ => {
            let proxies = proxies.into_iter().zip(1..);
            let proxies = proxies.map(|(proxy, number)| {
                address(format!("proxy {number} of {count}"), proxy, "proxy")
            });
            proxies.collect()
        }
    }
}

/// The fingerprint of a key. Quota belongs to the project of a key, so each key has its own ledger. It is too short to
/// reveal anything about the key.
fn fingerprint(key: Option<&ApiKey>) -> String {
    let hash = digest(&SHA256, key.map_or(&[][..], ApiKey::as_bytes));
    let hash = hash.as_ref();
    format!("{:02x}{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2], hash[3])
}
