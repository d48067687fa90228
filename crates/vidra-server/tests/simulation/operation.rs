//! The operations that callers perform, over a few hot and some cold keys.

pub(crate) mod listing;

use axum::http::{Request, header};
use fastrand::Rng;
use serde_json::{Value, json};
use vidra::{
    BatchQuery, CategoryQuery, ChannelRef, CommentId, CommentQuery, LanguageCode, Languages,
    Lookup, PlaylistId, TranscriptQuery, VideoId,
};

use crate::facts::facts;
use crate::plan::pick;
use crate::platform::Kind;
use listing::Listing;

/// An operation and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operation {
    Video(String),
    Title(String),
    /// A video with details and chapters.
    Detailed(String),
    Videos(Vec<String>),
    Channel(&'static str),
    Uploads(&'static str),
    Playlist(&'static str),
    Info(&'static str),
    Ids(&'static str),
    Query(&'static str),
    VideosOf {
        playlist: &'static str,
        limit: usize,
    },
    Comments(&'static str),
    Replies(&'static str),
    Regions,
    Languages,
    Categories,
    Tracks(String),
    Transcript {
        video: String,
        lang: Option<&'static str>,
        format: &'static str,
    },
    Translation {
        video: String,
    },
    Batch {
        playlist: &'static str,
        to: u64,
        concurrency: usize,
        form: &'static str,
        /// Whether the body names the playlist, and not the path.
        is_in_body: bool,
    },
    Listing(Listing),
    Quota,
    Cache,
    Ready,
    Metrics,
}

/// Existing videos that many callers request.
const VIDEOS: [&str; 3] = ["fda4eREcaTQ", "quirkNoLike", "quirkHtmlCm"];
pub(crate) const UNKNOWN_VIDEO: &str = "notAVideo__";
pub(crate) const CAPTIONED: [&str; 3] = ["txManualAsr", "txAsrOnly__", "plNeedsPage"];
pub(crate) const BOT_WALL: &str = "plBotWall__";
const PLAYLISTS: [&str; 5] =
    ["PLquirkMixed", "PLsize1", "PLsize49", "PLsize51", "PLquirkShortPages"];
pub(crate) const UNKNOWN_PLAYLIST: &str = "PLnobodyKnowsThisOne";
pub(crate) const UNKNOWN_CHANNEL: &str = "@nobodyhasit";
const CHANNELS: [&str; 4] =
    ["@fermata", "@nighttrains", "UCB-2_pXPtFYDifLXZF-S8PA", UNKNOWN_CHANNEL];
/// Videos whose details are requested. The first one has chapters.
pub(crate) const DETAILED: [&str; 3] = ["chapPlain__", "fda4eREcaTQ", "quirkNoLike"];
const COMMENTED: [&str; 2] = ["quirkHtmlCm", "quirkNoComm"];
const REPLIED: &str = "UgquirkManyReplies04AaABAg";

impl Operation {
    /// The kinds to draw from, by their numbers in [`Operation::random`]; a repeated number is drawn more often.
    pub(crate) fn kinds(
        data_api: bool,
        transcripts: bool,
        batches: bool,
        listings: bool,
    ) -> Vec<u8> {
        let mut kinds = vec![20];
        if data_api {
            kinds.extend([
                0, 0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13, 18, 18,
            ]);
        }
        if transcripts {
            kinds.extend([14, 15, 15, 15, 15, 15, 15, 16]);
        }
        if batches {
            kinds.extend([17, 17, 17, 17]);
        }
        if listings {
            kinds.extend([19, 19, 21, 21, 21, 21, 21, 21]);
        }
        kinds
    }

    pub(crate) fn random(rng: &mut Rng, kinds: &[u8]) -> Self {
        let video = |rng: &mut Rng| match rng.u8(..10) {
            0..=5 => pick(rng, &VIDEOS).to_owned(),
            6 => UNKNOWN_VIDEO.to_owned(),
            _ => pick(rng, &facts().pool),
        };
        let captioned = |rng: &mut Rng| match rng.u8(..20) {
            0..=12 => pick(rng, &CAPTIONED).to_owned(),
            13 => "txNoCaption".to_owned(),
            14 => "ttExpired1_".to_owned(),
            15 if rng.u8(..3) == 0 => BOT_WALL.to_owned(),
            _ => pick(rng, &facts().pool[..8]),
        };
        let playlist = |rng: &mut Rng| match rng.u8(..12) {
            0 => UNKNOWN_PLAYLIST,
            1 => "PLquirkPrivate",
            _ => pick(rng, &PLAYLISTS),
        };
        match pick(rng, kinds) {
            0 => Self::Video(video(rng)),
            1 => Self::Title(video(rng)),
            2 => {
                // One list that many callers request, or a random one.
                let common = VIDEOS[..2].iter().map(|id| (*id).to_owned()).collect();
                let count = pick(rng, &[1, 2, 3, 12]);
                let other = (0..count).map(|_| video(rng)).collect();
                Self::Videos(if rng.bool() { common } else { other })
            }
            3 => Self::Channel(pick(rng, &CHANNELS)),
            4 => Self::Uploads(pick(rng, &CHANNELS)),
            5 => Self::Playlist(playlist(rng)),
            6 => Self::Info(playlist(rng)),
            7 => Self::Ids(playlist(rng)),
            8 => Self::Query(playlist(rng)),
            9 => Self::Comments(pick(rng, &COMMENTED)),
            10 => Self::Replies(REPLIED),
            11 => Self::Regions,
            12 => Self::Languages,
            13 => Self::Categories,
            14 => Self::Tracks(captioned(rng)),
            15 => Self::Transcript {
                video: captioned(rng),
                lang: pick(rng, &[None, None, Some("en"), Some("de,en")]),
                format: pick(rng, &["json", "json", "srt", "vtt", "txt", "document", "chunks"]),
            },
            16 => Self::Translation { video: CAPTIONED[0].to_owned() },
            17 => Self::Batch {
                playlist: pick(rng, &["PLquirkMixed", "PLsize49", "PLsize49", UNKNOWN_PLAYLIST]),
                to: pick(rng, &[1, 3, 8, 20]),
                concurrency: pick(rng, &[1, 1, 2, 5, 20]),
                form: pick(rng, &["application/json", "application/x-ndjson", "text/event-stream"]),
                is_in_body: rng.bool(),
            },
            18 => Self::VideosOf { playlist: playlist(rng), limit: pick(rng, &[1, 20, 50, 500]) },
            19 => match rng.u8(..8) {
                0 => Self::Detailed(UNKNOWN_VIDEO.to_owned()),
                _ => Self::Detailed(pick(rng, &DETAILED).to_owned()),
            },
            21 => Self::Listing(Listing::random(rng)),
            _ => pick(rng, &[Self::Quota, Self::Cache, Self::Ready, Self::Metrics]),
        }
    }

    /// One of a few transcripts, alone or in a batch.
    pub(crate) fn crowded(rng: &mut Rng) -> Self {
        let videos = &facts().entries("PLsize49")[..3];
        match rng.bool() {
            true => Self::Transcript { video: pick(rng, videos), lang: None, format: "json" },
            false => Self::Batch {
                playlist: "PLsize49",
                to: pick(rng, &[1, 3]),
                concurrency: pick(rng, &[1, 3]),
                form: "application/x-ndjson",
                is_in_body: rng.bool(),
            },
        }
    }

    /// A request for the transcript of each video of a playlist of 49.
    pub(crate) fn different_transcripts() -> Vec<Self> {
        let transcript =
            |video: &String| Self::Transcript { video: video.clone(), lang: None, format: "json" };
        facts().entries("PLsize49").iter().map(transcript).collect()
    }

    /// Its name in the counts of a run.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Video(_) => "video",
            Self::Title(_) => "title",
            Self::Detailed(_) => "details",
            Self::Videos(_) => "videos",
            Self::Channel(_) => "channel",
            Self::Uploads(_) => "uploads",
            Self::Playlist(_) => "playlist",
            Self::Info(_) => "playlist info",
            Self::Ids(_) => "playlist ids",
            Self::Query(_) => "playlist query",
            Self::VideosOf { .. } => "playlist videos",
            Self::Comments(_) => "comments",
            Self::Replies(_) => "replies",
            Self::Regions => "regions",
            Self::Languages => "languages",
            Self::Categories => "categories",
            Self::Tracks(_) => "tracks",
            Self::Transcript { .. } => "transcript",
            Self::Translation { .. } => "translation",
            Self::Batch { .. } => "batch",
            Self::Listing(listing) => listing.name(),
            Self::Quota => "quota",
            Self::Cache => "cache",
            Self::Ready => "readyz",
            Self::Metrics => "metrics",
        }
    }

    /// The key of its fetch: operations with equal keys share one. `None` if nothing is fetched.
    pub(crate) fn key(&self) -> Option<String> {
        Some(match self {
            Self::Video(id) | Self::Title(id) | Self::Detailed(id) => format!("video {id}"),
            Self::Videos(ids) => format!("videos {}", ids.join(",")),
            Self::Playlist(id) | Self::Query(id) => format!("playlist {id}"),
            Self::Transcript { video, lang, .. } => format!("transcript {video} {lang:?}"),
            Self::Quota | Self::Cache | Self::Ready | Self::Metrics => return None,
            other => format!("{other:?}"),
        })
    }

    /// The playlist whose entries it reads.
    pub(crate) fn playlist(&self) -> Option<&'static str> {
        match self {
            Self::Playlist(id) | Self::Query(id) | Self::Ids(id) => Some(id),
            Self::Batch { playlist, .. } | Self::VideosOf { playlist, .. } => Some(playlist),
            _ => None,
        }
    }

    /// Whether it is one transcript or one list of tracks, in contrast to a batch.
    pub(crate) fn is_single_transcript(&self) -> bool {
        matches!(self, Self::Tracks(_) | Self::Transcript { .. } | Self::Translation { .. })
    }

    pub(crate) fn is_batch(&self) -> bool {
        matches!(self, Self::Batch { .. })
    }

    /// Whether an exchange of this kind about `subject` may be for this operation.
    pub(crate) fn may_send(&self, kind: Kind, subject: &str) -> bool {
        let lists = |id: &str| subject.contains(&format!("playlistId={id}"));
        match (self, kind) {
            (Self::Video(id) | Self::Title(id) | Self::Detailed(id), Kind::Videos) => id == subject,
            (Self::Listing(listing), kind) => listing.may_send(kind, subject),
            (Self::Videos(ids), Kind::Videos) => ids.iter().any(|id| id == subject),
            (Self::Playlist(_) | Self::Query(_) | Self::Uploads(_), Kind::Videos) => true,
            (Self::VideosOf { .. }, Kind::Videos) => true,
            (Self::Channel(_) | Self::Uploads(_), Kind::Channels | Kind::Search) => true,
            (Self::Uploads(_), Kind::PlaylistItems) => true,
            (Self::Playlist(id) | Self::Query(id) | Self::Ids(id), Kind::PlaylistItems) => {
                lists(id)
            }
            (
                Self::Batch { playlist, .. } | Self::VideosOf { playlist, .. },
                Kind::PlaylistItems,
            ) => lists(playlist),
            (Self::Playlist(id) | Self::Query(id) | Self::Info(id), Kind::Playlists) => {
                subject.contains(&format!("id={id}"))
            }
            (Self::Comments(_) | Self::Replies(_), Kind::CommentThreads | Kind::Comments) => true,
            (Self::Regions | Self::Languages | Self::Categories, Kind::Other) => true,
            (Self::Batch { playlist, .. }, Kind::Player | Kind::Watch | Kind::TimedText) => {
                facts().entries(playlist).iter().any(|id| id == subject)
            }
            (
                Self::Tracks(video) | Self::Transcript { video, .. } | Self::Translation { video },
                Kind::Player | Kind::Watch | Kind::TimedText,
            ) => video == subject,
            _ => false,
        }
    }

    /// The request of the REST interface.
    pub(crate) fn request(&self) -> Request<axum::body::Body> {
        let get = |path: String| Request::get(path).body(axum::body::Body::empty()).unwrap();
        match self {
            Self::Video(id) => get(format!("/api/video/{id}")),
            Self::Title(id) => get(format!("/api/video/{id}/title")),
            Self::Detailed(id) => get(format!("/api/video/{id}?include=details,chapters")),
            Self::Listing(listing) => listing.request(),
            Self::Videos(ids) => get(format!("/api/videos?ids={}", ids.join(","))),
            Self::Channel(id) => get(format!("/api/channel/{id}")),
            Self::Uploads(id) => get(format!("/api/channel/{id}/videos?limit=50")),
            Self::Playlist(id) => get(format!("/api/playlist/{id}")),
            Self::Info(id) => get(format!("/api/playlist/{id}/info")),
            Self::Ids(id) => get(format!("/api/playlist/{id}/ids")),
            Self::Query(id) => post(
                format!("/api/playlist/{id}/query"),
                "application/json",
                &json!({"filter": {"duration": {"min": 0}}}),
            ),
            Self::VideosOf { playlist, limit } => {
                get(format!("/api/playlist/{playlist}/videos?limit={limit}"))
            }
            Self::Comments(id) => get(format!("/api/comments/{id}")),
            Self::Replies(id) => get(format!("/api/comment-replies/{id}")),
            Self::Regions => get("/api/i18n/regions".to_owned()),
            Self::Languages => get("/api/i18n/languages".to_owned()),
            Self::Categories => get("/api/video-categories?region=US".to_owned()),
            Self::Tracks(id) => get(format!("/api/transcript/{id}/tracks")),
            Self::Transcript { video, lang, format } => {
                let lang = lang.map(|lang| format!("&lang={lang}")).unwrap_or_default();
                get(match *format {
                    "document" => format!("/api/transcript/{video}/document?words=true{lang}"),
                    "chunks" => format!("/api/transcript/{video}/chunks?overlap=0{lang}"),
                    _ => format!("/api/transcript/{video}?format={format}{lang}"),
                })
            }
            Self::Translation { video } => get(format!("/api/transcript/{video}?translate=de")),
            Self::Batch { playlist, to, concurrency, form, is_in_body: true } => post(
                "/api/transcripts".to_owned(),
                form,
                &json!({"playlist": playlist, "concurrency": concurrency, "to": to}),
            ),
            Self::Batch { playlist, to, concurrency, form, is_in_body: false } => post(
                format!("/api/playlist/{playlist}/transcript"),
                form,
                &json!({"concurrency": concurrency, "to": to}),
            ),
            Self::Quota => get("/api/quota".to_owned()),
            Self::Cache => get("/api/cache".to_owned()),
            Self::Ready => get("/readyz".to_owned()),
            Self::Metrics => get("/metrics".to_owned()),
        }
    }

    /// The request of the corresponding tool for models; `None` if there is no such tool.
    pub(crate) fn tool_request(&self) -> Option<Request<axum::body::Body>> {
        let (tool, arguments) = match self {
            Self::Video(id) => ("get_video", json!({"video": id})),
            Self::Channel(id) => ("get_channel", json!({"channel": id, "uploads": 0})),
            Self::Playlist(id) => ("get_playlist", json!({"playlist": id})),
            Self::Info(id) => ("get_playlist_info", json!({"playlist": id})),
            Self::Tracks(id) => ("get_caption_tracks", json!({"video": id})),
            Self::Transcript { video, lang, .. } => {
                ("transcribe_video", json!({"video": video, "lang": lang}))
            }
            _ => return None,
        };
        Some(post(format!("/api/tools/{tool}"), "application/json", &arguments))
    }

    /// The library's request for it; `None` if the library has another method for it.
    pub(crate) fn lookup(&self) -> Option<Lookup> {
        let video = |id: &str| VideoId::parse(id).unwrap();
        let playlist = |id: &str| PlaylistId::parse(id).unwrap();
        let channel = |id: &str| ChannelRef::parse(id).unwrap();
        Some(match self {
            Self::Video(id) | Self::Title(id) | Self::Detailed(id) => Lookup::Video(video(id)),
            Self::Channel(id) => Lookup::Channel(channel(id)),
            Self::Uploads(id) => Lookup::Uploads(channel(id)),
            Self::Playlist(id) | Self::Query(id) => Lookup::Playlist(playlist(id)),
            Self::Info(id) => Lookup::PlaylistInfo(playlist(id)),
            Self::Ids(id) => Lookup::PlaylistEntries(playlist(id)),
            Self::Comments(id) => Lookup::Comments(video(id), CommentQuery::default()),
            Self::Replies(id) => Lookup::Replies(CommentId::parse(id).unwrap()),
            Self::Regions => Lookup::Regions(None),
            Self::Languages => Lookup::Languages(None),
            Self::Categories => Lookup::Categories(CategoryQuery::Region("US".to_owned()), None),
            Self::Tracks(id) => Lookup::Tracks(video(id)),
            Self::Transcript { video: id, lang, .. } => {
                let languages =
                    lang.map_or_else(Languages::default, |it| Languages::parse(it).unwrap());
                Lookup::Transcript(video(id), TranscriptQuery::default().with_languages(languages))
            }
            Self::Translation { video: id } => {
                let german = LanguageCode::parse("de").unwrap();
                Lookup::Transcript(video(id), TranscriptQuery::default().with_translation(german))
            }
            Self::Videos(_) | Self::Batch { .. } | Self::VideosOf { .. } => return None,
            Self::Listing(_) => return None,
            Self::Quota | Self::Cache | Self::Ready | Self::Metrics => return None,
        })
    }

    pub(crate) fn batch_query(&self) -> Option<(PlaylistId, BatchQuery)> {
        let Self::Batch { playlist, to, concurrency, .. } = self else { return None };
        let query = BatchQuery::default().with_to(*to).with_concurrency(*concurrency);
        Some((PlaylistId::parse(playlist).unwrap(), query))
    }
}

fn post(path: String, accept: &str, body: &Value) -> Request<axum::body::Body> {
    Request::post(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, accept)
        .body(axum::body::Body::from(body.to_string()))
        .unwrap()
}
