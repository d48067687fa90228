//! The flags of the library's client, and the client that they describe: over YouTube or over the built-in
//! simulator.

use std::env;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::FalseyValueParser;
use vidra::{
    ApiKey, Builder, Clients, InProcess, Network, Pace, Pacing, QuotaLimits, RetryPolicy,
    SearchBilling, Vidra,
};
use vidra_server::read_config_file;
use vidra_sim::Simulator;

use crate::cache_args::{CacheArgs, StoreLocation};
use crate::user_folder::user_folder;
use crate::values::{OrOff, at_least_one, bytes, count_in, http_url, millis, seconds, units};

/// How long shutdown waits for the cache to store answers.
pub(crate) const SETTLE: Duration = Duration::from_secs(2);

/// The address of the simulator in demo mode. Nothing connects to it.
const DEMO_URL: &str = "http://demo.invalid";
const DEMO_KEY: &str = "demo-key";

const DATA_API_URL: &str = "https://www.googleapis.com/youtube/v3";
const WEB_URL: &str = "https://www.youtube.com";

/// How YouTube bills searches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum QuotaModel {
    /// Searches have their own bucket (since June 2026).
    #[default]
    Buckets,
    /// A search costs 100 units of the single bucket (before June 2026).
    Legacy,
}

/// The heading of these settings in the help.
pub(crate) const SETTINGS: &str = "YouTube, quota and cache";

/// The settings of YouTube, quota and cache, which all commands share. The API key is not a flag, because
/// every user of a machine can read arguments: it comes from YOUTUBE_API_KEY or from a file.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = SETTINGS)]
pub(crate) struct ClientArgs {
    /// Use the built-in simulator instead of YouTube; needs no key and no internet
    #[arg(long, env = "VIDRA_DEMO", value_parser = FalseyValueParser::new(), help_heading = None)]
    pub(crate) demo: bool,

    /// File with the API key, used if YOUTUBE_API_KEY is not set. SIGHUP reloads it
    #[arg(long, env = "VIDRA_API_KEY_FILE", value_name = "FILE")]
    pub(crate) api_key_file: Option<PathBuf>,

    /// Base URL of the YouTube Data API
    #[arg(long, env = "VIDRA_DATA_API_URL", value_name = "URL", default_value = DATA_API_URL, value_parser = http_url)]
    pub(crate) data_api_url: String,

    /// Base URL of YouTube's public pages, used for transcripts
    #[arg(long, env = "VIDRA_WEB_URL", value_name = "URL", default_value = WEB_URL, value_parser = http_url)]
    pub(crate) web_url: String,

