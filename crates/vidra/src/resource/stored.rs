//! Whether a stored record has the form that its key requires. A store is shared with other programs and other
//! releases, and a wrong record must be a miss instead of an answer.

use serde::de::DeserializeOwned;

use crate::cache::is_refusal_body;
use crate::channel::Channel;
use crate::comment::{Comment, CommentThread};
use crate::feed::FeedAnswer;
use crate::ident::VideoId;
use crate::playlist::PlaylistInfo;
use crate::region::{Language, Region, VideoCategory};
use crate::resource::paged::RecordPage;
use crate::resource::playlist::page::EntryPage;
use crate::resource::playlist::{EntryList, Start};
use crate::resource::search::ResultPage;
use crate::resource::{transcript, video};
use crate::store::Record;
use crate::transcript::CaptionTrack;
use crate::video::Video;

/// Whether the body of a record can be decoded as the resource of its key.
pub(crate) fn has_valid_body(key: &str, record: &Record) -> bool {
    if record.is_refusal {
        return is_refusal_body(&record.body);
    }
    let is_valid = match key.split('/').next() {
        Some("video") => video::record::is_valid,
        Some("channel") => is::<Channel>,
        Some("upload-ids") => is::<Vec<VideoId>>,
        Some("playlist-info") => is::<PlaylistInfo>,
        Some("playlist-entries") => is::<EntryList>,
        Some("playlist-page") => is::<EntryPage>,
        Some("playlist-start") => is::<Start>,
        Some("channel-playlists") => is::<RecordPage<PlaylistInfo>>,
        Some("channel-feed" | "playlist-feed") => is::<FeedAnswer>,
        Some("thread-page") => is::<RecordPage<CommentThread>>,
        Some("search") => is::<ResultPage>,
        Some("chart") => is::<RecordPage<Video>>,
        Some("comments") => is::<Vec<CommentThread>>,
        Some("replies") => is::<Vec<Comment>>,
        Some("regions") => is::<Vec<Region>>,
        Some("languages") => is::<Vec<Language>>,
        Some("categories") => is::<Vec<VideoCategory>>,
        Some("tracks") => is::<Vec<CaptionTrack>>,
        Some("transcript") => transcript::is_valid,
        _ => return false,
    };
    is_valid(&record.body)
}

fn is<T: DeserializeOwned>(body: &[u8]) -> bool {
    serde_json::from_slice::<T>(body).is_ok()
}
