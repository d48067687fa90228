//! `captions.playerCaptionsTracklistRenderer`

use super::Asker;
use crate::quirk::{BadUrl, Scene, Tracks};
use crate::web::client::Family;
use crate::web::timed::signature;
use crate::world::World;
use crate::world::caption::{FEW, LANGUAGES, Maker, Track, english_name};
use crate::world::video::Video;
use serde_json::{Value, json};

/// The `captions` member; `None` where there is none.
pub(super) fn captions(world: &World, asker: &Asker<'_>, video: &Video) -> Option<Value> {
    if video.scene == Some(Scene::Tracks(Tracks::NoList)) {
        return Some(json!({"playerCaptionsTracklistRenderer": {}}));
    }
    let tracks = world.tracks(video);
    if tracks.is_empty() {
        return None;
    }
    let staged = staged(video);
    let listed: Vec<_> = tracks.iter().map(|track| entry(world, asker, video, track)).collect();
    let mut list = json!({"captionTracks": listed});
    if staged == Some(Tracks::Minimal) {
        return Some(json!({"playerCaptionsTracklistRenderer": list}));
    }
    (list["audioTracks"], list["defaultAudioTrackIndex"]) = audio(asker, &tracks, staged);
    if staged != Some(Tracks::NoTranslations) {
        list["translationLanguages"] = translations(asker, staged);
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

fn entry(world: &World, asker: &Asker<'_>, video: &Video, track: &Track) -> Value {
    let mut name = english_name(track.language).to_owned();
    if track.maker == Maker::Machine {
        name.push_str(" (auto-generated)");
    } else if !track.name.is_empty() {
        name = format!("{name} - {}", track.name);
    }
    let mut entry = json!({
        "name": asker.client.text(&name),
        "languageCode": track.language,
    });
    if let Some(url) = base_url(world, asker, video, track) {
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

/// Where the text of a track is; `None` where the platform forgot to say.
fn base_url(world: &World, asker: &Asker<'_>, video: &Video, track: &Track) -> Option<String> {
    let mut query = signature::signed(asker, &video.id, exp(world, asker, video));
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
    if asker.client.family == Family::Android {
        query.push_str("&fmt=srv3");
    }
    let origin = asker.origin;
    Some(match video.scene {
        Some(Scene::Tracks(Tracks::Relative)) => format!("/api/timedtext?{query}"),
        Some(Scene::Url(BadUrl::Fixed(url))) => url.to_owned(),
        Some(Scene::Url(BadUrl::At(host))) => format!("{host}/api/timedtext?{query}"),
        Some(Scene::Url(BadUrl::Path(path))) => format!("{origin}{path}?{query}"),
        Some(Scene::Url(BadUrl::Absent)) => return None,
        _ => format!("{origin}/api/timedtext?{query}"),
    })
}

/// The experiments a URL takes part in: `xpe` and `xpv` want a token, others want nothing.
fn exp(world: &World, asker: &Asker<'_>, video: &Video) -> &'static str {
    match staged(video) {
        Some(Tracks::NeedsPot) => "xpe",
        Some(Tracks::ExpList) => "foo,xpv",
        _ if asker.client.name == "WEB" && world.guarded_for_web(video) => "xpe",
        _ if asker.client.family == Family::Web => "xbt",
        _ => "",
    }
}

/// The audio tracks and which of them is the default.
fn audio(asker: &Asker<'_>, tracks: &[Track], staged: Option<Tracks>) -> (Value, Value) {
    // Tracks made by people first; what was generated comes last.
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
    if matches!(asker.client.family, Family::Web | Family::Tv) {
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

fn translations(asker: &Asker<'_>, staged: Option<Tracks>) -> Value {
    let few = staged == Some(Tracks::Translations18);
    let language = |code: &str| {
        let mut entry =
            json!({"languageCode": code, "languageName": asker.client.text(english_name(code))});
        if few {
            entry["translationSourceTrackIndices"] = json!([0]);
        }
        entry
    };
    match asker.client.lists_all_languages() && !few {
        true => LANGUAGES.iter().map(|(code, _)| language(code)).collect(),
        false => FEW.iter().map(|code| language(code)).collect(),
    }
}
