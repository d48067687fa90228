//! Resources: data that a person attaches to a conversation. A tool reads each of them.

use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};
use vidra::{ErrorKind, Result};
use vidra_library::{Access, CollectionName};

use crate::call::Call;
use crate::call_error::CallError;
use crate::tools::call;

/// The maximum length of a resource, in characters.
const LONGEST: u64 = 200_000;

/// The most collections in the list.
const LISTED: usize = 100;

/// A kind of resources: the beginning and the end of its URI around the id, and the tool that reads it.
struct Kind {
    before: &'static str,
    after: &'static str,
    id: &'static str,
    title: &'static str,
    tool: &'static str,
    arguments: fn(&str) -> Value,
}

const KINDS: [Kind; 4] = [
    Kind {
        before: "youtube://video/",
        after: "/transcript",
        id: "id",
        title: "Transcript of a video",
        tool: "get_transcript",
        arguments: |id| json!({"video": id, "max_chars": LONGEST}),
    },
    Kind {
        before: "youtube://video/",
        after: "/comments",
        id: "id",
        title: "Comments on a video",
        tool: "get_comments",
        arguments: |id| json!({"video": id, "limit": 200, "order": "relevance", "max_chars": LONGEST}),
    },
    Kind {
        before: "youtube://playlist/",
        after: "",
        id: "id",
        title: "Videos of a playlist",
        tool: "get_playlist",
        arguments: |id| json!({"playlist": id, "to": 500, "max_chars": LONGEST}),
    },
    Kind {
        before: "vidra://collection/",
        after: "",
        id: "name",
        title: "Stored videos of a collection",
        tool: "search_library",
        arguments: |name| json!({"collection": name, "limit": 100, "max_chars": LONGEST}),
    },
];

/// The templates of all resources.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |it: &Kind| {
        let uri = format!("{}{{{}}}{}", it.before, it.id, it.after);
        ResourceTemplate::new(uri, it.title).with_title(it.title).with_mime_type("text/plain")
    };
    KINDS.iter().map(template).collect()
}

/// The collections of the caller. Videos and playlists are too many to list.
///
/// # Errors
///
/// Those of the library.
pub(super) async fn list(context: &Call<'_>) -> Result<Vec<Resource>> {
    let Ok(caller) = context.library() else { return Ok(vec![]) };
    // Also for operators: a name is that of an own collection.
    let own = Access::Owner(caller.owner.clone());
    let (collections, _) = caller.library.collections(&own, None, LISTED).await?;
    let resource = |name: &CollectionName| {
        let title = format!("Collection {name}");
        Resource::new(format!("vidra://collection/{name}"), name.to_string())
            .with_title(title)
            .with_mime_type("text/plain")
    };
    Ok(collections.iter().map(|it| resource(&it.name)).collect())
}

/// Reads a resource.
///
/// # Errors
///
/// If there is no such resource, or it cannot be fetched.
pub(super) async fn read(uri: &str, context: &Call<'_>) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || {
        let data = Some(json!({"uri": uri}));
        ErrorData::resource_not_found("There is no such resource", data)
    };
    let id_in = |it: &Kind| uri.strip_prefix(it.before)?.strip_suffix(it.after).map(str::to_owned);
    let found = KINDS.iter().find_map(|it| Some((it, id_in(it)?)));
    let (kind, id) =
        found.filter(|(_, id)| !id.is_empty() && !id.contains('/')).ok_or_else(unknown)?;
    match call(kind.tool, (kind.arguments)(&id), context).await {
        Ok(reply) => {
            let tool = kind.tool;
            let text = reply.text.replace("call again with", &format!("call {tool} with"));
            let contents = ResourceContents::text(text, uri);
            Ok(ReadResourceResult::new(vec![contents]))
        }
        Err(error) => Err(match &error {
            CallError::Failed(failed) if failed.kind() != ErrorKind::NotFound => {
                ErrorData::internal_error(error.for_model(), None)
            }
            _ => ErrorData::resource_not_found(error.for_model(), Some(json!({"uri": uri}))),
        }),
    }
}
