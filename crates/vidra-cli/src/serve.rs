//! `vidra serve`: puts client and service together and runs them.

use std::env;
use std::fs;
use std::future::pending;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::timeout;
use vidra::{
    ApiKey, Clients, InProcess, Network, Pace, Pacing, QuotaLimits, RetryPolicy, SearchBilling,
    Vidra,
};
use vidra_server::{App, Config, Limits, Serving, Tls};
use vidra_sim::{Kind, Simulator};

use crate::args::{EgressPace, QuotaModel, ServeArgs};
use crate::callers::Callers;
use crate::files;
use crate::signals::Signals;

/// Where demo mode's simulator would be; no connection is ever made.
const DEMO_URL: &str = "http://demo.invalid";
const DEMO_KEY: &str = "demo-key";

/// How long what is under way may take once the service has been told to stop. With what follows it is
/// 25 seconds in all.
const DRAIN: Duration = Duration::from_secs(21);

/// An operator needs few.
const ADMIN_CONNECTIONS: usize = 64;

/// How long the end waits for answers to be kept.
const SETTLE: Duration = Duration::from_secs(2);

/// Runs the service until it is told to stop.
pub(crate) fn run(args: &ServeArgs) -> Result<(), String> {
    let state_dir = state_dir(args);
    let callers = Callers::open(&args.callers, args.listen, state_dir.as_deref())?;
    let serving = serving(args, &callers)?;
    let vidra = if args.demo { demo_client(args)? } else { client(args)? };
    let runtime =
        tokio::runtime::Runtime::new().map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(async {
        callers.watch();
        let has_files = callers.has_keys() || serving.tls.is_some();
        // Without files to read it is what ends a process whose terminal was closed.
        if has_files || !io::stdin().is_terminal() {
            Signals::on_hangup(reload(&callers, &serving, args))?;
        }
        let admin = match args.admin_listen {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        if let Some((_, address)) = &admin {
            tracing::info!(admin = %address, "listening for the operator");
            if !address.ip().to_canonical().is_loopback() {
                tracing::warn!("whoever reaches the operator's address can read the metrics");
            }
        }
        let (listener, address) = listen(args.listen).await?;
        tracing::info!(%address, demo = args.demo, "listening");
        if args.demo {
            let scheme = if serving.tls.is_some() { "https" } else { "http" };
            print_tour(&format!("{scheme}://{address}"));
        } else if !vidra.has_key() {
            tracing::warn!("no upstream key: set YOUTUBE_API_KEY or --api-key-file");
        }
        let signals = Signals::listen()?;
        let stop = {
            let first = signals.first();
            async move {
                first.await;
                tracing::info!("stopping");
            }
        };
        let give_up = {
            let (first, second) = (signals.first(), signals.second());
            async move {
                first.await;
                let _ = timeout(DRAIN, second).await;
                tracing::warn!("stopped with requests under way");
            }
        };
        let config = Config {
            callers_may_refresh: !args.no_caller_refresh,
            ready_bytes: args.cache.ready_bytes(),
            metrics_apart: admin.is_some(),
            batches_per_caller: args
                .max_batches_per_caller
                .unwrap_or_else(|| args.max_batches.div_ceil(4)),
            gate: callers.rules.clone(),
        };
        let app = App::new(vidra.clone(), config);
        if let Some((listener, address)) = admin {
            // To the very end: what goes on while the service stops is worth seeing too.
            let app = app.admin(address.ip().to_canonical().is_loopback());
            let limits = Limits { connections: ADMIN_CONNECTIONS, ..Limits::default() };
            let serving = Serving { limits, tls: None };
            tokio::spawn(vidra_server::serve(listener, app, serving, pending(), pending()));
        }
        vidra_server::serve(listener, app, serving, stop, give_up).await;
        callers.settle();
        // What was fetched last should be there after a restart.
        tokio::select! {
            _ = timeout(SETTLE, vidra.settled()) => {}
            () = signals.second() => {}
        }
        Ok::<_, String>(())
    })?;
    // Work on a blocking thread that hangs must not keep the process alive either.
    runtime.shutdown_timeout(Duration::from_millis(500));
    Ok(())
}

/// Reads anew what may have changed: keys of callers, certificates.
fn reload(
    callers: &Callers,
    serving: &Serving,
    args: &ServeArgs,
) -> impl Fn() + Send + Sync + use<> {
    let reload_keys = callers.reload();
    let files = args.tls_cert.clone().zip(args.tls_key.clone());
    let (tls, http2) = (serving.tls.clone().zip(files), args.http2);
    move || {
        tracing::info!("reading files anew");
        reload_keys();
        if let Some((tls, (certificates, key))) = &tls
            && let Err(why) = tls.renew(certificates, key, http2)
        {
            tracing::error!("the certificate stays as it was: {why}");
        }
    }
}

/// How the service is put on its socket.
fn serving(args: &ServeArgs, callers: &Callers) -> Result<Serving, String> {
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificates), Some(key)) => Some(
            Tls::from_files(certificates, key, args.http2).map_err(|why| format!("TLS: {why}"))?,
        ),
        _ => None,
    };
    let limits = Limits {
        idle_timeout: args.idle_timeout,
        connections: files::connections(args.max_connections),
        connections_per_address: args.max_connections_per_address,
        trusted_proxies: callers.rules.trusted_proxies.clone(),
        http2: args.http2,
        drain_delay: args.drain_delay,
        ..Limits::default()
    };
    Ok(Serving { limits, tls })
}

