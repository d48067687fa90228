//! A record that was fetched for one answer is used for every other.

use futures_util::StreamExt;
use vidra::{
    BatchEvent, BatchQuery, BatchTranscript, CacheOutcome, CommentQuery, ErrorKind, Languages,
    TranscriptQuery,
};
use vidra_sim::{Action, Endpoint, Fault};

use super::*;

#[tokio::test]
async fn videos_of_a_playlist_are_cached() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let found = vidra.playlist(&playlist("PLsize51")).await.unwrap();
    sim.reset_record();
    for listed in &found.videos {
        let alone = vidra.video(listed.id).await.unwrap();
        assert_eq!((&alone.title, alone.views), (&listed.title, listed.views));
    }
    let ids: Vec<VideoId> = found.videos.iter().map(|video| video.id).collect();
    assert_eq!(vidra.videos(&ids).await.unwrap().len(), 51);
    assert_eq!(vidra.playlist_ids(&playlist("PLsize51")).await.unwrap().video_ids, ids);
    assert_eq!(vidra.playlist_info(&playlist("PLsize51")).await.unwrap().title, found.title);
    assert_eq!(sim.record().calls, 0);
}

#[tokio::test]
async fn a_playlist_of_cached_videos_costs_its_pages() {
    for (size, pages) in [(500, 10), (51, 2)] {
        let sim = Simulator::new();
        let id = playlist(&format!("PLsize{size}"));
        let ids = sim::client(&sim).playlist_ids(&id).await.unwrap().video_ids;
        let vidra = client(&sim);
        vidra.videos(&ids).await.unwrap();
        vidra.playlist_info(&id).await.unwrap();
        sim.reset_record();
        let metered = vidra.metered();
        assert_eq!(metered.playlist(&id).await.unwrap().video_count, size);
        assert_eq!(sim.record().calls_to(Endpoint::PlaylistItems), pages);
        assert_eq!((sim.record().calls, metered.cost().units()), (pages, pages as u32));

        // Without cached data of the playlist itself there is one more call.
        let vidra = client(&sim);
        vidra.videos(&ids).await.unwrap();
        sim.reset_record();
        vidra.playlist(&id).await.unwrap();
        assert_eq!(sim.record().calls, pages + 1);
    }
}

#[tokio::test]
async fn only_uncached_videos_of_a_playlist_are_fetched() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let ids = vidra.playlist_ids(&playlist("PLsize200")).await.unwrap().video_ids;
    vidra.videos(&ids[..149]).await.unwrap();
    sim.reset_record();
    assert_eq!(vidra.playlist(&playlist("PLsize200")).await.unwrap().video_count, 200);
    let record = sim.record();
    assert_eq!(
        (record.calls_to(Endpoint::PlaylistItems), record.calls_to(Endpoint::Videos)),
        (0, 2)
    );
    sim.reset_record();
    vidra.videos(&ids).await.unwrap();
    assert_eq!(sim.record().calls, 0);
}

#[tokio::test]
async fn videos_cached_as_missing_are_not_fetched() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let all = vidra.playlist(&playlist("PLquirkVanished")).await.unwrap();
    assert_eq!((all.video_count, all.unavailable_count), (5, 5));
    let ids = vidra.playlist_ids(&playlist("PLquirkVanished")).await.unwrap().video_ids;
    sim.reset_record();
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(vidra.video(*id).await.is_ok(), n % 2 == 0, "{n}");
    }
    assert_eq!(vidra.videos(&ids).await.unwrap().len(), 5);
    assert_eq!(sim.record().calls, 0);
}

#[tokio::test]
async fn a_channel_has_one_entry_under_all_its_names() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let by_handle = vidra.channel(&channel("@fermata")).await.unwrap();
    let names = [&*by_handle.id, "@Fermata", "fermata", "https://www.youtube.com/@FERMATA"];
    for name in names {
        assert_eq!(vidra.channel(&channel(name)).await.unwrap(), by_handle, "{name}");
    }
    assert_eq!(sim.record().calls, 1);

    let vidra = client(&sim);
    sim.reset_record();
    vidra.channel(&channel(&by_handle.id)).await.unwrap();
    assert_eq!(vidra.channel(&channel("@fermata")).await.unwrap(), by_handle);
    assert_eq!(sim.record().calls, 1);

    // A legacy user name belongs to a channel, but need not be the handle of that channel.
    let vidra = client(&sim);
    sim.reset_record();
    vidra.channel(&channel("https://www.youtube.com/user/NightTrainDiaries")).await.unwrap();
    assert_eq!(
        vidra.channel(&channel("@NightTrainDiaries")).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    // A custom URL without @ is no handle either.
    let old = vidra.channel(&channel("UCquirkUrlWithoutAt00000")).await.unwrap();
    let calls = sim.record().calls;
    let _ = vidra.channel(&channel(&old.username)).await;
    assert_eq!(sim.record().calls, calls + 1, "{}", old.username);
}

