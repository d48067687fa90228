//! Rates: how fast each may ask.

use std::time::Duration;

use vidra_server::Config;
use vidra_server::gate::{KeyLimits, Rules};
use vidra_sim::{Action, Endpoint, Fault};

use super::{VIDEO, app, file, get, get_as, get_from, keys, rated, request};
use crate::app::{Got, PEER, TestApp};

fn standing(got: &Got) -> [Option<&str>; 3] {
    ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"].map(|name| got.header(name))
}

#[tokio::test(start_paused = true)]
async fn an_address_gets_so_many_and_is_told_where_it_stands() {
    let app = app(Rules { rate: "2/m".parse().ok(), ..Rules::default() });
    let [miss, hit] = [app.get(VIDEO).await, app.get(VIDEO).await];
    assert_eq!(standing(&miss), [Some("2"), Some("1"), Some("30")]);
    assert_eq!(standing(&hit), [Some("2"), Some("0"), Some("60")]);
    assert_eq!((miss.header("x-cache"), hit.header("x-cache")), (Some("miss"), Some("hit")));
    // Also where the answer is ready.
    let over = app.get(VIDEO).await;
    let (message, details) = over.problem(429);
    assert_eq!(message, "Too many requests to this service");
    assert_eq!(details, ["the next is allowed in 30 s"]);
    assert_eq!(standing(&over), [Some("2"), Some("0"), Some("60")]);
    assert_eq!((over.header("retry-after"), over.cost()), (Some("30"), 0));
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(app.get(VIDEO).await.status, 200);
    app.get(VIDEO).await.problem(429);
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_answer_tells_the_standing() {
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
    for (got, left) in answers.into_iter().zip(["98", "97", "96", "95", "94"]) {
        assert_eq!(standing(got)[1], Some(left), "{}", got.text);
    }
    // Whoever watches the service must not take it for dead.
    for path in ["/healthz", "/readyz"] {
        assert_eq!(standing(&app.get(path).await), [None; 3]);
    }
    assert_eq!(standing(&app.get("/openapi.json").await)[1], Some("93"));
    // A page counts once, not with each of its files.
    assert_eq!(standing(&app.get("/web/explorer.js").await), [None; 3]);
    assert_eq!(standing(&app.get("/web/nothing.js").await), [None; 3]);
    assert_eq!(standing(&app.get("/").await)[1], Some("92"));
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_nothing_is_said_about_one() {
    let app = app(Rules::default());
    for _ in 0..1000 {
        assert_eq!(standing(&app.get(VIDEO).await), [None; 3]);
    }
}

#[tokio::test(start_paused = true)]
async fn one_at_its_limit_leaves_the_others_theirs() {
    let callers = keys(&[("greedy", rated("5/m")), ("alice", rated("5/m")), ("bob", rated("2/s"))]);
    let app = app(Rules { keys: Some(callers), ..Rules::default() });
    for count in 0..500 {
        let got = get_as(&app, "greedy", VIDEO).await;
        assert_eq!(got.status, if count < 5 { 200 } else { 429 }, "{count}");
    }
    for _ in 0..5 {
        assert_eq!(get_as(&app, "alice", VIDEO).await.status, 200);
    }
    assert_eq!(standing(&get_as(&app, "bob", VIDEO).await), [Some("2"), Some("1"), Some("1")]);
}

#[tokio::test(start_paused = true)]
async fn a_key_without_a_rate_of_its_own_has_that_of_the_service() {
    let callers = keys(&[("alice", KeyLimits::default()), ("bob", rated("9/m"))]);
    let app = app(Rules { keys: Some(callers), rate: "3/m".parse().ok(), ..Rules::default() });
    assert_eq!(standing(&get_as(&app, "alice", VIDEO).await)[..2], [Some("3"), Some("2")]);
    assert_eq!(standing(&get_as(&app, "bob", VIDEO).await)[..2], [Some("9"), Some("8")]);
    // Who guesses is counted by its address, and takes nothing away from who has a key.
    for status in [401, 401, 401, 429, 429] {
        get_as(&app, "mallory", VIDEO).await.problem(status);
    }
    assert_eq!(get_as(&app, "alice", VIDEO).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn neither_a_new_file_nor_a_new_key_begins_the_count_anew() {
    let callers = keys(&[("alice", rated("2/m"))]);
    let app = app(Rules { keys: Some(callers.clone()), ..Rules::default() });
    for status in [200, 200, 429] {
        assert_eq!(get_as(&app, "alice", VIDEO).await.status, status);
    }
    callers.replace(&file(&[]));
    get_as(&app, "alice", VIDEO).await.problem(401);
    callers.replace(&file(&[("alice", rated("2/m"))]));
    get_as(&app, "alice", VIDEO).await.problem(429);
}

#[tokio::test(start_paused = true)]
async fn whose_address_it_is_behind_a_proxy() {
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
        // What the caller wrote itself does not help it.
        (proxy, "203.0.113.5, 192.0.2.1", 429),
        (proxy, "192.0.2.2", 200),
        ("192.0.2.2", "", 429),
        // Nobody else is believed.
        ("198.51.100.1", "192.0.2.77", 200),
        ("198.51.100.1", "192.0.2.78", 429),
        ("::ffff:198.51.100.1", "", 429),
        // A network of IPv6 is one caller.
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

/// Programs on this machine share an address without being one caller. A key makes a caller of its own.
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
