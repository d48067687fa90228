//! `playlistItems.list`

use super::error::ApiError;
use super::page::{Page, counted};
use super::parts::{Parts, bare};
use super::{Answer, thumbnails};
use crate::hash::hash;
use crate::ident::base64url;
use crate::query::Query;
use crate::quirk::PlaylistQuirk as Q;
use crate::token::Pager;
use crate::world::World;
use crate::world::clock;
use crate::world::playlist::{Entry, Playlist, State};
use crate::world::video::Video;
use serde_json::{Value, json};

const PARTS: &[&str] = &["contentDetails", "snippet", "status"];
/// The fractions of a second that occur within one list.
const FRACTIONS: [&str; 5] = ["", ".212", ".1344", ".69804", ".776363"];

pub(super) fn list(world: &World, query: &Query) -> Result<Answer, ApiError> {
    let parts = Parts::read(query, PARTS)?;
    let size = query.number("maxResults", 5, 0..=50)?;
    let id = query
        .get("playlistId")
        .ok_or_else(|| ApiError::missing_filter("id, idParam, playlistId"))?;
    let list = world.playlist(id).ok_or_else(|| ApiError::by_reason("playlistNotFound"))?;
    match list.quirk {
        Some(Q::Private) => return Err(ApiError::by_reason("playlistItemsNotAccessible")),
        Some(Q::Forbidden(reason)) => return Err(ApiError::by_reason(reason)),
        _ => {}
    }
    let page = Page::read(query, Pager::medium(&list.id), size, list.size)?;
    let entries =
        page.range().map(|i| (i, world.entry(&list, i))).filter(|(_, entry)| !entry.withheld);
    let items = entries.map(|(i, entry)| item(world, &parts, &list, i, entry)).collect();
    let mut body = counted("playlistItem", items, list.size, size);
    page.link(&mut body);
    if list.quirk == Some(Q::TokenLoop) && page.start > 0 {
        body["nextPageToken"] = page.token_of_itself();
    }
    Ok(Answer::new(body))
}

/// An entry with all data that an answer may contain.
struct Row<'a> {
    list: &'a Playlist,
    position: u32,
    entry: Entry,
    video_id: String,
    /// The video of a public entry; `None` if it has been removed.
    video: Option<Video>,
}

fn item(world: &World, parts: &Parts<'_>, list: &Playlist, position: u32, entry: Entry) -> Value {
    let shown = entry.state == State::Public && list.quirk != Some(Q::BareItems);
    let video = if shown { world.video(entry.video) } else { None };
    let row = Row { list, position, entry, video_id: world.video_id(entry.video), video };
    let id = row.id();
    if list.quirk == Some(Q::BareItems) {
        return Value::Object(bare(world, "playlistItem", &id));
    }
    parts.item(world, "playlistItem", &id, |part| match part {
        "snippet" => Some(row.snippet()),
        "contentDetails" => Some(row.content_details()),
        "status" => {
            let hidden = entry.state == State::Private;
            Some(json!({"privacyStatus": if hidden { "private" } else { "public" }}))
        }
        _ => None,
    })
}

impl Row<'_> {
    /// base64 of the playlist id, a dot, and a part that is unique to this entry.
    fn id(&self) -> String {
        let own = match self.list.id.starts_with("UU") {
            true => self.video_id.clone(),
            false => format!("{:016X}", hash(1, &self.list.id, &[u64::from(self.position)])),
        };
        base64url(format!("{}.{own}", self.list.id).as_bytes())
    }

    fn snippet(&self) -> Value {
        let fraction = match self.list.quirk {
            Some(Q::Fractions) => FRACTIONS[self.position as usize % FRACTIONS.len()],
            _ => "",
        };
        let (title, description) = self.texts();
        let mut snippet = json!({
            "publishedAt": clock::iso_with(self.entry.added, fraction),
            // The owner of the playlist, not of the video.
            "channelId": self.list.channel.id,
            "channelTitle": self.list.channel.title,
            "title": title,
            "description": description,
            "playlistId": self.list.id,
            "position": self.position,
            "resourceId": {"kind": "youtube#video", "videoId": self.video_id},
            "thumbnails": {},
        });
        if self.entry.state == State::Public {
            let sizes = self.video.as_ref().map_or(3, |video| video.thumbnails);
            snippet["thumbnails"] = thumbnails::video(&self.video_id, sizes, false);
            if !matches!(self.list.quirk, Some(Q::NoOwner | Q::NoVideoDate)) {
                let owner = self.video.as_ref().map_or(&self.list.channel, |video| &video.channel);
                snippet["videoOwnerChannelTitle"] = owner.title.as_str().into();
                snippet["videoOwnerChannelId"] = owner.id.as_str().into();
            }
        }
        snippet
    }

    fn texts(&self) -> (&str, &str) {
        match (self.entry.state, &self.video) {
            (State::Private, _) => ("Private video", "This video is private."),
            (State::Deleted | State::Unpublished, _) => {
                ("Deleted video", "This video is unavailable.")
            }
            (State::Public, Some(video)) => (&video.title, &video.description),
            (State::Public, None) => ("Here a moment ago", ""),
        }
    }

    fn content_details(&self) -> Value {
        let mut details = json!({"videoId": self.video_id});
        if self.entry.state == State::Public && self.list.quirk != Some(Q::NoVideoDate) {
            let published = self.video.as_ref().map_or(self.list.created, |video| video.published);
            details["videoPublishedAt"] = clock::iso(published).into();
        }
        details
    }
}
