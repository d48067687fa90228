//! The rows of videos that change while the simulator runs.

use super::{playlist, video};
use crate::quirk::PlaylistQuirk as P;
use crate::quirk::{Course, Quirk, VideoQuirk};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// An hour before the start.
const RECENT: Course =
    Course { published: -HOUR, captions: None, ended: None, private: None, deleted: None };

const fn changing(id: &'static str, course: Course, what: &'static str) -> Quirk {
    video(id, VideoQuirk::Changing(course), what)
}

/// All times count from the start of the simulator.
#[rustfmt::skip] // one row per line
pub(super) const CHANGING: &[Quirk] = &[
    changing("laterCapt5h", Course { captions: Some(4 * HOUR), ..RECENT }, "published an hour before the start; no captions until 5 hours after the publication"),
    changing("laterCapt2d", Course { captions: Some(2 * DAY - HOUR), ..RECENT }, "published an hour before the start; no captions until 2 days after the publication"),
    changing("laterNever_", Course { captions: Some(i64::MAX), ..RECENT }, "published an hour before the start; captions never appear"),
    changing("liveEnds40m", Course { published: -20 * MINUTE, ended: Some(40 * MINUTE), ..RECENT }, "live since 20 minutes before the start; ends after 40 minutes, and has captions then"),
    changing("liveEndCapt", Course { published: -20 * MINUTE, ended: Some(40 * MINUTE), captions: Some(3 * HOUR), ..RECENT }, "the same broadcast; its captions appear 3 hours after the start"),
    changing("soonDeleted", Course { deleted: Some(DAY), ..RECENT }, "deleted a day after the start"),
    changing("soonPrivate", Course { private: Some(DAY), ..RECENT }, "becomes private a day after the start"),
    playlist("PLquirkChanging", P::EveryChanging, "all videos from `laterCapt5h` to `soonPrivate`"),
];
