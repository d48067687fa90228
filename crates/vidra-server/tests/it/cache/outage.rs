//! The platform fails or hangs: callers get cached answers, and the platform gets few calls.

use tokio::runtime::Handle;
use tokio::time::Instant;
use vidra_sim::Endpoint;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A service that has cached all videos of a playlist, and the paths of the videos.
async fn with_cached_videos(playlist: &str) -> (TestApp, Vec<String>) {
    let app = TestApp::new();
    app.get(&format!("/api/playlist/{playlist}")).await;
    let ids = app.get(&format!("/api/playlist/{playlist}/ids")).await.json();
    let ids = ids["videoIds"].as_array().unwrap().iter();
    let mut paths: Vec<_> = ids.map(|id| format!("/api/video/{}", id.as_str().unwrap())).collect();
    paths.sort_unstable();
    paths.dedup();
    app.sim.reset_record();
    (app, paths)
}

fn age(got: &TestResponse) -> u64 {
    got.header("age").unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn stale_answers_cover_thirty_seconds_of_503() {
    let (app, paths) = with_cached_videos("PLsize500").await;
    let fresh: Vec<TestResponse> = join_all(paths.iter().map(|path| app.get(path))).await;
    advance(IN_GRACE).await;
    app.sim.inject(Fault::any(Action::status(503)));
    let started = Instant::now();
    while started.elapsed() < 30 * SECOND {
        for (path, fresh) in paths.iter().zip(&fresh) {
            let got = app.get(path).await;
            assert_eq!((got.status.as_u16(), &got.text), (200, &fresh.text), "{path}");
            assert_eq!(got.header("x-cache"), Some("stale"), "{path}");
            assert!(got.header("cache-status").unwrap().starts_with("vidra; hit; ttl=-"));
            let passed = (IN_GRACE + started.elapsed()).as_secs();
            assert!(age(&got).abs_diff(passed) <= 1, "{path}: {}", age(&got));
            assert_eq!(got.cost(), 0);
        }
        sleep(SECOND).await;
    }
    let attempts = app.sim.record().calls;
    assert!(attempts <= 50, "{attempts} attempts to renew");

    // The platform recovers: everything is fresh within a second of its first answer.
    app.sim.clear_faults();
    app.sim.reset_record();
    let mut recovered_at = None;
    loop {
        let answers = join_all(paths.iter().map(|path| app.get(path))).await;
        sleep(Duration::from_millis(50)).await;
        if app.sim.record().calls > 0 {
            recovered_at.get_or_insert_with(Instant::now);
        }
        if answers.iter().all(|got| got.header("x-cache") == Some("hit")) {
            break;
        }
        let since = recovered_at.map_or(Duration::ZERO, |at| at.elapsed());
        assert!(since <= SECOND, "still stale after {since:?}");
        assert!(started.elapsed() < 120 * SECOND, "no probe found the platform healthy");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_platform_does_not_delay_stale_answers() {
    let (app, paths) = with_cached_videos("PLsize200").await;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    advance(STALE).await;
    app.sim.inject(Fault::any(Action::Hang));
    let started = Instant::now();
    while started.elapsed() < 60 * SECOND {
        let requests = paths.iter().map(|path| async {
            let sent = Instant::now();
            let got = app.get(path).await;
            assert_eq!((got.status.as_u16(), got.header("x-cache")), (200, Some("stale")));
            assert!(age(&got) >= STALE.as_secs());
            assert!(sent.elapsed() <= Duration::from_millis(270), "{:?}", sent.elapsed());
        });
        join_all(requests).await;
        sleep(SECOND).await;
    }
    let hanging = app.sim.record();
    assert!(hanging.peak <= 20 && hanging.calls <= 60, "{} of {}", hanging.peak, hanging.calls);
    // Each call times out after ten seconds and leaves no task behind.
    sleep(11 * SECOND).await;
    assert_eq!((app.sim.record().in_flight, tasks()), (0, before));
    app.sim.clear_faults();
    sleep(60 * SECOND).await;
    for _ in 0..10 {
        join_all(paths.iter().map(|path| app.get(path))).await;
        sleep(Duration::from_millis(10)).await;
    }
    let answers = join_all(paths.iter().map(|path| app.get(path))).await;
    assert!(answers.iter().all(|got| got.header("x-cache") == Some("hit")));
}

#[tokio::test(start_paused = true)]
async fn cache_hits_are_served_while_all_misses_hang() {
    let (app, paths) = with_cached_videos("PLsize50").await;
    join_all(paths.iter().map(|path| app.get(path))).await;
    app.sim.inject(Fault::on(Endpoint::Videos, Action::Hang));
    app.sim.inject(Fault::on(Endpoint::PlaylistItems, Action::Hang));
    let others = app.sim.record().calls;
    let misses = (0..1_000).map(|n| {
        let app = app.app.clone();
        let path = match n % 2 {
            0 => format!("/api/video/missing{n:04}"),
            _ => format!("/api/playlist/PLmissing{n:04}"),
        };
        tokio::spawn(async move {
            let request = Request::get(path).body(Body::empty()).unwrap();
            app.answer(request, PEER).await.status()
        })
    });
    let misses: Vec<_> = misses.collect();
    app.sim.until(|record| record.calls >= others + 500).await;
    let started = Instant::now();
    for path in paths.iter().cycle().take(2_000) {
        let got = app.get(path).await;
        assert_eq!((got.status.as_u16(), got.header("x-cache")), (200, Some("hit")));
    }
    assert_eq!(started.elapsed(), Duration::ZERO);
    for miss in misses {
        assert_eq!(miss.await.unwrap(), 504);
    }
}

#[tokio::test(start_paused = true)]
async fn cached_answers_survive_a_long_outage() {
    let paths = [
        VIDEO,
        "/api/video/quirkNoLike/title",
        "/api/videos?ids=quirkNoLike,quirkNoComm",
        "/api/channel/@fermata",
        "/api/channel/@fermata/videos",
        "/api/playlist/PLsize51",
        "/api/playlist/PLsize51/info",
        "/api/playlist/PLsize51/ids",
        "/api/comments/quirkHtmlCm",
        "/api/comments/quirkHtmlCm/top",
        "/api/i18n/regions",
        "/api/i18n/languages",
        "/api/video-categories",
        "/api/transcript/txManualAsr",
        "/api/transcript/txManualAsr?format=srt",
        "/api/transcript/txManualAsr/tracks",
    ];
    for fault in [Action::status(503), Action::Hang, Action::Reset, Action::quota_exceeded()] {
        let app = TestApp::new();
        let fresh: Vec<TestResponse> = join_all(paths.iter().map(|path| app.get(path))).await;
        app.sim.inject(Fault::any(fault.clone()));
        // Within the stale-if-error time of comments, past it, and past that of all short-lived records.
        for days in [0, 1, 15] {
            advance(Duration::from_secs(days * 86_400 + 7_200)).await;
            for (path, fresh) in paths.iter().zip(&fresh) {
                let is_covered = match *path {
                    path if path.starts_with("/api/comments") => days < 1,
                    path if path.ends_with("/videos") => days < 1,
                    path if path.contains("i18n") || path.contains("categor") => true,
                    path => days < 15 || path.contains("transcript"),
                };
                let got = app.get(path).await;
                if is_covered {
                    let case = format!("{path}, {days} d, {fault:?}");
                    assert_eq!((got.status.as_u16(), &got.text), (200, &fresh.text), "{case}");
                } else {
                    assert!(got.status.as_u16() >= 429, "{path}, {days} d: {}", got.status);
                }
            }
        }
    }
}
