//! The flags of the cache: which store, how large, and for how long.

use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use vidra::store::{Fs, Redis, Store};
use vidra::{Builder, Lifetimes, Resource};

use crate::user_folder::user_folder;
use crate::values::{Secret, bytes, time};

/// The flags of the cache.
#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    /// Cache store: memory, fs:DIR or redis://… behind the memory, or off. Several Redis servers are
    /// redis+cluster://… or redis+sentinel://… [default: memory for serve and mcp and in the demo; the user's
    /// cache folder for data commands]
    #[arg(long, env = "VIDRA_CACHE", value_name = "WHERE", hide_env_values = true)]
    pub(crate) cache: Option<StoreLocation>,

    /// Memory of the cache, with KB, MB or GB: 3/5 for fetched records, 2/5 for rendered responses
    #[arg(long, env = "VIDRA_CACHE_SIZE", value_name = "BYTES", default_value = "160MB", value_parser = bytes)]
    pub(crate) cache_size: u64,

    /// Maximum size of the folder of fs:DIR, with KB, MB or GB
    #[arg(long, env = "VIDRA_CACHE_DISK_SIZE", value_name = "BYTES", default_value = "1GB", value_parser = bytes)]
    pub(crate) cache_disk_size: u64,

    /// How long answers are fresh: one time for all, or RESOURCE=TIME separated by commas. Resources:
    /// video, channel, uploads, playlist, comments, search, chart, feed, regions, tracks, transcript
    /// [default: 5m to 7d by resource]
    #[arg(
        long,
        env = "VIDRA_CACHE_TTL",
        value_name = "TIME",
        default_value = "",
        hide_default_value = true,
        value_parser = lifetimes
    )]
    pub(crate) cache_ttl: Lifetimes,

    /// Timeout of a request to Redis for a lease, at most 1s. After it, the machine fetches without a lease. With leases, one of
    /// several machines fetches a record that all of them miss
    #[arg(long, env = "VIDRA_LEASE_TIMEOUT", value_name = "TIME", default_value = "20ms", value_parser = lease_timeout)]
    pub(crate) lease_timeout: Duration,

    /// The Redis of `cache`, opened once.
    #[arg(skip)]
    redis: OnceLock<Arc<Redis>>,
}

impl CacheArgs {
    /// Configures the cache of a client: the store of `--cache`, or else the `default` one. If the default
    /// store cannot be opened, the cache is in memory only.
    pub(crate) fn apply(
        &self,
        builder: Builder,
        default: &StoreLocation,
    ) -> Result<Builder, String> {
        let builder = builder.lifetimes(self.cache_ttl.clone()).cache_bytes(self.fetched_bytes());
        if let Some(redis) = self.redis()? {
            let store = Arc::clone(&redis) as Arc<dyn Store>;
            return Ok(builder.store(store).share_fetches(redis, self.lease_timeout));
        }
        let store = match &self.cache {
            Some(location) => location.store(self.cache_disk_size)?,
            None => default.store(self.cache_disk_size).unwrap_or_else(|why| {
                tracing::warn!(error = why, "cache store not available, caching in memory only");
                None
            }),
        };
        Ok(match store {
            Some(store) => builder.store(store),
            None => builder,
        })
    }

    /// Another connection to the Redis of `--cache`, if it is one, for work that must not delay cached answers.
    pub(crate) fn separate_redis(&self) -> Result<Option<Arc<Redis>>, String> {
        match &self.cache {
            Some(StoreLocation::Redis(url)) => redis(url).map(Some),
            _ => Ok(None),
        }
    }

    /// The Redis of `--cache`, if it is one. It connects on the first use, and all users share the connection.
    pub(crate) fn redis(&self) -> Result<Option<Arc<Redis>>, String> {
        let Some(StoreLocation::Redis(url)) = &self.cache else { return Ok(None) };
        if let Some(opened) = self.redis.get() {
            return Ok(Some(Arc::clone(opened)));
        }
        let opened = redis(url)?;
        Ok(Some(Arc::clone(self.redis.get_or_init(|| opened))))
    }

    /// The memory for rendered responses, plain and compressed.
    pub(crate) fn response_bytes(&self) -> u64 {
        self.memory() - self.fetched_bytes()
    }

    /// The memory for fetched records.
    fn fetched_bytes(&self) -> u64 {
        self.memory() / 5 * 3
    }

    fn memory(&self) -> u64 {
        if self.is_on() { self.cache_size } else { 0 }
    }

    /// Whether answers are cached at all.
    pub(crate) fn is_on(&self) -> bool {
        self.cache != Some(StoreLocation::Off)
    }
}

/// Which store the cache uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreLocation {
    Off,
    Memory,
    Folder(PathBuf),
    /// The URL, which may contain a password. It is validated when the store opens,
    /// because clap quotes an invalid argument.
    Redis(Secret),
}

impl FromStr for StoreLocation {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "off" => Ok(Self::Off),
            None if text == "memory" => Ok(Self::Memory),
            Some(("fs", folder)) if !folder.is_empty() => Ok(Self::Folder(folder.into())),
            // Also with a scheme that is not known: clap would quote it, and the password with it.
            Some((scheme, rest)) if is_redis(scheme) || rest.starts_with("//") => {
                Ok(Self::Redis(text.to_owned().into()))
            }
            _ => Err("expected memory, fs:DIR, redis://HOST, or off"),
        }
    }
}

