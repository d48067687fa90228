//! `Vidra`, the client: one short method per operation.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::Stream;
use http::Uri;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::batch::{self, Batch, BatchEvent, BatchQuery};
use crate::channel::{self, Channel, ChannelVideo};
use crate::comment::{self, Comment, CommentQuery, CommentThread};
use crate::error::Result;
use crate::ident::{ChannelRef, CommentId, PlaylistId, VideoId};
use crate::playlist::{self, Playlist, PlaylistIds, PlaylistInfo};
use crate::region::{self, CategoryQuery, Language, Region, VideoCategory};
use crate::selection::{Selected, Selection};
use crate::transcript::clients::Clients;
use crate::transcript::{self, CaptionTrack, Transcript, TranscriptQuery};
use crate::upstream::egress::{Care, Egress, Egresses};
use crate::upstream::pace::Pace;
use crate::upstream::quota::{Ledger, Quota, QuotaLimits};
use crate::upstream::retry::{RetryBudget, RetryPolicy};
use crate::upstream::transport::{Network, Transport};
use crate::upstream::web::{Errand, Place, PotProvider, Web};
use crate::upstream::{ApiKey, Cost, Scope, Upstream};
use crate::video::{self, Video, VideoTitle};

/// A client of the platform. Cheap to clone; clones share connections, ledger and retry budget.
#[derive(Clone)]
pub struct Vidra {
    upstream: Arc<Upstream>,
    web: Arc<Web>,
    /// How long an operation may take in all.
    deadline: Duration,
    /// How long the transcripts of a playlist may take in all.
    batch_deadline: Duration,
    /// Whether the small search bucket may be used where nothing cheaper finds a channel.
    search: bool,
    /// What the operations of this handle have cost together.
    cost: Cost,
}

/// Settings of a [`Vidra`]; each has a default that suits the real platform.
pub struct Builder {
    data_api_url: String,
    key: Option<ApiKey>,
    transport: Option<Arc<dyn Transport>>,
    limits: QuotaLimits,
    state_dir: Option<PathBuf>,
    retry: RetryPolicy,
    attempt_timeout: Duration,
    deadline: Duration,
    batch_deadline: Duration,
    search: bool,
    web_url: String,
    proxies: Vec<Network>,
    pacing: Pacing,
    block_pause: Option<Duration>,
    pot_provider: Option<String>,
    clients: Clients,
}

/// How fast transcripts are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    /// 300 at once and 1,000 an hour at the platform's own address, as fast as can be elsewhere.
    Auto,
    /// As fast as can be.
    Off,
    /// So, wherever they are asked for.
    At(Pace),
}

impl Pacing {
    const CAREFUL: Pace = Pace { burst: 300, per_hour: 1_000 };
    /// Translations are limited far harder than the captions that they are made from.
    fn of_translations(Pace { burst, per_hour }: Pace) -> Pace {
        Pace { burst: (burst / 10).max(1), per_hour: (per_hour / 10).max(1) }
    }

    fn pace(self, web_url: &str) -> Option<Pace> {
        match self {
            Self::Auto => is_platform(web_url).then_some(Self::CAREFUL),
            Self::Off => None,
            Self::At(pace) => Some(pace),
        }
    }
}

const PLATFORM: &str = "https://www.youtube.com";

/// Whether this is the platform itself, however it is spelled.
fn is_platform(web_url: &str) -> bool {
    let host = web_url.parse::<Uri>().ok().and_then(|url| url.host().map(str::to_ascii_lowercase));
    host.is_some_and(|host| host == "youtube.com" || host.ends_with(".youtube.com"))
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            data_api_url: "https://www.googleapis.com/youtube/v3".to_owned(),
            key: None,
            transport: None,
            limits: QuotaLimits::default(),
            state_dir: None,
            retry: RetryPolicy::default(),
            attempt_timeout: Duration::from_secs(10),
            deadline: Duration::from_secs(120),
            batch_deadline: Duration::from_secs(3600),
            search: true,
            web_url: PLATFORM.to_owned(),
            proxies: vec![],
            pacing: Pacing::Auto,
            block_pause: None,
            pot_provider: None,
            clients: Clients::builtin(),
        }
    }
}

impl Builder {
    /// The key to the Data API. Without one, every operation that needs it fails with
    /// [`ErrorKind::UpstreamKey`](crate::ErrorKind::UpstreamKey).
    pub fn key(mut self, key: Option<ApiKey>) -> Self {
        self.key = key;
        self
    }

    /// Another address of the Data API: a simulator, a mirror.
    pub fn data_api_url(mut self, url: &str) -> Self {
        self.data_api_url = url.trim_end_matches('/').to_owned();
        self
    }

    /// Another way to carry requests than the network.
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// The platform's daily allowances.
    pub fn quota(mut self, limits: QuotaLimits) -> Self {
        self.limits = limits;
        self
    }

