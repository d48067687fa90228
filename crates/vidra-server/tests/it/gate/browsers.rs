//! Browsers: CORS, origins and host names.

use axum::body::Body;
use axum::http::{Request, Version};
use vidra_server::gate::{KeyLimits, Rules};

use super::{Headers, VIDEO, app, get, keys, request};
use crate::app::TestResponse;

const PAGE: &str = "https://app.example.org";

fn cors_headers(got: &TestResponse) -> Vec<&str> {
    let names = got.headers.keys().map(|name| name.as_str());
    names.filter(|name| name.starts_with("access-control-")).collect()
}

#[tokio::test]
async fn cors_headers_are_sent_only_to_exactly_listed_origins() {
    let listed = app(Rules { origins: vec![PAGE.parse().unwrap()], ..Rules::default() });
    let unlisted = app(Rules::default());
    let others = [
        "null",
        "*",
        "",
        "http://app.example.org",
        "https://app.example.org:8443",
        "https://app.example.org.evil.example",
        "https://evil.example/https://app.example.org",
        "https://xapp.example.org",
        "https://APP.example.org",
        "https://app.example.org/",
    ];
    // Misses, hits, errors and unknown routes.
    for path in [VIDEO, VIDEO, "/api/video/nope", "/nothing", "/healthz"] {
        let got = get(&listed, path, &[("origin", PAGE)]).await;
        assert_eq!(got.header("access-control-allow-origin"), Some(PAGE), "{path}");
        let exposed = got.header("access-control-expose-headers").unwrap();
        for name in ["etag", "x-cache", "x-quota-cost", "retry-after", "ratelimit-remaining"] {
            assert!(exposed.split(", ").any(|it| it == name), "{name}");
        }
        assert_eq!(cors_headers(&got).len(), 2, "no credentials: {:?}", cors_headers(&got));
        for origin in others {
            let got = get(&listed, path, &[("origin", origin)]).await;
            assert_eq!(cors_headers(&got), [""; 0], "{origin}");
            assert!(got.headers.get_all("vary").iter().any(|it| it == "origin"), "{path}");
        }
        let got = get(&listed, path, &[]).await;
        assert!(got.headers.get_all("vary").iter().any(|it| it == "origin"), "{path}");
        let got = get(&unlisted, path, &[("origin", PAGE)]).await;
        assert_eq!(cors_headers(&got), [""; 0]);
        assert!(!got.headers.get_all("vary").iter().any(|it| it == "origin"));
    }
    let two = get(&listed, VIDEO, &[("origin", PAGE), ("origin", "https://evil.example")]).await;
    assert_eq!(cors_headers(&two), [""; 0]);
}

#[tokio::test]
async fn a_preflight_needs_no_key() {
    let rules = Rules {
        keys: Some(keys(&[("alice", KeyLimits::default())])),
        rate: "1/h".parse().ok(),
        origins: vec![PAGE.parse().unwrap(), "http://localhost:5173".parse().unwrap()],
        ..Rules::default()
    };
    let app = app(rules);
    let preflight = |origin| {
        let headers = [("origin", origin), ("access-control-request-method", "POST")];
        app.send(request("OPTIONS", "/api/playlist/PLsize1/query", &headers))
    };
    for _ in 0..3 {
        for origin in [PAGE, "http://localhost:5173"] {
            let got = preflight(origin).await;
            assert_eq!((got.status.as_u16(), got.text.as_str()), (204, ""));
            assert_eq!(got.header("access-control-allow-origin"), Some(origin));
            assert_eq!(
                got.header("access-control-allow-methods"),
                Some("GET, HEAD, POST, PUT, DELETE")
            );
            let allowed = got.header("access-control-allow-headers").unwrap();
            for name in ["authorization", "x-api-key", "content-type", "if-none-match"] {
                assert!(allowed.split(", ").any(|it| it == name), "{name}");
            }
            assert!(got.header("access-control-max-age").is_some());
            assert_eq!(got.header("access-control-allow-credentials"), None);
        }
    }
    let foreign = preflight("https://evil.example").await;
    foreign.problem(403);
    assert_eq!((&*foreign.reason(), cors_headers(&foreign).len()), ("origin_not_allowed", 0));
    // A listed page can read the error.
    let refused = get(&app, VIDEO, &[("origin", PAGE)]).await;
    refused.problem(401);
    assert_eq!(refused.header("access-control-allow-origin"), Some(PAGE));
    // Not a preflight.
    let plain = app.send(request("OPTIONS", VIDEO, &[("x-api-key", "vk_alice")])).await;
    plain.problem(405);
}

