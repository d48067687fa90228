//! Rate limits by address and by key.

use std::time::Duration;

use vidra_server::Config;
use vidra_server::gate::{KeyLimits, Rules};
use vidra_sim::{Action, Endpoint, Fault};

use super::{VIDEO, app, file, get, get_as, get_from, keys, request, with_rate};
use crate::app::{PEER, TestApp, TestResponse};

fn rate_limit_headers(got: &TestResponse) -> [Option<&str>; 3] {
    ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"].map(|name| got.header(name))
}

#[tokio::test(start_paused = true)]
async fn an_address_is_rate_limited_and_gets_rate_limit_headers() {
    let app = app(Rules { rate: "2/m".parse().ok(), ..Rules::default() });
    let [miss, hit] = [app.get(VIDEO).await, app.get(VIDEO).await];
    assert_eq!(rate_limit_headers(&miss), [Some("2"), Some("1"), Some("30")]);
    assert_eq!(rate_limit_headers(&hit), [Some("2"), Some("0"), Some("60")]);
    assert_eq!((miss.header("x-cache"), hit.header("x-cache")), (Some("miss"), Some("hit")));
    // Cache hits are limited too.
    let over = app.get(VIDEO).await;
    let (message, details) = over.problem(429);
    assert_eq!(message, "Too many requests to this service");
    assert_eq!(details, ["the next is allowed in 30 s"]);
    assert_eq!(rate_limit_headers(&over), [Some("2"), Some("0"), Some("60")]);
    assert_eq!((over.header("retry-after"), over.cost()), (Some("30"), 0));
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(app.get(VIDEO).await.status, 200);
    app.get(VIDEO).await.problem(429);
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_response_has_rate_limit_headers() {
    let app = app(Rules { rate: "100/m".parse().ok(), ..Rules::default() });
    let etag = app.get(VIDEO).await.header("etag").unwrap().to_owned();
    let unchanged = get(&app, VIDEO, &[("if-none-match", &etag)]).await;
    let fresh = get(&app, VIDEO, &[("cache-control", "no-cache")]).await;
    let refused = [app.get("/api/video/nope").await, app.get("/nothing").await];
    let stream = super::request(
        "POST",
        "/api/playlist/PLquirkMixed/transcript",
        &[("accept", "application/x-ndjson")],
    );
    let stream = app.send(stream).await;
    assert_eq!(unchanged.status, 304);
    let answers = [&unchanged, &fresh, &refused[0], &refused[1], &stream];
    for (got, left) in answers.into_iter().zip(["99", "98", "97", "96", "95"]) {
        assert_eq!(rate_limit_headers(got)[1], Some(left), "{}", got.text);
    }
    // Health checks are not limited, or monitoring would take the service for dead.
    for path in ["/healthz", "/readyz"] {
        assert_eq!(rate_limit_headers(&app.get(path).await), [None; 3]);
    }
    assert_eq!(rate_limit_headers(&app.get("/openapi.json").await)[1], Some("94"));
    // A page counts once, not with each of its files.
    assert_eq!(rate_limit_headers(&app.get("/web/explorer.js").await), [None; 3]);
    assert_eq!(rate_limit_headers(&app.get("/web/nothing.js").await), [None; 3]);
    assert_eq!(rate_limit_headers(&app.get("/").await)[1], Some("93"));
}

/// A client that asks whether something changed does what it should.
#[tokio::test(start_paused = true)]
async fn users_21_an_unchanged_answer_does_not_count() {
    // From the response cache, and from a route.
    for path in [VIDEO, "/api/quota"] {
        let app = app(Rules { rate: "3/h".parse().ok(), ..Rules::default() });
        let etag = app.get(path).await.header("etag").unwrap().to_owned();
        for count in 0..30 {
            let got = get(&app, path, &[("if-none-match", &etag)]).await;
            let status = (got.status.as_u16(), rate_limit_headers(&got));
            assert_eq!(status, (304, [Some("3"), Some("2"), Some("1200")]), "{path} {count}");
        }
        // Beyond ten times the rate they count, so that they are no way around the limit.
        for status in [304, 304, 429] {
            let got = get(&app, path, &[("if-none-match", &etag)]).await;
            assert_eq!(got.status, status, "{path}");
        }
    }
}

/// `*` matches everything, so that an unchanged answer may still have been fetched for it.
#[tokio::test(start_paused = true)]
async fn users_21_an_unchanged_answer_that_cost_units_counts() {
    let app = app(Rules { rate: "3/h".parse().ok(), ..Rules::default() });
    for (path, left) in [("/api/video/quirkNoLike", "2"), ("/api/video/quirkHtmlCm", "1")] {
        let got = get(&app, path, &[("if-none-match", "*")]).await;
        assert_eq!((got.status.as_u16(), rate_limit_headers(&got)[1]), (304, Some(left)), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_rate_limit_there_are_no_rate_limit_headers() {
    let app = app(Rules::default());
    for _ in 0..1000 {
        assert_eq!(rate_limit_headers(&app.get(VIDEO).await), [None; 3]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_over_its_rate_limit_does_not_affect_others() {
    let callers = keys(&[
        ("greedy", with_rate("5/m")),
        ("alice", with_rate("5/m")),
        ("bob", with_rate("2/s")),
    ]);
    let app = app(Rules { keys: Some(callers), ..Rules::default() });
    for count in 0..500 {
        let got = get_as(&app, "greedy", VIDEO).await;
        assert_eq!(got.status, if count < 5 { 200 } else { 429 }, "{count}");
    }
    for _ in 0..5 {
        assert_eq!(get_as(&app, "alice", VIDEO).await.status, 200);
    }
    assert_eq!(
        rate_limit_headers(&get_as(&app, "bob", VIDEO).await),
        [Some("2"), Some("1"), Some("1")]
    );
}

#[tokio::test(start_paused = true)]
async fn a_key_without_its_own_rate_uses_the_default_rate() {
    let callers = keys(&[("alice", KeyLimits::default()), ("bob", with_rate("9/m"))]);
    let app = app(Rules { keys: Some(callers), rate: "3/m".parse().ok(), ..Rules::default() });
    assert_eq!(
        rate_limit_headers(&get_as(&app, "alice", VIDEO).await)[..2],
        [Some("3"), Some("2")]
    );
    assert_eq!(rate_limit_headers(&get_as(&app, "bob", VIDEO).await)[..2], [Some("9"), Some("8")]);
    // Requests with a wrong key are counted by address, and do not use up the rate of a valid key.
    for status in [401, 401, 401, 429, 429] {
        get_as(&app, "mallory", VIDEO).await.problem(status);
    }
    assert_eq!(get_as(&app, "alice", VIDEO).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn replacing_the_key_file_does_not_reset_rate_limits() {
    let callers = keys(&[("alice", with_rate("2/m"))]);
    let app = app(Rules { keys: Some(callers.clone()), ..Rules::default() });
    for status in [200, 200, 429] {
        assert_eq!(get_as(&app, "alice", VIDEO).await.status, status);
    }
    callers.replace(&file(&[]));
    get_as(&app, "alice", VIDEO).await.problem(401);
    callers.replace(&file(&[("alice", with_rate("2/m"))]));
    get_as(&app, "alice", VIDEO).await.problem(429);
}

#[tokio::test(start_paused = true)]
async fn behind_a_proxy_the_forwarded_address_is_rate_limited() {
    let proxy = "10.0.0.1";
    let rules = Rules {
        rate: "1/h".parse().ok(),
        trusted_proxies: vec![proxy.parse().unwrap()],
        ..Rules::default()
    };
    let app = app(rules);
    let table = [
        (proxy, "192.0.2.1", 200),
        (proxy, "192.0.2.1", 429),
        // An entry that the caller added itself is ignored.
        (proxy, "203.0.113.5, 192.0.2.1", 429),
        (proxy, "192.0.2.2", 200),
        ("192.0.2.2", "", 429),
        // The header of an untrusted peer is ignored.
        ("198.51.100.1", "192.0.2.77", 200),
        ("198.51.100.1", "192.0.2.78", 429),
        ("::ffff:198.51.100.1", "", 429),
        // An IPv6 network counts as one caller.
        (proxy, "2001:db8:1:2::1", 200),
        (proxy, "[2001:db8:1:2::ffff]:443", 429),
        (proxy, "2001:db8:1:3::1", 200),
    ];
    for (peer, forwarded, status) in table {
        let headers = [("x-forwarded-for", forwarded), ("forwarded", "for=203.0.113.9")];
        let got = get_from(&app, peer, &headers).await;
        assert_eq!(got.status, status, "{peer} {forwarded}");
    }
}

/// Programs on this machine share an address but are different callers. A key identifies one caller.
#[tokio::test]
async fn on_loopback_batches_are_counted_by_key_and_not_by_address() {
    let rules = Rules { keys: Some(keys(&[("alice", KeyLimits::default())])), ..Rules::default() };
    let open = Rules::default();
    // Where the service listens, whether keys are needed, and the status of a second batch.
    let table =
        [(true, &open, 200), (false, &open, 429), (true, &rules, 429), (false, &rules, 429)];
    for (on_loopback, rules, second) in table {
        let gate = Rules { on_loopback, ..rules.clone() };
        let config = Config { gate, batches_per_caller: 1, ..Config::default() };
        let app = TestApp::configured(|builder| builder, config);
        app.sim.inject(Fault::on(Endpoint::Player, Action::Hang));
        let begin = async || {
            let headers = [
                ("host", "localhost"),
                ("accept", "application/x-ndjson"),
                ("x-api-key", "vk_alice"),
            ];
            let request = request("POST", "/api/playlist/PLsize50/transcript", &headers);
            app.app.answer(request, PEER).await
        };
        let first = begin().await;
        assert_eq!(first.status(), 200, "on loopback: {on_loopback}");
        let is_keyed = rules.keys.is_some();
        assert_eq!(begin().await.status(), second, "on loopback: {on_loopback}, {is_keyed}");
    }
}
