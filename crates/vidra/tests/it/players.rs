//! Recorded answers of the player and recorded watch pages, read through the public operations.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use vidra::format::Moment;
use vidra::transport::{Answer, BoxFuture, Failure};
use vidra::{Reason, RetryPolicy, TranscriptQuery, Transport, VideoId, Vidra};

use crate::recorded::{bytes_of, fixtures_of};

/// The expected content of a recorded answer: the number of tracks and a part of the captions URL, or the error.
enum Holds {
    Tracks(usize, &'static str),
    Nothing(Reason),
}
use Holds::{Nothing, Tracks};

const PLAYERS: [(&str, &str, Holds); 25] = [
    ("F75k4Oc6g9Q-android.json", "F75k4Oc6g9Q", Tracks(1, "kind=asr&lang=en")),
    ("age-restricted.json", "Njp5uhTorCo", Nothing(Reason::AgeRestricted)),
    ("lyra-no-captions.json", "disabledCap", Nothing(Reason::CaptionsDisabled)),
    ("lyra-success.json", "dQw4w9WgXcQ", Tracks(2, "lang=en")),
    ("lyra-unavailable.json", "dQw4w9WgXcQ", Nothing(Reason::VideoNotFound)),
    ("mrbeast-many-tracks.json", "2isYuQZMbdU", Tracks(15, "&lang=en")),
    ("np-android-no-translation-languages-2022.json", "udsB8KnIJTg", Tracks(1, "kind=asr&lang=de")),
    ("np-empty-object.json", "dQw4w9WgXcQ", Nothing(Reason::PlatformChanged)),
    ("np-partial-no-playability-status.json", "3sbYbckT1VY", Nothing(Reason::PlatformChanged)),
    ("np-tv-embedded-sign-in.json", "rwcfPqbAx-0", Nothing(Reason::AgeRestricted)),
    ("np-tv-simpletext-names.json", "An8vtD1FDqs", Tracks(2, "&lang=en")),
    ("np-visionos-livestream-no-captions.json", "X4VbdwhkE10", Nothing(Reason::NotEnded)),
    ("np-visionos-many-tracks.json", "kX3nB4PpJko", Tracks(19, "&lang=en")),
    ("np-web-age.json", "rwcfPqbAx-0", Nothing(Reason::AgeRestricted)),
    ("np-web-error-unavailable.json", "dQw4w9WgXcQ", Nothing(Reason::VideoNotFound)),
    ("np-web-geo-blocked.json", "_PL2HJKxnOM", Nothing(Reason::RegionBlocked)),
    ("np-web-manual-and-asr-2024.json", "bvwohQavFV8", Tracks(2, "lang=de&name=Untertitel")),
    ("np-web-music-premium.json", "sMJ8bRN2dak", Nothing(Reason::MembersOnly)),
    ("np-web-private.json", "dQw4w9WgXcQ", Nothing(Reason::VideoPrivate)),
    ("po-token-required.json", "GJLlxj_dtq8", Nothing(Reason::PoTokenRequired)),
    ("request-blocked-bot.json", "dQw4w9WgXcQ", Nothing(Reason::Blocked)),
    ("scheduled-live-offline.json", "N-yVic7BbY0", Nothing(Reason::NotStarted)),
    ("surface-go-manual-and-asr.json", "GJLlxj_dtq8", Tracks(9, "&lang=en")),
    ("transcripts-disabled.json", "dsMFmonKDD4", Nothing(Reason::CaptionsDisabled)),
    ("video-unavailable.json", "dQw4w9WgXcQ", Nothing(Reason::VideoNotFound)),
];

/// Whether a page contains a key and a visitor id, or the error that it stands for.
type PageHolds = Result<(bool, bool), Reason>;

const PAGES: [(&str, PageHolds); 10] = [
    ("F75k4Oc6g9Q-2026-01.html", Ok((true, true))),
    ("age-restricted-2023.html", Ok((true, true))),
    ("age-restricted-vietnamese-ui.html", Ok((true, true))),
    ("consent-page-de.html", Err(Reason::PlatformChanged)),
    ("legacy-2019-escaped-player-response.html", Ok((true, true))),
    ("no-translation-languages-2023.html", Ok((true, true))),
    ("surface-go-2025-06.html", Ok((true, true))),
    ("too-many-requests-captcha.html", Err(Reason::Blocked)),
    ("transcripts-disabled-2022.html", Ok((true, true))),
    ("video-unavailable-error-2023.html", Ok((true, true))),
];

const CAPTIONS: &str = r#"<transcript><text start="0" dur="1.5">read</text></transcript>"#;
const ONE_TRACK: &str = r#"{"playabilityStatus":{"status":"OK"},"captions":{"playerCaptionsTracklistRenderer":{"captionTracks":[{"baseUrl":"https://www.youtube.com/api/timedtext?v=x","languageCode":"en"}]}}}"#;

/// A platform that answers from recordings and records the requests.
#[derive(Clone)]
struct Replay {
    player: Arc<Mutex<Bytes>>,
    /// With a page, the player accepts only requests with the key or the visitor id of that page.
    page: Option<Bytes>,
    requests: Arc<Mutex<Vec<Request<Bytes>>>>,
}

impl Replay {
    fn new(player: Bytes, page: Option<Bytes>) -> Self {
        Self { player: Arc::new(Mutex::new(player)), page, requests: Arc::default() }
    }

