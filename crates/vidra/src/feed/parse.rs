//! Feeds from their elements.

use super::xml::{self, Visitor, malformed};
use super::{DeletedVideo, Feed, FeedError, FeedId, FeedItem};
use crate::format::Moment;
use crate::ident::link::Link;
use crate::ident::{ChannelId, ChannelRef, PlaylistId, VideoId};

/// The size limit. Fifteen entries with long descriptions have 80 KB.
const MAX_BYTES: usize = 4 << 20;

/// The maximum number of entries. YouTube sends 15.
const MAX_ENTRIES: usize = 1_000;

/// Parses a feed of a channel or playlist, or a WebSub notification.
///
/// Members that YouTube omits are empty or `None`. YouTube writes the ids of channels in several ways,
/// or omits them; they are completed from the links of the feed.
///
/// # Errors
///
/// [`FeedError`] if the body is not a feed, is damaged, or exceeds 4 MB or 1,000 entries.
///
/// ```
/// let body = br#"<feed><title>News</title><entry><yt:videoId>dQw4w9WgXcQ</yt:videoId>
///     <title>Q &amp; A</title><link href="https://www.youtube.com/shorts/dQw4w9WgXcQ"/></entry></feed>"#;
/// let feed = vidra::feed::parse(body)?;
/// assert_eq!((&*feed.title, &*feed.items[0].title), ("News", "Q & A"));
/// assert_eq!(feed.items[0].is_short, Some(true));
/// assert!(vidra::feed::parse(b"<!DOCTYPE html><title>Error 404</title>").is_err());
/// # Ok::<_, vidra::feed::FeedError>(())
/// ```
pub fn parse(body: &[u8]) -> Result<Feed, FeedError> {
    if body.len() > MAX_BYTES {
        return Err(malformed(format_args!("larger than {} MB", MAX_BYTES >> 20)));
    }
    let text = String::from_utf8_lossy(body);
    let mut builder = Builder::default();
    xml::read(text.trim_start_matches('\u{feff}').trim_start(), &mut builder)?;
    Ok(builder.finish())
}

/// The members of a feed, an entry or a deleted entry, as they are written.
#[derive(Default)]
struct Members {
    id: String,
    video: String,
    channel: String,
    playlist: String,
    title: String,
    author: String,
    /// The URLs of the links and of the author.
    links: Vec<String>,
    published: String,
    updated: String,
    description: String,
    thumbnail: String,
    views: Option<u64>,
    likes: Option<u64>,
}

#[derive(Default)]
struct Builder {
    feed: Members,
    /// The entry that is being read.
    entry: Members,
    items: Vec<FeedItem>,
    deleted: Vec<DeletedVideo>,
}

impl Visitor for Builder {
    fn begin(&mut self, path: &[&str]) -> Result<(), FeedError> {
        if let ["entry" | "at:deleted-entry"] = path {
            if self.items.len() + self.deleted.len() == MAX_ENTRIES {
                return Err(malformed("it has too many entries"));
            }
            self.entry = Members::default();
        }
        Ok(())
    }

    fn attribute(&mut self, path: &[&str], name: &str, value: &str) {
        let (members, path) = self.members(path);
        match (path, name) {
            (["link"], "href") => members.links.push(value.to_owned()),
            (["media:group", "media:thumbnail"], "url") if members.thumbnail.is_empty() => {
                value.clone_into(&mut members.thumbnail);
            }
            (["media:group", "media:community", "media:statistics"], "views") => {
                members.views = value.parse().ok();
            }
            (["media:group", "media:community", "media:starRating"], "count") => {
                members.likes = value.parse().ok();
            }
            // Of a deleted entry.
            ([], "ref") => value.clone_into(&mut members.id),
            ([], "when") => value.clone_into(&mut members.updated),
            _ => {}
        }
    }

