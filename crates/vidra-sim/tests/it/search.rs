//! `search.list`: filters, order, pages, oddities and its bill.

use crate::fetch::{Answer, fetch, pages};
use std::collections::HashSet;
use vidra_sim::Simulator;

async fn find(call: &str) -> Answer {
    let answer =
        fetch(&Simulator::new(), &format!("search?part=snippet&maxResults=50&{call}")).await;
    assert_eq!(answer.status, 200, "{call}: {}", answer.body);
    answer
}

/// The pages of documented words, with 50 results each.
async fn staged(words: &str) -> Vec<Answer> {
    let words = words.replace(' ', "+");
    pages(&Simulator::new(), &format!("search?part=snippet&type=video&maxResults=50&q={words}"))
        .await
}

fn sizes(pages: &[Answer]) -> Vec<usize> {
    pages.iter().map(|page| page.items().len()).collect()
}

/// The identifiers of all results.
fn ids(pages: &[Answer]) -> Vec<String> {
    pages.iter().flat_map(|page| page.each("/id/videoId")).collect()
}

/// `videos.list` of some results.
async fn videos(ids: &[String], part: &str) -> Answer {
    fetch(&Simulator::new(), &format!("videos?part={part}&id={}", ids.join(","))).await
}

#[tokio::test]
async fn each_type_is_found_by_its_title() {
    let kinds = async |call: &str| -> HashSet<String> {
        find(call).await.each("/id/kind").into_iter().collect()
    };
    assert_eq!(kinds("type=channel&q=garden").await, HashSet::from(["youtube#channel".into()]));
    assert_eq!(kinds("type=video&q=harbour").await, HashSet::from(["youtube#video".into()]));
    assert_eq!(kinds("type=playlist&q=season").await, HashSet::from(["youtube#playlist".into()]));
    assert_eq!(kinds("type=video,playlist&q=lights").await.len(), 2);
    let playlist = find("type=playlist&q=season").await.each("/id/playlistId").remove(0);
    let answer = fetch(&Simulator::new(), &format!("playlists?part=snippet&id={playlist}")).await;
    assert_eq!(answer.items().len(), 1);
    let either = find("type=video&q=accordion%7Clamps").await.items().len();
    let both = find("type=video&q=accordion").await.items().len();
    assert!(either > both && both > 0, "{either} and {both}");
    let without = find("type=video&q=lamps+-learning").await;
    assert!(without.each("/snippet/title").iter().all(|title| !title.contains("Learning")));
}

#[tokio::test]
async fn wrong_values_and_combinations_are_rejected() {
    let platform = Simulator::new();
    let cases = [
        ("type=video&order=newest", "badRequest"),
        ("type=film", "badRequest"),
        ("type=video&safeSearch=yes", "badRequest"),
        ("type=video&videoDuration=tiny", "badRequest"),
        ("type=video&eventType=soon", "badRequest"),
        ("videoDuration=short", "badRequest"),
        ("type=channel&eventType=live", "badRequest"),
        ("type=video,channel&videoDuration=long", "badRequest"),
        ("type=video&publishedAfter=yesterday", "badRequest"),
        ("type=video&publishedBefore=2024-01-01", "badRequest"),
        ("type=video&maxResults=51", "invalidParameter"),
        ("type=video&regionCode=XX", "invalidRegionCode"),
        ("type=video&relevanceLanguage=xx", "invalidRelevanceLanguage"),
        ("type=video&pageToken=nonsense", "invalidPageToken"),
        ("type=video&query=x", "badRequest"),
    ];
    for (call, reason) in cases {
        let answer = fetch(&platform, &format!("search?part=snippet&{call}")).await;
        assert_eq!((answer.status, answer.reason()), (400, reason), "{call}");
    }
    let combined = fetch(&platform, "search?part=snippet&eventType=live").await;
    assert_eq!(combined.body["error"]["status"], "INVALID_ARGUMENT");
    assert_eq!(platform.record().units.search, cases.len() as u64 + 1, "errors are billed");
}

#[tokio::test]
async fn order_sorts_the_results() {
    let at = |answer: &Answer, pointer: &str| answer.each(pointer);
    let by_date = at(&find("type=video&q=the&order=date").await, "/snippet/publishedAt");
    assert!(by_date.is_sorted_by(|one, other| one >= other) && by_date.len() == 50);
    let by_title = at(&find("type=channel&order=title").await, "/snippet/title");
    assert!(by_title.iter().filter(|title| !title.contains('&')).is_sorted());
    let ids = find("type=video&q=lights&order=viewCount").await.each("/id/videoId");
    let details = videos(&ids, "statistics").await;
    let views = |id: &String| -> u64 {
        let item = details.items().iter().find(|item| item["id"] == **id);
        let count = item.and_then(|item| item["statistics"]["viewCount"].as_str());
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    };
    let known: Vec<_> = ids.iter().map(views).filter(|views| *views > 0).collect();
    assert!(known.is_sorted_by(|one, other| one >= other) && known.len() > 3, "{known:?}");
    let relevant = find("type=video&q=lights").await.each("/id/videoId");
    assert_ne!(find("type=video&q=lights&order=rating").await.each("/id/videoId"), relevant);
}

