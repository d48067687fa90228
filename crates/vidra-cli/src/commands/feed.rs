//! `vidra feed`.

use bytes::Bytes;
use serde_json::value::RawValue;
use vidra::Link;

use super::pages::{Page, json_list};
use super::{ItemsArgs, Kind, Wanted};
use crate::failure::Failure;
use crate::output::{Form, Output, cards, read};
use crate::service::RestRequest;

/// Prints the feeds of channels and playlists. Several of them, or NDJSON, are one list of videos.
pub(super) async fn show(args: &ItemsArgs) -> Result<(), Failure> {
    let is_one = args.ids.is_one();
    let write = |output: &mut Output, id: &str, body: Bytes| match output.form {
        Form::Json if is_one => output.json(id, &body),
        Form::Json | Form::Ndjson => {
            output.json(id, &json_list(&read::<Page<Box<RawValue>>>(&body)?.items))
        }
        Form::People | Form::Csv => output.answer(id, &body, cards::feed),
    };
    // A handle costs a unit, and videos that do not come from the feed cost two.
    let wanted = Wanted::new(Kind::ChannelOrPlaylist, 3);
    args.common.open()?.each(wanted, &args.ids.all()?, is_one, request, write).await
}

fn request(id: &str) -> RestRequest {
    let has_playlist = Link::parse(id).is_ok_and(|link| link.playlist.is_some());
    let resource = if has_playlist { "playlist" } else { "channel" };
    RestRequest::get(resource).segment(id).segment("feed")
}
