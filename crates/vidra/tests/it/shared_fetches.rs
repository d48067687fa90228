//! Machines that share a store and leases: one of them fetches what several miss.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout};
use vidra::store::{
    BoxFuture, FencingToken, Leases, LeasesDouble, Listening, Memory, Record, Store, StoreError,
    Usage, conformance,
};
use vidra::{
    Allowance, BatchQuery, CacheOutcome, FetchSharing, Life, Lifetimes, Lookup, PlaylistId, Reason,
    Resource, VideoId, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim;

const LATENCY: Duration = Duration::from_millis(80);
const LEASE_TIMEOUT: Duration = Duration::from_millis(20);

/// The platform, the leases and the machines.
struct Shared {
    sim: Simulator,
    leases: LeasesDouble,
    machines: Vec<Vidra>,
}

impl Shared {
    fn new(count: usize, lifetimes: &Lifetimes) -> Self {
        let sim = Simulator::builder().latency(LATENCY).build();
        let leases = LeasesDouble::default();
        let store: Arc<dyn Store> = Arc::new(Memory::new(64 << 20));
        let machine = || {
            sim::builder(&sim)
                .cache_bytes(8 << 20)
                .store(Arc::clone(&store))
                .leases(Arc::new(leases.clone()), LEASE_TIMEOUT)
                .lifetimes(lifetimes.clone())
                .attempt_timeout(Duration::from_secs(10))
                .build()
                .unwrap()
        };
        let machines = (0..count).map(|_| machine()).collect();
        Self { sim, leases, machines }
    }

    /// The sum of all machines.
    fn sharing(&self) -> FetchSharing {
        let mut sum = FetchSharing::default();
        for sharing in self.machines.iter().map(|machine| machine.fetch_sharing().unwrap()) {
            sum.fetched += sharing.fetched;
            sum.waited += sharing.waited;
            sum.taken_over += sharing.taken_over;
            sum.alone += sharing.alone;
        }
        sum
    }

    /// Waits until all leases are released.
    async fn released(&self) {
        let released = async {
            while self.leases.taken() > 0 {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(5), released).await.expect("all leases are released");
    }
}

fn video(number: usize) -> VideoId {
    ["quirkNoLike", "txManualAsr"].map(|id| VideoId::parse(id).unwrap())[number]
}

/// The key of a video in the cache.
fn key(number: usize) -> String {
    format!("video/{}", video(number))
}

fn lookup() -> Lookup {
    Lookup::Video(video(0))
}

#[tokio::test(start_paused = true)]
async fn the_double_conforms() {
    let leases = LeasesDouble::default();
    conformance::check_leases(&leases, || Box::pin(sleep(Duration::from_millis(5)))).await;
}

#[tokio::test(start_paused = true)]
async fn callers_of_all_machines_share_one_fetch() {
    let shared = Shared::new(3, &Lifetimes::default());
    let callers = (0..300).map(|number| {
        let machine = &shared.machines[number % 3];
        async { machine.lookup(&lookup()).await.unwrap().outcome }
    });
    let mut outcomes = HashMap::<CacheOutcome, u32>::new();
    for outcome in join_all(callers).await {
        *outcomes.entry(outcome).or_default() += 1;
    }
    assert_eq!(shared.sim.record().calls, 1);
    assert_eq!(outcomes, HashMap::from([(CacheOutcome::Miss, 1), (CacheOutcome::Coalesced, 299)]));
    let sharing = shared.sharing();
    assert_eq!((sharing.fetched, sharing.waited, sharing.alone), (1, 2, 0));
    shared.released().await;
    // A hit needs no lease, and a refresh fetches whatever the others have.
    shared.leases.set_down(true);
    let again = shared.machines[1].lookup(&lookup()).await.unwrap();
    assert_eq!(again.outcome, CacheOutcome::Hit);
    let refreshed = shared.machines[1].refreshing().lookup(&lookup()).await.unwrap();
    assert_eq!((refreshed.outcome, shared.sim.record().calls), (CacheOutcome::Miss, 2));
    assert_eq!(shared.sharing(), sharing);
}

#[tokio::test(start_paused = true)]
async fn many_videos_are_fetched_once_in_full_calls() {
    let shared = Shared::new(3, &Lifetimes::default());
    let id = PlaylistId::parse("PLsize500").unwrap();
    let ids = shared.machines[0].playlist_ids(&id).await.unwrap().video_ids;
    let before = shared.sim.record().calls_to(Endpoint::Videos);
    // Each machine gets all of them, in another order.
    let reads = shared.machines.iter().enumerate().map(|(number, machine)| {
        let mut ids: Vec<VideoId> = ids[..150].to_vec();
        ids.rotate_left(50 * number);
        async move { machine.videos(&ids).await.unwrap().len() }
    });
    assert_eq!(join_all(reads).await, [150; 3]);
    assert_eq!(shared.sim.record().calls_to(Endpoint::Videos) - before, 3);
    shared.released().await;
    // Single requests for different videos, spread over the machines.
    let before = shared.sim.record().calls_to(Endpoint::Videos);
    let single = ids[150..].iter().enumerate().map(|(number, id)| {
        let machine = &shared.machines[number % 3];
        async { machine.video(*id).await.unwrap() }
    });
    join_all(single).await;
    let calls = shared.sim.record().calls_to(Endpoint::Videos) - before;
    assert!(calls <= 12, "{calls} calls for 350 videos; one machine needs 8");
}

#[tokio::test(start_paused = true)]
async fn one_machine_lists_a_playlist_for_all() {
    let shared = Shared::new(3, &Lifetimes::default());
    let id = PlaylistId::parse("PLsize120").unwrap();
    let playlists = shared.machines.iter().map(|machine| machine.playlist(&id));
    let infos = shared.machines.iter().map(|machine| machine.playlist_ids(&id));
    let (playlists, ids) = tokio::join!(join_all(playlists), join_all(infos));
    assert!(playlists.into_iter().all(|playlist| playlist.unwrap().video_count == 120));
    assert!(ids.into_iter().all(|ids| ids.unwrap().count == 120));
    assert_eq!(
        shared.sim.record().calls,
        7,
        "three pages, three calls for videos, one for the list"
    );
    shared.released().await;
    let unknown = PlaylistId::parse("PLnobody-has-this-playlist").unwrap();
    let before = shared.sim.record().calls_to(Endpoint::PlaylistItems);
    let unknown = join_all(shared.machines.iter().map(|machine| machine.playlist_ids(&unknown)));
    for found in unknown.await {
        assert_eq!(found.unwrap_err().reason(), Reason::PlaylistNotFound);
    }
    assert_eq!(shared.sim.record().calls_to(Endpoint::PlaylistItems) - before, 1);
    shared.released().await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_needs_one_page_does_not_wait_for_the_whole_list_of_another_machine() {
    let shared = Shared::new(2, &Lifetimes::default());
    let id = PlaylistId::parse("PLsize5000").unwrap();
    let [one, other] = &shared.machines[..] else { panic!("two machines") };
    let page = async {
        // Both machines list the playlist: one fetches, the other waits.
        sleep(2 * LATENCY).await;
        let begun = Instant::now();
        other.playlist_videos_page(&id, None, 50).await.unwrap();
        begun.elapsed()
    };
    let (one, other, page) = tokio::join!(one.playlist_ids(&id), other.playlist_ids(&id), page);
    assert_eq!((one.unwrap().count, other.unwrap().count), (5_000, 5_000));
    assert!(page < 4 * LATENCY, "{page:?}");
    assert_eq!(shared.sim.record().calls_to(Endpoint::PlaylistItems), 101);
    shared.released().await;
}

/// A batch may read a list for hours.
#[tokio::test(start_paused = true)]
async fn a_batch_that_follows_the_walk_of_a_caller_that_left_delays_no_other_machine() {
    let shared = Shared::new(2, &Lifetimes::default());
    let [one, other] = [0, 1].map(|number| shared.machines[number].clone());
    let id = PlaylistId::parse("PLsize500").unwrap();
    let (lister, listed) = (one.clone(), id.clone());
    let whole = tokio::spawn(async move { lister.playlist_ids(&listed).await });
    sleep(LATENCY / 2).await;
    let mut batch = Box::pin(one.playlist_transcripts(&id, &BatchQuery::default()));
    batch.next().await.unwrap().unwrap();
    whole.abort();
    assert!(whole.await.unwrap_err().is_cancelled());
    let started = Instant::now();
    assert_eq!(other.playlist_ids(&id).await.unwrap().count, 500);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    // A caller that comes back takes the list of the other machine.
    let calls = shared.sim.record().calls_to(Endpoint::PlaylistItems);
    assert_eq!(one.playlist_ids(&id).await.unwrap().count, 500);
    assert_eq!(shared.sim.record().calls_to(Endpoint::PlaylistItems), calls);
}

#[tokio::test(start_paused = true)]
async fn a_machine_does_not_wait_for_its_own_lease() {
    let shared = Shared::new(1, &Lifetimes::default());
    let machine = &shared.machines[0];
    let id = PlaylistId::parse("PLsize120").unwrap();
    // The first follower cannot pay for the first page. The second one continues the walk.
    let poor = machine.on_allowance(Allowance::new(Some(0), None));
    let begun = Instant::now();
    let (poor, rich) = tokio::join!(poor.playlist_ids(&id), machine.playlist_ids(&id));
    assert_eq!(poor.unwrap_err().reason(), Reason::CallerBudgetExhausted);
    assert_eq!(rich.unwrap().count, 120);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    // A fetch that hangs is replaced after ten seconds, at once.
    shared.sim.inject(Fault::on(Endpoint::Videos, Action::Delay { millis: 30_000 }).once());
    let begun = Instant::now();
    let slow = async { machine.lookup(&lookup()).await };
    let later = async {
        sleep(Duration::from_millis(1)).await;
        machine.lookup(&lookup()).await.unwrap();
        begun.elapsed()
    };
    let (_, later) = tokio::join!(slow, later);
    assert!(later < Duration::from_secs(11), "{later:?}");
    shared.released().await;
}

#[tokio::test(start_paused = true)]
async fn records_that_are_never_fresh_are_not_waited_for() {
    let lifetimes = Lifetimes::default().with_ttl(Resource::Video, Duration::ZERO);
    let shared = Shared::new(3, &lifetimes);
    let begun = Instant::now();
    let callers = shared.machines.iter().map(async |machine| machine.lookup(&lookup()).await);
    assert!(join_all(callers).await.iter().all(Result::is_ok));
    assert!(begun.elapsed() < 2 * LATENCY, "{:?}", begun.elapsed());
}

/// The record of a long list has more than a megabyte.
#[cfg(feature = "redis")]
#[tokio::test]
async fn a_long_list_is_fetched_once_with_a_real_redis() {
    use vidra::store::Redis;
    let Some(server) = vidra_engines::Redis::start(&[]) else { return };
    let sim = Simulator::new();
    let machine = || {
        let redis = Arc::new(Redis::new(&server.url()).unwrap());
        let store = Arc::clone(&redis) as Arc<dyn Store>;
        let builder = sim::builder(&sim).cache_bytes(64 << 20).store(store);
        builder.share_fetches(redis, Duration::from_secs(1)).build().unwrap()
    };
    let machines = [(); 3].map(|()| machine());
    let id = PlaylistId::parse("PLsize20000").unwrap();
    let lists = join_all(machines.iter().map(|machine| machine.playlist_ids(&id))).await;
    assert!(lists.into_iter().all(|list| list.unwrap().count == 20_000));
    assert_eq!(sim.record().calls_to(Endpoint::PlaylistItems), 400);
}

#[tokio::test(start_paused = true)]
async fn one_machine_takes_over_from_a_dead_one() {
    let shared = Shared::new(3, &Lifetimes::default());
    let key = key(0);
    // The lease of a machine that died.
    shared.leases.take(&key, Duration::from_secs(2)).await.unwrap().unwrap();
    let begun = Instant::now();
    let callers = shared.machines.iter().map(async |machine| machine.lookup(&lookup()).await);
    assert!(join_all(callers).await.iter().all(Result::is_ok));
    let waited = begun.elapsed();
    assert!(waited > Duration::from_secs(2) && waited < Duration::from_millis(2_600), "{waited:?}");
    assert_eq!(shared.sim.record().calls, 1);
    let sharing = shared.sharing();
    assert_eq!((sharing.fetched, sharing.taken_over, sharing.waited), (1, 1, 2));
    shared.released().await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_machine_keeps_its_lease_and_others_wait_at_most_ten_seconds() {
    let shared = Shared::new(2, &Lifetimes::default());
    shared.sim.inject(Fault::on(Endpoint::Videos, Action::Delay { millis: 6_000 }).once());
    let begun = Instant::now();
    let callers = shared.machines.iter().map(async |machine| machine.lookup(&lookup()).await);
    assert!(join_all(callers).await.iter().all(Result::is_ok));
    assert!(begun.elapsed() >= Duration::from_secs(6), "{:?}", begun.elapsed());
    assert_eq!((shared.sim.record().calls, shared.sharing().waited), (1, 1));
    shared.released().await;
    // A machine that does not end, but renews its lease.
    let key = key(1);
    let fence = shared.leases.take(&key, Duration::from_secs(60)).await.unwrap().unwrap();
    let begun = Instant::now();
    shared.machines[0].video(video(1)).await.unwrap();
    let waited = begun.elapsed();
    assert!((10..=11).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!(shared.sharing().alone, 1);
    shared.leases.release(&key, fence).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_leases_each_machine_fetches_at_once() {
    let shared = Shared::new(3, &Lifetimes::default());
    shared.leases.set_down(true);
    let begun = Instant::now();
    let callers = shared.machines.iter().map(async |machine| machine.lookup(&lookup()).await);
    assert!(join_all(callers).await.iter().all(Result::is_ok));
    assert!(begun.elapsed() < 2 * LATENCY, "{:?}", begun.elapsed());
    assert_eq!((shared.sim.record().calls, shared.sharing().alone), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_one_machine_is_no_answer_for_the_others() {
    let shared = Shared::new(3, &Lifetimes::default());
    // Not retried by the machine itself.
    shared.sim.inject(Fault::on(Endpoint::Videos, Action::error("accessNotConfigured")).once());
    let callers = shared.machines.iter().map(async |machine| machine.lookup(&lookup()).await);
    let failed = join_all(callers).await.iter().filter(|answer| answer.is_err()).count();
    assert_eq!((failed, shared.sim.record().calls), (1, 2));
    shared.released().await;
}

#[tokio::test(start_paused = true)]
async fn a_stale_record_is_renewed_by_one_machine() {
    let life = Life {
        ttl: Duration::from_secs(60),
        grace: Duration::from_secs(600),
        stale_if_error: Duration::ZERO,
    };
    let shared = Shared::new(2, &Lifetimes::default().with_life(Resource::Video, life));
    for machine in &shared.machines {
        machine.lookup(&lookup()).await.unwrap();
    }
    assert_eq!(shared.sim.record().calls, 1);
    tokio::time::advance(Duration::from_secs(120)).await;
    for machine in &shared.machines {
        let stale = machine.lookup(&lookup()).await.unwrap();
        assert_eq!(stale.outcome, CacheOutcome::Stale);
        // The renewal runs in the background.
        sleep(2 * LATENCY).await;
        assert_eq!(machine.lookup(&lookup()).await.unwrap().outcome, CacheOutcome::Hit);
    }
    assert_eq!(shared.sim.record().calls, 2, "the second machine took over the renewed record");
    shared.released().await;
}

#[tokio::test(start_paused = true)]
async fn callers_that_leave_release_their_turn() {
    let shared = Shared::new(2, &Lifetimes::default());
    let key = key(0);
    let fence = shared.leases.take(&key, Duration::from_secs(60)).await.unwrap().unwrap();
    let left = timeout(Duration::from_secs(1), shared.machines[0].lookup(&lookup())).await;
    assert!(left.is_err(), "it waits for the other machine");
    sleep(Duration::from_millis(1)).await;
    let held = shared.machines[0].held();
    assert_eq!((held.flights, held.waiters), (0, 0));
    shared.leases.release(&key, fence).await.unwrap();
    shared.machines[1].lookup(&lookup()).await.unwrap();
    assert_eq!(shared.sim.record().calls, 1);
    shared.released().await;
}

/// How long a slow server needs for its answer.
const SLOW: Duration = Duration::from_millis(900);

/// A store whose reads are slow.
struct SlowStore(Memory);

impl Store for SlowStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Box::pin(async {
            sleep(SLOW).await;
            self.0.get(key).await
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.put(key, record)
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.remove(key)
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.clear()
    }

    fn usage(&self) -> BoxFuture<'_, Result<Usage, StoreError>> {
        self.0.usage()
    }
}

/// Leases that are taken at once, while the answer is slow.
#[derive(Debug, Default)]
struct SlowLeases(LeasesDouble);

impl Leases for SlowLeases {
    fn take<'a>(
        &'a self,
        key: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<Option<FencingToken>, StoreError>> {
        Box::pin(async move {
            let taken = self.0.take(key, time).await;
            sleep(SLOW).await;
            taken
        })
    }

    fn renew<'a>(
        &'a self,
        key: &'a str,
        fence: FencingToken,
        time: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.renew(key, fence, time)
    }

    fn release<'a>(
        &'a self,
        key: &'a str,
        fence: FencingToken,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.release(key, fence)
    }

    fn announce<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.announce(keys)
    }

    fn listen(&self, keys: &[String]) -> Listening {
        self.0.listen(keys)
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_outlasts_slow_answers_before_the_fetch() {
    let sim = Simulator::new();
    sim.inject(Fault::on(Endpoint::Videos, Action::Delay { millis: 4_000 }).once());
    let store: Arc<dyn Store> = Arc::new(SlowStore(Memory::new(64 << 20)));
    let leases = Arc::new(SlowLeases::default());
    let machine = || {
        let builder = sim::builder(&sim).cache_bytes(8 << 20).store(Arc::clone(&store));
        builder.leases(leases.clone(), Duration::from_secs(1)).build().unwrap()
    };
    let (one, other) = (machine(), machine());
    let later = async {
        sleep(LATENCY).await;
        other.lookup(&lookup()).await
    };
    let first = async { one.lookup(&lookup()).await };
    let (fetched, waited) = tokio::join!(first, later);
    assert_eq!(fetched.unwrap().outcome, CacheOutcome::Miss);
    assert_eq!(waited.unwrap().outcome, CacheOutcome::Coalesced);
    assert_eq!(sim.record().calls, 1);
}
