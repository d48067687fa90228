//! Answers conform to the discovery document of the platform.

use crate::discovery::Discovery;
use crate::fetch::{Answer, bytes, fetch, pages};
use vidra_sim::{Kind, QUIRKS, Simulator, tour};

const VIDEO: &str = "videos?part=contentDetails,liveStreamingDetails,localizations,paidProductPlacementDetails,player,recordingDetails,snippet,statistics,status,topicDetails";
const CHANNEL: &str = "channels?part=brandingSettings,contentDetails,localizations,snippet,statistics,status,topicDetails";
const PLAYLIST: &str = "playlists?part=contentDetails,localizations,player,snippet,status";
const ITEMS: &str = "playlistItems?part=contentDetails,snippet,status";
const THREADS: &str = "commentThreads?part=replies,snippet";

fn checked(discovery: &Discovery, schema: &str, what: &str, answer: &Answer) {
    if answer.status == 200 {
        let faults = discovery.check(schema, &answer.body);
        assert!(faults.is_empty(), "{what}: {faults:#?}");
    } else {
        assert!(answer.body.get("error").is_some(), "{what}: {}", answer.body);
    }
}

async fn check(discovery: &Discovery, simulator: &Simulator, schema: &str, call: &str) -> Answer {
    let answer = fetch(simulator, call).await;
    checked(discovery, schema, call, &answer);
    answer
}

#[tokio::test]
async fn documented_ids_match_the_discovery_schema() {
    let Some(discovery) = Discovery::load() else { return };
    let platform = Simulator::builder().limits(u64::MAX, u64::MAX).build();
    for quirk in QUIRKS {
        let id = quirk.id;
        let calls = match quirk.kind() {
            Kind::Video | Kind::Transcript => vec![
                ("VideoListResponse", format!("{VIDEO}&id={id}")),
                ("CommentThreadListResponse", format!("{THREADS}&videoId={id}")),
            ],
            Kind::Channel => vec![
                ("ChannelListResponse", format!("{CHANNEL}&id={id}")),
                ("PlaylistListResponse", format!("{PLAYLIST}&channelId={id}")),
                (
                    "CommentThreadListResponse",
                    format!("{THREADS}&allThreadsRelatedToChannelId={id}"),
                ),
            ],
            Kind::Playlist => vec![
                ("PlaylistListResponse", format!("{PLAYLIST}&id={id}")),
                ("PlaylistItemListResponse", format!("{ITEMS}&maxResults=50&playlistId={id}")),
            ],
            Kind::Comment => vec![
                ("CommentListResponse", format!("comments?part=snippet&id={id}")),
                ("CommentListResponse", format!("comments?part=snippet&parentId={id}")),
                ("CommentThreadListResponse", format!("{THREADS}&id={id}")),
            ],
            Kind::Handle => {
                vec![("ChannelListResponse", format!("{CHANNEL}&forHandle={}", encode(id)))]
            }
            Kind::Username => vec![("ChannelListResponse", format!("{CHANNEL}&forUsername={id}"))],
            Kind::Search => {
                let call = format!("search?part=snippet&maxResults=50&q={}", encode(id));
                vec![("SearchListResponse", call)]
            }
            Kind::Error => continue,
        };
        for (schema, call) in calls {
            check(&discovery, &platform, schema, &call).await;
        }
    }
}

fn encode(text: &str) -> String {
    text.bytes().map(|b| format!("%{b:02X}")).collect()
}

#[tokio::test]
async fn sampled_resources_match_the_discovery_schema() {
    let Some(discovery) = Discovery::load() else { return };
    let platform = Simulator::builder().seed(5).limits(u64::MAX, u64::MAX).build();
    let found = check(
        &discovery,
        &platform,
        "SearchListResponse",
        "search?part=snippet&type=channel&maxResults=50",
    )
    .await;
    for channel in found.each("/id/channelId").iter().take(24) {
        check(&discovery, &platform, "ChannelListResponse", &format!("{CHANNEL}&id={channel}"))
            .await;
        let uploads = format!("UU{}", &channel[2..]);
        let items = check(
            &discovery,
            &platform,
            "PlaylistItemListResponse",
            &format!("{ITEMS}&maxResults=20&playlistId={uploads}"),
        )
        .await;
        let videos = items.each("/contentDetails/videoId");
        let answer = check(
            &discovery,
            &platform,
            "VideoListResponse",
            &format!("{VIDEO}&id={}", videos.join(",")),
        )
        .await;
        assert_eq!(answer.items().len(), videos.len());
        let threads = check(
            &discovery,
            &platform,
            "CommentThreadListResponse",
            &format!("{THREADS}&maxResults=100&videoId={}", videos[0]),
        )
        .await;
        for author in
            threads.each("/snippet/topLevelComment/snippet/authorChannelId/value").iter().take(2)
        {
            let answer = check(
                &discovery,
                &platform,
                "ChannelListResponse",
                &format!("{CHANNEL}&id={author}"),
            )
            .await;
            assert_eq!(answer.items().len(), 1);
        }
        for page in pages(&platform, &format!("{PLAYLIST}&maxResults=50&channelId={channel}")).await
        {
            checked(&discovery, "PlaylistListResponse", channel, &page);
        }
    }
}

