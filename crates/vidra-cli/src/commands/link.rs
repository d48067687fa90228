//! `vidra link`.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::{ItemsArgs, Kind, Wanted};
use crate::failure::{Exit, Failure};
use crate::output::{Output, read};
use crate::service::RestRequest;
use crate::terminal::one_line;

/// The parts of a link.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    is_valid: bool,
    r#type: String,
    video_id: Option<String>,
    playlist_id: Option<String>,
    channel_id: Option<String>,
    handle: Option<String>,
    error: Option<String>,
}

pub(super) async fn show(args: &ItemsArgs) -> Result<(), Failure> {
    args.common.reject_list_flags("--jq")?;
    let mut context = args.common.open()?;
    let request = |link: &str| RestRequest::get("url").segment("parse").post(json!({"url": link}));
    let mut all_valid = true;
    let write = |output: &mut Output, link: &str, body: Bytes| {
        all_valid &= read::<Named>(&body)?.is_valid;
        output.answer(link, &body, |named: &Named, _| text(link, named))
    };
    let (ids, is_one) = (args.ids.all()?, args.ids.is_one());
    context.each(Wanted::new(Kind::Any, 0), &ids, is_one, request, write).await?;
    if all_valid { Ok(()) } else { Err(Failure::Reported(Exit::Missing)) }
}

fn text(link: &str, named: &Named) -> String {
    let fields = [
        ("link", Some(link)),
        ("type", Some(named.r#type.as_str())),
        ("video", named.video_id.as_deref()),
        ("playlist", named.playlist_id.as_deref()),
        ("channel", named.channel_id.as_deref()),
        ("handle", named.handle.as_deref()),
        ("error", named.error.as_deref()),
    ];
    let lines = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
    lines.map(|(name, value)| format!("{name:<9}{}\n", one_line(value))).collect()
}