#[tokio::test]
async fn users_11_a_preflight_of_another_local_page_gets_a_reason() {
    for on_loopback in [true, false] {
        let app = app(Rules { on_loopback, ..Rules::default() });
        let headers = [
            ("host", "localhost:3000"),
            ("origin", "http://localhost:5173"),
            ("access-control-request-method", "GET"),
        ];
        let got = app.send(request("OPTIONS", VIDEO, &headers)).await;
        let (message, _) = got.problem(403);
        assert_eq!(got.reason(), "origin_not_allowed");
        assert_eq!(message, "Web pages of that origin may not use this service");
        assert_eq!(app.sim.record().calls, 0);
    }
}

#[tokio::test]
async fn on_loopback_foreign_hosts_and_origins_are_rejected() {
    let app = app(Rules { on_loopback: true, ..Rules::default() });
    let hosts = [
        ("127.0.0.1:3000", 200),
        ("localhost:3000", 200),
        ("[::1]:3000", 200),
        ("vidra.localhost", 200),
        ("evil.tld", 421),
        ("evil.tld:3000", 421),
        ("127.0.0.1.evil.tld", 421),
        ("localhost.evil.tld:3000", 421),
        ("192.0.2.1:3000", 421),
        ("user@localhost", 400),
        ("", 400),
        ("absent", 400),
    ];
    let origins = [
        ("absent", 200),
        ("http://localhost:3000", 200),
        ("http://127.0.0.1:8080", 200),
        ("https://[::1]", 200),
        ("null", 403),
        ("", 403),
        ("http://evil.tld", 403),
        ("https://localhost.evil", 403),
        ("http://127.0.0.1.evil.tld", 403),
        ("http://localhost@evil.tld", 403),
        ("chrome-extension://localhost", 403),
    ];
    // A miss, a cache hit, and a route that needs no key.
    for path in [VIDEO, VIDEO, "/healthz"] {
        for (host, with_host) in hosts {
            for (origin, with_origin) in origins {
                let headers = [("host", host), ("origin", origin)];
                let headers: Vec<_> =
                    headers.into_iter().filter(|(_, value)| *value != "absent").collect();
                let got = get(&app, path, &headers).await;
                let expected = if with_host == 200 { with_origin } else { with_host };
                assert_eq!(got.status, expected, "{path} {host} {origin}: {}", got.text);
                assert_eq!(cors_headers(&got), [""; 0]);
                if expected != 200 {
                    got.problem(expected);
                    assert_eq!(got.cost(), 0);
                }
            }
        }
    }
    let listed = super::app(Rules {
        on_loopback: true,
        origins: vec![PAGE.parse().unwrap()],
        ..Rules::default()
    });
    let refused = get(&listed, VIDEO, &[("host", "evil.tld"), ("origin", PAGE)]).await;
    assert_eq!((refused.status.as_u16(), refused.header("vary")), (421, Some("origin")));
    let preflight = [
        ("host", "localhost"),
        ("origin", "http://evil.tld"),
        ("access-control-request-method", "GET"),
    ];
    app.send(request("OPTIONS", VIDEO, &preflight)).await.problem(403);
    assert_eq!(app.sim.record().calls, 1);
}

