//! `/api/channel/…`.

use axum::Extension;
use vidra::{Channel, ChannelRef, ChannelVideo, Vidra};

use crate::extract::{Id, Query};
use crate::problem::AskErrors;
use crate::reply::{Answer, Reply};

/// One channel.
#[utoipa::path(
    get, path = "/api/channel/{id}", tag = "Channels",
    params(("id" = String, Path, description = "Channel id, @handle or URL", example = "@fermata")),
    responses((status = 200, description = "The channel", body = Channel), AskErrors)
)]
pub(super) async fn get_channel(
    Extension(vidra): Extension<Vidra>,
    Id(channel): Id<ChannelRef>,
) -> Answer<Channel> {
    Ok(Reply(vidra.channel(&channel).await?))
}

/// The newest uploads of a channel.
#[utoipa::path(
    get, path = "/api/channel/{id}/videos", tag = "Channels",
    params(
        ("id" = String, Path, description = "Channel id, @handle or encoded URL", example = "@fermata"),
        ("limit" = Option<u32>, Query, description = "How many; 5 if not given", minimum = 1, maximum = 50, example = 5)
    ),
    responses((status = 200, description = "The uploads, newest first", body = Vec<ChannelVideo>), AskErrors)
)]
pub(super) async fn get_channel_videos(
    Extension(vidra): Extension<Vidra>,
    Id(channel): Id<ChannelRef>,
    mut query: Query,
) -> Answer<Vec<ChannelVideo>> {
    let limit = query.whole("limit", 1..=50, 5);
    query.check()?;
    Ok(Reply(vidra.channel_videos(&channel, limit).await?))
}
