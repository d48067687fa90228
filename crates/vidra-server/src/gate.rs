//! The gate admits or rejects callers. Every request passes it first, also one with a cached response.
//!
//! Checks run in this order. Host and origin come first, so a rejected page learns nothing else. A CORS
//! preflight comes before the key, because browsers send it without one. The rate limit of a key applies
//! only to requests that present the key.

mod caller_id;
mod cors;
mod host;
mod key_file;
mod keys;
mod proxies;
mod rate;
mod rejection;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use axum::http::header::{AUTHORIZATION, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request};
use tokio::time::Instant;

pub use cors::Origin;
pub use host::AllowedHost;
pub use key_file::{KeyEntry, KeyFile, KeyLimits, KeyName};
pub use keys::Keys;
pub use proxies::TrustedProxy;
pub use rate::Rate;

pub(crate) use caller_id::CallerId;
pub(crate) use keys::Caller;
pub(crate) use rate::ClientNetwork;

use crate::hot::{RequestHead, Sender};
use rate::{AddressMeters, RateStatus};
use rejection::RejectReason;

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
    opened: Instant,
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
    rate: Option<RateStatus>,
    origin: Option<HeaderValue>,
    vary: Option<HeaderValue>,
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
        Self {
            rules,
            checks_host,
            usual_host: OnceLock::new(),
            vary,
            addresses,
            opened: Instant::now(),
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
        let known = match &rules.keys {
            Some(keys) if access == Access::WithKey => keys.caller(headers).map(Some),
            _ => Ok(None),
        };
        if !matches!(access, Access::Always | Access::Unmetered) {
            let holder = known.as_ref().ok().and_then(Option::as_deref);
            admission.rate = self.measure(address, holder);
        }
        if let Some(RateStatus { wait: Some(wait), .. }) = admission.rate {
            return Err(RejectReason::RateLimited(wait));
        }
        admission.caller = known?;
        if !rules.on_loopback && admission.caller.is_none() {
            admission.network = Some(ClientNetwork::from_address(address));
        }
        Ok(())
    }

    /// Counts a request against the limit of its key, or of its address without a key.
    fn measure(&self, address: IpAddr, holder: Option<&Caller>) -> Option<RateStatus> {
        let now = || u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if let Some(caller) = holder {
            let rate = caller.rate.or(self.rules.rate)?;
            return Some(caller.account.meter.count(rate, now()));
        }
        let (rate, addresses) = self.rules.rate.zip(self.addresses.as_ref())?;
        Some(addresses.count(address, rate, now()))
    }
}

impl Admission {
    /// Who sent the request, for its line in the log.
    pub(crate) fn sender(&self) -> Sender<'_> {
        let caller = self.caller.as_ref().map(|caller| caller.name.as_str());
        Sender { caller, address: self.address }
    }

    /// Adds `Vary`, CORS and rate limit headers to a response.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap) {
        if let Some(vary) = &self.vary {
            headers.append(VARY, vary.clone());
        }
        if let Some(origin) = &self.origin {
            cors::allow(headers, origin);
        }
        if let Some(rate) = &self.rate {
            headers.insert(RATE_LIMIT, rate.limit.into());
            headers.insert(RATE_REMAINING, rate.remaining.into());
            headers.insert(RATE_RESET, rate.reset.into());
        }
    }

    /// Adds the caller to the request, and removes the key: nothing behind the gate needs it.
    pub(crate) fn identify<B>(&self, request: &mut Request<B>) {
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
            "" | "/api" | "/docs" | "/openapi.json" => Self::Keyless,
            _ if path.starts_with("/web/") => Self::Unmetered,
            _ => Self::WithKey,
        }
    }
}
