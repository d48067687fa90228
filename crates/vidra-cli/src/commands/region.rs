//! `vidra regions`, `vidra languages` and `vidra categories`.

use vidra::{Language, Region, VideoCategory};

use super::Common;
use crate::failure::Failure;
use crate::output::cards;
use crate::service::Question;

#[derive(Debug, clap::Args)]
pub(crate) struct NamesArgs {
    /// The language of the names
    #[arg(long, value_name = "LANGUAGE")]
    hl: Option<String>,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CategoriesArgs {
    /// The region whose categories are listed [default: US]
    #[arg(long, value_name = "CODE", conflicts_with = "ids")]
    region: Option<String>,

    /// Only these, separated by commas
    #[arg(long, value_name = "IDS")]
    ids: Option<String>,

    /// The language of the names
    #[arg(long, value_name = "LANGUAGE")]
    hl: Option<String>,

    #[command(flatten)]
    common: Common,
}

pub(super) async fn regions(args: &NamesArgs) -> Result<(), Failure> {
    let question = Question::about("i18n/regions").with("hl", args.hl.as_ref());
    let shown = |regions: &Vec<Region>, width| cards::regions(regions, width);
    args.common.open()?.show(&question, shown).await
}

pub(super) async fn languages(args: &NamesArgs) -> Result<(), Failure> {
    let question = Question::about("i18n/languages").with("hl", args.hl.as_ref());
    let shown = |languages: &Vec<Language>, width| cards::languages(languages, width);
    args.common.open()?.show(&question, shown).await
}

pub(super) async fn categories(args: &CategoriesArgs) -> Result<(), Failure> {
    let region = args.region.as_deref().or_else(|| args.ids.is_none().then_some("US"));
    let question = Question::about("video-categories")
        .with("region", region)
        .with("ids", args.ids.as_ref())
        .with("hl", args.hl.as_ref());
    let shown = |categories: &Vec<VideoCategory>, width| cards::categories(categories, width);
    args.common.open()?.show(&question, shown).await
}
