//! Clean data from YouTube, asked for sparingly.
//!
//! [`Vidra`] is the client. Identifiers are validated before anything is sent ([`VideoId`],
//! [`PlaylistId`], [`ChannelRef`], [`CommentId`]); answers are plain structs that serialise to the
//! JSON of the service; every failure is an [`Error`] whose [`ErrorKind`] says what can be done.
//! What is known is not asked for again, and what many ask for at once is asked for once.
//!
//! A playlist with all its videos, by any link to it:
//!
//! ```
//! use vidra::{ApiKey, PlaylistId, Vidra};
//!
#![doc = include_str!("example.txt")]
//! # let demo = vidra;
//! let vidra = Vidra::builder().key(ApiKey::new("your key")).build();
//! # let vidra = demo;
//! let id = PlaylistId::parse("https://www.youtube.com/playlist?list=PLsize500")?;
//! let playlist = vidra.playlist(&id).await?;
//! println!("{}: {} videos, {}", playlist.title, playlist.video_count, playlist.total_duration_fmt);
//! # assert_eq!((playlist.video_count, &*playlist.total_duration_fmt), (500, "12d 7h 51m 9s"));
//!
//! // What is asked through a metered handle is billed to it, and what is known costs nothing.
//! let request = vidra.metered();
//! let first = request.video(playlist.videos[0].id).await?;
//! println!("{} for {} units", first.title, request.cost().units());
//! # assert_eq!(request.cost().units(), 0);
//! # Ok(()) }
//! ```
//!
//! What is said in a video, as subtitles. Transcripts need no key, and where there is none the [`Reason`]
//! says why:
//!
//! ```
//! use vidra::{Languages, Reason, TranscriptQuery, VideoId, to_srt};
//!
#![doc = include_str!("example.txt")]
//! let wanted = TranscriptQuery { languages: Languages::parse("de,en").unwrap(), ..Default::default() };
//! let lines = vidra.transcript(VideoId::parse("txManualAsr")?, &wanted).await?;
//! assert!(to_srt(&lines).starts_with("1\n00:00:00,163 --> 00:00:04,683\nHello and welcome"));
//!
//! let none = vidra.transcript(VideoId::parse("txNoCaption")?, &wanted).await.unwrap_err();
//! assert_eq!(none.reason(), Some(Reason::CaptionsDisabled));
//! # Ok(()) }
//! ```
//!
//! Links are read without asking anybody:
//!
//! ```
//! let link = vidra::Link::parse("youtu.be/dQw4w9WgXcQ?t=43").unwrap();
//! assert_eq!(link.video.unwrap().as_str(), "dQw4w9WgXcQ");
//! assert!(vidra::Link::parse("https://youtube.com.evil.example/watch?v=dQw4w9WgXcQ").is_err());
//! ```
//!
//! The examples in these pages ask a simulator, so that they can be run; what they ask for is made up.
//!
//! # Features
//!
//! | feature | | |
//! |---|---|---|
//! | `client` | on | [`Vidra`] and all that asks the platform: tokio, HTTP, TLS, the cache |
//! | `redis` | off | [`cache::store::Redis`]: a cache that several machines share; brings `client` |
//! | `openapi` | off | `utoipa::ToSchema` of the models |
//!
//! With `default-features = false` what is left is pure: identifiers and [`Link`], the models, [`mod@format`],
//! [`Selection`], and [`transcript`], which reads the player's answer and the captions and writes subtitles.
//! No runtime and no network come along.
//!
//! # Map
//!
//! A request passes [`Vidra`] (the operation), [`cache`] (whether to ask; [`Ask`] is what can be), the way in
//! which its model is asked for, [`upstream`] (when and how often) and [`upstream::transport`] (one
//! exchange).

#![cfg_attr(docsrs, feature(doc_cfg))]

/// What stands in the READMEs is compiled as well.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(feature = "client")]
mod ask;
#[cfg(feature = "client")]
mod batch;
#[cfg(feature = "client")]
pub mod cache;
mod channel;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
pub mod clock;
mod comment;
mod error;
#[cfg(feature = "client")]
mod fetch;
pub mod format;
#[cfg(feature = "client")]
mod held;
mod html;
mod ident;
mod language;
mod lenient;
mod playlist;
mod region;
pub mod selection;
mod thumbnail;
pub mod transcript;
#[cfg(feature = "client")]
pub mod upstream;
mod video;
mod whole;

pub use channel::{Channel, ChannelVideo};
pub use comment::{Comment, CommentOrder, CommentQuery, CommentThread};
pub use error::{Error, ErrorKind, Result};
pub use ident::link::Link;
pub use ident::{ChannelId, ChannelRef, CommentId, Handle, PlaylistId, VideoId};
pub use language::LanguageCode;
pub use playlist::{Playlist, PlaylistIds, PlaylistInfo, PlaylistVideo};
pub use region::{CategoryQuery, Language, Region, VideoCategory};
pub use selection::{Selected, Selection};
pub use thumbnail::{Thumbnail, Thumbnails};
pub use transcript::{
    CaptionTrack, Cue, Languages, Reason, Seconds, Transcript, TranscriptLine, TranscriptQuery,
    to_srt, to_text, to_vtt,
};
pub use video::{Video, VideoTitle, Withheld};

#[cfg(feature = "client")]
#[doc(hidden)] // For simulations alone.
pub use {held::Held, upstream::quota::LedgerDouble};

#[cfg(feature = "client")]
pub use {
    ask::Ask,
    batch::{BatchEvent, BatchQuery, BatchReport, BatchStatus, BatchSummary, VideoTranscript},
    cache::answer::{CacheReport, Cached, Counts, Outcome},
    cache::freshness::{Life, Lifetimes, Resource},
    client::{Builder, Pacing, Vidra},
    fetch::transcript::clients::Clients,
    upstream::breaker::Standing,
    upstream::egress::Addresses,
    upstream::ending::Ending,
    upstream::pace::Pace,
    upstream::quota::{Allowance, Bucket, Quota, QuotaLimits, SearchBilling, Spending},
    upstream::retry::RetryPolicy,
    upstream::traffic::{BOUNDS, Calls, Histogram, UpstreamReport},
    upstream::transport::{InProcess, Network, Transport},
    upstream::{ApiKey, Cost},
};