    fn end(&mut self, path: &[&str], text: &str) {
        match path {
            ["entry"] => return self.end_entry(),
            ["at:deleted-entry"] => return self.end_deleted(),
            _ => {}
        }
        let (members, path) = self.members(path);
        let member = match path {
            ["id"] => &mut members.id,
            ["yt:videoId"] => &mut members.video,
            ["yt:channelId"] => &mut members.channel,
            ["yt:playlistId"] => &mut members.playlist,
            ["title"] => &mut members.title,
            ["published"] => &mut members.published,
            ["updated"] => &mut members.updated,
            ["author" | "at:by", "name"] => &mut members.author,
            ["author" | "at:by", "uri"] => return members.links.push(text.trim().to_owned()),
            // Only its line breaks and spaces matter.
            ["media:group", "media:description"] => {
                return text.clone_into(&mut members.description);
            }
            _ => return,
        };
        text.trim().clone_into(member);
    }
}

impl Builder {
    /// The members of the feed or of its current entry, and the path below it.
    fn members<'p, 's>(&mut self, path: &'p [&'s str]) -> (&mut Members, &'p [&'s str]) {
        match path {
            ["entry" | "at:deleted-entry", below @ ..] => (&mut self.entry, below),
            _ => (&mut self.feed, path),
        }
    }

    fn end_entry(&mut self) {
        let entry = std::mem::take(&mut self.entry);
        let Some(id) = entry.video_id() else { return };
        let updated = Moment::parse(Some(&entry.updated));
        let is_short = entry.links.iter().any(|link| link.contains("/shorts/"));
        self.items.push(FeedItem {
            id,
            channel_id: entry.channel_id(),
            title: entry.title,
            channel: entry.author,
            published_at: Moment::parse(Some(&entry.published)),
            updated_at: updated.timestamp().map(|_| updated),
            description: entry.description,
            thumbnail: Some(entry.thumbnail).filter(|url| !url.is_empty()),
            views: entry.views,
            likes: entry.likes,
            is_short: is_short.then_some(true),
        });
    }

    fn end_deleted(&mut self) {
        let entry = std::mem::take(&mut self.entry);
        let Some(id) = entry.video_id() else { return };
        let channel_id = entry.channel_id();
        let deleted_at = Moment::parse(Some(&entry.updated));
        self.deleted.push(DeletedVideo { id, channel: entry.author, channel_id, deleted_at });
    }

    fn finish(self) -> Feed {
        let Self { feed, items, deleted, .. } = self;
        let id = match feed.playlist_id() {
            Some(id) => Some(FeedId::Playlist(id)),
            None => feed.channel_id().map(FeedId::Channel),
        };
        Feed { id, title: feed.title, items, deleted }
    }
}

impl Members {
    fn video_id(&self) -> Option<VideoId> {
        let by_id = || VideoId::bare(self.id.strip_prefix("yt:video:")?);
        let by_link = || self.parsed_links().find_map(|link| link.video);
        VideoId::bare(&self.video).or_else(by_id).or_else(by_link)
    }

    fn playlist_id(&self) -> Option<PlaylistId> {
        let by_id = || PlaylistId::bare(self.id.strip_prefix("yt:playlist:")?);
        PlaylistId::bare(&self.playlist).or_else(by_id)
    }

    /// Since August 2022, feeds write the ids of channels without `UC`, or leave them out.
    fn channel_id(&self) -> Option<ChannelId> {
        let any = |id: &str| ChannelId::bare(id).or_else(|| ChannelId::bare(&format!("UC{id}")));
        let by_id = || any(self.id.strip_prefix("yt:channel:")?);
        let by_link = || self.parsed_links().find_map(|link| link.channel.and_then(id_of));
        // The link of a feed to itself, the only one with an id in a notification.
        let by_self = || {
            let queries = self.links.iter().filter_map(|link| link.split_once("channel_id="));
            queries.map(|(_, id)| id.split('&').next().unwrap_or(id)).find_map(any)
        };
        any(&self.channel).or_else(by_id).or_else(by_link).or_else(by_self)
    }

    fn parsed_links(&self) -> impl Iterator<Item = Link> {
        self.links.iter().filter_map(|link| Link::parse(link).ok())
    }
}

fn id_of(channel: ChannelRef) -> Option<ChannelId> {
    match channel {
        ChannelRef::Id(id) => Some(id),
        _ => None,
    }
}
