//! The entries of a list, one upstream page at a time. A cursor continues the list in a later process.

use std::sync::Arc;

use super::entries::Entry;
use super::page::{self, EntryPage as UpstreamPage};
use crate::cache::{Cached, Parts};
use crate::context::Context;
use crate::error::{ErrorKind, Result};
use crate::ident::{ChannelId, ChannelRef, PlaylistId};
use crate::list::{EntryPage, EntrySource, PlaylistEntry, Position, SourceId, invalid_cursor};
use crate::resource::lifetime::Resource;
use crate::resource::paged::{ReadState, no_end};
use crate::resource::{Services, channel, lookup};

/// The maximum number of entries of one list. YouTube shows at most 20,000. Without a limit, a list without an end
/// would spend the whole quota.
const MAX_LISTED: usize = 50_000;

/// Reads the page at a cursor, or the first one.
///
/// # Errors
///
/// [`Reason::InvalidCursor`](crate::Reason::InvalidCursor) if the cursor is not one of this list, or if YouTube rejects
/// its token.
pub(crate) async fn entries_page(
    services: &Arc<Services>,
    ctx: &Context,
    source: &EntrySource,
    cursor: Option<&str>,
) -> Result<EntryPage> {
    let (ctx, key) = (&ctx.for_parts(), key(source));
    let Position { token, start, .. } = match cursor {
        Some(cursor) => Position::decode(cursor, &key)?,
        None => Position::FIRST,
    };
    let mut at = match source {
        EntrySource::Playlist(id) => ListPosition::in_playlist(id, token),
        EntrySource::Uploads(_) if !token.is_empty() => ListPosition::in_uploads(&token)?,
        EntrySource::Uploads(channel) => ListPosition::of_channel(services, ctx, channel).await?,
    };
    let mut state = ReadState::new(ctx, at.parts);
    let page = at.read(services, ctx).await?;
    state.add(&page);
    let UpstreamPage { entries, next } =
        state.answer(services, ctx, Resource::Playlist, page.body).body;
    let end = start + entries.len();
    // A page that names itself as the next one would be read for ever.
    let next = next.filter(|next| *next != at.token);
    if next.is_some() && end > MAX_LISTED {
        return Err(no_end());
    }
    let next = next.map(|next| Position { token: at.token_of(next), start: end, skip: 0 });
    Ok(EntryPage {
        entries: (start..).zip(entries).map(shown).collect(),
        next_cursor: next.map(|next| next.encode(&key)),
        source: at.source(),
    })
}

/// The text that identifies a list in its cursors.
fn key(source: &EntrySource) -> String {
    match source {
        EntrySource::Playlist(id) => format!("playlist-entries/{id}"),
        EntrySource::Uploads(channel) => format!("upload-entries/{}", lookup::name(channel)),
    }
}

fn shown((before, entry): (usize, Entry)) -> PlaylistEntry {
    let published = entry.published();
    let Entry { video, title, availability, .. } = entry;
    PlaylistEntry { position: before as u64 + 1, video, title, availability, published }
}

/// An upstream page of a list.
struct ListPosition {
    /// The channel, if the list has its uploads.
    channel: Option<ChannelId>,
    playlist: PlaylistId,
    /// Empty for the first page.
    token: String,
    /// The records that were read to find the list.
    parts: Parts,
}

impl ListPosition {
    fn in_playlist(id: &PlaylistId, token: String) -> Self {
        Self { channel: None, playlist: id.clone(), token, parts: Parts::default() }
    }

    /// The first page of the uploads of a channel.
    async fn of_channel(
        services: &Arc<Services>,
        ctx: &Context,
        channel: &ChannelRef,
    ) -> Result<Self> {
        let (id, parts) = channel::id_of(services, ctx, channel).await?;
        let playlist = channel::likely_uploads(&id);
        Ok(Self { channel: Some(id), playlist, token: String::new(), parts })
    }

    /// A later page of the uploads of a channel, by the text of [`Self::token_of`].
    fn in_uploads(text: &str) -> Result<Self> {
        let mut words = text.splitn(3, ' ');
        let channel = words.next().and_then(ChannelId::bare);
        let playlist = words.next().and_then(PlaylistId::bare);
        match (channel, playlist, words.next()) {
            (channel @ Some(_), Some(playlist), Some(token)) => {
                Ok(Self { channel, playlist, token: token.to_owned(), parts: Parts::default() })
            }
            _ => Err(invalid_cursor()),
        }
    }

    /// The text of a token in a cursor. That of uploads names channel and playlist, so that the next page needs no
    /// lookup of the channel, and stays in the same list if a handle gets another owner.
    fn token_of(&self, token: String) -> String {
        match &self.channel {
            Some(channel) => format!("{channel} {} {token}", self.playlist),
            None => token,
        }
    }

    async fn read(
        &mut self,
        services: &Arc<Services>,
        ctx: &Context,
    ) -> Result<Cached<UpstreamPage>> {
        let error = match page::read(services, ctx, &self.playlist, &self.token).await {
            Err(error) if error.kind() == ErrorKind::NotFound => error,
            page => return page,
        };
        let Some(channel) = self.channel.clone().filter(|_| self.token.is_empty()) else {
            return Err(error);
        };
        // The playlist of uploads usually has the id of the channel. Otherwise the channel names another one, or it has
        // no uploads.
        let found = channel::named_uploads(services, ctx, &ChannelRef::Id(channel)).await?;
        match found.body.clone().filter(|named| *named != self.playlist) {
            Some(named) => {
                self.playlist = named;
                page::read(services, ctx, &self.playlist, &self.token).await
            }
            None => Ok(found.with_body(UpstreamPage { entries: vec![], next: None })),
        }
    }

    fn source(self) -> SourceId {
        match self.channel {
            Some(channel) => SourceId::Channel(channel),
            None => SourceId::Playlist(self.playlist),
        }
    }
}
