//! All known reasons, with the status, domain and wording of the platform.

use super::ApiError;
use serde_json::{Value, json};

const NOT_ENABLED: &str = "YouTube Data API v3 has not been used in project 100200300 before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/youtube.googleapis.com/overview?project=100200300 then retry.";
const CONSOLE: &str = "https://console.developers.google.com/apis/api/youtube.googleapis.com/overview?project=100200300";
const NO_PLAYLIST: &str =
    "The playlist identified with the requests <code>playlistId</code> parameter cannot be found.";
const DISABLED: &str = "The video identified by the <code><a href=\"/youtube/v3/docs/commentThreads/list#videoId\">videoId</a></code> parameter has disabled comments.";
const NO_VIDEO: &str = "The video identified by the <code><a href=\"/youtube/v3/docs/commentThreads/list#videoId\">videoId</a></code> parameter could not be found.";
const QUOTA: &str = "The request cannot be completed because you have exceeded your <a href=\"/youtube/v3/getting-started#quota\">quota</a>.";
const SEARCHES: &str = "Quota exceeded for quota metric 'Search Queries' and limit 'Search Queries per day' of service 'youtube.googleapis.com' for consumer 'project_number:100200300'.";
const MINUTE: &str = "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' of service 'youtube.googleapis.com' for consumer 'project_number:100200300'.";

/// The error of a reason. For reasons within `details[]`, the reason there.
pub(super) fn find(reason: &str) -> Option<ApiError> {
    limits(reason)
        .or_else(|| keys(reason))
        .or_else(|| resources(reason))
        .or_else(|| outages(reason))
}

fn limits(reason: &str) -> Option<ApiError> {
    let new = |status, domain, message| ApiError::new(status, domain, reason, message);
    let named = |message| {
        let mut error = ApiError::new(429, "global", "rateLimitExceeded", message);
        error.rpc_status = Some("RESOURCE_EXHAUSTED");
        error
    };
    Some(match reason {
        "quotaExceeded" => new(403, "youtube.quota", QUOTA),
        "dailyLimitExceeded" => new(
            403,
            "usageLimits",
            "Daily Limit Exceeded. The quota will be reset at midnight Pacific Time (PT).",
        )
        .of_2019(),
        "userRateLimitExceeded" => new(403, "usageLimits", "User Rate Limit Exceeded"),
        "rateLimitExceeded" => named(MINUTE),
        "searchQuota" => named(SEARCHES),
        _ => return None,
    })
}

fn keys(reason: &str) -> Option<ApiError> {
    let new = |status, reason: &str, message| ApiError::new(status, "global", reason, message);
    let mut error = match reason {
        "API_KEY_INVALID" => {
            new(400, "badRequest", "API key not valid. Please pass a valid API key.")
        }
        "API_KEY_SERVICE_BLOCKED" => new(
            403,
            "forbidden",
            "Requests to this API youtube method youtube.api.v3.V3DataVideoService.List are blocked.",
        ),
        "keyMissing" => new(403, "forbidden", "The request is missing a valid API key."),
        "keyInvalid" => {
            return Some(ApiError::new(400, "usageLimits", reason, "Bad Request").of_2019());
        }
        "accessNotConfigured" => {
            let mut error = ApiError::new(403, "usageLimits", reason, NOT_ENABLED);
            error.extended_help = Some("https://console.developers.google.com");
            error
        }
        "authError" => {
            let mut error = new(401, reason, "Request had invalid authentication credentials.");
            error.location = Some(Box::new(("header", "Authorization".to_owned())));
            error
        }
        _ => return None,
    };
    error.rpc_status = Some(match error.status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        _ => "PERMISSION_DENIED",
    });
    error.details = details(reason).map(Box::new);
    Some(error)
}

/// Members of `details[]` have different shapes; for a disabled API there are two.
fn details(reason: &str) -> Option<Value> {
    let info = |reason: &str, metadata: Value| {
        let kind = "type.googleapis.com/google.rpc.ErrorInfo";
        json!({"@type": kind, "reason": reason, "domain": "googleapis.com", "metadata": metadata})
    };
    let service = "youtube.googleapis.com";
    match reason {
        "API_KEY_INVALID" => Some(json!([info(reason, json!({"service": service}))])),
        "API_KEY_SERVICE_BLOCKED" => {
            let metadata = json!({"service": service, "consumer": "projects/100200300"});
            Some(json!([info(reason, metadata)]))
        }
        "accessNotConfigured" => {
            let links = json!([{"description": "Google developers console API activation", "url": CONSOLE}]);
            let help = json!({"@type": "type.googleapis.com/google.rpc.Help", "links": links});
            let metadata = json!({"service": service, "consumer": "projects/100200300"});
            Some(json!([help, info("SERVICE_DISABLED", metadata)]))
        }
        _ => None,
    }
}

