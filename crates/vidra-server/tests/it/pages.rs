//! The pages: their headers, their size, and what they must not contain. Their behaviour is tested in a browser
//! (`vidra-cli/tests/browser`).

use std::collections::BTreeSet;
use std::io::Read;

use axum::body::Body;
use axum::http::{Method, Request};
use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use regex::Regex;
use vidra_server::{Config, Example};

use crate::app::{PEER, TestApp};

/// The maximum size of the explorer with all of its files, compressed.
const MAX_BYTES: usize = 100 << 10;

/// A file as a browser gets it: its compressed size and its text.
async fn fetch(app: &TestApp, path: &str) -> (usize, String) {
    let request = Request::get(path).header("accept-encoding", "gzip, br").body(Body::empty());
    let response = app.app.answer(request.unwrap(), PEER).await;
    assert_eq!(response.status(), 200, "{path}");
    assert_eq!(response.headers()["content-encoding"], "gzip", "{path}");
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let mut text = String::new();
    GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    (bytes.len(), text)
}

/// The first group of every match of `pattern` in a text.
fn found(pattern: &str, text: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).unwrap();
    pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

/// The files that a page names.
fn files_of(page: &str) -> BTreeSet<String> {
    found(r#"<(?:script|link|img)\b[^>]*\b(?:src|href)="([^"]+)""#, page)
}

/// The modules that a module imports from its own folder.
fn imports_of(module: &str) -> BTreeSet<String> {
    found(r"import [^;]*? from '\./([^']+)'", module)
}

#[tokio::test]
async fn pages_have_a_strict_policy_and_files_have_a_content_type() {
    let app = TestApp::new();
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/docs", "text/html; charset=utf-8"),
        ("/collections", "text/html; charset=utf-8"),
        ("/web/explorer.js", "text/javascript; charset=utf-8"),
        ("/web/base.css", "text/css; charset=utf-8"),
        ("/web/icon.svg", "image/svg+xml"),
        ("/web/vendor/LICENSES.txt", "text/plain; charset=utf-8"),
        ("/web/swagger-ui/LICENSE.txt", "text/plain; charset=utf-8"),
    ] {
        let got = app.get(path).await;
        assert_eq!(got.status, 200, "{path}");
        assert_eq!(got.header("content-type"), Some(kind), "{path}");
        assert_eq!(got.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(got.header("cache-control"), Some("no-cache"), "{path}");
        assert_eq!(got.header("vary"), Some("accept-encoding"), "{path}");
        assert_eq!((got.cost(), got.header("content-encoding")), (0, None), "{path}");
        assert_eq!(fetch(&app, path).await.1, got.text, "{path}");
        // The page of collections has the policy of the explorer.
        let like = if path == "/collections" { "/" } else { path };
        let policy = POLICIES.iter().find(|(page, _)| *page == like).map(|(_, policy)| *policy);
        assert_eq!(got.header("content-security-policy"), policy, "{path}");
        assert_eq!(got.header("referrer-policy"), policy.map(|_| "no-referrer"), "{path}");
    }
}

/// Written out in full, so that every change is deliberate.
const POLICIES: [(&str, &str); 2] = [
    (
        "/",
        "default-src 'none'; script-src 'self'; style-src 'self'; \
         img-src 'self' https://i.ytimg.com https://yt3.ggpht.com https://yt3.googleusercontent.com; \
         connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types lit-html",
    ),
    (
        "/docs",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
];

#[tokio::test]
async fn a_current_copy_gets_304() {
    let app = TestApp::new();
    for path in ["/", "/docs", "/collections", "/web/explorer.js", "/web/settings.json"] {
        let mut tags = BTreeSet::new();
        for encoding in ["identity", "gzip"] {
            let get_unless = |tag: &str| {
                let request = Request::get(path).header("accept-encoding", encoding);
                app.app
                    .answer(request.header("if-none-match", tag).body(Body::empty()).unwrap(), PEER)
            };
            let first = get_unless("\"other\"").await;
            assert_eq!(first.status(), 200, "{path}");
            let tag = first.headers()["etag"].to_str().unwrap();
            assert_eq!(get_unless(tag).await.status(), 304, "{path}");
            tags.insert(tag.to_owned());
        }
        // Two encodings are two bodies. The settings are too small to have two.
        assert_eq!(tags.len(), if path.ends_with(".json") { 1 } else { 2 }, "{path}");
    }
}

#[tokio::test]
async fn unknown_files_are_404_and_other_methods_are_405() {
    let app = TestApp::new();
    for path in [
        "/web/nothing.js",
        "/web/",
        "/web/../Cargo.toml",
        "/web/vendor",
        "/docs/x",
        // Pages are served only at the paths that send their policy.
        "/web/index.html",
        "/web/docs.html",
        "/web/collections.html",
    ] {
        app.get(path).await.problem(404);
    }
    for path in ["/", "/docs", "/web/explorer.js", "/web/settings.json"] {
        assert_eq!(app.method(Method::HEAD, path).await.text, "", "{path}");
        let got = app.method(Method::POST, path).await;
        got.problem(405);
        assert_eq!(got.header("allow"), Some("GET,HEAD"), "{path}");
    }
    // The admin address serves no pages.
    let admin = TestApp { app: app.app.admin(true), sim: app.sim };
    for path in ["/", "/docs", "/web/explorer.js"] {
        let request = Request::get(path).header("host", "localhost").body(Body::empty());
        admin.send(request.unwrap()).await.problem(404);
    }
}

#[tokio::test]
async fn the_explorer_is_small_and_preloads_its_modules() {
    let app = TestApp::new();
    let (mut total, page) = fetch(&app, "/").await;
    let files = files_of(&page);
    let mut modules = BTreeSet::new();
    for path in &files {
        let (bytes, text) = fetch(&app, path).await;
        total += bytes;
        let folder = path.rsplit_once('/').unwrap().0;
        modules.extend(imports_of(&text).iter().map(|name| format!("{folder}/{name}")));
    }
    assert!(total < MAX_BYTES, "{total} bytes");
    let late: Vec<_> = modules.difference(&files).collect();
    assert!(late.is_empty(), "not preloaded: {late:?}");
    let preloaded = found(r#"rel="modulepreload" href="([^"]+)""#, &page);
    let idle: Vec<_> = preloaded.difference(&modules).collect();
    assert!(idle.is_empty(), "preloaded but not imported: {idle:?}");
}

/// The policy would block inline code, and these DOM functions would turn foreign text into markup.
#[tokio::test]
async fn pages_have_no_inline_code_and_scripts_write_no_markup() {
    let app = TestApp::new();
    for path in ["/", "/docs", "/collections"] {
        let page = app.get(path).await.text;
        assert!(found(r"(<script(?:\s[^>]*)?>[^<])", &page).is_empty(), "{path}");
        let inline = found(r#"(<style|\sstyle=|\son[a-z]+=|javascript:|https?://)"#, &page);
        assert!(inline.is_empty(), "{path}: {inline:?}");
        let outside = files_of(&page).into_iter().filter(|file| !file.starts_with("/web/"));
        assert_eq!(outside.count(), 0, "{path}");
        let own = files_of(&page).into_iter().filter(|it| !it.contains("/vendor/"));
        for file in own.filter(|it| it.ends_with(".js") && !it.contains("/swagger-ui/")) {
            let script = app.get(&file).await.text;
            for word in
                ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "style="]
            {
                assert!(!script.contains(word), "{file}: {word}");
            }
        }
    }
}

#[tokio::test]
async fn the_settings_file_reports_demo_mode() {
    let real = TestApp::new().get("/web/settings.json").await.json();
    assert_eq!(real, serde_json::json!({"isDemo": false, "examples": []}));
    let examples = vec![Example { id: "@fermata".to_owned(), what: "a channel".to_owned() }];
    let demo = Config { examples, ..Config::default() };
    let demo = TestApp::configured(|builder| builder, demo).get("/web/settings.json").await.json();
    assert_eq!(demo["isDemo"], true);
    assert_eq!(demo["examples"][0]["id"], "@fermata");
}
