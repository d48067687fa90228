//! The client that every command asks through: of the platform, or of the built-in simulator.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::FalseyValueParser;
use vidra::{
    ApiKey, Clients, InProcess, Network, Pace, Pacing, QuotaLimits, RetryPolicy, SearchBilling,
    Vidra,
};
use vidra_sim::Simulator;

use crate::cache::{CacheArgs, Place};
use crate::values::{at_least_one, http_url, millis, seconds};

/// How long the end waits for answers to be kept.
pub(crate) const SETTLE: Duration = Duration::from_secs(2);

/// Where demo mode's simulator would be; no connection is ever made.
const DEMO_URL: &str = "http://demo.invalid";
const DEMO_KEY: &str = "demo-key";

/// How searches are billed by the platform.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum QuotaModel {
    /// Searches have a bucket of their own (since June 2026).
    #[default]
    Buckets,
    /// A search costs 100 units of the one bucket (before June 2026).
    Legacy,
}

/// What they are told under.
pub(crate) const SETTINGS: &str = "YouTube, quota and cache";

/// How the platform is asked and what is kept: the same for every command that asks it. The key is not
/// among them: it comes from the environment variable YOUTUBE_API_KEY or from a file, because arguments
/// can be read by everybody on a machine.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = SETTINGS)]
pub(crate) struct ClientArgs {
    /// Run against the built-in simulator: no key, no internet
    #[arg(long, env = "VIDRA_DEMO", value_parser = FalseyValueParser::new(), help_heading = None)]
    pub(crate) demo: bool,

    /// A file that holds the upstream key, used when YOUTUBE_API_KEY is not set
    #[arg(long, env = "VIDRA_API_KEY_FILE", value_name = "FILE")]
    pub(crate) api_key_file: Option<PathBuf>,

    /// The address of the Data API
    #[arg(long, env = "VIDRA_DATA_API_URL", value_name = "URL", default_value = "https://www.googleapis.com/youtube/v3", value_parser = http_url)]
    pub(crate) data_api_url: String,

    /// The address of the platform's public pages, for transcripts
    #[arg(long, env = "VIDRA_WEB_URL", value_name = "URL", default_value = "https://www.youtube.com", value_parser = http_url)]
    pub(crate) web_url: String,

    /// Ask for transcripts through this proxy (http, https, socks5); may be given several times
    #[arg(
        long,
        env = "VIDRA_PROXY",
        value_name = "URL",
        value_delimiter = ',',
        hide_env_values = true
    )]
    pub(crate) proxy: Vec<String>,

    /// How many transcripts an address may ask for at once, 1 or more; of no effect with
    /// --egress-pace off [default: 300 where there is a pace]
    #[arg(long, env = "VIDRA_EGRESS_BURST", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) egress_burst: Option<u32>,

    /// How many an hour after that, or off; of translations a tenth, and of the burst too [default:
    /// 1000 at the platform's own address and where only the burst is set, else off]
    #[arg(long, env = "VIDRA_EGRESS_PACE", value_name = "COUNT")]
    pub(crate) egress_pace: Option<EgressPace>,

    /// How long nothing is asked from an address that the platform blocked, without a unit seconds
    /// [default: 15m at the platform's own address, 1s elsewhere]
    #[arg(long, env = "VIDRA_BLOCK_PAUSE", value_name = "TIME", value_parser = seconds)]
    pub(crate) block_pause: Option<Duration>,

    /// A service that makes proof-of-origin tokens, asked with POST /get_pot
    #[arg(long, env = "VIDRA_POT_PROVIDER", value_name = "URL", value_parser = http_url)]
    pub(crate) pot_provider: Option<String>,

    /// A JSON file of players to be, in place of the built-in ones
    #[arg(long, env = "VIDRA_CLIENTS_FILE", value_name = "FILE")]
    pub(crate) clients_file: Option<PathBuf>,

    /// How often a failed exchange with the platform is repeated
    #[arg(long, env = "VIDRA_RETRIES", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=10))]
    pub(crate) retries: u32,

    /// The longest wait before the first retry, doubled for each further one; without a unit
    /// milliseconds
    #[arg(long, env = "VIDRA_RETRY_DELAY", value_name = "TIME", default_value = "300ms", value_parser = millis)]
    pub(crate) retry_delay: Duration,

    /// How long one exchange with the platform may take; without a unit seconds
    #[arg(long, env = "VIDRA_UPSTREAM_TIMEOUT", value_name = "TIME", default_value = "10s", value_parser = seconds)]
    pub(crate) upstream_timeout: Duration,

    /// How long a request may take in all, retries and pages included; without a unit seconds
    #[arg(long, env = "VIDRA_REQUEST_TIMEOUT", value_name = "TIME", default_value = "120s", value_parser = seconds)]
    pub(crate) request_timeout: Duration,

    /// How long the transcripts of a playlist may take in all; without a unit seconds
    #[arg(long, env = "VIDRA_BATCH_TIMEOUT", value_name = "TIME", default_value = "60m", value_parser = seconds)]
    pub(crate) batch_timeout: Duration,

    /// How many answers that are not known may be asked for together; beyond that it is 503
    #[arg(long, env = "VIDRA_MAX_MISSES", value_name = "COUNT", default_value_t = 1_000, value_parser = at_least_one)]
    pub(crate) max_misses: usize,

    /// How many playlists may be transcribed together; beyond that it is 503
    #[arg(long, env = "VIDRA_MAX_BATCHES", value_name = "COUNT", default_value_t = 32, value_parser = at_least_one)]
    pub(crate) max_batches: usize,

    /// How long the platform is left alone once it fails again and again, as much longer with each time
    /// in a row; without a unit seconds [default: 30s at the platform's own address, 1s elsewhere]
    #[arg(long, env = "VIDRA_BREAKER_PAUSE", value_name = "TIME", value_parser = seconds)]
    pub(crate) breaker_pause: Option<Duration>,

    #[command(flatten)]
    pub(crate) cache: CacheArgs,

    /// The folder of what must survive a restart: the quota ledger, and what callers
    /// spent of the day [default: the user's state folder]
    #[arg(long, env = "VIDRA_STATE_DIR", value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,

    /// Units a day that the platform grants to the key's project
    #[arg(long, env = "VIDRA_QUOTA_LIMIT", value_name = "UNITS", default_value_t = 10_000)]
    pub(crate) quota_limit: u32,

    /// Searches a day that the platform grants
    #[arg(long, env = "VIDRA_SEARCH_LIMIT", value_name = "CALLS", default_value_t = 100)]
    pub(crate) search_limit: u32,

    /// How the platform bills searches
    #[arg(long, env = "VIDRA_QUOTA_MODEL", value_enum, default_value_t)]
    pub(crate) quota_model: QuotaModel,

    /// Never use search to find a channel by its custom name
    #[arg(long, env = "VIDRA_NO_SEARCH", value_parser = FalseyValueParser::new())]
    pub(crate) no_search: bool,
}

