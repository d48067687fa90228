//! The connection to Redis or Valkey: to one server, to the primary server that sentinels name, or to a cluster.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Shared;
use redis::aio::{MultiplexedConnection, PubSub};
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{RoutingInfo, SingleNodeRoutingInfo};
use redis::io::tcp::TcpSettings;
use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, FromRedisValue,
    IntoConnectionInfo as _, RedisError, RedisResult, TlsMode, Value,
};
use tokio::time::timeout;

use crate::transport::BoxFuture;

/// The timeouts of a connection and of a response without a tighter deadline.
const CONNECT: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(10);
/// After this time without an acknowledgement the connection counts as lost.
#[cfg(target_os = "linux")]
const LOST_AFTER: Duration = Duration::from_secs(5);
/// How often the client of a cluster tries a command, for example at the node that a moved key is at now.
const CLUSTER_RETRIES: u32 = 3;

/// The servers behind a URL, and the connection to them. It connects on the first call, and again after a failure.
pub(super) struct Link {
    servers: Servers,
    state: Mutex<State>,
}

enum Servers {
    One(Client),
    /// They name the primary server, which changes with a failover.
    Sentinels(tokio::sync::Mutex<Box<SentinelClient>>),
    Cluster {
        client: Box<ClusterClient>,
        /// The nodes of the URL, for subscriptions.
        nodes: Vec<Client>,
    },
}

enum State {
    Idle,
    Connecting(Connecting),
    Connected { connection: Connection, number: u64 },
}

/// An attempt to connect. Callers that come meanwhile wait for it too.
type Connecting = Shared<BoxFuture<'static, Result<(Connection, u64), Arc<RedisError>>>>;

