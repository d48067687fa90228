//! Player answers without a list of tracks.

use crate::keyless_client::{
    ALL, ANDROID, EMBEDDED, IOS, MWEB, TV, VISIONOS, WEB, player, player_request, send, tracks,
};
use serde_json::{Value, json};
use vidra_sim::{Endpoint, Simulator};

async fn status(id: &str) -> Value {
    player(&Simulator::new(), id, ANDROID).await["playabilityStatus"].clone()
}

#[tokio::test]
async fn playability_statuses_and_reasons_match_the_platform() {
    let cases = [
        ("plBotWall__", "LOGIN_REQUIRED", "Sign in to confirm you\u{2019}re not a bot"),
        ("plAgeGate__", "LOGIN_REQUIRED", "This video may be inappropriate for some users."),
        ("plAgeCheck_", "AGE_CHECK_REQUIRED", "Sign in to confirm your age"),
        ("plAgeVerify", "AGE_VERIFICATION_REQUIRED", "Sign in to confirm your age"),
        ("plGone_____", "ERROR", "This video is unavailable"),
        ("quirkAbsent", "ERROR", "This video is unavailable"),
        ("quirkDeletd", "ERROR", "This video is unavailable"),
        ("nobodysVide", "ERROR", "This video is unavailable"),
        ("plGeoText__", "UNPLAYABLE", "Video unavailable"),
        ("plGeoRuns__", "UNPLAYABLE", "Video unavailable"),
        ("plPremium__", "UNPLAYABLE", "This video is only available to Music Premium members"),
        ("plTryLater_", "UNPLAYABLE", "This content isn't available, try again later."),
        ("plUpcoming_", "LIVE_STREAM_OFFLINE", "This live event will begin in 18 hours."),
        ("quirkUpcomg", "LIVE_STREAM_OFFLINE", "This live event will begin in 18 hours."),
        ("plOffline__", "LIVE_STREAM_OFFLINE", "This live stream recording is not available."),
        ("plEnded____", "LIVE_STREAM_OFFLINE", "This live event has ended."),
        ("plProcess__", "UNPLAYABLE", "We're processing this video. Check back later."),
        ("quirkProcss", "UNPLAYABLE", "We're processing this video. Check back later."),
        ("plUnknown__", "RATHER_NOT", "Not today"),
        (
            "plOldApp___",
            "UNPLAYABLE",
            "The following content is not available on this app. Watch on the latest version of YouTube.",
        ),
    ];
    for (id, expected, reason) in cases {
        let status = status(id).await;
        assert_eq!(
            (&status["status"], &status["reason"]),
            (&expected.into(), &reason.into()),
            "{id}"
        );
    }
    let members = status("plMembers__").await;
    assert!(members["reason"].as_str().is_some_and(|reason| reason.contains("members-only")));
    assert_eq!(status("plContent__").await["status"], "CONTENT_CHECK_REQUIRED");
}

#[tokio::test]
async fn details_outside_the_reason_are_present() {
    for id in ["plPrivate__", "quirkPrivat"] {
        let private = status(id).await;
        assert!(private.get("reason").is_none(), "{private}");
        assert!(private["messages"][0].as_str().is_some_and(|m| m.contains("private video")));
    }
    let screen = "/errorScreen/playerErrorMessageRenderer/subreason";
    let country = Some("The uploader has not made this video available in your country");
    let at = |status: &Value, tail: &str| {
        status.pointer(&format!("{screen}{tail}")).and_then(Value::as_str).map(str::to_owned)
    };
    assert_eq!(at(&status("plGeoText__").await, "/simpleText").as_deref(), country);
    assert_eq!(at(&status("plGeoRuns__").await, "/runs/0/text").as_deref(), country);
    let captcha = status("plCaptcha__").await;
    assert!(captcha.pointer("/errorScreen/playerCaptchaViewModel").is_some());
    let upcoming = status("plUpcoming_").await.to_string();
    assert!(upcoming.contains('\u{202f}'), "{upcoming}");
}

#[tokio::test]
async fn age_gate_wording_depends_on_the_client() {
    let platform = Simulator::new();
    let mut words = Vec::new();
    for client in [WEB, ANDROID, TV] {
        let status = player(&platform, "plAgeGate__", client).await["playabilityStatus"].clone();
        words.push(json!([status["status"], status["reason"]]));
    }
    assert_eq!(
        json!(words),
        json!([
            ["LOGIN_REQUIRED", "Sign in to confirm your age"],
            ["LOGIN_REQUIRED", "This video may be inappropriate for some users."],
            ["UNPLAYABLE", "Please sign in"],
        ])
    );
}

#[tokio::test]
async fn refusals_depend_on_the_client() {
    let platform = Simulator::new();
    let cases: [(&str, &[&str]); 5] = [
        ("plAgeEmbed_", &[EMBEDDED.0]),
        ("plForKids__", &[ANDROID.0, IOS.0, WEB.0, MWEB.0, EMBEDDED.0, TV.0]),
        ("plNext2nd__", &[VISIONOS.0, WEB.0, MWEB.0, EMBEDDED.0, TV.0]),
        ("plWebOnly__", &[WEB.0, MWEB.0, EMBEDDED.0]),
        ("plOldAndr__", &[VISIONOS.0, IOS.0, WEB.0, MWEB.0, EMBEDDED.0, TV.0]),
    ];
    for (id, accepted) in cases {
        for client in ALL {
            let body = player(&platform, id, client).await;
            let good = body["playabilityStatus"]["status"] == "OK" && !tracks(&body).is_empty();
            assert_eq!(good, accepted.contains(&client.0), "{id} {}", client.0);
        }
    }
}

