//! `vidra popular`.

use super::include::IncludeArgs;
use super::pages::PageArgs;
use super::{Common, Kind, Wanted};
use crate::failure::Failure;
use crate::output::cards;
use crate::service::RestRequest;

#[derive(Debug, clap::Args)]
pub(crate) struct PopularArgs {
    /// Two-letter code of the region [default: US]
    #[arg(long, value_name = "CODE")]
    region: Option<String>,

    /// Only videos of this category, by its id, which vidra categories lists
    #[arg(long, value_name = "ID")]
    category: Option<String>,

    #[command(flatten)]
    include: IncludeArgs,

    #[command(flatten)]
    part: PageArgs,

    #[command(flatten)]
    common: Common,
}

pub(super) async fn list(args: &PopularArgs) -> Result<(), Failure> {
    let PopularArgs { region, category, include, part, common } = args;
    let request = |_: &str| {
        RestRequest::get("charts/popular")
            .parameter("region", region.as_ref())
            .parameter("category", category.as_ref())
            .parameter("include", include.names())
    };
    let wanted = Wanted::new(Kind::NoId, 0);
    common.open()?.pages(wanted, &[String::new()], true, part, request, cards::videos).await
}