#[derive(Clone)]
enum Connection {
    One(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// A server of its own or a primary node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node(Option<(String, u16)>);

impl Link {
    /// Reads a URL. `None` if it is not valid.
    pub(super) fn from_url(url: &str) -> Option<Self> {
        // The TLS library requires a default cryptography provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (scheme, rest) = url.split_once("://")?;
        let servers = match scheme.split_once('+') {
            Some((scheme, "sentinel")) => sentinels(scheme, rest),
            Some((scheme, "cluster")) => cluster(scheme, rest),
            _ => Client::open(server(url)?).ok().map(Servers::One),
        };
        Some(Self { servers: servers?, state: Mutex::new(State::Idle) })
    }

    /// Sends a command to the server or to the node of its key.
    pub(super) async fn call<T: FromRedisValue>(
        self: &Arc<Self>,
        command: &Cmd,
    ) -> Result<T, Arc<RedisError>> {
        let (connection, number) = self.connection().await?;
        let answer = match connection {
            Connection::One(mut connection) => command.query_async(&mut connection).await,
            Connection::Cluster(mut connection) => command.query_async(&mut connection).await,
        };
        self.checked(answer, number)
    }

    /// Sends a command to one of [`Self::nodes`].
    pub(super) async fn call_node<T: FromRedisValue>(
        self: &Arc<Self>,
        node: &Node,
        command: &Cmd,
    ) -> Result<T, Arc<RedisError>> {
        let (connection, number) = self.connection().await?;
        match (connection, node.0.clone()) {
            (Connection::Cluster(mut connection), Some((host, port))) => {
                let node = SingleNodeRoutingInfo::ByAddress { host, port };
                let node = RoutingInfo::SingleNode(node);
                let answer = connection.route_command(command.clone(), node).await;
                let answer = answer.and_then(|value| Ok(redis::from_redis_value(value)?));
                self.checked(answer, number)
            }
            _ => self.call(command).await,
        }
    }

    /// All servers that have keys of ours.
    pub(super) async fn nodes(self: &Arc<Self>) -> Result<Vec<Node>, Arc<RedisError>> {
        if !matches!(self.servers, Servers::Cluster { .. }) {
            return Ok(vec![Node(None)]);
        }
        // Each row is the first slot, the last slot, the primary node and its replicas.
        let slots: Vec<Vec<Value>> = self.call(redis::cmd("CLUSTER").arg("SLOTS")).await?;
        let mut nodes: Vec<Node> = vec![];
        for primary in slots.into_iter().filter_map(|row| row.into_iter().nth(2)) {
            let Value::Array(primary) = primary else { continue };
            let mut primary = primary.into_iter();
            let host = primary.next().and_then(|host| redis::from_redis_value(host).ok());
            let port = primary.next().and_then(|port| redis::from_redis_value(port).ok());
            let node = Node(host.zip(port));
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        Ok(nodes)
    }

    /// Sends a command to the first node of a cluster that answers. Its error says more than that of the client of the
    /// cluster. `None` if this is no cluster, or if no node can be reached.
    pub(super) async fn check_cluster(&self) -> Option<RedisResult<()>> {
        let Servers::Cluster { nodes, .. } = &self.servers else { return None };
        for node in nodes {
            let connected = match node.get_multiplexed_async_connection().await {
                Err(error) if error.is_io_error() => continue,
                connected => connected,
            };
            let slots = async {
                let mut connection = connected?;
                redis::cmd("CLUSTER").arg("SLOTS").query_async::<Value>(&mut connection).await
            };
            return Some(slots.await.map(drop));
        }
        None
    }

    /// Opens a connection for subscriptions. A cluster passes each message to all of its nodes.
    pub(super) async fn subscribe(&self, channel: &str) -> RedisResult<PubSub> {
        let subscribe = async {
            let mut subscription = match &self.servers {
                Servers::One(client) => client.get_async_pubsub().await?,
                Servers::Sentinels(client) => {
                    let client = client.lock().await.async_get_client().await?;
                    client.get_async_pubsub().await?
                }
                Servers::Cluster { nodes, .. } => first_subscription(nodes).await?,
            };
            subscription.subscribe(channel).await?;
            Ok(subscription)
        };
        timeout(2 * CONNECT, subscribe).await.unwrap_or_else(|_| Err(timed_out()))
    }

    /// Forgets a connection that failed, so that the next call makes another one.
    fn checked<T>(&self, answer: RedisResult<T>, number: u64) -> Result<T, Arc<RedisError>> {
        answer.map_err(|error| {
            // After a failover the old primary server accepts no writes.
            let is_lost = error.is_unrecoverable_error() || error.code() == Some("READONLY");
            let mut state = self.lock();
            if is_lost && matches!(&*state, State::Connected { number: it, .. } if *it == number) {
                *state = State::Idle;
            }
            Arc::new(error)
        })
    }

    async fn connection(self: &Arc<Self>) -> Result<(Connection, u64), Arc<RedisError>> {
        let connecting = {
            let mut state = self.lock();
            match &*state {
                State::Connected { connection, number } => {
                    return Ok((connection.clone(), *number));
                }
                State::Connecting(connecting) => connecting.clone(),
                State::Idle => {
                    // A task of its own: a caller that leaves does not cancel it.
                    let connecting = tokio::spawn(Arc::clone(self).connect());
                    let link = Arc::downgrade(self);
                    let connecting = connecting.map(move |connected| {
                        connected.unwrap_or_else(|_| {
                            // It panicked, or its runtime has ended.
                            if let Some(link) = link.upgrade() {
                                *link.lock() = State::Idle;
                            }
                            Err(Arc::new(RedisError::from(io::Error::other("cancelled"))))
                        })
                    });
                    let connecting = connecting.boxed().shared();
                    *state = State::Connecting(connecting.clone());
                    connecting
                }
            }
        };
        connecting.await
    }

    async fn connect(self: Arc<Self>) -> Result<(Connection, u64), Arc<RedisError>> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT))
            .set_response_timeout(Some(ANSWER));
        let connect = async {
            Ok(match &self.servers {
                Servers::One(client) => Connection::One(
                    client.get_multiplexed_async_connection_with_config(&config).await?,
                ),
                Servers::Sentinels(client) => {
                    let mut client = client.lock().await;
                    Connection::One(client.get_async_connection_with_config(&config).await?)
                }
                Servers::Cluster { client, .. } => {
                    Connection::Cluster(client.get_async_connection().await?)
                }
            })
        };
        let connected = timeout(2 * CONNECT, connect).await.unwrap_or_else(|_| Err(timed_out()));
        let number = fastrand::u64(..);
        let mut state = self.lock();
        *state = match &connected {
            Ok(connection) => State::Connected { connection: connection.clone(), number },
            Err(_) => State::Idle,
        };
        connected.map(|connection| (connection, number)).map_err(Arc::new)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn timed_out() -> RedisError {
    io::Error::from(io::ErrorKind::TimedOut).into()
}

/// A subscription to the first of these nodes that answers.
async fn first_subscription(nodes: &[Client]) -> RedisResult<PubSub> {
    let mut failure = RedisError::from((ErrorKind::InvalidClientConfig, "no nodes"));
    // Each machine begins with another node.
    let first = fastrand::usize(..nodes.len().max(1));
    for node in nodes.iter().cycle().skip(first).take(nodes.len()) {
        match node.get_async_pubsub().await {
            Ok(subscription) => return Ok(subscription),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn tcp() -> TcpSettings {
    let tcp = TcpSettings::default().set_nodelay(true);
    #[cfg(target_os = "linux")]
    let tcp = tcp.set_user_timeout(LOST_AFTER);
    tcp
}

fn server(url: &str) -> Option<ConnectionInfo> {
    Some(url.into_connection_info().ok()?.set_tcp_settings(tcp()))
}

/// The hosts of a URL, separated by commas, as one server each. `rest` is the URL after its scheme, without a path.
fn servers(scheme: &str, rest: &str) -> Option<Vec<ConnectionInfo>> {
    let (user, hosts) = rest.rsplit_once('@').map_or(("", rest), |(user, hosts)| (user, hosts));
    let at = if user.is_empty() { "" } else { "@" };
    hosts.split(',').map(|host| server(&format!("{scheme}://{user}{at}{host}"))).collect()
}

/// `[user:password@]host[:port][,host[:port]]…`
fn cluster(scheme: &str, rest: &str) -> Option<Servers> {
    let nodes = servers(scheme, rest.strip_suffix('/').unwrap_or(rest))?;
    // A cluster has only one database.
    if nodes.iter().any(|node| node.redis_settings().db() != 0) {
        return None;
    }
    let client = ClusterClientBuilder::new(nodes.clone())
        .connection_timeout(CONNECT)
        .response_timeout(ANSWER)
        .retries(CLUSTER_RETRIES)
        .tcp_settings(tcp());
    let nodes: Option<_> = nodes.into_iter().map(|node| Client::open(node).ok()).collect();
    Some(Servers::Cluster { client: Box::new(client.build().ok()?), nodes: nodes? })
}

/// `[user:password@]host[:port][,host[:port]]…/name[/database]`, and the password of the sentinels as
/// `?sentinel_password=…`. The user and the password before `@` are those of the servers.
fn sentinels(scheme: &str, rest: &str) -> Option<Servers> {
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (hosts, path) = rest.split_once('/')?;
    let (name, database) = path.split_once('/').unwrap_or((path, "0"));
    let sentinels = servers(scheme, hosts)?;
    let server = sentinels.first()?.redis_settings().clone();
    let is_encrypted =
        matches!(sentinels.first()?.addr(), ConnectionAddr::TcpTls { insecure: false, .. });
    let addresses = sentinels.iter().map(|sentinel| sentinel.addr().clone());
    let mut builder =
        SentinelClientBuilder::new(addresses, name, SentinelServerType::Master).ok()?;
    builder = builder
        .set_client_to_redis_db(database.parse().ok()?)
        .set_client_to_redis_tcp_settings(tcp())
        .set_client_to_sentinel_tcp_settings(tcp());
    if is_encrypted {
        builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
    }
    if let Some(user) = server.username() {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = server.password() {
        builder = builder.set_client_to_redis_password(password);
    }
    if !query.is_empty() {
        let password = query.strip_prefix("sentinel_password=")?;
        // Decoded as the password of a URL is.
        let sentinel = self::server(&format!("redis://:{password}@sentinel"))?;
        builder = builder.set_client_to_sentinel_password(sentinel.redis_settings().password()?);
    }
    let client = (!name.is_empty()).then(|| builder.build().ok()).flatten()?;
    Some(Servers::Sentinels(tokio::sync::Mutex::new(Box::new(client))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_one_server_sentinels_or_a_cluster() {
        let kind = |url: &str| match Link::from_url(url)?.servers {
            Servers::One(_) => Some("one"),
            Servers::Sentinels(_) => Some("sentinels"),
            Servers::Cluster { .. } => Some("cluster"),
        };
        let table = [
            ("redis://host", Some("one")),
            ("rediss://user:p%40ss@host:6380/2", Some("one")),
            ("valkey://[::1]:6379", Some("one")),
            ("unix:///run/valkey.sock", Some("one")),
            ("redis+unix:///run/valkey.sock", Some("one")),
            ("redis+cluster://one:1,two:2", Some("cluster")),
            ("rediss+cluster://user:p%40ss@one,two/", Some("cluster")),
            ("valkey+cluster://one", Some("cluster")),
            ("redis+sentinel://one:26379,two:26379/primary", Some("sentinels")),
            ("rediss+sentinel://user:secret@one/primary/2", Some("sentinels")),
            ("redis+sentinel://one/primary?sentinel_password=a%26b", Some("sentinels")),
            ("", None),
            ("host:6379", None),
            ("http://host", None),
            ("redis+other://host", None),
            ("redis+cluster://", None),
            ("redis+cluster://one/2x", None),
            ("redis+cluster://one/2", None),
            ("redis+cluster://one,/", None),
            ("redis+sentinel://one", None),
            ("redis+sentinel://one/", None),
            ("redis+sentinel://one/primary/x", None),
            ("redis+sentinel://one/primary?password=a", None),
            ("http+cluster://one", None),
        ];
        for (url, expected) in table {
            assert_eq!(kind(url), expected, "{url}");
        }
    }
}
