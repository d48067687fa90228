//! The gate admits or rejects callers. Every request passes it first, also one with a cached response.
//!
//! Checks run in this order. Host and origin come first, so a rejected page learns nothing else. A CORS
//! preflight comes before the key, because browsers send it without one. The rate limit of a key applies
//! only to requests that present the key. Requests to `/mcp` are free here: the route counts those that are work.

mod caller_id;
mod cors;
mod host;
mod key_file;
mod keys;
mod network;
mod proxies;
mod rate;
mod rejection;
mod shared_rate;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use axum::http::header::{AUTHORIZATION, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use tokio::time::Instant;
use vidra::store::RatePool;
use vidra::{Allowance, Allowances};

pub use cors::Origin;
pub use host::AllowedHost;
pub use key_file::{KeyEntry, KeyFile, KeyLimits, KeyName};
pub use keys::Keys;
pub use proxies::TrustedProxy;
pub use rate::Rate;

pub(crate) use caller_id::CallerId;
pub(crate) use keys::Caller;
pub(crate) use network::ClientNetwork;
pub(crate) use rate::CallerRate;

use crate::hot::{RequestHead, Sender};
use crate::respond::X_QUOTA_COST;
use rate::{AddressMeters, RateStatus};
use rejection::RejectReason;
use shared_rate::SharedRates;

/// The endpoint for AI agents. MCP requires its origin check on every listener.
pub(crate) const MCP_PATH: &str = "/mcp";

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// The access rules. The default admits every caller without a rate limit, but no web pages.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The valid keys; `None` if the service requires none.
    pub keys: Option<Arc<Keys>>,
    /// The rate limit of each key without its own limit; without keys, of each address.
    pub rate: Option<Rate>,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Origins whose web pages may read responses.
    pub origins: Vec<Origin>,
    /// Whether the service listens on loopback. Then it rejects DNS rebinding and foreign pages.
    pub on_loopback: bool,
    /// Host names that are accepted besides those of loopback.
    pub allowed_hosts: Vec<AllowedHost>,
    /// Counts the usage of a service without keys. With keys theirs does.
    pub open_usage: Arc<Allowances>,
    /// Shares the rate limits with other machines.
    pub shared_rates: Option<Arc<dyn RatePool>>,
}

impl Rules {
    /// Budgets and usage of the callers.
    pub fn allowances(&self) -> &Arc<Allowances> {
        self.keys.as_ref().map_or(&self.open_usage, |keys| &keys.allowances)
    }

    /// The account of all callers together; `None` if the service requires keys.
    pub(crate) fn open_account(&self) -> Option<Allowance> {
        self.keys.is_none().then(|| self.open_usage.get(""))
    }
}

/// The rules, with the state that enforces them.
pub(crate) struct Gate {
    rules: Rules,
    checks_host: bool,
    /// The first accepted `Host`.
    usual_host: OnceLock<Box<str>>,
    /// Added to `Vary` of every response.
    vary: Option<HeaderValue>,
    /// The rate meters of callers without a key, if there is a limit.
    addresses: Option<AddressMeters>,
    /// The account of all callers together, if the service requires no keys.
    open_account: Option<Allowance>,
    opened: Instant,
    shared_rates: Option<Arc<SharedRates>>,
}

/// The facts about an admitted request: its caller, limits and origin.
#[derive(Clone, Default)]
pub(crate) struct Admission {
    /// `None` if the request needed no key.
    caller: Option<Arc<Caller>>,
    /// `None` on loopback, where every caller is the operator.
    network: Option<ClientNetwork>,
    /// The address, as trusted proxies report it.
    address: Option<IpAddr>,
    rate: Option<MeteredRequest>,
    origin: Option<HeaderValue>,
    vary: Option<HeaderValue>,
}

/// A request of a caller with a rate limit.
#[derive(Clone)]
struct MeteredRequest {
    caller: CallerRate,
    status: RateStatus,
    /// Whether the route may count the request as work.
    is_deferred: bool,
}

impl Gate {
    pub(crate) fn new(rules: Rules) -> Self {
        let checks_host = rules.on_loopback || !rules.allowed_hosts.is_empty();
        // A shared cache must not give a response to another origin, or to a caller without a key.
        let vary = match (rules.keys.is_some(), rules.origins.is_empty()) {
            (false, true) => None,
            (false, false) => Some("origin"),
            (true, true) => Some("authorization, x-api-key"),
            (true, false) => Some("authorization, x-api-key, origin"),
        };
        let vary = vary.map(HeaderValue::from_static);
        let addresses = rules.rate.map(|_| AddressMeters::new());
        let open_account = rules.open_account();
        let shared_rates = rules.shared_rates.clone().map(SharedRates::new);
        Self {
            rules,
            checks_host,
            usual_host: OnceLock::new(),
            vary,
            addresses,
            open_account,
            opened: Instant::now(),
            shared_rates,
        }
    }

