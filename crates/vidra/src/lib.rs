//! Clean data from YouTube, with few requests.
//!
//! [`Vidra`] is the client. It validates identifiers before it sends a request ([`VideoId`], [`PlaylistId`],
//! [`ChannelRef`], [`CommentId`]). Answers are plain structs that serialise to the JSON of the service. Every
//! failure is an [`Error`] whose [`ErrorKind`] says what a caller can do. The client caches answers, and
//! coalesces equal requests that run at the same time.
//!
//! A playlist with all its videos, by any link to it:
//!
//! ```
//! use vidra::{ApiKey, PlaylistId, Vidra};
//!
#![doc = include_str!("example.txt")]
//! # let demo = vidra;
//! let vidra = Vidra::builder().key(ApiKey::new("your key")).build()?;
//! # let vidra = demo;
//! let id = PlaylistId::parse("https://www.youtube.com/playlist?list=PLsize500")?;
//! let playlist = vidra.playlist(&id).await?;
//! println!("{}: {} videos, {}", playlist.title, playlist.video_count, playlist.total_duration_fmt);
//! # assert_eq!((playlist.video_count, &*playlist.total_duration_fmt), (500, "12d 7h 51m 9s"));
//!
//! // A metered handle counts the cost of its requests. Cached answers cost nothing.
//! let request = vidra.metered();
//! let first = request.video(playlist.videos[0].id).await?;
//! println!("{} for {} units", first.title, request.cost().units());
//! # assert_eq!(request.cost().units(), 0);
//! # Ok(()) }
//! ```
//!
//! The transcript of a video, as subtitles. Transcripts need no key. If a video has none, the [`Reason`] says
//! why:
//!
//! ```
//! use vidra::{Languages, Reason, TranscriptQuery, VideoId, to_srt};
//!
#![doc = include_str!("example.txt")]
//! let wanted = TranscriptQuery::default().with_languages(Languages::parse("de,en")?);
//! let lines = vidra.transcript(VideoId::parse("txManualAsr")?, &wanted).await?;
//! assert!(to_srt(&lines).starts_with("1\n00:00:00,163 --> 00:00:04,683\nHello and welcome"));
//!
//! let none = vidra.transcript(VideoId::parse("txNoCaption")?, &wanted).await.unwrap_err();
//! assert_eq!(none.reason(), Reason::CaptionsDisabled);
//! # Ok(()) }
//! ```
//!
//! Links are parsed without a request:
//!
//! ```
//! let link = vidra::Link::parse("youtu.be/dQw4w9WgXcQ?t=43").unwrap();
//! assert_eq!(link.video.unwrap().as_str(), "dQw4w9WgXcQ");
//! assert!(vidra::Link::parse("https://youtube.com.evil.example/watch?v=dQw4w9WgXcQ").is_err());
//! ```
//!
//! The examples in these pages run against a simulator, whose data is made up.
//!
//! # Runtime
//!
//! [`Vidra`] needs a tokio runtime with time and I/O enabled. An operation that is polled outside one panics with
//! "vidra needs a tokio runtime". Programs without a runtime use `vidra::blocking`.
//!
//! # Testing
//!
//! The crate [`vidra-sim`](https://docs.rs/vidra-sim) simulates YouTube in the process of a test. It is a transport, so a
//! test needs no port, no key and no network, and it can inject faults:
//!
//! ```
//! use vidra::{ApiKey, InProcess, Reason, VideoId, Vidra};
//! use vidra_sim::{Action, Endpoint, Fault, Simulator};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> vidra::Result<()> {
//! let platform = Simulator::new();
//! let transport = InProcess(platform.clone());
//! let vidra = Vidra::builder().key(ApiKey::new("demo-key")).transport(transport).build()?;
//!
//! platform.inject(Fault::on(Endpoint::Videos, Action::error("quotaExceeded")));
//! let error = vidra.video(VideoId::parse("quirkNoLike")?).await.unwrap_err();
//! assert_eq!(error.reason(), Reason::QuotaExhausted);
//! assert_eq!(platform.record().calls_to(Endpoint::Videos), 1);
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! | feature | | |
//! |---|---|---|
//! | `client` | on | [`Vidra`] and everything that needs a network: tokio, HTTP, TLS, the cache |
//! | `blocking` | off | `blocking::Vidra`: a client for programs without an async runtime; enables `client` |
//! | `redis` | off | [`store::Redis`]: a cache that several machines share; enables `client` |
//! | `postgres` | off | [`Database`]: a quota that several machines share; enables `client` |
//! | `openapi` | off | `utoipa::ToSchema` of the models |
//!
//! With `default-features = false` the crate is pure, without a runtime and without a network: identifiers and
//! [`Link`], the models, [`mod@format`], [`Selection`], [`feed`], which parses feeds, and [`transcript`], which parses
//! the player's answer and captions, and writes subtitles.
//!
//! # Rooms
//!
//! Imports point downwards only: a module imports modules below it in this list and nothing above it.
//! The test `rooms` reads this list and the imports of every file.
//!
//! - `blocking`: the client for programs without a runtime
//! - `client`: [`Vidra`], its builder, one method per operation
//! - `batch`: transcripts of many videos: bounded, with partial failure, progress and cancellation
//! - `resource`: one file per resource: how it is fetched; all cache keys and lifetimes
//! - `cache`: read through the cache: fresh, stale, coalesced or fetched
//! - `store`: where records are stored: memory, a folder, Redis
//! - `web`: the keyless interface: player, watch page, timed text, feeds, egress addresses
//! - `data_api`: the keyed interface: admits, charges, attempts, classifies and decodes calls
//! - `resilience`: policies of both interfaces: circuit breaker, pace, retries, histogram
//! - `context`: plain data of one operation: deadline, cost, waiters, cache mode
//! - `quota`: the ledger of the daily quota
//! - `database`: the PostgreSQL database that several machines share
//! - `transport`: one HTTP exchange, over the network or in this process
//! - `spool`: large answers, in memory or in temporary files
//! - `clock`: the wall clock, which a simulation replaces
//! - `held`: counts of held resources, for simulations
//! - `selection`: [`Selection`]: filter, sort and slice the videos of a playlist
//! - `search`: the models of searches
//! - `chart`: the models of charts
//! - `member`: members of the JSON that callers send
//! - `list`: [`Page`]: lists that are read page by page, and their cursors
//! - `feed`: the public feeds of channels and playlists
//! - `playlist`: the models of playlists
//! - `comment`: the models of comments
//! - `channel`: the models of channels
//! - `region`: the models of regions, languages and categories
//! - `video`: the models of videos
//! - `transcript`: captions: read, choose, write as text or subtitles
//! - `thumbnail`: the model of thumbnails
//! - `chapter`: chapters, read from descriptions
//! - `language`: [`LanguageCode`]: the code of a language
//! - `lenient`: reads the platform's objects member by member, so that one bad member fails alone
//! - `whole`: whole numbers in the JSON that callers send
//! - `html`: removes tags from text
//! - `fold`: text in lower case and without accents, for comparison
//! - `format`: durations, dates and counts as text
//! - `ident`: identifiers and [`Link`]
//! - `seconds`: [`Seconds`]: a time that serialises as seconds
//! - `error`: [`Error`], its [`ErrorKind`] and its [`Reason`]