    /// A folder in which the quota ledger outlives the process. Without one it is kept in memory.
    pub fn state_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(folder.into());
        self
    }

    /// How often and how patiently failed exchanges are repeated.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// How long one exchange with the platform may take.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt_timeout = limit;
        self
    }

    /// How long an operation may take in all, retries and pages included.
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = limit;
        self
    }

    /// Whether a channel's custom name may be looked up by search when nothing cheaper finds it.
    pub fn search(mut self, allowed: bool) -> Self {
        self.search = allowed;
        self
    }

    /// How long the transcripts of a playlist may take in all.
    pub fn batch_deadline(mut self, limit: Duration) -> Self {
        self.batch_deadline = limit;
        self
    }

    /// Another address of the platform's public pages: a simulator.
    pub fn web_url(mut self, url: &str) -> Self {
        self.web_url = url.trim_end_matches('/').to_owned();
        self
    }

    /// Ask for transcripts through these proxies, in turn, and not from this machine's address.
    pub fn proxies(mut self, proxies: Vec<Network>) -> Self {
        self.proxies = proxies;
        self
    }

    /// How fast transcripts are asked for, by each address.
    pub fn pacing(mut self, pacing: Pacing) -> Self {
        self.pacing = pacing;
        self
    }

    /// How long nothing is asked from an address after the platform blocked it; by default 15
    /// minutes, and a second where the platform is played by a stand-in.
    pub fn block_pause(mut self, pause: Duration) -> Self {
        self.block_pause = Some(pause);
        self
    }

    /// A service that makes proof-of-origin tokens, asked with `POST /get_pot`.
    pub fn pot_provider(mut self, url: &str) -> Self {
        self.pot_provider = Some(url.trim_end_matches('/').to_owned());
        self
    }

    /// Other players than those of this release.
    pub fn clients(mut self, clients: Clients) -> Self {
        self.clients = clients;
        self
    }

    /// How carefully each address is used: with the platform itself very, with a stand-in not at all
    /// unless that was asked for.
    fn care(&self) -> Care {
        let requests = self.pacing.pace(&self.web_url);
        let usual_pause = if is_platform(&self.web_url) { 15 * 60 } else { 1 };
        Care {
            requests,
            translations: requests.map(Pacing::of_translations),
            pause: self.block_pause.unwrap_or(Duration::from_secs(usual_pause)).min(FOREVER),
        }
    }

    /// The client.
    pub fn build(self) -> Vidra {
        let care = self.care();
        let transport = self.transport.unwrap_or_else(|| Arc::new(Network::new()));
        let now = Instant::now();
        let mut egresses: Vec<Egress> =
            self.proxies.into_iter().map(|proxy| Egress::new(Arc::new(proxy), care, now)).collect();
        if egresses.is_empty() {
            egresses.push(Egress::new(Arc::clone(&transport), care, now));
        }
        let pot_transport = || Arc::clone(&transport);
        let web = Web {
            origin: self.web_url,
            egresses: Egresses::new(egresses),
            clients: self.clients,
            pot_provider: self
                .pot_provider
                .map(|url| PotProvider { url, transport: pot_transport() }),
            retry: self.retry,
            budget: RetryBudget::new(),
            attempt_timeout: self.attempt_timeout,
        };
        let file = self.state_dir.map(|folder| folder.join(ledger_name(self.key.as_ref())));
        let ledger = Ledger::new(self.limits, file, Timestamp::now());
        let upstream = Upstream {
            base: self.data_api_url,
            key: self.key,
            transport,
            ledger: Arc::new(ledger),
            retry: self.retry,
            budget: RetryBudget::new(),
            key_rejected: AtomicBool::new(false),
            attempt_timeout: self.attempt_timeout,
        };
        Vidra {
            upstream: Arc::new(upstream),
            web: Arc::new(web),
            deadline: self.deadline,
            batch_deadline: self.batch_deadline,
            search: self.search,
            cost: Cost::default(),
        }
    }
}

/// A deadline further off than this cannot be told from none, and could not be computed.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Quota belongs to a key's project, so each key has a ledger of its own, named by a fingerprint
/// too short to tell anything about the key.
fn ledger_name(key: Option<&ApiKey>) -> String {
    let digest = Sha256::digest(key.map_or(&[][..], ApiKey::as_bytes));
    format!("quota-{:02x}{:02x}{:02x}{:02x}.json", digest[0], digest[1], digest[2], digest[3])
}

impl Vidra {
    /// Settings, to be changed where the defaults do not fit.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A handle whose bill starts at zero: what is asked through it is counted in [`Vidra::cost`].
    pub fn metered(&self) -> Self {
        Self { cost: Cost::default(), ..self.clone() }
    }

    /// What the operations of this handle and its clones have cost so far.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }

    /// Whether there is a key to the Data API. It may still be rejected.
    pub fn has_key(&self) -> bool {
        self.upstream.key.is_some()
    }

    /// Whether the platform's last word on the key was that it is not valid.
    pub fn key_was_rejected(&self) -> bool {
        self.has_key() && self.upstream.key_rejected.load(Ordering::Relaxed)
    }

    /// One video. Costs 1 unit.
    pub async fn video(&self, id: VideoId) -> Result<Video> {
        video::one(&self.scope(), id).await
    }

