//! The entries of playlists and uploads, one upstream page at a time.

use vidra::{
    Availability, ChannelRef, EntryPage, EntrySource, PlaylistEntry, PlaylistId, Reason, SourceId,
    Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim::{builder, client};

fn playlist(id: &str) -> EntrySource {
    EntrySource::Playlist(PlaylistId::parse(id).unwrap())
}

fn uploads(channel: &str) -> EntrySource {
    EntrySource::Uploads(ChannelRef::parse(channel).unwrap())
}

async fn page(vidra: &Vidra, source: &EntrySource, cursor: Option<&str>) -> EntryPage {
    vidra.entries_page(source, cursor).await.unwrap()
}

/// All entries of a list, and the number of its pages.
async fn all(vidra: &Vidra, source: &EntrySource) -> (Vec<PlaylistEntry>, usize) {
    let (mut all, mut cursor, mut pages) = (vec![], None, 0);
    loop {
        let page = page(vidra, source, cursor.as_deref()).await;
        assert!(page.entries.len() <= 50);
        all.extend(page.entries);
        pages += 1;
        cursor = page.next_cursor;
        if cursor.is_none() {
            assert!(all.iter().map(|entry| entry.position).eq(1..=all.len() as u64));
            return (all, pages);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_costs_one_unit_a_page_and_continues_in_another_client() {
    let sim = Simulator::new();
    let source = playlist("PLsize120");
    let (mut entries, mut cursor, mut units) = (vec![], None, 0);
    for pages in 1..=3 {
        // As after a restart: without a cache.
        let vidra = client(&sim).metered();
        let page = page(&vidra, &source, cursor.as_deref()).await;
        assert_eq!(page.source, SourceId::Playlist(PlaylistId::parse("PLsize120").unwrap()));
        entries.extend(page.entries);
        cursor = page.next_cursor;
        units += vidra.cost().units();
        assert_eq!((units, cursor.is_some()), (pages, pages < 3));
    }
    assert_eq!(sim.record().units.default, 3);
    assert_eq!(sim.record().calls_to(Endpoint::PlaylistItems), 3);
    assert!(entries.iter().map(|entry| entry.position).eq(1..=120));
    assert!(entries.iter().all(|entry| entry.availability == Availability::Public
        && entry.video.is_some()
        && entry.published.is_some()
        && !entry.title.is_empty()));
    let ids = client(&sim).playlist_ids(&PlaylistId::parse("PLsize120").unwrap()).await.unwrap();
    assert!(entries.iter().filter_map(|entry| entry.video).eq(ids.video_ids));
}

#[tokio::test(start_paused = true)]
async fn pages_come_from_the_cache() {
    let sim = Simulator::new();
    let vidra = builder(&sim).cache_bytes(64 << 20).build().unwrap();
    let first = all(&vidra, &playlist("PLsize120")).await;
    assert_eq!((first.0.len(), first.1, sim.record().calls), (120, 3, 3));
    assert_eq!(all(&vidra, &playlist("PLsize120")).await, first);
    assert_eq!(sim.record().calls, 3);
    // The record of a whole list has the pages too.
    vidra.playlist_ids(&PlaylistId::parse("PLsize51").unwrap()).await.unwrap();
    assert_eq!(all(&vidra, &playlist("PLsize51")).await.0.len(), 51);
    assert_eq!(sim.record().calls, 5);
}

#[tokio::test(start_paused = true)]
async fn private_and_deleted_videos_are_listed() {
    let (entries, _) = all(&client(&Simulator::new()), &playlist("PLquirkUnavailable")).await;
    for entry in &entries {
        // Every fifth is private and every seventh deleted.
        let expected = match entry.position {
            position if position % 5 == 0 => Availability::Private,
            position if position % 7 == 0 => Availability::Deleted,
            _ => Availability::Public,
        };
        assert_eq!(entry.availability, expected, "{entry:?}");
        assert_eq!(entry.title.is_empty(), expected != Availability::Public, "{entry:?}");
    }
    let (bare, _) = all(&client(&Simulator::new()), &playlist("PLquirkBareItems")).await;
    assert!(bare.iter().any(|entry| entry.video.is_none()));
}

#[tokio::test(start_paused = true)]
async fn the_uploads_of_a_handle_are_looked_up_once() {
    let sim = Simulator::new();
    let id = ChannelRef::parse("UCquirkManyUploads000000").unwrap();
    let many = client(&sim).channel(&id).await.unwrap();
    let (source, mut cursor) = (uploads(&many.username), None);
    sim.reset_record();
    for number in 1..=3 {
        let vidra = client(&sim).metered();
        let page = page(&vidra, &source, cursor.as_deref()).await;
        assert!(matches!(&page.source, SourceId::Channel(id) if id.as_str() == many.id));
        assert_eq!(page.entries[0].position, 50 * (number - 1) + 1);
        assert_eq!(vidra.cost().units(), if number == 1 { 2 } else { 1 }, "page {number}");
        cursor = page.next_cursor;
        assert!(cursor.is_some());
    }
    assert_eq!(sim.record().calls_to(Endpoint::Channels), 1);
}

#[tokio::test(start_paused = true)]
async fn a_channel_without_uploads_has_an_empty_page() {
    let (entries, pages) =
        all(&client(&Simulator::new()), &uploads("UCquirkNoUploads00000000")).await;
    assert_eq!((entries.len(), pages), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn odd_lists_end() {
    for (id, count, pages) in
        [("PLquirkTokenLoop", 100, 2), ("PLquirkEmptyPage", 70, 3), ("PLsize50", 50, 1)]
    {
        let (entries, read) = all(&client(&Simulator::new()), &playlist(id)).await;
        assert_eq!((entries.len(), read), (count, pages), "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cursor_of_another_list_is_rejected() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let cursor = page(&vidra, &playlist("PLsize120"), None).await.next_cursor.unwrap();
    let calls = sim.record().calls;
    for (source, cursor) in [
        (playlist("PLsize51"), cursor.as_str()),
        (uploads("@fermata"), &cursor),
        (playlist("PLsize120"), "nonsense"),
        (playlist("PLsize120"), ""),
    ] {
        let error = vidra.entries_page(&source, Some(cursor)).await.unwrap_err();
        assert_eq!(error.reason(), Reason::InvalidCursor, "{source:?} {cursor}");
    }
    assert_eq!(sim.record().calls, calls);
    let rejected = Action::error("invalidPageToken");
    sim.inject(Fault::on(Endpoint::PlaylistItems, rejected).once());
    let error = vidra.entries_page(&playlist("PLsize120"), Some(&cursor)).await.unwrap_err();
    assert_eq!(error.reason(), Reason::InvalidCursor);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_exist_is_not_found() {
    let vidra = client(&Simulator::new());
    for (source, reason) in [
        (playlist("PLnobodyHasThisOne"), Reason::PlaylistNotFound),
        (uploads("UCnobodyHasThisChannel00"), Reason::ChannelNotFound),
        (uploads("@nobodyhasthis"), Reason::ChannelNotFound),
    ] {
        let error = vidra.entries_page(&source, None).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{source:?}");
    }
}