    /// Fetch transcripts through this proxy (http, https, socks5). For several proxies, repeat the flag or separate
    /// them with commas; each request uses the proxy with the earliest turn
    #[arg(
        long,
        env = "VIDRA_PROXY",
        value_name = "URL",
        value_delimiter = ',',
        hide_env_values = true
    )]
    pub(crate) proxy: Vec<String>,

    /// Name of the IP address of this machine, if machines that share a --database have different ones. Machines with the
    /// same name share pace and blocks. Proxies are identified by their URLs [default: one name for all machines]
    #[arg(long, env = "VIDRA_EGRESS_ID", value_name = "NAME")]
    pub(crate) egress_id: Option<String>,

    /// Number of transcripts that an egress address may fetch in one burst, at least 1; ignored with
    /// --egress-pace off [default: 300 if there is a pace]
    #[arg(long, env = "VIDRA_EGRESS_BURST", value_name = "COUNT", value_parser = count_in::<u32>(1..=u32::MAX.into()))]
    pub(crate) egress_burst: Option<u32>,

    /// Transcripts per hour and egress address after the burst, or off. Translations get a tenth of burst
    /// and pace [default: 1000 for YouTube's own address or if only the burst is set; otherwise off]
    #[arg(long, env = "VIDRA_EGRESS_PACE", value_name = "COUNT", value_parser = egress_pace)]
    pub(crate) egress_pace: Option<OrOff<NonZeroU32>>,

    /// Pause of an egress address after YouTube blocked it; a plain number is seconds [default: 15m for
    /// YouTube's own address, 1s for another --web-url]
    #[arg(long, env = "VIDRA_BLOCK_PAUSE", value_name = "TIME", value_parser = seconds)]
    pub(crate) block_pause: Option<Duration>,

    /// Service that issues proof-of-origin tokens (POST /get_pot)
    #[arg(long, env = "VIDRA_POT_PROVIDER", value_name = "URL", value_parser = http_url)]
    pub(crate) pot_provider: Option<String>,

    /// JSON file with player clients that replaces the built-in list
    #[arg(long, env = "VIDRA_CLIENTS_FILE", value_name = "FILE")]
    pub(crate) clients_file: Option<PathBuf>,

    /// Maximum number of retries of a failed upstream request
    #[arg(long, env = "VIDRA_RETRIES", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=10))]
    pub(crate) retries: u32,

    /// Longest wait before the first retry; it doubles with each further retry. A plain number is
    /// milliseconds
    #[arg(long, env = "VIDRA_RETRY_DELAY", value_name = "TIME", default_value = "300ms", value_parser = millis)]
    pub(crate) retry_delay: Duration,

    /// Timeout of one upstream request; a plain number is seconds
    #[arg(long, env = "VIDRA_UPSTREAM_TIMEOUT", value_name = "TIME", default_value = "10s", value_parser = seconds)]
    pub(crate) upstream_timeout: Duration,

    /// Deadline of a whole request with its retries and pages; a plain number is seconds
    #[arg(long, env = "VIDRA_REQUEST_TIMEOUT", value_name = "TIME", default_value = "120s", value_parser = seconds)]
    pub(crate) request_timeout: Duration,

    /// Deadline of a batch of transcripts; a plain number is seconds
    #[arg(long, env = "VIDRA_BATCH_TIMEOUT", value_name = "TIME", default_value = "60m", value_parser = seconds)]
    pub(crate) batch_timeout: Duration,

    /// Maximum number of concurrent fetches of uncached answers; more get 503
    #[arg(long, env = "VIDRA_MAX_MISSES", value_name = "COUNT", default_value_t = 1_000, value_parser = at_least_one)]
    pub(crate) max_misses: usize,

    /// Maximum number of concurrent batches; more get 503
    #[arg(long, env = "VIDRA_MAX_BATCHES", value_name = "COUNT", default_value_t = 32, value_parser = at_least_one)]
    pub(crate) max_batches: usize,

    /// Memory for large answers that are built before they are sent, all together; more go to temporary files
    #[arg(long, env = "VIDRA_MAX_ANSWER_MEMORY", value_name = "BYTES", default_value = "128MB", value_parser = bytes)]
    pub(crate) max_answer_memory: u64,

    /// Size of the temporary files of large answers, all together; more get 503
    #[arg(long, env = "VIDRA_MAX_SPOOL", value_name = "BYTES", default_value = "2GB", value_parser = bytes)]
    pub(crate) max_spool: u64,

    /// Pause of a circuit breaker after repeated failures; it grows by the same time with each opening in a
    /// row, up to ten times. A plain number is seconds [default: 30s for YouTube's own addresses, 1s for
    /// others, up to 5s]
    #[arg(long, env = "VIDRA_BREAKER_PAUSE", value_name = "TIME", value_parser = seconds)]
    pub(crate) breaker_pause: Option<Duration>,

    #[command(flatten)]
    pub(crate) cache: CacheArgs,

    /// Folder for data that survives a restart: the quota ledger, the spending and usage of callers, and the library
    /// [default: the user's state folder]
    #[arg(long, env = "VIDRA_STATE_DIR", value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,

    /// Units per day that YouTube grants to the project of the key
    #[arg(long, env = "VIDRA_QUOTA_LIMIT", value_name = "UNITS", default_value_t = 10_000, value_parser = units)]
    pub(crate) quota_limit: u32,

    /// Searches per day that YouTube grants
    #[arg(long, env = "VIDRA_SEARCH_LIMIT", value_name = "CALLS", default_value_t = 100, value_parser = units)]
    pub(crate) search_limit: u32,

    /// How YouTube bills searches
    #[arg(long, env = "VIDRA_QUOTA_MODEL", value_enum, default_value_t)]
    pub(crate) quota_model: QuotaModel,

    /// Never search for the custom name of a channel
    #[arg(long, env = "VIDRA_NO_SEARCH", value_parser = FalseyValueParser::new())]
    pub(crate) no_search: bool,
}

