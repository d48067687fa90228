//! Keys: who is known.

use vidra_server::gate::{KeyLimits, Rules};

use super::{Headers, VIDEO, app, file, get, get_as, keys};

const INVALID: &str = "Bearer realm=\"vidra\", error=\"invalid_token\"";

#[tokio::test]
async fn only_who_has_a_key_is_let_in() {
    let rules = Rules { keys: Some(keys(&[("alice", KeyLimits::default())])), ..Rules::default() };
    let app = app(rules);
    let (bearer, plain) = ("authorization", "x-api-key");
    let long = "x".repeat(4000);
    // What is sent, and the challenge where it is refused.
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
    // For one that is not known yet and for one that is ready.
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
    assert_eq!(app.sim.record().calls, 1, "who was refused asked nothing");
}

#[tokio::test]
async fn what_is_open_to_all_and_what_is_not() {
    let app = app(Rules { keys: Some(keys(&[])), ..Rules::default() });
    for path in [
        "/healthz",
        "/readyz",
        "/openapi.json",
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
        "/docs/",
        "//web/explorer.js",
        "/api/quota/web/",
        "/healthz/",
        "//healthz",
        "/healthz/../api/quota",
        "/api/video/https://youtu.be/healthz",
    ] {
        app.get(path).await.problem(401);
    }
    // Nothing else is to be had by way of the pages.
    for path in
        ["/web/../api/quota", "/web/%2e%2e/api/quota", "/web/..%2fapi%2fquota", "/web//metrics"]
    {
        app.get(path).await.problem(404);
    }
}

#[tokio::test]
async fn a_cache_in_between_does_not_give_answers_to_who_has_no_key() {
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
async fn keys_are_replaced_while_it_runs() {
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
fn neither_keys_nor_their_hashes_show_in_debug() {
    let file = file(&[("alice", KeyLimits::default())]);
    let rules = Rules { keys: Some(keys(&[("alice", KeyLimits::default())])), ..Rules::default() };
    let text = format!("{file:?} {rules:?}");
    assert!(text.contains("alice") && text.contains("sha256: …"), "{text}");
    assert!(!text.contains("vk_"), "{text}");
}
