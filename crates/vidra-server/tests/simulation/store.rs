//! The store behind memory: slow, failing, full, or with wrong records in it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::sleep;
use vidra::store::{BoxFuture, Record, Store, StoreError, Usage};

use crate::events::Events;

/// How the store behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Good,
    /// Every call takes this many milliseconds.
    Slow(u64),
    Failing,
    /// Nothing more can be stored.
    Full,
    /// Records are returned damaged: missing, from the future, or expired.
    Wrong,
}

/// The simulated store, which survives a restart of the service.
#[derive(Clone)]
pub(crate) struct SimStore(Arc<Inner>);

struct Inner {
    records: Mutex<BTreeMap<String, Record>>,
    mode: Mutex<Mode>,
    events: Events,
}

impl SimStore {
    pub(crate) fn new(events: Events) -> Self {
        let (records, mode) = (Mutex::default(), Mutex::new(Mode::Good));
        Self(Arc::new(Inner { records, mode, events }))
    }

    pub(crate) fn set(&self, mode: Mode) {
        *self.0.mode.lock().unwrap() = mode;
    }

    async fn mode(&self) -> Result<Mode, StoreError> {
        let mode = *self.0.mode.lock().unwrap();
        match mode {
            Mode::Slow(millis) => {
                self.0.events.count("store slow");
                sleep(Duration::from_millis(millis)).await;
            }
            Mode::Failing => {
                self.0.events.count("store failing");
                return Err(StoreError::Unavailable("simulated".to_owned()));
            }
            Mode::Good | Mode::Full | Mode::Wrong => {}
        }
        Ok(mode)
    }

    /// Damages a record in a way that the reader has to detect.
    fn damaged(&self, mut record: Record) -> Result<Option<Record>, StoreError> {
        self.0.events.count("store wrong record");
        match fastrand::u8(..4) {
            0 => return Err(StoreError::Corrupt),
            1 => record.stored_at += 30 * 24 * 3_600_000,
            2 => record.keep_until = 0,
            _ => return Ok(None),
        }
        Ok(Some(record))
    }
}

impl Store for SimStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Box::pin(async move {
            let mode = self.mode().await?;
            let record = self.0.records.lock().unwrap().get(key).cloned();
            match record {
                Some(record) if mode == Mode::Wrong => self.damaged(record),
                record => Ok(record),
            }
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            if self.mode().await? == Mode::Full {
                self.0.events.count("store full");
                return Err(StoreError::Unavailable("full".to_owned()));
            }
            self.0.records.lock().unwrap().insert(key.to_owned(), record.clone());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.mode().await?;
            self.0.records.lock().unwrap().remove(key);
            Ok(())
        })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.mode().await?;
            self.0.records.lock().unwrap().clear();
            Ok(())
        })
    }

    fn usage(&self) -> BoxFuture<'_, Result<Usage, StoreError>> {
        Box::pin(async move {
            self.mode().await?;
            let records = self.0.records.lock().unwrap();
            Ok(Usage { entries: records.len() as u64, bytes: 0 })
        })
    }
}
