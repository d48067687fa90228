//! `vidra channel`, `vidra uploads` and `vidra playlists`.

use super::include::IncludeArgs;
use super::pages::PageArgs;
use super::{Common, Ids, ItemsArgs, Kind, Wanted};
use crate::failure::Failure;
use crate::output::cards;
use crate::service::RestRequest;
use crate::values::date;

#[derive(Debug, clap::Args)]
pub(crate) struct UploadsArgs {
    #[command(flatten)]
    ids: Ids,

    /// Only uploads of this day or time or later: 2026-03-26 or 2026-03-26T18:30:00Z
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<String>,

    /// Only uploads of this day or time or earlier; days are in UTC
    #[arg(long, value_name = "DATE", value_parser = date)]
    until: Option<String>,

    #[command(flatten)]
    include: IncludeArgs,

    #[command(flatten)]
    part: PageArgs,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlaylistsArgs {
    #[command(flatten)]
    ids: Ids,

    #[command(flatten)]
    part: PageArgs,

    #[command(flatten)]
    common: Common,
}

/// The most uploads that the service lists without pages.
const MOST_NEWEST: u64 = 50;

pub(super) async fn show(args: &ItemsArgs) -> Result<(), Failure> {
    args.common.reject_list_flags("--jq")?;
    let request = |id: &str| RestRequest::get("channel").segment(id);
    let wanted = Wanted::new(Kind::Channel, 1);
    args.common.show_each(wanted, &args.ids, request, cards::channel).await
}

/// The newest uploads, or with the flags of a part the paged list, whose items are videos in full.
pub(super) async fn uploads(args: &UploadsArgs) -> Result<(), Failure> {
    let UploadsArgs { ids, since, until, include, part, common } = args;
    let channel = |id: &str| RestRequest::get("channel").segment(id);
    let is_newest = since.is_none() && until.is_none() && !part.all && part.cursor.is_none();
    if is_newest && include.names().is_none() && part.limit.is_none_or(|limit| limit <= MOST_NEWEST)
    {
        let request = |id: &str| channel(id).segment("videos").parameter("limit", part.limit);
        let wanted = Wanted::new(Kind::Channel, 3);
        return common.show_each(wanted, ids, request, cards::uploads).await;
    }
    let request = |id: &str| {
        channel(id)
            .segment("uploads")
            .parameter("since", since.as_ref())
            .parameter("until", until.as_ref())
            .parameter("include", include.names())
    };
    let wanted = Wanted::new(Kind::Channel, 0);
    common.open()?.pages(wanted, &ids.all()?, ids.is_one(), part, request, cards::videos).await
}

pub(super) async fn playlists(args: &PlaylistsArgs) -> Result<(), Failure> {
    let PlaylistsArgs { ids, part, common } = args;
    let request = |id: &str| RestRequest::get("channel").segment(id).segment("playlists");
    let wanted = Wanted::new(Kind::Channel, 0);
    common.open()?.pages(wanted, &ids.all()?, ids.is_one(), part, request, cards::playlists).await
}
