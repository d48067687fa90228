//! The result and the cost of each operation, with the simulator's data and their quirks.

use std::time::Duration;

use tokio::time::Instant;
use vidra::{
    CategoryQuery, ChannelRef, CommentId, CommentOrder, CommentQuery, ErrorKind, HiddenCount,
    PlaylistId, VideoId,
};
use vidra_sim::{Endpoint, Simulator};

use crate::sim::{builder, client};

fn video(id: &str) -> VideoId {
    VideoId::parse(id).unwrap()
}

fn playlist(id: &str) -> PlaylistId {
    PlaylistId::parse(id).unwrap()
}

fn channel(id: &str) -> ChannelRef {
    ChannelRef::parse(id).unwrap()
}

#[tokio::test]
async fn withheld_counts_are_zero_and_named() {
    let vidra = client(&Simulator::new());
    let table: [(&str, &[HiddenCount]); 4] = [
        ("quirkNoLike", &[HiddenCount::Likes]),
        ("quirkNoComm", &[HiddenCount::Comments]),
        ("quirkFavOnl", &[HiddenCount::Views, HiddenCount::Likes, HiddenCount::Comments]),
        ("quirkThumb3", &[]),
    ];
    for (id, hidden) in table {
        assert_eq!(vidra.video(video(id)).await.unwrap().hidden, hidden, "{id}");
    }
    let likes = vidra.video(video("quirkNoLike")).await.unwrap();
    assert_eq!((likes.likes, likes.likes_fmt.as_str()), (0, "0"));
    for id in ["UCquirkHiddenSubs0000000", "UCquirkHiddenZero0000000"] {
        let found = vidra.channel(&channel(id)).await.unwrap();
        assert_eq!((found.subscribers, found.hidden), (0, vec![HiddenCount::Subscribers]), "{id}");
    }
}

#[tokio::test]
async fn durations_of_every_shape() {
    let vidra = client(&Simulator::new());
    for id in ["quirkUpcomg", "quirkDurNul"] {
        assert_eq!(vidra.video(video(id)).await.unwrap().duration_fmt, "0:00", "{id}");
    }
    let day = vidra.video(video("quirkDurDay")).await.unwrap();
    assert!(day.duration > 86_400, "{}", day.duration);
    let week = vidra.video(video("quirkDurWek")).await.unwrap();
    assert_eq!(week.duration % (7 * 86_400), 0);
    assert!(week.duration > 0);
}

#[tokio::test]
async fn lists_of_videos_keep_order_and_duplicates_and_fetch_each_once() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let known = vidra.playlist_ids(&playlist("PLsize100")).await.unwrap().video_ids;
    sim.reset_record();
    for (count, calls) in [(1, 1), (49, 1), (50, 1), (51, 2), (100, 2)] {
        let found = vidra.videos(&known[..count]).await.unwrap();
        assert!(found.iter().map(|video| video.id).eq(known[..count].iter().copied()));
        assert_eq!(sim.record().calls_to(Endpoint::Videos), calls, "{count} videos");
        sim.reset_record();
    }
    let requested = [known[0], video("quirkAbsent"), known[1], known[0]];
    let found: Vec<_> =
        vidra.videos(&requested).await.unwrap().iter().map(|video| video.id).collect();
    assert_eq!(found, [known[0], known[1], known[0]]);
    let sent = sim.record().requests[0].parameter("id").unwrap().to_owned();
    assert_eq!(sent.split(',').count(), 3, "the duplicate is not sent twice: {sent}");
}

