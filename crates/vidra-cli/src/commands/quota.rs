//! `vidra quota`.

use serde::Deserialize;

use super::Common;
use crate::failure::Failure;
use crate::output::table::{Column, table};
use crate::service::RestRequest;
use crate::terminal::{FAINT, styled};

#[derive(Debug, clap::Args)]
pub(crate) struct QuotaArgs {
    #[command(flatten)]
    common: Common,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Quota {
    resets_at: String,
    buckets: Vec<Bucket>,
    yours: Option<Share>,
}

#[derive(Deserialize)]
struct Bucket {
    name: String,
    limit: u64,
    used: u64,
    remaining: u64,
}

/// The budget of the caller's own key.
#[derive(Deserialize)]
struct Share {
    name: String,
    buckets: Vec<Bucket>,
}

pub(super) async fn show(args: &QuotaArgs) -> Result<(), Failure> {
    args.common.open()?.show(&RestRequest::get("quota"), text).await
}

fn text(quota: &Quota, width: Option<usize>) -> String {
    let columns = [
        Column::Word("bucket"),
        Column::Number("limit"),
        Column::Number("used"),
        Column::Number("left"),
    ];
    let row = |whose: &str, bucket: &Bucket| {
        let numbers = [bucket.limit, bucket.used, bucket.remaining].map(|it| it.to_string());
        [vec![format!("{}{whose}", bucket.name)], numbers.to_vec()].concat()
    };
    let mut rows: Vec<_> = quota.buckets.iter().map(|bucket| row("", bucket)).collect();
    if let Some(share) = &quota.yours {
        let whose = format!(" ({})", share.name);
        rows.extend(share.buckets.iter().map(|bucket| row(&whose, bucket)));
    }
    let renewed = styled(FAINT, format!("renewed at {}", quota.resets_at));
    table(&columns, &rows, width) + &renewed + "\n"
}
