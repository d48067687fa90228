//! `vidra channel` and `vidra uploads`.

use jiff::civil::Date;

use super::pages::PageArgs;
use super::{Common, Ids, ItemsArgs, Kind, Wanted};
use crate::failure::Failure;
use crate::output::cards;
use crate::service::RestRequest;

#[derive(Debug, clap::Args)]
pub(crate) struct UploadsArgs {
    #[command(flatten)]
    ids: Ids,

    /// Only uploads of this day or later, such as 2026-03-26
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<Date>,

    /// Only uploads of this day or earlier, in UTC
    #[arg(long, value_name = "DATE", value_parser = date)]
    until: Option<Date>,

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
    let UploadsArgs { ids, since, until, part, common } = args;
    let channel = |id: &str| RestRequest::get("channel").segment(id);
    let is_newest = since.is_none() && until.is_none() && !part.all && part.cursor.is_none();
    if is_newest && part.limit.is_none_or(|limit| limit <= MOST_NEWEST) {
        let request = |id: &str| channel(id).segment("videos").parameter("limit", part.limit);
        let wanted = Wanted::new(Kind::Channel, 3);
        return common.show_each(wanted, ids, request, cards::uploads).await;
    }
    let request = |id: &str| {
        channel(id).segment("uploads").parameter("since", *since).parameter("until", *until)
    };
    let wanted = Wanted::new(Kind::Channel, 0);
    common.open()?.pages(wanted, &ids.all()?, ids.is_one(), part, request, cards::videos).await
}

fn date(text: &str) -> Result<Date, String> {
    text.parse().map_err(|_| "expected a day such as 2026-03-26".to_owned())
}
