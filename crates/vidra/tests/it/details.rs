//! Details and chapters of videos, which cost nothing more.

use futures_util::TryStreamExt;
use serde_json::json;
use vidra::{Include, LiveState, PlaylistId, Selection, ShortBasis, VideoId, Vidra};
use vidra_sim::{Endpoint, Simulator};

use crate::sim::builder;

/// A client with a cache.
fn client(sim: &Simulator) -> Vidra {
    builder(sim).cache_bytes(64 << 20).build().unwrap()
}

const ALL: fn() -> Include = || Include::DETAILS.and(Include::CHAPTERS);

#[tokio::test(start_paused = true)]
async fn one_call_has_everything() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let id = VideoId::parse("chapPlain__").unwrap();
    let plain = vidra.video(id).await.unwrap();
    assert_eq!((plain.details.is_none(), plain.chapters.is_none()), (true, true));
    let whole = vidra.including(ALL()).video(id).await.unwrap();
    assert!(whole.details.is_some() && whole.chapters.as_ref().unwrap().len() >= 3);
    assert_eq!(sim.record().calls_to(Endpoint::Videos), 1, "the record holds them");
    let mut without = whole.clone();
    (without.details, without.chapters) = (None, None);
    assert_eq!(without, plain);
    // The JSON of the answer without details has no trace of them.
    let answer = vidra.videos_json(&[id]).await.unwrap();
    assert!(!answer.body.contains(&b'\n'));
    assert!(!String::from_utf8_lossy(&answer.body).contains("\"details\""));
}

#[tokio::test(start_paused = true)]
async fn every_list_of_videos_has_them() {
    let sim = Simulator::new();
    let vidra = client(&sim).including(ALL());
    let id = PlaylistId::parse("PLquirkDetails").unwrap();
    let playlist = vidra.playlist(&id).await.unwrap();
    let listed: Vec<_> = vidra.playlist_videos(&id).try_collect().await.unwrap();
    assert_eq!(playlist.videos.len(), listed.len());
    for (video, listed) in playlist.videos.iter().zip(&listed) {
        assert_eq!(*video, listed.video);
        assert!(video.details.is_some() && video.chapters.is_some(), "{}", video.id);
    }
    let of = |id: &str| {
        let video = playlist.videos.iter().find(|video| video.id.as_str() == id);
        video.and_then(|video| video.details.clone()).unwrap_or_else(|| panic!("{id}"))
    };
    assert_eq!(of("shortVertic").is_short_basis, Some(ShortBasis::Aspect));
    assert_eq!(of("shortVertic").is_short, Some(true));
    assert_eq!(of("paidPromotn").paid_promotion, Some(true));
    assert_eq!(of("langDiffer_").audio_language.as_deref(), Some("en-GB"));
    let states: Vec<_> =
        playlist.videos.iter().filter_map(|it| it.details.as_ref()?.live).collect();
    for state in [LiveState::None, LiveState::Upcoming, LiveState::Live, LiveState::Ended] {
        assert!(states.contains(&state), "{state:?}");
    }
    let plain = client(&sim).playlist(&id).await.unwrap();
    assert!(plain.videos.iter().all(|it| it.details.is_none() && it.chapters.is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_query_filters_and_sorts_by_details_and_leaves_them_out() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let id = PlaylistId::parse("PLquirkDetails").unwrap();
    let select = async |query: serde_json::Value| {
        let selection = Selection::from_json(&query).unwrap();
        vidra.query_playlist(&id, &selection).await.unwrap().playlist.videos
    };
    let all = select(json!({})).await;
    let live = select(json!({"filter": {"live": "live"}})).await;
    assert!(!live.is_empty() && live.len() < all.len());
    assert!(live.iter().all(|video| video.details.is_none()), "not requested");
    let shorts = select(json!({"filter": {"isShort": true}})).await;
    let others = select(json!({"filter": {"isShort": false}})).await;
    assert!(!shorts.is_empty() && !others.is_empty());
    assert!(shorts.len() + others.len() <= all.len());
    let by_comments = select(json!({"sort": {"field": "comments", "order": "desc"}})).await;
    let mut counts = vec![];
    for video in &by_comments {
        counts.push(vidra.video(video.id).await.unwrap().comments);
    }
    assert!(counts.is_sorted_by(|one, other| one >= other), "{counts:?}");
    assert_eq!(serde_json::to_value(&by_comments[0]).unwrap().get("comments"), None);
    let reversed = select(json!({"sort": {"field": "position", "order": "desc"}})).await;
    assert!(reversed.iter().rev().eq(&all));
}
