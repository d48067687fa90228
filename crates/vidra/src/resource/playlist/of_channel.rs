//! The playlists of a channel, page by page.

use std::sync::Arc;

use crate::cache::Cached;
use crate::context::Context;
use crate::data_api::call::{Call, Endpoint, What};
use crate::data_api::wire;
use crate::error::Result;
use crate::ident::{ChannelId, ChannelRef, PlaylistId};
use crate::list::Position;
use crate::playlist::PlaylistInfo;
use crate::resource::lifetime::Resource;
use crate::resource::lookup::{self, Lookup};
use crate::resource::paged::{self, Items, PagedList, Progress, RecordPage, Records};
use crate::resource::{Services, channel};

/// The public playlists of a channel, in YouTube's order.
#[derive(Debug, Clone)]
pub(crate) struct ChannelPlaylists(pub(crate) ChannelRef);

impl PagedList for ChannelPlaylists {
    type Item = PlaylistInfo;

    fn key(&self) -> String {
        format!("channel-playlists/{}", lookup::name(&self.0))
    }

    /// It costs 1 unit for each upstream page of 50 playlists, and 1 for a handle that is not cached.
    async fn read(
        &self,
        services: &Arc<Services>,
        ctx: &Context,
        from: &Position,
        limit: Option<usize>,
        progress: &mut Progress,
    ) -> Result<Cached<Items<PlaylistInfo>>> {
        let (id, parts) = channel::id_of(services, &ctx.for_parts(), &self.0).await?;
        paged::read(services, ctx, &ById(id), parts, from, limit, progress).await
    }
}

/// The list of a channel whose id is known. Its records are the same for all references to the channel.
struct ById(ChannelId);

impl Records for ById {
    type Item = PlaylistInfo;

    const RESOURCE: Resource = Resource::Playlist;
    const PAGE_SIZE: usize = 50;

    fn page(&self, token: &str) -> Lookup {
        Lookup::ChannelPlaylists(self.0.clone(), token.to_owned())
    }
}

/// Fetches the page with this token. It costs 1 unit.
pub(crate) async fn fetch(
    services: &Services,
    ctx: &Context,
    channel: &ChannelId,
    token: &str,
) -> Result<RecordPage<PlaylistInfo>> {
    let call = Call::new(Endpoint::Playlists, What::Channel, channel)
        // All parts that we serve. They do not change the cost.
        .with("part", "snippet,contentDetails")
        .with("channelId", channel.as_str())
        .with("maxResults", "50");
    RecordPage::fetch(services, ctx, call, token, |playlist: wire::Playlist| {
        let id = PlaylistId::bare(playlist.id.as_deref()?)?;
        Some(PlaylistInfo::from_wire(id, playlist))
    })
    .await
}
