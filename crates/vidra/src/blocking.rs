//! A client for programs without an async runtime.
//!
//! [`Vidra`] has the operations of [`crate::Vidra`] as methods that block their thread. It owns a runtime with one
//! thread of its own, on which connections, timers and shared fetches run. Build it with
//! [`Builder::build_blocking`](crate::Builder::build_blocking):
//!
//! ```
//! use vidra::{ApiKey, BatchEvent, BatchQuery, PlaylistId, VideoId, Vidra};
//!
//! # fn main() -> vidra::Result<()> {
//! let builder = Vidra::builder().key(ApiKey::new("your key"));
//! # let simulator = vidra::InProcess(vidra_sim::Simulator::new());
//! # let builder = builder.key(ApiKey::new("demo-key")).transport(simulator);
//! let vidra = builder.build_blocking()?;
//! let video = vidra.video(VideoId::parse("fda4eREcaTQ")?)?;
//! println!("{}: {} views", video.title, video.views_fmt);
//!
//! let first = BatchQuery::default().with_to(3);
//! for event in vidra.playlist_transcripts(&PlaylistId::parse("PLquirkMixed")?, &first) {
//!     if let BatchEvent::Result(result) = event? {
//!         println!("{}. {}", result.position, if result.transcript.is_ok() { "done" } else { "failed" });
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! # Panics
//!
//! Every operation panics in async code, with tokio's message "Cannot start a runtime from within a runtime" and the
//! line of the caller, because it would block the thread that drives other tasks. Use [`crate::Vidra`] there, or
//! call the blocking client inside `tokio::task::spawn_blocking`.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tokio::runtime::{Handle, Runtime};

use crate::batch::{BatchEvent, BatchQuery, BatchSource};
use crate::cache::{CacheReport, Cached};
use crate::channel::{Channel, ChannelVideo};
use crate::chart::ChartQuery;
use crate::client::{Builder, Vidra as AsyncVidra};
use crate::comment::{Comment, CommentQuery, CommentThread};
use crate::error::{Error, Result};
use crate::feed::{Feed, FeedAnswer, FeedId};
use crate::ident::{ChannelId, ChannelRef, CommentId, PlaylistId, VideoId};
use crate::list::{DateRange, ListedVideo, Page};
use crate::playlist::{Playlist, PlaylistIds, PlaylistInfo};
use crate::quota::{Allowance, Quota};
use crate::region::{CategoryQuery, Language, Region, VideoCategory};
use crate::resource::lookup::Lookup;
use crate::selection::{Selected, Selection};
use crate::transcript::{CaptionTrack, FullTranscript, Transcript, TranscriptQuery};
use crate::video::{Video, VideoTitle};

/// A client of YouTube whose operations block. It is cheap to clone. Clones share all that clones of
/// [`crate::Vidra`] share, and the runtime.
///
/// The runtime ends with the last clone and the last iterator. Requests that still run then are cancelled.
#[derive(Clone)]
pub struct Vidra {
    client: AsyncVidra,
    runtime: Arc<OwnRuntime>,
}

/// The runtime of a blocking client.
struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    fn new() -> Result<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("vidra-blocking").enable_all();
        builder.build().map(|runtime| Self(Some(runtime))).map_err(Error::internal)
    }

    fn handle(&self) -> &Handle {
        self.0.as_ref().expect("it ends when it is dropped").handle()
    }
}

/// Does not wait for its tasks, so that a client can be dropped in async code.
impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Builder {
    /// Builds a client whose operations block their thread, for programs without an async runtime.
    ///
    /// # Errors
    ///
    /// Those of [`Builder::build`], and [`Reason::Internal`](crate::Reason::Internal) if the system does not start
    /// a thread.
    pub fn build_blocking(self) -> Result<Vidra> {
        let runtime = OwnRuntime::new()?;
        let client = {
            let _context = runtime.handle().enter();
            self.build()?
        };
        Ok(Vidra { client, runtime: Arc::new(runtime) })
    }
}

