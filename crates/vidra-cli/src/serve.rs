//! `vidra serve`: builds the client and the service, and runs them.

mod library;
mod reload;
mod webhooks;

use std::future::pending;
use std::io::{self, IsTerminal, Write};
use std::net::{self, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use futures_util::FutureExt;
use tokio::net::TcpListener;
use tokio::time::timeout;
use vidra::Database;
use vidra_server::{App, Config, Example, Limits, Reloads, Serving, Tls};
use vidra_sim::Kind;

use crate::cache_args::StoreLocation;
use crate::callers::{CallerArgs, Callers};
use crate::client::{ClientArgs, SETTLE, builder, state_dir};
use crate::database::unusable_database;
use crate::failure::{Exit, Failure, described};
use crate::log::Log;
use crate::mcp::tool_list;
use crate::open_files;
use crate::runtime::{connections_runtime, runtime};
use crate::signals::{Hangups, Signals, survive_reload};
use crate::systemd::{self, Inherited};
use crate::values::{at_least_one, drain_delay, listen_address, seconds, units};
#[cfg(test)]
pub(crate) use library::LIBRARY_SETTINGS;
use library::LibraryArgs;
use reload::Reload;
use webhooks::WebhookArgs;

/// How long requests may take after the first signal. Together with the later steps shutdown takes at most
/// 25 seconds.
const DRAIN: Duration = Duration::from_secs(21);

/// How long the worker of jobs may take after the last connection is closed: five seconds for work in flight, and the
/// time to store what is left. It begins with the shutdown, so that it is not added to a long one.
const JOBS_STOP: Duration = Duration::from_secs(7);

/// The longest time that the shutdown of a runtime may take.
const SHUTDOWN: Duration = Duration::from_millis(500);

/// The message if a task of the connections' runtime panics.
const NEVER_ABORTED: &str = "only a panic ends it early";

/// The most connections of the operator's address.
const ADMIN_CONNECTIONS: usize = 64;

/// Options of `vidra serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on; a port alone (:3000) is one of loopback, and port 0 picks a free port. Ignored if
    /// systemd passes a socket
    #[arg(long, env = "VIDRA_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:3000", value_parser = listen_address)]
    pub(crate) listen: SocketAddr,

    /// PEM file with the certificate chain; enables TLS
    #[arg(long, env = "VIDRA_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// PEM file with the private key of the certificate
    #[arg(long, env = "VIDRA_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Accept HTTP/2 too; without TLS by prior knowledge (h2c)
    #[arg(long, env = "VIDRA_HTTP2", value_parser = FalseyValueParser::new())]
    pub(crate) http2: bool,

    /// Maximum number of connections; lower if the limit of open files is lower
    #[arg(long, env = "VIDRA_MAX_CONNECTIONS", value_name = "COUNT", default_value_t = 10_000, value_parser = at_least_one)]
    pub(crate) max_connections: usize,

    /// Maximum number of connections from one address. It does not apply to a --trusted-proxy [default:
    /// 256, and no limit for loopback]
    #[arg(long, env = "VIDRA_MAX_CONNECTIONS_PER_ADDRESS", value_name = "COUNT", value_parser = at_least_one)]
    pub(crate) max_connections_per_address: Option<usize>,

    /// Idle timeout of a connection between two requests; a plain number is seconds
    #[arg(long, env = "VIDRA_IDLE_TIMEOUT", value_name = "TIME", default_value = "60s", value_parser = seconds)]
    pub(crate) idle_timeout: Duration,

    /// How long the service accepts new connections after SIGTERM at least, so that a load balancer can see the
    /// change of /readyz; at most 15s, a plain number is seconds
    #[arg(long, env = "VIDRA_DRAIN_DELAY", value_name = "TIME", default_value = "1s", value_parser = drain_delay)]
    pub(crate) drain_delay: Duration,

    /// Second address for the operator. /metrics moves there; /healthz and /readyz are on both. It needs
    /// no key, so use loopback or a private network. Ignored if systemd passes a second socket
    #[arg(long, env = "VIDRA_ADMIN_LISTEN", value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) admin_listen: Option<SocketAddr>,

    /// Send traces to this collector (OTLP over HTTP), as OTEL_EXPORTER_OTLP_ENDPOINT does. Only in builds
    /// with --features otel
    #[cfg(feature = "otel")]
    #[arg(long, env = "VIDRA_OTLP_ENDPOINT", value_name = "URL", value_parser = crate::values::http_url)]
    pub(crate) otlp_endpoint: Option<String>,

    #[command(flatten)]
    pub(crate) callers: CallerArgs,

    /// Maximum number of concurrent batches for one key or address; more get 429. Not applied on loopback
    /// without keys [default: a quarter of --max-batches]
    #[arg(long, env = "VIDRA_MAX_BATCHES_PER_CALLER", value_name = "COUNT", value_parser = at_least_one)]
    pub(crate) max_batches_per_caller: Option<usize>,

    #[command(flatten)]
    pub(crate) library: LibraryArgs,

    #[command(flatten)]
    pub(crate) webhooks: WebhookArgs,

    #[command(flatten)]
    pub(crate) client: ClientArgs,

    /// Ignore Cache-Control: no-cache from callers and serve from the cache
    #[arg(long, env = "VIDRA_NO_CALLER_REFRESH", value_parser = FalseyValueParser::new(), help_heading = None)]
    pub(crate) no_caller_refresh: bool,

    /// Units that one key or address may spend in an hour with Cache-Control: no-cache; beyond that the cache
    /// answers. Not applied on loopback without keys
    #[arg(long, env = "VIDRA_REFRESH_UNITS", value_name = "UNITS", default_value_t = 500, value_parser = units, help_heading = None)]
    pub(crate) refresh_units: u32,

    /// Disable the MCP endpoint /mcp
    #[arg(long, env = "VIDRA_NO_MCP", value_parser = FalseyValueParser::new(), help_heading = None)]
    pub(crate) no_mcp: bool,

    /// List all tools at /mcp, also former ones whose work a tool of the short list does
    #[arg(long, env = "VIDRA_ALL_TOOLS", value_parser = FalseyValueParser::new(), help_heading = None)]
    pub(crate) all_tools: bool,
}