fn resources(reason: &str) -> Option<ApiError> {
    let new = |status, domain, message| ApiError::new(status, domain, reason, message);
    Some(match reason {
        "commentsDisabled" => new(403, "youtube.commentThread", DISABLED).at("videoId").of_2019(),
        "videoNotFound" => new(404, "youtube.commentThread", NO_VIDEO).at("videoId"),
        "channelNotFound" => new(404, "youtube.channel", "Channel not found.").at("channelId"),
        "commentNotFound" => new(404, "youtube.comment", "One or more of the specified comments cannot be found.").at("id"),
        "commentThreadNotFound" => new(404, "youtube.commentThread", "One or more of the specified comment threads cannot be found.").at("id"),
        "playlistNotFound" => new(404, "youtube.playlistItem", NO_PLAYLIST).at("playlistId").of_2019(),
        "playlistItemsNotAccessible" => new(403, "youtube.playlistItem", "Forbidden").at("id"),
        "playlistForbidden" => new(403, "youtube.playlist", "Forbidden").at("playlistId"),
        "watchLaterNotAccessible" => new(403, "youtube.playlistItem", "Items in \"watch later\" playlists cannot be accessed through the API.").at("playlistId"),
        "watchHistoryNotAccessible" => new(403, "youtube.playlistItem", "Watch history data cannot be retrieved through the API.").at("playlistId"),
        "channelForbidden" => new(403, "youtube.playlist", "The channel specified in the <code>channelId</code> parameter does not support the request or the request is not properly authorized.").at("channelId"),
        "subscriptionForbidden" => new(403, "youtube.subscription", "The requester is not allowed to access the requested subscriptions."),
        "forbidden" => new(403, "youtube.commentThread", "The request might not be properly authorized."),
        "invalidRegionCode" => new(400, "youtube.parameter", "The request specifies an invalid region code.").at("regionCode"),
        "videoChartNotFound" => new(404, "youtube.video", "The requested video chart is not supported or is not available.").at("chart"),
        "invalidRelevanceLanguage" => new(400, "youtube.search", "The <code>relevanceLanguage</code> parameter specified an invalid relevance language.").at("relevanceLanguage"),
        // The answer to a wrong combination before about 2021.
        "invalidSearchFilter" => new(400, "youtube.search", "The request contains an invalid combination of search filters and/or restrictions. Note that you must set the <code>type</code> parameter to <code>video</code> if you set a value for the <code>eventType</code> or <code>videoDuration</code> parameters.").at(""),
        "videoCategoryNotFound" => new(404, "youtube.videoCategory", "The video category identified by the <code>id</code> parameter cannot be found.").at("id"),
        _ => return None,
    })
}

fn outages(reason: &str) -> Option<ApiError> {
    let mut error = match reason {
        "processingFailure" => ApiError::new(
            400,
            "youtube.commentThread",
            reason,
            "The API server failed to successfully process the request. While this can be a transient error, it usually indicates that the request's input is invalid.",
        ),
        "SERVICE_UNAVAILABLE" => {
            let mut error = ApiError::new(
                403,
                "youtube.CoreErrorDomain",
                reason,
                "The caller does not have permission",
            );
            error.rpc_status = Some("PERMISSION_DENIED");
            error
        }
        "backendError" => {
            ApiError::new(503, "global", reason, "The service is currently unavailable.")
        }
        // An error of innertube, for faults on the player.
        "failedPrecondition" => ApiError::new(400, "global", reason, "Precondition check failed."),
        "internalError" => ApiError::new(500, "global", reason, "Internal error encountered."),
        "html" | "string" => {
            ApiError::new(if reason == "html" { 502 } else { 400 }, "", reason, "")
        }
        _ => return None,
    };
    match reason {
        "backendError" => error.rpc_status = Some("UNAVAILABLE"),
        "failedPrecondition" => error.rpc_status = Some("FAILED_PRECONDITION"),
        "internalError" => error.rpc_status = Some("INTERNAL"),
        "html" => {
            error.raw = Some(&(
                "text/html; charset=UTF-8",
                "<!DOCTYPE html><html lang=en><title>Error 502 (Server Error)!!1</title><p><b>502.</b> <ins>That’s an error.</ins>",
            ));
        }
        "string" => {
            error.raw = Some(&(
                "application/json; charset=UTF-8",
                "{\n  \"error\": \"error message\"\n}\n",
            ));
        }
        _ => {}
    }
    Some(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quirk::{Case, QUIRKS};

    #[test]
    fn every_documented_error_is_in_the_catalogue() {
        for quirk in QUIRKS {
            if let Case::Error(reason) = quirk.case {
                let error = find(reason).unwrap_or_else(|| panic!("{reason} is missing"));
                assert!(quirk.what.starts_with(&error.status.to_string()), "{}", quirk.id);
            }
        }
    }
}
