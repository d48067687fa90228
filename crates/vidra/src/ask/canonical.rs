//! Keys are equal where the questions are, and nowhere else.

use proptest::prelude::*;

use super::*;
use crate::Languages;

/// Text with everything in it that keys are made with.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!['a', 'A', 'é', '/', '%', '2', 'F', ',']), 1..4)
        .prop_map(String::from_iter)
}

fn one_of<T: Clone + std::fmt::Debug>(all: &[T]) -> prop::sample::Select<T> {
    prop::sample::select(all.to_vec())
}

fn asks() -> impl Strategy<Value = Ask> {
    let video =
        || one_of(&["dQw4w9WgXcQ", "dQw4w9WgXcq"]).prop_map(|id| VideoId::parse(id).unwrap());
    let playlist = || one_of(&["PLa", "PLA"]).prop_map(|id| PlaylistId::parse(id).unwrap());
    let channel = || {
        prop_oneof![
            one_of(&["UC_x5XG1OV2P6uZZ5FSM9Ttw", "UC_x5XG1OV2P6uZZ5FSM9TtW", "@aé", "@AÉ", "@a"])
                .prop_map(|name| ChannelRef::parse(name).unwrap()),
            text().prop_map(|name| ChannelRef::Username(name.into())),
            text().prop_map(|name| ChannelRef::Name(name.into())),
        ]
    };
    let order = one_of(&[CommentOrder::Time, CommentOrder::Relevance]);
    let comments = (order, 1..3_usize, prop::option::of(text()), any::<bool>()).prop_map(
        |(order, limit, search, all_replies)| CommentQuery { order, limit, search, all_replies },
    );
    let categories = prop_oneof![
        text().prop_map(CategoryQuery::Region),
        prop::collection::vec(text(), 1..3).prop_map(CategoryQuery::Ids),
    ];
    let languages =
        one_of(&["", "en", "EN", "en,de", "de,en", "en-de"]).prop_map(|list| match list {
            "" => Languages::default(),
            list => Languages::parse(list).unwrap(),
        });
    let translate = one_of(&["en", "zh-CN", "zh_cn"]).prop_map(|code| code.parse().unwrap());
    let transcript = (languages, prop::option::of(translate))
        .prop_map(|(languages, translate)| TranscriptQuery { languages, translate });
    prop_oneof![
        video().prop_map(Ask::Video),
        channel().prop_map(Ask::Channel),
        channel().prop_map(Ask::Uploads),
        playlist().prop_map(Ask::Playlist),
        playlist().prop_map(Ask::PlaylistInfo),
        playlist().prop_map(Ask::PlaylistEntries),
        (video(), comments).prop_map(|(video, query)| Ask::Comments(video, query)),
        one_of(&["Ugab", "Ugab.cd", "UgAb"])
            .prop_map(|id| Ask::Replies(CommentId::parse(id).unwrap())),
        prop::option::of(text()).prop_map(Ask::Regions),
        prop::option::of(text()).prop_map(Ask::Languages),
        (categories, prop::option::of(text())).prop_map(|(query, hl)| Ask::Categories(query, hl)),
        video().prop_map(Ask::Tracks),
        (video(), transcript).prop_map(|(video, query)| Ask::Transcript(video, query)),
    ]
}

/// What is asked, part by part: those that differ are different questions.
fn parts(ask: &Ask) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let channel = |what, channel: &ChannelRef| match channel {
        ChannelRef::Id(id) => words(&[what, "id", id.as_str()]),
        ChannelRef::Handle(handle) => words(&[what, "@", &handle.as_str().to_lowercase()]),
        ChannelRef::Username(name) => words(&[what, "user", &name.to_lowercase()]),
        ChannelRef::Name(name) => words(&[what, "c", &name.to_lowercase()]),
    };
    let hl = |hl: &Option<String>| hl.as_ref().map_or("-".to_owned(), |hl| hl.to_ascii_lowercase());
    match ask {
        Ask::Video(id) => words(&["video", id.as_str()]),
        Ask::Channel(name) => channel("channel", name),
        Ask::Uploads(name) => channel("uploads", name),
        Ask::Playlist(id) => words(&["playlist", id.as_str()]),
        Ask::PlaylistInfo(id) => words(&["info", id.as_str()]),
        Ask::PlaylistEntries(id) => words(&["entries", id.as_str()]),
        Ask::Comments(id, CommentQuery { order, limit, search, all_replies }) => {
            let rest = format!("{order:?} {limit} {all_replies}");
            words(&["comments", id.as_str(), &rest, &format!("{search:?}")])
        }
        Ask::Replies(id) => words(&["replies", id.thread()]),
        Ask::Regions(code) => words(&["regions", &hl(code)]),
        Ask::Languages(code) => words(&["languages", &hl(code)]),
        Ask::Categories(CategoryQuery::Region(region), code) => words(&["of", region, &hl(code)]),
        Ask::Categories(CategoryQuery::Ids(ids), code) => words(&["by", &ids.join(","), &hl(code)]),
        Ask::Tracks(id) => words(&["tracks", id.as_str()]),
        Ask::Transcript(id, TranscriptQuery { languages, translate }) => {
            let translate = translate.as_ref().map(|code| code.as_str().to_ascii_lowercase());
            let languages = languages.to_string().to_ascii_lowercase();
            words(&["transcript", id.as_str(), &languages, &format!("{translate:?}")])
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn one_key_is_one_question(asks in prop::collection::vec(asks(), 2..60)) {
        for one in &asks {
            for other in &asks {
                let is_same = parts(one) == parts(other);
                prop_assert_eq!(one.key() == other.key(), is_same, "{:?} and {:?}", one, other);
                prop_assert_eq!(one.key().text == other.key().text, is_same);
            }
        }
    }
}