#[tokio::test]
async fn a_search_for_a_channel_is_not_repeated() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let name = channel("https://www.youtube.com/c/LanternBayTapes");
    let found = vidra.channel(&name).await.unwrap();
    sim.reset_record();
    assert_eq!(vidra.channel(&name).await.unwrap(), found);
    assert_eq!(vidra.channel(&channel(&found.id)).await.unwrap(), found);
    vidra.channel_videos(&name, 5).await.unwrap();
    assert_eq!(sim.record().units.search, 0);
}

#[tokio::test]
async fn uploads_use_cached_records() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let fermata = vidra.channel(&channel("@fermata")).await.unwrap();
    vidra.playlist(fermata.uploads_playlist_id.as_ref().unwrap()).await.unwrap();
    sim.reset_record();
    // The channel and the videos are cached; only the page of the newest uploads is fetched.
    assert_eq!(vidra.channel_videos(&channel("@fermata"), 5).await.unwrap().len(), 5);
    assert_eq!(sim.record().calls, 1);
    sim.reset_record();
    for limit in [1, 7, 50] {
        vidra.channel_videos(&channel("@FERMATA"), limit).await.unwrap();
    }
    assert_eq!(sim.record().calls, 0, "whatever the limit");
    let newest = vidra.channel_videos(&channel("@fermata"), 50).await.unwrap();
    for upload in newest {
        vidra.video(upload.id).await.unwrap();
    }
    assert_eq!(sim.record().calls, 0);
}

#[tokio::test]
async fn batches_and_single_transcripts_share_the_cache() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let query = BatchQuery::default().with_languages(Languages::parse("en").unwrap());
    let one = query.transcript.clone();
    let run = async || {
        let events = vidra.playlist_transcripts(&playlist("PLquirkMixed"), &query);
        let results: Vec<_> = events
            .filter_map(|event| async {
                match event.unwrap() {
                    BatchEvent::Result(result) => Some(result),
                    _ => None,
                }
            })
            .collect()
            .await;
        results
    };
    let known = vidra.transcript(video("txManualAsr"), &one).await;
    assert!(known.is_ok());
    let mut first = run().await;
    sim.reset_record();
    for result in &first {
        let alone = vidra.transcript(result.video_id.unwrap(), &one).await;
        assert_eq!(alone.map(BatchTranscript::Lines), result.transcript);
    }
    let failed = first.iter().filter(|result| result.transcript.is_err()).count();
    assert_eq!(failed, 6);
    let single_calls = sim.record().calls;
    sim.reset_record();
    let mut again = run().await;
    first.sort_by_key(|result| result.position);
    again.sort_by_key(|result| result.position);
    assert_eq!(first, again);
    assert_eq!((single_calls, sim.record().calls), (0, 0), "missing transcripts are cached too");
}

#[tokio::test]
async fn different_spellings_share_a_cache_key() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let forms = [
        "quirkThumb3",
        "https://youtu.be/quirkThumb3?t=43",
        "https://www.youtube.com/watch?v=quirkThumb3&list=PL12",
        "m.youtube.com/shorts/quirkThumb3",
        " quirkThumb3 ",
    ];
    for form in forms {
        vidra.video(video(form)).await.unwrap();
        vidra.video_title(video(form)).await.unwrap();
        vidra.videos(&[video(form)]).await.unwrap();
    }
    for form in ["PLsize1", "https://www.youtube.com/playlist?list=PLsize1"] {
        vidra.playlist_info(&playlist(form)).await.unwrap();
    }
    for hl in ["zh-CN", "zh-cn"] {
        vidra.regions(Some(hl)).await.unwrap();
    }
    for lang in ["en,de", "EN, de"] {
        let query = TranscriptQuery::default().with_languages(Languages::parse(lang).unwrap());
        vidra.transcript(video("txManualAsr"), &query).await.unwrap();
    }
    let record = sim.record();
    assert_eq!((record.units.default, record.calls_to(Endpoint::Player)), (3, 1));
}

