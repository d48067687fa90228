//! Long lists that are built before they are sent: they let other tasks run, and wait for a slow disk.

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::sync::mpsc;

use futures_util::FutureExt;
use tokio::runtime::Builder as Runtime;
use tokio::task::{spawn_blocking, yield_now};
use vidra::{Builder, Lookup, PlaylistId, PlaylistVideo, Selection, Vidra};
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
    let (id, all, rows) = (playlist(), Selection::default(), Cell::new(0));
    let note = |video: PlaylistVideo| {
        rows.set(rows.get() + 1);
        video
    };
    let json = async { drop(vidra.query_playlist_body(&id, &all, note).await.unwrap()) };
    let row = |video| note(video).title.into_bytes();
    let text = async { drop(vidra.query_playlist_text(&id, &all, b"title\n", row).await.unwrap()) };
    let queries: [Pin<Box<dyn Future<Output = ()>>>; 2] = [Box::pin(json), Box::pin(text)];
    for mut query in queries {
        rows.set(0);
        let mut most = 0;
        loop {
            let before = rows.get();
            let is_ready = query.as_mut().now_or_never().is_some();
            most = most.max(rows.get() - before);
            if is_ready {
                break;
            }
            yield_now().await;
        }
        assert!(rows.get() > 4_000 && most <= 100, "{most} of {} rows at once", rows.get());
    }
}
