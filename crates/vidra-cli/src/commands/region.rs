//! `vidra regions`, `vidra languages` and `vidra categories`.

use super::Common;
use crate::failure::Failure;
use crate::output::cards;
use crate::service::RestRequest;

#[derive(Debug, clap::Args)]
pub(crate) struct NamesArgs {
    /// Language of the names
    #[arg(long, value_name = "LANGUAGE")]
    hl: Option<String>,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CategoriesArgs {
    /// Region of the categories [default: US]
    #[arg(long, value_name = "CODE", conflicts_with = "ids")]
    region: Option<String>,

    /// Only these category ids, separated by commas
    #[arg(long, value_name = "IDS")]
    ids: Option<String>,

    /// Language of the names
    #[arg(long, value_name = "LANGUAGE")]
    hl: Option<String>,

    #[command(flatten)]
    common: Common,
}

pub(super) async fn regions(args: &NamesArgs) -> Result<(), Failure> {
    let request = RestRequest::get("i18n/regions").parameter("hl", args.hl.as_ref());
    args.common.show(request, cards::regions).await
}

pub(super) async fn languages(args: &NamesArgs) -> Result<(), Failure> {
    let request = RestRequest::get("i18n/languages").parameter("hl", args.hl.as_ref());
    args.common.show(request, cards::languages).await
}

pub(super) async fn categories(args: &CategoriesArgs) -> Result<(), Failure> {
    let region = args.region.as_deref().or_else(|| args.ids.is_none().then_some("US"));
    let request = RestRequest::get("video-categories")
        .parameter("region", region)
        .parameter("ids", args.ids.as_ref())
        .parameter("hl", args.hl.as_ref());
    args.common.show(request, cards::categories).await
}
