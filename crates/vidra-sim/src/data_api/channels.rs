//! `channels.list`

use super::error::ApiError;
use super::page::counted;
use super::parts::{Parts, bare};
use super::{Answer, Style, thumbnails};
use crate::query::Query;
use crate::quirk::{self, Case, ChannelQuirk as Q};
use crate::world::World;
use crate::world::channel::Channel;
use crate::world::clock;
use serde_json::{Value, json};

const PARTS: &[&str] = &[
    "auditDetails",
    "brandingSettings",
    "contentDetails",
    "contentOwnerDetails",
    "localizations",
    "snippet",
    "statistics",
    "status",
    "topicDetails",
];

pub(super) fn list(world: &World, query: &Query) -> Result<Answer, ApiError> {
    let parts = Parts::read(query, PARTS)?;
    let per_page = query.number("maxResults", 5, 0..=50)?;
    let ids = query.list("id");
    if ids.len() > 50 {
        return Err(ApiError::too_many("id"));
    }
    let found: Vec<Channel> =
        match (ids.is_empty(), query.get("forHandle"), query.get("forUsername")) {
            (false, None, None) => ids.iter().filter_map(|id| world.channel_by_id(id)).collect(),
            (true, Some(handle), None) => world.channel_by_handle(handle).into_iter().collect(),
            (true, None, Some(name)) => world.channel_by_username(name).into_iter().collect(),
            (true, None, None) => {
                return Err(ApiError::missing_filter(
                    "id, idParam, categoryId, mine, managedByMe, forUsername, forHandle",
                ));
            }
            _ => return Err(ApiError::incompatible("id, forHandle, forUsername")),
        };
    Ok(envelope(world, &parts, &ids, found, per_page))
}

/// The answer for unknown channels: an empty list, or no list at all.
fn envelope(
    world: &World,
    parts: &Parts<'_>,
    ids: &[&str],
    mut found: Vec<Channel>,
    per_page: u32,
) -> Answer {
    let mut seen = std::collections::HashSet::new();
    found.retain(|channel| seen.insert(channel.no));
    let old = found.iter().any(|channel| channel.quirk == Some(Q::OldEra));
    let items: Vec<_> = found.iter().map(|channel| item(world, parts, channel)).collect();
    let empty = ids
        .iter()
        .any(|id| quirk::find(id).is_some_and(|(_, q)| q.case == Case::Channel(Q::EmptyItems)));
    let (count, nothing) = (items.len() as u32, items.is_empty());
    let mut body = counted("channel", items, count, if nothing && empty { 0 } else { per_page });
    if nothing && !empty {
        body.as_object_mut().and_then(|members| members.remove("items"));
    }
    Answer::styled(body, if old { Style::Of2019 } else { Style::Today })
}

fn item(world: &World, parts: &Parts<'_>, channel: &Channel) -> Value {
    if channel.quirk == Some(Q::Bare) {
        return Value::Object(bare(world, "channel", &channel.id));
    }
    parts.item(world, "channel", &channel.id, |part| match part {
        "snippet" => Some(snippet(world, channel)),
        "contentDetails" => Some(content_details(channel)),
        "statistics" => Some(statistics(world, channel)),
        "status" => Some(json!({"privacyStatus": "public", "isLinked": true, "longUploadsStatus": "longUploadsUnspecified", "madeForKids": false})),
        "topicDetails" => topics(channel),
        "brandingSettings" => Some(branding(world, channel)),
        "localizations" => (channel.no.is_multiple_of(6)).then(|| json!({"en": {"title": channel.title, "description": channel.about}})),
        _ => None,
    })
}

fn snippet(world: &World, channel: &Channel) -> Value {
    let mut snippet = json!({
        "title": channel.title,
        "description": channel.about,
        "publishedAt": clock::iso(channel.created),
        "thumbnails": thumbnails::channel(world, &channel.id),
        "localized": {"title": channel.title, "description": channel.about},
    });
    if let Some(country) = channel.country {
        snippet["country"] = country.into();
    }
    if let Some(handle) = &channel.handle {
        let at = if channel.quirk == Some(Q::UrlWithoutAt) { "" } else { "@" };
        snippet["customUrl"] = format!("{at}{}", handle.to_lowercase()).into();
    }
    if channel.quirk == Some(Q::NoDate) {
        snippet.as_object_mut().and_then(|members| members.remove("publishedAt"));
    }
    snippet
}