#[tokio::test]
async fn dates_limit_the_results() {
    let limits = "publishedAfter=2020-01-01T00:00:00Z&publishedBefore=2021-01-01T00:00:00Z";
    let found = find(&format!("type=video&channelId=UCquirkManyUploads000000&{limits}")).await;
    assert_eq!(found.items().len(), 50);
    assert!(found.each("/snippet/publishedAt").iter().all(|at| at.starts_with("2020-")));
    let found = find(&format!("type=channel&{limits}")).await;
    assert!(found.each("/snippet/publishedAt").iter().all(|at| at.starts_with("2020-")));
}

#[tokio::test]
async fn length_event_and_safety_limit_the_results() {
    for (name, bounds) in [("short", 0..240), ("medium", 240..1201), ("long", 1201..u64::MAX)] {
        let found = find(&format!("type=video&q=the&videoDuration={name}")).await;
        let ids = found.each("/id/videoId");
        assert!(ids.len() > 10, "{name}");
        for text in videos(&ids, "contentDetails").await.each("/contentDetails/duration") {
            let span: jiff::Span = text.parse().expect("a duration");
            let seconds =
                span.total((jiff::Unit::Second, jiff::SpanRelativeTo::days_are_24_hours()));
            let seconds = seconds.expect("a length") as u64;
            assert!(bounds.contains(&seconds), "{name}: {text}");
        }
    }
    for (event, content, known) in [
        ("upcoming", "upcoming", "liveWaiting"),
        ("live", "live", "quirkLiveOn"),
        ("completed", "none", "quirkLivePt"),
    ] {
        let found = find(&format!("type=video&eventType={event}&q={known}")).await;
        assert_eq!(found.each("/id/videoId"), [known]);
        let all = find(&format!("type=video&eventType={event}")).await;
        assert!(all.items().len() > 2);
        assert!(all.each("/snippet/liveBroadcastContent").iter().all(|found| found == content));
    }
    let upcoming = find("type=video&eventType=upcoming&q=liveWaiting").await;
    let picture = &upcoming.items()[0]["snippet"]["thumbnails"]["default"]["url"];
    assert!(picture.as_str().is_some_and(|url| url.ends_with("_live.jpg")));
    for (safety, count) in [("none", 1), ("moderate", 1), ("strict", 0)] {
        let found = find(&format!("type=video&q=contAgeRate&safeSearch={safety}")).await;
        assert_eq!(found.items().len(), count, "{safety}");
    }
    for (region, count) in [("DE", 1), ("GB", 0)] {
        let found = find(&format!("type=video&q=quirkAllowd&regionCode={region}")).await;
        assert_eq!((found.items().len(), &found.body["regionCode"]), (count, &region.into()));
    }
    let first = find("type=video&relevanceLanguage=ja").await.each("/snippet/channelTitle");
    assert_eq!(first[0], "青空観測所");
}

#[tokio::test]
async fn titles_are_escaped_and_descriptions_are_cut() {
    let found = staged("quirk entities").await.remove(0);
    let (ids, titles) = (found.each("/id/videoId"), found.each("/snippet/title"));
    assert_eq!(ids[0], "titleEntity");
    assert!(
        titles[0]
            .contains("&amp; pepper&#39;s &quot;best&quot; – a literal &amp;amp; and &amp;#39;")
    );
    assert!(found.each("/snippet/channelTitle").contains(&"Bench & Chisel".to_owned()));
    assert!(found.each("/snippet/description")[0].contains("& pepper's"));
    let plain = videos(&ids[..1], "snippet").await.each("/snippet/title").remove(0);
    assert!(plain.contains("Salt & pepper's \"best\" – a literal &amp; and &#39;"), "{plain}");
    let texts = find("type=video").await.each("/snippet/description");
    assert!(texts.iter().any(|text| text.ends_with(" ...")) && texts.iter().any(String::is_empty));
    assert!(texts.iter().all(|text| !text.contains('\n') && text.chars().count() <= 170));
    let whole = staged("quirk unescaped").await.remove(0);
    assert!(whole.each("/snippet/title")[0].contains("Salt & pepper's"));
    assert!(whole.each("/snippet/description").iter().any(|text| text.contains('\n')));
}

