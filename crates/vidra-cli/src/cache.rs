//! Where answers are kept: the flags, and `vidra cache`.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::json;
use vidra::cache::store::{Fs, Redis, Store, Usage};
use vidra::{Builder, Lifetimes, Resource};

use crate::client::user_folder;
use crate::failure::{Exit, Failure};
use crate::output::table::{Column, table};
use crate::output::{read, text};
use crate::runtime;
use crate::service::{Question, Service, TokenArgs};
use crate::values::time;

/// Where answers are kept, how many, and for how long.
#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    /// Where answers are kept: memory, fs:DIR or redis://… behind it, or off [default: memory while a
    /// service runs; the user's cache folder for commands that end, and memory in the demo]
    #[arg(long, env = "VIDRA_CACHE", value_name = "WHERE", hide_env_values = true)]
    pub(crate) cache: Option<Place>,

    /// How much memory answers may take up, with KB, MB or GB
    #[arg(long, env = "VIDRA_CACHE_SIZE", value_name = "BYTES", default_value = "64MB", value_parser = bytes)]
    pub(crate) cache_size: u64,

    /// How much a folder of answers may take up, with KB, MB or GB
    #[arg(long, env = "VIDRA_CACHE_DISK_SIZE", value_name = "BYTES", default_value = "1GB", value_parser = bytes)]
    pub(crate) cache_disk_size: u64,

    /// How long answers are fresh: one time for all, or RESOURCE=TIME separated by commas, where a
    /// resource is video, channel, uploads, playlist, comments, regions, tracks or transcript
    #[arg(
        long,
        env = "VIDRA_CACHE_TTL",
        value_name = "TIME",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) cache_ttl: Ttl,
}

impl CacheArgs {
    /// Puts the cache behind a client: where it was asked for, or else at the `usual` place, which is
    /// done without where it cannot be had.
    pub(crate) fn behind(&self, builder: Builder, usual: &Place) -> Result<Builder, String> {
        let builder = builder.lifetimes(self.cache_ttl.0.clone()).cache_bytes(self.fetched_bytes());
        let store = match &self.cache {
            Some(place) => place.store(self.cache_disk_size)?,
            None => usual.store(self.cache_disk_size).unwrap_or_else(|why| {
                tracing::warn!("answers are kept in memory alone: {why}");
                None
            }),
        };
        match store {
            Some(store) => Ok(builder.store(store)),
            None => Ok(builder),
        }
    }

    /// How much memory is for answers that are ready to be sent, compressed ones beside plain ones.
    pub(crate) fn ready_bytes(&self) -> u64 {
        self.memory() - self.fetched_bytes()
    }

    /// How much is for what was fetched.
    fn fetched_bytes(&self) -> u64 {
        self.memory() / 16 * 3
    }

    fn memory(&self) -> u64 {
        if self.cache == Some(Place::Off) { 0 } else { self.cache_size }
    }
}

/// A place for answers.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Off,
    Memory,
    Folder(PathBuf),
    /// Its URL, which may hold a password and is therefore never shown. Whether it is one is looked at
    /// when it is used: what is refused as an argument is quoted.
    Redis(String),
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Memory => f.write_str("memory"),
            Self::Folder(folder) => write!(f, "fs:{}", folder.display()),
            Self::Redis(_) => f.write_str("redis"),
        }
    }
}

impl FromStr for Place {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "off" => Ok(Self::Off),
            None if text == "memory" => Ok(Self::Memory),
            Some(("fs", folder)) if !folder.is_empty() => Ok(Self::Folder(folder.into())),
            Some(("redis" | "rediss" | "valkey" | "valkeys" | "unix", _)) => {
                Ok(Self::Redis(text.to_owned()))
            }
            _ => Err("expected memory, fs:DIR, redis://HOST, or off"),
        }
    }
}

impl Place {
    /// Where the commands of a user keep answers: the next one may ask for the same. Nothing of the demo
    /// is kept, where all is made up.
    pub(crate) fn of_the_user(is_demo: bool) -> Self {
        let folder = user_folder("XDG_CACHE_HOME", ".cache").filter(|_| !is_demo);
        folder.map_or(Self::Memory, Self::Folder)
    }

    /// The store behind memory, where there is one.
    fn store(&self, disk_limit: u64) -> Result<Option<Arc<dyn Store>>, String> {
        match self {
            Self::Off | Self::Memory => Ok(None),
            Self::Folder(folder) => match Fs::open(folder, disk_limit) {
                Ok(store) => Ok(Some(Arc::new(store))),
                Err(error) => Err(format!("cannot keep answers in {}: {error}", folder.display())),
            },
            Self::Redis(url) => match Redis::new(url) {
                Ok(store) => Ok(Some(Arc::new(store))),
                Err(why) => Err(format!("--cache: {why}")),
            },
        }
    }
}

/// How long answers are fresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ttl(Lifetimes);

impl FromStr for Ttl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut lifetimes = Lifetimes::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (names, ttl) = match part.split_once('=') {
                Some((name, ttl)) => (vec![resource(name.trim())?], ttl.trim()),
                None => (Resource::ALL.to_vec(), part),
            };
            let ttl = time(ttl, "s")?;
            lifetimes = names.into_iter().fold(lifetimes, |all, name| all.with_ttl(name, ttl));
        }
        Ok(Self(lifetimes))
    }
}

