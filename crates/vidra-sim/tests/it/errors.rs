//! Errors by reason, status and shape.

use crate::fetch::{bytes, fetch};
use vidra_sim::{Kind, QUIRKS, Simulator};

#[tokio::test]
async fn invalid_calls_get_the_platform_errors() {
    let platform = Simulator::new();
    let fifty_one = vec!["aaaaaaaaaaa"; 51].join(",");
    let too_many = format!("videos?part=id&id={fifty_one}");
    let cases = [
        ("videos?id=x", 400, "missingRequiredParameter"),
        ("videos?part=id", 400, "missingRequiredParameter"),
        ("videos?part=id,nonsense&id=x", 400, "unknownPart"),
        ("videos?part=fileDetails&id=x", 403, "forbidden"),
        (&too_many, 400, "invalidFilters"),
        ("videos?part=id&id=x&chart=mostPopular", 400, "incompatibleParameters"),
        ("playlistItems?part=id", 400, "missingRequiredParameter"),
        ("playlistItems?part=id&playlistId=PLquirkUnknown", 404, "playlistNotFound"),
        ("playlistItems?part=id&playlistId=PLdoesnotexist", 404, "playlistNotFound"),
        ("playlistItems?part=id&playlistId=UUquirkNoUploads00000000", 404, "playlistNotFound"),
        ("playlistItems?part=id&playlistId=PLquirkPrivate", 403, "playlistItemsNotAccessible"),
        ("playlistItems?part=id&playlistId=PLquirkForbidden", 403, "playlistForbidden"),
        ("playlistItems?part=id&playlistId=WL", 403, "watchLaterNotAccessible"),
        ("playlistItems?part=id&playlistId=PLsize1&pageToken=zzz", 400, "invalidPageToken"),
        ("playlists?part=id&channelId=UCaaaaaaaaaaaaaaaaaaaaaa", 404, "channelNotFound"),
        ("playlists?part=id&channelId=UCquirkClosedLists000000", 403, "channelForbidden"),
        ("commentThreads?part=id", 400, "missingRequiredParameter"),
        ("commentThreads?part=id&maxResults=101&videoId=x", 400, "invalidParameter"),
        ("commentThreads?part=id&order=newest&videoId=quirkNoLike", 400, "badRequest"),
        ("commentThreads?part=id&videoId=quirkNoComm", 403, "commentsDisabled"),
        ("commentThreads?part=id&videoId=quirkPrivat", 403, "forbidden"),
        ("commentThreads?part=id&videoId=quirkAbsent", 404, "videoNotFound"),
        ("commentThreads?part=id&channelId=UCaaaaaaaaaaaaaaaaaaaaaa", 404, "channelNotFound"),
        ("commentThreads?part=id&id=UgquirkUnknown000004AaABAg", 404, "commentThreadNotFound"),
        ("comments?part=id&id=UgquirkUnknown000004AaABAg", 404, "commentNotFound"),
        ("comments?part=id&parentId=UgquirkUnknown000004AaABAg", 404, "commentNotFound"),
        ("videoCategories?part=snippet&regionCode=XX", 400, "invalidRegionCode"),
        ("videoCategories?part=snippet&id=9999", 404, "videoCategoryNotFound"),
        ("nothing?part=id", 404, "notFound"),
    ];
    for (call, status, reason) in cases {
        let answer = fetch(&platform, call).await;
        assert_eq!((answer.status, answer.reason()), (status, reason), "{call}");
        assert_eq!(answer.body["error"]["code"], status);
    }
}

#[tokio::test]
async fn documented_errors_have_the_status_of_their_row() {
    let platform = Simulator::new();
    for quirk in QUIRKS.iter().filter(|quirk| quirk.kind() == Kind::Error) {
        for call in [
            format!("videos?part=id&id=quirkNoLike,{}", quirk.id),
            format!("commentThreads?part=id&videoId={}", quirk.id),
        ] {
            let (status, body) = bytes(&platform, &call).await;
            assert!(quirk.what.starts_with(&status.to_string()), "{}: {status}", quirk.id);
            assert!(!body.is_empty());
        }
    }
    let invalid = fetch(&platform, "videos?part=id&id=errKey__400").await;
    assert_eq!(
        (invalid.reason(), &invalid.body["error"]["details"][0]["reason"]),
        ("badRequest", &"API_KEY_INVALID".into())
    );
    let text = fetch(&platform, "videos?part=id&id=errTextOnly").await;
    assert!(text.body["error"].is_string());
    let filter = fetch(&platform, "commentThreads?part=id").await;
    assert_eq!(filter.body["error"]["errors"][0]["location"], "");
}
