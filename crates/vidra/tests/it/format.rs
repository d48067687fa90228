//! Formatted values, compared with their definitions.

use jiff::{SignedDuration, Timestamp};
use vidra::format::{
    Moment, age, age_changes, clock, compact, iso_millis, long_date, parse_duration, span,
};

/// Written by scripts/compact-steps.mjs: where each text of the reference begins.
const STEPS: &str = include_str!("../data/compact-steps.tsv");

/// The last value that the steps cover, and the values looked at in each, as in the script.
const LIMIT: u64 = 1_000_000_000_000_000;
const POINTS: u64 = 26;

fn steps() -> Vec<(u64, &'static str)> {
    let lines = STEPS.lines().filter(|line| !line.starts_with('#'));
    let step = |line: &'static str| {
        let (first, text) = line.split_once('\t').expect("two columns");
        (first.parse().expect("a whole number"), text)
    };
    lines.map(step).collect()
}

#[test]
fn compact_equals_the_reference_at_every_step() {
    let steps = steps();
    assert_eq!(steps.len(), 5_321);
    let ends = steps.iter().skip(1).map(|(next, _)| next - 1).chain([LIMIT]);
    let mut values = 0;
    for ((first, text), last) in steps.iter().zip(ends) {
        let point = |i: u64| {
            first + (u128::from(last - first) * u128::from(i) / u128::from(POINTS - 1)) as u64
        };
        let mut points: Vec<u64> = (0..POINTS).map(point).collect();
        points.dedup();
        values += points.len();
        for value in points {
            assert_eq!(compact(value), *text, "{value}");
        }
    }
    // The first thousand steps hold one value each.
    assert_eq!(values, 1_000 + 4_321 * POINTS as usize);
}

#[test]
fn compact_at_the_edges_of_each_magnitude() {
    let table = [
        (0, "0"),
        (9, "9"),
        (999, "999"),
        (1_000, "1K"),
        (1_049, "1K"),
        (1_050, "1.1K"),
        (9_949, "9.9K"),
        (9_950, "10K"),
        (10_499, "10K"),
        (10_500, "11K"),
        (999_499, "999K"),
        (999_500, "1M"),
        (1_049_999, "1M"),
        (1_050_000, "1.1M"),
        (9_949_999, "9.9M"),
        (9_950_000, "10M"),
        (999_499_999, "999M"),
        (999_500_000, "1B"),
        (1_763_613_349, "1.8B"),
        (999_499_999_999, "999B"),
        (999_500_000_000, "1T"),
        (1_200_000_000_000, "1.2T"),
        (999_499_999_999_999, "999T"),
        (999_500_000_000_000, "1000T"),
        (LIMIT, "1000T"),
        // Past the last unit; the reference got exact integers.
        (9_007_199_254_740_993, "9007T"),
        (9_999_499_999_999_999, "9999T"),
        (9_999_500_000_000_000, "10,000T"),
        (12_345_678_901_234_567, "12,346T"),
        (999_500_000_000_000_000, "999,500T"),
        (u64::MAX, "18,446,744T"),
    ];
    for (value, text) in table {
        assert_eq!(compact(value), text, "{value}");
    }
}

#[test]
fn clocks() {
    let table = [
        (0, "0:00"),
        (7, "0:07"),
        (59, "0:59"),
        (60, "1:00"),
        (214, "3:34"),
        (3_599, "59:59"),
        (3_600, "1:00:00"),
        (4_086, "1:08:06"),
        (35_999, "9:59:59"),
        (86_400, "24:00:00"),
        (93_784, "26:03:04"),
        (u64::MAX, "5124095576030431:00:15"),
    ];
    for (seconds, text) in table {
        assert_eq!(clock(seconds), text, "{seconds}");
    }
}