#[tokio::test]
async fn pages_are_short_empty_repeated_or_endless() {
    let short = staged("quirk short page").await;
    assert!(sizes(&short)[0] < 50 && sizes(&short).len() == 3, "{:?}", sizes(&short));
    let empty = staged("quirk empty page").await;
    assert_eq!(sizes(&empty), [50, 0, 50, 20]);
    assert_eq!(ids(&empty).iter().collect::<HashSet<_>>().len(), 120);
    let again = staged("quirk again").await;
    assert_eq!(again[0].each("/id/videoId")[49], again[1].each("/id/videoId")[0]);
    assert_eq!(ids(&again).iter().collect::<HashSet<_>>().len(), 120, "none is lost");
    let million = staged("quirk million").await;
    assert_eq!((sizes(&million), ids(&million).len()), (vec![50; 10], 500));
    assert_eq!(million[0].body["pageInfo"]["totalResults"], 1_000_000);
    let totals = staged("quirk changing total").await;
    let totals = totals.iter().map(|page| page.body["pageInfo"]["totalResults"].to_string());
    assert_eq!(totals.collect::<HashSet<_>>().len(), 3);
    let platform = Simulator::new();
    let call = "search?part=id&type=video&maxResults=50&q=quirk+token+loop";
    let first = fetch(&platform, call).await;
    let token = first.body["nextPageToken"].as_str().expect("a second page");
    let second = fetch(&platform, &format!("{call}&pageToken={token}")).await;
    assert_eq!(second.body["nextPageToken"], token);
}

#[tokio::test]
async fn documented_words_return_their_oddity() {
    for (words, total) in [("quirk empty but total", 23), ("quirk nothing", 0)] {
        let found = staged(words).await;
        assert_eq!(
            (sizes(&found), &found[0].body["pageInfo"]["totalResults"]),
            (vec![0], &total.into())
        );
    }
    let deleted = staged("quirk deleted").await;
    let ids = deleted[0].each("/id/videoId");
    assert_eq!((ids.len(), videos(&ids, "id").await.items().len()), (50, 34));
    let mixed = staged("quirk channel among videos").await;
    assert_eq!(mixed[0].each("/id/kind")[..2], ["youtube#channel", "youtube#video"]);
    let bare = staged("quirk no snippet").await;
    assert_eq!(bare[0].items().iter().filter(|item| item.get("snippet").is_none()).count(), 10);
    let old = staged("quirk old era").await;
    assert!(old[0].each("/snippet/publishedAt")[0].ends_with(".000Z"));
    assert!(old[0].items()[0]["snippet"].get("publishTime").is_none());
    let live = find("type=channel&q=quirk+live+channels").await;
    let live = live.each("/snippet/liveBroadcastContent");
    assert_eq!(live.iter().filter(|content| *content == "upcoming").count(), 3);
    let unknown = find("type=video&channelId=UC-not-a-channel-id").await;
    let info = &unknown.body["pageInfo"];
    assert_eq!((unknown.items().len(), &info["resultsPerPage"]), (0, &0.into()));
    assert_eq!(info["totalResults"], 0);
    let ids_only = fetch(&Simulator::new(), "search?part=id&type=video&q=the").await;
    assert!(ids_only.items().iter().all(|item| item.get("snippet").is_none()));
}

#[tokio::test]
async fn ordinary_searches_have_oddities_too() {
    let platform = Simulator::builder().limits(u64::MAX, u64::MAX).build();
    let (mut repeated, mut short, mut deleted) = (0, 0, 0);
    for words in ["the", "a", "in", "week", "night", "best", "one", "of", "train", "o"] {
        let call = format!("search?part=snippet&type=video&maxResults=25&q={words}");
        let found = pages(&platform, &call).await;
        let all = ids(&found);
        let distinct: HashSet<_> = all.iter().collect();
        repeated += all.len() - distinct.len();
        short += found[..found.len() - 1].iter().filter(|page| page.items().len() < 25).count();
        for page in &found {
            let ids = page.each("/id/videoId");
            deleted += ids.len() - videos(&ids, "id").await.items().len();
        }
        assert!(all.len() <= 500, "{words}");
        let total = found[0].body["pageInfo"]["totalResults"].as_u64().expect("a number");
        assert_ne!(total, all.len() as u64, "an estimate");
    }
    assert!(repeated > 0 && short > 0 && deleted > 0, "{repeated} {short} {deleted}");
}

#[tokio::test]
async fn searches_have_their_own_bucket() {
    let platform = Simulator::new();
    for _ in 0..100 {
        assert_eq!(fetch(&platform, "search?part=id&type=channel&q=x").await.status, 200);
    }
    let spent = fetch(&platform, "search?part=id&q=boats").await;
    assert_eq!((spent.status, spent.reason()), (429, "rateLimitExceeded"));
    let message = spent.body["error"]["message"].as_str().unwrap_or_default();
    assert!(
        message.starts_with("Quota exceeded for quota metric 'Search Queries' and limit 'Search Queries per day' of service 'youtube.googleapis.com'"),
        "{message}"
    );
    assert_eq!(fetch(&platform, "videos?part=id&id=quirkNoLike").await.status, 200);
    let record = platform.record();
    assert_eq!((record.units.search, record.units.default, record.refused_for_quota), (100, 1, 1));
}