/// Defines the operations: each blocks on the one of the same name.
macro_rules! operations {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {
        impl Vidra {
            $(
                #[doc = concat!("Blocks on [`Vidra::", stringify!($name), "`](AsyncVidra::", stringify!($name), ").")]
                ///
                /// # Errors
                ///
                /// Those of the async operation.
                ///
                /// # Panics
                ///
                /// Panics in async code.
                #[track_caller]
                pub fn $name(&self, $($argument: $type),*) -> Result<$answer> {
                    self.wait(self.client.$name($($argument),*))
                }
            )+
        }
    };
}

operations! {
    video(id: VideoId) -> Video;
    videos(ids: &[VideoId]) -> Vec<Video>;
    videos_json(ids: &[VideoId]) -> Cached;
    video_title(id: VideoId) -> VideoTitle;
    channel(channel: &ChannelRef) -> Channel;
    channels(ids: &[ChannelId]) -> Vec<Channel>;
    channel_videos(channel: &ChannelRef, limit: usize) -> Vec<ChannelVideo>;
    playlist(id: &PlaylistId) -> Playlist;
    playlist_info(id: &PlaylistId) -> PlaylistInfo;
    playlist_infos(ids: &[PlaylistId]) -> Vec<PlaylistInfo>;
    playlist_ids(id: &PlaylistId) -> PlaylistIds;
    query_playlist(id: &PlaylistId, selection: &Selection) -> Selected;
    playlist_videos_page(id: &PlaylistId, cursor: Option<&str>, limit: usize) -> Cached<Page<ListedVideo>>;
    uploads_page(channel: &ChannelRef, range: DateRange, cursor: Option<&str>, limit: usize) -> Cached<Page<Video>>;
    channel_playlists_page(channel: &ChannelRef, cursor: Option<&str>, limit: usize) -> Cached<Page<PlaylistInfo>>;
    channel_feed(channel: &ChannelRef) -> FeedAnswer;
    playlist_feed(id: &PlaylistId) -> FeedAnswer;
    public_feed(of: &FeedId) -> Feed;
    comment_threads_page(video: VideoId, query: &CommentQuery, cursor: Option<&str>, limit: usize) -> Cached<Page<CommentThread>>;
    popular_videos_page(chart: &ChartQuery, cursor: Option<&str>, limit: usize) -> Cached<Page<Video>>;
    comments(video: VideoId, query: &CommentQuery) -> Vec<CommentThread>;
    comment_replies(id: &CommentId) -> Vec<Comment>;
    regions(hl: Option<&str>) -> Vec<Region>;
    languages(hl: Option<&str>) -> Vec<Language>;
    video_categories(query: &CategoryQuery, hl: Option<&str>) -> Vec<VideoCategory>;
    transcript(id: VideoId, query: &TranscriptQuery) -> Transcript;
    full_transcript(id: VideoId, query: &TranscriptQuery) -> Cached<FullTranscript>;
    transcript_record(id: VideoId, query: &TranscriptQuery) -> Cached;
    tracks(id: VideoId) -> Vec<CaptionTrack>;
    quota() -> Quota;
    lookup(lookup: &Lookup) -> Cached;
}

impl Vidra {
    /// Transcribes many videos as [`Vidra::transcripts`](crate::Vidra::transcripts) does, as an iterator in the order of
    /// completion. Dropping the iterator cancels the batch.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item.
    pub fn transcripts(&self, source: &BatchSource, query: &BatchQuery) -> Iter<BatchEvent> {
        let _context = self.runtime.handle().enter();
        self.iterate(self.client.transcripts(source, query))
    }

    /// Transcribes a playlist as [`Vidra::playlist_transcripts`](crate::Vidra::playlist_transcripts) does, as an
    /// iterator in the order of completion. Dropping the iterator cancels the batch.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item.
    pub fn playlist_transcripts(&self, id: &PlaylistId, query: &BatchQuery) -> Iter<BatchEvent> {
        let _context = self.runtime.handle().enter();
        self.iterate(self.client.playlist_transcripts(id, query))
    }

    /// Lists the available videos of a playlist as [`Vidra::playlist_videos`](crate::Vidra::playlist_videos) does.
    /// Pages that are not read are not fetched.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item.
    pub fn playlist_videos(&self, id: &PlaylistId) -> Iter<ListedVideo> {
        self.iterate(self.client.playlist_videos(id))
    }

