//! Transcripts over the simulator: requests, results and errors.

mod addresses;
mod documents;

use std::time::Duration;

use vidra::{LanguageCode, Languages, Reason, TranscriptQuery, VideoId};
use vidra_sim::{Endpoint, Simulator};

use crate::sim::{builder, client};

static SPOKEN: std::sync::LazyLock<TranscriptQuery> =
    std::sync::LazyLock::new(TranscriptQuery::default);

fn video(id: &str) -> VideoId {
    VideoId::parse(id).unwrap()
}

fn in_language(codes: &str) -> TranscriptQuery {
    TranscriptQuery::default().with_languages(Languages::parse(codes).unwrap())
}

/// The text of a whole transcript.
async fn text(sim: &Simulator, id: &str, query: &TranscriptQuery) -> String {
    let lines = client(sim).transcript(video(id), query).await;
    lines.unwrap_or_else(|error| panic!("{id}: {error:?}")).iter().map(|line| &*line.text).collect()
}

#[tokio::test]
async fn a_transcript_needs_two_requests_and_no_key() {
    let sim = Simulator::new();
    let vidra = builder(&sim).key(None).build().unwrap();
    let lines = vidra.transcript(video("txManualAsr"), &TranscriptQuery::default()).await.unwrap();
    assert!(lines.len() > 3 && lines.iter().all(|line| &*line.lang == "en"));
    assert!(lines.is_sorted_by_key(|line| line.offset.as_millis()));
    let record = sim.record();
    let calls = [Endpoint::Player, Endpoint::TimedText].map(|endpoint| record.calls_to(endpoint));
    assert_eq!((record.calls, calls), (2, [1, 1]));
    assert_eq!(record.violations, Vec::<String>::new());
    assert_eq!((vidra.cost().units(), record.units.default), (0, 0));
}

#[tokio::test]
async fn every_failure_has_its_own_reason() {
    let table = [
        ("plBotWall__", Reason::Blocked),
        ("plCaptcha__", Reason::Blocked),
        ("plAgeGate__", Reason::AgeRestricted),
        ("plAgeCheck_", Reason::AgeRestricted),
        ("plAgeVerify", Reason::AgeRestricted),
        ("plContent__", Reason::AgeRestricted),
        ("plPrivate__", Reason::VideoPrivate),
        ("plGone_____", Reason::VideoNotFound),
        ("plGeoText__", Reason::RegionBlocked),
        ("plGeoRuns__", Reason::RegionBlocked),
        ("plMembers__", Reason::MembersOnly),
        ("plPremium__", Reason::MembersOnly),
        ("plOffline__", Reason::Unplayable),
        ("plEnded____", Reason::Unplayable),
        ("plUpcoming_", Reason::NotStarted),
        ("plLiveNow__", Reason::NotEnded),
        ("plLiveCapt_", Reason::NotEnded),
        ("buAbsent___", Reason::PlatformChanged),
        ("plTryLater_", Reason::UpstreamRateLimited),
        ("plWrongVid_", Reason::PlatformChanged),
        ("plEmptyObj_", Reason::PlatformChanged),
        ("plUnknown__", Reason::PlatformChanged),
        ("plOldApp___", Reason::PlatformChanged),
        ("plHttp400__", Reason::PlatformChanged),
        ("plHttp403__", Reason::PlatformChanged),
        ("plHttp429__", Reason::UpstreamRateLimited),
        ("plSorry302_", Reason::Blocked),
        ("plNotJson__", Reason::PlatformChanged),
        ("plHtml_____", Reason::PlatformChanged),
        ("plTruncated", Reason::PlatformChanged),
        ("plEmpty____", Reason::PlatformChanged),
        ("plOddShape_", Reason::PlatformChanged),
        ("txNoCaption", Reason::CaptionsDisabled),
        ("txNoTracks_", Reason::CaptionsDisabled),
        ("txNeedsPot_", Reason::PoTokenRequired),
        ("txExpList__", Reason::PoTokenRequired),
        ("wpCaptcha__", Reason::Blocked),
        ("wpHttp429__", Reason::UpstreamRateLimited),
        ("wpNoKey____", Reason::PlatformChanged),
        ("wpConsentAl", Reason::PlatformChanged),
        ("ttEmpty____", Reason::PoTokenRequired),
        ("ttExpired__", Reason::PlatformChanged),
        ("ttHtml_____", Reason::Blocked),
        ("tt404______", Reason::PlatformChanged),
        ("tt403______", Reason::PlatformChanged),
        ("tt429______", Reason::UpstreamRateLimited),
        ("ttDoctype__", Reason::PlatformChanged),
        ("ttBomb_____", Reason::PlatformChanged),
        ("ttTruncated", Reason::PlatformChanged),
        ("ttOddShape_", Reason::PlatformChanged),
    ];
    for (id, reason) in table {
        let sim = Simulator::new();
        let error =
            client(&sim).transcript(video(id), &TranscriptQuery::default()).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{id}: {error:?}");
        assert_eq!(error.kind(), reason.kind(), "{id}");
        assert_eq!(sim.record().violations, Vec::<String>::new(), "{id}");
    }
}

