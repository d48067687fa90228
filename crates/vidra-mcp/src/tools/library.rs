//! `search_library`, `get_trends`: the transcripts that the service has stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra_library::{
    LibraryFilter, LibraryVideo, SearchFields, SearchGroup, SearchSort, TextSearch, Trend, Trends,
};

use super::hits::{Found, FoundVideo, HitLimits, published_day, search_hits};
use super::video::VIDEO_LINKS;
use super::{Call, Offer, ToolInput, ToolResult};
use crate::call::ToolLibrary;
use crate::call_error::CallError;
use crate::page::{Page, one_line};
use crate::params::{
    ChannelArg, CollectionArg, ContextSeconds, Cursor, FieldArgs, GroupArg, JobArg, LanguageArg,
    PeriodArg, SearchChars, SinceArg, SortArg, TextQueryArg, UntilArg, VideoArgs, Whole,
    date_range,
};
use crate::reply::ToolOutput;

/// The part of the library that a call names.
#[derive(Default)]
struct FilterArgs {
    channel: Option<ChannelArg>,
    collection: Option<CollectionArg>,
    job: Option<JobArg>,
    videos: Option<VideoArgs>,
    lang: Option<LanguageArg>,
    since: Option<SinceArg>,
    until: Option<UntilArg>,
}

impl FilterArgs {
    async fn filter(
        self,
        call: &Call<'_>,
        caller: &ToolLibrary,
    ) -> Result<LibraryFilter, CallError> {
        let mut filter = LibraryFilter::default();
        filter.range = date_range(self.since, self.until)?;
        filter.owner = caller.only_owner();
        filter.collection = self.collection.map(|CollectionArg(name)| (caller.owner.clone(), name));
        filter.videos = self.videos.map(|VideoArgs(ids)| ids).unwrap_or_default();
        filter.lang = self.lang.map(|LanguageArg(code)| code);
        if let Some(JobArg(id)) = self.job {
            // It belongs to the caller, or it is not found.
            caller.library.job(id, &caller.access).await?;
            filter.job = Some(id);
        }
        if let Some(ChannelArg(channel)) = self.channel {
            let owner = filter.owner.as_deref();
            filter.channel = Some(caller.library.channel_id(call.vidra, &channel, owner).await?);
        }
        Ok(filter)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchLibrary {
    /// All words have to be in a video; also "exact phrase", OR, -without, prefix*. Without a query the stored videos
    /// are listed
    query: Option<TextQueryArg>,
    /// Id, @handle or URL
    channel: Option<ChannelArg>,
    /// Name of a collection
    collection: Option<CollectionArg>,
    /// Id of a job
    job: Option<JobArg>,
    videos: Option<VideoArgs>,
    /// Only tracks in this language, also translations
    lang: Option<LanguageArg>,
    /// Published on this date or later
    since: Option<SinceArg>,
    until: Option<UntilArg>,
    /// speech if not given
    r#in: Option<FieldArgs>,
    sort: Option<SortArg>,
    /// video for the best moments of each video
    group: Option<GroupArg>,
    /// Seconds of text around a moment
    #[serde(default)]
    context: ContextSeconds,
    /// Most moments or videos; 20 if not given
    #[serde(default)]
    limit: Whole<1, 100, 20>,
    /// Length limit of the answer
    #[serde(default)]
    max_chars: SearchChars,
    /// nextCursor of the last answer
    cursor: Option<Cursor>,
}

/// A page of hits, or of stored videos.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LibraryPage {
    #[serde(flatten)]
    found: Found,
    /// The number of stored videos that the filters include. Absent without a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    searched_videos: Option<u64>,
}

impl ToolInput for SearchLibrary {
    const NAME: &'static str = "search_library";
    const TITLE: &'static str = "Search stored transcripts";
    const DESCRIPTION: &'static str = "Find what was said in the transcripts that this service has stored (jobs and \
        collections), and at which second. No quota.";
    const OFFER: Offer = Offer::WithLibrary;
    type Output = LibraryPage;