    /// Lists the uploads of a channel as [`Vidra::uploads`](crate::Vidra::uploads) does. Pages that are not read are
    /// not fetched.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item.
    pub fn uploads(&self, channel: &ChannelRef, range: DateRange) -> Iter<Video> {
        self.iterate(self.client.uploads(channel, range))
    }

    /// Lists the playlists of a channel as [`Vidra::channel_playlists`](crate::Vidra::channel_playlists) does. Pages
    /// that are not read are not fetched.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item.
    pub fn channel_playlists(&self, channel: &ChannelRef) -> Iter<PlaylistInfo> {
        self.iterate(self.client.channel_playlists(channel))
    }

    /// Lists the comment threads of a video as [`Vidra::comment_threads`](crate::Vidra::comment_threads) does. Pages
    /// that are not read are not fetched.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item.
    pub fn comment_threads(&self, video: VideoId, query: &CommentQuery) -> Iter<CommentThread> {
        self.iterate(self.client.comment_threads(video, query))
    }

    /// Lists the videos of a chart as [`Vidra::popular_videos`](crate::Vidra::popular_videos) does. Pages that are not
    /// read are not fetched.
    ///
    /// # Errors
    ///
    /// An `Err` is always the last item.
    pub fn popular_videos(&self, chart: &ChartQuery) -> Iter<Video> {
        self.iterate(self.client.popular_videos(chart))
    }

    fn iterate<T>(&self, stream: impl Stream<Item = Result<T>> + Send + 'static) -> Iter<T> {
        Iter { stream: Box::pin(stream), runtime: Arc::clone(&self.runtime) }
    }

    /// Returns a handle with its own cost counter, as [`Vidra::metered`](crate::Vidra::metered) does.
    pub fn metered(&self) -> Self {
        self.with(self.client.metered())
    }

    /// Returns a handle that pays from `allowance`, as [`Vidra::on_allowance`](crate::Vidra::on_allowance) does.
    pub fn on_allowance(&self, allowance: Allowance) -> Self {
        self.with(self.client.on_allowance(allowance))
    }

    /// Returns a handle that bypasses cached answers, as [`Vidra::refreshing`](crate::Vidra::refreshing) does.
    pub fn refreshing(&self) -> Self {
        self.with(self.client.refreshing())
    }

    /// Returns a handle whose operations take at most `limit`, as [`Vidra::within`](crate::Vidra::within) does.
    pub fn within(&self, limit: Duration) -> Self {
        self.with(self.client.within(limit))
    }

    /// Blocks on [`Vidra::cache_report`](crate::Vidra::cache_report).
    ///
    /// # Panics
    ///
    /// Panics in async code.
    #[track_caller]
    pub fn cache_report(&self) -> CacheReport {
        self.wait(self.client.cache_report())
    }

    /// Waits until all pending writes to the store have finished. Call it before the process exits.
    ///
    /// # Panics
    ///
    /// Panics in async code.
    #[track_caller]
    pub fn settled(&self) {
        self.wait(self.client.settled());
    }

    /// The async client of this handle, for its methods that do not wait: its cost, key and reports.
    pub fn as_async(&self) -> &AsyncVidra {
        &self.client
    }

    fn with(&self, client: AsyncVidra) -> Self {
        Self { client, runtime: Arc::clone(&self.runtime) }
    }

    #[track_caller]
    fn wait<T>(&self, operation: impl Future<Output = T>) -> T {
        self.runtime.handle().block_on(operation)
    }
}

/// The items of a stream: the events of a batch, or the items of a list. `next` blocks until there is one.
///
/// # Panics
///
/// `next` panics in async code.
pub struct Iter<T> {
    /// Before the runtime, on which its tasks run.
    stream: Pin<Box<dyn Stream<Item = Result<T>> + Send>>,
    runtime: Arc<OwnRuntime>,
}

impl<T> Iterator for Iter<T> {
    type Item = Result<T>;

    #[track_caller]
    fn next(&mut self) -> Option<Self::Item> {
        self.runtime.handle().block_on(self.stream.next())
    }
}