#[tokio::test]
async fn unusual_player_answers_match_their_rows() {
    let platform = Simulator::new();
    let fetch = |id| player(&platform, id, ANDROID);
    assert_eq!(fetch("plEmptyObj_").await, json!({}));
    assert_eq!(fetch("plWrongVid_").await["videoDetails"]["videoId"], "aQvGIIdgFDM");
    let bare = fetch("plNoStatus_").await;
    assert!(bare.get("playabilityStatus").is_none() && !tracks(&bare).is_empty());
    for id in ["plLiveNow__", "quirkLiveOn"] {
        let live = fetch(id).await;
        assert_eq!(live["videoDetails"]["lengthSeconds"], "0", "{id}");
        assert!(live.get("captions").is_none() && live["playabilityStatus"]["status"] == "OK");
    }
    let live = fetch("plLiveCapt_").await;
    assert!(live["captions"].get("playerCaptionsRenderer").is_some());
    for id in ["plBotWall__", "plPrivate__", "plGone_____"] {
        assert!(fetch(id).await.get("videoDetails").is_none(), "{id}");
    }
}

#[tokio::test]
async fn reasons_use_the_requested_language() {
    let platform = Simulator::new();
    let mut request = player_request("plBotWall__", ANDROID);
    let body = String::from_utf8_lossy(request.body()).replace("\"hl\":\"en\"", "\"hl\":\"de\"");
    *request.body_mut() = body.into();
    let status = send(&platform, request).await.expect("an answer").json();
    let reason = status["playabilityStatus"]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("Melde dich an"), "{reason}");
    assert_eq!(platform.record().violations.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn player_failures_match_their_rows() {
    let platform = Simulator::new();
    let fetch = |id| send(&platform, player_request(id, ANDROID));
    let statuses = [
        ("plHttp400__", 400, "FAILED_PRECONDITION"),
        ("plHttp403__", 403, "PERMISSION_DENIED"),
        ("plHttp404__", 404, "NOT_FOUND"),
        ("plHttp429__", 429, "RESOURCE_EXHAUSTED"),
        ("plHttp500__", 500, "INTERNAL"),
    ];
    for (id, status, word) in statuses {
        let reply = fetch(id).await.expect("an answer");
        assert_eq!(
            (reply.status, &reply.json()["error"]["status"]),
            (status, &word.into()),
            "{id}"
        );
    }
    let once: Vec<_> = [fetch("plHttp503x1").await, fetch("plHttp503x1").await]
        .into_iter()
        .map(|reply| reply.expect("an answer").status)
        .collect();
    assert_eq!(once, [503, 200]);
    let sorry = fetch("plSorry302_").await.expect("an answer");
    assert_eq!(sorry.status, 302);
    assert!(sorry.header("location").starts_with("https://www.google.com/sorry/index"));
    for id in ["plNotJson__", "plHtml_____", "plTruncated", "plEmpty____"] {
        let reply = fetch(id).await.expect("an answer");
        assert_eq!(reply.status, 200);
        assert!(serde_json::from_str::<Value>(&reply.body).is_err(), "{id}");
    }
    assert!(fetch("plOddShape_").await.expect("an answer").json().is_array());
    assert!(fetch("plCut______").await.is_none() && fetch("plReset____").await.is_none());
    let start = tokio::time::Instant::now();
    assert_eq!(fetch("plSlow_____").await.map(|reply| reply.status), Some(200));
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test]
async fn some_videos_require_watch_page_data() {
    let platform = Simulator::new();
    let fetch = |id: &'static str, name: &'static str, value: String| {
        let platform = platform.clone();
        async move {
            let mut request = player_request(id, ANDROID);
            if name == "key" {
                let uri = format!("/youtubei/v1/player?key={value}");
                *request.uri_mut() = uri.parse().expect("a URL");
            } else {
                request.headers_mut().insert(name, value.parse().expect("a value"));
            }
            send(&platform, request).await.expect("an answer").status
        }
    };
    for id in ["plNeedsPage", "wpGood_____", "wpEscaped__", "wpConsent1_"] {
        assert_eq!(fetch(id, "x-nothing", String::new()).await, 400, "{id}");
        assert_eq!(fetch(id, "x-goog-visitor-id", platform.visitor_data()).await, 200, "{id}");
        assert_eq!(fetch(id, "key", platform.innertube_key()).await, 200, "{id}");
        assert_eq!(fetch(id, "key", "AIzaSyOther".to_owned()).await, 400, "{id}");
    }
}

#[tokio::test]
async fn malformed_player_requests_are_rejected() {
    let platform = Simulator::new();
    let good = player_request("txManualAsr", ANDROID);
    let with_body = |body: &str| {
        let mut request = player_request("txManualAsr", ANDROID);
        *request.body_mut() = body.to_owned().into();
        send(&platform, request)
    };
    for body in ["", "{", "{}", r#"{"videoId":"txManualAsr"}"#] {
        assert_eq!(with_body(body).await.map(|reply| reply.status), Some(400), "{body}");
    }
    let unknown = String::from_utf8_lossy(good.body()).replace("ANDROID", "TOASTER");
    assert_eq!(with_body(&unknown).await.map(|reply| reply.status), Some(400));
    assert_eq!(platform.record().units.default, 0);
    let record = platform.record();
    let last = record.requests_to(Endpoint::Player).last().expect("recorded");
    assert_eq!(last.client_name().as_deref(), Some("TOASTER"));
    assert_eq!(last.video_id().as_deref(), Some("txManualAsr"));
}
