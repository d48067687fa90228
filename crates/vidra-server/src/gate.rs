//! The gate: who may come in. Every request passes it first, also one whose answer is ready.
//!
//! In this order: a request that means another machine, or was sent by a page of somebody else, is told
//! nothing else; a browser that asks what it may send has no key yet; only who has a key is measured by
//! what that key allows.

mod cors;
mod host;
mod key_file;
mod keys;
mod proxies;
mod rate;
mod refusal;
mod shares;
mod spent;

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use tokio::time::Instant;

pub use cors::Origin;
pub use host::AllowedHost;
pub use key_file::{KeyEntry, KeyFile, KeyLimits, KeyName};
pub use keys::Keys;
pub use proxies::TrustedProxy;
pub use rate::Rate;
pub use spent::SpentFile;

pub(crate) use keys::Caller;
pub(crate) use rate::Neighbourhood;
pub(crate) use shares::{Shares, Who};

use crate::asked::Asked;
use host::UsualHost;
use keys::Shown;
use rate::{Addresses, Standing};
use refusal::Refusal;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// Who may come in. By default everybody, as fast as they like, and no web pages.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Who has a key; `None` where none is needed.
    pub keys: Option<Arc<Keys>>,
    /// How fast each key may ask that has no rate of its own; without keys, each address.
    pub rate: Option<Rate>,
    /// Proxies that are believed about where a request comes from.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Whose web pages may read answers.
    pub origins: Vec<Origin>,
    /// Whether the service listens on loopback, where web pages must not reach it by a trick.
    pub on_loopback: bool,
    /// Names under which it may be asked for, beside those of this machine.
    pub allowed_hosts: Vec<AllowedHost>,
}

/// The rules at work.
pub(crate) struct Gate {
    rules: Rules,
    checks_host: bool,
    usual_host: UsualHost,
    /// What an answer hangs on beyond what its route says; `None` where nothing.
    vary: Option<HeaderValue>,
    /// Of those without a key, where there is a limit.
    addresses: Option<Addresses>,
    opened: Instant,
}

/// Somebody who was let in.
#[derive(Clone, Default)]
pub(crate) struct Guest {
    /// `None` where no key was needed.
    pub(crate) caller: Option<Arc<Caller>>,
    /// Where it comes from; `None` on loopback, where all are one.
    from: Option<Neighbourhood>,
    standing: Option<Standing>,
    origin: Option<HeaderValue>,
    vary: Option<HeaderValue>,
}

/// Somebody who goes no further.
pub(crate) struct Turned {
    /// What metrics call it; `None` where all went as it should.
    pub(crate) reason: Option<&'static str>,
    pub(crate) response: Response<Body>,
}

impl Gate {
    pub(crate) fn new(rules: Rules) -> Self {
        let checks_host = rules.on_loopback || !rules.allowed_hosts.is_empty();
        // A cache in between must not give to one page, or to nobody known, what was for another.
        let vary = match (rules.keys.is_some(), rules.origins.is_empty()) {
            (false, true) => None,
            (false, false) => Some("origin"),
            (true, true) => Some("authorization, x-api-key"),
            (true, false) => Some("authorization, x-api-key, origin"),
        };
        let vary = vary.map(HeaderValue::from_static);
        let addresses = rules.rate.map(|_| Addresses::new());
        Self {
            rules,
            checks_host,
            usual_host: UsualHost::default(),
            vary,
            addresses,
            opened: Instant::now(),
        }
    }

    /// Lets a request in, or says why not.
    pub(crate) fn admit<B>(
        &self,
        peer: IpAddr,
        request: &Request<B>,
        asked: &Asked<'_>,
    ) -> Result<Guest, Box<Turned>> {
        let mut guest = Guest::default();
        match self.judge(peer, request, asked, &mut guest) {
            Ok(()) => Ok(guest),
            Err(refusal) => {
                let reason = refusal.reason();
                let mut response = refusal.response();
                guest.sign(response.headers_mut());
                Err(Box::new(Turned { reason, response }))
            }
        }
    }

