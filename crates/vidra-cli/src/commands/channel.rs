//! `vidra channel` and `vidra uploads`.

use vidra::ChannelVideo;

use super::{Common, Ids, ItemsArgs};
use crate::failure::Failure;
use crate::output::cards;
use crate::service::RestRequest;

#[derive(Debug, clap::Args)]
pub(crate) struct UploadsArgs {
    #[command(flatten)]
    ids: Ids,

    /// Number of uploads per channel, at most 50 [default: 5]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=50))]
    limit: Option<u32>,

    #[command(flatten)]
    common: Common,
}

pub(super) async fn show(args: &ItemsArgs) -> Result<(), Failure> {
    let mut context = args.common.open()?;
    context.show_each(&args.ids, |id| RestRequest::get("channel").segment(id), cards::channel).await
}

pub(super) async fn uploads(args: &UploadsArgs) -> Result<(), Failure> {
    let mut context = args.common.open()?;
    let request = |id: &str| {
        RestRequest::get("channel").segment(id).segment("videos").parameter("limit", args.limit)
    };
    let shown = |videos: &Vec<ChannelVideo>, width| cards::uploads(videos, width);
    context.show_each(&args.ids, request, shown).await
}
