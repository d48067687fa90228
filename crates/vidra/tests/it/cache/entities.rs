//! What was fetched for one answer is known for every other.

use futures_util::StreamExt;
use vidra::{
    BatchEvent, BatchQuery, BatchStatus, CacheOutcome, CommentQuery, ErrorKind, Languages,
    TranscriptQuery,
};
use vidra_sim::{Action, Endpoint, Fault};

use super::*;

#[tokio::test]
async fn a_video_of_a_playlist_is_known() {
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
async fn a_playlist_of_known_videos_costs_its_pages() {
    for (size, pages) in [(500, 10), (51, 2)] {
        let sim = Simulator::new();
        let id = playlist(&format!("PLsize{size}"));
        let ids = sim::client(&sim).playlist_ids(&id).await.unwrap().video_ids;
        let vidra = client(&sim);
        vidra.videos(&ids).await.unwrap();
        vidra.playlist_info(&id).await.unwrap();
        sim.reset_record();
        let asked = vidra.metered();
        assert_eq!(asked.playlist(&id).await.unwrap().video_count, size);
        assert_eq!(sim.record().calls_to(Endpoint::PlaylistItems), pages);
        assert_eq!((sim.record().calls, asked.cost().units()), (pages, pages as u32));

        // Where its own data are not known either, they are one more.
        let vidra = client(&sim);
        vidra.videos(&ids).await.unwrap();
        sim.reset_record();
        vidra.playlist(&id).await.unwrap();
        assert_eq!(sim.record().calls, pages + 1);
    }
}

#[tokio::test]
async fn only_the_unknown_videos_of_a_playlist_are_asked_for() {
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
async fn videos_that_are_known_not_to_be_there_are_not_asked_for() {
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

    // A name from before handles is somebody's, but whose handle that is today nobody said.
    let vidra = client(&sim);
    sim.reset_record();
    vidra.channel(&channel("https://www.youtube.com/user/NightTrainDiaries")).await.unwrap();
    assert_eq!(
        vidra.channel(&channel("@NightTrainDiaries")).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    // Nor is an address without its @ a handle.
    let old = vidra.channel(&channel("UCquirkUrlWithoutAt00000")).await.unwrap();
    let calls = sim.record().calls;
    let _ = vidra.channel(&channel(&old.username)).await;
    assert_eq!(sim.record().calls, calls + 1, "{}", old.username);
}

#[tokio::test]
async fn a_search_for_a_channel_is_not_done_twice() {
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
async fn uploads_use_what_is_known() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let fermata = vidra.channel(&channel("@fermata")).await.unwrap();
    vidra.playlist(&playlist(&fermata.uploads_playlist_id)).await.unwrap();
    sim.reset_record();
    // The channel and the videos are known; the page with the newest of them is asked for.
    assert_eq!(vidra.channel_videos(&channel("@fermata"), 5).await.unwrap().len(), 5);
    assert_eq!(sim.record().calls, 1);
    sim.reset_record();
    for limit in [1, 7, 50] {
        vidra.channel_videos(&channel("@FERMATA"), limit).await.unwrap();
    }
    assert_eq!(sim.record().calls, 0, "as many as anybody may want");
    let newest = vidra.channel_videos(&channel("@fermata"), 50).await.unwrap();
    for upload in newest {
        vidra.video(upload.id).await.unwrap();
    }
    assert_eq!(sim.record().calls, 0);
}

#[tokio::test]
async fn a_transcript_of_a_batch_is_known_and_the_other_way_round() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let query = BatchQuery { languages: Languages::parse("en").unwrap(), ..BatchQuery::default() };
    let one = TranscriptQuery { languages: query.languages.clone(), translate: None };
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
        let alone = vidra.transcript(video(&result.video_id), &one).await;
        assert_eq!(alone.ok(), result.lines, "{}", result.video_id);
    }
    let failed = first.iter().filter(|result| result.status == BatchStatus::Failed).count();
    assert_eq!(failed, 6);
    let lasting = sim.record().calls;
    sim.reset_record();
    let mut again = run().await;
    first.sort_by_key(|result| result.position);
    again.sort_by_key(|result| result.position);
    assert_eq!(first, again);
    assert_eq!((lasting, sim.record().calls), (0, 0), "nor is what there is not");
}

#[tokio::test]
async fn however_it_is_written_it_is_one_question() {
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
        let query = TranscriptQuery { languages: Languages::parse(lang).unwrap(), translate: None };
        vidra.transcript(video("txManualAsr"), &query).await.unwrap();
    }
    let record = sim.record();
    assert_eq!((record.units.default, record.calls_to(Endpoint::Player)), (3, 1));
}

#[tokio::test]
async fn what_is_asked_otherwise_is_another_question() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let id = video("quirkHtmlCm");
    let search =
        |words: &str| CommentQuery { search: Some(words.to_owned()), ..CommentQuery::default() };
    let queries = [
        CommentQuery::default(),
        CommentQuery { limit: 99, ..CommentQuery::default() },
        CommentQuery::top(100),
        CommentQuery { all_replies: true, ..CommentQuery::default() },
        search("a"),
        search("a/b"),
        search("a%2Fb"),
        search("a%2fb"),
        search("/"),
        search("%"),
        search("é"),
        search("e\u{301}"),
        search("A"),
    ];
    for query in &queries {
        let asked = vidra.lookup(&Lookup::Comments(id, query.clone())).await.unwrap();
        assert_eq!(asked.outcome, CacheOutcome::Miss, "{query:?}");
    }
    for query in &queries {
        let asked = vidra.lookup(&Lookup::Comments(id, query.clone())).await.unwrap();
        assert_eq!(asked.outcome, CacheOutcome::Hit, "{query:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_wants_the_newest_gets_the_newest_of_everything_in_it() {
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

    // And so does who asks after that.
    world.sim.reset_record();
    assert_eq!(vidra.playlist(&list).await.unwrap(), renewed);
    assert!(is_new(&vidra.video(renewed.videos[0].id).await.unwrap().title));
    assert_eq!(world.sim.record().calls, 0);
}

#[tokio::test(start_paused = true)]
async fn a_list_of_old_videos_is_better_than_an_error() {
    let sim = Simulator::new();
    let ids = videos(&sim, 60).await;
    let vidra = client(&sim);
    let known = vidra.videos(&ids).await.unwrap();
    sim.inject(Fault::any(Action::status(503)));
    for age in [IN_GRACE, STALE] {
        tokio::time::advance(age).await;
        let asked = vidra.videos_json(&ids).await.unwrap();
        assert_eq!(
            (asked.outcome, asked.decode::<Vec<vidra::Video>>().unwrap()),
            (CacheOutcome::Stale, known.clone())
        );
        assert!(asked.age >= age);
    }
    tokio::time::advance(GONE).await;
    assert_eq!(vidra.videos(&ids).await.unwrap_err().kind(), ErrorKind::Upstream);
}

#[tokio::test(start_paused = true)]
async fn a_custom_name_is_searched_for_once() {
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
async fn uploads_are_those_of_the_channel_by_whatever_name() {
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