#[tokio::test]
async fn a_playlist_costs_its_pages_its_details_and_one_unit() {
    for size in [0_u64, 1, 49, 50, 51, 100, 500] {
        let sim = Simulator::new();
        let vidra = client(&sim);
        let found = vidra.playlist(&playlist(&format!("PLsize{size}"))).await.unwrap();
        let pages = size.div_ceil(50);
        let expected = pages.max(1) + pages + 1;
        assert_eq!(u64::from(vidra.cost().units()), expected, "{size} videos");
        assert_eq!(sim.record().calls, expected, "{size} videos");
        assert_eq!((found.video_count, found.videos.len()), (size as usize, size as usize));
        assert_eq!(
            found.total_duration,
            found.videos.iter().map(|video| video.duration).sum::<u64>()
        );
        assert_eq!(found.unavailable_count, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn details_are_fetched_while_pages_are_fetched() {
    let latency = Duration::from_millis(50);
    let sim = Simulator::builder().latency(latency).build();
    let started = Instant::now();
    client(&sim).playlist(&playlist("PLsize500")).await.unwrap();
    // Ten pages one after the other, and the details of the last.
    assert_eq!(started.elapsed(), latency * 11);
    let order: Vec<Endpoint> = sim.record().requests.iter().map(|seen| seen.endpoint).collect();
    let details = order.iter().position(|endpoint| *endpoint == Endpoint::Videos).unwrap();
    let pages = order.iter().filter(|endpoint| **endpoint == Endpoint::PlaylistItems).count();
    let pages_before = order[..details].iter().filter(|e| **e == Endpoint::PlaylistItems).count();
    assert!(pages_before <= 2 && pages == 10, "{order:?}");
}

#[tokio::test]
async fn short_pages_are_followed_and_details_are_gathered_across_them() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let found = vidra.playlist(&playlist("PLquirkShortPages")).await.unwrap();
    let ids = vidra.playlist_ids(&playlist("PLquirkShortPages")).await.unwrap();
    assert_eq!(found.video_count + found.unavailable_count, ids.count);
    let record = sim.record();
    let detail_calls = record.calls_to(Endpoint::Videos);
    assert_eq!(detail_calls as usize, ids.count.div_ceil(50), "pages are short, calls are full");
}

#[tokio::test]
async fn a_repeated_page_token_ends_the_walk() {
    let sim = Simulator::new();
    let ids = client(&sim).playlist_ids(&playlist("PLquirkTokenLoop")).await.unwrap();
    let record = sim.record();
    let tokens: Vec<_> = record.requests.iter().map(|seen| seen.parameter("pageToken")).collect();
    let distinct: std::collections::HashSet<_> = tokens.iter().collect();
    assert_eq!(tokens.len(), distinct.len(), "no page is fetched twice: {tokens:?}");
    assert!(ids.count > 50 && tokens.len() >= 2, "{} entries", ids.count);
}

#[tokio::test]
async fn private_and_deleted_entries_are_counted_and_duplicates_are_listed() {
    let vidra = client(&Simulator::new());
    let id = playlist("PLquirkUnavailable");
    let (found, ids) = (vidra.playlist(&id).await.unwrap(), vidra.playlist_ids(&id).await.unwrap());
    assert!(found.unavailable_count > 0);
    assert_eq!(found.video_count + found.unavailable_count, ids.count);

    let sim = Simulator::new();
    let id = playlist("PLquirkDuplicates");
    let (found, ids) =
        (client(&sim).playlist(&id).await.unwrap(), vidra.playlist_ids(&id).await.unwrap());
    assert!(found.videos.iter().map(|video| video.id).eq(ids.video_ids.iter().copied()));
    let details = sim
        .record()
        .requests_to(Endpoint::Videos)
        .map(|seen| seen.parameter("id").unwrap().split(',').map(str::to_owned).collect::<Vec<_>>())
        .collect::<Vec<_>>()
        .concat();
    let mut distinct = details.clone();
    distinct.sort();
    distinct.dedup();
    assert!(distinct.len() < ids.count && distinct.len() == details.len(), "each fetched once");

    let nameless = vidra.playlist(&playlist("PLquirkBareItems")).await.unwrap();
    assert!(nameless.unavailable_count > 0, "an entry without a video id counts too");

    let gone = vidra.playlist(&playlist("PLquirkAllGone")).await.unwrap();
    assert_eq!((gone.video_count, gone.total_duration_fmt.as_str()), (0, "0s"));
    assert!(gone.unavailable_count > 0);
}

#[tokio::test]
async fn a_missing_playlist_costs_one_unit() {
    let table = [("PLquirkUnknown", ErrorKind::NotFound), ("PLquirkPrivate", ErrorKind::Forbidden)];
    for (id, kind) in table {
        let vidra = client(&Simulator::new());
        let error = vidra.playlist(&playlist(id)).await.unwrap_err();
        assert_eq!((error.kind(), vidra.cost().units()), (kind, 1), "{error}");
        assert!(error.message().contains(id), "{error}");
    }
}

#[tokio::test]
async fn channels_by_each_kind_of_name_and_their_cost() {
    let sim = Simulator::new();
    let by_handle = client(&sim);
    let fermata = by_handle.channel(&channel("@fermata")).await.unwrap();
    assert_eq!((fermata.username.as_str(), by_handle.cost().units()), ("@fermata", 1));

    let table = [
        (fermata.id.as_str(), 1),
        ("fermata", 1),
        ("https://www.youtube.com/@Fermata/videos", 1),
        ("youtube.com/fermata", 1),
        ("https://www.youtube.com/c/fermata", 1),
        ("https://www.youtube.com/@m%C3%BCslik%C3%BCche", 1),
        ("https://www.youtube.com/user/NightTrainDiaries", 1),
        ("https://www.youtube.com/c/NightTrainDiaries", 2),
    ];
    for (name, cost) in table {
        let vidra = client(&sim);
        let found = vidra.channel(&channel(name)).await;
        assert!(found.is_ok(), "{name}: {found:?}");
        assert_eq!(vidra.cost().units(), cost, "{name}");
    }
    assert_eq!(sim.record().calls_to(Endpoint::Search), 0);
}

#[tokio::test]
async fn search_is_the_last_resort_of_a_custom_name_and_can_be_switched_off() {
    let sim = Simulator::new();
    let id = "UCquirkSearchOnly0000000";
    let name = channel("https://www.youtube.com/c/LanternBayTapes");
    let vidra = client(&sim);
    let found = vidra.channel(&name).await.unwrap();
    assert_eq!(found.id, id);
    assert_eq!(vidra.cost().units(), 4, "handle, user name, search, and the channel itself");
    let quota = vidra.quota().await.unwrap();
    assert_eq!((quota.buckets[0].used, quota.buckets[1].used), (3, 1));

    let vidra = builder(&sim).search(false).build().unwrap();
    let error = vidra.channel(&name).await.unwrap_err();
    assert_eq!((error.kind(), vidra.cost().units()), (ErrorKind::NotFound, 2));
}

#[tokio::test]
async fn missing_channels_are_not_found() {
    let vidra = client(&Simulator::new());
    for id in ["UCquirkItemsEmpty0000000", "UCquirkItemsAbsent000000", "@nobody.at.all"] {
        let error = vidra.channel(&channel(id)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{id}");
        assert_eq!(error.message(), format!("Channel not found: {id}"));
    }
}

#[tokio::test]
async fn usernames_have_one_at_sign_or_are_made_from_the_title() {
    let vidra = client(&Simulator::new());
    for id in ["UCquirkUrlWithoutAt00000", "UCquirkNoCustomUrl000000", "UCquirkOldEra00000000000"] {
        let found = vidra.channel(&channel(id)).await.unwrap();
        assert!(found.username.starts_with('@') && !found.username.starts_with("@@"), "{found:?}");
        assert!(!found.username.contains(' '), "{found:?}");
    }
    let bare = vidra.channel(&channel("UCquirkBareId00000000000")).await.unwrap();
    assert_eq!((bare.name.as_str(), bare.country), ("", None));
}

#[tokio::test]
async fn uploads_are_newest_first_and_cost_two_units_by_id() {
    let sim = Simulator::new();
    let id = client(&sim).channel(&channel("@fermata")).await.unwrap().id;
    for (name, cost) in [(id.as_str(), 2), ("@fermata", 3)] {
        let vidra = client(&sim);
        let found = vidra.channel_videos(&channel(name), 7).await.unwrap();
        assert_eq!((found.len(), vidra.cost().units()), (7, cost), "{name}");
        assert!(found.is_sorted_by_key(|video| std::cmp::Reverse(video.published_at)));
        assert!(found.iter().all(|video| video.upload_age.ends_with(" ago")));
    }
}

#[tokio::test]
async fn a_channel_without_uploads_has_none_and_an_unknown_one_is_not_found() {
    let vidra = client(&Simulator::new());
    assert_eq!(vidra.channel_videos(&channel("UCquirkNoUploads00000000"), 5).await.unwrap(), []);
    assert_eq!(vidra.cost().units(), 2, "the playlist, and the channel that names it again");
    let unknown = channel("UCquirkItemsEmpty0000000");
    let error = vidra.channel_videos(&unknown, 5).await.unwrap_err();
    assert_eq!(error.message(), "Channel not found: UCquirkItemsEmpty0000000");
}

#[tokio::test]
async fn comments_by_limit_order_and_search() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let id = video("quirkHtmlCm");
    let top = vidra.comments(id, &CommentQuery::top(3)).await.unwrap();
    assert_eq!(top.len(), 3);
    let sent = &sim.record().requests[0];
    let sent = |name| sent.parameter(name);
    assert_eq!((sent("order"), sent("maxResults")), (Some("relevance"), Some("3")));
    assert_eq!(sent("textFormat"), Some("plainText"));

    let all = vidra.comments(id, &CommentQuery::default()).await.unwrap();
    for thread in &all {
        let text = &thread.top_level_comment.text;
        assert!(
            !text.contains("<br") && !text.contains("&#39;") && !text.contains("&quot;"),
            "{text}"
        );
    }
    assert_eq!(all[0].video_id, VideoId::parse("quirkHtmlCm").ok());
    let word = all[0].top_level_comment.text.split_whitespace().next().unwrap().to_owned();
    let search = CommentQuery::default().with_search(word).with_order(CommentOrder::Time);
    assert!(!vidra.comments(id, &search).await.unwrap().is_empty());
}

#[tokio::test]
async fn short_comment_pages_are_followed_until_there_are_enough() {
    let sim = Simulator::new();
    let query = CommentQuery::default().with_limit(45);
    let found = client(&sim).comments(video("quirkShortC"), &query).await.unwrap();
    assert_eq!(found.len(), 45);
    assert_eq!(sim.record().calls, 3, "pages of about twenty");
}

#[tokio::test]
async fn all_replies_are_fetched_only_if_some_are_missing() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let id = video("quirkManyRp");
    let preview = vidra.comments(id, &CommentQuery::default()).await.unwrap();
    assert!(preview.iter().any(|thread| (thread.replies.len() as u64) < thread.total_reply_count));
    let missing =
        |thread: &&vidra::CommentThread| (thread.replies.len() as u64) < thread.total_reply_count;
    let incomplete = preview.iter().filter(missing).count();
    sim.reset_record();
    let query = CommentQuery::default().with_all_replies(true);
    let full = vidra.comments(id, &query).await.unwrap();
    assert!(full.iter().all(|thread| thread.replies.len() as u64 == thread.total_reply_count));
    let parents: std::collections::HashSet<_> = sim
        .record()
        .requests_to(Endpoint::Comments)
        .map(|seen| seen.parameter("parentId").unwrap().to_owned())
        .collect();
    assert_eq!(parents.len(), incomplete);
    assert!(full.iter().map(|thread| &thread.id).eq(preview.iter().map(|thread| &thread.id)));
}

#[tokio::test]
async fn replies_are_paged_and_a_reply_has_the_replies_of_its_thread() {
    let vidra = client(&Simulator::new());
    let parent = CommentId::parse("UgquirkManyReplies04AaABAg").unwrap();
    let replies = vidra.comment_replies(&parent).await.unwrap();
    assert_eq!((replies.len(), vidra.cost().units()), (250, 3));
    assert!(replies.iter().all(|reply| reply.parent_id.as_deref() == Some(parent.as_str())));
    let of_reply = vidra.comment_replies(&CommentId::parse(&replies[7].id).unwrap()).await.unwrap();
    assert_eq!(of_reply, replies);
}

#[tokio::test]
async fn comment_errors_have_a_cause_and_name_the_video() {
    let vidra = client(&Simulator::new());
    let off = vidra.comments(video("quirkNoComm"), &CommentQuery::default()).await.unwrap_err();
    assert_eq!(
        (off.kind(), off.message()),
        (ErrorKind::Forbidden, "Comments are disabled: quirkNoComm")
    );
    let gone = vidra.comments(video("quirkAbsent"), &CommentQuery::default()).await.unwrap_err();
    assert_eq!(
        (gone.kind(), gone.message()),
        (ErrorKind::NotFound, "Video not found: quirkAbsent")
    );
    let unknown = CommentId::parse("UgquirkUnknown000004AaABAg").unwrap();
    let unknown = vidra.comment_replies(&unknown).await.unwrap_err();
    assert_eq!(unknown.message(), "Comment not found: UgquirkUnknown000004AaABAg");
    let empty = vidra.comments(video("quirkCmZero"), &CommentQuery::default()).await.unwrap();
    assert!(empty.is_empty());
}

#[tokio::test]
async fn regions_languages_and_categories() {
    let vidra = client(&Simulator::new());
    let regions = vidra.regions(None).await.unwrap();
    assert!(regions.iter().any(|region| (&*region.gl, &*region.name) == ("DE", "Germany")));
    let german = vidra.regions(Some("de")).await.unwrap();
    assert!(german.iter().any(|region| (&*region.gl, &*region.name) == ("DE", "Deutschland")));
    assert!(vidra.languages(None).await.unwrap().iter().any(|language| language.hl == "en"));
    let by_region = CategoryQuery::Region("US".to_owned());
    let all = vidra.video_categories(&by_region, None).await.unwrap();
    assert!(all.iter().any(|category| category.title == "Music" && category.assignable));
    let by_id = CategoryQuery::Ids(vec!["10".to_owned()]);
    assert_eq!(vidra.video_categories(&by_id, None).await.unwrap()[0].id, "10");
    let unknown = CategoryQuery::Ids(vec!["999".to_owned()]);
    let error = vidra.video_categories(&unknown, None).await.unwrap_err();
    assert_eq!(error.message(), "Video category not found: 999");
    let nowhere = CategoryQuery::Region("XX".to_owned());
    let error = vidra.video_categories(&nowhere, None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn a_title_alone_costs_one_unit() {
    let vidra = client(&Simulator::new());
    let title = vidra.video_title(video("quirkNoLike")).await.unwrap();
    assert_eq!(title.title, vidra.video(video("quirkNoLike")).await.unwrap().title);
    let error = vidra.video_title(video("quirkAbsent")).await.unwrap_err();
    assert_eq!(error.message(), "Video not found: quirkAbsent");
    assert_eq!(vidra.cost().units(), 3);
}
