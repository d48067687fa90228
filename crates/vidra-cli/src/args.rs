//! Every flag, each with an environment variable of the same name.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::{Parser, Subcommand, ValueEnum};

use crate::cache::{CacheArgs, CacheCommand};
use crate::callers::CallerArgs;
use crate::health::HealthArgs;
use crate::keys::KeysCommand;
use crate::mcp::{McpArgs, ToolsArgs};

/// Clean JSON from YouTube: videos, playlists, channels, comments and transcripts.
#[derive(Debug, Parser)]
#[command(name = "vidra", version, about)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// How the log is written to standard error: text, json, or auto (text on a terminal). RUST_LOG
    /// sets what is logged
    #[arg(long, env = "VIDRA_LOG_FORMAT", value_enum, default_value_t, global = true)]
    pub(crate) log_format: LogFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the REST service
    Serve(Box<ServeArgs>),
    /// Serve AI agents over standard input and output, by the Model Context Protocol
    Mcp(Box<McpArgs>),
    /// Print the tools for AI models, for function calling
    Tools(ToolsArgs),
    /// Look at what is kept, or forget it
    Cache(CacheCommand),
    /// Ask the service on this machine whether it takes requests: ends with 0 if so, else with 1
    Health(HealthArgs),
    /// Give callers keys, or take them away
    Keys(KeysCommand),
}

/// How the log looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// Lines for people.
    Text,
    /// A JSON object a line.
    Json,
}

/// How searches are billed by the platform.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum QuotaModel {
    /// Searches have a bucket of their own (since June 2026).
    #[default]
    Buckets,
    /// A search costs 100 units of the one bucket (before June 2026).
    Legacy,
}

/// Options of `vidra serve`.
#[derive(Debug, Parser)]
pub(crate) struct ServeArgs {
    /// The address to listen on; port 0 takes a free one
    #[arg(long, env = "VIDRA_LISTEN", default_value = "127.0.0.1:3000")]
    pub(crate) listen: SocketAddr,

    /// A file with the chain of certificates as PEM: connections are encrypted
    #[arg(long, env = "VIDRA_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// A file with the private key of the certificate as PEM
    #[arg(long, env = "VIDRA_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Speak HTTP/2 too, without encryption by prior knowledge
    #[arg(long, env = "VIDRA_HTTP2", value_parser = FalseyValueParser::new())]
    pub(crate) http2: bool,

    /// The most connections together, as far as the system grants so many open files
    #[arg(long, env = "VIDRA_MAX_CONNECTIONS", value_name = "COUNT", default_value_t = 10_000, value_parser = at_least_one)]
    pub(crate) max_connections: usize,

    /// The most connections from one address [default: 256, without limit from this machine]
    #[arg(long, env = "VIDRA_MAX_CONNECTIONS_PER_ADDRESS", value_name = "COUNT", value_parser = at_least_one)]
    pub(crate) max_connections_per_address: Option<usize>,

    /// How long a connection may lie idle between two requests; without a unit seconds
    #[arg(long, env = "VIDRA_IDLE_TIMEOUT", value_name = "TIME", default_value = "60s", value_parser = seconds)]
    pub(crate) idle_timeout: Duration,

    /// How long new connections are still answered after the signal to stop, so that a load balancer
    /// can take notice of /readyz; without a unit seconds
    #[arg(long, env = "VIDRA_DRAIN_DELAY", value_name = "TIME", default_value = "1s", value_parser = drain_delay)]
    pub(crate) drain_delay: Duration,

    /// A second address, for the operator: /metrics is asked for there and not at the public one, and
    /// /healthz and /readyz at both. It asks for no key, so it is for loopback or a private network
    #[arg(long, env = "VIDRA_ADMIN_LISTEN", value_name = "ADDRESS")]
    pub(crate) admin_listen: Option<SocketAddr>,

    /// Send traces to this collector by OTLP over HTTP, as OTEL_EXPORTER_OTLP_ENDPOINT does
    #[cfg(feature = "otel")]
    #[arg(long, env = "VIDRA_OTLP_ENDPOINT", value_name = "URL", value_parser = http_url)]
    pub(crate) otlp_endpoint: Option<String>,

