//! Parses the player's response: the caption tracks, or the reason why there are none.

mod wire;

use serde::{Deserialize, Serialize};

use super::query::CaptionKind;
use crate::chapter::Chapter;
use crate::error::{Reason, Result};
use crate::format::Moment;
use crate::ident::{ChannelId, VideoId};

/// A caption track without its URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CaptionTrack {
    /// The language's BCP 47 code.
    #[cfg_attr(feature = "openapi", schema(example = "en"))]
    pub language_code: String,
    /// The English name of the language, as YouTube shows it.
    #[cfg_attr(feature = "openapi", schema(example = "English (auto-generated)"))]
    pub language_name: String,
    /// Whether the captions come from speech recognition.
    pub is_auto_generated: bool,
    /// Whether YouTube can translate the track.
    pub is_translatable: bool,
}

/// A caption track with its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Track {
    /// The language's BCP 47 code.
    pub language_code: String,
    /// The name of the language, in the language of the player request.
    pub language_name: String,
    /// Whether the captions come from speech recognition.
    pub is_auto_generated: bool,
    /// Whether the track contains only signs and foreign words.
    pub is_forced: bool,
    /// Whether YouTube can translate the track.
    pub is_translatable: bool,
    /// The URL of the captions. It comes from YouTube's response: verify the host before you send a
    /// request.
    pub base_url: String,
}

/// The captions of a playable video, from the response of `/youtubei/v1/player`.
///
/// ```
/// use vidra::transcript::Player;
/// use vidra::{Languages, VideoId};
///
/// let body = br#"{"playabilityStatus": {"status": "OK"}, "captions": {
///     "playerCaptionsTracklistRenderer": {"captionTracks": [
///         {"baseUrl": "https://www.youtube.com/api/timedtext?v=dQw4w9WgXcQ&lang=en",
///          "languageCode": "en", "name": {"simpleText": "English"}, "isTranslatable": true}
///     ]}}}"#;
/// let player = Player::parse(body, VideoId::parse("dQw4w9WgXcQ")?)?;
/// let best = player.candidates(&Languages::parse("de,en").unwrap(), None)[0];
/// assert_eq!((&*best.language_code, best.is_auto_generated), ("en", false));
/// # Ok::<_, vidra::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Player {
    pub(super) tracks: Vec<Track>,
    /// The track that YouTube shows by default.
    pub(super) default_track: Option<usize>,
    /// The language of the default audio track, if YouTube reports it.
    pub(super) audio_language: Option<String>,
    /// The codes and names of the languages that YouTube translates to.
    pub(super) translations: Vec<(String, String)>,
    /// The data of the video in the response.
    pub(super) video: Box<PlayedVideo>,
}

/// The data of a video in the player's response. Missing text is empty, and a missing length is 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PlayedVideo {
    pub(super) title: String,
    pub(super) channel: String,
    pub(super) channel_id: Option<ChannelId>,
    pub(super) published_at: Option<Moment>,
    /// The length in seconds.
    pub(super) duration: u64,
    pub(super) chapters: Vec<Chapter>,
    pub(super) description: String,
}

/// The meaning of a player response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlayerAnswer {
    /// The video has captions.
    Captions(Player),
    /// The result is the same for every player client.
    Final(Reason),
    /// The result is the same for every player client. The message is more specific than the
    /// reason's own.
    FinalWithMessage(Reason, &'static str),
    /// Another player client may get a better response.
    TryNextClient(Reason),
}

/// The maximum length of a language code. Every cue of a transcript has it, so that a long one would take much memory.
const MAX_CODE_BYTES: usize = 64;

/// The maximum length of the name of a track.
const MAX_NAME_BYTES: usize = 1_000;

impl Track {
    fn from_wire(track: wire::CaptionTrack) -> Option<Self> {
        let language_code = track.language_code.filter(|code| code.len() <= MAX_CODE_BYTES)?;
        let name = track.name.map(|name| name.joined()).filter(|it| it.len() <= MAX_NAME_BYTES);
        let kind = track.kind.unwrap_or_default();
        let automatic = kind == "asr" || track.vss_id.is_some_and(|id| id.starts_with("a."));
        Some(Self {
            language_name: name.unwrap_or_else(|| language_code.clone()),
            is_auto_generated: automatic,
            is_forced: kind == "frc",
            is_translatable: track.is_translatable.unwrap_or(false),
            base_url: track.base_url?,
            language_code,
        })
    }

