//! `channels.list`: full and bare channels, and the ways of saying "none".

use vidra::{Channel, ChannelRef, ErrorKind, HiddenCount, PlaylistId, Result};

use super::{Recorded, bytes_of, fixtures};

pub(super) const FILES: &[&str] = &[
    "all-parts.json",
    "contentdetails-likes-empty.json",
    "single-statistics-commentcount.json",
    "snippet-customurl-absent.json",
    "snippet-publishedat-absent.json",
    "snippet-statistics-2023.json",
    "statistics-only.json",
    "status-only.json",
    "two-channels-branding.json",
    "unknown-id-items-absent-2022.json",
    "unknown-id-items-empty.json",
    "unknown-username-items-absent.json",
];

const DEVELOPERS: &str = "UC_x5XG1OV2P6uZZ5FSM9Ttw";
const YOUTUBE: &str = "UCBR8-60-B28hp2BmDPdntcQ";

/// `None` where there are no recordings.
async fn read(file: &str, channel: &str) -> Option<Result<Channel>> {
    let body = bytes_of(&fixtures()?, &format!("channels/{file}"));
    let client = Recorded::default().page("channels", body).client();
    Some(client.channel(&ChannelRef::parse(channel).unwrap()).await)
}

#[tokio::test]
async fn names_countries_and_uploads() {
    let developers = (DEVELOPERS, "Google Developers", "@googledevelopers", Some("US"));
    let uploads = "UU_x5XG1OV2P6uZZ5FSM9Ttw";
    let renamed = (DEVELOPERS, "Google for Developers", "@googledevelopers", Some("US"));
    let google = ("UCK8sQmJBp8GCxrOtXWBpyEA", "Google", "@google", None);
    let derek = ("UCAmh1DexLGcMtDlzMCIxo4w", "Derek Barnes", "@derekbarnes", Some("US"));
    let table = [
        ("all-parts.json", developers, uploads),
        ("single-statistics-commentcount.json", developers, ""),
        ("snippet-statistics-2023.json", renamed, ""),
        ("two-channels-branding.json", google, "UUK8sQmJBp8GCxrOtXWBpyEA"),
        ("two-channels-branding.json", developers, uploads),
        ("snippet-customurl-absent.json", derek, ""),
        ("snippet-publishedat-absent.json", (YOUTUBE, "YouTube", "@youtube", Some("US")), ""),
        ("contentdetails-likes-empty.json", (YOUTUBE, "", "@", None), "UUBR8-60-B28hp2BmDPdntcQ"),
        ("status-only.json", (YOUTUBE, "", "@", None), ""),
    ];
    for (file, (id, name, username, country), uploads) in table {
        let Some(channel) = read(file, id).await else { return };
        let channel = channel.unwrap_or_else(|error| panic!("{file}: {error:?}"));
        assert_eq!(channel.id, id, "{file}");
        assert_eq!(channel.name, name, "{file}");
        assert_eq!(channel.username, username, "{file}");
        assert_eq!(channel.country.as_deref(), country, "{file}");
        assert_eq!(channel.uploads_playlist_id, PlaylistId::parse(uploads).ok(), "{file}");
        let pictures = &channel.thumbnails;
        let sizes = [&pictures.default, &pictures.medium, &pictures.high];
        let has_snippet = !name.is_empty();
        assert!(sizes.iter().all(|size| size.is_some() == has_snippet), "{file}");
        assert!(pictures.standard.is_none() && pictures.maxres.is_none(), "{file}");
    }
}

#[tokio::test]
async fn counts_and_withheld_counts() {
    let none: &[HiddenCount] = &[];
    let all: &[HiddenCount] =
        &[HiddenCount::Subscribers, HiddenCount::TotalViews, HiddenCount::VideoCount];
    let psy = "UCrDkAvwZum-UTjHmzDI2iIw";
    let derek = "UCAmh1DexLGcMtDlzMCIxo4w";
    let table = [
        ("statistics-only.json", psy, (17_700_000, "18M"), (10_103_593_957, "10B"), 121, none),
        (
            "snippet-statistics-2023.json",
            DEVELOPERS,
            (2_300_000, "2.3M"),
            (234_084_903, "234M"),
            5_783,
            none,
        ),
        ("all-parts.json", DEVELOPERS, (1_927_873, "1.9M"), (160_361_638, "160M"), 5_026, none),
        (
            "two-channels-branding.json",
            DEVELOPERS,
            (2_260_000, "2.3M"),
            (208_790_084, "209M"),
            5_652,
            none,
        ),
        ("snippet-customurl-absent.json", derek, (0, "0"), (0, "0"), 0, all),
        ("status-only.json", YOUTUBE, (0, "0"), (0, "0"), 0, all),
    ];
    for (file, id, subscribers, views, videos, hidden) in table {
        let Some(channel) = read(file, id).await else { return };
        let channel = channel.unwrap_or_else(|error| panic!("{file}: {error:?}"));
        assert_eq!((channel.subscribers, channel.subscribers_fmt.as_str()), subscribers, "{file}");
        assert_eq!((channel.total_views, channel.total_views_fmt.as_str()), views, "{file}");
        assert_eq!(channel.video_count, videos, "{file}");
        assert_eq!(channel.hidden, hidden, "{file}");
    }
}

#[tokio::test]
async fn an_unknown_channel_is_not_found_whether_items_are_empty_or_absent() {
    let table = [
        ("unknown-id-items-empty.json", YOUTUBE, YOUTUBE),
        ("unknown-id-items-absent-2022.json", "@nobody", "@nobody"),
        ("unknown-username-items-absent.json", "youtube.com/user/paris-rb", "paris-rb"),
    ];
    for (file, requested, shown) in table {
        let Some(channel) = read(file, requested).await else { return };
        let error = channel.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{file}");
        assert_eq!(error.message(), format!("Channel not found: {shown}"));
    }
}
