//! `vidra playlist`.

use bytes::Bytes;
use vidra::PlaylistInfo;

use super::include::IncludeArgs;
use super::pages::{MOST, PageArgs};
use super::{CommandContext, Common, Ids, Kind, Wanted};
use crate::failure::Failure;
use crate::output::{Output, cards, read};
use crate::service::RestRequest;

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
    include: IncludeArgs,

    #[command(flatten)]
    part: PageArgs,

    #[command(flatten)]
    common: Common,
}

/// The entries of a page of YouTube, which costs a unit.
const PER_UNIT: u64 = 50;

pub(super) async fn show(args: &PlaylistArgs) -> Result<(), Failure> {
    let PlaylistArgs { ids, info, only_ids, videos, include, part, common } = args;
    if (*info || *only_ids) && part.is_given() {
        return Err(Failure::usage(
            "--limit, --all and --cursor cannot be used with --info or --ids",
        ));
    }
    if *info || *only_ids {
        if include.names().is_some() {
            return Err(Failure::usage("--include cannot be used with --info or --ids"));
        }
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
        let request =
            |id: &str| playlist(id).segment("videos").parameter("include", include.names());
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
        let request = |id: &str| playlist(id).parameter("include", include.names());
        context.each(wanted, &all, is_one, request, write).await
    }
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
