//! Many channels or playlists at once, and the public feed itself: what finds new videos at almost no cost.

use super::Vidra;
use crate::channel::Channel;
use crate::error::Result;
use crate::feed::{Feed, FeedId};
use crate::ident::{ChannelId, PlaylistId};
use crate::playlist::PlaylistInfo;
use crate::resource::{channel, playlist};

impl Vidra {
    /// Fetches several channels, in the order of `ids`. It omits channels that YouTube does not have. It costs 1 unit for
    /// each 50 uncached ids.
    ///
    /// ```
    /// use vidra::ChannelId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let ids = [ChannelId::parse("UCB-2_pXPtFYDifLXZF-S8PA")?, ChannelId::parse("UCnoSuchChannel000000000")?];
    /// let channels = vidra.channels(&ids).await?;
    /// assert_eq!((channels.len(), &*channels[0].name), (1, "Fermata Sessions"));
    /// assert_eq!(vidra.cost().units(), 1);
    /// # Ok(()) }
    /// ```
    pub async fn channels(&self, ids: &[ChannelId]) -> Result<Vec<Channel>> {
        channel::several(&self.services, &self.context(), ids).await
    }

    /// Fetches the data of several playlists without their videos, in the order of `ids`. It omits playlists that YouTube
    /// does not have, or that are private. It costs 1 unit for each 50 uncached ids.
    ///
    /// ```
    /// use vidra::PlaylistId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let ids = ["PLsize50", "PLsize120", "PLquirkPrivate"].map(|id| PlaylistId::parse(id).unwrap());
    /// let sizes = vidra.playlist_infos(&ids).await?.into_iter().map(|info| info.item_count);
    /// assert!(sizes.eq([Some(50), Some(120)]));
    /// assert_eq!(vidra.cost().units(), 1);
    /// # Ok(()) }
    /// ```
    pub async fn playlist_infos(&self, ids: &[PlaylistId]) -> Result<Vec<PlaylistInfo>> {
        playlist::several_infos(&self.services, &self.context(), ids).await
    }

    /// Fetches a public feed from YouTube: past the cache, and without the Data API in its place
    /// ([`Vidra::channel_feed`] has both). It needs no key and costs nothing.
    ///
    /// The feed of a channel has its 15 newest videos. The feed of a playlist has the first 15 in the order of the
    /// playlist, so it does not show videos at its end.
    ///
    /// # Errors
    ///
    /// Any reason why YouTube did not serve the feed. YouTube reports 404 also for channels and playlists that exist, and
    /// at times for all of them.
    ///
    /// ```
    /// use vidra::ChannelId;
    /// use vidra::feed::FeedId;
    ///
    #[doc = include_str!("../example.txt")]
    /// let id = FeedId::Channel(ChannelId::parse("UCB-2_pXPtFYDifLXZF-S8PA")?);
    /// let feed = vidra.public_feed(&id).await?;
    /// assert_eq!((feed.items.len(), vidra.cost().units()), (15, 0));
    /// # Ok(()) }
    /// ```
    pub async fn public_feed(&self, of: &FeedId) -> Result<Feed> {
        self.services.web.feed(&self.context(), of).await
    }
}
