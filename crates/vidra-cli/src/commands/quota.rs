//! `vidra quota`.

use serde::Deserialize;

use super::Common;
use crate::failure::Failure;
use crate::output::table::Table;
use crate::service::RestRequest;
use crate::terminal::{FAINT, styled};

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

pub(super) async fn show(common: &Common) -> Result<(), Failure> {
    common.reject_list_flags("--jq")?;
    common.show(RestRequest::get("quota"), text).await
}

fn text(quota: &Quota, width: Option<usize>) -> String {
    let mut rows: Vec<(&Bucket, String)> =
        quota.buckets.iter().map(|bucket| (bucket, bucket.name.clone())).collect();
    if let Some(Share { name, buckets }) = &quota.yours {
        rows.extend(buckets.iter().map(|it| (it, format!("{} ({name})", it.name))));
    }
    let table = Table::new(&rows)
        .word("bucket", |(_, name)| name.clone())
        .number("limit", |(bucket, _)| bucket.limit)
        .number("used", |(bucket, _)| bucket.used)
        .number("left", |(bucket, _)| bucket.remaining);
    let renewed = styled(FAINT, format!("renewed at {}", quota.resets_at));
    table.written(width) + &renewed + "\n"
}
