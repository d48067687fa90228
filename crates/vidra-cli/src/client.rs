//! The client that every command asks through: of the platform, or of the built-in simulator.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use vidra::{
    ApiKey, Clients, InProcess, Network, Pace, Pacing, QuotaLimits, RetryPolicy, SearchBilling,
    Vidra,
};
use vidra_sim::Simulator;

use crate::args::{ClientArgs, EgressPace, QuotaModel};

/// Where demo mode's simulator would be; no connection is ever made.
const DEMO_URL: &str = "http://demo.invalid";
const DEMO_KEY: &str = "demo-key";

/// The client that was asked for.
pub(crate) fn client(args: &ClientArgs) -> Result<Vidra, String> {
    if args.demo { demo_client(args) } else { real_client(args) }
}

/// A client of the real platform, or of whatever `--data-api-url` names.
fn real_client(args: &ClientArgs) -> Result<Vidra, String> {
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
fn demo_client(args: &ClientArgs) -> Result<Vidra, String> {
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

fn settings(args: &ClientArgs) -> Result<vidra::Builder, String> {
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
fn pacing(args: &ClientArgs) -> Pacing {
    let usual = Pace::default();
    let burst = args.egress_burst.unwrap_or(usual.burst);
    match (args.egress_burst, args.egress_pace) {
        (_, Some(EgressPace::Off)) => Pacing::Off,
        (_, Some(EgressPace::PerHour(per_hour))) => Pacing::At(Pace { burst, per_hour }),
        (Some(_), None) => Pacing::At(Pace { burst, ..usual }),
        (None, None) => Pacing::Auto,
    }
}

fn proxies(args: &ClientArgs) -> Result<Vec<Network>, String> {
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
fn api_key(args: &ClientArgs) -> Result<Option<ApiKey>, String> {
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
pub(crate) fn state_dir(args: &ClientArgs) -> Option<PathBuf> {
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        client: ClientArgs,
    }

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
            let args = Line::try_parse_from([&["vidra"], flags].concat()).unwrap();
            assert_eq!(pacing(&args.client), expected, "{flags:?}");
        }
    }
}
