//! A result as JSON.

use super::hits::{Form, Hit, Subject};
use crate::data_api::parts::Parts;
use crate::data_api::videos::live_content;
use crate::data_api::{playlists, thumbnails};
use crate::world::World;
use crate::world::channel::Channel;
use crate::world::clock;
use crate::world::clock::Seconds;
use serde_json::{Value, json};

/// The length from which on a description is cut.
const LONG: usize = 160;

/// The item of a result; `None` if it is only counted.
pub(super) fn item(world: &World, parts: &Parts<'_>, hit: &Hit) -> Option<Value> {
    let has_snippet = parts.has("snippet") && hit.has_snippet;
    let (kind, member, id) = match &hit.subject {
        Subject::Video(video) => ("video", "videoId", &video.id),
        Subject::Channel(channel, _) => ("channel", "channelId", &channel.id),
        Subject::Playlist(list) => ("playlist", "playlistId", &list.id),
        Subject::Withheld => return None,
    };
    // A result has a composite id, so it is not an item like the others.
    let mut item = json!({
        "kind": "youtube#searchResult",
        "etag": world.etag(&format!("search/{id}")),
        "id": {"kind": format!("youtube#{kind}"), member: id},
    });
    if let Some(snippet) = snippet(world, hit).filter(|_| has_snippet) {
        item["snippet"] = snippet;
    }
    Some(item)
}

fn snippet(world: &World, hit: &Hit) -> Option<Value> {
    let form = hit.form;
    Some(match &hit.subject {
        Subject::Video(video) => {
            let live = live_content(video);
            let sizes = if form == Form::Whole { 5 } else { 3 };
            let pictures = thumbnails::video(&video.id, sizes, live != "none");
            let texts = (video.title.as_str(), video.description.as_str());
            members(form, video.published, texts, &video.channel, (pictures, live))
        }
        Subject::Channel(channel, live) => {
            let pictures = thumbnails::channel_without_sizes(world, &channel.id);
            let texts = (channel.title.as_str(), channel.about.as_str());
            members(form, channel.created, texts, channel, (pictures, live))
        }
        Subject::Playlist(list) => {
            let pictures = playlists::pictures(world, list);
            let texts = (list.title.as_str(), list.description.as_str());
            members(form, list.created, texts, &list.channel, (pictures, "none"))
        }
        Subject::Withheld => return None,
    })
}

fn members(
    form: Form,
    published: Seconds,
    (title, description): (&str, &str),
    channel: &Channel,
    (pictures, live): (Value, &str),
) -> Value {
    let is_whole = form == Form::Whole;
    let mut snippet = json!({
        "publishedAt": clock::iso(published),
        "channelId": channel.id,
        "title": if is_whole { title.to_owned() } else { escape(title) },
        "description": if is_whole { description.to_owned() } else { excerpt(description) },
        "thumbnails": pictures,
        "channelTitle": channel.title,
        "liveBroadcastContent": live,
    });
    if form == Form::Today {
        snippet["publishTime"] = clock::iso(published).into();
    }
    snippet
}

/// Titles are escaped for HTML; descriptions and the titles of channels are not.
fn escape(title: &str) -> String {
    title
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// The beginning of a description, on one line.
fn excerpt(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONG {
        return line;
    }
    let start: String = line.chars().take(LONG).collect();
    let whole_words = start.rsplit_once(' ').map_or(start.as_str(), |(words, _)| words);
    format!("{whole_words} ...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_escaped_and_descriptions_cut() {
        assert_eq!(
            escape("Salt & 'x' \"y\" &amp;"),
            "Salt &amp; &#39;x&#39; &quot;y&quot; &amp;amp;"
        );
        assert_eq!(excerpt("one\r\n\r\ntwo  'three' & four"), "one two 'three' & four");
        let long = excerpt(&"seven77 ".repeat(40));
        assert!(long.ends_with("seven77 ...") && long.chars().count() <= LONG + 4, "{long}");
        assert!(excerpt(&"長".repeat(400)).ends_with("長 ..."));
    }
}
