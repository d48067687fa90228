//! `vidra document` and `vidra chunks`.

use vidra::ChunkBy;

use super::part::TrackArgs;
use super::{Common, Ids, Kind, Wanted};
use crate::failure::Failure;
use crate::output::documents;
use crate::values::count_in;

#[derive(Debug, clap::Args)]
pub(crate) struct DocumentArgs {
    #[command(flatten)]
    ids: Ids,

    #[command(flatten)]
    track: TrackArgs,

    /// Add the words of recognised speech with their times
    #[arg(long)]
    words: bool,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ChunksArgs {
    #[command(flatten)]
    ids: Ids,

    #[command(flatten)]
    track: TrackArgs,

    /// Unit of the size [default: tokens]
    #[arg(long, value_name = "UNIT", value_parser = ChunkBy::ALL.map(ChunkBy::as_str))]
    by: Option<String>,

    /// Greatest size of a chunk [default: 512 tokens, 384 words, 60 seconds, 8 sentences or a whole chapter]
    #[arg(long, value_name = "COUNT", value_parser = count_in::<u64>(1..=MOST))]
    size: Option<u64>,

    /// Greatest part of the previous chunk that a chunk repeats [default: an eighth of the default size]
    #[arg(long, value_name = "COUNT", value_parser = count_in::<u64>(0..=MOST / 2))]
    overlap: Option<u64>,

    #[command(flatten)]
    common: Common,
}

/// The greatest size in any unit. The service knows the bounds of each unit.
const MOST: u64 = 8_192;

pub(super) async fn show(args: &DocumentArgs) -> Result<(), Failure> {
    let DocumentArgs { ids, track, words, common } = args;
    common.reject_list_flags("--jq, or vidra transcript")?;
    track.part.check()?;
    let request =
        |id: &str| track.request(id, Some("document")).parameter("words", words.then_some(true));
    let wanted = Wanted::new(Kind::Captions, 0);
    common.show_each(wanted, ids, request, documents::document).await
}

pub(super) async fn chunks(args: &ChunksArgs) -> Result<(), Failure> {
    let ChunksArgs { ids, track, by, size, overlap, common } = args;
    common.reject_list_flags("--jq")?;
    track.part.check()?;
    let request = |id: &str| {
        track
            .request(id, Some("chunks"))
            .parameter("by", by.as_ref())
            .parameter("size", *size)
            .parameter("overlap", *overlap)
    };
    let wanted = Wanted::new(Kind::Captions, 0);
    common.show_each(wanted, ids, request, documents::chunks).await
}
