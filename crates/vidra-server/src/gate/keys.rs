//! The valid keys and their callers.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use axum::http::{HeaderMap, HeaderName, header};
use subtle::ConstantTimeEq;
use vidra::{Allowance, Allowances};

use super::key_file::{KeyFile, KeyHash, KeyName};
use super::rate::{Meters, Rate};
use super::rejection::RejectReason;

pub(super) const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Longer keys cannot be valid, so they are not hashed.
const MAX_LENGTH: usize = 512;

/// The valid keys. The gate shares them with the task that reloads the file.
pub struct Keys {
    /// By the first bytes of the hash of the key.
    callers: ArcSwap<HashMap<u64, Arc<Caller>>>,
    /// By name, also of revoked keys: a new key under the same name continues with the same usage.
    meters: Mutex<BTreeMap<KeyName, Arc<Meters>>>,
    /// Budgets and usage by name, also of revoked keys. A file may hold them.
    pub(super) allowances: Arc<Allowances>,
}

/// The usage of a caller.
#[derive(Clone)]
pub(crate) struct Account {
    pub(super) meters: Arc<Meters>,
    /// Every key has an allowance, also without a limit, because a reload may set one during the day.
    pub(crate) allowance: Allowance,
}

/// The holder of a key.
pub(crate) struct Caller {
    /// The name of its key.
    pub(crate) name: KeyName,
    sha256: KeyHash,
    pub(super) rate: Option<Rate>,
    /// Whether the holder may see the usage of all callers.
    pub(crate) is_operator: bool,
    pub(crate) account: Account,
}

impl Keys {
    /// The keys of a file. Their usage ends with this process.
    pub fn new(file: &KeyFile) -> Self {
        Self::with_allowances(file, Arc::default())
    }

    /// The keys of a file, whose usage is counted in `allowances`.
    pub fn with_allowances(file: &KeyFile, allowances: Arc<Allowances>) -> Self {
        let keys = Self { callers: ArcSwap::default(), meters: Mutex::default(), allowances };
        keys.replace(file);
        keys
    }

    /// Replaces the keys and their limits by those of `file`. Requests with a key that is not in it are
    /// refused from now on. New budgets also apply to requests in flight, and units spent today stay
    /// spent.
    pub fn replace(&self, file: &KeyFile) {
        let mut all_meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        let callers = file.keys().iter().map(|entry| {
            let allowance = self.allowances.get(entry.name.as_str());
            allowance.set_limits(entry.units, entry.searches);
            let meters = all_meters
                .entry(entry.name.clone())
                .or_insert_with(|| Meters::new(format!("key {}", entry.name.as_str())));
            let meters = Arc::clone(meters);
            let caller = Caller {
                name: entry.name.clone(),
                sha256: entry.sha256,
                rate: entry.rate,
                is_operator: entry.operator,
                account: Account { meters, allowance },
            };
            (entry.sha256.prefix(), Arc::new(caller))
        });
        self.callers.store(Arc::new(callers.collect()));
    }

    /// The budget and usage of the key with this name. `None` if there is no such key, or it was revoked.
    pub(crate) fn allowance_of(&self, name: &str) -> Option<Allowance> {
        let callers = self.callers.load();
        let caller = callers.values().find(|caller| caller.name.as_str() == name)?;
        Some(caller.account.allowance.clone())
    }

    /// The caller whose key a request presents. A part of the hash finds the entry, and a comparison in
    /// constant time confirms it, so the time reveals nothing about other keys.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Result<Arc<Caller>, RejectReason> {
        let key = presented_key(headers)?;
        if key.is_empty() || key.len() > MAX_LENGTH {
            return Err(RejectReason::WrongKey);
        }
        let hash = KeyHash::new(key);
        let callers = self.callers.load();
        let caller = callers.get(&hash.prefix());
        let caller = caller.filter(|caller| bool::from(caller.sha256.0.ct_eq(&hash.0)));
        caller.cloned().ok_or(RejectReason::WrongKey)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.callers.load().len())
    }
}

/// Reads the key of a request from `Authorization: Bearer` and `X-API-Key`. Other schemes than `Bearer` are
/// ignored.
fn presented_key(headers: &HeaderMap) -> Result<&[u8], RejectReason> {
    let bearers = headers.get_all(header::AUTHORIZATION).iter().filter_map(|line| {
        let (scheme, key) = line.as_bytes().split_at_checked(6)?;
        let is_bearer = scheme.eq_ignore_ascii_case(b"bearer");
        (is_bearer && key.first().is_none_or(|byte| *byte == b' ')).then(|| key.trim_ascii())
    });
    let plain = headers.get_all(X_API_KEY).iter().map(|line| line.as_bytes().trim_ascii());
    let mut keys = bearers.chain(plain);
    let first = keys.next().ok_or(RejectReason::NoKey)?;
    let is_one_key = keys.all(|key| bool::from(key.ct_eq(first)));
    if is_one_key { Ok(first) } else { Err(RejectReason::SeveralKeys) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_from_authorization_or_x_api_key() {
        const BEARER: &str = "authorization";
        const PLAIN: &str = "x-api-key";
        type Lines<'a> = &'a [(&'a str, &'a str)];
        let table: [(Lines<'_>, Result<&[u8], RejectReason>); 14] = [
            (&[], Err(RejectReason::NoKey)),
            (&[(BEARER, "Bearer vk_1")], Ok(b"vk_1")),
            (&[(BEARER, "bEARER   vk_1 ")], Ok(b"vk_1")),
            (&[(PLAIN, "vk_1")], Ok(b"vk_1")),
            (&[(PLAIN, "vk_1"), (BEARER, "Bearer vk_1")], Ok(b"vk_1")),
            (&[(PLAIN, "vk_1"), (BEARER, "Bearer vk_2")], Err(RejectReason::SeveralKeys)),
            (&[(PLAIN, "vk_1"), (PLAIN, "vk_2")], Err(RejectReason::SeveralKeys)),
            (&[(BEARER, "Bearer vk_1"), (BEARER, "Bearer vk_2")], Err(RejectReason::SeveralKeys)),
            (&[(BEARER, "Basic dXNlcjpwYXNz")], Err(RejectReason::NoKey)),
            (&[(BEARER, "Basic dXNlcjpwYXNz"), (PLAIN, "vk_1")], Ok(b"vk_1")),
            (&[(BEARER, "Bearer")], Ok(b"")),
            (&[(BEARER, "Bearervk_1")], Err(RejectReason::NoKey)),
            (&[(BEARER, "vk_1")], Err(RejectReason::NoKey)),
            (&[(PLAIN, "")], Ok(b"")),
        ];
        for (lines, expected) in table {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.append(*name, value.parse().unwrap());
            }
            assert_eq!(presented_key(&headers), expected, "{headers:?}");
        }
    }
}