/// Runs the service until a signal stops it.
pub(crate) fn run(args: &ServeArgs, log: &Log) -> Result<(), Failure> {
    let state_dir = state_dir(&args.client);
    let inherited = Inherited::take()?;
    let address = inherited.service_address(args.listen);
    let mut callers = Callers::open(&args.callers, address, state_dir.as_deref())?;
    let mut serving = serving(args, &callers)?;
    let webhooks = args.webhooks.open()?;
    let mut builder = builder(&args.client, &StoreLocation::Memory)?;
    let (runtime, connections) = (runtime()?, connections_runtime()?);
    serving.handlers = Some(runtime.handle().clone());
    // A reload during the start, which can take long, must not end the process.
    let hangups = runtime.block_on(async { Hangups::listen() })?;
    if let Some(redis) = args.client.cache.redis()? {
        let checked = runtime.block_on(redis.check());
        checked.map_err(|error| Failure::usage(format!("--cache: {}", described(&error))))?;
    }
    if let Some(redis) = args.client.cache.separate_redis()? {
        callers.rules.shared_rates = Some(redis);
    }
    let mut database = None;
    if let Some(url) = args.library.shared_database() {
        let connected = runtime.block_on(Database::connect(url));
        let shared = connected.map_err(|error| unusable_database(&error))?;
        builder = builder.database(&shared);
        callers.share(shared.clone(), state_dir.as_deref());
        database = Some(shared);
    }
    let library = args.library.open(state_dir.as_deref(), &args.client, database.as_ref());
    let library = runtime.block_on(library)?;
    if let Some(fetched) = library.as_ref().and_then(|it| it.fetched.as_ref()) {
        builder = builder.on_transcript(fetched.observer());
    }
    let vidra = builder.build().map_err(|error| described(&error))?;
    runtime.block_on(async {
        callers.watch();
        let reloads = Reloads::default();
        let reload = Reload::new(args, &callers, &serving, &vidra, &reloads);
        // Without files to reload, a closed terminal ends the process.
        if reload.has_files() || !io::stdin().is_terminal() {
            hangups.each(move || reload.run());
        } else {
            survive_reload()?;
        }
        let Inherited { service, admin } = inherited;
        let service = service.map_or(Socket::Bind(address), Socket::Inherited);
        let admin = admin.map(Socket::Inherited).or(args.admin_listen.map(Socket::Bind));
        let listening = connections.spawn(service.listen());
        let (listener, address) = listening.await.expect(NEVER_ABORTED)?;
        let config = Config {
            metrics_apart: admin.is_some(),
            access_log: Some(log.of_requests()),
            tls: serving.tls.clone(),
            reloads,
            library,
            webhooks,
            ..config(args, &callers)
        };
        let app = App::new(vidra.clone(), config);
        let jobs = app.clone();
        let jobs = tokio::spawn(async move { jobs.run_jobs().await });
        if let Some(socket) = admin {
            serve_operator(socket, &app).await?;
        }
        tracing::info!(%address, demo = args.client.demo, "listening");
        if args.client.demo {
            let scheme = if serving.tls.is_some() { "https" } else { "http" };
            print_tour(&format!("{scheme}://{address}"));
        } else if !vidra.has_key() {
            tracing::warn!("no upstream key: set YOUTUBE_API_KEY or --api-key-file");
        }
        let signals = Signals::listen()?;
        let stop = signals.first().inspect(|()| {
            tracing::info!("stopping");
            systemd::stopping();
        });
        let (first, second) = (signals.first(), signals.second());
        let give_up = async move {
            first.await;
            let _ = timeout(DRAIN, second).await;
            tracing::warn!("stopped with requests in flight");
        };
        systemd::watch(connections.handle().clone());
        systemd::ready();
        let serve = vidra_server::serve(listener, app, serving, stop, give_up);
        connections.spawn(serve).await.expect(NEVER_ABORTED);
        // The worker began to stop with the shutdown.
        tokio::select! {
            biased;
            _ = timeout(JOBS_STOP, jobs) => {}
            () = signals.second() => {}
        }
        // Answers that were fetched last should be in the store after a restart.
        tokio::select! {
            biased;
            _ = timeout(SETTLE, async { tokio::join!(callers.save(), vidra.settled()) }) => {}
            () = signals.second() => {}
        }
        Ok::<_, Failure>(())
    })?;
    // A blocking thread that hangs must not keep the process alive. The connections end first: their requests use the other
    // runtime.
    connections.shutdown_timeout(SHUTDOWN);
    runtime.shutdown_timeout(SHUTDOWN);
    Ok(())
}