#[tokio::test]
async fn unplayable_videos_have_a_specific_message() {
    let table = [
        ("plOffline__", "Broadcast is over and there is no recording of it: plOffline__"),
        ("plEnded____", "Broadcast is over and there is no recording of it: plEnded____"),
    ];
    for (id, message) in table {
        let sim = Simulator::new();
        let error = client(&sim).transcript(video(id), &SPOKEN).await.unwrap_err();
        assert_eq!(error.message(), message);
        assert_eq!((error.reason(), error.details()), (Reason::Unplayable, &[][..]));
        assert_eq!(sim.record().calls, 1, "{id}: no other player is tried");
    }
}

#[tokio::test]
async fn a_missing_language_lists_the_available_ones() {
    let sim = Simulator::new();
    let error =
        client(&sim).transcript(video("txManualAsr"), &in_language("fr,it")).await.unwrap_err();
    assert_eq!(error.reason(), Reason::LanguageUnavailable);
    assert_eq!(error.details(), ["available: en"]);
    assert_eq!(sim.record().calls_to(Endpoint::TimedText), 0);
}

/// The track that was fetched, by its URL: language, and `asr` or a name.
async fn read_track(id: &str, query: &TranscriptQuery) -> String {
    let sim = Simulator::new();
    client(&sim)
        .transcript(video(id), query)
        .await
        .unwrap_or_else(|error| panic!("{id}: {error:?}"));
    let record = sim.record();
    let seen = record.requests_to(Endpoint::TimedText).last().unwrap();
    let part = |name| seen.parameter(name).unwrap_or_default().to_owned();
    [part("lang"), part("kind"), part("name")]
        .iter()
        .filter(|part| !part.is_empty())
        .cloned()
        .collect::<Vec<_>>()
        .join(" ")
}

#[tokio::test]
async fn the_best_track_is_selected() {
    let spoken = TranscriptQuery::default;
    let table = [
        ("txManualAsr", spoken(), "en"),
        ("txAsrOnly__", spoken(), "en asr"),
        ("txManualOnl", spoken(), "en"),
        ("txForeign1_", spoken(), "en"),
        ("txForced___", spoken(), "en"),
        ("txForced___", in_language("en"), "en"),
        ("txDubbed___", spoken(), "en"),
        ("txGemini___", spoken(), "en asr"),
        ("txManyLang_", in_language("pt-BR"), "pt-BR"),
        ("txManyLang_", in_language("zh-Hant"), "zh-Hant"),
        ("txManyLang_", in_language("PT-br"), "pt-BR"),
        ("txManyLang_", in_language("pt_BR"), "pt-BR"),
        ("txManyLang_", in_language("es-MX,es-419"), "es"),
        ("txManyLang_", in_language("xx,fil,en"), "fil"),
        ("txManualAsr", in_language("en-GB"), "en"),
    ];
    for (id, query, track) in table {
        assert_eq!(read_track(id, &query).await, track, "{id} {query:?}");
    }
    assert!(
        read_track("txAsrFirst_", &spoken()).await.starts_with("de "),
        "the named manual track"
    );
    assert!(!read_track("txAsrFirst_", &spoken()).await.contains("asr"));
}

#[tokio::test]
async fn tracks_of_the_same_language_are_all_listed() {
    let vidra = client(&Simulator::new());
    let tracks = vidra.tracks(video("txSameLang2")).await.unwrap();
    let english = tracks.iter().filter(|track| track.language_code == "en").count();
    assert_eq!((tracks.len(), english), (3, 3));
    let names: std::collections::HashSet<_> =
        tracks.iter().map(|track| &track.language_name).collect();
    assert_eq!(names.len(), 3);
    assert_eq!(tracks.iter().filter(|track| track.is_auto_generated).count(), 1);
}

