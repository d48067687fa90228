//! When collections are synced, audited and tried again. Pure: the time is a parameter.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use vidra::Reason;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// After which time since the publication a video without captions is tried again.
const LATE_CAPTIONS: [Duration; 5] = [
    HOUR,
    Duration::from_secs(6 * 3600),
    DAY,
    Duration::from_secs(3 * 24 * 3600),
    Duration::from_secs(7 * 24 * 3600),
];

/// How often a video is tried if YouTube fails.
const MOST_TRIES: u32 = 20;

/// The longest time between two checks of a channel beside its feed.
pub(crate) const LONGEST_CHECK: Duration = DAY;

/// How old the list of a channel may become. On the days between, the number of its videos replaces the list.
pub(crate) const LONGEST_CHANNEL_LIST: Duration = Duration::from_secs(48 * 3600);

/// How old the list of a playlist may become, by its number of entries. A long one costs many units.
pub(crate) fn longest_playlist_list(entries: u64) -> Duration {
    const SHORT: u64 = 200;
    if entries <= SHORT { DAY } else { 7 * DAY }
}

/// The next regular sync. The syncs of collections are spread over time: each has its own phase. A sync that was missed
/// is not made up for; the next one finds the same videos.
pub(crate) fn next_sync(number: i64, every: Duration, now: Timestamp) -> Timestamp {
    let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX).max(1);
    // Consecutive numbers are spread evenly: the golden ratio.
    let spread = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let phase = ((u128::from(spread) * every as u128) >> 64) as i64;
    // At least half an interval after this one.
    let earliest = now.as_millisecond().saturating_add(every / 2);
    let next = earliest + (phase - earliest).rem_euclid(every);
    Timestamp::from_millisecond(next).unwrap_or(Timestamp::MAX)
}

/// Whether a check has to be repeated in this sync, because it would be older than `longest` in the next one.
pub(crate) fn is_due(
    last: Option<Timestamp>,
    longest: Duration,
    every: Duration,
    now: Timestamp,
) -> bool {
    let Some(last) = last else { return true };
    let age = Duration::try_from(now.duration_since(last)).unwrap_or_default();
    // A sync is never at its exact time.
    age + every > longest + every / 20
}

/// When the list of a channel counts as read after its first time. The lists of many channels are spread over the time
/// until the next check.
pub(crate) fn first_list_at(source: i64, now: Timestamp) -> Timestamp {
    let most = LONGEST_CHANNEL_LIST - LONGEST_CHECK;
    let earlier = (most.as_millis() as u64).saturating_mul(source.rem_euclid(8) as u64) / 8;
    now.checked_sub(Duration::from_millis(earlier)).unwrap_or(now)
}

/// The future of a video whose transcript could not be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It is tried again at this time.
    At(Timestamp),
    /// It has no transcript.
    Never,
    /// It was deleted, or is private.
    Gone,
}

/// Decides about a video that failed for `reason` after `tries` earlier attempts. `appeared` is the time of its
/// publication, if that is known.
pub(crate) fn outlook(
    reason: Reason,
    appeared: Option<Timestamp>,
    tries: u32,
    now: Timestamp,
) -> Outlook {
    let after = |time: Duration| now.checked_add(time).map_or(Outlook::Never, Outlook::At);
    match reason {
        Reason::VideoNotFound | Reason::VideoPrivate => Outlook::Gone,
        // Captions, or access for everybody, may come later.
        Reason::CaptionsDisabled
        | Reason::LanguageUnavailable
        | Reason::CaptionsKindUnavailable
        | Reason::MembersOnly
        | Reason::Unplayable => {
            let Some(appeared) = appeared else { return Outlook::Never };
            let times = LATE_CAPTIONS.iter().filter_map(|time| appeared.checked_add(*time).ok());
            times.into_iter().find(|at| *at > now).map_or(Outlook::Never, Outlook::At)
        }
        // Nobody knows when a broadcast ends. Some never do.
        Reason::NotStarted | Reason::NotEnded => after(match tries {
            0..48 => HOUR,
            48..100 => 6 * HOUR,
            _ => DAY,
        }),
        Reason::AgeRestricted | Reason::RegionBlocked | Reason::TranscriptRemoved => Outlook::Never,
        _ if tries + 1 >= MOST_TRIES => Outlook::Never,
        _ => after((HOUR * 2_u32.saturating_pow(tries.min(10))).min(DAY)),
    }
}

