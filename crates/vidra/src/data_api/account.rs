//! The key for the Data API, and the ledger and the pauses of its project. All can be replaced while the client runs.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use http::HeaderValue;

use super::hold::Holds;
use crate::quota::Ledger;

/// The service's key for the Data API. Its `Debug` output is `***`.
#[derive(Clone)]
pub struct ApiKey(pub(super) HeaderValue);

impl ApiKey {
    /// Creates a key from its configured text. `None` if it is empty or not valid in a header.
    pub fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        let mut value = HeaderValue::from_str(key).ok().filter(|_| !key.is_empty())?;
        value.set_sensitive(true);
        Some(Self(value))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A key, and the ledger and the pauses of its project. An attempt uses one account from its charge to its outcome,
/// so that an answer about an old key says nothing about a new one.
pub(crate) struct Account {
    pub(super) key: Option<ApiKey>,
    pub(crate) ledger: Arc<Ledger>,
    pub(super) holds: Holds,
    /// Whether YouTube rejected the key in its last answer about it.
    is_rejected: AtomicBool,
}

impl Account {
    pub(super) fn set_rejected(&self, is_rejected: bool) {
        self.is_rejected.store(is_rejected, Ordering::Relaxed);
    }

    /// Removes the key from external text, because YouTube has been seen to quote it.
    pub(super) fn redacted(&self, text: &str) -> String {
        let key = self.key.as_ref().and_then(|ApiKey(key)| key.to_str().ok());
        key.map_or_else(|| text.to_owned(), |key| text.replace(key, "***"))
    }
}

/// Opens the ledger of a key.
type OpenLedger = Box<dyn Fn(Option<&ApiKey>) -> Ledger + Send + Sync>;

/// The account in use.
pub(crate) struct CurrentAccount {
    account: RwLock<Arc<Account>>,
    open_ledger: OpenLedger,
}

impl CurrentAccount {
    pub(crate) fn new(key: Option<ApiKey>, open_ledger: OpenLedger) -> Self {
        let account = RwLock::new(Arc::new(Self::open(key, &open_ledger)));
        Self { account, open_ledger }
    }

    pub(crate) fn get(&self) -> Arc<Account> {
        Arc::clone(&self.account.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn has_key(&self) -> bool {
        self.get().key.is_some()
    }

    pub(crate) fn is_rejected(&self) -> bool {
        let account = self.get();
        account.key.is_some() && account.is_rejected.load(Ordering::Relaxed)
    }

    /// Changes to the account of `key`. Returns `false` if it is the one in use, which then counts as
    /// not rejected and has no pause.
    pub(super) fn replace(&self, key: ApiKey) -> bool {
        let current = self.get();
        if current.key.as_ref().is_some_and(|current| current.as_bytes() == key.as_bytes()) {
            current.set_rejected(false);
            current.holds.clear();
            return false;
        }
        // The ledger is read before the lock is taken, because the disk may be slow.
        let account = Arc::new(Self::open(Some(key), &self.open_ledger));
        let mut current = self.account.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, account);
        drop(current);
        // After the lock: the old ledger returns its grants, and is synced once more.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let ledger = Arc::clone(&before.ledger);
            runtime.spawn(async move { ledger.return_grants().await });
        }
        drop(before);
        true
    }

    fn open(key: Option<ApiKey>, open_ledger: &OpenLedger) -> Account {
        let ledger = Arc::new(open_ledger(key.as_ref()));
        Account { key, ledger, holds: Holds::default(), is_rejected: AtomicBool::new(false) }
    }
}
