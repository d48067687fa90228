//! `/api/channel/…`.

use vidra::{Channel, ChannelRef, ChannelVideo, Lookup, Resource};

use super::responder::Responder;
use crate::error_body::{FetchErrors, Result};
use crate::extract::{Id, Query};
use crate::hot::Answer;

/// One channel.
///
/// With its description, counts, thumbnails and the id of the playlist of its uploads. A custom name, as in `/c/name`,
/// may need a search.
///
/// Cost: 1 unit. A custom name costs up to 3 units and one search.
#[utoipa::path(
    get, path = "/api/channel/{id}", tag = "Channels",
    params(("id" = String, Path)),
    responses((status = 200, description = "The channel", body = Channel), FetchErrors)
)]
pub(super) async fn get_channel(responder: Responder, Id(channel): Id<ChannelRef>) -> Result {
    responder.fetch(Lookup::Channel(channel)).await
}

/// The newest uploads of a channel.
///
/// `uploadAge` is relative to the time of the answer.
///
/// Cost: 2 units with a channel id, 3 with a handle.
#[utoipa::path(
    get, path = "/api/channel/{id}/videos", tag = "Channels",
    params(
        ("id" = String, Path),
        ("limit" = Option<u32>, Query, description = "The maximum number of videos; 5 if not given", minimum = 1, maximum = 50, example = 5)
    ),
    responses((status = 200, description = "The uploads, newest first", body = Vec<ChannelVideo>), FetchErrors)
)]
pub(super) async fn get_channel_videos(
    responder: Responder,
    Id(channel): Id<ChannelRef>,
    mut query: Query,
) -> Result {
    let limit = query.whole("limit", 1..=50, 5);
    query.check()?;
    let uploads = responder.vidra.lookup(&Lookup::Uploads(channel)).await?;
    let now = responder.vidra.clock().now();
    let (newest, changes) = ChannelVideo::newest(&uploads, limit, now)?;
    let mut answer = Answer::new(Resource::Uploads, uploads).with_json(&newest)?;
    answer.valid_for = changes.map(|changes| changes.duration_since(now).unsigned_abs());
    Ok(responder.send(&answer).await)
}