    /// Several videos in the order asked; those the platform does not know are left out. Costs 1
    /// unit for each 50 distinct ids.
    pub async fn videos(&self, ids: &[VideoId]) -> Result<Vec<Video>> {
        video::many(&self.scope(), ids).await
    }

    /// A video's title. Costs 1 unit.
    pub async fn video_title(&self, id: VideoId) -> Result<VideoTitle> {
        video::title(&self.scope(), id).await
    }

    /// A channel. Costs 1 unit by id, handle or user name; up to 3 and one search by a custom name.
    pub async fn channel(&self, channel: &ChannelRef) -> Result<Channel> {
        channel::one(&self.scope(), channel, self.search).await
    }

    /// The newest uploads of a channel, at most 50. Costs 2 units by id, 3 by handle.
    pub async fn channel_videos(
        &self,
        channel: &ChannelRef,
        limit: usize,
    ) -> Result<Vec<ChannelVideo>> {
        channel::uploads(&self.scope(), channel, limit, self.search).await
    }

    /// A playlist with all its videos. Costs 1 unit, 1 for each page of 50 entries and 1 for each
    /// 50 distinct videos.
    pub async fn playlist(&self, id: &PlaylistId) -> Result<Playlist> {
        playlist::complete(&self.scope(), id).await
    }

    /// A playlist without its videos. Costs 1 unit.
    pub async fn playlist_info(&self, id: &PlaylistId) -> Result<PlaylistInfo> {
        playlist::info(&self.scope(), id).await
    }

    /// The ids of all entries. Costs 1 unit for each page of 50.
    pub async fn playlist_ids(&self, id: &PlaylistId) -> Result<PlaylistIds> {
        playlist::ids(&self.scope(), id).await
    }

    /// A playlist, filtered, sorted and sliced. Costs what [`Vidra::playlist`] costs.
    pub async fn query_playlist(&self, id: &PlaylistId, selection: &Selection) -> Result<Selected> {
        Ok(selection.apply(self.playlist(id).await?))
    }

    /// Comment threads of a video. Costs 1 unit a page, and with all replies 1 more for each page
    /// of replies that the platform did not send along.
    pub async fn comments(
        &self,
        video: VideoId,
        query: &CommentQuery,
    ) -> Result<Vec<CommentThread>> {
        comment::threads(&self.scope(), video, query).await
    }

    /// All replies to a comment. Costs 1 unit for each page of 100.
    pub async fn comment_replies(&self, id: &CommentId) -> Result<Vec<Comment>> {
        comment::replies(&self.scope(), id).await
    }

    /// The regions that the platform serves, named in `hl`. Costs 1 unit.
    pub async fn regions(&self, hl: Option<&str>) -> Result<Vec<Region>> {
        region::regions(&self.scope(), hl).await
    }

    /// The languages of the platform's interface, named in `hl`. Costs 1 unit.
    pub async fn languages(&self, hl: Option<&str>) -> Result<Vec<Language>> {
        region::languages(&self.scope(), hl).await
    }

    /// Video categories, named in `hl`. Costs 1 unit.
    pub async fn video_categories(
        &self,
        query: &CategoryQuery,
        hl: Option<&str>,
    ) -> Result<Vec<VideoCategory>> {
        region::categories(&self.scope(), query, hl).await
    }

    /// The transcript of a video. Needs no key and costs no units: two requests as a rule.
    pub async fn transcript(&self, id: VideoId, query: &TranscriptQuery) -> Result<Transcript> {
        transcript::one(&self.errand(id, &Place::default()), query).await
    }

    /// The caption tracks of a video. Needs no key and costs no units.
    pub async fn tracks(&self, id: VideoId) -> Result<Vec<CaptionTrack>> {
        transcript::tracks(&self.errand(id, &Place::default())).await
    }

    /// The transcripts of a playlist, told as they come; a video that has none fails alone. Costs 1
    /// unit for each page of 50 entries. Dropping the stream ends the work. An `Err` is the last
    /// item: the playlist itself could not be read.
    pub fn playlist_transcripts(
        &self,
        id: &PlaylistId,
        query: &BatchQuery,
    ) -> impl Stream<Item = Result<BatchEvent>> + Send + use<> {
        let mut scope = self.scope();
        let deadline = Instant::now() + self.batch_deadline.min(FOREVER);
        scope.deadline = deadline;
        let web = Arc::clone(&self.web);
        batch::run(Batch { scope, web, deadline, id: id.clone(), query: query.clone() })
    }

    /// What is left of the day. Costs nothing.
    pub async fn quota(&self) -> Result<Quota> {
        self.scope().quota().await
    }

    fn errand<'a>(&'a self, id: VideoId, place: &'a Place) -> Errand<'a> {
        Errand { web: &self.web, id, deadline: Instant::now() + self.deadline.min(FOREVER), place }
    }

    fn scope(&self) -> Scope {
        Scope {
            upstream: Arc::clone(&self.upstream),
            deadline: Instant::now() + self.deadline.min(FOREVER),
            cost: self.cost.clone(),
        }
    }
}