#[test]
fn spans() {
    let table = [
        (0, "0s"),
        (1, "1s"),
        (59, "59s"),
        (60, "1m"),
        (61, "1m 1s"),
        (3_600, "1h"),
        (3_601, "1h 1s"),
        (86_399, "23h 59m 59s"),
        (86_400, "1d"),
        (86_460, "1d 1m"),
        (192_730, "2d 5h 32m 10s"),
        (400 * 86_400, "400d"),
        (u64::MAX, "213503982334601d 7h 15s"),
    ];
    for (seconds, text) in table {
        assert_eq!(span(seconds), text, "{seconds}");
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn long_dates_are_in_utc() {
    let table = [
        ("2009-10-25T06:57:33Z", "October 25, 2009"),
        ("2005-04-23T23:59:59.999Z", "April 23, 2005"),
        ("2024-02-29T00:00:00Z", "February 29, 2024"),
        ("2026-01-01T00:30:00+01:00", "December 31, 2025"),
        ("2025-12-31T20:00:00-05:00", "January 1, 2026"),
        ("1969-12-31T23:59:59Z", "December 31, 1969"),
        ("2025-05-09T12:00:00Z", "May 9, 2025"),
    ];
    for (time, text) in table {
        assert_eq!(long_date(at(time)), text, "{time}");
    }
}

#[test]
fn timestamps_have_exactly_milliseconds() {
    let table = [
        ("2009-10-25T06:57:33Z", "2009-10-25T06:57:33.000Z"),
        ("2009-10-25T06:57:33.1Z", "2009-10-25T06:57:33.100Z"),
        ("2025-07-29T21:05:04.776363Z", "2025-07-29T21:05:04.776Z"),
        ("2013-11-28T21:00:38.98011Z", "2013-11-28T21:00:38.980Z"),
        // Truncated, not rounded, as in JavaScript: a time never becomes the next day.
        ("2025-12-31T23:59:59.9999Z", "2025-12-31T23:59:59.999Z"),
        ("2025-12-31T23:59:59.000999999Z", "2025-12-31T23:59:59.000Z"),
        ("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z"),
        ("1969-12-31T23:59:59.25Z", "1969-12-31T23:59:59.250Z"),
    ];
    for (time, text) in table {
        assert_eq!(iso_millis(at(time)), text, "{time}");
    }
}

#[test]
fn ages_at_every_boundary() {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let table = [
        (-400 * DAY, "just now"),
        (-1, "just now"),
        (0, "just now"),
        (59, "just now"),
        (MINUTE, "1 minute ago"),
        (2 * MINUTE - 1, "1 minute ago"),
        (2 * MINUTE, "2 minutes ago"),
        (HOUR - 1, "59 minutes ago"),
        (HOUR, "1 hour ago"),
        (2 * HOUR, "2 hours ago"),
        (DAY - 1, "23 hours ago"),
        (DAY, "1 day ago"),
        (2 * DAY - 1, "1 day ago"),
        (2 * DAY, "2 days ago"),
        (7 * DAY, "7 days ago"),
        (14 * DAY - 1, "13 days ago"),
        (14 * DAY, "2 weeks ago"),
        (21 * DAY, "3 weeks ago"),
        (28 * DAY, "4 weeks ago"),
        (30 * DAY - 1, "4 weeks ago"),
        (30 * DAY, "1 month ago"),
        (59 * DAY, "1 month ago"),
        (60 * DAY, "2 months ago"),
        (330 * DAY, "11 months ago"),
        (364 * DAY, "11 months ago"),
        (365 * DAY - 1, "11 months ago"),
        (365 * DAY, "1 year ago"),
        (730 * DAY - 1, "1 year ago"),
        (730 * DAY, "2 years ago"),
        (7_300 * DAY, "20 years ago"),
    ];
    let now = at("2026-11-15T12:00:00.25Z");
    for (seconds, text) in table {
        assert_eq!(age(now - SignedDuration::from_secs(seconds), now), text, "{seconds} s");
    }
    // Whole seconds that have passed, not the difference of two clocks' seconds.
    let almost = at("2026-11-15T11:59:00.9Z");
    assert_eq!(age(almost, now), "just now");
    assert_eq!(age(Timestamp::MIN, Timestamp::MAX), "20012 years ago");
}

#[test]
fn ages_are_valid_until_they_change() {
    let now = at("2026-11-15T12:00:00.25Z");
    let borders = [1_i64, 60, 3_600, 86_400, 7 * 86_400, 14 * 86_400, 30 * 86_400, 365 * 86_400];
    let mut dice = fastrand::Rng::with_seed(3);
    let near = borders.iter().flat_map(|border| [1, 2, 3, 11, 12].map(|n| border * n));
    let near = near.flat_map(|seconds| [-1, 0, 1].map(|off| seconds + off));
    let far = (0..2_000).map(|_| dice.i64(-100_000..1_000_000_000));
    let mut ages: Vec<_> = near.chain(far).map(|seconds| seconds * 1_000_000_000).collect();
    ages.extend((0..2_000).map(|_| dice.i64(-1_000_000_000_000..500 * 86_400_000_000_000)));
    for nanoseconds in ages {
        let published = now - SignedDuration::from_nanos(nanoseconds);
        let (wording, changes) = (age(published, now), age_changes(published, now));
        assert!(changes > now, "{published}");
        let instant = SignedDuration::from_nanos(1);
        assert_eq!(age(published, changes - instant), wording, "{published} until {changes}");
        assert_ne!(age(published, changes), wording, "{published} from {changes} on");
        // It does not change in between either.
        let (between, passed) = (changes.duration_since(now), dice.f64());
        let then = now + SignedDuration::from_secs_f64(between.as_secs_f64() * passed * 0.999);
        assert_eq!(age(published, then), wording, "{published} at {then}");
    }
    assert_eq!(age_changes(Timestamp::MIN, Timestamp::MAX), Timestamp::MAX);
}

#[test]
fn durations() {
    let table = [
        ("PT3M34S", 214),
        ("PT12S", 12),
        ("PT34M", 2_040),
        ("PT1H", 3_600),
        ("PT1H1M17S", 3_677),
        ("PT26H", 93_600),
        ("PT90M", 5_400),
        ("PT3600S", 3_600),
        ("P1DT2H3M4S", 93_784),
        ("P1D", 86_400),
        ("P1W", 604_800),
        ("P2W3DT1S", 1_468_801),
        ("P0D", 0),
        ("PT0S", 0),
        ("P0DT0H0M0S", 0),
        ("PT1.9S", 1),
        ("PT0.999999999S", 0),
        ("PT1.5M", 90),
        ("pt3m34s", 214),
        // Not a valid duration, or one without a fixed length.
        ("-PT5S", 0),
        ("PT-5S", 0),
        ("P1M", 0),
        ("P1Y2M", 0),
        ("", 0),
        ("P", 0),
        ("PT", 0),
        ("T5S", 0),
        ("5", 0),
        ("5 minutes", 0),
        ("3m 34s", 0),
        ("3:34", 0),
        ("PT5", 0),
        ("PT5X", 0),
        ("PT3S4M", 0),
        ("PT3M34S ", 0),
        ("PT３M", 0),
        ("live", 0),
        ("PT99999999999999999999S", 0),
        ("P99999999999999999999D", 0),
        ("PT9223372036854775807S", 0),
    ];
    for (text, seconds) in table {
        assert_eq!(parse_duration(text), seconds, "{text:?}");
    }
}

#[test]
fn moments() {
    let table = [
        (Some("2009-10-25T06:57:33Z"), "2009-10-25T06:57:33.000Z"),
        (Some("2025-06-30T04:08:25.002277Z"), "2025-06-30T04:08:25.002Z"),
        (Some("2009-10-25T08:57:33+02:00"), "2009-10-25T06:57:33.000Z"),
        (Some("2009-10-25 06:57:33Z"), "2009-10-25T06:57:33.000Z"),
        (Some("2009-10-25"), ""),
        (Some("2009-10-25T06:57:33"), ""),
        (Some("2009-13-45T06:57:33Z"), ""),
        (Some("1256453853"), ""),
        (Some("yesterday"), ""),
        (Some(""), ""),
        (None, ""),
    ];
    for (text, shown) in table {
        let moment = Moment::parse(text);
        assert_eq!(moment.to_string(), shown, "{text:?}");
        assert_eq!(moment.timestamp().is_some(), !shown.is_empty(), "{text:?}");
        assert_eq!(serde_json::to_value(moment).unwrap(), shown, "{text:?}");
    }
    let [earlier, later] =
        ["2009-10-25T06:57:33Z", "2009-10-25T06:57:33.1Z"].map(|text| Moment::parse(Some(text)));
    assert!(Moment::default() < earlier && earlier < later, "missing dates sort before all others");
}
