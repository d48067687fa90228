//! json3: `{"events":[{"tStartMs":80,"dDurationMs":3839,"segs":[{"utf8":"The"},…]},…]}`.
//!
//! The parser runs in one pass and builds no tree, because this is the longest format. Events
//! without `segs` define windows. Events that only append a line break have no words and are
//! omitted.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::super::cue::Cue;
use super::Unreadable;
use super::track::{Track, decimal};
use super::words::{Mark, Offset};

pub(super) fn read(body: &[u8]) -> Result<Vec<Cue>, Unreadable> {
    let root: Root =
        serde_json::from_slice(body).map_err(|error| Unreadable::Malformed(error.to_string()))?;
    match (root.events, root.wire_magic) {
        (Some(Events(track)), _) => Ok(track.finish()),
        // A track without events. Any other JSON is an error message.
        (None, Some(_)) => Ok(vec![]),
        (None, None) => Err(Unreadable::NotTimedText),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Root {
    wire_magic: Option<IgnoredAny>,
    events: Option<Events>,
}

/// The events. The parser converts each one to a cue immediately.
struct Events(Track);

#[derive(Deserialize)]
struct EventObject {
    #[serde(rename = "tStartMs", default)]
    start: Millis,
    #[serde(rename = "dDurationMs", default)]
    duration: Millis,
    #[serde(rename = "segs", default)]
    text: Option<Segments>,
}

/// The text of all segments, and their starts if they have times. The segments contain their own
/// spaces.
#[derive(Default)]
struct Segments {
    text: Vec<u8>,
    marks: Vec<Mark>,
}

#[derive(Deserialize)]
struct Segment<'a> {
    #[serde(borrow)]
    utf8: Option<Utf8<'a>>,
    #[serde(rename = "tOffsetMs", default)]
    offset: SegmentTime,
}

/// The time of a segment. Unlike the time of an event it is not necessary, so no value of it is an
/// error.
#[derive(Default)]
struct SegmentTime(Offset);

/// Read as bytes, because YouTube splits emoji. As text, half of an escaped surrogate pair would
/// fail the whole track.
struct Utf8<'a>(Cow<'a, [u8]>);

/// A time, if YouTube wrote one.
#[derive(Default)]
struct Millis(Option<u64>);

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Events;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of events")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<Events, A::Error> {
                let mut track = Track::default();
                while let Some(event) = events.next_element::<Option<EventObject>>()? {
                    let Some(event) = event else { continue };
                    let Some(segments) = event.text else { continue };
                    let text = String::from_utf8_lossy(&segments.text);
                    // Replaced bytes move all later segments.
                    let is_exact = matches!(text, Cow::Borrowed(_));
                    let marks = if is_exact { &*segments.marks } else { &[] };
                    track
                        .push(event.start.0, event.duration.0, &text, marks)
                        .map_err(A::Error::custom)?;
                }
                Ok(Events(track))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

impl Segments {
    fn push(&mut self, words: &[u8], offset: Offset) {
        // Most events have one segment without a time. They need no list of starts.
        if self.marks.is_empty() && (!self.text.is_empty() || offset != Offset::Omitted) {
            self.marks.reserve(8);
            if !self.text.is_empty() {
                self.marks.push(Mark { at: 0, offset: Offset::Omitted });
            }
        }
        if self.marks.capacity() > 0 {
            // The text is shorter than the body, whose size is limited.
            self.marks.push(Mark { at: self.text.len() as u32, offset });
        }
        self.text.extend_from_slice(words);
    }
}

impl<'de> Deserialize<'de> for Segments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Segments;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of segments")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut segments: A) -> Result<Segments, A::Error> {
                let mut list = Segments::default();
                while let Some(segment) = segments.next_element::<Option<Segment<'de>>>()? {
                    let Some(Segment { utf8: Some(Utf8(words)), offset }) = segment else {
                        continue;
                    };
                    list.push(&words, offset.0);
                }
                Ok(list)
            }
        }
        deserializer.deserialize_seq(List)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Utf8<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Utf8<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<Utf8<'de>, E> {
                Ok(Utf8(Cow::Borrowed(bytes)))
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Utf8<'de>, E> {
                Ok(Utf8(Cow::Owned(bytes.to_owned())))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Time;
        impl Visitor<'_> for Time {
            type Value = Millis;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("milliseconds")
            }

            fn visit_u64<E>(self, millis: u64) -> Result<Millis, E> {
                Ok(Millis(Some(millis)))
            }

            /// Negative times become 0.
            fn visit_i64<E>(self, millis: i64) -> Result<Millis, E> {
                Ok(Millis(Some(u64::try_from(millis).unwrap_or(0))))
            }

            fn visit_f64<E>(self, millis: f64) -> Result<Millis, E> {
                // Saturates at both ends.
                Ok(Millis(Some(millis.round() as u64)))
            }

            fn visit_str<E>(self, millis: &str) -> Result<Millis, E> {
                Ok(Millis(decimal(millis, 0)))
            }

            fn visit_unit<E>(self) -> Result<Millis, E> {
                Ok(Millis(None))
            }
        }
        deserializer.deserialize_any(Time)
    }
}

impl<'de> Deserialize<'de> for SegmentTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Time;
        impl<'de> Visitor<'de> for Time {
            type Value = SegmentTime;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("milliseconds")
            }

            fn visit_u64<E>(self, millis: u64) -> Result<SegmentTime, E> {
                Ok(SegmentTime(Offset::from_millis(millis)))
            }

            fn visit_i64<E>(self, _: i64) -> Result<SegmentTime, E> {
                Ok(SegmentTime(Offset::Unknown))
            }

            fn visit_f64<E>(self, _: f64) -> Result<SegmentTime, E> {
                Ok(SegmentTime(Offset::Unknown))
            }

            fn visit_bool<E>(self, _: bool) -> Result<SegmentTime, E> {
                Ok(SegmentTime(Offset::Unknown))
            }

            fn visit_str<E>(self, millis: &str) -> Result<SegmentTime, E> {
                let millis = decimal(millis, 0);
                Ok(SegmentTime(millis.map_or(Offset::Unknown, Offset::from_millis)))
            }

            fn visit_unit<E>(self) -> Result<SegmentTime, E> {
                Ok(SegmentTime(Offset::Omitted))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SegmentTime, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(SegmentTime(Offset::Unknown))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SegmentTime, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(SegmentTime(Offset::Unknown))
            }
        }
        deserializer.deserialize_any(Time)
    }
}