/// How many an hour, or as fast as can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EgressPace {
    Off,
    PerHour(u32),
}

impl std::str::FromStr for EgressPace {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            _ if text == "off" => Ok(Self::Off),
            Ok(count @ 1..) => Ok(Self::PerHour(count)),
            _ => Err("expected a number an hour, or off"),
        }
    }
}

/// The client that was asked for, with its answers at the `usual` place unless another was.
pub(crate) fn client(args: &ClientArgs, usual: &Place) -> Result<Vidra, String> {
    let settings = args.cache.behind(settings(args)?, usual)?;
    if args.demo { Ok(demo_client(args, settings)) } else { real_client(args, settings) }
}

/// A client of the real platform, or of whatever `--data-api-url` names.
fn real_client(args: &ClientArgs, settings: vidra::Builder) -> Result<Vidra, String> {
    let mut builder = settings
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
fn demo_client(args: &ClientArgs, settings: vidra::Builder) -> Vidra {
    // The day's limits are our ledger's to hold: the simulator's day never ends.
    let simulator = Simulator::builder().key(DEMO_KEY).limits(u64::MAX, u64::MAX).build();
    let builder = settings
        .key(ApiKey::new(DEMO_KEY))
        .data_api_url(&format!("{DEMO_URL}/youtube/v3"))
        .web_url(DEMO_URL)
        .transport(InProcess(simulator));
    match state_dir(args) {
        Some(folder) => builder.state_dir(folder).build(),
        None => builder.build(),
    }
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
        _ => match key_in_env_file() {
            Some(key) => (key, ".env".to_owned()),
            None => return Ok(None),
        },
    };
    match ApiKey::new(&text) {
        Some(key) => Ok(Some(key)),
        None => Err(format!("{source} does not hold a usable key")),
    }
}

/// The key in the `.env` of the folder that a command was started in; see `main`.
fn key_in_env_file() -> Option<String> {
    let mut lines = dotenvy::from_path_iter(".env").ok()?.flatten();
    lines.find_map(|(name, value)| (name == "YOUTUBE_API_KEY").then_some(value))
}

fn read_key(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}

/// Where counts are kept. Those of the demo only where a folder was asked for: it must not touch what
/// belongs to the real key.
pub(crate) fn state_dir(args: &ClientArgs) -> Option<PathBuf> {
    let usual = || user_folder("XDG_STATE_HOME", ".local/state").filter(|_| !args.demo);
    args.state_dir.clone().or_else(usual)
}

/// The user's folder of a kind, by its variable (`$XDG_STATE_HOME/vidra`), or else where it is as a rule
/// (`~/.local/state/vidra`).
pub(crate) fn user_folder(variable: &str, usual: &str) -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable)
        .or_else(|| absolute("HOME").map(|home| home.join(usual)))
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
