//! `vidra channel` and `vidra uploads`.

use vidra::ChannelVideo;

use super::{Common, Ids, ItemsArgs};
use crate::failure::Failure;
use crate::output::cards;
use crate::service::Question;

#[derive(Debug, clap::Args)]
pub(crate) struct UploadsArgs {
    #[command(flatten)]
    ids: Ids,

    /// How many of each, at most 50
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=50))]
    limit: Option<u32>,

    #[command(flatten)]
    common: Common,
}

pub(super) async fn show(args: &ItemsArgs) -> Result<(), Failure> {
    let mut desk = args.common.open()?;
    desk.show_each(&args.ids, |id| Question::about("channel").of(id), cards::channel).await
}

pub(super) async fn uploads(args: &UploadsArgs) -> Result<(), Failure> {
    let mut desk = args.common.open()?;
    let question =
        |id: &str| Question::about("channel").of(id).of("videos").with("limit", args.limit);
    let shown = |videos: &Vec<ChannelVideo>, width| cards::uploads(videos, width);
    desk.show_each(&args.ids, question, shown).await
}
