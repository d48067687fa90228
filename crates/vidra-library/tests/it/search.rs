//! Searches.

use std::sync::Arc;

use serde_json::{Value, json};
use vidra::transcript::{FullTranscript, Player, parse};
use vidra::{LanguageCode, Reason, TranscriptQuery, VideoId};
use vidra_library::{
    HitItem, HitPage, Library, LibraryFilter, Limits, Period, SearchFields, SearchGroup,
    SearchSort, TextQuery, TextSearch,
};

use crate::{Store, TestClock};

/// A video with captions of two seconds each.
#[derive(Debug, Clone)]
pub(crate) struct Video<'a> {
    pub(crate) id: String,
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    pub(crate) channel: &'a str,
    /// A time, or nothing.
    pub(crate) published: &'a str,
    pub(crate) lang: &'a str,
    pub(crate) is_auto: bool,
    pub(crate) translated_to: Option<&'a str>,
    pub(crate) captions: Vec<String>,
}

impl<'a> Video<'a> {
    pub(crate) fn new(number: usize, captions: &[&str]) -> Self {
        Self {
            id: format!("v{number:010}"),
            title: "A video",
            description: "",
            channel: "UCaaaaaaaaaaaaaaaaaaaaaa",
            published: "",
            lang: "en",
            is_auto: false,
            translated_to: None,
            captions: captions.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    pub(crate) fn record(&self) -> Vec<u8> {
        let id = VideoId::parse(&self.id).unwrap();
        let mut track = json!({"baseUrl": "/api/timedtext?v=x", "languageCode": self.lang, "name": {"simpleText": self.lang}});
        if self.is_auto {
            track["kind"] = "asr".into();
        }
        let length = self.captions.len() * 2;
        let body = json!({
            "playabilityStatus": {"status": "OK"},
            "videoDetails": {
                "videoId": self.id, "title": self.title, "author": "Channel", "channelId": self.channel,
                "lengthSeconds": length.to_string(), "shortDescription": self.description,
            },
            "microformat": {"playerMicroformatRenderer": {"publishDate": self.published}},
            "captions": {"playerCaptionsTracklistRenderer": {"captionTracks": [track]}},
        });
        let player = Player::parse(body.to_string().as_bytes(), id).unwrap();
        let events: Vec<Value> = (0..)
            .zip(&self.captions)
            .map(|(at, text)| json!({"tStartMs": at * 2_000, "dDurationMs": 2_000, "segs": [{"utf8": text}]}))
            .collect();
        let cues = parse(json!({ "events": events }).to_string().as_bytes()).unwrap();
        FullTranscript::new(id, &player, &player.tracks()[0], self.translated_to, cues).to_record()
    }
}

pub(crate) async fn empty(on: &Store) -> Library {
    on.open(Limits::default(), Arc::new(TestClock::new())).await
}

pub(crate) async fn store(library: &Library, video: &Video<'_>) {
    library.store_transcript(&TranscriptQuery::default(), video.record().into()).await.unwrap();
}

pub(crate) async fn library_of(on: &Store, videos: &[Video<'_>]) -> Library {
    let library = empty(on).await;
    for video in videos {
        store(&library, video).await;
    }
    library
}

pub(crate) fn request(query: &str) -> TextSearch {
    TextSearch::new(TextQuery::parse(query).unwrap())
}

/// The first page. Beside other tests, a search of an unoptimised build can take longer than its limit.
pub(crate) async fn page(library: &Library, request: &TextSearch) -> HitPage {
    for _ in 0..10 {
        match library.search(request, None, 50).await {
            Err(error) if error.reason() == Reason::SearchTimedOut => {}
            page => return page.unwrap(),
        }
    }
    panic!("ten searches took too long: {request:?}")
}

/// The hits of a page as `number@second`.
fn moments(page: &HitPage) -> Vec<String> {
    let number = |id: &VideoId| id.as_str()[1..].parse::<usize>().unwrap();
    let moment = |it: &HitItem| match it {
        HitItem::Moment(it) => {
            format!("{}@{}", number(&it.video.video_id), it.moment.start.as_millis() / 1_000)
        }
        _ => panic!("{it:?} is no moment"),
    };
    page.items.iter().map(moment).collect()
}

pub(crate) async fn found(library: &Library, query: &str) -> Vec<String> {
    let request = TextSearch { sort: SearchSort::Oldest, ..request(query) };
    let page = page(library, &request).await;
    let moments = moments(&page);
    assert_eq!(page.total.moments, moments.len() as u64, "{query}");
    assert_eq!(page.note.is_some(), moments.is_empty(), "{query}");
    moments
}

pub(crate) fn three() -> [Video<'static>; 3] {
    let one = Video::new(1, &["the nuclear plant", "and climate change", "is discussed"]);
    let two = Video::new(2, &["climate", "change of plans", "a nuclear"]);
    let three = Video::new(3, &["plants and planets", "nothing else"]);
    [
        Video { published: "2026-01-10T08:00:00Z", title: "Energy review", ..one },
        Video { published: "2026-03-05T08:00:00Z", channel: "UCbbbbbbbbbbbbbbbbbbbbbb", ..two },
        Video { published: "2025-07-01T08:00:00Z", description: "All about climate.", ..three },
    ]
}

async fn the_syntax_of_queries(on: Store) {
    let library = library_of(&on, &three()).await;
    let table: &[(&str, &[&str])] = &[
        ("nuclear", &["1@0", "2@4"]),
        ("\"climate change\"", &["1@2", "2@0"]),
        ("\"change climate\"", &[]),
        ("nuclear climate", &["1@0", "2@0"]),
        ("plants OR discussed", &["3@0", "1@4"]),
        ("climate -discussed", &["2@0"]),
        ("climate -\"change of\"", &["1@2"]),
        ("plan*", &["3@0", "1@0", "2@2"]),
        ("\"change of pla*\"", &["2@2"]),
        ("title:energy", &["1@0"]),
        ("climate title:energy", &["1@2"]),
        ("climate -title:energy", &["2@0"]),
        ("absent", &[]),
        ("nuclear absent", &[]),
        ("\"plant and climate\"", &["1@0"]),
    ];
    for (query, expected) in table {
        assert_eq!(found(&library, query).await, *expected, "{query}");
    }
}

async fn filters_choose_a_part_of_the_library(on: Store) {
    let library = library_of(&on, &three()).await;
    let filtered = async |change: &dyn Fn(&mut LibraryFilter)| {
        let mut request = TextSearch { sort: SearchSort::Newest, ..request("climate OR plan*") };
        change(&mut request.filter);
        let page = page(&library, &request).await;
        (moments(&page), page.coverage.videos)
    };
    let all = filtered(&|_| ()).await;
    assert_eq!(all, (["2@0", "1@0", "3@0"].map(str::to_owned).to_vec(), 3));
    let one = filtered(&|it| {
        it.channel = Some(vidra::ChannelId::parse("UCbbbbbbbbbbbbbbbbbbbbbb").unwrap());
    })
    .await;
    assert_eq!(one, (vec!["2@0".to_owned()], 1));
    let since =
        filtered(&|it| it.range.since = Some("2026-01-01T00:00:00Z".parse().unwrap())).await;
    assert_eq!(since.1, 2);
    let until =
        filtered(&|it| it.range.until = Some("2026-02-01T00:00:00Z".parse().unwrap())).await;
    assert_eq!(until.0, ["1@0", "3@0"]);
    let video = filtered(&|it| it.videos = vec![VideoId::parse("v0000000003").unwrap()]).await;
    assert_eq!(video.0, ["3@0"]);
    let lang = filtered(&|it| it.lang = Some(LanguageCode::parse("de").unwrap())).await;
    assert_eq!(lang, (vec![], 0));
    let mut other = request("climate");
    other.filter.job = Some(vidra_library::JobId::parse(&"0".repeat(32)).unwrap());
    assert_eq!(library.search(&other, None, 5).await.unwrap_err().reason(), Reason::JobNotFound);
}

async fn titles_and_descriptions_are_searched_if_requested(on: Store) {
    let library = library_of(&on, &three()).await;
    let fields = |names: &[usize]| {
        names.iter().map(|at| SearchFields::ALL[*at].1).reduce(SearchFields::and).unwrap()
    };
    let with = async |query: &str, fields| {
        let request = TextSearch { fields, sort: SearchSort::Oldest, ..request(query) };
        page(&library, &request).await
    };
    let found = with("climate", fields(&[2])).await;
    assert_eq!(moments(&found), ["3@0"]);
    let HitItem::Moment(hit) = &found.items[0] else { panic!("{found:?}") };
    assert_eq!((hit.moment.field, hit.moment.highlights[0]), (Some("description"), [10, 17]));
    assert_eq!(moments(&with("climate", fields(&[0, 1, 2])).await), ["3@0", "1@2", "2@0"]);
    assert_eq!(moments(&with("review", fields(&[0, 1])).await), ["1@0"]);
    assert_eq!(moments(&with("\"energy review\"", fields(&[1])).await), ["1@0"]);
    assert_eq!(moments(&with("\"review energy\"", fields(&[1])).await), Vec::<String>::new());
}

async fn the_best_track_of_a_video_counts_once(on: Store) {
    let manual = Video { lang: "en", ..Video::new(1, &["spoken word"]) };
    let auto = Video { is_auto: true, ..Video::new(1, &["spoken word recognised"]) };
    let german = Video { translated_to: Some("de"), ..Video::new(1, &["gesprochenes Wort"]) };
    let library = library_of(&on, &[auto.clone(), german]).await;
    assert_eq!(found(&library, "recognised").await, ["1@0"]);
    assert_eq!(found(&library, "gesprochenes").await, Vec::<String>::new());
    store(&library, &manual).await;
    assert_eq!(found(&library, "spoken").await, ["1@0"]);
    assert_eq!(found(&library, "recognised").await, Vec::<String>::new());
    let mut request = request("gesprochenes");
    request.filter.lang = Some(LanguageCode::parse("de").unwrap());
    assert_eq!(moments(&page(&library, &request).await), ["1@0"]);
}

async fn recognised_speech_tells_the_original_language(on: Store) {
    let french = Video { lang: "fr", ..Video::new(1, &["bonjour"]) };
    let english = Video { is_auto: true, ..Video::new(1, &["hello"]) };
    let library = library_of(&on, &[french, english]).await;
    assert_eq!(found(&library, "hello").await, ["1@0"]);
    assert_eq!(found(&library, "bonjour").await, Vec::<String>::new());
    // A better track decides, also if only the other one matches.
    store(&library, &Video::new(1, &["hello dogs"])).await;
    for (query, expected) in [("hello -dogs", 0), ("\"hello dogs\"", 1), ("hello dogs", 1)] {
        for lang in [None, Some("en")] {
            let mut request = request(query);
            request.filter.lang = lang.map(|code| LanguageCode::parse(code).unwrap());
            let page = page(&library, &request).await;
            assert_eq!((page.items.len(), page.coverage.videos), (expected, 1), "{query} {lang:?}");
        }
    }
    store(&library, &Video { lang: "zh-Hans-CN", ..Video::new(2, &["東京"]) }).await;
    for (code, expected) in [("zh", 1), ("zh-Hans", 1), ("zh-Hant", 0)] {
        for query in ["東京", "東京 -x"] {
            let mut request = request(query);
            request.filter.lang = Some(LanguageCode::parse(code).unwrap());
            assert_eq!(page(&library, &request).await.items.len(), expected, "{code} {query}");
        }
    }
}

/// A search that nobody waits for ends, and frees its connection.
#[tokio::test(flavor = "multi_thread")]
async fn abandoned_searches_end() {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::open(&folder.path().join("library.db"), Limits::default()).unwrap();
    for number in 1..60 {
        store(&library, &long(number, 60, &[3])).await;
    }
    for _ in 0..200 {
        let (request, library) = (request("w1* OR w2* needle"), library.clone());
        let search = async move { library.search(&request, None, 500).await };
        let _ = tokio::time::timeout(std::time::Duration::from_micros(300), search).await;
    }
    assert_eq!(page(&library, &request("needle")).await.total.videos, 59);
}

async fn a_changed_transcript_replaces_its_words(on: Store) {
    let library = library_of(&on, &[Video::new(1, &["first version"])]).await;
    store(&library, &Video::new(1, &["second version"])).await;
    assert_eq!(found(&library, "first").await, Vec::<String>::new());
    assert_eq!(found(&library, "second").await, ["1@0"]);
    library.forget(vec![VideoId::parse("v0000000001").unwrap()]).await.unwrap();
    assert_eq!(found(&library, "second").await, Vec::<String>::new());
    let page = page(&library, &request("second")).await;
    assert_eq!(page.note.as_deref(), Some("The library has no transcripts"));
}

/// Captions of ten words each. The word `needle` is in the captions with these numbers.
pub(crate) fn long(number: usize, captions: usize, needles: &[usize]) -> Video<'static> {
    let caption = |at: usize| {
        let words = (0..10).map(|word| match (word, needles.contains(&at)) {
            (4, true) => "needle".to_owned(),
            _ => format!("w{}", (at * 7 + word) % 300),
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let texts: Vec<String> = (0..captions).map(caption).collect();
    Video { captions: texts, ..Video::new(number, &[]) }
}

async fn phrases_across_passages_are_found_once(on: Store) {
    let words: Vec<String> = (0..1_000).map(|it| format!("w{it}")).collect();
    let captions: Vec<String> = words.chunks(10).map(|it| it.join(" ")).collect();
    let library = library_of(&on, &[Video { captions, ..Video::new(1, &[]) }]).await;
    for length in [2, 5, 8, 9, 15, 30] {
        for start in (0..1_000 - length).step_by(7) {
            let phrase = format!("\"{}\"", words[start..start + length].join(" "));
            let expected = format!("1@{}", start / 10 * 2);
            assert_eq!(found(&library, &phrase).await, [expected], "{phrase}");
        }
    }
}

async fn pages_have_a_stable_order(on: Store) {
    let videos: Vec<Video> = (1..=9).map(|it| long(it, 60, &[3, 4, 33, 50])).collect();
    let library = library_of(&on, &videos).await;
    for sort in [SearchSort::Relevance, SearchSort::Newest, SearchSort::Oldest] {
        for group in [SearchGroup::Moment, SearchGroup::Video] {
            let request = TextSearch { sort, group, ..request("needle") };
            let (mut all, mut cursor, mut pages) = (vec![], None::<String>, 0);
            let whole = library.search(&request, None, 100).await.unwrap();
            loop {
                let page = library.search(&request, cursor.as_deref(), 4).await.unwrap();
                // Later transcripts do not change the list.
                store(&library, &long(20 + pages, 60, &[3])).await;
                assert_eq!(page.total, whole.total);
                let Value::Array(items) = serde_json::to_value(&page.items).unwrap() else {
                    panic!()
                };
                all.extend(items);
                pages += 1;
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(Value::from(all), serde_json::to_value(&whole.items).unwrap());
            library
                .forget((20..60).map(|it| VideoId::parse(&format!("v{it:010}")).unwrap()).collect())
                .await
                .unwrap();
        }
    }
    let other = library.search(&request("other"), Some("1-1-00000000"), 5).await;
    assert_eq!(other.unwrap_err().reason(), Reason::InvalidCursor);
}

async fn the_best_moments_come_first(on: Store) {
    let videos = [
        Video { title: "Cats", ..Video::new(1, &["dogs", "cats"]) },
        Video::new(2, &["cats and dogs"]),
        Video { title: "Cats and dogs", ..Video::new(3, &["cats", "dogs"]) },
        Video::new(4, &["cats cats", "dogs dogs"]),
    ];
    let library = library_of(&on, &videos).await;
    let page = page(&library, &request("cats dogs")).await;
    assert_eq!(moments(&page), ["3@0", "4@0", "1@0", "2@0"]);
    let request = TextSearch { group: SearchGroup::Video, ..request("cats dogs") };
    let page = library.search(&request, None, 2).await.unwrap();
    let HitItem::Video(first) = &page.items[0] else { panic!("{page:?}") };
    assert_eq!(first.video.title, "Cats and dogs");
    assert_eq!((first.moment_count, first.moments.len()), (1, 1));
}

async fn trends_count_every_time(on: Store) {
    let videos = [
        Video { published: "2026-01-10T08:00:00Z", ..long(1, 60, &[3, 4, 5, 40]) },
        Video { published: "2026-01-20T08:00:00Z", ..long(2, 60, &[]) },
        Video {
            published: "2026-02-20T08:00:00Z",
            ..Video::new(3, &["needle needle", "two needle case"])
        },
        Video::new(4, &["needle"]),
    ];
    let library = library_of(&on, &videos).await;
    let trends = library.trends(&request("needle"), Period::Month).await.unwrap();
    let shown: Vec<(String, u64, u64, u64)> = trends
        .items
        .iter()
        .map(|it| (it.period.clone().unwrap_or_default(), it.count, it.words, it.videos))
        .collect();
    assert_eq!(shown, [("2026-01".to_owned(), 4, 1_200, 1), ("2026-02".to_owned(), 3, 5, 1)]);
    assert_eq!(trends.items[1].per_million, 600_000.0);
    assert_eq!(trends.undated.unwrap().count, 1);
    // A word counts once, also if the query names it twice.
    for query in ["needle needle", "needle OR nee*", "nee* OR needle"] {
        let again = library.trends(&request(query), Period::Month).await.unwrap();
        assert_eq!(again.items, trends.items, "{query}");
    }
    let phrase = library.trends(&request("\"needle needle\""), Period::Year).await.unwrap();
    assert_eq!((phrase.items[0].count, phrase.items[0].videos, phrase.approximate), (1, 1, false));
    assert_eq!(phrase.items[0].period.as_deref(), Some("2026"));
}

async fn the_videos_of_the_library_are_listed(on: Store) {
    let library = library_of(&on, &three()).await;
    let filter = LibraryFilter::default();
    let (first, next) = library.videos(&filter, SearchSort::Newest, None, 2).await.unwrap();
    // A later transcript does not change the list.
    store(&library, &Video { published: "2026-09-01T08:00:00Z", ..Video::new(4, &["new"]) }).await;
    let (last, end) =
        library.videos(&filter, SearchSort::Newest, next.as_deref(), 2).await.unwrap();
    let ids: Vec<&str> = first.iter().chain(&last).map(|it| it.video.video_id.as_str()).collect();
    assert_eq!(ids, ["v0000000002", "v0000000001", "v0000000003"]);
    assert_eq!((end, first[1].words, first[1].duration), (None, 8, 6));
}

/// Words that are more frequent than can be ranked.
async fn the_newest_videos_of_frequent_words_are_ranked(on: Store) {
    let library = empty(&on).await;
    for number in 1..=510 {
        let published = format!("2026-01-{:02}T00:{:02}:00Z", number % 28 + 1, number / 28);
        let captions = vec!["the ".repeat(100); 4];
        let video = Video { captions, published: &published, ..Video::new(number, &[]) };
        store(&library, &video).await;
    }
    for sort in [SearchSort::Relevance, SearchSort::Newest, SearchSort::Oldest] {
        let found = page(&library, &TextSearch { sort, ..request("the") }).await;
        assert_eq!((found.total.videos, found.total.approximate), (510, true));
        assert_eq!(found.total.moments, 510 * 4);
        let HitItem::Moment(first) = &found.items[0] else { panic!("{found:?}") };
        let day = if sort == SearchSort::Oldest { "2026-01-01" } else { "2026-01-28" };
        assert!(first.video.published_at.unwrap().to_string().starts_with(day), "{first:?}");
        let prefix = page(&library, &TextSearch { sort, ..request("th*") }).await;
        assert_eq!((prefix.items, prefix.total), (found.items, found.total));
    }
    // A few videos are searched one by one, so that nothing is left out.
    let mut one = request("the");
    one.filter.videos = vec![VideoId::parse("v0000000007").unwrap()];
    let one = page(&library, &one).await;
    assert_eq!((one.total.moments, one.total.approximate), (4, false));
    assert_eq!(one.items.len(), 4);
}

async fn chapters_raise_moments(on: Store) {
    let captions: Vec<String> =
        (0..60).map(|at| format!("w{at} ").repeat(9) + "cats dogs").collect();
    let plain = Video { captions, ..Video::new(1, &[]) };
    let chapters = "0:00 Intro\n0:40 About cats\n1:20 Cats and dogs";
    let library = library_of(&on, &[Video { description: chapters, ..plain }]).await;
    let page = page(&library, &request("cats dogs")).await;
    let HitItem::Moment(first) = &page.items[0] else { panic!("{page:?}") };
    assert_eq!(first.moment.chapter.as_deref(), Some("Cats and dogs"));
    let HitItem::Moment(last) = page.items.last().unwrap() else { panic!("{page:?}") };
    assert_eq!(last.moment.chapter.as_deref(), Some("Intro"));
}

/// An older track has the title of its time.
async fn a_title_is_found_as_it_was_stored(on: Store) {
    let old = Video { title: "Old name here", ..Video::new(1, &["word"]) };
    let new = Video { title: "New name", translated_to: Some("de"), ..Video::new(1, &["Wort"]) };
    let library = library_of(&on, &[old, new]).await;
    for query in ["title:old", "title:\"old name\""] {
        let page = page(&library, &request(query)).await;
        let HitItem::Moment(hit) = &page.items[0] else { panic!("{page:?}") };
        assert_eq!(
            (hit.moment.text.as_str(), hit.video.title.as_str()),
            ("Old name here", "New name")
        );
        assert_eq!(page.total.moments, 1);
    }
    assert_eq!(found(&library, "title:new").await, Vec::<String>::new());
}

async fn many_phrases_are_counted_within_a_bound(on: Store) {
    let library = library_of(&on, &[long(1, 12_000, &[])]).await;
    let phrase = |at: usize| format!("\"w{at} w{}\"", at + 1);
    // Each phrase is in about a third of 1,200 passages.
    let few = library.trends(&request(&phrase(1)), Period::Year).await.unwrap();
    assert!(!few.approximate && few.undated.unwrap().count > 300);
    let many = (1..=12).map(|at| phrase(at * 3)).collect::<Vec<_>>().join(" OR ");
    assert!(library.trends(&request(&many), Period::Year).await.unwrap().approximate);
}

/// More searches than the library runs or lets wait.
#[tokio::test(flavor = "multi_thread")]
async fn too_many_searches_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::open(&folder.path().join("library.db"), Limits::default()).unwrap();
    for number in 1..6 {
        store(&library, &long(number, 30, &[3])).await;
    }
    let request = request("needle");
    let searches = (0..300).map(|_| library.search(&request, None, 20));
    let results = futures_util::future::join_all(searches).await;
    let refused: Vec<&vidra::Error> = results
        .iter()
        .filter_map(|it| it.as_ref().err())
        // On a busy machine, a search can also wait for too long.
        .filter(|error| error.reason() != Reason::SearchTimedOut)
        .collect();
    assert!(!refused.is_empty() && results.iter().any(Result::is_ok), "{}", refused.len());
    for error in refused {
        assert_eq!(error.reason(), Reason::Overloaded);
        assert!(error.retry_after().is_some());
    }
    page(&library, &request).await;
}

/// A job that waits, because an address is blocked, has videos whose transcripts are stored.
async fn pending_videos_of_a_job_are_searched(on: Store) {
    let world = crate::World::over(vidra_sim::Simulator::new()).on(on);
    let library = world.library().await;
    let vidra = world.client().build().unwrap();
    let worker = world.work(&library, vidra);
    let first = library.create(crate::create(&["txManualAsr"])).await.unwrap().job.id;
    crate::settled(&library, first).await;
    worker.stop().await;
    let waiting = library.create(crate::create(&["txManualAsr"])).await.unwrap().job;
    let mut request = request("the");
    request.filter.job = Some(waiting.id);
    assert_eq!(
        page(&library, &request).await.coverage.videos,
        waiting.progress.pending,
        "{waiting:?}"
    );
    assert_eq!(waiting.progress.pending, 1);
}

crate::on_each_store!(
    the_syntax_of_queries,
    filters_choose_a_part_of_the_library,
    titles_and_descriptions_are_searched_if_requested,
    the_best_track_of_a_video_counts_once,
    recognised_speech_tells_the_original_language,
    a_changed_transcript_replaces_its_words,
    phrases_across_passages_are_found_once,
    pages_have_a_stable_order,
    the_best_moments_come_first,
    trends_count_every_time,
    the_videos_of_the_library_are_listed,
    the_newest_videos_of_frequent_words_are_ranked,
    chapters_raise_moments,
    a_title_is_found_as_it_was_stored,
    many_phrases_are_counted_within_a_bound,
    pending_videos_of_a_job_are_searched
);
