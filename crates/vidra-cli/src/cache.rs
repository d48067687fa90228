//! `vidra cache`: shows or clears a store, or the cache of a running service.

use std::io::Write;
use std::sync::Arc;

use clap::Subcommand;
use serde::Deserialize;
use serde_json::json;
use vidra::store::{Memory, Store, Usage};

use crate::cache_args::StoreLocation;
use crate::failure::{Exit, Failure};
use crate::output::read;
use crate::output::table::Table;
use crate::runtime::runtime;
use crate::service::{RestRequest, Service, TokenArgs};
use crate::terminal;

/// Subcommands of `vidra cache`.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Show the size of a store, or the contents and the hit ratio of a running service
    Stats {
        /// URL of a running service, such as http://127.0.0.1:3000; it takes precedence over --cache
        #[arg(long, env = "VIDRA_SERVER", value_name = "URL")]
        server: Option<String>,

        /// Store: fs:DIR or redis://… [default: the user's cache folder]
        #[arg(long, env = "VIDRA_CACHE", value_name = "WHERE", hide_env_values = true)]
        cache: Option<StoreLocation>,

        #[command(flatten)]
        token: TokenArgs,

        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete everything in a store; a running service keeps its memory
    Clear {
        /// Store: fs:DIR or redis://… [default: the user's cache folder]
        #[arg(long, env = "VIDRA_CACHE", value_name = "WHERE", hide_env_values = true)]
        cache: Option<StoreLocation>,
    },
}

/// Runs `vidra cache`.
pub(crate) fn run(command: &CacheCommand) -> Result<(), Failure> {
    let text = runtime()?.block_on(async {
        match command {
            CacheCommand::Clear { cache } => {
                let cleared = existing_store(cache.as_ref())?.clear().await;
                cleared
                    .map_err(|error| store_failure(format!("cannot clear the store: {error}")))?;
                Ok::<_, Failure>("cleared".to_owned())
            }
            CacheCommand::Stats { server: Some(server), token, json, .. } => {
                let body =
                    Service::remote(server, token)?.fetch(&RestRequest::get("cache")).await?;
                match json {
                    true => Ok(String::from_utf8_lossy(&body).into_owned()),
                    false => Ok(report_table(&read(&body)?)),
                }
            }
            CacheCommand::Stats { cache, json, .. } => {
                let usage = existing_store(cache.as_ref())?.usage().await;
                let Usage { entries, bytes } = usage
                    .map_err(|error| store_failure(format!("cannot read the store: {error}")))?;
                match json {
                    true => Ok(json!({"entries": entries, "bytes": bytes}).to_string()),
                    false => Ok(format!("{entries} answers, {bytes} bytes")),
                }
            }
        }
    })?;
    Ok(writeln!(anstream::stdout(), "{}", text.trim_end())?)
}

/// The failure of a store.
fn store_failure(message: String) -> Failure {
    Failure::Message(Exit::Network, message)
}

/// The cache report of a service.
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

/// The report as a table.
fn report_table(report: &Report) -> String {
    let table = Table::new(&report.resources)
        .word("resource", |it| it.name.clone())
        .number("entries", |it| it.entries)
        .number("bytes", |it| it.bytes)
        .number("hits", |it| it.hits)
        .number("stale", |it| it.stale)
        .number("misses", |it| it.misses)
        .number("coalesced", |it| it.coalesced);
    let ratio = format!("hit ratio: {:.1} %", report.hit_ratio * 100.0);
    table.written(terminal::width()) + &ratio
}

/// Opens an existing store, because the commands only inspect or clear it.
fn existing_store(location: Option<&StoreLocation>) -> Result<Arc<dyn Store>, String> {
    let default = StoreLocation::user_default(true);
    let location = location.unwrap_or(&default);
    let none = "a cache in memory ends with its service; name a store: --cache fs:DIR or redis://…";
    match location.existing()? {
        Some(store) => Ok(store),
        // No command has cached anything yet.
        None if *location == default => Ok(Arc::new(Memory::new(0))),
        None => Err(none.to_owned()),
    }
}