/// Listens there, and tells where that is: port 0 is any that is free.
async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), String> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|error| format!("cannot listen on {address}: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    Ok((listener, address))
}

/// A client of the real platform, or of whatever `--data-api-url` names.
fn client(args: &ServeArgs) -> Result<Vidra, String> {
    let mut builder = settings(args)?
        .key(api_key(args)?)
        .data_api_url(&args.data_api_url)
        .web_url(&args.web_url)
        .proxies(proxies(args)?);
    if let Some(url) = &args.pot_provider {
        builder = builder.pot_provider(url);
    }
    match state_dir(args) {
        Some(folder) => builder = builder.state_dir(folder),
        None => tracing::warn!("no state folder: the quota ledger ends with this process"),
    }
    Ok(builder.build())
}

/// A client of the built-in simulator.
fn demo_client(args: &ServeArgs) -> Result<Vidra, String> {
    // The day's limits are our ledger's to hold: the simulator's day never ends.
    let simulator = Simulator::builder().key(DEMO_KEY).limits(u64::MAX, u64::MAX).build();
    let builder = settings(args)?
        .key(ApiKey::new(DEMO_KEY))
        .data_api_url(&format!("{DEMO_URL}/youtube/v3"))
        .web_url(DEMO_URL)
        .transport(InProcess(simulator));
    Ok(match state_dir(args) {
        Some(folder) => builder.state_dir(folder).build(),
        None => builder.build(),
    })
}

fn settings(args: &ServeArgs) -> Result<vidra::Builder, String> {
    let search = match args.quota_model {
        QuotaModel::Buckets => SearchBilling::OwnBucket(args.search_limit),
        QuotaModel::Legacy => SearchBilling::Shared(100),
    };
    let mut builder = Vidra::builder()
        .quota(QuotaLimits { default: args.quota_limit, search })
        .retry(RetryPolicy { retries: args.retries, delay: args.retry_delay })
        .attempt_timeout(args.upstream_timeout)
        .deadline(args.request_timeout)
        .batch_deadline(args.batch_timeout)
        .pacing(pacing(args))
        .most_misses(args.max_misses)
        .most_batches(args.max_batches)
        .search(!args.no_search);
    if let Some(pause) = args.block_pause {
        builder = builder.block_pause(pause);
    }
    if let Some(pause) = args.breaker_pause {
        builder = builder.breaker_pause(pause);
    }
    let builder = args.cache.behind(builder)?;
    match &args.clients_file {
        Some(file) => Ok(builder.clients(clients(file)?)),
        None => Ok(builder),
    }
}

