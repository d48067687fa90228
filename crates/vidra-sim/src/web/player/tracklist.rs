//! `captions.playerCaptionsTracklistRenderer`

use super::PlayerContext;
use crate::quirk::{BadUrl, Scene, Tracks};
use crate::web::client::Family;
use crate::web::timed::signature;
use crate::world::World;
use crate::world::caption::{FEW, LANGUAGES, Maker, Track, english_name};
use crate::world::video::Video;
use serde_json::{Value, json};

/// The `captions` member, if the video has captions.
pub(super) fn captions(world: &World, player: &PlayerContext<'_>, video: &Video) -> Option<Value> {
    if video.scene == Some(Scene::Tracks(Tracks::NoList)) {
        return Some(json!({"playerCaptionsTracklistRenderer": {}}));
    }
    let tracks = world.tracks(video);
    if tracks.is_empty() {
        return None;
    }
    let staged = staged(video);
    let listed: Vec<_> = tracks.iter().map(|track| entry(world, player, video, track)).collect();
    let mut list = json!({"captionTracks": listed});
    if staged == Some(Tracks::Minimal) {
        return Some(json!({"playerCaptionsTracklistRenderer": list}));
    }
    (list["audioTracks"], list["defaultAudioTrackIndex"]) = audio(player, &tracks, staged);
    if staged != Some(Tracks::NoTranslations) {
        list["translationLanguages"] = translations(player, staged);
        list["defaultTranslationSourceTrackIndices"] = json!([0]);
    }
    Some(json!({"playerCaptionsTracklistRenderer": list}))
}

fn staged(video: &Video) -> Option<Tracks> {
    match video.scene {
        Some(Scene::Tracks(tracks)) => Some(tracks),
        _ => None,
    }
}

fn entry(world: &World, player: &PlayerContext<'_>, video: &Video, track: &Track) -> Value {
    let mut name = english_name(track.language).to_owned();
    if track.maker == Maker::Machine {
        name.push_str(" (auto-generated)");
    } else if !track.name.is_empty() {
        name = format!("{name} - {}", track.name);
    }
    let mut entry = json!({
        "name": player.client.text(&name),
        "languageCode": track.language,
    });
    if let Some(url) = base_url(world, player, video, track) {
        entry["baseUrl"] = url.into();
    }
    if let Some(kind) = track.kind() {
        entry["kind"] = kind.into();
    }
    if staged(video) == Some(Tracks::Minimal) {
        return entry;
    }
    entry["vssId"] = track.vss_id().into();
    entry["isTranslatable"] = (staged(video) != Some(Tracks::Untranslatable)).into();
    entry["trackName"] = track.name.into();
    if ["ar", "iw", "fa", "ur"].contains(&track.language) {
        entry["rtl"] = true.into();
    }
    entry
}

/// The URL of a track; `None` for a documented video without one.
fn base_url(
    world: &World,
    player: &PlayerContext<'_>,
    video: &Video,
    track: &Track,
) -> Option<String> {
    let mut query = signature::signed(player, &video.id, exp(world, player, video));
    if let Some(kind) = track.kind() {
        query.push_str(&format!("&kind={kind}"));
    }
    query.push_str(&format!("&lang={}", track.language));
    if !track.name.is_empty() {
        query.push_str(&format!("&name={}", track.name));
    }
    if let Some(variant) = track.variant {
        query.push_str(&format!("&variant={variant}"));
    }
    if player.client.family == Family::Android {
        query.push_str("&fmt=srv3");
    }
    let origin = player.origin;
    Some(match video.scene {
        Some(Scene::Tracks(Tracks::Relative)) => format!("/api/timedtext?{query}"),
        Some(Scene::Url(BadUrl::Fixed(url))) => url.to_owned(),
        Some(Scene::Url(BadUrl::At(host))) => format!("{host}/api/timedtext?{query}"),
        Some(Scene::Url(BadUrl::Path(path))) => format!("{origin}{path}?{query}"),
        Some(Scene::Url(BadUrl::Absent)) => return None,
        _ => format!("{origin}/api/timedtext?{query}"),
    })
}

/// The experiments in a URL: `xpe` and `xpv` require a token, others do not.
fn exp(world: &World, player: &PlayerContext<'_>, video: &Video) -> &'static str {
    match staged(video) {
        Some(Tracks::NeedsPot) => "xpe",
        Some(Tracks::ExpList) => "foo,xpv",
        _ if player.client.name == "WEB" && world.guarded_for_web(video) => "xpe",
        _ if player.client.family == Family::Web => "xbt",
        _ => "",
    }
}

/// The audio tracks and which of them is the default.
fn audio(player: &PlayerContext<'_>, tracks: &[Track], staged: Option<Tracks>) -> (Value, Value) {
    // Manual tracks first, generated ones last.
    let mut order: Vec<usize> = (0..tracks.len()).collect();
    order.sort_by_key(|n| tracks[*n].maker == Maker::Machine);
    let mut track = json!({"captionTrackIndices": order});
    let spoken = tracks.iter().find(|track| track.maker == Maker::Machine);
    let default = tracks.iter().position(|track| {
        track.maker == Maker::Person
            && spoken.is_none_or(|spoken| spoken.language == track.language)
    });
    if let Some(default) = default {
        track["defaultCaptionTrackIndex"] = default.into();
        track["hasDefaultTrack"] = true.into();
        track["captionsInitialState"] = "CAPTIONS_INITIAL_STATE_OFF_RECOMMENDED".into();
    }
    if matches!(player.client.family, Family::Web | Family::Tv) {
        track["visibility"] = "UNKNOWN".into();
    }
    if staged != Some(Tracks::Dubbed) {
        return (json!([track]), 0.into());
    }
    let dubbed = ["fr.3", "hi.3", "en.4", "ja.3"].map(|id| {
        let mut track = track.clone();
        track["audioTrackId"] = id.into();
        track["captionsInitialState"] = "CAPTIONS_INITIAL_STATE_ON_RECOMMENDED".into();
        track
    });
    (json!(dubbed), 2.into())
}

fn translations(player: &PlayerContext<'_>, staged: Option<Tracks>) -> Value {
    let few = staged == Some(Tracks::Translations18);
    let language = |code: &str| {
        let mut entry =
            json!({"languageCode": code, "languageName": player.client.text(english_name(code))});
        if few {
            entry["translationSourceTrackIndices"] = json!([0]);
        }
        entry
    };
    match player.client.lists_all_languages() && !few {
        true => LANGUAGES.iter().map(|(code, _)| language(code)).collect(),
        false => FEW.iter().map(|code| language(code)).collect(),
    }
}
