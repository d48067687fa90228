//! Keys: authentication of callers.

use vidra_server::gate::{KeyLimits, Rules};

use super::{Headers, VIDEO, app, file, get, get_as, keys};

const INVALID: &str = "Bearer realm=\"vidra\", error=\"invalid_token\"";

#[tokio::test]
async fn requests_without_a_valid_key_are_401() {
    let rules = Rules { keys: Some(keys(&[("alice", KeyLimits::default())])), ..Rules::default() };
    let app = app(rules);
    let (bearer, plain) = ("authorization", "x-api-key");
    let long = "x".repeat(4000);
    // Headers, and the challenge if the request is rejected.
    let table: [(Headers<'_>, Option<&str>); 11] = [
        (&[(bearer, "Bearer vk_alice")], None),
        (&[(bearer, "bearer vk_alice")], None),
        (&[(plain, "vk_alice")], None),
        (&[(bearer, "Bearer vk_alice"), (plain, "vk_alice")], None),
        (&[], Some("Bearer realm=\"vidra\"")),
        (&[(bearer, "Basic dms6YWxpY2U=")], Some("Bearer realm=\"vidra\"")),
        (&[(bearer, "Bearer vk_bob")], Some(INVALID)),
        (&[(bearer, "Bearer ")], Some(INVALID)),
        (&[(plain, "")], Some(INVALID)),
        (&[(plain, &long)], Some(INVALID)),
        (&[(bearer, "Bearer vk_alice"), (plain, "vk_bob")], Some(INVALID)),
    ];
    // First with a miss, then with cache hits.
    for _ in 0..2 {
        for (headers, challenge) in table {
            let got = get(&app, VIDEO, headers).await;
            assert_eq!(got.header("www-authenticate"), challenge, "{headers:?}");
            if challenge.is_some() {
                let (message, details) = got.problem(401);
                assert_eq!(got.cost(), 0);
                assert_eq!(got.header("cache-control"), Some("no-store"));
                assert!(details[0].contains("X-API-Key"), "{details:?}");
                assert!(!format!("{message}{details:?}").contains("vk_"), "{message}");
            } else {
                assert_eq!(got.status, 200);
            }
        }
    }
    assert_eq!(app.sim.record().calls, 1, "rejected requests make no upstream call");
}

#[tokio::test]
async fn only_health_checks_pages_and_the_api_document_need_no_key() {
    let app = app(Rules { keys: Some(keys(&[])), ..Rules::default() });
    for path in [
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/llms.txt",
        "/healthz?x",
        "/",
        "/?id=fda4eREcaTQ",
        "/docs",
        "/web/explorer.js",
        "/web/settings.json",
    ] {
        assert_eq!(app.get(path).await.status, 200, "{path}");
    }
    for path in [
        VIDEO,
        "/api/quota",
        "/api/cache",
        "/metrics",
        "/nothing",
        "/web",
        "//web/explorer.js",
        "/api/quota/web/",
        "//healthz",
        "/healthz/../api/quota",
        "/api/video/https://youtu.be/healthz",
    ] {
        app.get(path).await.problem(401);
    }
    // Paths below the pages lead to no other route.
    for path in
        ["/web/../api/quota", "/web/%2e%2e/api/quota", "/web/..%2fapi%2fquota", "/web//metrics"]
    {
        app.get(path).await.problem(404);
    }
}

#[tokio::test]
async fn vary_names_the_key_headers_for_shared_caches() {
    let rules = Rules { keys: Some(keys(&[("alice", KeyLimits::default())])), ..Rules::default() };
    let app = app(rules);
    for outcome in ["miss", "hit"] {
        let got = get_as(&app, "alice", VIDEO).await;
        assert_eq!(got.header("x-cache"), Some(outcome));
        let vary: Vec<_> = got.headers.get_all("vary").iter().collect();
        assert_eq!(vary, ["accept-encoding", "authorization, x-api-key"]);
    }
}

#[tokio::test]
async fn keys_can_be_replaced_at_runtime() {
    let shared = keys(&[("alice", KeyLimits::default()), ("bob", KeyLimits::default())]);
    let app = app(Rules { keys: Some(shared.clone()), ..Rules::default() });
    for name in ["alice", "bob"] {
        assert_eq!(get_as(&app, name, VIDEO).await.status, 200);
    }
    shared.replace(&file(&[("bob", KeyLimits::default()), ("carol", KeyLimits::default())]));
    get_as(&app, "alice", VIDEO).await.problem(401);
    for name in ["bob", "carol"] {
        assert_eq!(get_as(&app, name, VIDEO).await.status, 200);
    }
}

#[test]
fn debug_output_hides_keys_and_hashes() {
    let file = file(&[("alice", KeyLimits::default())]);
    let rules = Rules { keys: Some(keys(&[("alice", KeyLimits::default())])), ..Rules::default() };
    let text = format!("{file:?} {rules:?}");
    assert!(text.contains("alice") && text.contains("sha256: …"), "{text}");
    assert!(!text.contains("vk_"), "{text}");
}

#[tokio::test]
async fn redirects_to_open_pages_need_no_key() {
    let rules = Rules { keys: Some(keys(&[("alice", KeyLimits::default())])), ..Rules::default() };
    let app = app(rules);
    for (path, status) in [
        ("/api", 307),
        ("/api/", 307),
        ("/docs/", 308),
        ("/healthz/", 308),
        ("/api/quota/", 401),
        ("/api/nope", 401),
    ] {
        assert_eq!(app.get(path).await.status, status, "{path}");
    }
}
