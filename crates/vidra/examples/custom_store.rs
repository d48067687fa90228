//! A custom store behind the cache. This one is a map; yours may be a database:
//! `cargo run --example custom_store -- VIDEO`

mod demo;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vidra::store::{BoxFuture, Record, Store, StoreError, Usage, conformance};
use vidra::{Lookup, VideoId};

/// Records by their key. To store a record elsewhere, store its four fields; the body is JSON.
#[derive(Default)]
struct Map(Mutex<HashMap<String, Record>>);

impl Map {
    fn records(&self) -> MutexGuard<'_, HashMap<String, Record>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Map {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Box::pin(async move { Ok(self.records().get(key).cloned()) })
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.records().insert(key.to_owned(), record.clone());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.records().remove(key);
            Ok(())
        })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.records().clear();
            Ok(())
        })
    }

    fn usage(&self) -> BoxFuture<'_, Result<Usage, StoreError>> {
        Box::pin(async move {
            let records = self.records();
            let bytes = records.iter().map(|(key, record)| key.len() + record.body.len());
            Ok(Usage { entries: records.len() as u64, bytes: bytes.sum::<usize>() as u64 })
        })
    }
}

#[tokio::main]
async fn main() -> vidra::Result<()> {
    let wanted = demo::argument(1).unwrap_or_else(|| "fda4eREcaTQ".to_owned());
    let video = Lookup::Video(VideoId::parse(&wanted)?);
    // Checks the requirements of every store. Call it in the tests of your store.
    conformance::check(&Map::default()).await;

    let store = Arc::new(Map::default());
    let first = demo::builder().store(store.clone()).build()?;
    println!("first: {}", first.lookup(&video).await?.outcome.name());
    // The client stores answers in the background. Wait for that before the program ends.
    first.settled().await;
    drop(first);

    // Another client, as after a restart: its memory is empty, the store is not.
    let second = demo::builder().store(store.clone()).build()?;
    println!("second: {}", second.lookup(&video).await?.outcome.name());
    println!("{} records", store.records().len());
    Ok(())
}