/// When a date of the Data API should be read again. YouTube allows to store it for 30 days; the dates of a long list
/// are spread over a week, so that they do not cost many units on one day.
pub(crate) fn refresh_at(video: &str, now: Timestamp) -> Timestamp {
    let spread = i64::from(crc32fast::hash(video.as_bytes()) % (7 * 24 * 3600));
    let wait = SignedDuration::from_secs(20 * 24 * 3600 + spread);
    now.checked_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + hours * 3600).unwrap()
    }

    #[test]
    fn syncs_have_a_phase_and_are_spread() {
        let every = 6 * HOUR;
        let mut phases = vec![];
        for number in 1..=100 {
            let first = next_sync(number, every, at(0));
            let second = next_sync(number, every, first);
            assert_eq!(second.duration_since(first), SignedDuration::from_hours(6), "{number}");
            let wait = first.duration_since(at(0));
            assert!(wait >= SignedDuration::from_hours(3) && wait < SignedDuration::from_hours(9));
            // After a week without the service there is one sync, and the phase stays.
            let later = next_sync(number, every, at(7 * 24));
            assert_eq!(later.duration_since(first).as_secs() % (6 * 3600), 0);
            phases.push(first.as_second().rem_euclid(6 * 3600) / 600);
        }
        phases.sort_unstable();
        phases.dedup();
        assert!(phases.len() > 30, "in 36 parts of ten minutes: {}", phases.len());
    }

    #[test]
    fn a_check_is_due_before_a_day_has_passed() {
        let table = [
            (None, 24, 6, true),
            (Some(-18), 24, 6, false),
            (Some(-24), 24, 6, true),
            // The next sync would be after 25 hours.
            (Some(-20), 24, 5, true),
            (Some(-15), 24, 5, false),
            (Some(-24), 24, 24, true),
            (Some(-1), 24, 48, true),
            (Some(-42), 48, 6, false),
            (Some(-48), 48, 6, true),
        ];
        for (last, longest, every, expected) in table {
            let due = is_due(last.map(at), longest * HOUR, every * HOUR, at(0));
            assert_eq!(due, expected, "{last:?} {longest} {every}");
        }
    }

    #[test]
    fn first_lists_are_spread_over_a_day() {
        let mut times: Vec<Timestamp> = (1..=8).map(|n| first_list_at(n, at(0))).collect();
        times.sort_unstable();
        assert_eq!((times[0], times[7]), (at(-21), at(0)));
    }

    #[test]
    fn captions_may_come_within_a_week() {
        let missing = |appeared: Option<i64>, now: i64| {
            outlook(Reason::CaptionsDisabled, appeared.map(at), 3, at(now))
        };
        let table = [(0, Some(1)), (1, Some(6)), (6, Some(24)), (30, Some(72)), (72, Some(168))];
        for (now, next) in table {
            assert_eq!(
                missing(Some(0), now),
                next.map_or(Outlook::Never, |it| Outlook::At(at(it)))
            );
        }
        assert_eq!(missing(Some(0), 168), Outlook::Never);
        assert_eq!(missing(None, 0), Outlook::Never, "an old video of a first list");
    }

    #[test]
    fn other_failures_have_their_own_times() {
        let table = [
            (Reason::NotStarted, 0, Outlook::At(at(1))),
            (Reason::NotEnded, 60, Outlook::At(at(6))),
            (Reason::NotStarted, 900, Outlook::At(at(24))),
            (Reason::VideoPrivate, 0, Outlook::Gone),
            (Reason::VideoNotFound, 9, Outlook::Gone),
            (Reason::AgeRestricted, 0, Outlook::Never),
            (Reason::UpstreamFailed, 0, Outlook::At(at(1))),
            (Reason::UpstreamFailed, 3, Outlook::At(at(8))),
            (Reason::PlatformChanged, 12, Outlook::At(at(24))),
            (Reason::PlatformChanged, 19, Outlook::Never),
        ];
        for (reason, tries, expected) in table {
            assert_eq!(outlook(reason, Some(at(-9)), tries, at(0)), expected, "{reason} {tries}");
        }
    }
}