    /// How the captions were made.
    pub fn kind(&self) -> CaptionKind {
        if self.is_auto_generated { CaptionKind::Auto } else { CaptionKind::Manual }
    }

    /// The track without its URL.
    pub fn listed(&self) -> CaptionTrack {
        CaptionTrack {
            language_code: self.language_code.clone(),
            language_name: self.language_name.clone(),
            is_auto_generated: self.is_auto_generated,
            is_translatable: self.is_translatable,
        }
    }
}

const NO_RECORDING: &str = "Broadcast is over and there is no recording of it";

impl PlayerAnswer {
    /// Interprets `body`, the response to a player request for `id`.
    pub(crate) fn parse(body: &[u8], id: VideoId) -> Self {
        match serde_json::from_slice(body) {
            Ok(answer) => read(answer, id),
            Err(_) => Self::TryNextClient(Reason::PlatformChanged),
        }
    }
}

fn read(answer: wire::Player, id: VideoId) -> PlayerAnswer {
    let status = answer.playability_status.unwrap_or_default();
    let words = status.words();
    match status.status.as_deref() {
        Some("OK") | None => {}
        Some(name) => return refused(name, &status, &words),
    }
    let details = answer.video_details.unwrap_or_default();
    if details.video_id.as_ref().is_some_and(|shown| shown != id.as_str()) {
        // Outdated players and blocked addresses get another video.
        return PlayerAnswer::TryNextClient(Reason::PlatformChanged);
    }
    let is_live = details.is_live == Some(true);
    let captions = answer.captions.unwrap_or_default();
    let tracklist = captions.player_captions_tracklist_renderer.unwrap_or_default();
    let lists_any = tracklist.caption_tracks.as_ref().is_some_and(|tracks| !tracks.is_empty());
    let player = Player::from_wire(tracklist);
    match player.tracks.is_empty() {
        false => {
            let video = PlayedVideo::from_wire(details, answer.microformat.unwrap_or_default());
            PlayerAnswer::Captions(Player { video: Box::new(video), ..player })
        }
        // The response lists tracks, but none of them is usable.
        true if lists_any => PlayerAnswer::TryNextClient(Reason::PlatformChanged),
        true if captions.player_captions_renderer.is_some() => {
            PlayerAnswer::Final(Reason::NotEnded)
        }
        true if is_live => PlayerAnswer::Final(Reason::NotEnded),
        // Only a complete response proves that there are no captions.
        true if status.status.is_some() => PlayerAnswer::Final(Reason::CaptionsDisabled),
        true => PlayerAnswer::TryNextClient(Reason::PlatformChanged),
    }
}

impl Player {
    /// Parses the response to a player request for `id`.
    ///
    /// # Errors
    ///
    /// Any [`Reason`], for example [`Reason::CaptionsDisabled`] if the video has no captions.
    pub fn parse(body: &[u8], id: VideoId) -> Result<Self> {
        match PlayerAnswer::parse(body, id) {
            PlayerAnswer::Captions(player) => Ok(player),
            PlayerAnswer::Final(reason) | PlayerAnswer::TryNextClient(reason) => {
                Err(reason.error(id))
            }
            PlayerAnswer::FinalWithMessage(reason, words) => Err(reason.error_saying(words, id)),
        }
    }

    /// All tracks, in the order of the response.
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// The English name of a language that YouTube translates to. `None` if the response does not have it.
    pub(super) fn translation_name(&self, code: &str) -> Option<&str> {
        let found = self.translations.iter().find(|(known, _)| known.eq_ignore_ascii_case(code));
        found.map(|(_, name)| name.as_str())
    }

