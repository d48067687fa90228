use futures_util::FutureExt;
use tokio::time::advance;

use super::*;
use crate::context::waiters::{Urgency, WaiterCount, Waiters};

const SECOND: Duration = Duration::from_secs(1);

fn pacer(burst: u32, per_hour: u32) -> Pacer {
    Pacer::new(Some(Pace { burst, per_hour }), Instant::now())
}

/// A batch without single requests.
fn batch() -> Urgent {
    Urgent::While(Waiters::detached([WaiterCount::default()]))
}

/// Takes and uses a permit, and returns the wait.
async fn use_turn(pacer: &Pacer, urgency: Urgent) -> u64 {
    let start = Instant::now();
    pacer.acquire(urgency, start + 3600 * SECOND, |_| {}).await.unwrap().used();
    start.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_burst_and_then_a_steady_pace() {
    let pacer = pacer(3, 3600);
    let mut waits = vec![];
    for _ in 0..6 {
        waits.push(use_turn(&pacer, Urgent::Always).await);
    }
    assert_eq!(waits, [0, 0, 0, 1, 1, 1]);
    // A minute later the burst is complete again, and not larger.
    advance(60 * SECOND).await;
    let mut waits = vec![];
    for _ in 0..4 {
        waits.push(use_turn(&pacer, Urgent::Always).await);
    }
    assert_eq!(waits, [0, 0, 0, 1]);
    for _ in 0..3 {
        assert_eq!(pacer.wait(Instant::now()), SECOND, "looking takes no permit");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_wait_takes_no_turn() {
    let pacer = pacer(1, 360);
    use_turn(&pacer, Urgent::Always).await;
    for patience in [0, 9, 10] {
        let deadline = Instant::now() + patience * SECOND;
        let refused = pacer.acquire(Urgent::Always, deadline, |_| {}).await.unwrap_err();
        assert_eq!(refused, 10 * SECOND, "{patience} s leave no time to send");
    }
    assert_eq!(use_turn(&pacer, Urgent::Always).await, 10);
    assert_eq!(pacer.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_leaves_returns_its_turn() {
    let pacer = pacer(1, 3600);
    let permit = || Box::pin(pacer.acquire(Urgent::Always, Instant::now() + 60 * SECOND, |_| {}));
    // One request has a permit, and nine wait.
    let mut all: Vec<_> = (0..10).map(|_| permit()).collect();
    let first = all.remove(0).now_or_never().unwrap().unwrap();
    for waiting in &mut all {
        assert!(waiting.now_or_never().is_none());
    }
    assert_eq!((pacer.held(), pacer.wait(Instant::now())), (10, 10 * SECOND));
    drop(all);
    assert_eq!(pacer.wait(Instant::now()), SECOND);
    drop(first);
    assert_eq!((pacer.held(), pacer.wait(Instant::now())), (0, Duration::ZERO));
    // If a request in the middle leaves, those behind it move up.
    use_turn(&pacer, Urgent::Always).await;
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
        use_turn(&pacer, Urgent::Always).await
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
    let joined = Urgent::While(Waiters::detached([count.clone()]));
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
async fn without_a_pace_there_is_no_wait() {
    let now = Instant::now();
    for pacer in [Pacer::new(None, now), Pacer::new(Some(Pace { burst: 1, per_hour: 0 }), now)] {
        for _ in 0..1000 {
            assert!(pacer.acquire(batch(), now, |_| {}).now_or_never().unwrap().is_ok());
        }
    }
}
