//! Facts about searches, feeds, charts, playlists of a channel and comment threads.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Request;
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::Value;
use vidra_sim::Simulator;

use super::{entries, get, ids_of, items_of, same};
use crate::operation::listing::{CHANNELS, COMMENTED, Listing, PLAYLISTS, REGIONS, SEARCHES};

/// The number of videos that replace a feed.
const FEED_LENGTH: usize = 15;

/// The lists in the platform's order.
#[derive(Default)]
pub(crate) struct Listings {
    /// The available videos of each search, and all that it finds.
    searches: BTreeMap<&'static str, (Vec<Item>, BTreeSet<String>)>,
    charts: BTreeMap<&'static str, Vec<Item>>,
    playlists: BTreeMap<&'static str, Vec<Item>>,
    threads: BTreeMap<&'static str, Vec<Item>>,
    /// The feed of each channel and playlist, and the videos that replace it. `None` if the platform does not serve it.
    feeds: BTreeMap<&'static str, (Option<Vec<Item>>, Vec<Item>)>,
}

/// Something in a list: its id, and its title or the text of the comment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    id: String,
    text: String,
    /// The texts of the replies that the platform sends with a thread.
    replies: Vec<String>,
}

impl Item {
    fn new(id: &Value, text: &Value) -> Self {
        let own = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self { id: own(id), text: own(text), replies: vec![] }
    }

    fn titled(item: &Value) -> Self {
        Self::new(&item["id"], &item["snippet"]["title"])
    }

    fn thread(item: &Value) -> Self {
        let text = |comment: &Value| comment["snippet"]["textOriginal"].clone();
        let replies = item["replies"]["comments"].as_array().into_iter().flatten();
        let replies = replies.map(|it| text(it).as_str().unwrap_or_default().to_owned()).collect();
        let comment = &item["snippet"]["topLevelComment"];
        Self { replies, ..Self::new(&item["id"], &text(comment)) }
    }

    fn contains(&self, word: &str) -> bool {
        let mut texts = [&self.text].into_iter().chain(&self.replies);
        texts.any(|text| text.to_lowercase().contains(word))
    }
}

impl Listings {
    pub(super) async fn read(
        sim: &Simulator,
        channel_ids: &BTreeMap<&'static str, String>,
    ) -> Self {
        let mut lists = Self::default();
        for words in SEARCHES {
            let target = format!(
                "search?part=id&type=video&maxResults=50&q={words}&order=relevance&safeSearch=moderate"
            );
            let found = get(sim, &target).await;
            let found = found["items"].as_array().cloned().unwrap_or_default();
            let ids = found.iter().filter_map(|it| it["id"]["videoId"].as_str().map(str::to_owned));
            let ids: Vec<String> = ids.collect();
            let shown = videos(sim, &ids).await.into_iter().map(|(item, _)| item).collect();
            lists.searches.insert(words, (shown, ids.into_iter().collect()));
        }
        for region in REGIONS {
            let target =
                format!("videos?part=snippet&chart=mostPopular&maxResults=50&regionCode={region}");
            lists
                .charts
                .insert(region, items_of(sim, &target).await.iter().map(Item::titled).collect());
        }
        for channel in CHANNELS {
            let id = &channel_ids[channel];
            let target = format!("playlists?part=snippet&maxResults=50&channelId={id}");
            let playlists = items_of(sim, &target).await.iter().map(Item::titled).collect();
            lists.playlists.insert(channel, playlists);
            let mut newest = entries(sim, &id.replacen("UC", "UU", 1)).await;
            newest.truncate(50);
            let mut newest = videos(sim, &newest).await;
            // Stable, as in the service: videos of one moment stay in the platform's order.
            newest.sort_by(|(_, one), (_, other)| other.cmp(one));
            lists.add_feed(channel, feed(sim, &format!("channel_id={id}")).await, newest);
        }
        for id in PLAYLISTS {
            let first: Vec<String> = entries(sim, id).await.into_iter().take(50).collect();
            let first = videos(sim, &first).await;
            lists.add_feed(id, feed(sim, &format!("playlist_id={id}")).await, first);
        }
        for video in COMMENTED {
            let target = format!(
                "commentThreads?part=snippet,replies&videoId={video}&order=time&maxResults=100&textFormat=plainText"
            );
            lists
                .threads
                .insert(video, items_of(sim, &target).await.iter().map(Item::thread).collect());
        }
        lists
    }

    fn add_feed(
        &mut self,
        of: &'static str,
        feed: Option<Vec<Item>>,
        replacement: Vec<(Item, String)>,
    ) {
        let replacement = replacement.into_iter().map(|(item, _)| item).take(FEED_LENGTH).collect();
        self.feeds.insert(of, (feed, replacement));
    }

    /// Whether a search finds a video, which may be deleted.
    pub(crate) fn finds(&self, words: &str, video: &str) -> bool {
        self.searches.get(words).is_some_and(|(_, all)| all.contains(video))
    }

