//! Recorded error answers: their classification, and that callers do not see the platform's text.

use std::time::Duration;

use http::StatusCode;
use vidra::{CommentQuery, Error, ErrorKind, PlaylistId, VideoId};

use super::{Recorded, bytes_of, fixtures, json_of, text};

pub(super) const FILES: &[&str] = &[
    "400-api-key-invalid-with-details.json",
    "400-missing-filter.json",
    "400-unknown-part.json",
    "401-unauthenticated.json",
    "403-access-not-configured.json",
    "403-comments-disabled.json",
    "403-playlist-items-not-accessible.json",
    "403-quota-exceeded.json",
    "403-service-unavailable-core.json",
    "403-subscription-forbidden.json",
    "404-playlist-not-found.json",
    "404-video-not-found.json",
    "error-is-a-string.json",
];

/// Requests the comments of a video and a playlist; both get the same error answer.
async fn refused(status: u16, body: impl Into<bytes::Bytes>) -> [Error; 2] {
    let body = body.into();
    let status = StatusCode::from_u16(status).unwrap();
    // One client each: an exhausted bucket would reject the second call before it is sent.
    let client = |endpoint| Recorded::default().answer(endpoint, status, body.clone()).client();
    let video = VideoId::parse("dQw4w9WgXcQ").unwrap();
    let playlist = PlaylistId::parse("PLany").unwrap();
    [
        client("commentThreads").comments(video, &CommentQuery::default()).await.unwrap_err(),
        client("playlistItems").playlist_ids(&playlist).await.unwrap_err(),
    ]
}

#[tokio::test]
async fn every_recorded_error_is_classified() {
    use ErrorKind::{Forbidden, InvalidInput, NotFound, QuotaExhausted, Upstream, UpstreamKey};
    let Some(folder) = fixtures() else { return };
    let expected: [(u16, ErrorKind, [&str; 2]); 13] = [
        (400, UpstreamKey, ["YouTube rejected the API key of this service"; 2]),
        (
            400,
            InvalidInput,
            [
                "YouTube does not accept this request: dQw4w9WgXcQ",
                "YouTube does not accept this request: PLany",
            ],
        ),
        (400, Upstream, ["YouTube answered with an error"; 2]),
        (401, UpstreamKey, ["YouTube rejected the API key of this service"; 2]),
        (403, UpstreamKey, ["YouTube rejected the API key of this service"; 2]),
        (403, Forbidden, ["Comments are disabled: dQw4w9WgXcQ", "Comments are disabled: PLany"]),
        (
            403,
            Forbidden,
            ["Video is not accessible: dQw4w9WgXcQ", "Playlist is not accessible: PLany"],
        ),
        (
            403,
            QuotaExhausted,
            ["The daily YouTube quota of this service is used up; it is renewed at midnight Pacific time";
                2],
        ),
        (403, Upstream, ["YouTube answered with an error"; 2]),
        (
            403,
            Forbidden,
            ["Video is not accessible: dQw4w9WgXcQ", "Playlist is not accessible: PLany"],
        ),
        (404, NotFound, ["Video not found: dQw4w9WgXcQ", "Playlist not found: PLany"]),
        (404, NotFound, ["Video not found: dQw4w9WgXcQ", "Playlist not found: PLany"]),
        (400, Upstream, ["YouTube answered with an error"; 2]),
    ];
    for (file, (status, kind, messages)) in FILES.iter().zip(expected) {
        let name = format!("errors/{file}");
        let original = json_of(&folder, &name);
        let original = [text(&original, "/error/message"), text(&original, "/error")];
        for (error, message) in refused(status, bytes_of(&folder, &name)).await.iter().zip(messages)
        {
            assert_eq!(error.kind(), kind, "{file}: {error:?}");
            assert_eq!(error.message(), message, "{file}");
            let shown = format!("{} {}", error.message(), error.details().join(" "));
            assert!(!shown.contains(['<', '{']), "{file}: {shown}");
            for original in original.iter().filter(|original| original.len() > 10) {
                assert!(!shown.contains(*original), "{file}: {shown}");
            }
            let waits = error.retry_after().is_some();
            assert_eq!(waits, kind == QuotaExhausted, "{file}: {:?}", error.retry_after());
        }
    }
}

#[tokio::test]
async fn an_exhausted_bucket_opens_at_the_next_reset() {
    let Some(folder) = fixtures() else { return };
    let [error, _] = refused(403, bytes_of(&folder, "errors/403-quota-exceeded.json")).await;
    let wait = error.retry_after().unwrap();
    // The longest day of the year has 25 hours.
    assert!(wait > Duration::ZERO && wait <= Duration::from_secs(25 * 3600), "{wait:?}");
}

#[tokio::test]
async fn malformed_errors_are_classified_by_their_readable_parts() {
    use ErrorKind::{Forbidden, NotFound, QuotaExhausted, RateLimited, Upstream, UpstreamKey};
    let table = [
        // One malformed member must not hide the reason.
        (
            403,
            r#"{"error":{"message":null,"errors":[{"reason":"quotaExceeded"}],"details":null}}"#,
            QuotaExhausted,
        ),
        (
            403,
            r#"{"error":{"message":7,"errors":[null,{"reason":"quotaExceeded"}]}}"#,
            QuotaExhausted,
        ),
        (
            403,
            r#"{"error":{"code":"403","errors":[{"reason":"quotaExceeded"}],"details":"none"}}"#,
            QuotaExhausted,
        ),
        (
            403,
            r#"{"error":{"errors":null,"details":["x",{"reason":"API_KEY_SERVICE_BLOCKED"}]}}"#,
            UpstreamKey,
        ),
        (
            400,
            r#"{"error":{"errors":[{"reason":null}],"details":[{"@type":"x"},{"reason":"API_KEY_INVALID"}]}}"#,
            UpstreamKey,
        ),
        (403, r#"{"error":{"errors":{"reason":"quotaExceeded"}}}"#, Forbidden),
        // No reason at all: the status decides.
        (404, r#"{"error":{"errors":[]}}"#, NotFound),
        (404, r#"{"error":null}"#, NotFound),
        (403, r#"{"error":[]}"#, Forbidden),
        (401, "{}", UpstreamKey),
        (429, "[]", RateLimited),
        // An HTML page is not from the API and says nothing about the requested resource.
        (404, "<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>", Upstream),
        (403, "<title>Error 403 (Forbidden)!!1</title>", Upstream),
        (500, "", Upstream),
        (502, "<html>Bad Gateway</html>", Upstream),
        (302, r#"{"error":{"errors":[{"reason":"found"}]}}"#, Upstream),
        (400, "\u{0}\u{1}", Upstream),
    ];
    for (status, body, kind) in table {
        for error in refused(status, body).await {
            assert_eq!(error.kind(), kind, "{status} {body}");
            assert!(!error.message().contains('<'), "{}", error.message());
        }
    }
}
