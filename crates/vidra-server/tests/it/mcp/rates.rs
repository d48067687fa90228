//! The rate limit of a caller at `/mcp`: what counts, and what a caller over it gets.

use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use vidra_server::Config;
use vidra_server::gate::{KeyLimits, Rules};
use vidra_sim::Endpoint;

use super::{Headers, answer, app, call, initialize, keys, send, session};
use crate::app::{TestApp, TestResponse};

/// Handshakes, lists and the end of a session are no work, and work is limited as everywhere.
#[tokio::test(start_paused = true)]
async fn users_21_only_calls_of_tools_count_against_the_rate() {
    let rate = KeyLimits { rate: "2/h".parse().ok(), ..KeyLimits::default() };
    let app = app(keys(&[("alice", rate)]));
    let key = ("x-api-key", "vk_alice");
    let remaining = |got: &TestResponse| got.header("ratelimit-remaining").map(str::to_owned);
    let got = send(&app, &initialize(), &[key]).await;
    assert_eq!((got.status.as_u16(), remaining(&got).as_deref()), (200, Some("2")));
    let session = session(&app, &[key]).await;
    let in_session: Headers<'_> = &[key, ("mcp-session-id", &session)];
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let video = call("get_video", &json!({"video": "fda4eREcaTQ"}));
    for message in [&list, &ping, &list] {
        let got = send(&app, message, in_session).await;
        assert_eq!((got.status.as_u16(), remaining(&got).as_deref()), (200, Some("2")));
    }
    for left in ["1", "0"] {
        let got = send(&app, &video, in_session).await;
        assert_eq!((got.status.as_u16(), remaining(&got).as_deref()), (200, Some(left)));
    }
    let refused = send(&app, &video, in_session).await;
    assert_eq!((refused.status.as_u16(), remaining(&refused).as_deref()), (200, Some("0")));
    // A caller over its limit can still end its session.
    assert_eq!(send(&app, &list, in_session).await.status, 200);
    let close = Request::delete("http://localhost/mcp").header(key.0, key.1);
    let close = close.header("mcp-session-id", &session).body(Body::empty()).unwrap();
    assert_eq!(app.send(close).await.status, 204);
}

/// The text of a refused call, which a model reads.
const REFUSED: &str = "Too many requests to this service.\n- the next is allowed in 1800 s\n\
    What to do: wait, and request less at a time. Not before 30m have passed.";

/// Agents show a model the result of a call, but no bare 429.
#[tokio::test(start_paused = true)]
async fn users_21_a_call_over_the_rate_gets_a_result_that_names_the_wait() {
    let rate = KeyLimits { rate: "2/h".parse().ok(), ..KeyLimits::default() };
    let app = app(keys(&[("alice", rate), ("bob", KeyLimits::default())]));
    let key = ("x-api-key", "vk_alice");
    let session = session(&app, &[key]).await;
    let in_session: Headers<'_> = &[key, ("mcp-session-id", &session)];
    let video = call("get_video", &json!({"video": "fda4eREcaTQ"}));
    // Reading a resource may need a request to YouTube, like a call.
    let read = json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read",
        "params": {"uri": "youtube://video/fda4eREcaTQ/transcript"}});
    let remaining = |got: &TestResponse| got.header("ratelimit-remaining").map(str::to_owned);
    assert_eq!(remaining(&send(&app, &read, in_session).await).as_deref(), Some("1"));
    let got = send(&app, &video, in_session).await;
    assert_eq!(answer(&got)["result"]["isError"], false);
    // In a session, and without one.
    let without_session: Headers<'_> = &[
        key,
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "get_video"),
    ];
    let mut stateless = video.clone();
    stateless["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    for (message, headers) in [(&video, in_session), (&stateless, without_session)] {
        let got = send(&app, message, headers).await;
        assert_eq!(got.status, 200, "{}", got.text);
        let result = &answer(&got)["result"];
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(result["content"][0]["text"], REFUSED);
    }
    assert_eq!(app.sim.record().calls_to(Endpoint::Videos), 1, "refused calls send no request");
    let close = Request::delete("http://localhost/mcp").header(key.0, key.1);
    let close = close.header("mcp-session-id", &session).body(Body::empty()).unwrap();
    assert_eq!(app.send(close).await.status, 204, "a caller over its limit can end its session");
    let metrics = Request::get("/metrics").header("x-api-key", "vk_bob").body(Body::empty());
    let metrics = app.send(metrics.unwrap()).await.text;
    let refused = "\nvidra_limited_total{reason=\"caller_rate_limited\"} 2\n";
    assert!(metrics.contains(refused), "{metrics}");
}

/// Free messages are limited too, and whatever is no message of the protocol counts as work.
#[tokio::test(start_paused = true)]
async fn users_21_free_messages_are_no_way_around_the_rate() {
    let rules = || Rules { rate: "2/h".parse().ok(), ..Rules::default() };
    let large = json!("x".repeat(140_000));
    let junk = [json!("x"), json!([initialize()]), json!({"id": 1})];
    for body in junk {
        let app = app(rules());
        for is_admitted in [true, true, false] {
            let got = send(&app, &body, &[]).await;
            assert_eq!(got.status != 429, is_admitted, "{}", got.text);
        }
    }
    // There is no session, or the body is too large, or there is no such endpoint.
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    for (mcp, body, status) in [(true, &ping, 400), (true, &large, 413), (false, &ping, 404)] {
        let config = Config { gate: rules(), mcp, ..Config::default() };
        let app = TestApp::configured(|builder| builder, config);
        for count in 0..30 {
            let got = send(&app, body, &[]).await;
            assert_eq!(got.status.as_u16(), if count < 22 { status } else { 429 }, "{count}");
        }
    }
    // A wrong key counts at once, whatever the message is.
    let app = self::app(Rules { rate: rules().rate, ..keys(&[("alice", KeyLimits::default())]) });
    for status in [401, 401, 429] {
        send(&app, &initialize(), &[("x-api-key", "vk_guess")]).await.problem(status);
    }
    assert_eq!(send(&app, &initialize(), &[("x-api-key", "vk_alice")]).await.status, 200);
}
