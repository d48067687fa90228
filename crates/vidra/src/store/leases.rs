//! Leases: at most one of several machines fetches a record at a time.

mod double;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::{BoxFuture, StoreError};

pub use double::LeasesDouble;

/// Leases of keys that several machines share. A lease that is neither renewed nor released expires.
pub trait Leases: fmt::Debug + Send + Sync + 'static {
    /// Takes the lease of `key` for `time`. `None` if it is taken.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. The lease can be taken all the same, and then expires.
    fn take<'a>(
        &'a self,
        key: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<Option<FencingToken>, StoreError>>;

    /// Extends a lease to `time` from now. `false` if it has expired.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`].
    fn renew<'a>(
        &'a self,
        key: &'a str,
        fence: FencingToken,
        time: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Releases a lease. It has no effect on a later lease of the key.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`].
    fn release<'a>(
        &'a self,
        key: &'a str,
        fence: FencingToken,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Announces the end of the fetches of these keys to the machines that listen. An announcement can be lost.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`].
    fn announce<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Listens for announcements of any of these keys from now on.
    fn listen(&self, keys: &[String]) -> Listening;
}

/// The fencing token of a lease. Of two leases of a key, the later one has the higher token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(pub(crate) u64);

/// The listeners of this process.
#[derive(Debug, Clone, Default)]
pub struct Listeners(Arc<Mutex<HashMap<String, Vec<Arc<Notify>>>>>);

impl Listeners {
    /// Listens for announcements of any of these keys.
    pub fn listen(&self, keys: &[String]) -> Listening {
        let heard = Arc::new(Notify::new());
        let mut all = self.lock();
        for key in keys {
            all.entry(key.clone()).or_default().push(Arc::clone(&heard));
        }
        drop(all);
        Listening { listeners: self.clone(), keys: keys.to_vec(), heard }
    }

    /// Wakes the listeners of these keys.
    pub fn announce(&self, keys: &[String]) {
        let all = self.lock();
        let listeners = keys.iter().filter_map(|key| all.get(key)).flatten();
        listeners.for_each(|listener| listener.notify_one());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<Arc<Notify>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Listening {
    listeners: Listeners,
    keys: Vec<String>,
    heard: Arc<Notify>,
}

impl Listening {
    /// Waits for the next announcement, or returns at once if there was one since the last call.
    pub async fn heard(&self) {
        self.heard.notified().await;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut all = self.listeners.lock();
        for key in &self.keys {
            if let Some(listeners) = all.get_mut(key) {
                listeners.retain(|listener| !Arc::ptr_eq(listener, &self.heard));
                if listeners.is_empty() {
                    all.remove(key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn listeners_hear_of_their_keys_until_they_are_dropped() {
        let listeners = Listeners::default();
        let keys = |keys: &[&str]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (both, one) = (listeners.listen(&keys(&["a", "b"])), listeners.listen(&keys(&["b"])));
        listeners.announce(&keys(&["a", "c"]));
        assert_eq!(both.heard().now_or_never(), Some(()), "an announcement before the wait counts");
        assert_eq!(both.heard().now_or_never(), None);
        assert_eq!(one.heard().now_or_never(), None);
        listeners.announce(&keys(&["a", "b"]));
        assert_eq!(both.heard().now_or_never(), Some(()));
        assert_eq!(one.heard().now_or_never(), Some(()));
        drop((both, one));
        assert!(listeners.lock().is_empty());
    }
}