#![cfg_attr(docsrs, feature(doc_cfg))]

/// The examples of the READMEs and of the guide are compiled too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/guide/rust-library.md")]
struct Readme;

#[cfg(feature = "client")]
mod batch;
#[cfg(feature = "blocking")]
pub mod blocking;
#[cfg(feature = "client")]
pub mod cache;
mod channel;
mod chapter;
mod chart;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
pub mod clock;
mod comment;
#[cfg(feature = "client")]
mod context;
#[cfg(feature = "client")]
mod data_api;
#[cfg(feature = "postgres")]
mod database;
mod error;
pub mod feed;
mod fold;
pub mod format;
#[cfg(feature = "client")]
mod held;
mod html;
mod ident;
mod language;
mod lenient;
mod list;
pub mod member;
mod playlist;
#[cfg(feature = "client")]
mod quota;
mod region;
#[cfg(feature = "client")]
mod resilience;
#[cfg(feature = "client")]
mod resource;
mod search;
mod seconds;
pub mod selection;
#[cfg(feature = "client")]
mod spool;
#[cfg(feature = "client")]
pub mod store;
mod thumbnail;
pub mod transcript;
#[cfg(feature = "client")]
pub mod transport;
mod video;
#[cfg(feature = "client")]
mod web;
mod whole;

