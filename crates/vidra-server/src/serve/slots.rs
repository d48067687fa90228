//! How many connections there may be, together and from one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::{Limits, refusal};
use crate::gate::{Neighbourhood, TrustedProxy};

/// From one address that is not this machine, where nothing else was said.
const USUAL_PER_ADDRESS: usize = 256;

/// How many are told together that there is no place; others are told nothing.
const MOST_FAREWELLS: usize = 64;

/// How long such a one may take to read it.
const FAREWELL: Duration = Duration::from_secs(1);

/// The places that there are.
pub(super) struct Slots {
    most: usize,
    most_per_address: Option<usize>,
    trusted_proxies: Vec<TrustedProxy>,
    taken: Mutex<Taken>,
    farewells: Arc<Semaphore>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_address: HashMap<Neighbourhood, usize>,
}

/// A place, until it is dropped.
pub(super) struct Slot {
    slots: Arc<Slots>,
    from: Neighbourhood,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    Altogether,
    ForAddress,
}

impl Full {
    /// What metrics call it.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Altogether => "all_taken",
            Self::ForAddress => "address",
        }
    }
}

impl Slots {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            most: limits.connections,
            most_per_address: limits.connections_per_address,
            trusted_proxies: limits.trusted_proxies.clone(),
            taken: Mutex::default(),
            farewells: Arc::new(Semaphore::new(MOST_FAREWELLS)),
        }
    }

    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Result<Slot, Full> {
        let mut taken = self.lock();
        if taken.all >= self.most {
            return Err(Full::Altogether);
        }
        let most = match self.most_per_address {
            _ if self.trusted_proxies.iter().any(|proxy| proxy.is(address)) => usize::MAX,
            Some(most) => most,
            None if address.is_loopback() => usize::MAX,
            None => USUAL_PER_ADDRESS,
        };
        let from = Neighbourhood::of(address);
        if taken.by_address.get(&from).is_some_and(|from_there| *from_there >= most) {
            return Err(Full::ForAddress);
        }
        *taken.by_address.entry(from).or_default() += 1;
        taken.all += 1;
        Ok(Slot { slots: Arc::clone(self), from })
    }

    /// Tells one who is turned away why, as far as that takes nothing from others.
    pub(super) fn turn_away(&self, mut stream: TcpStream, full: Full) {
        let Ok(place) = Arc::clone(&self.farewells).try_acquire_owned() else { return };
        let (status, message) = match full {
            Full::Altogether => (StatusCode::SERVICE_UNAVAILABLE, "The service is busy"),
            Full::ForAddress => {
                (StatusCode::TOO_MANY_REQUESTS, "Too many connections from your address")
            }
        };
        tokio::spawn(async move {
            let telling = async {
                stream.write_all(&refusal::written(status, message)).await?;
                stream.shutdown().await?;
                // To close before everything has been read would take back what was said.
                let mut unread = [0; 1024];
                while stream.read(&mut unread).await? > 0 {}
                std::io::Result::Ok(())
            };
            let _ = timeout(FAREWELL, telling).await;
            drop(place);
        });
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        taken.all -= 1;
        if let Some(from_there) = taken.by_address.get_mut(&self.from) {
            *from_there -= 1;
            if *from_there == 0 {
                taken.by_address.remove(&self.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_given_back_is_there_for_the_next() {
        let limits =
            Limits { connections: 3, connections_per_address: Some(2), ..Limits::default() };
        let slots = Arc::new(Slots::new(&limits));
        let [here, there] = ["10.0.0.1", "10.0.0.2"].map(|ip| ip.parse().unwrap());
        let first = slots.take(here).ok().unwrap();
        let _second = slots.take(here).ok().unwrap();
        assert_eq!(slots.take(here).err(), Some(Full::ForAddress));
        let third = slots.take(there).ok().unwrap();
        assert_eq!(slots.take(there).err(), Some(Full::Altogether));
        drop(first);
        assert!(slots.take(here).is_ok());
        drop(third);
        assert_eq!(slots.lock().by_address.len(), 1, "nothing is kept of those who left");
    }

    #[test]
    fn what_a_customer_gets_of_ipv6_is_one() {
        let limits = Limits { connections_per_address: Some(2), ..Limits::default() };
        let slots = Arc::new(Slots::new(&limits));
        let take = |address: &str| slots.take(address.parse().unwrap());
        let _taken = (take("2001:db8::1").ok().unwrap(), take("2001:db8::2").ok().unwrap());
        assert_eq!(take("2001:db8::3").err(), Some(Full::ForAddress));
        assert!(take("2001:db8:0:1::1").is_ok());
    }

    #[test]
    fn a_proxy_stands_for_many() {
        let trusted_proxies = vec!["10.1.0.0/16".parse().unwrap()];
        let slots = Arc::new(Slots::new(&Limits { trusted_proxies, ..Limits::default() }));
        let table =
            [("127.0.0.1", 10_000), ("::1", 10_000), ("10.1.0.1", 10_000), ("10.0.0.1", 256)];
        for (address, places) in table {
            let address = address.parse().unwrap();
            let taken: Vec<_> = std::iter::from_fn(|| slots.take(address).ok()).collect();
            assert_eq!(taken.len(), places, "{address}");
        }
    }
}
