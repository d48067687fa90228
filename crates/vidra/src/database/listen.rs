//! Notifications of other machines, on a connection of its own.

use std::future::poll_fn;
use std::sync::Weak;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{Inner, Topic};

/// The time until a lost connection is replaced.
const RECONNECT: Duration = Duration::from_millis(500);

/// The time limit of a new connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Counts notifications until the database is dropped.
pub(super) fn spawn(
    database: Weak<Inner>,
    mut dropped: watch::Receiver<()>,
    config: Config,
    tls: MakeRustlsConnect,
) {
    tokio::spawn(async move {
        while database.strong_count() > 0 {
            let _ = listen(&database, &mut dropped, &config, &tls).await;
            sleep(RECONNECT).await;
        }
    });
}

/// Listens until the connection is lost or the database is dropped.
async fn listen(
    database: &Weak<Inner>,
    dropped: &mut watch::Receiver<()>,
    config: &Config,
    tls: &MakeRustlsConnect,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (client, mut connection) = timeout(CONNECT_TIMEOUT, config.connect(tls.clone())).await??;
    let mut listening = Box::pin(client.batch_execute("LISTEN vidra"));
    let mut is_listening = false;
    loop {
        let message = tokio::select! {
            biased;
            done = &mut listening, if !is_listening => {
                done?;
                is_listening = true;
                // There may have been notifications before.
                Topic::ALL.into_iter().for_each(|topic| note(database, topic));
                continue;
            }
            message = poll_fn(|context| connection.poll_message(context)) => message,
            _ = dropped.changed() => return Ok(()),
        };
        match message {
            Some(Ok(AsyncMessage::Notification(notification))) => {
                let payload = notification.payload();
                match Topic::ALL.into_iter().find(|topic| topic.name() == payload) {
                    Some(topic) => note(database, topic),
                    None => pass_on(database, payload),
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error.into()),
            None => return Ok(()),
        }
    }
}

fn pass_on(database: &Weak<Inner>, payload: &str) {
    if let Some(database) = database.upgrade() {
        // Nobody may be listening.
        let _ = database.notified.others.send(payload.to_owned());
    }
}

fn note(database: &Weak<Inner>, topic: Topic) {
    if let Some(database) = database.upgrade() {
        database.notified.of(topic).send_modify(|count| *count += 1);
    }
}