    #[command(flatten)]
    pub(crate) callers: CallerArgs,

    /// How many playlists may be transcribed together for one key, or one address; on loopback without
    /// keys there is no such limit [default: a quarter of --max-batches]
    #[arg(long, env = "VIDRA_MAX_BATCHES_PER_CALLER", value_name = "COUNT", value_parser = at_least_one)]
    pub(crate) max_batches_per_caller: Option<usize>,

    #[command(flatten)]
    pub(crate) client: ClientArgs,

    /// Answer from the cache also where a caller sends Cache-Control: no-cache
    #[arg(long, env = "VIDRA_NO_CALLER_REFRESH", value_parser = FalseyValueParser::new())]
    pub(crate) no_caller_refresh: bool,

    /// Serve no AI agents at /mcp
    #[arg(long, env = "VIDRA_NO_MCP", value_parser = FalseyValueParser::new())]
    pub(crate) no_mcp: bool,
}

/// How the platform is asked and what is kept: the same for every command that asks it. The key is not
/// among them: it comes from the environment variable YOUTUBE_API_KEY or from a file, because arguments
/// can be read by everybody on a machine.
#[derive(Debug, clap::Args)]
pub(crate) struct ClientArgs {
    /// Run against the built-in simulator: no key, no internet
    #[arg(long, env = "VIDRA_DEMO", value_parser = FalseyValueParser::new())]
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

/// A time whose plain number means milliseconds.
fn millis(text: &str) -> Result<Duration, String> {
    within_a_day(time(text, "ms")?)
}

/// A time whose plain number means seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    match time(text, "s")? {
        Duration::ZERO => Err("must not be 0".to_owned()),
        time => within_a_day(time),
    }
}

/// Within what the end takes in all.
fn drain_delay(text: &str) -> Result<Duration, String> {
    let time = time(text, "s")?;
    if time <= Duration::from_secs(15) { Ok(time) } else { Err("at most 15 seconds".to_owned()) }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "expected a whole number from 1 on".to_owned())
}

fn within_a_day(time: Duration) -> Result<Duration, String> {
    if time <= LONGEST { Ok(time) } else { Err("at most a day".to_owned()) }
}

/// `300ms`, `10s`, `2m`, `1h`, `7d`, or a plain number of `unit`.
pub(crate) fn time(text: &str, unit: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let wrong = || "expected a time such as 300ms, 10s, 2m or 1h".to_owned();
    let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
    match if digits == text.len() { unit } else { &text[digits..] } {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(number.saturating_mul(60))),
        "h" => Ok(Duration::from_secs(number.saturating_mul(3600))),
        "d" => Ok(Duration::from_secs(number.saturating_mul(24 * 3600))),
        _ => Err(wrong()),
    }
}

/// No time that somebody waits can be longer.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn http_url(text: &str) -> Result<String, String> {
    let url = text.parse::<http::Uri>().ok().filter(|url| {
        let scheme = matches!(url.scheme_str(), Some("http" | "https"));
        let authority = url.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        scheme && authority && url.query().is_none() && !text.contains('#')
    });
    match url {
        Some(_) => Ok(text.to_owned()),
        None => Err("expected an http or https URL without query or user".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let table = [("300ms", 300), ("10s", 10_000), ("2m", 120_000), ("7", 7_000)];
        for (text, millis) in table {
            assert_eq!(seconds(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(millis("300"), Ok(Duration::from_millis(300)));
        for text in
            ["", "s", "1h30", "-1s", "1.5s", "ten", "0s", "0", "1441m", "18446744073709551615"]
        {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_flag_has_its_environment_variable() {
        use clap::CommandFactory;
        let args = Args::command();
        let flags =
            ["serve", "mcp"].map(|name| args.find_subcommand(name).unwrap().get_arguments());
        for flag in flags.into_iter().flatten().filter(|flag| flag.get_id() != "help") {
            let name = flag.get_long().unwrap().replace('-', "_").to_uppercase();
            let expected = format!("VIDRA_{name}");
            assert_eq!(flag.get_env().and_then(|env| env.to_str()), Some(expected.as_str()));
        }
    }
}
