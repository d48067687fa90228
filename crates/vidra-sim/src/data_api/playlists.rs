//! `playlists.list`

use super::error::ApiError;
use super::page::{Page, counted};
use super::parts::Parts;
use super::{Answer, thumbnails};
use crate::query::Query;
use crate::quirk::{self, Case, ChannelQuirk, PlaylistQuirk as Q};
use crate::token::Pager;
use crate::world::World;
use crate::world::channel::Channel;
use crate::world::clock;
use crate::world::playlist::{Playlist, State};
use serde_json::{Value, json};

const PARTS: &[&str] = &["contentDetails", "localizations", "player", "snippet", "status"];

pub(super) fn list(world: &World, query: &Query) -> Result<Answer, ApiError> {
    let parts = Parts::read(query, PARTS)?;
    let size = query.number("maxResults", 5, 0..=50)?;
    let ids = query.list("id");
    match (ids.is_empty(), query.get("channelId")) {
        (false, None) => by_id(world, &parts, &ids, size),
        (true, Some(channel)) => by_channel(world, query, &parts, channel, size),
        (true, None) => Err(ApiError::missing_filter("id, idParam, channelId, mine")),
        (false, Some(_)) => Err(ApiError::incompatible("id, channelId")),
    }
}

fn by_id(world: &World, parts: &Parts<'_>, ids: &[&str], size: u32) -> Result<Answer, ApiError> {
    if ids.len() > 50 {
        return Err(ApiError::too_many("id"));
    }
    let mut items = Vec::new();
    for id in ids {
        match world.playlist(id) {
            Some(Playlist { quirk: Some(Q::Forbidden("playlistForbidden")), .. }) => {
                return Err(ApiError::by_reason("playlistForbidden"));
            }
            // A private playlist looks like one that does not exist.
            Some(Playlist { quirk: Some(Q::Private | Q::Forbidden(_)), .. }) | None => {}
            Some(list) => items.push(item(world, parts, &list)),
        }
    }
    let count = items.len() as u32;
    // Without `maxResults` there are five, also of named playlists.
    items.truncate(size as usize);
    Ok(Answer::new(counted("playlist", items, count, size)))
}

fn by_channel(
    world: &World,
    query: &Query,
    parts: &Parts<'_>,
    id: &str,
    size: u32,
) -> Result<Answer, ApiError> {
    if quirk::find(id).is_some_and(|(_, q)| q.case == Case::Channel(ChannelQuirk::ClosedPlaylists))
    {
        return Err(ApiError::by_reason("channelForbidden"));
    }
    let channel = world.channel_by_id(id).ok_or_else(|| ApiError::by_reason("channelNotFound"))?;
    let page =
        Page::read(query, Pager::short(&format!("playlists of {id}")), size, channel.playlists)?;
    let items = page
        .range()
        .filter(|no| !is_withheld(&channel, *no))
        .filter_map(|no| world.playlist_of(&channel, no))
        .map(|list| item(world, parts, &list))
        .collect();
    let mut body = counted("playlist", items, channel.playlists, size);
    page.link(&mut body);
    if channel.quirk == Some(ChannelQuirk::PlaylistLoop) && page.start > 0 {
        body["nextPageToken"] = page.token_of_itself();
    }
    Ok(Answer::new(body))
}

/// Whether a playlist is counted, but never returned.
fn is_withheld(channel: &Channel, no: u32) -> bool {
    channel.quirk == Some(ChannelQuirk::ShortPlaylistPages)
        && (no % 50 % 10 == 9 && no < 50 || (50..100).contains(&no))
}

fn item(world: &World, parts: &Parts<'_>, list: &Playlist) -> Value {
    parts.item(world, "playlist", &list.id, |part| match part {
        "snippet" => Some(snippet(world, list)),
        "contentDetails" => Some(json!({"itemCount": list.size})),
        "status" => Some(json!({"privacyStatus": if list.quirk == Some(Q::Unlisted) { "unlisted" } else { "public" }})),
        "player" => {
            let html = format!("<iframe width=\"640\" height=\"360\" src=\"http://www.youtube.com/embed/videoseries?list={}\" frameborder=\"0\" allowfullscreen></iframe>", list.id);
            Some(json!({"embedHtml": html}))
        }
        _ => None,
    })
}

fn snippet(world: &World, list: &Playlist) -> Value {
    let published = match list.quirk {
        Some(Q::Fractions) => clock::iso_with(list.created, ".98011"),
        _ => clock::iso(list.created),
    };
    let mut snippet = json!({
        "publishedAt": published,
        "channelId": list.channel.id,
        "title": list.title,
        "description": list.description,
        "thumbnails": pictures(world, list),
        "channelTitle": list.channel.title,
        "localized": {"title": list.title, "description": list.description},
    });
    match list.quirk {
        Some(Q::Tags) => snippet["tags"] = json!(["one", "two words"]),
        Some(Q::Album) => snippet["defaultLanguage"] = "en".into(),
        _ => {}
    }
    snippet
}

/// The thumbnails of the first public video; three grey ones if there is none.
pub(super) fn pictures(world: &World, list: &Playlist) -> Value {
    if matches!(list.quirk, Some(Q::Album | Q::TwoThumbnails)) {
        return thumbnails::playlist_without_default(&list.id, list.quirk == Some(Q::Album));
    }
    let mut entries = (0..list.size.min(5)).map(|i| world.entry(list, i));
    match entries.find(|entry| entry.state == State::Public) {
        Some(entry) => thumbnails::video(&world.video_id(entry.video), 5, false),
        None => {
            let grey = |width: u32, height: u32| json!({"url": "https://i.ytimg.com/img/no_thumbnail.jpg", "width": width, "height": height});
            json!({"default": grey(120, 90), "medium": grey(320, 180), "high": grey(480, 360)})
        }
    }
}
