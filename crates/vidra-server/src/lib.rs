//! The REST service: thin doors onto [`vidra::Vidra`].
//!
//! [`app`] is a function of the client, so that tests call it without a socket; [`serve`] puts it
//! behind a listener. [`routes`] holds the whole URL table, [`problem`] the only mapping of errors
//! to HTTP.

mod extract;
mod layers;
pub mod problem;
mod progress;
mod reply;
pub mod routes;
mod typed_url;

use std::future::{Future, IntoFuture};
use std::io;

use axum::Router;
use tokio::net::TcpListener;
use vidra::Vidra;

/// The whole service.
pub fn app(vidra: Vidra) -> Router {
    let (routes, document) = routes::routes();
    let routes = layers::around(routes.with_state(document.into()), vidra);
    typed_url::before_routing(routes)
}

/// Serves `app` until `shutdown` resolves, then lets what is under way finish, until `give_up`
/// resolves: a client that never ends its request must not keep the process alive.
pub async fn serve(
    listener: TcpListener,
    app: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
    give_up: impl Future<Output = ()>,
) -> io::Result<()> {
    tokio::select! {
        done = axum::serve(listener, app).with_graceful_shutdown(shutdown).into_future() => done,
        () = give_up => Ok(()),
    }
}
