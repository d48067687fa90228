//! Two keys are equal if and only if the requests are equal.

use proptest::prelude::*;

use super::*;
use crate::search::{SafeSearch, SearchKind, SearchLength, SearchLive, SearchOrder};
use crate::transcript::{CaptionKind, Languages};

/// Text from the characters that are special in keys.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!['a', 'A', 'é', '/', '%', '2', 'F', ',']), 1..4)
        .prop_map(String::from_iter)
}

fn one_of<T: Clone + std::fmt::Debug>(all: &[T]) -> prop::sample::Select<T> {
    prop::sample::select(all.to_vec())
}

/// The parts of a request, written beside the request and not derived from it. Code that loses a
/// part must not lose it on both sides of the comparison.
type Identity = Vec<String>;

fn identity(parts: &[&str]) -> Identity {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

/// An optional display language and its identity.
fn names_in() -> impl Strategy<Value = (Option<String>, String)> {
    prop::option::of(text()).prop_map(|hl| {
        let identity = hl.as_ref().map_or("-".to_owned(), |hl| hl.to_ascii_lowercase());
        (hl, identity)
    })
}

/// A search and its identity. YouTube ignores the case of its words.
fn searches() -> impl Strategy<Value = (SearchQuery, String)> {
    let order = one_of(&[SearchOrder::Relevance, SearchOrder::Date]);
    let kind = one_of(&[SearchKind::Video, SearchKind::Channel]);
    let length = one_of(&[None, Some(SearchLength::Short), Some(SearchLength::Long)]);
    let live = one_of(&[None, Some(SearchLive::Live), Some(SearchLive::Ended)]);
    let safe = one_of(&[SafeSearch::Moderate, SafeSearch::Strict]);
    let since = one_of(&[None, Some("2026-01-31"), Some("2026-02-01")]);
    let region = one_of(&[None, Some("DE"), Some("US")]);
    let channel = one_of(&[None, Some("UC_x5XG1OV2P6uZZ5FSM9Ttw"), Some("@a")]);
    let parts = (text(), order, kind, length, live, safe, since, (region, channel));
    parts.prop_map(|(text, order, kind, length, live, safe, since, (region, channel))| {
        let identity = format!(
            "{} {order:?} {kind:?} {length:?} {live:?} {safe:?} {since:?} {region:?} {channel:?}",
            text.to_lowercase()
        );
        let since = since.map(|since| crate::list::DateRange::parse_since(since).unwrap());
        let query = SearchQuery::parse(&text).unwrap().with_order(order).with_kind(kind);
        let query = query.with_length(length).with_live(live).with_safe(safe);
        let query = query.with_range(crate::list::DateRange { since, until: None });
        let query = query.with_region(region.map(str::to_owned));
        (query.with_channel(channel.map(|it| ChannelRef::parse(it).unwrap())), identity)
    })
}

fn lookups() -> impl Strategy<Value = (Lookup, Identity)> {
    let video =
        || one_of(&["dQw4w9WgXcQ", "dQw4w9WgXcq"]).prop_map(|id| (VideoId::parse(id).unwrap(), id));
    let playlist = || one_of(&["PLa", "PLA"]).prop_map(|id| (PlaylistId::parse(id).unwrap(), id));
    let channel = || {
        prop_oneof![
            one_of(&[
                ("UC_x5XG1OV2P6uZZ5FSM9Ttw", "id UC_x5XG1OV2P6uZZ5FSM9Ttw"),
                ("UC_x5XG1OV2P6uZZ5FSM9TtW", "id UC_x5XG1OV2P6uZZ5FSM9TtW"),
                ("@aé", "handle aé"),
                ("@AÉ", "handle aé"),
                ("@a", "handle a"),
            ])
            .prop_map(|(name, identity)| (ChannelRef::parse(name).unwrap(), identity.to_owned())),
            text().prop_map(|name| {
                let identity = format!("user {}", name.to_lowercase());
                (ChannelRef::Username(name.into()), identity)
            }),
            text().prop_map(|name| {
                let identity = format!("custom {}", name.to_lowercase());
                (ChannelRef::Name(name.into()), identity)
            }),
        ]
    };
    let channel_id = || one_of(&["UC_x5XG1OV2P6uZZ5FSM9Ttw", "UC_x5XG1OV2P6uZZ5FSM9TtW"]);
    let region =
        one_of(&[(None, "us"), (Some("US"), "us"), (Some("us"), "us"), (Some("DE"), "de")]);
    let order = one_of(&[(CommentOrder::Time, "time"), (CommentOrder::Relevance, "relevance")]);
    let comments = (order.clone(), 1..3_usize, prop::option::of(text()), any::<bool>()).prop_map(
        |((order, order_name), limit, search, all_replies)| {
            let words = search.iter().flat_map(|search| search.split_whitespace());
            let words: Vec<String> = words.map(str::to_lowercase).collect();
            let identity = format!("{order_name} {limit} {all_replies} {words:?}");
            (CommentQuery { order, limit, search, all_replies }, identity)
        },
    );
    let categories = prop_oneof![
        text().prop_map(|region| {
            let identity = format!("region {region}");
            (CategoryQuery::Region(region), identity)
        }),
        prop::collection::vec(text(), 1..3).prop_map(|ids| {
            let identity = format!("ids {}", ids.join(","));
            (CategoryQuery::Ids(ids), identity)
        }),
    ];
    let languages = one_of(&[
        (None, "spoken"),
        (Some("en"), "en"),
        (Some("EN"), "en"),
        (Some("de"), "de"),
        (Some("en,de"), "en then de"),
        (Some(" en , de,"), "en then de"),
        (Some("de,en"), "de then en"),
        (Some("en-de"), "en-de"),
        (Some("en_DE"), "en-de"),
        (Some("en,en-de"), "en then en-de"),
    ])
    .prop_map(|(list, identity)| {
        (list.map_or_else(Languages::default, |list| Languages::parse(list).unwrap()), identity)
    });
    let captions = one_of(&[None, Some(CaptionKind::Manual), Some(CaptionKind::Auto)]);
    let translate = one_of(&[
        (None, "as it is"),
        (Some("en"), "to en"),
        (Some("de"), "to de"),
        (Some("zh-CN"), "to zh-cn"),
        (Some("zh_cn"), "to zh-cn"),
    ])
    .prop_map(|(code, identity)| (code.map(|code| code.parse().unwrap()), identity));
    prop_oneof![
        video().prop_map(|(video, id)| (Lookup::Video(video), identity(&["video", id]))),
        channel().prop_map(|(name, id)| (Lookup::Channel(name), identity(&["channel", &id]))),
        channel().prop_map(|(name, id)| (Lookup::Uploads(name), identity(&["uploads", &id]))),
        channel().prop_map(|(name, id)| (Lookup::UploadIds(name), identity(&["upload ids", &id]))),
        playlist().prop_map(|(list, id)| (Lookup::Playlist(list), identity(&["playlist", id]))),
        playlist().prop_map(|(list, id)| (Lookup::PlaylistInfo(list), identity(&["info", id]))),
        playlist()
            .prop_map(|(list, id)| (Lookup::PlaylistEntries(list), identity(&["entries", id]))),
        (playlist(), text()).prop_map(|((list, id), token)| {
            let identity = identity(&["page", id, &token]);
            (Lookup::PlaylistPage(list, token), identity)
        }),
        (channel_id(), text()).prop_map(|(id, token)| {
            let identity = identity(&["playlists", id, &token]);
            (Lookup::ChannelPlaylists(ChannelId::bare(id).unwrap(), token), identity)
        }),
        channel().prop_map(|(name, id)| (Lookup::ChannelFeed(name), identity(&["feed", &id]))),
        playlist().prop_map(|(list, id)| (Lookup::PlaylistFeed(list), identity(&["feed of", id]))),
        (video(), order, text()).prop_map(|((video, id), (order, order_name), token)| {
            let identity = identity(&["threads", id, order_name, &token]);
            (Lookup::ThreadPage(video, order, token), identity)
        }),
        (region, prop::option::of(text()), text()).prop_map(|((region, name), category, token)| {
            let identity = identity(&["chart", name, &format!("{category:?}"), &token]);
            let region = region.map(str::to_owned);
            (Lookup::ChartPage(ChartQuery { region, category }, token), identity)
        }),
        (video(), comments).prop_map(|((video, id), (query, rest))| {
            (Lookup::Comments(video, query), identity(&["comments", id, &rest]))
        }),
        one_of(&[("Ugab", "Ugab"), ("Ugab.cd", "Ugab"), ("Ugab.ef", "Ugab"), ("UgAb", "UgAb")])
            .prop_map(|(id, thread)| {
                (Lookup::Replies(CommentId::parse(id).unwrap()), identity(&["replies", thread]))
            }),
        (searches(), text()).prop_map(|((query, id), token)| {
            let identity = identity(&["search", &id, &token]);
            (Lookup::Search(query, token), identity)
        }),
        names_in().prop_map(|(hl, id)| (Lookup::Regions(hl), identity(&["regions", &id]))),
        names_in().prop_map(|(hl, id)| (Lookup::Languages(hl), identity(&["languages", &id]))),
        (categories, names_in()).prop_map(|((query, id), (hl, names))| {
            (Lookup::Categories(query, hl), identity(&["categories", &id, &names]))
        }),
        video().prop_map(|(video, id)| (Lookup::Tracks(video), identity(&["tracks", id]))),
        (video(), languages, translate, captions).prop_map(
            |((video, id), (languages, from), (translate, to), captions)| {
                let query = TranscriptQuery { languages, translate, captions };
                let kind = captions.map_or("", CaptionKind::word);
                (Lookup::Transcript(video, query), identity(&["transcript", id, from, to, kind]))
            }
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn keys_are_equal_exactly_if_the_lookups_are(lookups in prop::collection::vec(lookups(), 2..60)) {
        for (one, identity) in &lookups {
            for (other, other_identity) in &lookups {
                let is_same = identity == other_identity;
                prop_assert_eq!(one.key() == other.key(), is_same, "{:?} and {:?}", one, other);
                prop_assert_eq!(one.key().text == other.key().text, is_same);
            }
        }
    }
}

/// The exact keys. A store holds them across releases: a change requires a new [`SCHEMA`].
#[test]
fn keys_have_the_expected_text() {
    let video = VideoId::parse("dQw4w9WgXcQ").unwrap();
    let transcript = |languages: &str, translate: Option<&str>| {
        let languages = match languages {
            "" => Languages::default(),
            list => Languages::parse(list).unwrap(),
        };
        let translate = translate.map(|code| code.parse().unwrap());
        Lookup::Transcript(video, TranscriptQuery { languages, translate, captions: None })
    };
    let query = TranscriptQuery::default().with_captions(CaptionKind::Manual);
    let manual = Lookup::Transcript(video, query);
    let comments = |order, search: Option<&str>, all_replies| {
        let search = search.map(str::to_owned);
        Lookup::Comments(video, CommentQuery { order, limit: 20, search, all_replies })
    };
    let channel = |text| Lookup::Channel(ChannelRef::parse(text).unwrap());
    let playlist = PlaylistId::parse("PLa").unwrap();
    let id = ChannelId::bare("UC_x5XG1OV2P6uZZ5FSM9Ttw").unwrap();
    let german_music =
        ChartQuery { region: Some("de".to_owned()), category: Some("10".to_owned()) };
    let table = [
        (Lookup::Video(video), "video/dQw4w9WgXcQ"),
        (channel("UC_x5XG1OV2P6uZZ5FSM9Ttw"), "channel/id/UC_x5XG1OV2P6uZZ5FSM9Ttw"),
        (channel("@Fermata"), "channel/handle/fermata"),
        (channel("youtube.com/user/Paris-RB"), "channel/user/paris-rb"),
        (channel("youtube.com/c/École"), "channel/name/%C3%A9cole"),
        (Lookup::Uploads(ChannelRef::parse("@a").unwrap()), "uploads/handle/a"),
        (Lookup::Playlist(playlist.clone()), "playlist/PLa"),
        (Lookup::PlaylistInfo(playlist.clone()), "playlist-info/PLa"),
        (Lookup::PlaylistEntries(playlist.clone()), "playlist-entries/PLa"),
        (Lookup::PlaylistPage(playlist.clone(), String::new()), "playlist-page/PLa/"),
        (Lookup::PlaylistPage(playlist, "EAA/=".to_owned()), "playlist-page/PLa/EAA%2F%3D"),
        (
            Lookup::ChannelPlaylists(id, "CDI=".to_owned()),
            "channel-playlists/UC_x5XG1OV2P6uZZ5FSM9Ttw/CDI%3D",
        ),
        (Lookup::ChannelFeed(ChannelRef::parse("@A").unwrap()), "channel-feed/handle/a"),
        (Lookup::PlaylistFeed(PlaylistId::parse("PLa").unwrap()), "playlist-feed/PLa"),
        (
            Lookup::ThreadPage(video, CommentOrder::Relevance, "a/b".to_owned()),
            "thread-page/dQw4w9WgXcQ/relevance/a%2Fb",
        ),
        (Lookup::ChartPage(ChartQuery::default(), String::new()), "chart/US//"),
        (Lookup::ChartPage(german_music, "CDIQAA".to_owned()), "chart/DE/10/CDIQAA"),
        (comments(CommentOrder::Time, None, false), "comments/dQw4w9WgXcQ/time/20/preview/"),
        (
            comments(CommentOrder::Relevance, Some("a/b c"), true),
            "comments/dQw4w9WgXcQ/relevance/20/all/a%2Fb%20c",
        ),
        (Lookup::Replies(CommentId::parse("Ugab.cd").unwrap()), "replies/Ugab"),
        (
            Lookup::Search(SearchQuery::parse("A/b c").unwrap(), "CDIQAA".to_owned()),
            "search/video/relevance////////moderate/a%2Fb%20c/CDIQAA",
        ),
        (Lookup::Regions(None), "regions/"),
        (Lookup::Regions(Some("DE".to_owned())), "regions/de"),
        (Lookup::Languages(Some("zh-Hant".to_owned())), "languages/zh-hant"),
        (Lookup::Categories(CategoryQuery::Region("US".to_owned()), None), "categories/of/US/"),
        (
            Lookup::Categories(CategoryQuery::Ids(vec!["1".to_owned(), "10".to_owned()]), None),
            "categories/by/1,10/",
        ),
        (Lookup::Tracks(video), "tracks/dQw4w9WgXcQ"),
        (transcript("", None), "transcript/dQw4w9WgXcQ///"),
        (transcript("en", None), "transcript/dQw4w9WgXcQ/en//"),
        (transcript("de", None), "transcript/dQw4w9WgXcQ/de//"),
        (transcript("de,pt_BR", None), "transcript/dQw4w9WgXcQ/de,pt-br//"),
        (transcript("", Some("de")), "transcript/dQw4w9WgXcQ//de/"),
        (manual, "transcript/dQw4w9WgXcQ///manual"),
        (transcript("zh-Hans", Some("zh_Hant")), "transcript/dQw4w9WgXcQ/zh-hans/zh-hant/"),
    ];
    for (lookup, key) in table {
        assert_eq!(lookup.key().text, key);
    }
}