    fn client(&self) -> Vidra {
        let retry = RetryPolicy { retries: 0, ..RetryPolicy::default() };
        Vidra::builder()
            .cache_bytes(0)
            .web_url("http://recorded.invalid")
            .transport(self.clone())
            .block_pause(Duration::ZERO)
            .retry(retry)
            .build()
            .unwrap()
    }

    fn answer(&self, request: &Request<Bytes>) -> (StatusCode, Bytes) {
        let is_identified = request.headers().contains_key("x-goog-visitor-id")
            || request.uri().query().is_some_and(|query| query.contains("&key="));
        match (request.uri().path(), &self.page) {
            ("/watch", Some(page)) => (StatusCode::OK, page.clone()),
            ("/youtubei/v1/player", Some(_)) if !is_identified => {
                (StatusCode::BAD_REQUEST, Bytes::new())
            }
            ("/youtubei/v1/player", _) => (StatusCode::OK, self.player.lock().unwrap().clone()),
            ("/api/timedtext", _) => (StatusCode::OK, CAPTIONS.into()),
            _ => (StatusCode::NOT_FOUND, Bytes::new()),
        }
    }
}

impl Transport for Replay {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        let (status, body) = self.answer(&request);
        self.requests.lock().unwrap().push(request);
        Box::pin(async move { Ok(Answer { status, headers: HeaderMap::new(), body }) })
    }
}

#[test]
fn every_recording_is_tested() {
    let names = |part: &str| -> Option<BTreeSet<String>> {
        let files = std::fs::read_dir(fixtures_of(part)?).unwrap();
        Some(files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect())
    };
    let (Some(players), Some(pages)) = (names("player"), names("watch-pages")) else { return };
    assert_eq!(players, PLAYERS.iter().map(|(name, ..)| (*name).to_owned()).collect());
    assert_eq!(pages, PAGES.iter().map(|(name, _)| (*name).to_owned()).collect());
}

#[tokio::test]
async fn every_recorded_player_answer_is_understood() {
    let Some(folder) = fixtures_of("player") else { return };
    for (name, id, holds) in &PLAYERS {
        let replay = Replay::new(bytes_of(&folder, name), None);
        let (vidra, id) = (replay.client(), VideoId::parse(id).unwrap());
        let lines = vidra.transcript(id, &TranscriptQuery::default()).await;
        match holds {
            Nothing(reason) => assert_eq!(lines.unwrap_err().reason(), *reason, "{name}"),
            Tracks(count, address) => {
                assert_eq!(lines.unwrap()[0].text, "read", "{name}");
                let url = replay.requests.lock().unwrap().last().unwrap().uri().to_string();
                assert!(url.contains(address) && url.matches("fmt=").count() == 1, "{name}: {url}");
                assert!(url.starts_with("http://recorded.invalid/api/timedtext?"), "{url}");
                let tracks = replay.client().tracks(id).await.unwrap();
                assert_eq!(tracks.len(), *count, "{name}");
                assert!(tracks.iter().all(|track| !track.language_name.is_empty()), "{name}");
            }
        }
    }
}

/// The document of each recorded video has the data of the recording.
#[tokio::test]
async fn every_recorded_player_answer_describes_its_video() {
    let Some(folder) = fixtures_of("player") else { return };
    let mut with_date = 0;
    for (name, id, holds) in &PLAYERS {
        let Tracks(..) = holds else { continue };
        let body = bytes_of(&folder, name);
        let raw: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let vidra = Replay::new(body, None).client();
        let (id, spoken) = (VideoId::parse(id).unwrap(), TranscriptQuery::default());
        let info = vidra.full_transcript(id, &spoken).await.unwrap().body.info;
        let details = &raw["videoDetails"];
        let text = |member: &str| details[member].as_str().unwrap_or_default().to_owned();
        assert_eq!((&info.title, &info.channel), (&text("title"), &text("author")), "{name}");
        let channel = info.channel_id.map(|id| id.to_string()).unwrap_or_default();
        assert_eq!(channel, text("channelId"), "{name}");
        assert_eq!(info.duration.to_string(), text("lengthSeconds"), "{name}");
        let date = &raw["microformat"]["playerMicroformatRenderer"]["publishDate"];
        let published = date.as_str().map(|date| Moment::parse(Some(date)));
        assert_eq!(info.published_at, published, "{name}");
        with_date += usize::from(published.is_some());
        let codes = || raw.pointer("/captions/playerCaptionsTracklistRenderer/captionTracks");
        let codes: Vec<&serde_json::Value> = codes()
            .unwrap()
            .as_array()
            .unwrap()
            .iter()
            .map(|track| &track["languageCode"])
            .collect();
        assert!(codes.contains(&&info.track.language_code.into()), "{name}");
    }
    assert_eq!(with_date, 2, "only web players send the date");
}