#[tokio::test]
async fn different_queries_have_different_cache_keys() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let id = video("quirkHtmlCm");
    let search = |words: &str| CommentQuery::default().with_search(words.to_owned());
    let queries = [
        CommentQuery::default(),
        CommentQuery::default().with_limit(99),
        CommentQuery::top(100),
        CommentQuery::default().with_all_replies(true),
        search("a"),
        search("a/b"),
        search("a%2Fb"),
        search("/"),
        search("%"),
        search("é"),
        search("e\u{301}"),
    ];
    for query in &queries {
        let answer = vidra.lookup(&Lookup::Comments(id, query.clone())).await.unwrap();
        assert_eq!(answer.outcome, CacheOutcome::Miss, "{query:?}");
    }
    for query in &queries {
        let answer = vidra.lookup(&Lookup::Comments(id, query.clone())).await.unwrap();
        assert_eq!(answer.outcome, CacheOutcome::Hit, "{query:?}");
    }
    // A search ignores case and the spaces around words.
    let same = vidra.lookup(&Lookup::Comments(id, search(" A/B "))).await.unwrap();
    assert_eq!(same.outcome, CacheOutcome::Hit);
}

#[tokio::test(start_paused = true)]
async fn refreshing_fetches_every_part_again() {
    let world = Changing::new();
    let vidra = world.builder().build().unwrap();
    let (list, id) = (playlist("PLsize51"), video("quirkNoLike"));
    let fermata = channel("@fermata");
    vidra.playlist(&list).await.unwrap();
    vidra.channel(&fermata).await.unwrap();
    vidra.channel_videos(&fermata, 5).await.unwrap();
    vidra.videos(&[id]).await.unwrap();
    let newest = vidra.refreshing();
    let known = world.answers.load(Ordering::Relaxed);
    let is_new = |title: &str| title.parse::<u64>().unwrap() > known;

    world.sim.reset_record();
    let renewed = newest.playlist(&list).await.unwrap();
    assert!(is_new(&renewed.title), "its own data");
    assert!(renewed.videos.iter().all(|video| is_new(&video.title)), "its videos");
    assert_eq!(world.sim.record().calls_to(Endpoint::PlaylistItems), 2, "its entries");
    let uploads = newest.channel_videos(&fermata, 5).await.unwrap();
    assert!(uploads.iter().all(|video| is_new(&video.title)));
    assert!(newest.videos(&[id]).await.unwrap().iter().all(|video| is_new(&video.title)));

    // Later callers get the new records from the cache.
    world.sim.reset_record();
    assert_eq!(vidra.playlist(&list).await.unwrap(), renewed);
    assert!(is_new(&vidra.video(renewed.videos[0].id).await.unwrap().title));
    assert_eq!(world.sim.record().calls, 0);
}

#[tokio::test(start_paused = true)]
async fn a_list_of_stale_videos_is_served_when_the_platform_fails() {
    let sim = Simulator::new();
    let ids = videos(&sim, 60).await;
    let vidra = client(&sim);
    let known = vidra.videos(&ids).await.unwrap();
    sim.inject(Fault::any(Action::status(503)));
    for age in [IN_GRACE, STALE] {
        tokio::time::advance(age).await;
        let answer = vidra.videos_json(&ids).await.unwrap();
        assert_eq!(
            (answer.outcome, answer.decode::<Vec<vidra::Video>>().unwrap()),
            (CacheOutcome::Stale, known.clone())
        );
        assert!(answer.age >= age);
    }
    tokio::time::advance(GONE).await;
    assert_eq!(vidra.videos(&ids).await.unwrap_err().kind(), ErrorKind::Upstream);
}

#[tokio::test(start_paused = true)]
async fn the_search_for_a_custom_name_is_cached_for_a_day() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let named = channel("https://www.youtube.com/c/LanternBayTapes");
    let found = vidra.channel(&named).await.unwrap();
    for _ in 0..3 {
        tokio::time::advance(8 * HOUR).await;
        assert_eq!(vidra.channel(&named).await.unwrap().id, found.id);
        settle().await;
    }
    assert_eq!(sim.record().calls_to(Endpoint::Search), 1);
}

#[tokio::test(start_paused = true)]
async fn uploads_are_shared_by_all_names_of_a_channel() {
    let (handle, id) = (channel("@fermata"), channel("UCB-2_pXPtFYDifLXZF-S8PA"));
    for (names, units) in [([&handle, &id], [3, 0]), ([&id, &handle], [2, 1])] {
        let sim = Simulator::new();
        let vidra = client(&sim);
        let mut lists = vec![];
        for (name, units) in names.into_iter().zip(units) {
            sim.reset_record();
            lists.push(vidra.channel_videos(name, 50).await.unwrap());
            assert_eq!(sim.record().units.default, units, "{name}");
        }
        assert_eq!(lists[0], lists[1]);
    }
}