/// The pace that was asked for, by either flag; by itself it depends on whose address it is.
fn pacing(args: &ServeArgs) -> Pacing {
    let usual = Pace::default();
    let burst = args.egress_burst.unwrap_or(usual.burst);
    match (args.egress_burst, args.egress_pace) {
        (_, Some(EgressPace::Off)) => Pacing::Off,
        (_, Some(EgressPace::PerHour(per_hour))) => Pacing::At(Pace { burst, per_hour }),
        (Some(_), None) => Pacing::At(Pace { burst, ..usual }),
        (None, None) => Pacing::Auto,
    }
}

fn proxies(args: &ServeArgs) -> Result<Vec<Network>, String> {
    let proxies = args.proxy.iter().enumerate();
    // By number: the URL may hold a password.
    proxies
        .map(|(index, url)| {
            Network::through(url).map_err(|why| format!("proxy {}: {why}", index + 1))
        })
        .collect()
}

fn clients(file: &Path) -> Result<Clients, String> {
    let text = fs::read_to_string(file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    Clients::from_json(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// The upstream key, from the environment or from a file. `None` where neither is set.
fn api_key(args: &ServeArgs) -> Result<Option<ApiKey>, String> {
    let (text, source) = match (env::var("YOUTUBE_API_KEY"), &args.api_key_file) {
        (Err(env::VarError::NotUnicode(_)), _) => {
            return Err("YOUTUBE_API_KEY does not hold a usable key".to_owned());
        }
        (Ok(key), _) if !key.trim().is_empty() => (key, "YOUTUBE_API_KEY".to_owned()),
        (_, Some(file)) => (read_key(file)?, file.display().to_string()),
        _ => return Ok(None),
    };
    match ApiKey::new(&text) {
        Some(key) => Ok(Some(key)),
        None => Err(format!("{source} does not hold a usable key")),
    }
}

fn read_key(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}

/// Where counts are kept. Those of the demo only where a folder was asked for: it must not touch what
/// belongs to the real key.
fn state_dir(args: &ServeArgs) -> Option<PathBuf> {
    let usual = || if args.demo { None } else { user_state_dir() };
    args.state_dir.clone().or_else(usual)
}

/// `$XDG_STATE_HOME/vidra`, else `~/.local/state/vidra`.
fn user_state_dir() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|folder| folder.join("vidra"))
}

/// A few URLs that show what there is.
fn print_tour(base: &str) {
    let mut text = format!("vidra runs at {base} over a made-up world. Try:\n\n");
    for stop in vidra_sim::tour() {
        let id = &stop.id;
        let path = match stop.kind {
            Kind::Video | Kind::Error => format!("video/{id}"),
            Kind::Channel | Kind::Handle => format!("channel/{id}"),
            Kind::Username => format!("channel/https://www.youtube.com/user/{id}"),
            Kind::Playlist => format!("playlist/{id}"),
            Kind::Transcript => format!("transcript/{id}"),
            Kind::Comment => format!("comment-replies/{id}"),
        };
        text += &format!("  {base}/api/{path}  {}\n", stop.what);
    }
    text += &format!("\nAnd {base}/openapi.json for every endpoint there is.\n");
    // Nobody may be reading; the service runs all the same.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn either_flag_sets_a_pace_wherever_transcripts_are_asked_for() {
        let usual = Pace::default();
        let table: [(&[&str], Pacing); 6] = [
            (&[], Pacing::Auto),
            (&["--egress-burst=5"], Pacing::At(Pace { burst: 5, ..usual })),
            (&["--egress-pace=60"], Pacing::At(Pace { per_hour: 60, ..usual })),
            (
                &["--egress-burst=5", "--egress-pace=60"],
                Pacing::At(Pace { burst: 5, per_hour: 60 }),
            ),
            (&["--egress-pace=off"], Pacing::Off),
            (&["--egress-burst=5", "--egress-pace=off"], Pacing::Off),
        ];
        for (flags, expected) in table {
            let args = ServeArgs::try_parse_from([&["serve"], flags].concat()).unwrap();
            assert_eq!(pacing(&args), expected, "{flags:?}");
        }
    }
}