/// Transcripts per hour, or `off`.
fn egress_pace(text: &str) -> Result<OrOff<NonZeroU32>, String> {
    if text == "off" {
        return Ok(OrOff::Off);
    }
    let pace = count_in::<u32>(1..=u32::MAX.into())(text).ok().and_then(NonZeroU32::new);
    pace.map(OrOff::At).ok_or_else(|| "expected a number per hour, or off".to_owned())
}

/// The settings of the client that the flags describe. Without `--cache` it uses the `default_store`.
pub(crate) fn builder(args: &ClientArgs, default_store: &StoreLocation) -> Result<Builder, String> {
    let builder = args.cache.apply(settings(args)?, default_store)?;
    let mut builder =
        if args.demo { over_simulator(builder) } else { over_youtube(builder, args)? };
    match state_dir(args) {
        Some(folder) => builder = builder.state_dir(folder),
        None if args.demo => {}
        None => tracing::warn!("no state folder: the quota ledger ends with this process"),
    }
    Ok(builder)
}

impl ClientArgs {
    /// Whether the answers come from YouTube itself. Others must not get into the user's cache.
    pub(crate) fn is_youtube(&self) -> bool {
        !self.demo && self.data_api_url == DATA_API_URL && self.web_url == WEB_URL
    }
}

/// A client of YouTube, or of the server at `--data-api-url`.
fn over_youtube(builder: Builder, args: &ClientArgs) -> Result<Builder, String> {
    let mut builder = builder
        .key(api_key(args)?)
        .data_api_url(&args.data_api_url)
        .web_url(&args.web_url)
        .proxies(proxies(args)?);
    if let Some(id) = &args.egress_id {
        builder = builder.egress_id(id);
    }
    Ok(match &args.pot_provider {
        Some(url) => builder.pot_provider(url),
        None => builder,
    })
}

/// A client of the built-in simulator.
fn over_simulator(builder: Builder) -> Builder {
    // The ledger enforces the daily limits of the flags.
    let simulator = Simulator::builder().key(DEMO_KEY).limits(u64::MAX, u64::MAX);
    let simulator = simulator.system_time().build();
    builder
        .key(ApiKey::new(DEMO_KEY))
        .data_api_url(&format!("{DEMO_URL}/youtube/v3"))
        .web_url(DEMO_URL)
        .transport(InProcess(simulator))
}

fn settings(args: &ClientArgs) -> Result<Builder, String> {
    let search = match args.quota_model {
        QuotaModel::Buckets => SearchBilling::OwnBucket(args.search_limit),
        QuotaModel::Legacy => SearchBilling::Shared(100),
    };
    let mut builder = Vidra::builder()
        .quota(QuotaLimits::default().with_default(args.quota_limit).with_search(search))
        .retry(RetryPolicy { retries: args.retries, delay: args.retry_delay })
        .attempt_timeout(args.upstream_timeout)
        .deadline(args.request_timeout)
        .batch_deadline(args.batch_timeout)
        .pacing(pacing(args))
        .max_misses(args.max_misses)
        .max_batches(args.max_batches)
        .max_answer_memory(args.max_answer_memory)
        .max_spool(args.max_spool)
        .search(!args.no_search);
    if let Some(pause) = args.block_pause {
        builder = builder.block_pause(pause);
    }
    if let Some(pause) = args.breaker_pause {
        builder = builder.breaker_pause(pause);
    }
    if let Some(file) = &args.clients_file {
        let clients = Clients::from_json(&read(file)?);
        let clients = clients.map_err(|error| format!("{}: {error}", file.display()))?;
        builder = builder.clients(clients);
    }
    Ok(builder)
}

