//! What counts as a failure, and how often.

use futures_util::future::join_all;

use super::*;

#[tokio::test(start_paused = true)]
async fn retries_stop_when_the_breaker_opens() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503)));
    let retry = RetryPolicy { retries: 9, delay: Duration::from_millis(10) };
    let vidra = builder(&sim).retry(retry).build().unwrap();
    let ids: Vec<_> = (0..5).map(|number| format!("PLunknown{number}")).collect();
    let ids: Vec<_> = ids.iter().map(|id| PlaylistId::parse(id).unwrap()).collect();
    for result in join_all(ids.iter().map(|id| vidra.playlist_info(id))).await {
        // The error of the only attempt, or the rejection of a retry.
        let kind = result.unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::Upstream | ErrorKind::Unavailable), "{kind:?}");
    }
    assert_eq!(sim.record().calls, 5);
}

#[tokio::test(start_paused = true)]
async fn retries_of_one_request_do_not_open_the_breaker() {
    let retry = RetryPolicy { retries: 9, delay: Duration::from_millis(10) };
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503)));
    let vidra = builder(&sim).retry(retry).build().unwrap();
    vidra.video(existing()).await.unwrap_err();
    assert_eq!(sim.record().calls, 10, "all its retries");
    assert!(!vidra.is_platform_failing());
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::Player, Action::status(503)));
    let vidra = builder(&sim).retry(retry).build().unwrap();
    vidra.transcript(existing(), &TranscriptQuery::default()).await.unwrap_err();
    assert_eq!(sim.record().calls, 10, "transcripts too");
    assert!(!vidra.is_platform_failing());
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_another_shape_neither_counts_nor_resets_the_count() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    sim.inject(Fault::any(Action::Junk { kind: Junk::OtherShape }));
    for id in videos().take(30) {
        assert_eq!(vidra.video(id).await.unwrap_err().kind(), ErrorKind::Upstream);
    }
    assert_eq!(sim.record().calls, 30);
    // It does not reset the count: four failures before and one after are five in a row.
    sim.clear_faults();
    sim.inject(Fault::any(Action::status(503)));
    for id in videos().skip(30).take(4) {
        vidra.video(id).await.unwrap_err();
    }
    sim.clear_faults();
    sim.inject(Fault::any(Action::Junk { kind: Junk::OtherShape }));
    vidra.video(existing()).await.unwrap_err();
    sim.clear_faults();
    sim.inject(Fault::any(Action::status(503)));
    vidra.video(videos().nth(34).unwrap()).await.unwrap_err();
    assert!(vidra.is_platform_failing());
}

#[tokio::test(start_paused = true)]
async fn attempt_timeouts_count_as_failures_and_deadlines_do_not() {
    // The timeout of an attempt, the deadline of the request, and whether five of them are an outage.
    let table = [
        (SECOND, 30 * SECOND, true),
        (10 * SECOND, 30 * SECOND, true),
        (10 * SECOND, SECOND, false),
        (SECOND, SECOND / 2, false),
    ];
    for (attempt, deadline, is_outage) in table {
        let sim = Simulator::new();
        sim.inject(Fault::any(Action::Hang));
        let vidra = builder(&sim).attempt_timeout(attempt).deadline(deadline).build().unwrap();
        trip(&vidra).await;
        assert_eq!(vidra.is_platform_failing(), is_outage, "{attempt:?} of {deadline:?}");
        for id in videos().take(5) {
            vidra.transcript(id, &TranscriptQuery::default()).await.unwrap_err();
        }
        let report = vidra.upstream_report();
        let open = report.breakers.iter().filter(|(_, state)| *state == BreakerState::Open);
        assert_eq!(open.count(), usize::from(is_outage), "{attempt:?} of {deadline:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_rejected_by_the_breaker_earn_no_retries() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503)));
    let retry = RetryPolicy { retries: 1, delay: Duration::ZERO };
    let vidra = builder(&sim).retry(retry).build().unwrap();
    let mut ids = videos();
    // Spends the retry budget; an answer after each failure keeps the breaker closed.
    for number in 0..20 {
        vidra.video(ids.next().unwrap()).await.unwrap_err();
        sim.clear_faults();
        let id = PlaylistId::parse(&format!("PLunknown{number}")).unwrap();
        vidra.playlist_info(&id).await.unwrap_err();
        sim.inject(Fault::any(Action::status(503)));
        advance(2 * SECOND).await;
    }
    while !vidra.is_platform_failing() {
        vidra.video(ids.next().unwrap()).await.unwrap_err();
    }
    let before = vidra.upstream_report().retries;
    for _ in 0..1_000 {
        assert_breaker_open(&vidra.video(ids.next().unwrap()).await.unwrap_err());
    }
    advance(PAUSE).await;
    sim.clear_faults();
    vidra.video(existing()).await.unwrap();
    sim.inject(Fault::any(Action::status(503)));
    for _ in 0..4 {
        vidra.video(ids.next().unwrap()).await.unwrap_err();
    }
    let retries = vidra.upstream_report().retries - before;
    assert!(retries <= 1, "{retries} retries: five calls earn one at most");
}