#[tokio::test]
async fn names_and_kinds_are_read_in_both_forms() {
    let Some(folder) = fixtures_of("player") else { return };
    for (name, id) in [
        ("np-tv-simpletext-names.json", "An8vtD1FDqs"),
        ("F75k4Oc6g9Q-android.json", "F75k4Oc6g9Q"),
    ] {
        let tracks = Replay::new(bytes_of(&folder, name), None)
            .client()
            .tracks(VideoId::parse(id).unwrap())
            .await
            .unwrap();
        let automatic = tracks.iter().find(|track| track.is_auto_generated).unwrap();
        assert_eq!(
            (automatic.language_name.as_str(), automatic.language_code.as_str()),
            ("English (auto-generated)", "en")
        );
        assert!(tracks.iter().all(|track| track.is_translatable));
    }
}

#[tokio::test]
async fn every_recorded_watch_page_is_understood() {
    let Some(folder) = fixtures_of("watch-pages") else { return };
    for (name, holds) in &PAGES {
        let replay = Replay::new(ONE_TRACK.into(), Some(bytes_of(&folder, name)));
        let lines = replay
            .client()
            .transcript(VideoId::parse("dQw4w9WgXcQ").unwrap(), &TranscriptQuery::default())
            .await;
        match holds {
            Err(reason) => assert_eq!(lines.unwrap_err().reason(), *reason, "{name}"),
            Ok((key, visitor)) => {
                assert!(lines.is_ok(), "{name}: {lines:?}");
                let requests = replay.requests.lock().unwrap();
                let player = requests
                    .iter()
                    .rfind(|request| request.uri().path().ends_with("/player"))
                    .unwrap();
                assert_eq!(
                    player.uri().query().unwrap().contains("&key=AIzaSyEXAMPLE"),
                    *key,
                    "{name}"
                );
                assert_eq!(player.headers().contains_key("x-goog-visitor-id"), *visitor, "{name}");
            }
        }
    }
}

/// 100,000 random mutations of the recorded answers: a typed error or an answer, never a panic.
#[tokio::test]
async fn damaged_player_answers_never_panic() {
    let Some(folder) = fixtures_of("player") else { return };
    let mut dice = fastrand::Rng::with_seed(1);
    for (name, id, _) in &PLAYERS {
        let mut value: serde_json::Value =
            serde_json::from_slice(&bytes_of(&folder, name)).unwrap();
        // The big members do not concern captions and would only make this slow.
        let members = value.as_object_mut().unwrap();
        members.retain(|name, _| {
            matches!(name.as_str(), "playabilityStatus" | "captions" | "videoDetails")
        });
        if let Some(list) =
            value.pointer_mut("/captions/playerCaptionsTracklistRenderer/translationLanguages")
        {
            list.as_array_mut().unwrap().truncate(2);
        }
        let replay = Replay::new(Bytes::new(), None);
        let (vidra, id) = (replay.client(), VideoId::parse(id).unwrap());
        for _ in 0..100_000 / PLAYERS.len() {
            let mut damaged = value.clone();
            damage(&mut damaged, &mut dice);
            *replay.player.lock().unwrap() = damaged.to_string().into();
            match vidra.transcript(id, &TranscriptQuery::default()).await {
                Ok(lines) => assert_eq!(lines[0].text, "read"),
                Err(error) => {
                    assert_ne!(error.reason(), Reason::Internal, "{name}: {error:?} for {damaged}");
                }
            }
            replay.requests.lock().unwrap().clear();
        }
    }
}

/// Removes, retypes or repeats one member somewhere inside.
fn damage(value: &mut serde_json::Value, dice: &mut fastrand::Rng) {
    use serde_json::Value;
    let deeper = dice.u8(..4) > 0;
    match value {
        Value::Object(members) if deeper && !members.is_empty() => {
            let name = members.keys().nth(dice.usize(..members.len())).unwrap().clone();
            if dice.u8(..8) == 0 {
                members.remove(&name);
            } else {
                damage(&mut members[&name], dice);
            }
        }
        Value::Array(items) if deeper && !items.is_empty() => {
            let index = dice.usize(..items.len());
            if dice.u8(..8) == 0 {
                items.swap_remove(index);
            } else {
                damage(&mut items[index], dice);
            }
        }
        other => {
            *other = ODD[dice.usize(..ODD.len())].clone();
        }
    }
}

/// Values of unexpected types. Built once, because one of them is long.
static ODD: LazyLock<Vec<serde_json::Value>> = LazyLock::new(|| {
    use serde_json::json;
    vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(""),
        json!("x".repeat(50)),
        json!("/api/timedtext?v=\"<>\r\n"),
        json!(format!("/api/timedtext?{}", "x".repeat(9_000))),
        json!([]),
        json!({}),
        json!([[1]]),
    ]
});
