//! Clean data from YouTube, asked for sparingly.
//!
//! [`Vidra`] is the client. Identifiers are validated before anything is sent ([`VideoId`],
//! [`PlaylistId`], [`ChannelRef`], [`CommentId`]); answers are plain structs that serialise to the
//! JSON of the service; every failure is an [`Error`] whose [`ErrorKind`] says what can be done.
//!
//! ```no_run
//! use vidra::{ApiKey, PlaylistId, Vidra};
//!
//! # async fn example() -> vidra::Result<()> {
//! let key = ApiKey::new(&std::env::var("YOUTUBE_API_KEY").unwrap_or_default());
//! let vidra = Vidra::builder().key(key).build();
//! let id = PlaylistId::parse("https://www.youtube.com/playlist?list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf")?;
//! let playlist = vidra.playlist(&id).await?;
//! println!("{}: {} videos, {}", playlist.title, playlist.video_count, playlist.total_duration_fmt);
//! # Ok(())
//! # }
//! ```
//!
//! What is asked through a [metered](Vidra::metered) handle is billed to it:
//!
//! ```no_run
//! # async fn example(vidra: vidra::Vidra) -> vidra::Result<()> {
//! let request = vidra.metered();
//! let channel = request.channel(&vidra::ChannelRef::parse("@GoogleDevelopers")?).await?;
//! println!("{} for {} units", channel.name, request.cost().units());
//! # Ok(())
//! # }
//! ```
//!
//! Links are read without asking anybody:
//!
//! ```
//! let link = vidra::Link::parse("youtu.be/dQw4w9WgXcQ?t=43").unwrap();
//! assert_eq!(link.video.unwrap().as_str(), "dQw4w9WgXcQ");
//! ```
//!
//! # Map
//!
//! A request passes [`client`] (the operation), [`cache`] (whether to ask; [`ask`] is what can be),
//! the module of its model ([`video`], [`channel`], [`playlist`], [`comment`], [`region`]: what to
//! ask), [`upstream`] (when and how often) and [`upstream::transport`] (one exchange). [`ident`], [`mod@format`] and
//! [`selection`] are pure.

#[cfg(feature = "client")]
mod ask;
#[cfg(feature = "client")]
mod batch;
#[cfg(feature = "client")]
pub mod cache;
mod channel;
#[cfg(feature = "client")]
mod client;
mod comment;
mod error;
#[cfg(feature = "client")]
mod fetch;
pub mod format;
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
pub use {
    ask::Ask,
    batch::{BatchEvent, BatchQuery, BatchReport, BatchStatus, BatchSummary, VideoTranscript},
    cache::freshness::{Life, Lifetimes, Resource},
    cache::{CacheReport, Cached, Counts, Outcome},
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