/// The configuration of the service.
fn config(args: &ServeArgs, callers: &Callers) -> Config {
    let batches_per_caller = args.max_batches_per_caller;
    Config {
        callers_may_refresh: !args.no_caller_refresh,
        refresh_units: args.refresh_units,
        response_cache_bytes: args.client.cache.response_bytes(),
        batches_per_caller: batches_per_caller.unwrap_or(args.client.max_batches.div_ceil(4)),
        mcp: !args.no_mcp,
        tools: tool_list(args.all_tools),
        examples: if args.client.demo { examples() } else { vec![] },
        gate: callers.rules.clone(),
        ..Config::default()
    }
}

/// Serves the operator's address until the process ends: metrics are useful during shutdown too.
async fn serve_operator(socket: Socket, app: &App) -> Result<(), Failure> {
    let (listener, address) = socket.listen().await?;
    let is_loopback = address.ip().to_canonical().is_loopback();
    tracing::info!(admin = %address, "listening for the operator");
    if !is_loopback {
        tracing::warn!(
            "operator's address is not loopback: anyone who can reach it can read the metrics"
        );
    }
    let limits = Limits { connections: ADMIN_CONNECTIONS, ..Limits::default() };
    let serving = Serving { limits, ..Serving::default() };
    let app = app.admin(is_loopback);
    tokio::spawn(vidra_server::serve(listener, app, serving, pending(), pending()));
    Ok(())
}

/// The limits and the TLS configuration of the listener.
fn serving(args: &ServeArgs, callers: &Callers) -> Result<Serving, String> {
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificates), Some(key)) => Some(
            Tls::from_files(certificates, key, args.http2).map_err(|why| format!("TLS: {why}"))?,
        ),
        _ => None,
    };
    let limits = Limits {
        idle_timeout: args.idle_timeout,
        connections: open_files::connections(args.max_connections),
        connections_per_address: args.max_connections_per_address,
        trusted_proxies: callers.rules.trusted_proxies.clone(),
        http2: args.http2,
        drain_delay: args.drain_delay,
        ..Limits::default()
    };
    Ok(Serving { limits, tls, handlers: None })
}

/// Where connections come from.
enum Socket {
    /// A socket that systemd has opened.
    Inherited(net::TcpListener),
    /// An address to bind; port 0 picks a free port.
    Bind(SocketAddr),
}

impl Socket {
    /// The listener and its actual address.
    ///
    /// # Errors
    ///
    /// Not an error of usage: the address may be free later, so that a supervisor should try again.
    async fn listen(self) -> Result<(TcpListener, SocketAddr), Failure> {
        let listening = self.open().await;
        listening.map_err(|message| Failure::Message(Exit::Network, message))
    }

    async fn open(self) -> Result<(TcpListener, SocketAddr), String> {
        let listener = match self {
            Self::Inherited(socket) => {
                TcpListener::from_std(socket).map_err(|it| it.to_string())?
            }
            Self::Bind(address) => TcpListener::bind(address)
                .await
                .map_err(|error| format!("cannot listen on {address}: {error}"))?,
        };
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        Ok((listener, address))
    }
}

/// The examples of the explorer, which cannot show a comment by itself.
fn examples() -> Vec<Example> {
    let stops = vidra_sim::tour().iter().filter(|stop| stop.kind != Kind::Comment);
    stops.map(|stop| Example { id: stop.id.clone(), what: stop.what.to_owned() }).collect()
}

/// Prints a few URLs to try.
fn print_tour(base: &str) {
    let mut text =
        format!("vidra runs at {base} over the simulator. Open it in a browser, or try:\n\n");
    for stop in vidra_sim::tour() {
        let id = &stop.id;
        let path = match stop.kind {
            Kind::Video | Kind::Error => format!("video/{id}"),
            Kind::Channel | Kind::Handle => format!("channel/{id}"),
            Kind::Username => format!("channel/https://www.youtube.com/user/{id}"),
            Kind::Playlist => format!("playlist/{id}"),
            Kind::Transcript => format!("transcript/{id}"),
            Kind::Comment => format!("comment-replies/{id}"),
            Kind::Search => format!("search?q={}", id.replace(' ', "+")),
        };
        text += &format!("  {base}/api/{path}  {}\n", stop.what);
    }
    text += &format!(
        "\n  {base}/openapi.json  description of all endpoints\n  {base}/docs  page to try them\n"
    );
    // A closed pipe must not stop the service.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
