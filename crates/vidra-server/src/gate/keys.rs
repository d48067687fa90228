//! The keys in use, and who each belongs to.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use axum::http::{HeaderMap, HeaderName, header};
use jiff::Timestamp;
use subtle::ConstantTimeEq;
use vidra::{Allowance, Spending};

use super::key_file::{Fingerprint, KeyFile, KeyName};
use super::rate::{Meter, Rate};

pub(super) const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// No key of ours comes near it; what is longer is not worth hashing.
const LONGEST: usize = 512;

/// Everybody who has a key. Shared by the gate, which asks it, and by whoever reads the file anew.
pub struct Keys {
    /// By the first bytes of the key's hash.
    callers: ArcSwap<HashMap<u64, Arc<Caller>>>,
    /// By name, also of keys that are not valid any more: who is given a new key under the same name
    /// goes on from where it stood.
    accounts: Mutex<BTreeMap<KeyName, Account>>,
}

/// What a caller has used so far.
#[derive(Clone)]
struct Account {
    meter: Arc<Meter>,
    /// Of the day. Every key has one, also without a limit: it may be given one in the middle of a day.
    allowance: Allowance,
}

impl Account {
    fn new() -> Self {
        Self { meter: Arc::default(), allowance: Allowance::new(None, None) }
    }
}

/// Whoever holds a key.
pub(crate) struct Caller {
    name: KeyName,
    sha256: Fingerprint,
    pub(super) rate: Option<Rate>,
    account: Account,
}

impl Keys {
    /// The keys of a file.
    pub fn new(file: &KeyFile) -> Self {
        let keys = Self { callers: ArcSwap::default(), accounts: Mutex::default() };
        keys.replace(file);
        keys
    }

    /// Replaces the keys and their limits by those of `file`. Requests with a key that is not in it are
    /// refused from now on. New budgets also hold for requests in flight, and what was spent today stays
    /// spent.
    pub fn replace(&self, file: &KeyFile) {
        let mut accounts = self.accounts();
        let callers = file.keys().iter().map(|entry| {
            let account = accounts.entry(entry.name.clone()).or_insert_with(Account::new);
            account.allowance.set_limits(entry.units, entry.searches);
            let caller = Caller {
                name: entry.name.clone(),
                sha256: entry.sha256,
                rate: entry.rate,
                account: account.clone(),
            };
            (start(entry.sha256), Arc::new(caller))
        });
        self.callers.store(Arc::new(callers.collect()));
    }

    /// What each has spent of the day, where it has spent anything.
    pub(super) fn spending(&self, now: Timestamp) -> BTreeMap<KeyName, Spending> {
        let accounts = self.accounts();
        let spent = accounts.iter().map(|(name, it)| (name.clone(), it.allowance.spending(now)));
        spent.filter(|(_, spent)| spent.default > 0 || spent.search > 0).collect()
    }

    /// Adds what was spent before a restart, also by those who have no key at the moment.
    pub(super) fn restore(&self, spent: &BTreeMap<KeyName, Spending>, now: Timestamp) {
        let mut accounts = self.accounts();
        for (name, spent) in spent {
            let account = accounts.entry(name.clone()).or_insert_with(Account::new);
            account.allowance.restore(spent, now);
        }
    }

    fn accounts(&self) -> MutexGuard<'_, BTreeMap<KeyName, Account>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose key it is. Found by a part of its hash, compared as a whole: the time that takes tells
    /// nothing about any key but its own.
    pub(super) fn caller(&self, key: &[u8]) -> Option<Arc<Caller>> {
        if key.is_empty() || key.len() > LONGEST {
            return None;
        }
        let hash = Fingerprint::of(key);
        let callers = self.callers.load();
        let caller = callers.get(&start(hash))?;
        bool::from(caller.sha256.0.ct_eq(&hash.0)).then(|| Arc::clone(caller))
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.callers.load().len())
    }
}

impl Caller {
    /// The name of its key.
    pub(crate) fn name(&self) -> &str {
        self.name.as_str()
    }

    /// What it may spend of the day.
    pub(crate) fn allowance(&self) -> &Allowance {
        &self.account.allowance
    }

    pub(super) fn meter(&self) -> &Meter {
        &self.account.meter
    }
}

fn start(hash: Fingerprint) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = hash.0;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// What a request says about its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown<'a> {
    Nothing,
    Key(&'a [u8]),
    /// More than one, and not the same.
    Several,
}

/// The key that a request shows, as `Authorization: Bearer` or `X-API-Key`. Another scheme than
/// `Bearer` is not meant for us.
pub(super) fn shown(headers: &HeaderMap) -> Shown<'_> {
    let bearers = headers.get_all(header::AUTHORIZATION).iter().filter_map(|line| {
        let (scheme, key) = line.as_bytes().split_at_checked(6)?;
        let is_bearer = scheme.eq_ignore_ascii_case(b"bearer");
        (is_bearer && key.first().is_none_or(|byte| *byte == b' ')).then(|| key.trim_ascii())
    });
    let plain = headers.get_all(X_API_KEY).iter().map(|line| line.as_bytes().trim_ascii());
    bearers.chain(plain).fold(Shown::Nothing, |shown, key| match shown {
        Shown::Nothing => Shown::Key(key),
        Shown::Key(first) if bool::from(first.ct_eq(key)) => shown,
        Shown::Key(_) | Shown::Several => Shown::Several,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_in_one_of_two_ways() {
        let (bearer, plain) = ("authorization", "x-api-key");
        let table: [(&[(&str, &str)], Shown<'_>); 14] = [
            (&[], Shown::Nothing),
            (&[(bearer, "Bearer vk_1")], Shown::Key(b"vk_1")),
            (&[(bearer, "bEARER   vk_1 ")], Shown::Key(b"vk_1")),
            (&[(plain, "vk_1")], Shown::Key(b"vk_1")),
            (&[(plain, "vk_1"), (bearer, "Bearer vk_1")], Shown::Key(b"vk_1")),
            (&[(plain, "vk_1"), (bearer, "Bearer vk_2")], Shown::Several),
            (&[(plain, "vk_1"), (plain, "vk_2")], Shown::Several),
            (&[(bearer, "Bearer vk_1"), (bearer, "Bearer vk_2")], Shown::Several),
            (&[(bearer, "Basic dXNlcjpwYXNz")], Shown::Nothing),
            (&[(bearer, "Basic dXNlcjpwYXNz"), (plain, "vk_1")], Shown::Key(b"vk_1")),
            (&[(bearer, "Bearer")], Shown::Key(b"")),
            (&[(bearer, "Bearervk_1")], Shown::Nothing),
            (&[(bearer, "vk_1")], Shown::Nothing),
            (&[(plain, "")], Shown::Key(b"")),
        ];
        for (lines, expected) in table {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.append(*name, value.parse().unwrap());
            }
            assert_eq!(shown(&headers), expected, "{headers:?}");
        }
    }
}
