//! The body of `PUT /api/collections/{name}`, for the document only: `CollectionRequest` reads it, so that one error
//! names every fault.

use serde_json::json;
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::routes::job::webhook;
use crate::routes::patterns;

pub(in crate::routes) struct CollectionRequestBody;

impl ToSchema for CollectionRequestBody {}

impl PartialSchema for CollectionRequestBody {
    fn schema() -> RefOr<Schema> {
        let text = |pattern: String, example: &str, what: &str| {
            let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
            text.examples([json!(example)]).description(Some(what))
        };
        let number = |what: &str, min: u64, max: u64, example: u64| {
            let number = ObjectBuilder::new().schema_type(Type::Integer).description(Some(what));
            number.minimum(Some(min)).maximum(Some(max)).examples([json!(example)])
        };
        let captions = ObjectBuilder::new().schema_type(Type::String);
        let captions = captions.enum_values(Some(["manual", "auto"])).examples([json!("manual")]);
        let source = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(patterns::collection_source()))
            .examples([json!("@fermata")]);
        let sources = ArrayBuilder::new()
            .items(source)
            .min_items(Some(1))
            .max_items(Some(500))
            .examples([json!(["@fermata", "PLsize1", "search:night trains"])])
            .description(Some(
                "Links or ids of channels, playlists and videos, and searches: `search:` and words.",
            ));
        let every = "The time between two syncs, from `15m` to `30d`; `6h` if not given.";
        let since = "The earliest publication: a date (UTC) or a time; no limit if not given.";
        let limit = "How many videos the first sync takes from each list: the newest of a channel, the first of a playlist. Videos that appear later are always added. All if not given.";
        let budget = "How many quota units the collection may cost on one day. If they are used up, its sync waits for the next day.";
        let lang = "One language code, or several by preference; the spoken language if not given.";
        let webhook = webhook().description(Some(
            "The name of a webhook of this service, which gets the news of the collection; none if not given.",
        ));
        ObjectBuilder::new()
            .description(Some("A collection: its sources and its options."))
            .property("sources", sources)
            .property("every", text(patterns::interval(), "6h", every))
            .property("since", text(patterns::date(), "2020-01-31", since))
            .property("limit", number(limit, 1, 1_000_000, 100))
            .property("lang", text(patterns::languages(), "de,en", lang))
            .property(
                "translate",
                text(
                    patterns::language(),
                    "fr",
                    "The language that YouTube translates to; not translated if not given.",
                ),
            )
            .property(
                "captions",
                captions.description(Some(
                    "The kind of captions; both if not given, and those by people are preferred.",
                )),
            )
            .property("unitBudget", number(budget, 0, 1_000_000_000, 500))
            .property("webhook", webhook)
            .required("sources")
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
            .into()
    }
}
