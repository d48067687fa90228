//! `vidra playlist` and `vidra query`.

use std::time::Duration;

use bytes::Bytes;
use clap::ValueEnum;
use serde_json::json;
use vidra::selection::{Bounds, Filter, PositionRange, Sort, SortField, SortOrder};
use vidra::{PlaylistInfo, Selection};

use super::pages::{MOST, PageArgs};
use super::{CommandContext, Common, Ids, Kind, Wanted, one};
use crate::failure::Failure;
use crate::output::{Output, cards, read};
use crate::service::RestRequest;
use crate::values::{count, count_in, length};

#[derive(Debug, clap::Args)]
pub(crate) struct PlaylistArgs {
    #[command(flatten)]
    ids: Ids,

    /// Show only title, description and number of entries; costs one unit
    #[arg(long, conflicts_with_all = ["only_ids", "videos"])]
    info: bool,

    /// Show only the ids of the entries, one per line
    #[arg(long = "ids", conflicts_with = "videos")]
    only_ids: bool,

    /// Show the entries page by page, 50 without --limit
    ///
    /// It costs only the pages that are shown. --limit, --all and --cursor imply it. --csv and --fields imply
    /// --all, unless one of these flags is given
    #[arg(long)]
    videos: bool,

    #[command(flatten)]
    part: PageArgs,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub(crate) struct QueryArgs {
    /// Id or URL of a playlist; - reads it from standard input
    #[arg(value_name = "PLAYLIST")]
    playlist: String,

    /// Minimum duration: 90, 1:30 or 90s
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    min_duration: Option<Duration>,

    /// Maximum duration
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    max_duration: Option<Duration>,

    /// Minimum number of views: 500, 1k or 1.5M
    #[arg(long, value_name = "COUNT", value_parser = count)]
    min_views: Option<u64>,

    /// Maximum number of views
    #[arg(long, value_name = "COUNT", value_parser = count)]
    max_views: Option<u64>,

    /// Minimum number of likes
    #[arg(long, value_name = "COUNT", value_parser = count)]
    min_likes: Option<u64>,

    /// Maximum number of likes
    #[arg(long, value_name = "COUNT", value_parser = count)]
    max_likes: Option<u64>,

    /// Sort field [default: playlist order]
    #[arg(long, value_enum)]
    sort: Option<Field>,

    /// Sort order
    #[arg(long, value_enum, default_value_t, requires = "sort")]
    order: Order,

    /// The same as --order asc
    #[arg(long, requires = "sort", conflicts_with = "order", hide = true)]
    ascending: bool,

    /// First position to show after filter and sort, from 1
    #[arg(long, value_name = "POSITION", value_parser = count_in::<u64>(1..=u64::MAX))]
    from: Option<u64>,

    /// Last position to show after filter and sort
    #[arg(long, value_name = "POSITION", value_parser = count_in::<u64>(1..=u64::MAX))]
    to: Option<u64>,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Field {
    Duration,
    Views,
    Likes,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Smallest first.
    Asc,
    /// Largest first.
    #[default]
    Desc,
}

/// The entries of a page of YouTube, which costs a unit.
const PER_UNIT: u64 = 50;

pub(super) async fn show(args: &PlaylistArgs) -> Result<(), Failure> {
    let PlaylistArgs { ids, info, only_ids, videos, part, common } = args;
    if (*info || *only_ids) && part.is_given() {
        return Err(Failure::usage(
            "--limit, --all and --cursor cannot be used with --info or --ids",
        ));
    }
    if *info || *only_ids {
        common.reject_list_flags("--jq")?;
    }
    let playlist = |id: &str| RestRequest::get("playlist").segment(id);
    let wanted = Wanted::new(Kind::Playlist, 1);
    if *info {
        return common
            .show_each(wanted, ids, |id| playlist(id).segment("info"), cards::playlist_info)
            .await;
    }
    let mut context = common.open()?;
    let (all, is_one) = (ids.all()?, ids.is_one());
    let is_part = *videos || part.is_given();
    if is_part || common.is_for_list() {
        let part = PageArgs { all: part.all || !is_part, ..part.clone() };
        // After a cursor the number of entries is unknown, and a small part is cheaper than its estimate.
        if part.cursor.is_none() && part.most().is_none_or(|most| most > MOST) {
            let agreed = context.confirm_entries(&all, part.most(), 2).await;
            context.begin(agreed).await?;
        }
        let request = |id: &str| playlist(id).segment("videos");
        return context.pages(wanted, &all, is_one, &part, request, cards::entries).await;
    }
    let wanted = Wanted { units: 0, ..wanted };
    if *only_ids {
        let agreed = context.confirm_entries(&all, None, 1).await;
        context.begin(agreed).await?;
        let request = |id: &str| playlist(id).segment("ids");
        let write = |output: &mut Output, id: &str, body: Bytes| {
            output.answer(id, &body, cards::playlist_ids)
        };
        context.each(wanted, &all, is_one, request, write).await
    } else {
        let agreed = context.confirm_entries(&all, None, 2).await;
        context.begin(agreed).await?;
        let write =
            |output: &mut Output, id: &str, body: Bytes| output.answer(id, &body, cards::playlist);
        context.each(wanted, &all, is_one, playlist, write).await
    }
}

pub(super) async fn query(args: &QueryArgs) -> Result<(), Failure> {
    let id = one(&args.playlist)?;
    let mut context = args.common.open()?;
    let selection = args.selection();
    // Filters and sorting need the whole list.
    let is_part = selection.filter == Filter::default() && selection.sort.is_none();
    let last = selection.range.end.filter(|_| is_part);
    let agreed = context.confirm_entries(std::slice::from_ref(&id), last, 2).await;
    context.begin(agreed).await?;
    let request = RestRequest::get("playlist").segment(&id).segment("query");
    let request = context.shaped(request.post(json!(selection)));
    let answer = context.service.fetch(&request).await;
    let answer = answer.map_err(|failure| Kind::Playlist.hint(&id, failure));
    let done = answer.and_then(|body| context.output.answer(&id, &body, cards::selected));
    context.end(done).await
}

impl CommandContext {
    /// Asks before the lists of these playlists become expensive. `last` is the last position that is needed, and
    /// `units` is the cost of fifty entries.
    pub(super) async fn confirm_entries(
        &self,
        playlists: &[String],
        last: Option<u64>,
        units: u64,
    ) -> Result<(), Failure> {
        let spending = self.service.spending();
        let mut entries = 0;
        for id in playlists {
            if !spending.may_ask() {
                return Ok(());
            }
            let request = RestRequest::get("playlist").segment(id).segment("info").allow_cached();
            // The command itself reports a failure.
            let Ok(body) = self.service.fetch(&request).await else { continue };
            let count = read::<PlaylistInfo>(&body)?.item_count.unwrap_or(0);
            entries += count.min(last.unwrap_or(u64::MAX));
        }
        let estimate = entries.div_ceil(PER_UNIT) * units;
        spending.confirm(estimate, &format!("a list of {entries} entries"))
    }
}

impl QueryArgs {
    fn selection(&self) -> Selection {
        let seconds = |length: Option<Duration>| length.map(|length| length.as_secs());
        let filter = Filter::default()
            .with_duration(Bounds {
                min: seconds(self.min_duration),
                max: seconds(self.max_duration),
            })
            .with_views(Bounds { min: self.min_views, max: self.max_views })
            .with_likes(Bounds { min: self.min_likes, max: self.max_likes });
        let field = self.sort.map(|field| match field {
            Field::Duration => SortField::Duration,
            Field::Views => SortField::Views,
            Field::Likes => SortField::Likes,
        });
        let is_ascending = self.ascending || self.order == Order::Asc;
        let order = if is_ascending { SortOrder::Asc } else { SortOrder::Desc };
        let sort = field.map(|field| Sort { field, order });
        Selection { filter, sort, range: PositionRange { start: self.from, end: self.to } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parsed;
    use super::*;

    #[test]
    fn query_contains_only_the_given_flags() {
        let selection =
            |flags: &[&str]| parsed::<QueryArgs>(&[&["query", "PLa"], flags].concat()).selection();
        assert_eq!(selection(&[]), Selection::default());
        let flags = ["--min-duration=1:30", "--max-views=10", "--sort=likes", "--to=5"];
        let given = json!({
            "filter": {"duration": {"min": 90}, "views": {"max": 10}},
            "sort": {"field": "likes", "order": "desc"},
            "range": {"end": 5},
        });
        assert_eq!(selection(&flags), Selection::from_json(&given).unwrap());
        let ascending = selection(&["--sort=views", "--order=asc", "--min-views=1.5k"]);
        assert_eq!(ascending.filter.views.min, Some(1_500));
        assert_eq!(
            selection(&["--sort=views", "--ascending"]).sort,
            ascending.sort,
            "the old word"
        );
    }
}
