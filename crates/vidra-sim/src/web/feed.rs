//! `GET /feeds/videos.xml`: the newest videos of a channel, or the first of a playlist, as Atom.

mod atom;

use super::HTML;
use crate::call::Call;
use crate::platform::Platform;
use crate::quirk::{ChannelQuirk, FeedQuirk, PlaylistQuirk};
use crate::response::reply;
use crate::world::World;
use crate::world::channel::Channel;
use crate::world::playlist::{Playlist, State};
use crate::world::video::Video;
use atom::Feed;
use axum::body::Body;
use http::{Method, Response};

const XML: &str = "text/xml; charset=UTF-8";
/// The most entries of a feed.
const ENTRIES: u32 = 15;
/// How many of the newest videos a stale feed lacks.
const LAG: u32 = 3;

pub(super) fn answer(platform: &Platform, call: &Call) -> Response<Body> {
    if call.head.method != Method::GET {
        return page(405, call);
    }
    let world = platform.world();
    let (channel_id, playlist_id) = (call.query.get("channel_id"), call.query.get("playlist_id"));
    match (channel_id, playlist_id, call.query.get("user")) {
        (Some(id), None, None) => of_channel(platform, call, world.channel_by_id(id)),
        (None, Some(id), None) => of_playlist(platform, call, world.playlist(id)),
        (None, None, Some(name)) => of_channel(platform, call, world.channel_by_username(name)),
        _ => page(400, call),
    }
}

fn of_channel(platform: &Platform, call: &Call, channel: Option<Channel>) -> Response<Body> {
    let Some(channel) = channel else { return page(404, call) };
    let quirk = match channel.quirk {
        Some(ChannelQuirk::Feed(quirk)) => Some(quirk),
        _ => None,
    };
    let skipped = if quirk == Some(FeedQuirk::Stale) { LAG } else { 0 };
    let world = platform.world();
    let videos = (skipped..world.video_count(&channel).min(skipped + ENTRIES))
        .filter_map(|at| world.video((channel.no, world.upload_index(channel.no, at))))
        .collect();
    render(platform, call, quirk, &Feed::of_channel(&channel, videos, quirk))
}

fn of_playlist(platform: &Platform, call: &Call, list: Option<Playlist>) -> Response<Body> {
    let quirk = match list.as_ref().and_then(|list| list.quirk) {
        Some(PlaylistQuirk::Feed(quirk)) => Some(quirk),
        Some(PlaylistQuirk::Private | PlaylistQuirk::Forbidden(_)) => return page(404, call),
        _ => None,
    };
    let Some(list) = list else { return page(404, call) };
    let videos = first_public(&platform.world(), &list);
    render(platform, call, quirk, &Feed::of_playlist(&list, videos))
}

/// The first entries in the order of the playlist. A feed leaves out private and deleted videos.
fn first_public(world: &World, list: &Playlist) -> Vec<Video> {
    let entries = (0..list.size).map(|i| world.entry(list, i));
    let public = entries.filter(|entry| entry.state == State::Public && !entry.withheld);
    public.filter_map(|entry| world.video(entry.video)).take(ENTRIES as usize).collect()
}

fn render(
    platform: &Platform,
    call: &Call,
    quirk: Option<FeedQuirk>,
    feed: &Feed<'_>,
) -> Response<Body> {
    let own = call.head.uri.query().unwrap_or_default();
    let whole = || feed.to_xml(own);
    let text = match quirk {
        Some(FeedQuirk::Status(status)) => return page(status, call),
        Some(FeedQuirk::StatusTimes(status, times)) if platform.count_call(call) <= times => {
            return page(status, call);
        }
        Some(FeedQuirk::Html) => return page(200, call),
        Some(FeedQuirk::NoEntries) => feed.without_entries(own),
        Some(FeedQuirk::Truncated) => {
            let whole = whole();
            let middle = whole.rfind("<media:description>").unwrap_or(whole.len() / 2);
            whole[..middle].to_owned()
        }
        Some(FeedQuirk::LeadingNewline) => format!("\n{}", whole()),
        Some(FeedQuirk::Doctype) => whole().replacen(
            "?>\n",
            "?>\n<!DOCTYPE feed [<!ENTITY who SYSTEM \"file:///etc/passwd\">]>\n",
            1,
        ),
        _ => whole(),
    };
    reply(200, XML, text.into())
}

/// An HTML page in place of a feed.
fn page(status: u16, call: &Call) -> Response<Body> {
    let path = call.head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let path = atom::escape(path);
    let (title, text) = match status {
        200 => ("Before you continue to YouTube", "<p>Sign in</p>".to_owned()),
        404 => (
            "Error 404 (Not Found)!!1",
            format!(
                "<p><b>404.</b> <ins>That’s an error.</ins>\n  <p>The requested URL <code>{path}</code> was not found on this server.  <ins>That’s all we know.</ins>"
            ),
        ),
        _ => (
            "Error (Server Error)!!1",
            format!(
                "<p><b>{status}.</b> <ins>That’s an error.</ins>\n  <p>Please try again later."
            ),
        ),
    };
    let body = format!(
        "<!DOCTYPE html>\n<html lang=en>\n  <meta charset=utf-8>\n  <title>{title}</title>\n  <a href=//www.google.com/><span id=logo aria-label=Google></span></a>\n  {text}\n"
    );
    reply(status, HTML, body.into())
}
