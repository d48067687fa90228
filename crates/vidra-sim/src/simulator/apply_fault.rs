//! Applies a fault to a call.

use super::{Simulator, failure, with_retry_after};
use crate::call::Call;
use crate::data_api::error::ApiError;
use crate::fault::{Action, body};
use crate::response::{Dropped, reply, set};
use axum::body::Body;
use http::{Response, header};
use std::time::Duration;

/// The parameters that identify the subject of a call.
const ABOUT: [&str; 8] = [
    "id",
    "videoId",
    "playlistId",
    "parentId",
    "channelId",
    "forHandle",
    "channel_id",
    "playlist_id",
];

impl Simulator {
    /// Answers a call with the action of a fault.
    pub(super) async fn apply_fault(
        &self,
        action: Action,
        mut call: Call,
    ) -> Result<Response<Body>, Dropped> {
        match action {
            Action::Hang => std::future::pending().await,
            Action::Reset => Err(Dropped),
            Action::Error { reason, status, retry_after } => {
                let error = ApiError::by_reason(&reason);
                let error = status.map_or(error.clone(), |status| error.with_status(status));
                Ok(failure(&error, retry_after))
            }
            Action::Status { status, body, retry_after } => Ok(with_retry_after(
                reply(status, "text/plain; charset=UTF-8", body.into()),
                retry_after,
            )),
            Action::Redirect { location } => {
                let mut response = reply(302, "text/html; charset=UTF-8", Body::empty());
                set(&mut response, header::LOCATION, &location);
                Ok(response)
            }
            Action::Huge { bytes } => {
                Ok(reply(200, "application/json; charset=UTF-8", body::huge(bytes)))
            }
            Action::GzipBomb { mebibytes } => Ok(gzip_reply(body::gzip_bomb(mebibytes))),
            Action::GzipItems { count } => Ok(gzip_reply(body::gzip_items(count))),
            Action::WrongId { id } => {
                let about =
                    ABOUT.iter().find(|name| call.query.get(name).is_some()).unwrap_or(&ABOUT[0]);
                call.query = call.with_parameter(about, &id);
                self.answer(&call).await
            }
            Action::Delay { .. } => self.answer(&call).await,
            Action::Cut | Action::Drip { .. } | Action::Junk { .. } => {
                self.damage(&action, &call).await
            }
        }
    }

    /// The correct answer with a damaged body.
    async fn damage(&self, action: &Action, call: &Call) -> Result<Response<Body>, Dropped> {
        let (mut head, whole) = self.answer(call).await?.into_parts();
        let whole = axum::body::to_bytes(whole, usize::MAX).await.unwrap_or_default();
        let length = whole.len();
        let body = match action {
            Action::Cut => body::cut(whole),
            Action::Drip { chunk, every_millis } => {
                body::drip(whole, *chunk, Duration::from_millis(*every_millis))
            }
            Action::Junk { kind } => {
                let (content_type, bytes) = body::junk(*kind, &whole);
                return Ok(reply(200, content_type, bytes.into()));
            }
            _ => Body::from(whole),
        };
        head.headers.insert(header::CONTENT_LENGTH, length.into());
        Ok(Response::from_parts(head, body))
    }
}

/// A compressed JSON body.
fn gzip_reply(body: Body) -> Response<Body> {
    let mut response = reply(200, "application/json; charset=UTF-8", body);
    set(&mut response, header::CONTENT_ENCODING, "gzip");
    response
}
