//! The web pages: the explorer at `/`, the state of collections, the API reference at `/docs`, and their files under
//! `/web`. The
//! binary contains all of them, compressed by `build.rs`.

use std::io::Read;

use axum::Router;
use axum::extract::{OriginalUri, Path};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use flate2::read::GzDecoder;
use serde::Serialize;

use crate::config::Example;
use crate::error_body::ApiError;
use crate::hot::accepts_gzip;
use crate::respond::Tagged;
use crate::routes::{no_such_route, wrong_method};
use crate::state::AppState;

/// The templates of the routes, for the counters.
pub(crate) const PATHS: [&str; 5] = ["/", COLLECTIONS, DOCS, SETTINGS, "/web/{*file}"];

/// The API reference.
pub(crate) const DOCS: &str = "/docs";

/// The state of collections.
pub(crate) const COLLECTIONS: &str = "/collections";

/// The settings that the pages read.
const SETTINGS: &str = "/web/settings.json";

/// A file of the pages.
struct File {
    name: &'static str,
    content_type: &'static str,
    /// A hash of the content.
    tag: &'static str,
    /// The content as gzip.
    packed: &'static [u8],
}

const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Scripts and styles come from the binary and images from the platform. Trusted Types allow markup from
/// the templates of lit-html only, so untrusted text never becomes markup.
const EXPLORER_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' https://i.ytimg.com https://yt3.ggpht.com https://yt3.googleusercontent.com; \
    connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types lit-html";

/// Swagger UI draws its icons from `data:` URLs. It turns the descriptions of our document into markup, so
/// Trusted Types would block it.
const DOCS_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The routes of all pages.
pub(crate) fn routes(examples: Vec<Example>) -> Router<AppState> {
    let settings = Settings { is_demo: !examples.is_empty(), examples };
    let page = |name, policy| get(async move |headers: HeaderMap| page(name, policy, &headers));
    Router::new()
        .route("/", page("index.html", EXPLORER_POLICY))
        .route(COLLECTIONS, page("collections.html", EXPLORER_POLICY))
        .route(DOCS, page("docs.html", DOCS_POLICY))
        .route("/api", get(async || Redirect::temporary(DOCS)))
        .route("/api/", get(async || Redirect::temporary(DOCS)))
        .route(SETTINGS, get(async || Tagged(settings)))
        .route("/web/{*file}", get(file))
        .method_not_allowed_fallback(wrong_method)
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    /// Whether the platform is simulated, which has no images.
    is_demo: bool,
    examples: Vec<Example>,
}

fn page(name: &'static str, policy: &'static str, request_headers: &HeaderMap) -> Response {
    let Some(file) = find(name) else { return ApiError::internal(name).into_response() };
    let mut response = file.response(request_headers);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    // Other sites must not learn which video was looked up.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

async fn file(Path(name): Path<String>, uri: OriginalUri, request_headers: HeaderMap) -> Response {
    // A page is served at its own path only, with its policy.
    match find(&name).filter(|file| !file.name.ends_with(".html")) {
        Some(file) => file.response(&request_headers),
        None => no_such_route(uri).await.into_response(),
    }
}

fn find(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

impl File {
    /// Browsers revalidate by `ETag`, so they see the files of a new binary at once.
    fn response(&self, request_headers: &HeaderMap) -> Response {
        let is_gzip = accepts_gzip(request_headers);
        let suffix = if is_gzip { "-gz" } else { "" };
        let etag = HeaderValue::try_from(format!("\"{}{suffix}\"", self.tag));
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            (header::ETAG, etag.expect("hexadecimal digits in quotes")),
            (header::VARY, HeaderValue::from_static("accept-encoding")),
        ];
        if is_gzip {
            let gzip = [(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
            return (headers, gzip, self.packed).into_response();
        }
        let mut bytes = vec![];
        match GzDecoder::new(self.packed).read_to_end(&mut bytes) {
            Ok(_) => (headers, bytes).into_response(),
            Err(error) => ApiError::internal(error).into_response(),
        }
    }
}
