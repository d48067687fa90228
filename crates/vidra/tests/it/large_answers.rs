//! Long lists that are built before they are sent: they let other tasks run, and wait for a slow disk.

use std::pin::pin;
use std::sync::mpsc;

use futures_util::FutureExt;
use tokio::runtime::Builder as Runtime;
use tokio::task::{spawn_blocking, yield_now};
use vidra::{Builder, Lookup, PlaylistId, Selection, Vidra};
use vidra_sim::Simulator;

use crate::sim;

/// Enough polls to build a list that waits for nothing.
const MANY_POLLS: usize = 5_000;

fn playlist() -> PlaylistId {
    PlaylistId::parse("PLsize5000").unwrap()
}

/// A client whose cache has the whole list.
async fn cached(builder: Builder) -> Vidra {
    let vidra = builder.build().unwrap();
    vidra.playlist_ids(&playlist()).await.unwrap();
    vidra.lookup_body(&Lookup::Playlist(playlist())).await.unwrap();
    vidra
}

#[test]
fn a_long_list_waits_for_a_slow_disk() {
    // The thread that writes temporary files never starts, as if the disk did not respond.
    let runtime =
        Runtime::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let builder = sim::builder(&Simulator::new()).cache_bytes(64 << 20).max_answer_memory(0);
        let vidra = cached(builder).await;
        let (resume, paused) = mpsc::channel::<()>();
        let disk = spawn_blocking(move || paused.recv());
        let list = Lookup::Playlist(playlist());
        let mut answer = pin!(vidra.lookup_body(&list));
        for _ in 0..MANY_POLLS {
            assert!((&mut answer).now_or_never().is_none(), "nothing can be written");
            yield_now().await;
        }
        let (_, in_files) = vidra.answer_bytes();
        drop(resume);
        let _ = disk.await.unwrap();
        let length = answer.await.unwrap().body.length();
        assert!(0 < in_files && 2 * in_files < length, "{in_files} of {length} bytes waited");
    });
}

#[tokio::test]
async fn a_long_query_lets_other_tasks_run() {
    let vidra = cached(sim::builder(&Simulator::new()).cache_bytes(64 << 20)).await;
    let turns = async |request: &mut (dyn Future<Output = ()> + Unpin)| {
        let mut turns = 0;
        while (&mut *request).now_or_never().is_none() {
            turns += 1;
            yield_now().await;
        }
        turns
    };
    let (id, all) = (playlist(), Selection::default());
    let list = Lookup::Playlist(id.clone());
    let lookup = turns(&mut pin!(async { drop(vidra.lookup_body(&list).await.unwrap()) })).await;
    // The rows are as many as the videos of the list, and decoding them is work for another thread.
    let body = async { drop(vidra.query_playlist_body(&id, &all, |video| video).await.unwrap()) };
    let text = async {
        let row = |video: vidra::PlaylistVideo| video.title.into_bytes();
        drop(vidra.query_playlist_text(&id, &all, b"title\n", row).await.unwrap());
    };
    for query in [turns(&mut pin!(body)).await, turns(&mut pin!(text)).await] {
        assert!(query >= lookup + 40, "{query} turns, {lookup} for the list alone");
    }
}
