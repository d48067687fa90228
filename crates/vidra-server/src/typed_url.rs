//! URLs typed into a path as they are: `/api/video/https://www.youtube.com/watch?v=ID`.
//!
//! Such a path has too many segments for the router, and its query is not the endpoint's. This module
//! rewrites it before routing, with the URL encoded in one segment. The query also stays in place, because
//! it may contain parameters of the endpoint.

use axum::Router;
use axum::extract::Request;
use axum::http::Uri;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tower::Layer;
use tower::util::MapRequestLayer;

/// The prefix before an identifier, and the sub-resources that may follow the identifier.
const PREFIXES: [(&str, &[&str]); 6] = [
    ("/api/video/", &["title"]),
    ("/api/channel/", &["videos", "uploads", "playlists", "feed"]),
    ("/api/playlist/", &["info", "ids", "videos", "feed", "query", "transcript"]),
    ("/api/comments/", &["threads", "top"]),
    ("/api/comment-replies/", &[]),
    ("/api/transcript/", &["text", "document", "chunks", "tracks"]),
];

/// Marks a request with a typed URL, whose query may contain anything.
#[derive(Clone)]
pub(crate) struct TypedUrl;

/// Rewrites typed URLs before the router matches the path. `OriginalUri` has the URL before that.
pub(crate) fn before_routing(routes: Router) -> Router {
    let rewrite = MapRequestLayer::new(|mut request: Request| {
        if let Some(uri) = rewritten(request.uri()) {
            *request.uri_mut() = uri;
            request.extensions_mut().insert(TypedUrl);
        }
        request
    });
    Router::new().fallback_service(rewrite.layer(routes))
}

fn rewritten(uri: &Uri) -> Option<Uri> {
    let (prefix, url) = typed_url(uri.path())?;
    let mut target = String::from(prefix);
    target.extend(utf8_percent_encode(url, NON_ALPHANUMERIC));
    if let Some(query) = uri.query() {
        target.extend(utf8_percent_encode("?", NON_ALPHANUMERIC));
        target.extend(utf8_percent_encode(query, NON_ALPHANUMERIC));
        target.push('?');
        target.push_str(query);
    }
    target.parse().ok()
}

/// Splits a path that ends in a URL. `None` if the router can match the path as it is.
fn typed_url(path: &str) -> Option<(&str, &str)> {
    let (prefix, subs) = PREFIXES.iter().find(|(prefix, _)| path.starts_with(prefix))?;
    let rest = &path[prefix.len()..];
    let has_scheme = rest
        .split_once(":/")
        .is_some_and(|(scheme, _)| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    // A slash at the end of a route is no part of a URL.
    let plain = rest.strip_suffix('/').unwrap_or(rest);
    let has_host = plain.split_once('/').is_some_and(|(first, more)| {
        first.contains('.') && !first.starts_with('@') && !subs.contains(&more)
    });
    // A host without a path and a scheme, `youtube.com?v=…`, is one segment already.
    (has_scheme || has_host).then_some((*prefix, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_in_paths_are_detected() {
        let table = [
            ("/api/video/https://youtu.be/dQw4w9WgXcQ", Some("https://youtu.be/dQw4w9WgXcQ")),
            ("/api/video/https:/youtu.be/dQw4w9WgXcQ", Some("https:/youtu.be/dQw4w9WgXcQ")),
            ("/api/video/youtu.be/dQw4w9WgXcQ", Some("youtu.be/dQw4w9WgXcQ")),
            (
                "/api/channel/https://www.youtube.com/@a/videos",
                Some("https://www.youtube.com/@a/videos"),
            ),
            ("/api/video/ftp://youtu.be/dQw4w9WgXcQ", Some("ftp://youtu.be/dQw4w9WgXcQ")),
            ("/api/video/dQw4w9WgXcQ", None),
            ("/api/video/dQw4w9WgXcQ/title", None),
            ("/api/channel/@some.handle/videos", None),
            ("/api/channel/some.handle/videos", None),
            ("/api/channel/some.handle/videos/", None),
            ("/api/channel/some.handle/playlists", None),
            ("/api/channel/some.handle/feed", None),
            ("/api/channel/some.handle/", None),
            ("/api/video/youtu.be/dQw4w9WgXcQ/", Some("youtu.be/dQw4w9WgXcQ/")),
            ("/api/videos", None),
            ("/api/i18n/regions", None),
        ];
        for (path, url) in table {
            assert_eq!(typed_url(path).map(|(_, url)| url), url, "{path}");
        }
    }

    #[test]
    fn the_query_is_copied_into_the_url_and_preserved() {
        let uri = "/api/comments/https://www.youtube.com/watch?v=dQw4w9WgXcQ&maxResults=5";
        let uri = rewritten(&uri.parse().unwrap()).unwrap();
        assert_eq!(uri.query(), Some("v=dQw4w9WgXcQ&maxResults=5"));
        let segment = uri.path().strip_prefix("/api/comments/").unwrap();
        assert!(!segment.contains('/'));
        let decoded = percent_encoding::percent_decode_str(segment).decode_utf8().unwrap();
        assert_eq!(decoded, "https://www.youtube.com/watch?v=dQw4w9WgXcQ&maxResults=5");
    }
}
