//! Many records of one kind, fetched in calls of fifty and each once.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Semaphore;

use super::gather::MAX_IDS;
use super::lifetime::Resource;
use super::lookup::Lookup;
use super::{Services, wrong_item_error};
use crate::cache::{Answered, Fetch, Fetched, Key, Runner};
use crate::context::Context;
use crate::data_api::call::What;
use crate::error::Result;

/// The number of concurrent calls of one list.
pub(crate) const CALLS_AT_ONCE: usize = 8;

/// Reads the records of `ids` through the cache, and fetches the uncached ones in full calls. `lookup` names the record
/// of an id. `fetch` fetches up to fifty, with one result for each.
///
/// # Errors
///
/// The first error other than "not found".
pub(crate) async fn read<Id, F>(
    services: &Arc<Services>,
    ctx: &Context,
    resource: Resource,
    ids: &[Id],
    lookup: impl Fn(&Id) -> Lookup,
    fetch: impl Fn(Arc<Services>, Context, Vec<Id>) -> F + Clone + Send + Sync + 'static,
) -> Result<Vec<Answered>>
where
    Id: Clone + Send + Sync + 'static,
    F: Future<Output = Vec<Result<Fetched>>> + Send + 'static,
{
    let keys: Vec<Key> = ids.iter().map(|id| lookup(id).key()).collect();
    let calls = Arc::new(Semaphore::new(CALLS_AT_ONCE));
    let runner = || -> Runner {
        let (services, ids, fetch) = (Arc::clone(services), ids.to_vec(), fetch.clone());
        let calls = Arc::clone(&calls);
        Arc::new(move |ctx, indices| {
            let wanted = indices.into_iter().map(|index| ids[index].clone()).collect();
            let calls = Arc::clone(&calls);
            let fetched = fetch(Arc::clone(&services), ctx, wanted);
            Box::pin(async move {
                let _permit = calls.acquire().await;
                fetched.await
            })
        })
    };
    let is_failing = || services.is_failing(resource);
    let fetch = Fetch {
        is_failing: &is_failing,
        follows_walk: false,
        is_shared: true,
        per_call: MAX_IDS,
        runner: &runner,
    };
    services.cache.read_through(&keys, ctx, &fetch).await
}

/// The records of a call, one result for each id. If YouTube sent an item that was not requested, a missing one is an
/// error: it must not pass for unknown.
pub(crate) fn records<Id, T>(
    ids: &[Id],
    found: Result<HashMap<Id, T>>,
    what: What,
    name: &str,
    encode: impl Fn(T) -> Result<Bytes>,
) -> Vec<Result<Fetched>>
where
    Id: Eq + Hash + fmt::Display,
    T: Clone,
{
    let found = found.and_then(|found| {
        let has_unrequested = found.keys().any(|id| !ids.contains(id));
        let is_complete = ids.iter().all(|id| found.contains_key(id));
        if has_unrequested && !is_complete { Err(wrong_item_error(name)) } else { Ok(found) }
    });
    let record = |id: &Id| match &found {
        Ok(found) => {
            let item = found.get(id).ok_or_else(|| what.not_found(id))?;
            encode(item.clone()).map(Fetched::from)
        }
        Err(error) => Err(error.clone()),
    };
    ids.iter().map(record).collect()
}