#[tokio::test]
async fn the_platform_translates_except_to_the_same_language() {
    let sim = Simulator::new();
    let to = |code: &str| {
        TranscriptQuery::default().with_translation(LanguageCode::parse(code).unwrap())
    };
    let lines = client(&sim).transcript(video("txManualAsr"), &to("de")).await.unwrap();
    assert!(lines[0].text.starts_with("[de]") && &*lines[0].lang == "de", "{:?}", lines[0]);
    let plain = text(&sim, "txManualAsr", &TranscriptQuery::default()).await;
    assert_eq!(text(&sim, "txManualAsr", &to("en")).await, plain);
    assert!(
        text(&sim, "txNoTransl_", &to("fr")).await.contains("[fr]"),
        "an empty list of languages allows all"
    );
    let unknown = client(&sim).transcript(video("txManualAsr"), &to("xx")).await.unwrap_err();
    assert_eq!(unknown.reason(), Reason::LanguageUnavailable);
    let limited = client(&sim).transcript(video("ttNoTrans__"), &to("de")).await.unwrap_err();
    assert_eq!(limited.reason(), Reason::TranslationLimited);
    // The address itself is not blocked.
    assert!(
        client(&sim).transcript(video("ttNoTrans__"), &TranscriptQuery::default()).await.is_ok()
    );
}

#[tokio::test]
async fn a_language_is_not_translated_to_itself() {
    let table = [
        ("en-US", "en", None, "en-US"),
        ("pt-BR", "PT", None, "pt-BR"),
        ("zh-Hans", "ZH-hans", None, "zh-Hans"),
        ("pt-PT", "pt-BR", Some("pt-BR"), "pt-BR"),
        ("zh-Hans", "zh-Hant", Some("zh-Hant"), "zh-Hant"),
        ("zh", "zh-Hant", Some("zh-Hant"), "zh-Hant"),
        ("en", "en-US", Some("en-US"), "en-US"),
        ("de", "en", Some("en"), "en"),
        ("de", "zh_Hant", Some("zh-Hant"), "zh-Hant"),
        ("de", "FR", Some("fr"), "fr"),
        ("de", "zh-HANS", Some("zh-Hans"), "zh-Hans"),
        ("de", "pt-br", Some("pt-BR"), "pt-BR"),
    ];
    for (track, wanted, sent, lang) in table {
        let sim = Simulator::new();
        let query = in_language(track).with_translation(LanguageCode::parse(wanted).unwrap());
        let lines = client(&sim).transcript(video("txManyLang_"), &query).await.unwrap();
        let record = sim.record();
        let seen = record.requests_to(Endpoint::TimedText).last().unwrap();
        assert_eq!(seen.parameter("lang"), Some(track));
        assert_eq!(seen.parameter("tlang"), sent, "{track} to {wanted}");
        assert_eq!(&*lines[0].lang, lang, "{track} to {wanted}");
    }
}

#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried_and_lasting_ones_reported() {
    for id in ["plHttp503x1", "tt503x1____", "wpHttp503x1", "plSlow_____", "ttSlow_____"] {
        let sim = Simulator::new();
        let lines = client(&sim).transcript(video(id), &TranscriptQuery::default()).await;
        assert!(lines.is_ok(), "{id}: {lines:?}");
    }
    for id in
        ["plCut______", "plReset____", "ttCut______", "ttReset____", "plHttp500__", "tt500______"]
    {
        let sim = Simulator::new();
        let error =
            client(&sim).transcript(video(id), &TranscriptQuery::default()).await.unwrap_err();
        assert_eq!(error.reason(), Reason::UpstreamFailed, "{id}: {error:?}");
        assert_eq!(error.message(), format!("YouTube answered with an error: {id}"));
    }
}

#[tokio::test]
async fn the_watch_page_is_fetched_once_and_only_when_needed() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    for id in ["plNeedsPage", "wpGood_____", "wpEscaped__", "wpConsent1_", "txManualAsr"] {
        vidra.transcript(video(id), &TranscriptQuery::default()).await.unwrap();
    }
    let record = sim.record();
    assert_eq!(record.calls_to(Endpoint::Watch), 1, "its values are cached");
    let player = record.requests_to(Endpoint::Player).last().unwrap();
    assert_eq!(player.header("x-goog-visitor-id"), Some(&*sim.visitor_data()));
    assert_eq!(player.parameter("key"), Some(&*sim.innertube_key()));
    let sim = Simulator::new();
    let vidra = client(&sim);
    let together =
        std::iter::repeat_with(|| vidra.transcript(video("plNeedsPage"), &SPOKEN)).take(16);
    let all = futures_util::future::join_all(together).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(sim.record().calls_to(Endpoint::Watch), 1, "one fetch for all");
    for id in ["wpEscaped__", "wpNoVisitor", "wpConsent1_", "wpConsent30"] {
        let sim = Simulator::new();
        let lines = client(&sim).transcript(video(id), &TranscriptQuery::default()).await;
        assert!(lines.is_ok(), "{id}: {lines:?}");
        assert_eq!(sim.record().violations, Vec::<String>::new(), "{id}");
    }
}