/// The pace that the flags set. Without a flag the library decides by the address of `--web-url`.
fn pacing(args: &ClientArgs) -> Pacing {
    let usual = Pace::default();
    let burst = args.egress_burst.unwrap_or(usual.burst);
    match (args.egress_burst, args.egress_pace) {
        (_, Some(OrOff::Off)) => Pacing::Off,
        (_, Some(OrOff::At(count))) => Pacing::At(Pace { burst, per_hour: count.get() }),
        (Some(_), None) => Pacing::At(Pace { burst, ..usual }),
        (None, None) => Pacing::Auto,
    }
}

fn proxies(args: &ClientArgs) -> Result<Vec<Network>, String> {
    let proxies = args.proxy.iter().enumerate();
    // Errors name a proxy by its number, because its URL may contain a password.
    proxies
        .map(|(index, url)| {
            Network::through(url).map_err(|why| format!("proxy {}: {why}", index + 1))
        })
        .collect()
}

/// The API key, from the environment or from a file. `None` if neither is set.
fn api_key(args: &ClientArgs) -> Result<Option<ApiKey>, String> {
    let (text, source) = match env::var("YOUTUBE_API_KEY") {
        Err(env::VarError::NotUnicode(_)) => {
            return Err("YOUTUBE_API_KEY does not hold a usable key".to_owned());
        }
        Ok(key) if !key.trim().is_empty() => (key, "YOUTUBE_API_KEY"),
        _ => match &args.api_key_file {
            Some(file) => return key_from(file).map(Some),
            None => match key_in_env_file() {
                Some(key) => (key, ".env"),
                None => return Ok(None),
            },
        },
    };
    let key = ApiKey::new(&text).ok_or_else(|| format!("{source} does not hold a usable key"))?;
    Ok(Some(key))
}

/// The file of the API key; `None` if the key comes from elsewhere.
pub(crate) fn key_file(args: &ClientArgs) -> Option<PathBuf> {
    let is_set = env::var("YOUTUBE_API_KEY").is_ok_and(|key| !key.trim().is_empty());
    args.api_key_file.clone().filter(|_| !args.demo && !is_set)
}

/// The API key in a file.
pub(crate) fn key_from(file: &Path) -> Result<ApiKey, String> {
    let text = read(file)?;
    ApiKey::new(&text).ok_or_else(|| format!("{} does not hold a usable key", file.display()))
}

/// The key in the `.env` of the current folder; see `main` for why commands read no other variable.
fn key_in_env_file() -> Option<String> {
    let text = String::from_utf8(read_config_file(Path::new(".env")).ok()?).ok()?;
    // A key has no `$`. In the file of a stranger it could name another secret of the user.
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains('$')).collect();
    let lines = lines.join("\n");
    let mut variables = dotenvy::from_read_iter(lines.as_bytes()).flatten();
    variables.find_map(|(name, value)| (name == "YOUTUBE_API_KEY").then_some(value))
}

fn read(file: &Path) -> Result<String, String> {
    let unreadable = |why: &dyn std::fmt::Display| format!("cannot read {}: {why}", file.display());
    let bytes = read_config_file(file).map_err(|error| unreadable(&error))?;
    String::from_utf8(bytes).map_err(|_| unreadable(&"not a text"))
}

/// The folder of the quota ledger and the usage of callers. The demo has none unless a flag sets it,
/// because it must not change the ledger of the real key.
pub(crate) fn state_dir(args: &ClientArgs) -> Option<PathBuf> {
    args.state_dir.clone().or_else(|| usual_state_dir().filter(|_| !args.demo))
}

/// The units of a day that jobs leave to other requests if no flag sets them: a fifth.
pub(crate) fn usual_reserve_units(quota_limit: u32) -> u32 {
    quota_limit / 5
}

/// The state folder if no flag sets another.
pub(crate) fn usual_state_dir() -> Option<PathBuf> {
    user_folder("XDG_STATE_HOME", ".local/state")
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
    fn either_egress_flag_sets_the_pace() {
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
