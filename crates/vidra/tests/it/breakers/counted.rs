//! What counts as a failure, and how often.

use futures_util::future::join_all;

use super::*;

#[tokio::test(start_paused = true)]
async fn retries_stop_when_it_opens() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503)));
    let retry = RetryPolicy { retries: 9, delay: Duration::from_millis(10) };
    let vidra = builder(&sim).retry(retry).build().unwrap();
    let ids: Vec<_> = (0..5).map(|number| format!("PLunknown{number}")).collect();
    let ids: Vec<_> = ids.iter().map(|id| PlaylistId::parse(id).unwrap()).collect();
    for told in join_all(ids.iter().map(|id| vidra.playlist_info(id))).await {
        // What came of the only attempt, or that there is no other.
        let kind = told.unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::Upstream | ErrorKind::Unavailable), "{kind:?}");
    }
    assert_eq!(sim.record().calls, 5);
}

#[tokio::test(start_paused = true)]
async fn what_fails_alone_closes_nothing_however_often_it_is_tried() {
    let retry = RetryPolicy { retries: 9, delay: Duration::from_millis(10) };
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503)));
    let vidra = builder(&sim).retry(retry).build().unwrap();
    vidra.video(known()).await.unwrap_err();
    assert_eq!(sim.record().calls, 10, "all its retries");
    assert!(!vidra.is_platform_failing());
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::Player, Action::status(503)));
    let vidra = builder(&sim).retry(retry).build().unwrap();
    vidra.transcript(known(), &TranscriptQuery::default()).await.unwrap_err();
    assert_eq!(sim.record().calls, 10, "and so for transcripts");
    assert!(!vidra.is_platform_failing());
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_another_shape_says_nothing_about_the_platform() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    sim.inject(Fault::any(Action::Junk { kind: Junk::OtherShape }));
    for id in videos().take(30) {
        assert_eq!(vidra.video(id).await.unwrap_err().kind(), ErrorKind::Upstream);
    }
    assert_eq!(sim.record().calls, 30);
    // Nor that it is well: four failures before and one after are five in a row.
    sim.clear_faults();
    sim.inject(Fault::any(Action::status(503)));
    for id in videos().skip(30).take(4) {
        vidra.video(id).await.unwrap_err();
    }
    sim.clear_faults();
    sim.inject(Fault::any(Action::Junk { kind: Junk::OtherShape }));
    vidra.video(known()).await.unwrap_err();
    sim.clear_faults();
    sim.inject(Fault::any(Action::status(503)));
    vidra.video(videos().nth(34).unwrap()).await.unwrap_err();
    assert!(vidra.is_platform_failing());
}

#[tokio::test(start_paused = true)]
async fn no_answer_in_the_time_that_an_attempt_has_counts_however_short_that_is() {
    // The time of an attempt, that of the whole request, and whether five of them are an outage.
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
async fn what_is_refused_here_earns_no_retries() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503)));
    let retry = RetryPolicy { retries: 1, delay: Duration::ZERO };
    let vidra = builder(&sim).retry(retry).build().unwrap();
    let mut ids = videos();
    // Until nothing is saved up, with an answer after each that keeps it closed.
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
        is_left_alone(&vidra.video(ids.next().unwrap()).await.unwrap_err());
    }
    advance(PAUSE).await;
    sim.clear_faults();
    vidra.video(known()).await.unwrap();
    sim.inject(Fault::any(Action::status(503)));
    for _ in 0..4 {
        vidra.video(ids.next().unwrap()).await.unwrap_err();
    }
    let retries = vidra.upstream_report().retries - before;
    assert!(retries <= 1, "{retries}: five calls earn no more");
}
