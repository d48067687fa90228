use futures_util::FutureExt;
use tokio::time::advance;

use super::*;
use crate::context::waiters::{Urgency, WaiterCount, Waiters};

const SECOND: Duration = Duration::from_secs(1);

fn pacer(burst: u32, per_hour: u32) -> Pacer {
    Pacer::new(Some(Pace { burst, per_hour }), Instant::now())
}

/// A fetch without waiters that counts as one of a batch.
fn batch() -> PermitUrgency {
    alone(Urgency::Batch)
}

fn alone(alone: Urgency) -> PermitUrgency {
    PermitUrgency::OfWaiters { waiters: Waiters::default(), alone }
}

/// Takes and uses a permit, and returns the wait.
async fn use_turn(pacer: &Pacer, urgency: PermitUrgency) -> u64 {
    let start = Instant::now();
    pacer.acquire(urgency, start + 3600 * SECOND, |_| {}).await.unwrap().used();
    start.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_burst_and_then_a_steady_pace() {
    let pacer = pacer(3, 3600);
    let mut waits = vec![];
    for _ in 0..6 {
        waits.push(use_turn(&pacer, PermitUrgency::Interactive).await);
    }
    assert_eq!(waits, [0, 0, 0, 1, 1, 1]);
    // A minute later the burst is complete again, and not larger.
    advance(60 * SECOND).await;
    let mut waits = vec![];
    for _ in 0..4 {
        waits.push(use_turn(&pacer, PermitUrgency::Interactive).await);
    }
    assert_eq!(waits, [0, 0, 0, 1]);
    for _ in 0..3 {
        assert_eq!(
            pacer.wait(Urgency::Interactive, Instant::now()),
            SECOND,
            "looking takes no permit"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_free_permit_is_taken_without_a_wait() {
    let pacer = pacer(1, 360);
    let deadline = Instant::now() + SECOND;
    let on_wait = |_| panic!("it waits");
    pacer.acquire(PermitUrgency::Interactive, deadline, on_wait).await.unwrap().used();
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_wait_takes_no_turn() {
    let pacer = pacer(1, 360);
    use_turn(&pacer, PermitUrgency::Interactive).await;
    for patience in [0, 9, 10] {
        let deadline = Instant::now() + patience * SECOND;
        let refused =
            pacer.acquire(PermitUrgency::Interactive, deadline, |_| {}).await.unwrap_err();
        assert_eq!(refused, 10 * SECOND, "{patience} s leave no time to send");
    }
    assert_eq!(use_turn(&pacer, PermitUrgency::Interactive).await, 10);
    assert_eq!(pacer.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_leaves_returns_its_turn() {
    let pacer = pacer(1, 3600);
    let permit = || {
        Box::pin(pacer.acquire(PermitUrgency::Interactive, Instant::now() + 60 * SECOND, |_| {}))
    };
    // One request has a permit, and nine wait.
    let mut all: Vec<_> = (0..10).map(|_| permit()).collect();
    let first = all.remove(0).now_or_never().unwrap().unwrap();
    for waiting in &mut all {
        assert!(waiting.now_or_never().is_none());
    }
    assert_eq!((pacer.held(), pacer.wait(Urgency::Interactive, Instant::now())), (10, 10 * SECOND));
    drop(all);
    assert_eq!(pacer.wait(Urgency::Interactive, Instant::now()), SECOND);
    drop(first);
    assert_eq!(
        (pacer.held(), pacer.wait(Urgency::Interactive, Instant::now())),
        (0, Duration::ZERO)
    );
    // If a request in the middle leaves, those behind it move up.
    use_turn(&pacer, PermitUrgency::Interactive).await;
    let (mut second, mut third) = (permit(), permit());
    assert!((&mut second).now_or_never().is_none() && (&mut third).now_or_never().is_none());
    drop(second);
    let start = Instant::now();
    third.await.unwrap().used();
    assert_eq!(start.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn single_requests_come_before_batches() {
    let pacer = pacer(1, 3600);
    use_turn(&pacer, batch()).await;
    let batches = futures_util::future::join_all((0..20).map(|_| use_turn(&pacer, batch())));
    let single = async {
        tokio::task::yield_now().await;
        use_turn(&pacer, PermitUrgency::Interactive).await
    };
    let (batches, single) = tokio::join!(batches, single);
    assert_eq!(single, 1, "the next permit");
    assert_eq!(batches, (2..22).collect::<Vec<u64>>());
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_urgent_once_a_single_request_joins() {
    let pacer = pacer(1, 3600);
    use_turn(&pacer, batch()).await;
    let count = WaiterCount::default();
    let joined = PermitUrgency::OfWaiters {
        waiters: Waiters::detached([count.clone()]),
        alone: Urgency::Batch,
    };
    let others = futures_util::future::join_all((0..9).map(|_| use_turn(&pacer, batch())));
    let late = async {
        tokio::task::yield_now().await;
        use_turn(&pacer, joined).await
    };
    let single = async {
        tokio::time::sleep(SECOND * 3 / 2).await;
        count.take(Urgency::Interactive)
    };
    let (_, late, _guard) = tokio::join!(others, late, single);
    assert_eq!(late, 2, "the next permit after it was joined");
}

#[tokio::test(start_paused = true)]
async fn background_requests_leave_a_part_of_the_burst() {
    let pacer = pacer(10, 3600);
    for _ in 0..8 {
        assert_eq!(use_turn(&pacer, alone(Urgency::Background)).await, 0);
    }
    let waits = |urgency| pacer.wait(urgency, Instant::now()).as_secs();
    assert_eq!([Urgency::Background, Urgency::Batch, Urgency::Interactive].map(waits), [1, 0, 0]);
    let background = use_turn(&pacer, alone(Urgency::Background));
    let others = async {
        tokio::task::yield_now().await;
        [use_turn(&pacer, batch()).await, use_turn(&pacer, PermitUrgency::Interactive).await]
    };
    let (background, others) = tokio::join!(background, others);
    assert_eq!(others, [0, 0], "the waiting background request does not delay them");
    assert_eq!(background, 3, "until a fifth of the burst is left again");
    assert_eq!(pacer.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn background_requests_come_last() {
    let pacer = pacer(1, 3600);
    use_turn(&pacer, batch()).await;
    let later = async |turns: usize, urgency| {
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        use_turn(&pacer, urgency).await
    };
    let waits = tokio::join!(
        later(0, alone(Urgency::Background)),
        later(1, batch()),
        later(2, PermitUrgency::Interactive)
    );
    assert_eq!(waits, (3, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_background_request_gets_its_permit_at_once_when_a_single_request_joins() {
    let pacer = pacer(5, 60);
    for _ in 0..4 {
        use_turn(&pacer, alone(Urgency::Background)).await;
    }
    let count = WaiterCount::default();
    let _background = count.take(Urgency::Background);
    let waiters = Waiters::new([count.clone()]);
    let joined = PermitUrgency::OfWaiters { waiters, alone: Urgency::Background };
    let other = use_turn(&pacer, alone(Urgency::Background));
    let single = async {
        tokio::time::sleep(7 * SECOND).await;
        count.take(Urgency::Interactive)
    };
    let (other, joined, _guard) = tokio::join!(other, use_turn(&pacer, joined), single);
    assert_eq!(joined, 7, "at once, and before the background request ahead of it");
    assert_eq!(other, 120);
}

#[tokio::test(start_paused = true)]
async fn spent_permits_are_restored_up_to_the_burst() {
    let now = Instant::now();
    let (old, new) = (pacer(3, 3600), pacer(3, 3600));
    use_turn(&old, batch()).await;
    use_turn(&old, batch()).await;
    new.restore(old.spent(now), now);
    assert_eq!(new.spent(now), 2 * SECOND);
    new.restore(SECOND, now);
    assert_eq!(new.spent(now), 2 * SECOND, "never lowered");
    new.restore(Duration::MAX, now);
    assert_eq!(new.wait(Urgency::Interactive, now), SECOND, "the burst is spent, and no more");
}

#[tokio::test(start_paused = true)]
async fn without_a_pace_there_is_no_wait() {
    let now = Instant::now();
    for pacer in [Pacer::new(None, now), Pacer::new(Some(Pace { burst: 1, per_hour: 0 }), now)] {
        for _ in 0..1000 {
            assert!(pacer.acquire(batch(), now, |_| {}).now_or_never().unwrap().is_ok());
        }
    }
}

#[test]
fn permits_of_others_that_are_counted_concurrently_add_up() {
    const THREADS: u32 = 4;
    const EACH: u32 = 20_000;
    let now = Instant::now();
    let pacer = Pacer::new(Some(Pace { burst: THREADS * EACH, per_hour: 3600 }), now);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..EACH).for_each(|_| pacer.spend_more(1, now)));
        }
    });
    assert_eq!(pacer.spent(now), THREADS * EACH * SECOND);
}