    async fn run(self, call: &Call<'_>) -> ToolResult<LibraryPage> {
        let caller = call.library()?;
        let limits = HitLimits {
            cursor: self.cursor,
            limit: self.limit.count(),
            max_chars: self.max_chars.count(),
        };
        if self.query.is_some() {
            limits.skip()?;
        }
        let Self { channel, collection, job, videos, lang, since, until, .. } = self;
        let filter = FilterArgs { channel, collection, job, videos, lang, since, until };
        let filter = filter.filter(call, caller).await?;
        let _permit = caller.search_permit()?;
        let sort = self.sort.map_or(SearchSort::default(), |SortArg(sort)| sort);
        let Some(TextQueryArg(query)) = self.query else {
            return stored_videos(caller, &filter, sort, limits).await;
        };
        let request = TextSearch {
            filter,
            fields: self.r#in.map_or_else(SearchFields::default, |FieldArgs(fields)| fields),
            sort,
            group: self.group.map_or(SearchGroup::default(), |GroupArg(group)| group),
            context: self.context.get(),
            ..TextSearch::new(query)
        };
        let output = search_hits(caller, &request, limits).await?;
        let searched_videos = Some(output.coverage);
        Ok(output.output.map(|found| LibraryPage { found, searched_videos }))
    }
}

/// A page of the stored videos.
async fn stored_videos(
    caller: &ToolLibrary,
    filter: &LibraryFilter,
    sort: SearchSort,
    limits: HitLimits,
) -> ToolResult<LibraryPage> {
    let sort = if sort == SearchSort::Relevance { SearchSort::Newest } else { sort };
    let skip = Cursor::skip(limits.cursor, usize::MAX)?;
    let wanted = skip.saturating_add(limits.limit);
    let (videos, next) = caller.library.videos(filter, sort, None, wanted).await?;
    let count = videos.len() as u64;
    let is_last = next.is_none();
    let items = videos.iter().skip(skip).map(|it| (FoundVideo::stored(it), stored_line(it)));
    let mut page = Page::new(limits.max_chars, 0);
    let is_cut = page.fill(items);
    page.next = (is_cut || !is_last).then(|| Cursor::at(skip + page.items.len()));
    let more = if is_last { "" } else { " or more" };
    Ok(ToolOutput {
        head: format!("{} of {count}{more} stored videos. {VIDEO_LINKS}", page.items.len()),
        body: page.body(),
        next: page.next,
        found: LibraryPage {
            found: Found { videos: page.items, ..Found::default() },
            searched_videos: None,
        },
    })
}

fn stored_line(it: &LibraryVideo) -> String {
    let kind = if it.video.is_auto_generated { "by machine" } else { "by people" };
    let video = &it.video;
    let day = video.published_at.map_or_else(|| "undated".to_owned(), published_day);
    let (title, channel) = (one_line(&video.title), one_line(&video.channel));
    let length = vidra::format::clock(it.duration);
    format!(
        "{} {title} · {channel} · {length} · {day} · captions {}, made {kind}",
        video.video_id, video.lang
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetTrends {
    /// As in search_library
    query: TextQueryArg,
    /// month if not given
    by: Option<PeriodArg>,
    /// Id, @handle or URL
    channel: Option<ChannelArg>,
    /// Name of a collection
    collection: Option<CollectionArg>,
    lang: Option<LanguageArg>,
    /// Published on this date or later
    since: Option<SinceArg>,
    until: Option<UntilArg>,
}

/// How often something was said in each period.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TrendsPage {
    /// The oldest first. Periods without videos are left out.
    periods: Vec<PeriodFacts>,
    /// The number of stored videos that the filters include.
    searched_videos: u64,
}

/// A period.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PeriodFacts {
    /// 2026-03, 2026-W13 or 2026. Absent for videos without a publication time.
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<String>,
    /// How often it was said.
    count: u64,
    /// Count for each million words.
    per_million: f64,
    /// The number of videos that match.
    videos: u64,
}

impl From<Trend> for PeriodFacts {
    fn from(trend: Trend) -> Self {
        let Trend { period, count, per_million, videos, .. } = trend;
        Self { period, count, per_million: (per_million * 10.0).round() / 10.0, videos }
    }
}

impl PeriodFacts {
    fn line(&self) -> String {
        let Self { period, count, per_million, videos } = self;
        let period = period.as_deref().unwrap_or("undated");
        format!("{period}: said {count} × in {videos} ({per_million} per million words)")
    }
}

impl ToolInput for GetTrends {
    const NAME: &'static str = "get_trends";
    const TITLE: &'static str = "Get trends";
    const DESCRIPTION: &'static str =
        "How often something was said in the stored transcripts, by time of publication.";
    const OFFER: Offer = Offer::WithLibrary;
    type Output = TrendsPage;

    async fn run(self, call: &Call<'_>) -> ToolResult<TrendsPage> {
        let caller = call.library()?;
        let Self { query: TextQueryArg(query), by, channel, collection, lang, since, until } = self;
        let filter =
            FilterArgs { channel, collection, lang, since, until, ..FilterArgs::default() };
        let filter = filter.filter(call, caller).await?;
        let _permit = caller.search_permit()?;
        let request = TextSearch { filter, ..TextSearch::new(query) };
        let period = by.map(|PeriodArg(period)| period).unwrap_or_default();
        let Trends { items, undated, coverage, approximate, note, .. } =
            caller.library.trends(&request, period).await?;
        let periods: Vec<PeriodFacts> =
            items.into_iter().chain(undated).map(PeriodFacts::from).collect();
        let times: u64 = periods.iter().map(|it| it.count).sum();
        let about = if approximate { "about " } else { "" };
        let is_empty = note.is_some();
        let head = note.map(|note| format!("{note}.")).unwrap_or_else(|| {
            format!("Said {about}{times} times; {} videos were searched.", coverage.videos)
        });
        let lines = periods.iter().filter(|_| !is_empty).map(PeriodFacts::line);
        let lines: Vec<String> = lines.collect();
        let found = TrendsPage { periods, searched_videos: coverage.videos };
        Ok(ToolOutput::complete(head, lines.join("\n"), found))
    }
}