fn content_details(channel: &Channel) -> Value {
    let lists = match channel.quirk {
        Some(Q::OldEra) => {
            json!({"uploads": channel.uploads(), "watchHistory": "HL", "watchLater": "WL"})
        }
        Some(Q::LikesAbsent) => json!({"uploads": channel.uploads()}),
        _ => json!({"likes": "", "uploads": channel.uploads()}),
    };
    json!({"relatedPlaylists": lists})
}

fn statistics(world: &World, channel: &Channel) -> Value {
    let count = |n: u64| Value::from(n.to_string());
    let hidden = matches!(channel.quirk, Some(Q::HiddenSubscribers | Q::HiddenButZero));
    let mut all = json!({
        "viewCount": count(channel.views),
        "hiddenSubscriberCount": hidden,
        "videoCount": count(u64::from(world.video_count(channel))),
    });
    match channel.quirk {
        Some(Q::HiddenSubscribers) => {}
        Some(Q::HiddenButZero) => all["subscriberCount"] = count(0),
        _ => all["subscriberCount"] = count(channel.subscribers),
    }
    if channel.quirk == Some(Q::OldEra) {
        all["commentCount"] = count(0);
    }
    all
}

fn topics(channel: &Channel) -> Option<Value> {
    let categories = [
        "https://en.wikipedia.org/wiki/Hobby",
        "https://en.wikipedia.org/wiki/Lifestyle_(sociology)",
    ];
    match channel.quirk {
        Some(Q::OldEra) => Some(
            json!({"topicIds": ["/m/03glg", "/m/019_rr", "/m/03glg", "/m/019_rr"], "topicCategories": categories}),
        ),
        _ if channel.videos == 0 => None,
        _ => Some(json!({"topicIds": ["/m/03glg", "/m/019_rr"], "topicCategories": categories})),
    }
}

fn branding(world: &World, channel: &Channel) -> Value {
    let mut settings = json!({
        "title": channel.title,
        "description": channel.about,
        "keywords": "\"one two\" three",
    });
    if let Some(country) = channel.country {
        settings["country"] = country.into();
    }
    let picture = world.etag(&format!("banner/{}", channel.id));
    if channel.quirk == Some(Q::OldEra) {
        return old_branding(settings, &format!("https://yt3.ggpht.com/{picture}"));
    }
    let mut all = json!({});
    all["channel"] = settings;
    if !channel.no.is_multiple_of(7) {
        let banner = format!("https://yt3.googleusercontent.com/{picture}");
        all["image"] = json!({"bannerExternalUrl": banner});
    }
    all
}

/// The banner sizes and settings of 2019, which the platform has removed since.
fn old_branding(mut settings: Value, picture: &str) -> Value {
    const BANNERS: [(&str, u32); 14] = [
        ("", 1060),
        ("Mobile", 640),
        ("MobileLow", 320),
        ("MobileMediumHd", 960),
        ("MobileHd", 1280),
        ("MobileExtraHd", 1440),
        ("Tablet", 1707),
        ("TabletLow", 1138),
        ("TabletHd", 2276),
        ("TabletExtraHd", 2560),
        ("Tv", 2120),
        ("TvLow", 854),
        ("TvMedium", 1280),
        ("TvHigh", 1920),
    ];
    settings["defaultTab"] = "Featured".into();
    settings["trackingAnalyticsAccountId"] = "UA-0000000-1".into();
    settings["moderateComments"] = true.into();
    settings["showRelatedChannels"] = true.into();
    settings["showBrowseView"] = true.into();
    settings["featuredChannelsTitle"] = "Featured Channels".into();
    settings["featuredChannelsUrls"] = json!(["UCquirkNoCountry00000000"]);
    settings["unsubscribedTrailer"] = "quirkOldEra".into();
    settings["profileColor"] = "#000000".into();
    let banner = |(name, width): &(&str, u32)| {
        (format!("banner{name}ImageUrl"), Value::from(format!("{picture}=w{width}-nd-rj")))
    };
    let banners: serde_json::Map<_, _> = BANNERS.iter().map(banner).collect();
    let hints =
        json!([{"property": "channel.featured_tab.template.string", "value": "Everything"}]);
    let mut all = json!({"image": banners, "hints": hints});
    all["channel"] = settings;
    all
}