pub use channel::{Channel, ChannelVideo};
pub use chapter::Chapter;
pub use chart::ChartQuery;
pub use comment::{Comment, CommentOrder, CommentQuery, CommentThread};
pub use error::{Error, ErrorKind, Reason, Result};
pub use feed::{Feed, FeedAnswer, FeedItem, FeedSource};
pub use ident::link::Link;
pub use ident::{ChannelId, ChannelRef, CommentId, Handle, PlaylistId, VideoId};
pub use language::LanguageCode;
pub use list::{
    Availability, DateRange, EntryPage, EntrySource, ListedVideo, Page, PlaylistEntry, SourceId,
};
pub use playlist::{Playlist, PlaylistIds, PlaylistInfo, PlaylistVideo};
pub use region::{CategoryQuery, Language, Region, VideoCategory};
pub use search::{
    FoundChannel, FoundPlaylist, SafeSearch, SearchItem, SearchKind, SearchLength, SearchLive,
    SearchOrder, SearchQuery,
};
pub use selection::{Selected, Selection};
pub use thumbnail::{Thumbnail, Thumbnails};
pub use transcript::{
    CaptionKind, CaptionTrack, Chunk, ChunkBy, ChunkQuery, ChunkedTranscript, Cue, DocumentLine,
    FullTranscript, Languages, Seconds, TimeRange, Transcript, TranscriptDocument, TranscriptInfo,
    TranscriptLine, TranscriptQuery, TranscriptTrack, Word, WordTime, chunks, estimate_tokens,
    to_srt, to_text, to_vtt,
};
pub use video::{
    Broadcast, Category, HiddenCount, Include, LiveState, RegionRestriction, ShortBasis, Video,
    VideoDetails, VideoTitle,
};

#[cfg(feature = "client")]
#[doc(hidden)] // Only for simulations.
pub use {
    held::Held,
    quota::{EndedGrant, LedgerDouble, PoolAnswer, PoolBucket, PoolState, QuotaPool, WantedGrant},
    web::egress::shared::{EgressPool, TakenPermit, WantedPermit},
};

#[cfg(feature = "postgres")]
pub use database::Database;
#[doc(hidden)]
#[cfg(feature = "postgres")]
pub use database::Sessions;

#[cfg(feature = "client")]
pub use {
    batch::{
        BatchEvent, BatchQuery, BatchReport, BatchSource, BatchSummary, BatchTranscript,
        VideoTranscript,
    },
    cache::FetchSharing,
    cache::answer::{CacheOutcome, CacheReport, Cached, Counts},
    cache::freshness::Life,
    client::report::{SlotUse, UpstreamReport},
    client::{Builder, Pacing, Vidra},
    context::Cost,
    data_api::account::ApiKey,
    quota::{
        Allowance, Allowances, Bucket, BucketUse, CallerUsage, DayUsage, LedgerHealth, Quota,
        QuotaDay, QuotaLimits, SearchBilling, SharedQuotaReport, UsageReport,
    },
    resilience::bucket::LeakyBucket,
    resilience::circuit::BreakerState,
    resilience::histogram::{CumulativeHistogram, Histogram},
    resilience::outcome::CallOutcome,
    resilience::pace::Pace,
    resilience::retry::RetryPolicy,
    resilience::traffic::Calls,
    resource::lifetime::{Lifetimes, Resource},
    resource::lookup::Lookup,
    spool::{AnswerMemory, Body, SpooledBody},
    transport::{InProcess, Network, Transport},
    web::clients::Clients,
    web::egress::pool::Addresses,
    web::egress::saved::{BreakerPause, EgressBlock, EgressState},
};
