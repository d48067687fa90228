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

pub mod ask;
pub mod batch;
pub mod cache;
pub mod channel;
pub mod client;
pub mod comment;
pub mod error;
pub mod format;
mod html;
pub mod ident;
pub mod language;
pub mod playlist;
pub mod region;
pub mod selection;
pub mod thumbnail;
pub mod transcript;
pub mod upstream;
pub mod video;
mod whole;

pub use ask::Ask;
pub use batch::{BatchEvent, BatchQuery, BatchReport, BatchStatus, BatchSummary, VideoTranscript};
pub use cache::freshness::{Life, Lifetimes, Resource};
pub use cache::{CacheReport, Cached, Counts, Outcome};
pub use channel::{Channel, ChannelVideo};
pub use client::{Builder, Pacing, Vidra};
pub use comment::{Comment, CommentOrder, CommentQuery, CommentThread};
pub use error::{Error, ErrorKind, Result};
pub use ident::link::Link;
pub use ident::{ChannelId, ChannelRef, CommentId, Handle, PlaylistId, VideoId};
pub use language::LanguageCode;
pub use playlist::{Playlist, PlaylistIds, PlaylistInfo, PlaylistVideo};
pub use region::{CategoryQuery, Language, Region, VideoCategory};
pub use selection::{Selected, Selection};
pub use thumbnail::{Thumbnail, Thumbnails};
pub use transcript::choice::Languages;
pub use transcript::clients::Clients;
pub use transcript::reason::Reason;
pub use transcript::{
    CaptionTrack, Cue, Seconds, Transcript, TranscriptLine, TranscriptQuery, to_srt, to_text,
    to_vtt,
};
pub use upstream::breaker::Standing;
pub use upstream::egress::Addresses;
pub use upstream::ending::Ending;
pub use upstream::pace::Pace;
pub use upstream::quota::{Allowance, Bucket, Quota, QuotaLimits, SearchBilling, Spending};
pub use upstream::retry::RetryPolicy;
pub use upstream::traffic::{BOUNDS, Calls, Histogram, UpstreamReport};
pub use upstream::transport::{InProcess, Network, Transport};
pub use upstream::{ApiKey, Cost};
pub use video::{Video, VideoTitle, Withheld};
