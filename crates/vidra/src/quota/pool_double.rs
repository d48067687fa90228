//! A pool in memory for tests. It loses requests and answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use fastrand::Rng;
use jiff::Timestamp;

use super::pool::*;
use super::*;
use crate::error::{Error, Reason, Result};
use crate::transport::BoxFuture;

/// Machines share it by its `Arc`.
#[derive(Debug)]
pub(super) struct PoolDouble(Mutex<Content>);

#[derive(Debug)]
struct Content {
    now: Timestamp,
    used: BTreeMap<(String, Bucket), u32>,
    exhausted: BTreeSet<(String, Bucket)>,
    /// The day, the bucket and the units of each grant that has not ended.
    grants: BTreeMap<i64, (String, Bucket, u32)>,
    ended: BTreeSet<i64>,
    rng: Rng,
    /// The share of requests and of answers that are lost, in per cent.
    lost: u8,
}

impl PoolDouble {
    pub(super) fn new(now: Timestamp, seed: u64) -> Arc<Self> {
        let (used, exhausted, grants) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let (ended, rng) = (BTreeSet::new(), Rng::with_seed(seed));
        Arc::new(Self(Mutex::new(Content { now, used, exhausted, grants, ended, rng, lost: 0 })))
    }

    pub(super) fn set_clock(&self, now: Timestamp) {
        self.content().now = now;
    }

    pub(super) fn lose(&self, per_cent: u8) {
        self.content().lost = per_cent;
    }

    pub(super) fn used(&self, date: &str, bucket: Bucket) -> u32 {
        self.content().used.get(&(date.to_owned(), bucket)).copied().unwrap_or(0)
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap()
    }

    /// Runs `work`, unless the request is lost. The answer can be lost after it.
    fn request<T>(&self, work: impl FnOnce(&mut Content) -> T) -> Result<T> {
        let mut content = self.content();
        let lost = || Err(Error::new(Reason::DatabaseUnavailable, "lost"));
        if content.is_lost() {
            return lost();
        }
        let done = work(&mut content);
        if content.is_lost() { lost() } else { Ok(done) }
    }
}

impl Content {
    fn is_lost(&mut self) -> bool {
        self.rng.u8(..100) < self.lost
    }

    fn bucket(&self, date: &str, bucket: Bucket) -> PoolBucket {
        let key = (date.to_owned(), bucket);
        let used = self.used.get(&key).copied().unwrap_or(0);
        let is_exhausted = self.exhausted.contains(&key);
        PoolBucket { date: key.0, bucket, used, is_exhausted }
    }

    fn add(&mut self, wanted: &WantedGrant, units: u32) {
        let key = (wanted.date.clone(), wanted.bucket);
        *self.used.entry(key).or_default() += units;
        self.grants.insert(wanted.id, (wanted.date.clone(), wanted.bucket, units));
    }
}

impl QuotaPool for PoolDouble {
    fn take<'a>(&'a self, wanted: &'a WantedGrant) -> BoxFuture<'a, Result<PoolAnswer>> {
        let answer = self.request(|content| {
            let before = content.bucket(&wanted.date, wanted.bucket);
            let is_open = charged_days(content.now).contains(&wanted.date);
            let units = match content.grants.get(&wanted.id) {
                Some((_, _, units)) => *units,
                None if before.is_exhausted || !is_open => 0,
                None => {
                    let units = wanted.grant(before.used);
                    units.inspect(|units| content.add(wanted, *units)).unwrap_or(0)
                }
            };
            let bucket = content.bucket(&wanted.date, wanted.bucket);
            PoolAnswer { units, now: content.now, bucket }
        });
        Box::pin(std::future::ready(answer))
    }

    fn end<'a>(&'a self, ended: &'a EndedGrant) -> BoxFuture<'a, Result<()>> {
        let EndedGrant { id, unspent } = *ended;
        let done = self.request(|content| {
            let (date, bucket, units) = content.grants[&id].clone();
            assert!(unspent <= units);
            if content.ended.insert(id) {
                *content.used.get_mut(&(date, bucket)).unwrap() -= unspent;
            }
        });
        Box::pin(std::future::ready(done))
    }

    fn count<'a>(&'a self, spent: &'a WantedGrant) -> BoxFuture<'a, Result<()>> {
        let done = self.request(|content| {
            if !content.grants.contains_key(&spent.id) {
                content.add(spent, spent.units);
                content.ended.insert(spent.id);
            }
        });
        Box::pin(std::future::ready(done))
    }

    fn exchange<'a>(
        &'a self,
        _key: &'a str,
        exhausted: &'a [(String, Bucket)],
    ) -> BoxFuture<'a, Result<PoolState>> {
        let state = self.request(|content| {
            content.exhausted.extend(exhausted.iter().cloned());
            let keys = charged_days(content.now).into_iter();
            let keys = keys
                .flat_map(|date| [Bucket::Default, Bucket::Search].map(|it| (date.clone(), it)));
            let buckets = keys.map(|(date, bucket)| content.bucket(&date, bucket)).collect();
            PoolState { now: content.now, buckets }
        });
        Box::pin(std::future::ready(state))
    }

    fn is_failing(&self) -> bool {
        false
    }

    fn changed<'a>(&'a self, _seen: &'a mut u64) -> BoxFuture<'a, ()> {
        Box::pin(std::future::pending())
    }
}