#[tokio::test]
async fn small_lists_match_the_discovery_schema() {
    let Some(discovery) = Discovery::load() else { return };
    let platform = Simulator::new();
    let regions =
        check(&discovery, &platform, "I18nRegionListResponse", "i18nRegions?part=snippet").await;
    let languages = check(
        &discovery,
        &platform,
        "I18nLanguageListResponse",
        "i18nLanguages?part=snippet&hl=en_US",
    )
    .await;
    assert!(regions.items().len() >= 30 && languages.items().len() >= 30);
    let german =
        check(&discovery, &platform, "I18nRegionListResponse", "i18nRegions?part=snippet&hl=de")
            .await;
    assert_ne!(regions.each("/snippet/name"), german.each("/snippet/name"));
    let categories = check(
        &discovery,
        &platform,
        "VideoCategoryListResponse",
        "videoCategories?part=snippet&regionCode=US",
    )
    .await;
    check(
        &discovery,
        &platform,
        "VideoCategoryListResponse",
        "videoCategories?part=snippet&id=10,28&hl=de",
    )
    .await;
    assert!(categories.body.get("pageInfo").is_none());
    check(
        &discovery,
        &platform,
        "VideoListResponse",
        "videos?part=snippet&chart=mostPopular&maxResults=50",
    )
    .await;
    check(&discovery, &platform, "SearchListResponse", "search?part=snippet&q=boats&type=video")
        .await;
}

#[tokio::test]
async fn parameters_match_the_discovery_document() {
    let Some(discovery) = Discovery::load() else { return };
    let platform = Simulator::new();
    let resources = [
        "videos",
        "channels",
        "playlists",
        "playlistItems",
        "commentThreads",
        "comments",
        "search",
        "videoCategories",
        "i18nRegions",
        "i18nLanguages",
    ];
    for resource in resources {
        for name in discovery.parameters(resource) {
            let answer = fetch(&platform, &format!("{resource}?{name}=x")).await;
            let message = answer.body["error"]["message"].as_str().unwrap_or_default();
            assert!(!message.contains("Unknown name"), "{resource} should know {name}");
        }
        let answer = fetch(&platform, &format!("{resource}?part=snippet&prat=x")).await;
        assert_eq!((answer.status, answer.reason()), (400, "badRequest"), "{resource}");
    }
}

#[tokio::test]
async fn responses_depend_on_the_seed_only() {
    let call = "playlistItems?part=snippet,contentDetails&maxResults=50&playlistId=PLsize500";
    let (one, again, other) =
        (Simulator::new(), Simulator::new(), Simulator::builder().seed(2).build());
    let first = bytes(&one, call).await;
    assert_eq!(first, bytes(&again, call).await);
    assert_eq!(first, bytes(&one, call).await);
    assert_ne!(first, bytes(&other, call).await);
}

#[tokio::test]
async fn every_tour_stop_exists() {
    let platform = Simulator::new();
    for stop in tour() {
        let id = encode(&stop.id);
        let call = match stop.kind {
            Kind::Video | Kind::Error | Kind::Transcript => format!("videos?part=id&id={id}"),
            Kind::Channel => format!("channels?part=id&id={id}"),
            Kind::Handle => format!("channels?part=id&forHandle={id}"),
            Kind::Username => format!("channels?part=id&forUsername={id}"),
            Kind::Playlist if stop.id.contains("Private") => continue,
            Kind::Playlist => format!("playlists?part=id&id={id}"),
            Kind::Comment => format!("comments?part=id&id={id}"),
            Kind::Search => format!("search?part=id&maxResults=1&q={id}"),
        };
        assert_eq!(fetch(&platform, &call).await.items().len(), 1, "{}", stop.what);
    }
}
