//! The parameters of each method and their values.
//!
//! The platform rejects unknown names, and so does the simulator: a typing error in a client must not pass
//! for a request without that parameter.

use super::error::ApiError;
use crate::query::Query;
use crate::route::Endpoint;
use std::ops::RangeInclusive;

/// Parameters of every method.
const STANDARD: &[&str] = &[
    "key",
    "alt",
    "fields",
    "prettyPrint",
    "quotaUser",
    "access_token",
    "oauth_token",
    "callback",
    "upload_protocol",
    "uploadType",
    "$.xgafv",
];

/// The parameters of a method's `list`, as in the discovery document.
pub(crate) const fn allowed(endpoint: Endpoint) -> &'static [&'static str] {
    match endpoint {
        Endpoint::Videos => &[
            "part",
            "id",
            "chart",
            "hl",
            "locale",
            "maxHeight",
            "maxWidth",
            "maxResults",
            "myRating",
            "onBehalfOfContentOwner",
            "pageToken",
            "regionCode",
            "videoCategoryId",
        ],
        Endpoint::Channels => &[
            "part",
            "id",
            "forHandle",
            "forUsername",
            "categoryId",
            "hl",
            "managedByMe",
            "maxResults",
            "mine",
            "mySubscribers",
            "onBehalfOfContentOwner",
            "pageToken",
        ],
        Endpoint::Playlists => &[
            "part",
            "id",
            "channelId",
            "hl",
            "maxResults",
            "mine",
            "onBehalfOfContentOwner",
            "onBehalfOfContentOwnerChannel",
            "pageToken",
        ],
        Endpoint::PlaylistItems => &[
            "part",
            "id",
            "playlistId",
            "maxResults",
            "onBehalfOfContentOwner",
            "pageToken",
            "videoId",
        ],
        Endpoint::CommentThreads => &[
            "part",
            "id",
            "videoId",
            "channelId",
            "allThreadsRelatedToChannelId",
            "maxResults",
            "moderationStatus",
            "order",
            "pageToken",
            "postId",
            "searchTerms",
            "textFormat",
        ],
        Endpoint::Comments => &["part", "id", "parentId", "maxResults", "pageToken", "textFormat"],
        Endpoint::Search => &[
            "part",
            "q",
            "type",
            "channelId",
            "channelType",
            "eventType",
            "forContentOwner",
            "forDeveloper",
            "forMine",
            "location",
            "locationRadius",
            "maxResults",
            "onBehalfOfContentOwner",
            "order",
            "pageToken",
            "publishedAfter",
            "publishedBefore",
            "regionCode",
            "relevanceLanguage",
            "safeSearch",
            "topicId",
            "videoCaption",
            "videoCategoryId",
            "videoDefinition",
            "videoDimension",
            "videoDuration",
            "videoEmbeddable",
            "videoLicense",
            "videoPaidProductPlacement",
            "videoSyndicated",
            "videoType",
        ],
        Endpoint::VideoCategories => &["part", "id", "regionCode", "hl"],
        Endpoint::I18nRegions | Endpoint::I18nLanguages => &["part", "hl"],
        _ => &[],
    }
}

/// Rejects a parameter that the method does not have.
pub(crate) fn check(endpoint: Endpoint, query: &Query) -> Result<(), ApiError> {
    if endpoint == Endpoint::Unknown {
        return Ok(());
    }
    let known = |name: &str| STANDARD.contains(&name) || allowed(endpoint).contains(&name);
    match query.pairs().iter().find(|(name, _)| !known(name)) {
        Some((name, _)) => Err(ApiError::unknown_parameter(name)),
        None => Ok(()),
    }
}

impl Query {
    /// A whole number within the platform's bounds.
    pub(crate) fn number(
        &self,
        name: &str,
        default: u32,
        bounds: RangeInclusive<u32>,
    ) -> Result<u32, ApiError> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let value = text.parse().ok().filter(|n| bounds.contains(n));
        value.ok_or_else(|| ApiError::out_of_range(name, text, &bounds))
    }

    /// Rejects a value that the parameter cannot have.
    pub(crate) fn one_of(&self, name: &str, values: &[&str]) -> Result<(), ApiError> {
        match self.get(name).filter(|value| !values.contains(value)) {
            Some(value) => Err(ApiError::invalid_value(name, value)),
            None => Ok(()),
        }
    }
}
