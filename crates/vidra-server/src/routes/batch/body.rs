//! The bodies of batches, for the document only: `BatchQuery` reads them, so that one error names every fault.

use serde_json::json;
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, OneOfBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::routes::patterns;

/// The body of the batch of a playlist.
pub(in crate::routes) struct BatchBody;

/// The body of a batch that names its source.
pub(in crate::routes) struct TranscriptsBody;

impl ToSchema for BatchBody {}

impl PartialSchema for BatchBody {
    fn schema() -> RefOr<Schema> {
        closed(options("The options of a batch. Numbers may be strings."))
    }
}

impl ToSchema for TranscriptsBody {}

impl PartialSchema for TranscriptsBody {
    fn schema() -> RefOr<Schema> {
        let videos = ArrayBuilder::new().items(text(&patterns::video_reference()));
        let videos = videos.min_items(Some(1)).max_items(Some(500));
        let videos = videos.examples([json!(["txManualAsr"])]);
        let videos = videos.description(Some("Ids or URLs of videos."));
        let playlist = text(&patterns::playlist_reference()).examples([json!("PLsize1")]);
        let playlist = playlist.description(Some("The id or URL of a playlist."));
        let channel = text(&patterns::channel_reference()).examples([json!("@fermata")]);
        let channel = channel.description(Some("The id, handle or URL of a channel."));
        let since = text(&patterns::date()).examples([json!("2020-01-31")]);
        let since = since.description(Some(
            "The earliest publication: a date (UTC) or a time. Not with `videos`.",
        ));
        let what = "The source of a batch, which is exactly one of `videos`, `playlist` and `channel`, and its \
                    options. Numbers may be strings.";
        let body = options(what)
            .property("videos", videos)
            .property("playlist", playlist)
            .property("channel", channel)
            .property("since", since);
        closed(body)
    }
}

/// The options of every batch.
fn options(what: &str) -> ObjectBuilder {
    let position = "^0*[1-9][0-9]{0,17}$";
    let concurrency =
        "The maximum number of transcripts to fetch at the same time; 3 if not given.";
    let from = "The first position, from 1.";
    let to = "The last position, included. Positions past the end are ignored.";
    let lang = "One language code, or several by preference; the spoken language if not given.";
    let translate = "The language that YouTube translates to; not translated if not given.";
    let captions = "The kind of captions; both if not given, and those by people are preferred.";
    let skip = "Videos to leave out because you have them already; none if not given.";
    let languages = text(&patterns::languages()).examples([json!("de,en")]);
    let language = text(&patterns::language()).examples([json!("de")]);
    let kinds = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(["manual", "auto"]))
        .examples([json!("manual")]);
    let ids = ArrayBuilder::new().items(text(&patterns::video_id())).max_items(Some(4_000));
    let ids = ids.examples([json!(["quirkNoLike"])]);
    ObjectBuilder::new()
        .description(Some(what))
        .property("concurrency", number(concurrency, 1, 20, "^0*([1-9]|1[0-9]|20)$", 3))
        .property("from", number(from, 1, i64::MAX, position, 1))
        .property("to", number(to, 1, i64::MAX, position, 25))
        .property("lang", languages.description(Some(lang)))
        .property("translate", language.description(Some(translate)))
        .property("captions", kinds.description(Some(captions)))
        .property(
            "start",
            time("The start of the part of each video: seconds, or hours, minutes and seconds."),
        )
        .property("end", time("The end of the part of each video."))
        .property("chunks", chunks())
        .property("skip", ids.description(Some(skip)))
}

/// Divides the transcripts.
fn chunks() -> Schema {
    let units = ["tokens", "words", "seconds", "sentences", "chapters"];
    let by = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(units));
    let by = by.examples([json!("tokens")]);
    let size = "The greatest size of a chunk; 512 tokens, 384 words, 60 seconds or 8 sentences if not given.";
    let overlap = "The greatest size of what a chunk repeats from the previous one, at most half of the size.";
    let digits = "^[0-9]{1,4}$";
    ObjectBuilder::new()
        .description(Some("Divides the transcripts into chunks; not divided if not given."))
        .property("by", by.description(Some("The unit of the size; tokens if not given.")))
        .property("size", number(size, 1, 8_192, digits, 512))
        .property("overlap", number(overlap, 0, 4_096, digits, 64))
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
        .into()
}

/// A body without other members.
fn closed(body: ObjectBuilder) -> RefOr<Schema> {
    body.additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false))).into()
}

/// A whole number, also as a string that matches `pattern`.
fn number(what: &str, min: i64, max: i64, pattern: &str, example: u64) -> OneOfBuilder {
    let number = ObjectBuilder::new().schema_type(Type::Integer).examples([json!(example)]);
    let number = number.minimum(Some(min)).maximum(Some(max));
    OneOfBuilder::new().item(number).item(text(pattern)).description(Some(what))
}

/// A time, as a number of seconds or as a string.
fn time(what: &str) -> OneOfBuilder {
    let seconds = ObjectBuilder::new().schema_type(Type::Number).examples([json!(90)]);
    let seconds = seconds.minimum(Some(0)).maximum(Some(1_000_000));
    OneOfBuilder::new().item(seconds).item(text(&patterns::time())).description(Some(what))
}

fn text(pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))
}