    fn from_wire(renderer: wire::Tracklist) -> Self {
        let audio_tracks = renderer.audio_tracks.unwrap_or_default();
        let index =
            renderer.default_audio_track_index.and_then(|index| usize::try_from(index).ok());
        let audio = audio_tracks.into_iter().nth(index.unwrap_or(0)).unwrap_or_default();
        let default_track =
            audio.default_caption_track_index.and_then(|index| index.try_into().ok());
        // `en-US.4`: the language code, and YouTube's number for the kind of audio.
        let audio_language = audio.audio_track_id.as_deref().and_then(|id| id.split('.').next());
        let translations = renderer.translation_languages;
        let named = |language: wire::TranslationLanguage| {
            Some((language.language_code?, language.language_name?.joined()))
        };
        let tracks = renderer.caption_tracks.unwrap_or_default();
        // The default track is an index, so an unusable track still counts as a position.
        let tracks: Vec<Option<Track>> = tracks.into_iter().map(Track::from_wire).collect();
        let before = |index: usize| tracks[..index.min(tracks.len())].iter().flatten().count();
        let default_track = default_track
            .filter(|index| tracks.get(*index).is_some_and(Option::is_some))
            .map(before);
        Self {
            default_track,
            audio_language: audio_language.map(str::to_owned),
            tracks: tracks.into_iter().flatten().collect(),
            translations: translations.into_iter().flatten().filter_map(named).collect(),
            video: Box::default(),
        }
    }
}

impl PlayedVideo {
    fn from_wire(details: wire::VideoDetails, microformat: wire::Microformat) -> Self {
        let page = microformat.player_microformat_renderer.unwrap_or_default();
        let published = Moment::parse(page.publish_date.as_deref());
        let duration = details.length_seconds.unwrap_or_default();
        let description = details.short_description.unwrap_or_default();
        Self {
            title: details.title.unwrap_or_default(),
            channel: details.author.unwrap_or_default(),
            channel_id: details.channel_id.as_deref().and_then(ChannelId::bare),
            published_at: published.timestamp().map(|_| published),
            duration,
            chapters: Chapter::parse_all(&description, duration),
            description,
        }
    }
}

/// Maps a refusal to its reason. Several wordings mean the same, and one status has many meanings.
fn refused(status: &str, details: &wire::Playability, words: &str) -> PlayerAnswer {
    let says = |any: &[&str]| any.iter().any(|phrase| words.contains(phrase));
    let age_gate = details.desktop_legacy_age_gate_reason.is_some();
    if details.asks_captcha() || says(&["not a bot"]) {
        return PlayerAnswer::Final(Reason::Blocked);
    }
    if says(&["isn't available, try again later"]) {
        return PlayerAnswer::Final(Reason::UpstreamRateLimited);
    }
    if says(&["on this app", "on this device", "latest version of youtube"]) {
        // This message concerns an outdated player and not the video.
        return PlayerAnswer::TryNextClient(Reason::PlatformChanged);
    }
    if says(&["private"]) {
        return PlayerAnswer::Final(Reason::VideoPrivate);
    }
    if age_gate
        || status.starts_with("AGE_")
        // Our request already confirms the content warning, so only the age gate remains.
        || status == "CONTENT_CHECK_REQUIRED"
        || says(&["confirm your age", "age-restricted", "inappropriate", "please sign in"])
    {
        // An embedded player passes some age gates.
        return PlayerAnswer::TryNextClient(Reason::AgeRestricted);
    }
    if says(&["country", "your region"]) {
        return PlayerAnswer::Final(Reason::RegionBlocked);
    }
    if says(&["members", "membership", "premium", "purchase", "requires payment"]) {
        return PlayerAnswer::Final(Reason::MembersOnly);
    }
    if says(&["recording is not available", "event has ended", "stream has ended"]) {
        return PlayerAnswer::FinalWithMessage(Reason::Unplayable, NO_RECORDING);
    }
    if status == "LIVE_STREAM_OFFLINE" || says(&["will begin", "premieres in"]) {
        return PlayerAnswer::Final(Reason::NotStarted);
    }
    match status {
        "ERROR" => PlayerAnswer::Final(Reason::VideoNotFound),
        "UNPLAYABLE" if words.is_empty() || says(&["unavailable", "not available", "removed"]) => {
            PlayerAnswer::TryNextClient(Reason::VideoNotFound)
        }
        "UNPLAYABLE" | "LOGIN_REQUIRED" => PlayerAnswer::TryNextClient(Reason::Unplayable),
        _ => PlayerAnswer::TryNextClient(Reason::PlatformChanged),
    }
}