    /// Admits or rejects a request. Fills in `admission` until a check fails, because a rejection needs its
    /// headers too.
    pub(crate) fn check<B>(
        &self,
        peer: IpAddr,
        request: &Request<B>,
        head: &RequestHead<'_>,
        admission: &mut Admission,
    ) -> Result<(), RejectReason> {
        let (headers, rules) = (head.headers, &self.rules);
        let allowed = &rules.allowed_hosts;
        admission.vary.clone_from(&self.vary);
        let address = proxies::caller_address(peer, headers, &rules.trusted_proxies);
        admission.address = Some(address);
        let access = Access::for_path(request.uri().path());
        // A monitor outside of loopback uses the address of the service as its host.
        let checks_host = self.checks_host && (rules.on_loopback || access != Access::Always);
        if checks_host {
            host::check_host(request, head, allowed, &self.usual_host)?;
        }
        if checks_host || request.uri().path() == MCP_PATH {
            host::check_origin(head, allowed, &rules.origins)?;
        }
        let origin = cors::origin_of(headers, &rules.origins);
        if cors::is_preflight(request.method(), headers) {
            return Err(origin.map_or(RejectReason::ForeignOrigin, RejectReason::Preflight));
        }
        admission.origin = origin;
        let rejected = match &rules.keys {
            Some(keys) if access == Access::WithKey => {
                keys.caller(headers).map(|caller| admission.caller = Some(caller)).err()
            }
            _ => None,
        };
        if !matches!(access, Access::Always | Access::Unmetered) {
            let is_deferred = rejected.is_none() && request.uri().path() == MCP_PATH;
            admission.rate = self.rate_of(address, admission.caller.as_deref()).map(|caller| {
                let status = if is_deferred { caller.count_free() } else { caller.count() };
                MeteredRequest { caller, status, is_deferred }
            });
        }
        if let Some(wait) = admission.rate.as_ref().and_then(|rate| rate.status.wait) {
            return Err(RejectReason::RateLimited(wait));
        }
        if let Some(reason) = rejected {
            return Err(reason);
        }
        if access == Access::WithKey
            && let Some(account) = self.account(admission)
        {
            account.note_request();
        }
        if !rules.on_loopback && admission.caller.is_none() {
            admission.network = Some(ClientNetwork::from_address(address));
        }
        Ok(())
    }

    /// The rate limit of a key, or of an address without one.
    fn rate_of(&self, address: IpAddr, holder: Option<&Caller>) -> Option<CallerRate> {
        let (rate, meters) = match holder {
            Some(caller) => (caller.rate.or(self.rules.rate)?, Arc::clone(&caller.account.meters)),
            None => (self.rules.rate?, self.addresses.as_ref()?.get(address)),
        };
        let shared = self.shared_rates.clone();
        Some(CallerRate { meters, rate, opened: self.opened, shared })
    }

    /// The account that counts the usage of a request.
    pub(crate) fn account<'a>(&'a self, admission: &'a Admission) -> Option<&'a Allowance> {
        let caller = admission.caller.as_ref().map(|caller| &caller.account.allowance);
        caller.or(self.open_account.as_ref())
    }
}

impl Admission {
    /// Who sent the request, for its line in the log.
    pub(crate) fn sender(&self) -> Sender<'_> {
        let caller = self.caller.as_ref().map(|caller| caller.name.as_str());
        Sender { caller, address: self.address }
    }

    /// Ends the count of a request. Its caller has the answer to a 304 already, so that it is free, unless units were
    /// spent on it.
    pub(crate) fn settle<B>(&mut self, response: &Response<B>) {
        let Some(rate) = &mut self.rate else { return };
        if rate.is_deferred {
            rate.status = rate.caller.status();
        } else if response.status() == StatusCode::NOT_MODIFIED
            && response.headers().get(X_QUOTA_COST).is_none_or(|cost| cost == "0")
        {
            rate.status = rate.caller.give_back();
        }
    }

    /// Adds `Vary`, CORS and rate limit headers to a response.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap) {
        if let Some(vary) = &self.vary {
            headers.append(VARY, vary.clone());
        }
        if let Some(origin) = &self.origin {
            cors::allow(headers, origin);
        }
        if let Some(MeteredRequest { status: rate, .. }) = &self.rate {
            headers.insert(RATE_LIMIT, rate.limit.into());
            headers.insert(RATE_REMAINING, rate.remaining.into());
            headers.insert(RATE_RESET, rate.reset.into());
        }
    }

    /// Adds the caller to the request, and removes the key: nothing behind the gate needs it.
    pub(crate) fn identify<B>(&self, request: &mut Request<B>) {
        if let Some(rate) = self.rate.as_ref().filter(|rate| rate.is_deferred) {
            request.extensions_mut().insert(rate.caller.clone());
        }
        if let Some(caller) = &self.caller {
            request.headers_mut().remove(AUTHORIZATION);
            request.headers_mut().remove(keys::X_API_KEY);
            request.extensions_mut().insert(Arc::clone(caller));
            request.extensions_mut().insert(CallerId::Key(caller.name.as_str().into()));
        } else if let Some(network) = self.network {
            request.extensions_mut().insert(CallerId::Address(network));
        }
    }
}

/// The access rule of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// A key, if the service requires keys, and the rate limit applies.
    WithKey,
    /// No key, but the rate limit applies.
    Keyless,
    /// No key and no rate limit: one visit to a page loads dozens of files.
    Unmetered,
    /// No key, no rate limit, and any host name: a rejected monitor would take the service for dead.
    Always,
}

impl Access {
    pub(crate) fn for_path(path: &str) -> Self {
        // The route itself, and the redirect to it from a path with a slash at its end.
        match path.strip_suffix('/').unwrap_or(path) {
            "/healthz" | "/readyz" => Self::Always,
            // The pages contain no data. Their users enter a key there.
            "" | "/api" | "/collections" | "/docs" | "/openapi.json" | "/llms.txt" => Self::Keyless,
            _ if path.starts_with("/web/") => Self::Unmetered,
            _ => Self::WithKey,
        }
    }
}