fn resource(name: &str) -> Result<Resource, String> {
    let found = Resource::ALL.into_iter().find(|resource| resource.name() == name);
    found.ok_or_else(|| {
        let names: Vec<_> = Resource::ALL.iter().map(|resource| resource.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// `64MB`, `1GB`, or a plain number of bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let wrong = || "expected a size such as 64MB or 1GB".to_owned();
    let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
    let unit: u64 = match text[digits..].trim() {
        "" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return Err(wrong()),
    };
    number.checked_mul(unit).ok_or_else(wrong)
}

/// Options of `vidra cache`.
#[derive(Debug, Args)]
pub(crate) struct CacheCommand {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// Show how much a store holds, or what a running service keeps and what that was good for
    Stats {
        /// A running service, such as http://127.0.0.1:3000, which is asked first
        #[arg(long, env = "VIDRA_SERVER", value_name = "URL")]
        server: Option<String>,

        /// A store: fs:DIR or redis://… [default: the user's cache folder]
        #[arg(long, env = "VIDRA_CACHE", value_name = "WHERE", hide_env_values = true)]
        cache: Option<Place>,

        #[command(flatten)]
        token: TokenArgs,

        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget everything that a store holds; a running service still has what it keeps in memory
    Clear {
        /// The store: fs:DIR or redis://… [default: the user's cache folder]
        #[arg(long, env = "VIDRA_CACHE", value_name = "WHERE", hide_env_values = true)]
        cache: Option<Place>,
    },
}

/// Runs `vidra cache`.
pub(crate) fn run(command: &CacheCommand) -> Result<(), Failure> {
    let text = runtime()?.block_on(async {
        match &command.what {
            What::Clear { cache } => {
                let cleared = far(cache.as_ref())?.clear().await;
                cleared.map_err(|error| trouble(format!("not cleared: {error}")))?;
                Ok::<_, Failure>("cleared".to_owned())
            }
            What::Stats { server: Some(server), token, json, .. } => {
                let body = Service::at(server, token)?.ask(&Question::about("cache")).await?;
                match json {
                    true => Ok(String::from_utf8_lossy(&body).into_owned()),
                    false => Ok(shown(&read(&body)?)),
                }
            }
            What::Stats { cache, json, .. } => {
                let usage = far(cache.as_ref())?.usage().await;
                let Usage { entries, bytes } =
                    usage.map_err(|error| trouble(format!("cannot be read: {error}")))?;
                match json {
                    true => Ok(json!({"entries": entries, "bytes": bytes}).to_string()),
                    false => Ok(format!("{entries} answers, {bytes} bytes")),
                }
            }
        }
    })?;
    Ok(writeln!(anstream::stdout(), "{}", text.trim_end())?)
}

/// Of a store that is there or not.
fn trouble(message: String) -> Failure {
    Failure::Because(Exit::Network, message)
}

/// What a service tells of its cache.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    hit_ratio: f64,
    resources: Vec<ResourceReport>,
}

#[derive(Deserialize)]
struct ResourceReport {
    name: String,
    entries: u64,
    bytes: u64,
    hits: u64,
    stale: u64,
    misses: u64,
    coalesced: u64,
}

/// The same for people.
fn shown(report: &Report) -> String {
    let columns = [
        Column::Word("resource"),
        Column::Number("entries"),
        Column::Number("bytes"),
        Column::Number("hits"),
        Column::Number("stale"),
        Column::Number("misses"),
        Column::Number("coalesced"),
    ];
    let row = |it: &ResourceReport| {
        let numbers = [it.entries, it.bytes, it.hits, it.stale, it.misses, it.coalesced];
        [vec![it.name.clone()], numbers.map(|number| number.to_string()).to_vec()].concat()
    };
    let rows: Vec<_> = report.resources.iter().map(row).collect();
    let ratio = format!("{:.1} % of answers were there", report.hit_ratio * 100.0);
    table(&columns, &rows, text::width()) + &ratio
}

/// A store that is there already: to look at it must not make it.
fn far(place: Option<&Place>) -> Result<Arc<dyn Store>, String> {
    let users = Place::of_the_user(false);
    let place = place.unwrap_or(&users);
    let none = "a cache in memory ends with its service; name a store: --cache fs:DIR or redis://…";
    if let Place::Folder(folder) = place {
        let store = Fs::open_existing(folder);
        let store = store.map_err(|error| format!("{}: {error}", folder.display()))?;
        return Ok(Arc::new(store));
    }
    place.store(u64::MAX)?.ok_or_else(|| none.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn places_are_told_apart() {
        assert_eq!("memory".parse(), Ok(Place::Memory));
        assert_eq!("off".parse(), Ok(Place::Off));
        assert_eq!("fs:/a:b".parse(), Ok(Place::Folder("/a:b".into())));
        let redis = "redis://user:pass@host:1234/2";
        assert_eq!(redis.parse(), Ok(Place::Redis(redis.to_owned())));
        assert!(!format!("{:?}", redis.parse::<Place>()).contains("pass"));
        assert!("redis:no url".parse::<Place>().unwrap().store(0).is_err());
        for text in ["", "fs:", "fs", "disk:/a", "redis", "http://host"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("64MB"), Ok(64 << 20));
        assert_eq!(bytes("1 GB"), Ok(1 << 30));
        assert_eq!(bytes("512"), Ok(512));
        for text in ["", "MB", "1TB", "-1", "1.5GB", "99999999999GB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_of_freshness_are_for_all_or_for_one() {
        let hour = Duration::from_secs(3600);
        let one: Ttl = "video=1h".parse().unwrap();
        assert_eq!(one.0, Lifetimes::default().with_ttl(Resource::Video, hour));
        let all: Ttl = "1h, transcript=30d".parse().unwrap();
        let month = Duration::from_secs(30 * 24 * 3600);
        let wanted = Resource::ALL
            .into_iter()
            .fold(Lifetimes::default(), |all, resource| all.with_ttl(resource, hour));
        assert_eq!(all.0, wanted.with_ttl(Resource::Transcript, month));
        for text in ["video", "video=", "films=1h", "1y"] {
            assert!(text.parse::<Ttl>().is_err(), "{text}");
        }
    }
}