#[tokio::test]
async fn on_loopback_cross_site_requests_are_rejected() {
    let on_loopback =
        app(Rules { on_loopback: true, origins: vec![PAGE.parse().unwrap()], ..Rules::default() });
    let public = app(Rules::default());
    for (site, dest, origin, status) in [
        ("cross-site", "image", None, 403),
        ("cross-site", "empty", None, 403),
        ("cross-site", "iframe", None, 403),
        ("cross-site", "document", None, 200),
        ("cross-site", "empty", Some(PAGE), 200),
        ("same-origin", "empty", None, 200),
        ("same-site", "empty", None, 200),
        ("none", "document", None, 200),
    ] {
        let headers = [("host", "localhost"), ("sec-fetch-site", site), ("sec-fetch-dest", dest)];
        let headers: Vec<_> = headers.into_iter().chain(origin.map(|it| ("origin", it))).collect();
        let got = get(&on_loopback, VIDEO, &headers).await;
        assert_eq!(got.status, status, "{site} {dest} {origin:?}");
        assert_eq!(get(&public, VIDEO, &headers).await.status, 200);
    }
}

#[tokio::test]
async fn host_checks_cover_absolute_urls_duplicate_headers_and_http10() {
    let app = app(Rules { on_loopback: true, ..Rules::default() });
    let ok = "localhost";
    let table: [(&str, Headers<'_>, u16); 7] = [
        ("http://localhost/healthz", &[("host", ok)], 200),
        ("http://evil.tld/healthz", &[("host", ok)], 421),
        ("http://localhost/healthz", &[("host", "evil.tld")], 421),
        ("http://localhost/healthz", &[], 200),
        ("/healthz", &[("host", ok), ("host", ok)], 400),
        ("/healthz", &[("host", ok), ("host", "evil.tld")], 400),
        (
            "/healthz",
            &[("host", ok), ("origin", "http://localhost"), ("origin", "http://a.b")],
            403,
        ),
    ];
    for (target, headers, status) in table {
        assert_eq!(get(&app, target, headers).await.status, status, "{target} {headers:?}");
    }
    let mut old = Request::get("/healthz").body(Body::empty()).unwrap();
    *old.version_mut() = Version::HTTP_10;
    assert_eq!(app.send(old).await.status, 200);
}

#[tokio::test]
async fn hosts_and_origins_listed_by_the_operator_are_allowed() {
    let host = "vidra.example.org";
    let behind_proxy = app(Rules {
        on_loopback: true,
        allowed_hosts: vec![host.parse().unwrap()],
        origins: vec![PAGE.parse().unwrap()],
        ..Rules::default()
    });
    let (own, others) = ("https://vidra.example.org", "https://evil.tld");
    for (host, origin, status) in [
        (host, own, 200),
        (host, PAGE, 200),
        (host, others, 403),
        ("vidra.example.org:443", own, 200),
        ("localhost:3000", own, 200),
        ("x.vidra.example.org", own, 421),
    ] {
        let got = get(&behind_proxy, VIDEO, &[("host", host), ("origin", origin)]).await;
        assert_eq!(got.status, status, "{host} {origin}");
        assert_eq!(cors_headers(&got).is_empty(), origin != PAGE);
    }
    // On a public address any host and origin is accepted, unless hosts are listed. Health checks accept any host.
    let (open, named) = (
        app(Rules::default()),
        app(Rules { allowed_hosts: vec![host.parse().unwrap()], ..Rules::default() }),
    );
    for (app, path, name, origin, status) in [
        (&open, VIDEO, "any.tld", others, 200),
        (&named, VIDEO, host, own, 200),
        (&named, VIDEO, host, others, 403),
        (&named, VIDEO, "a.b", own, 421),
        (&named, "/readyz", "10.1.2.3:3000", own, 200),
    ] {
        let got = get(app, path, &[("host", name), ("origin", origin)]).await;
        assert_eq!(got.status, status, "{name} {origin}");
    }
}