    /// Fills in what it learns of the guest, as far as it comes.
    fn judge<B>(
        &self,
        peer: IpAddr,
        request: &Request<B>,
        asked: &Asked<'_>,
        guest: &mut Guest,
    ) -> Result<(), Refusal> {
        let (headers, rules) = (asked.headers, &self.rules);
        let allowed = &rules.allowed_hosts;
        guest.vary.clone_from(&self.vary);
        let open = Open::of(request.uri().path());
        // Whoever watches a service beyond loopback asks for it by its address.
        let checks_host = self.checks_host && (rules.on_loopback || open != Open::Always);
        if checks_host {
            let (version, uri) = (request.version(), request.uri());
            host::check_host(version, uri, asked, allowed, &self.usual_host)
                .map_err(Refusal::Stranger)?;
        }
        // MCP asks for this wherever the service listens.
        if checks_host || request.uri().path() == crate::mcp::PATH {
            let is_listed = |origin: &[u8]| cors::lists(&rules.origins, origin);
            host::check_origin(asked, allowed, is_listed).map_err(Refusal::Stranger)?;
        }
        if !rules.origins.is_empty() {
            let origin = cors::origin_of(headers, &rules.origins);
            if cors::is_preflight(request.method(), headers) {
                return Err(Refusal::Preflight(origin));
            }
            guest.origin = origin;
        }
        let known = match &rules.keys {
            Some(keys) if open == Open::No => key_holder(keys, headers),
            _ => Ok(None),
        };
        if !matches!(open, Open::Always | Open::File) {
            let holder = known.as_ref().ok().and_then(Option::as_deref);
            guest.standing = self.measure(peer, headers, holder);
        }
        if let Some(Standing { wait: Some(wait), .. }) = guest.standing {
            guest.caller = known.ok().flatten();
            return Err(Refusal::TooFast(wait));
        }
        guest.caller = known?;
        if !rules.on_loopback && guest.caller.is_none() {
            let address = proxies::caller_address(peer, headers, &rules.trusted_proxies);
            guest.from = Some(Neighbourhood::of(address));
        }
        Ok(())
    }

    /// Counts a request, for the key that it has or else for its address, where there is a limit.
    fn measure(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        holder: Option<&Caller>,
    ) -> Option<Standing> {
        let now = || u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if let Some(caller) = holder {
            let rate = caller.rate.or(self.rules.rate)?;
            return Some(caller.meter().count(rate, now()));
        }
        let (rate, addresses) = self.rules.rate.zip(self.addresses.as_ref())?;
        let address = proxies::caller_address(peer, headers, &self.rules.trusted_proxies);
        Some(addresses.count(address, rate, now()))
    }
}

impl Guest {
    /// Adds to an answer what its caller is to know.
    pub(crate) fn sign(&self, headers: &mut HeaderMap) {
        if let Some(vary) = &self.vary {
            headers.append(VARY, vary.clone());
        }
        if let Some(origin) = &self.origin {
            cors::allow(headers, origin);
        }
        if let Some(standing) = &self.standing {
            headers.insert(RATE_LIMIT, standing.limit.into());
            headers.insert(RATE_REMAINING, standing.remaining.into());
            headers.insert(RATE_RESET, standing.reset.into());
        }
    }

    /// Tells the routes who asks, and takes the key away: nothing behind the gate has a use for it.
    pub(crate) fn introduce<B>(&self, request: &mut Request<B>) {
        if let Some(caller) = &self.caller {
            request.headers_mut().remove(AUTHORIZATION);
            request.headers_mut().remove(keys::X_API_KEY);
            request.extensions_mut().insert(Arc::clone(caller));
            request.extensions_mut().insert(Who::Key(caller.name().into()));
        } else if let Some(from) = self.from {
            request.extensions_mut().insert(Who::Address(from));
        }
    }
}

/// What everybody may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    No,
    /// Without a key.
    Keyless,
    /// Without a key, and not measured: a page has dozens of files, and who looks at one has asked once.
    File,
    /// Also as fast as one likes: whoever watches the service must not take it for dead.
    Always,
}

impl Open {
    pub(crate) fn of(path: &str) -> Self {
        match path {
            "/healthz" | "/readyz" => Self::Always,
            // The pages hold nothing that is anybody's; who uses them shows a key there.
            "/" | "/docs" | "/openapi.json" => Self::Keyless,
            _ if path.starts_with("/web/") => Self::File,
            _ => Self::No,
        }
    }
}

/// Who asks, where keys are needed.
fn key_holder(keys: &Keys, headers: &HeaderMap) -> Result<Option<Arc<Caller>>, Refusal> {
    match keys::shown(headers) {
        Shown::Nothing => Err(Refusal::NoKey),
        Shown::Several => Err(Refusal::SeveralKeys),
        Shown::Key(key) => keys.caller(key).map(Some).ok_or(Refusal::WrongKey),
    }
}
