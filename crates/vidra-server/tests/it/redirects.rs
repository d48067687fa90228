//! Redirects: `/api` to the reference, and a slash at the end of a path to the route without it.

use axum::body::Body;
use axum::http::{Method, Request};

use crate::app::TestApp;

#[tokio::test]
async fn users_8_the_root_of_the_api_leads_to_its_reference() {
    let app = TestApp::new();
    for path in ["/api", "/api/"] {
        for method in [Method::GET, Method::HEAD] {
            let got = app.method(method, path).await;
            assert_eq!(
                (got.status.as_u16(), got.header("location")),
                (307, Some("/docs")),
                "{path}"
            );
        }
        app.method(Method::POST, path).await.problem(405);
    }
}

#[tokio::test]
async fn users_8_a_trailing_slash_leads_to_the_route() {
    let app = TestApp::new();
    let table = [
        ("/api/video/fda4eREcaTQ/", "/api/video/fda4eREcaTQ"),
        ("/api/video/fda4eREcaTQ/title/", "/api/video/fda4eREcaTQ/title"),
        (
            "/api/channel/@fermata/videos/?limit=2&x=%2F",
            "/api/channel/@fermata/videos?limit=2&x=%2F",
        ),
        ("/api/channel/some.handle/", "/api/channel/some.handle"),
        ("/api/channel/some.handle/videos/", "/api/channel/some.handle/videos"),
        (
            "/api/video/https%3A%2F%2Fyoutu.be%2FfNoSuchId12/",
            "/api/video/https%3A%2F%2Fyoutu.be%2FfNoSuchId12",
        ),
        ("/api/quota/", "/api/quota"),
        ("/healthz/", "/healthz"),
        ("/openapi.json/", "/openapi.json"),
        ("/docs/", "/docs"),
        ("/mcp/", "/mcp"),
    ];
    for (path, target) in table {
        let got = app.get(path).await;
        assert_eq!((got.status.as_u16(), got.header("location")), (308, Some(target)), "{path}");
        assert_eq!((got.cost(), &*got.text), (0, ""), "{path}");
    }
    // 308 keeps the method and the body.
    let got = app.post("/api/playlist/PLsize1/query/", "{}").await;
    assert_eq!(got.header("location"), Some("/api/playlist/PLsize1/query"));
    assert_eq!(app.sim.record().calls, 0);
}

/// Every documented route has its redirect, also with an identifier that looks like a host.
#[tokio::test]
async fn every_documented_route_is_found_with_a_slash() {
    let app = TestApp::new();
    let document = serde_json::to_value(vidra_server::routes::openapi()).unwrap();
    for path in document["paths"].as_object().unwrap().keys() {
        for id in ["PLsize1", "some.name"] {
            let route = path.replace("{id}", id).replace("{videoId}", id).replace("{name}", id);
            let got = app.get(&format!("{route}/")).await;
            assert_eq!(
                (got.status.as_u16(), got.header("location")),
                (308, Some(&*route)),
                "{path}"
            );
        }
    }
}

/// The target is built from the route, so no path leads to another host.
#[tokio::test]
async fn other_paths_are_not_redirected() {
    let app = TestApp::new();
    for path in [
        "//evil.example/",
        "//evil.example/api/quota/",
        "/\\evil.example/",
        "/nope/",
        "/api/video/",
        "/api/video/fda4eREcaTQ//",
        "/api/video/fda4eREcaTQ/nope/",
        "/api/quota//",
        "/web/",
        "/%2f%2fevil.example/",
    ] {
        let Ok(request) = Request::get(path).body(Body::empty()) else { continue };
        let got = app.send(request).await;
        assert_eq!((got.status.as_u16(), got.header("location")), (404, None), "{path}");
    }
    // The slash belongs to the URL.
    for path in ["/api/video/https://youtu.be/quirkNoLike/", "/api/video/youtu.be/quirkNoLike/"] {
        let got = app.get(path).await;
        assert_eq!(got.header("location"), None, "{path}");
        assert_ne!(got.status, 308, "{path}");
    }
    let encoded = app.get("/api/video/%2F%2Fevil.example/").await;
    assert_eq!(encoded.header("location"), Some("/api/video/%2F%2Fevil.example"));
    assert_eq!(app.get("/api/video/%ff/").await.status, 404);
}
