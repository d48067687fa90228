//! `vidra channel` and `vidra uploads`.

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
    let request = |id: &str| RestRequest::get("channel").segment(id);
    args.common.show_each(&args.ids, request, cards::channel).await
}

pub(super) async fn uploads(args: &UploadsArgs) -> Result<(), Failure> {
    let request = |id: &str| {
        RestRequest::get("channel").segment(id).segment("videos").parameter("limit", args.limit)
    };
    args.common.show_each(&args.ids, request, cards::uploads).await
}
