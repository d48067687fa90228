//! Thirty days of 100 channels: nothing is missed for longer than a day, and the bill stays small.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use vidra::Pacing;
use vidra::clock::Clock;
use vidra_library::{CollectionVideo, VideoState};
use vidra_sim::{Action, Change, Endpoint, Fault, PlaylistChange};

use crate::collections::{hours, put, show, videos, world};

const DAYS: i64 = 30;

/// The days without feeds.
const OUTAGE: std::ops::Range<i64> = 12..19;

/// What shall happen.
#[derive(Default)]
struct Plan {
    /// When a source begins to show a video.
    appears: HashMap<String, Timestamp>,
    /// When a video is deleted or made private.
    disappears: HashMap<String, Timestamp>,
    /// When a video has captions.
    captioned: HashMap<String, Timestamp>,
}

#[tokio::test(start_paused = true)]
async fn a_hundred_channels_cost_a_hundred_units_a_day() {
    let world = world();
    let start = world.clock.now();
    let at = |hours: f64| start + SignedDuration::from_secs_f64(hours * 3600.0);
    let mut random = fastrand::Rng::with_seed(18);
    let mut plan = Plan::default();
    let schedule = |id: &str, change, time| world.platform.schedule(id, change, time).unwrap();

    let mut channels: Vec<String> = (0..95).map(|n| format!("@crowd{n:03}")).collect();
    // Shorts, broadcasts, and feeds that are stale, broken, empty or missing.
    let odd =
        ["@pocketworkshop", "@compiletime", "UCquirkFeedStale00000000", "UCquirkFeedEmpty00000000"];
    channels.extend(odd.map(str::to_owned));
    channels.push("UCquirkFeedMissing000000".to_owned());
    assert_eq!(channels.len(), 100);
    for (number, channel) in channels.iter().enumerate() {
        let uploads = world.platform.upload_ids(channel);
        assert!(uploads.len() > 14, "{channel}");
        let count = [0, 1, 3, 6, 12][number % 5].min(uploads.len() - 10);
        let mut times: Vec<f64> =
            (0..count).map(|_| random.f64() * (DAYS as f64 * 24.0 - 30.0) + 26.0).collect();
        times.sort_by(f64::total_cmp);
        for (time, id) in times.iter().zip(uploads[..count].iter().rev()) {
            schedule(id, Change::Published, at(*time));
            plan.appears.insert(id.clone(), at(*time));
            match random.u32(0..10) {
                0 | 1 => {
                    schedule(id, Change::Ended, at(time + 5.0));
                    plan.captioned.insert(id.clone(), at(time + 5.0));
                }
                2 | 3 => {
                    schedule(id, Change::Captions, at(time + 4.0));
                    plan.captioned.insert(id.clone(), at(time + 4.0));
                }
                4 if time + 60.0 < DAYS as f64 * 24.0 - 60.0 => {
                    let change = *random.choice([Change::Deleted, Change::Private].iter()).unwrap();
                    schedule(id, change, at(time + 60.0));
                    plan.disappears.insert(id.clone(), at(time + 60.0));
                }
                _ => {}
            }
        }
    }
    let archive = world.platform.upload_ids("@everydayarchive");
    let playlists = ["PLsize50", "PLsize49", "PLsize51"];
    for (number, (playlist, size)) in playlists.iter().zip([50, 49, 51]).enumerate() {
        let edit = |change, day: f64| {
            world.platform.schedule_playlist(playlist, change, at(day * 24.0)).unwrap();
        };
        let day = 4.3 + number as f64;
        edit(PlaylistChange::Reordered, day);
        edit(PlaylistChange::Extended, day + 6.2);
        // The list begins with the second video of the archive, and has one more.
        plan.appears.entry(archive[size].clone()).or_insert(at((day + 6.2) * 24.0));
        edit(PlaylistChange::Replaced, day + 12.1);
    }

    let library = world.library().await;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    let sources: Vec<&str> = channels.iter().map(String::as_str).chain(playlists).collect();
    library.put_collection(put(&sources, json!({"limit": 2}))).await.unwrap();
    for day in 0..DAYS {
        if day == OUTAGE.start {
            world.platform.inject(Fault::on(Endpoint::Feed, Action::status(404)));
        }
        if day == OUTAGE.end {
            world.platform.clear_faults();
        }
        hours(24).await;
    }
    worker.stop().await;

    let found: BTreeMap<String, CollectionVideo> =
        videos(&library).await.into_iter().map(|it| (it.video_id.to_string(), it)).collect();
    let mut longest = SignedDuration::ZERO;
    let end = world.clock.now();
    let a_day = SignedDuration::from_hours(24) + SignedDuration::from_mins(5);
    for (id, appeared) in &plan.appears {
        if end.duration_since(*appeared) < a_day {
            continue;
        }
        let video = found.get(id).unwrap_or_else(|| panic!("{id} of {appeared} was not found"));
        let wait = video.found_at.duration_since(*appeared);
        assert!(wait <= a_day, "{id} was found {wait} after {appeared}");
        longest = longest.max(wait);
    }
    for (id, gone) in &plan.disappears {
        assert_eq!(found[id].state, VideoState::Gone, "{id} since {gone}");
    }
    for (id, time) in &plan.captioned {
        let has_time = end.duration_since(*time) > SignedDuration::from_hours(24);
        let is_there = found.get(id).is_some_and(|video| video.state == VideoState::Transcribed);
        let is_gone = found.get(id).is_some_and(|video| video.state == VideoState::Gone);
        assert!(!has_time || is_there || is_gone, "{id} since {time}: {:?}", found.get(id));
    }
    assert!(plan.appears.len() > 300 && plan.disappears.len() > 20 && plan.captioned.len() > 100);

    // The first day lists everything. On the last one the clock stops.
    let record = world.platform.record();
    let days: Vec<(String, u64)> =
        record.units_by_day.iter().map(|(day, units)| (day.clone(), units.default)).collect();
    let shown: Vec<u64> = days.iter().map(|(_, units)| *units).collect();
    println!("units a day: {shown:?}; longest wait: {longest}");
    for (index, units) in shown.iter().enumerate().skip(2) {
        let index = index as i64;
        let is_outage = (OUTAGE.start..=OUTAGE.end).contains(&index);
        let most = if is_outage { 110 } else { 100 };
        assert!(*units < most, "day {index}: {units} of {shown:?}");
    }
    let details = show(&library).await;
    let coverage = &details.collection.coverage;
    assert_eq!(coverage.pending, 0, "{coverage:?}");
    tokio::time::sleep(Duration::ZERO).await;
}