    /// Whether a query for replies is about a thread of the video.
    pub(crate) fn has_thread(&self, video: &str, query: &str) -> bool {
        let threads = self.threads.get(video).into_iter().flatten();
        threads.into_iter().any(|thread| query.contains(&format!("parentId={}", thread.id)))
    }

    /// Checks that a list agrees with the platform. `Err` says what is wrong.
    pub(super) fn check(&self, listing: &Listing, json: &Value) -> Result<(), String> {
        let got = items(json)?;
        let has_more = json["nextCursor"].is_string();
        match listing {
            Listing::Search { words, limit } => {
                let (shown, _) = &self.searches[words];
                same("items", &*got, &shown[..shown.len().min(*limit)])
            }
            Listing::Chart { region, limit } => {
                is_beginning(&got, &self.charts[region], *limit, has_more)
            }
            Listing::Playlists { channel, limit } => {
                is_beginning(&got, &self.playlists[channel], *limit, has_more)
            }
            Listing::Threads { video, search, replies, limit } => {
                let is_listed = |it: &&Item| search.is_none_or(|word| it.contains(word));
                let all: Vec<Item> =
                    self.threads[video].iter().filter(is_listed).map(without_replies).collect();
                is_beginning(&got, &all, *limit, has_more)?;
                let has_all = |thread: &Value| {
                    let count = thread["replies"].as_array().map_or(0, Vec::len) as u64;
                    !replies || thread["totalReplyCount"].as_u64() == Some(count)
                };
                let threads = json["items"].as_array().into_iter().flatten();
                same("all replies", threads.into_iter().all(has_all), true)
            }
            Listing::ChannelFeed(of) | Listing::PlaylistFeed(of) => {
                let (feed, replacement) = &self.feeds[of];
                match (json["source"].as_str(), feed) {
                    (Some("feed"), Some(feed)) => same("feed", &*got, &**feed),
                    (Some("data_api"), _) => same("videos", &*got, &**replacement),
                    (source, _) => Err(format!("source: {source:?}")),
                }
            }
        }
    }

    /// Whether the platform serves the feed of a channel or playlist.
    pub(crate) fn is_served(&self, listing: &Listing) -> bool {
        match listing {
            Listing::ChannelFeed(of) | Listing::PlaylistFeed(of) => {
                self.feeds.get(of).is_some_and(|(feed, _)| feed.is_some())
            }
            _ => false,
        }
    }
}

fn without_replies(item: &Item) -> Item {
    Item { replies: vec![], ..item.clone() }
}

/// The items of an answer.
fn items(json: &Value) -> Result<Vec<Item>, String> {
    let items = json["items"].as_array().ok_or("no items")?.iter();
    Ok(items
        .map(|item| match item.get("topLevelComment") {
            Some(comment) => Item::new(&item["id"], &comment["text"]),
            None => Item::new(&item["id"], &item["title"]),
        })
        .collect())
}

/// The first page of a list may be short if a later part of the list failed, and then it has a cursor.
fn is_beginning(got: &[Item], all: &[Item], limit: usize, has_more: bool) -> Result<(), String> {
    let count = if has_more { got.len().min(limit) } else { all.len() };
    same("items", got, all.get(..count).ok_or("too many items")?)
}

/// The available videos of these, in the given order, with their times.
async fn videos(sim: &Simulator, ids: &[String]) -> Vec<(Item, String)> {
    let list = get(sim, &format!("videos?part=snippet&id={}", ids.join(","))).await;
    let shown = ids_of(&list);
    let found = ids.iter().filter_map(|id| {
        let item = &list["items"][shown.iter().position(|it| it == id)?];
        let published = item["snippet"]["publishedAt"].as_str().unwrap_or_default().to_owned();
        Some((Item::titled(item), published))
    });
    found.collect()
}

/// The entries of a feed. `None` if the platform does not serve it.
async fn feed(sim: &Simulator, query: &str) -> Option<Vec<Item>> {
    let request = Request::get(format!("http://sim/feeds/videos.xml?{query}"));
    let response = sim.call(request.body(Bytes::new()).unwrap()).await.unwrap();
    if !response.status().is_success() {
        return None;
    }
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let xml = String::from_utf8(body.to_vec()).unwrap();
    let element = |entry: &str, name: &str| {
        let (_, rest) = entry.split_once(&format!("<{name}>")).unwrap();
        let text = rest.split_once(&format!("</{name}>")).unwrap().0;
        let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
        entities.iter().fold(text.to_owned(), |text, (entity, c)| text.replace(entity, c))
    };
    let entries = xml.split("<entry>").skip(1).map(|entry| Item {
        id: element(entry, "yt:videoId"),
        text: element(entry, "title"),
        replies: vec![],
    });
    Some(entries.collect())
}
