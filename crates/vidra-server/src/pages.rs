//! What people see in a browser: the explorer at `/`, the reference at `/docs`, and their files under
//! `/web`. All of it is inside the binary, compressed when that was built (`build.rs`).

use std::io::Read;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::read::GzDecoder;
use serde::Serialize;

use crate::problem::Problem;
use crate::ready::takes_gzip;
use crate::reply::Reply;
use crate::routes::{Document, wrong_method};

/// The routes, as metrics name them.
pub(crate) const PATHS: [&str; 4] = ["/", "/docs", SETTINGS, "/web/{*file}"];

/// What the pages have to know of the service.
const SETTINGS: &str = "/web/settings.json";

/// Something that the explorer offers to look at.
#[derive(Debug, Clone, Serialize)]
pub struct Example {
    /// An identifier that exists.
    pub id: String,
    /// Why it is worth a look.
    pub what: String,
}

/// A file, as it is in the binary.
struct File {
    name: &'static str,
    content_type: &'static str,
    /// Changes when the file does.
    tag: &'static str,
    /// Compressed.
    packed: &'static [u8],
}

const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Scripts and styles are the binary's own, nothing written by strangers is ever taken for markup
/// (Trusted Types: only the templates of lit-html are), and pictures are the platform's.
const EXPLORER_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' https://i.ytimg.com https://yt3.ggpht.com https://yt3.googleusercontent.com; \
    connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types lit-html";

/// Swagger UI draws its icons from `data:` URLs, and makes markup of the descriptions in our own document,
/// so that Trusted Types would stop it.
const DOCS_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The routes of all pages.
pub(crate) fn routes(examples: Vec<Example>) -> Router<Document> {
    let settings = Settings { is_demo: !examples.is_empty(), examples };
    Router::new()
        .route(
            "/",
            get(|asked: HeaderMap| async move { page("index.html", EXPLORER_POLICY, &asked) }),
        )
        .route(
            "/docs",
            get(|asked: HeaderMap| async move { page("docs.html", DOCS_POLICY, &asked) }),
        )
        .route(SETTINGS, get(async || Reply(settings)))
        .route("/web/{*file}", get(file))
        .method_not_allowed_fallback(wrong_method)
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    /// Whether the world is made up, so that there are no pictures of it.
    is_demo: bool,
    examples: Vec<Example>,
}

fn page(name: &'static str, policy: &'static str, asked: &HeaderMap) -> Response {
    let Some(file) = named(name) else { return Problem::after_bug(name).into_response() };
    let mut response = file.response(asked);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    // What was looked at is nobody else's business.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

async fn file(Path(name): Path<String>, uri: Uri, asked: HeaderMap) -> Response {
    // Pages have addresses of their own, where their policy comes with them.
    match named(&name).filter(|file| !file.name.ends_with(".html")) {
        Some(file) => file.response(&asked),
        None => {
            let message = format!("No such route: {}", uri.path());
            Problem::Http(StatusCode::NOT_FOUND, message).into_response()
        }
    }
}

fn named(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

impl File {
    /// As the caller takes it. A copy is good as long as its tag is, so that a new binary is seen at once.
    fn response(&self, asked: &HeaderMap) -> Response {
        let is_packed = takes_gzip(asked);
        let suffix = if is_packed { "-gz" } else { "" };
        let etag = HeaderValue::try_from(format!("\"{}{suffix}\"", self.tag));
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            (header::ETAG, etag.expect("hexadecimal digits in quotes")),
            (header::VARY, HeaderValue::from_static("accept-encoding")),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ];
        if is_packed {
            let gzip = [(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
            return (headers, gzip, self.packed).into_response();
        }
        let mut bytes = vec![];
        match GzDecoder::new(self.packed).read_to_end(&mut bytes) {
            Ok(_) => (headers, bytes).into_response(),
            Err(error) => Problem::after_bug(error).into_response(),
        }
    }
}
