//! A feed as Atom, with the platform's elements and indentation.

use crate::hash::hash;
use crate::quirk::FeedQuirk;
use crate::world::channel::Channel;
use crate::world::clock::{self, DAY, Seconds};
use crate::world::playlist::Playlist;
use crate::world::video::{Broadcast, Video};

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns:yt=\"http://www.youtube.com/xml/schemas/2015\" xmlns:media=\"http://search.yahoo.com/mrss/\" xmlns=\"http://www.w3.org/2005/Atom\">\n";

/// A feed.
pub(super) struct Feed<'a> {
    /// The elements that identify the feed.
    ids: String,
    title: &'a str,
    owner: &'a Channel,
    /// Whether the feed links to its channel. The feed of a playlist does not.
    has_link: bool,
    published: Seconds,
    videos: Vec<Video>,
}

impl<'a> Feed<'a> {
    pub(super) fn of_channel(
        channel: &'a Channel,
        videos: Vec<Video>,
        quirk: Option<FeedQuirk>,
    ) -> Self {
        // Since August 2022 the feed's own id lacks the prefix, while entries have it.
        let id = match quirk {
            Some(FeedQuirk::EmptyId) => "",
            Some(FeedQuirk::PrefixedId) => &channel.id,
            _ => &channel.id[2..],
        };
        Self {
            ids: format!(" <id>yt:channel:{id}</id>\n <yt:channelId>{id}</yt:channelId>\n"),
            title: &channel.title,
            owner: channel,
            has_link: true,
            published: channel.created,
            videos,
        }
    }

    pub(super) fn of_playlist(list: &'a Playlist, videos: Vec<Video>) -> Self {
        let (id, owner) = (&list.id, &list.channel.id);
        Self {
            ids: format!(
                " <id>yt:playlist:{id}</id>\n <yt:playlistId>{id}</yt:playlistId>\n <yt:channelId>{owner}</yt:channelId>\n"
            ),
            title: &list.title,
            owner: &list.channel,
            has_link: false,
            published: list.created,
            videos,
        }
    }

    /// The feed; `query` is the query of its own URL.
    pub(super) fn to_xml(&self, query: &str) -> String {
        let entries: String = self.videos.iter().map(entry).collect();
        format!("{}{entries}</feed>\n", self.head(query))
    }

    pub(super) fn without_entries(&self, query: &str) -> String {
        format!("{}</feed>\n", self.head(query))
    }

    fn head(&self, query: &str) -> String {
        let url = channel_url(self.owner);
        let link = match self.has_link {
            true => format!(" <link rel=\"alternate\" href=\"{url}\"/>\n"),
            false => String::new(),
        };
        format!(
            "{HEAD} <link rel=\"self\" href=\"http://www.youtube.com/feeds/videos.xml?{}\"/>\n{} <title>{}</title>\n{link}{} <published>{}</published>\n",
            escape(query),
            self.ids,
            escape(self.title),
            author(self.owner, " "),
            time(self.published),
        )
    }
}

fn channel_url(channel: &Channel) -> String {
    format!("https://www.youtube.com/channel/{}", channel.id)
}

fn author(channel: &Channel, indent: &str) -> String {
    let (name, url) = (escape(&channel.title), channel_url(channel));
    format!(
        "{indent}<author>\n{indent} <name>{name}</name>\n{indent} <uri>{url}</uri>\n{indent}</author>\n"
    )
}

fn entry(video: &Video) -> String {
    let (id, title) = (&video.id, escape(&video.title));
    let draw = hash(0, id, &[]);
    let path = if video.is_short() { "shorts/" } else { "watch?v=" };
    let updated = video.published + (draw % (5 * DAY as u64)) as Seconds;
    let views = if video.broadcast() == Some(Broadcast::Upcoming) { 0 } else { video.views };
    [
        " <entry>\n".to_owned(),
        format!("  <id>yt:video:{id}</id>\n  <yt:videoId>{id}</yt:videoId>\n"),
        format!("  <yt:channelId>{}</yt:channelId>\n", video.channel.id),
        format!("  <title>{title}</title>\n"),
        format!("  <link rel=\"alternate\" href=\"https://www.youtube.com/{path}{id}\"/>\n"),
        author(&video.channel, "  "),
        format!("  <published>{}</published>\n", time(video.published)),
        format!("  <updated>{}</updated>\n", time(updated)),
        format!("  <media:group>\n   <media:title>{title}</media:title>\n"),
        format!("   <media:content url=\"https://www.youtube.com/v/{id}?version=3\" type=\"application/x-shockwave-flash\" width=\"640\" height=\"390\"/>\n"),
        format!("   <media:thumbnail url=\"https://i{}.ytimg.com/vi/{id}/hqdefault.jpg\" width=\"480\" height=\"360\"/>\n", 1 + draw % 4),
        format!("   <media:description>{}</media:description>\n", escape(&video.description)),
        format!("   <media:community>\n    <media:starRating count=\"{}\" average=\"5.00\" min=\"1\" max=\"5\"/>\n", video.likes),
        format!("    <media:statistics views=\"{views}\"/>\n   </media:community>\n"),
        "  </media:group>\n </entry>\n".to_owned(),
    ]
    .concat()
}

/// A time with `+00:00`, not `Z` as in the Data API.
fn time(at: Seconds) -> String {
    clock::iso(at).replace('Z', "+00:00")
}

/// Text for an element or an attribute. The platform escapes no apostrophes, and no recorded feed has a CR.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\r', "")
}