/// Whether this is the scheme of one Redis server, of a cluster or of sentinels.
fn is_redis(scheme: &str) -> bool {
    let scheme =
        scheme.strip_suffix("+cluster").or(scheme.strip_suffix("+sentinel")).unwrap_or(scheme);
    matches!(scheme, "redis" | "rediss" | "valkey" | "valkeys" | "unix")
}

impl StoreLocation {
    /// The default of data commands: the user's cache folder, so that commands share answers. Data of
    /// another platform, such as the demo, stay in memory.
    pub(crate) fn user_default(is_youtube: bool) -> Self {
        let folder = user_folder("XDG_CACHE_HOME", ".cache").filter(|_| is_youtube);
        folder.map_or(Self::Memory, Self::Folder)
    }

    /// Opens the store if it is there, without creating it. `None` if the location has no store, or if it is the user's
    /// cache folder and no command has cached anything yet.
    pub(crate) fn existing(&self) -> Result<Option<Arc<dyn Store>>, String> {
        let Self::Folder(folder) = self else { return self.store(u64::MAX) };
        match Fs::open_existing(folder) {
            Ok(store) => Ok(Some(Arc::new(store))),
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && *self == Self::user_default(true) =>
            {
                Ok(None)
            }
            Err(error) => Err(format!("{}: {error}", folder.display())),
        }
    }

    /// Opens the store behind the memory, if there is one.
    pub(crate) fn store(&self, disk_limit: u64) -> Result<Option<Arc<dyn Store>>, String> {
        match self {
            Self::Off | Self::Memory => Ok(None),
            Self::Folder(folder) => match Fs::open(folder, disk_limit) {
                Ok(store) => Ok(Some(Arc::new(store))),
                Err(error) => Err(format!("cannot store answers in {}: {error}", folder.display())),
            },
            Self::Redis(url) => Ok(Some(redis(url)?)),
        }
    }
}

fn lease_timeout(text: &str) -> Result<Duration, String> {
    match time(text, "ms")? {
        timeout if !timeout.is_zero() && timeout <= Duration::from_secs(1) => Ok(timeout),
        _ => Err("expected a time from 1ms to 1s, which is half of the time that a lease lasts"
            .to_owned()),
    }
}

fn redis(Secret(url): &Secret) -> Result<Arc<Redis>, String> {
    Redis::new(url).map(Arc::new).map_err(|why| format!("--cache: {why}"))
}

/// The lifetimes of `--cache-ttl`: one time for all, or `RESOURCE=TIME` separated by commas.
fn lifetimes(text: &str) -> Result<Lifetimes, String> {
    let mut lifetimes = Lifetimes::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (names, ttl) = match part.split_once('=') {
            Some((name, ttl)) => (vec![resource(name.trim())?], ttl.trim()),
            None => (Resource::ALL.to_vec(), part),
        };
        let ttl = time(ttl, "s")?;
        lifetimes = names.into_iter().fold(lifetimes, |all, name| all.with_ttl(name, ttl));
    }
    Ok(lifetimes)
}

fn resource(name: &str) -> Result<Resource, String> {
    let found = Resource::ALL.into_iter().find(|resource| resource.name() == name);
    found.ok_or_else(|| {
        let names: Vec<_> = Resource::ALL.iter().map(|resource| resource.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_parsed() {
        assert_eq!("memory".parse(), Ok(StoreLocation::Memory));
        assert_eq!("off".parse(), Ok(StoreLocation::Off));
        assert_eq!("fs:/a:b".parse(), Ok(StoreLocation::Folder("/a:b".into())));
        let redis = "redis://user:pass@host:1234/2";
        for redis in [redis, "rediss+cluster://one,two", "redis+sentinel://one/primary"] {
            assert_eq!(redis.parse(), Ok(StoreLocation::Redis(redis.to_owned().into())));
        }
        assert!(!format!("{:?}", redis.parse::<StoreLocation>()).contains("pass"));
        for wrong in ["redis:no url", "http://user:pass@host", "redis+clustr://user:pass@host"] {
            let error = wrong.parse::<StoreLocation>().unwrap().store(0).err().unwrap();
            assert!(!error.contains("pass"), "{error}");
        }
        for text in ["", "fs:", "fs", "disk:/a", "redis"] {
            assert!(text.parse::<StoreLocation>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_parsed_with_units() {
        assert_eq!(bytes("64MB"), Ok(64 << 20));
        assert_eq!(bytes("1 GB"), Ok(1 << 30));
        assert_eq!(bytes("512"), Ok(512));
        for text in ["", "MB", "1TB", "-1", "1.5GB", "99999999999GB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lifetimes_apply_to_all_resources_or_to_one() {
        let hour = Duration::from_secs(3600);
        let one = lifetimes("video=1h").unwrap();
        assert_eq!(one, Lifetimes::default().with_ttl(Resource::Video, hour));
        let all = lifetimes("1h, transcript=30d").unwrap();
        let month = Duration::from_secs(30 * 24 * 3600);
        let wanted = Resource::ALL
            .into_iter()
            .fold(Lifetimes::default(), |all, resource| all.with_ttl(resource, hour));
        assert_eq!(all, wanted.with_ttl(Resource::Transcript, month));
        for text in ["video", "video=", "films=1h", "1y"] {
            assert!(lifetimes(text).is_err(), "{text}");
        }
    }
}