#[tokio::test]
async fn other_players_are_tried_when_that_helps() {
    for (id, player) in [
        ("plAgeEmbed_", "WEB_EMBEDDED_PLAYER"),
        ("plWebOnly__", "WEB_EMBEDDED_PLAYER"),
        ("plForKids__", "ANDROID"),
        ("plOldAndr__", "VISIONOS"),
    ] {
        let sim = Simulator::new();
        client(&sim).transcript(video(id), &TranscriptQuery::default()).await.unwrap();
        let record = sim.record();
        let last = record.requests_to(Endpoint::Player).last().unwrap().client_name();
        assert_eq!(last.as_deref(), Some(player), "{id}");
        assert_eq!(record.violations, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_captions_url_of_another_host_is_never_requested() {
    let hostile = [
        "buLoopback_",
        "buMetadata_",
        "buFile_____",
        "buSuffix___",
        "buEvilHost_",
        "buUserInfo_",
        "buPassword_",
        "buPort22___",
        "buPlainHttp",
        "buNoScheme_",
        "buBackslash",
        "buOtherPath",
        "buDotDot___",
        "buNotAnUrl_",
    ];
    for id in hostile {
        let sim = Simulator::new();
        let error =
            client(&sim).transcript(video(id), &TranscriptQuery::default()).await.unwrap_err();
        assert_eq!(error.reason(), Reason::PlatformChanged, "{id}");
        assert_eq!(sim.record().calls, sim.record().calls_to(Endpoint::Player), "{id}");
    }
    let relative = client(&Simulator::new())
        .transcript(video("txRelative_"), &TranscriptQuery::default())
        .await;
    assert!(relative.is_ok());
}

#[tokio::test]
async fn a_token_is_fetched_if_the_platform_requires_one() {
    for id in ["txNeedsPot_", "txExpList__"] {
        let sim = Simulator::new();
        let vidra = builder(&sim).pot_provider("http://sim.invalid").build().unwrap();
        let lines = vidra.transcript(video(id), &TranscriptQuery::default()).await;
        assert!(lines.is_ok(), "{id}: {lines:?}");
        let record = sim.record();
        assert_eq!(record.calls_to(Endpoint::PotProvider), 1);
        assert_eq!(record.violations, Vec::<String>::new());
    }
    let sim = Simulator::new();
    sim.inject(vidra_sim::Fault::on(Endpoint::PotProvider, vidra_sim::Action::status(500)));
    let vidra = builder(&sim).pot_provider("http://sim.invalid").build().unwrap();
    let error = vidra.transcript(video("txNeedsPot_"), &SPOKEN).await.unwrap_err();
    assert_eq!(error.reason(), Reason::NoPoToken);
    vidra.transcript(video("txManualAsr"), &TranscriptQuery::default()).await.unwrap();
    assert_eq!(sim.record().calls_to(Endpoint::PotProvider), 1, "only if it is needed");
}

#[tokio::test]
async fn an_error_of_the_provider_gives_no_token() {
    let body = r#"{"poToken": "stale"}"#.to_owned();
    let table = [
        (500, body.clone(), "500 Internal Server Error"),
        (403, body, "403 Forbidden"),
        (200, "{}".to_owned(), "no usable poToken"),
        (200, format!(r#"{{"poToken": "{}"}}"#, "x".repeat(70_000)), "no usable poToken"),
        (200, r#"{"poToken": ""}"#.to_owned(), "no usable poToken"),
    ];
    for (status, body, cause) in table {
        let sim = Simulator::new();
        let answer = vidra_sim::Action::Status { status, body, retry_after: None };
        sim.inject(vidra_sim::Fault::on(Endpoint::PotProvider, answer));
        let vidra = builder(&sim).pot_provider("http://sim.invalid").build().unwrap();
        let error = vidra.transcript(video("txNeedsPot_"), &SPOKEN).await.unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!((error.reason(), &*source), (Reason::NoPoToken, cause));
        assert_eq!(sim.record().calls_to(Endpoint::TimedText), 0);
    }
}

#[tokio::test]
async fn an_empty_body_is_fetched_again_with_a_token() {
    let with_provider =
        |sim: &Simulator| builder(sim).pot_provider("http://sim.invalid").build().unwrap();
    let requests = |sim: &Simulator| {
        let record = sim.record();
        assert_eq!(record.violations, Vec::<String>::new());
        let captions = record.requests_to(Endpoint::TimedText);
        let captions = captions
            .map(|seen| (seen.parameter("variant").is_some(), seen.parameter("pot").is_some()));
        (captions.collect::<Vec<_>>(), record.calls_to(Endpoint::PotProvider))
    };
    let sim = Simulator::new();
    with_provider(&sim).transcript(video("txGemini___"), &SPOKEN).await.unwrap();
    assert_eq!(requests(&sim), (vec![(true, false), (true, true)], 1), "still the best track");

    let sim = Simulator::new();
    let error = with_provider(&sim).transcript(video("ttEmpty____"), &SPOKEN).await.unwrap_err();
    assert_eq!(
        error.message(),
        "YouTube does not accept the proof-of-origin token of the configured provider: ttEmpty____"
    );
    let without = client(&Simulator::new()).transcript(video("ttEmpty____"), &SPOKEN).await;
    assert_eq!(without.unwrap_err().reason(), Reason::PoTokenRequired);
    let plain = (false, false);
    let with_token = (false, true);
    assert_eq!(
        requests(&sim),
        (vec![plain, with_token, with_token], 1),
        "one token for all tracks"
    );

    let sim = Simulator::new();
    sim.inject(vidra_sim::Fault::on(Endpoint::PotProvider, vidra_sim::Action::status(500)));
    with_provider(&sim).transcript(video("txGemini___"), &SPOKEN).await.unwrap();
    assert_eq!(requests(&sim), (vec![(true, false), plain], 1), "then the next track");
    let error = with_provider(&sim).transcript(video("ttEmpty____"), &SPOKEN).await.unwrap_err();
    assert_eq!(error.reason(), Reason::NoPoToken, "this was the cause");
    assert_eq!(requests(&sim).1, 2, "one token request for each video, even if it fails");
}

#[tokio::test]
async fn an_expired_captions_url_is_renewed_once() {
    for (id, succeeds) in [("ttExpired1_", true), ("ttExpired__", false)] {
        let sim = Simulator::new();
        let vidra = builder(&sim).pot_provider("http://sim.invalid").build().unwrap();
        assert_eq!(vidra.transcript(video(id), &SPOKEN).await.is_ok(), succeeds, "{id}");
        let record = sim.record();
        let calls = [Endpoint::Player, Endpoint::TimedText, Endpoint::PotProvider];
        assert_eq!(calls.map(|endpoint| record.calls_to(endpoint)), [2, 2, 0], "{id}");
    }
}

#[tokio::test]
async fn captions_are_read_as_plain_text() {
    let sim = Simulator::new();
    let entities = text(&sim, "tcEntities_", &TranscriptQuery::default()).await;
    assert!(
        entities.contains("I'm sure it's \"fine\" & dandy") && entities.contains("&amp; isn't"),
        "{entities}"
    );
    let tags = text(&sim, "tcTags_____", &TranscriptQuery::default()).await;
    assert!(!tags.contains("<i>") && !tags.contains("<font"), "{tags}");
    for id in [
        "tcNoLength_",
        "tcEmptyCues",
        "tcNewlines_",
        "tcNoise____",
        "tcScripts__",
        "tcStyled___",
        "tcRuby_____",
        "ttSrv3only_",
        "txOneCue___",
    ] {
        let lines = client(&sim).transcript(video(id), &TranscriptQuery::default()).await.unwrap();
        assert!(!lines.is_empty() && lines.iter().all(|line| !line.text.trim().is_empty()), "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_transcript_ends_at_its_deadline() {
    let sim = Simulator::builder().latency(Duration::from_secs(4)).build();
    let vidra = builder(&sim).deadline(Duration::from_secs(6)).build().unwrap();
    let error =
        vidra.transcript(video("txManualAsr"), &TranscriptQuery::default()).await.unwrap_err();
    assert_eq!(error.reason(), Reason::TimedOut);
}

#[test]
fn lists_of_languages_are_validated() {
    for good in ["de", "de,en", " pt-BR , zh-Hans,", "zh_CN", "fil", "es-419"] {
        assert!(Languages::parse(good).is_ok(), "{good}");
    }
    for bad in [
        "",
        ",",
        "d",
        "en:asr",
        "en us",
        "de,\u{e9}",
        "x-very-long-language-code",
        "a1,a2,a3,a4,a5,a6,a7,a8,a9,b1,b2",
    ] {
        assert!(Languages::parse(bad).is_err(), "{bad}");
    }
}
