//! The types of arguments. Each has its parser and its schema side by side. Invalid arguments end here,
//! before the call costs anything.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vidra::{ChannelRef, LanguageCode, Languages, PlaylistId, VideoId};

use crate::call_error::CallError;

/// The longest text that may hold an identifier, in characters.
const LONGEST_ID: usize = 2048;

/// A whole number within bounds, with a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whole<const LEAST: u64, const MOST: u64, const DEFAULT: u64>(u64);

/// The limit of an answer, in characters.
pub(crate) type MaxChars = Whole<4_000, 200_000, 20_000>;

/// A position in a playlist, counted from 1.
pub(crate) type Position = Whole<1, 1_000_000, 1>;

impl<const LEAST: u64, const MOST: u64, const DEFAULT: u64> Whole<LEAST, MOST, DEFAULT> {
    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    pub(crate) fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const LEAST: u64, const MOST: u64, const DEFAULT: u64> Default
    for Whole<LEAST, MOST, DEFAULT>
{
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<const LEAST: u64, const MOST: u64, const DEFAULT: u64> Serialize
    for Whole<LEAST, MOST, DEFAULT>
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de, const LEAST: u64, const MOST: u64, const DEFAULT: u64> Deserialize<'de>
    for Whole<LEAST, MOST, DEFAULT>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<const LEAST: u64, const MOST: u64>;

        impl<const LEAST: u64, const MOST: u64> Visitor<'_> for Reader<LEAST, MOST> {
            type Value = u64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {LEAST} to {MOST}")
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<u64, E> {
                let fits = (LEAST..=MOST).contains(&number);
                fits.then_some(number)
                    .ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<u64, E> {
                Err(E::invalid_value(Unexpected::Signed(number), &self))
            }

            /// Some clients send every number as `5.0`.
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<u64, E> {
                let fits = number.fract() == 0.0 && (LEAST as f64..=MOST as f64).contains(&number);
                fits.then_some(number as u64)
                    .ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
            }
        }
        deserializer.deserialize_any(Reader::<LEAST, MOST>).map(Self)
    }
}

impl<const LEAST: u64, const MOST: u64, const DEFAULT: u64> JsonSchema
    for Whole<LEAST, MOST, DEFAULT>
{
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Whole{LEAST}To{MOST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": LEAST, "maximum": MOST})
    }
}

/// Declares arguments that are parsed from text, with their limits of length and examples.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident($inner:ty) by $parse:expr,
        $least:literal to $most:expr, like $examples:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub(crate) struct $name(pub(crate) $inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                // The parser rejects what is too short.
                if text.chars().count() > $most {
                    return Err(D::Error::custom(format!("expected at most {} characters", $most)));
                }
                let parse: fn(&str) -> Result<$inner, String> = $parse;
                parse(text.trim()).map(Self).map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let examples: &[&str] = &$examples;
                let mut schema =
                    json_schema!({"type": "string", "minLength": $least, "maxLength": $most});
                if !examples.is_empty() {
                    schema.insert("examples".to_owned(), examples.into());
                }
                schema
            }
        }
    )+};
}

texts! {
    /// A video, by id or URL.
    VideoArg(VideoId) by |text| described(VideoId::parse(text)),
        1 to LONGEST_ID, like ["dQw4w9WgXcQ", "https://youtu.be/dQw4w9WgXcQ"];
    /// A playlist, by id or URL.
    PlaylistArg(PlaylistId) by |text| described(PlaylistId::parse(text)),
        1 to LONGEST_ID,
        like ["https://www.youtube.com/playlist?list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf"];
    /// A channel, by id, handle or URL.
    ChannelArg(ChannelRef) by |text| described(ChannelRef::parse(text)),
        1 to LONGEST_ID, like ["@GoogleDevelopers", "UC_x5XG1OV2P6uZZ5FSM9Ttw"];
    /// Languages by preference.
    LanguagesArg(Languages) by |text| described(Languages::parse(text)),
        2 to 200, like ["en", "de,en"];
    /// One language.
    LanguageArg(LanguageCode) by |text| described(text.parse()), 2 to 20, like ["de"];
    /// The words to search for.
    SearchWords(String) by |text| match text {
        "" => Err("expected some words".to_owned()),
        text => Ok(text.to_owned()),
    }, 1 to 200, like [];
}

/// Replaces an error of the library by its message and details.
fn described<T>(parsed: vidra::Result<T>) -> Result<T, String> {
    parsed.map_err(|error| {
        let details = error.details().iter().map(String::as_str);
        [error.message()].into_iter().chain(details).collect::<Vec<_>>().join("; ")
    })
}

/// From 1 to [`MOST_VIDEOS`] videos.
#[derive(Debug, Clone)]
pub(crate) struct VideoArgs(pub(crate) Vec<VideoId>);

/// The most videos of one call.
pub(crate) const MOST_VIDEOS: usize = 50;

/// The descriptions of tools name this number: change them with it.
const _: () = assert!(MOST_VIDEOS == 50);

impl<'de> Deserialize<'de> for VideoArgs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let videos = Vec::<VideoArg>::deserialize(deserializer)?;
        match videos.len() {
            1..=MOST_VIDEOS => Ok(Self(videos.into_iter().map(|VideoArg(id)| id).collect())),
            count => {
                let expected = format!("from 1 to {MOST_VIDEOS} videos");
                Err(D::Error::invalid_length(count, &expected.as_str()))
            }
        }
    }
}

impl JsonSchema for VideoArgs {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "VideoArgs".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = VideoArg::json_schema(generator);
        json_schema!({"type": "array", "minItems": 1, "maxItems": MOST_VIDEOS, "items": items})
    }
}

/// The start of the next page: an item of the list, and a part of that item.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) item: u64,
    pub(crate) part: u64,
}

const EXPECTED_CURSOR: &str = "expected the nextCursor of an earlier answer";

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            0 => write!(f, "{}", self.item),
            part => write!(f, "{}.{part}", self.item),
        }
    }
}

impl Cursor {
    /// The beginning of an item.
    pub(crate) fn at(item: usize) -> Self {
        Self { item: item as u64, part: 0 }
    }

    /// How many of `count` items precede the cursor, 0 without one.
    ///
    /// Fails for a cursor that no answer of this tool contains: beyond the last item, or within one.
    pub(crate) fn skip(given: Option<Self>, count: usize) -> Result<usize, CallError> {
        match given {
            None => Ok(0),
            Some(Self { part: 1.., .. }) => {
                Err(CallError::bad(format!("cursor: {EXPECTED_CURSOR}")))
            }
            Some(Self { item, .. }) => {
                let item = usize::try_from(item).unwrap_or(usize::MAX);
                let is_within = item < count.max(1);
                is_within.then_some(item).ok_or_else(Self::beyond_the_end)
            }
        }
    }

    /// The error for a cursor that points beyond the last item.
    pub(crate) fn beyond_the_end() -> CallError {
        CallError::bad("cursor: is beyond the end")
    }

    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| {
            let is_plain = text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_plain)
        };
        let (item, part) = text.split_once('.').unwrap_or((text, "0"));
        Some(Self { item: number(item)?, part: number(part)? })
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || D::Error::custom(EXPECTED_CURSOR);
        Self::parse(&text).ok_or_else(wrong)
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Cursor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Cursor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": r"^[0-9]{1,9}(\.[0-9]{1,9})?$"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_keep_their_bounds() {
        let read = |text: &str| serde_json::from_str::<Whole<1, 50, 5>>(text).map(Whole::get);
        for (text, number) in [("1", 1), ("50", 50), ("7.0", 7)] {
            assert_eq!(read(text).ok(), Some(number), "{text}");
        }
        for text in ["0", "51", "-1", "1.5", "\"5\"", "1e99", "true", "[1]"] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("a whole number from 1 to 50"), "{text}: {error}");
        }
    }

    #[test]
    fn a_cursor_names_an_item_that_is_there() {
        let skip = |item, part, count| Cursor::skip(Some(Cursor { item, part }), count).ok();
        assert_eq!(Cursor::skip(None, 0).ok(), Some(0));
        assert_eq!([skip(0, 0, 0), skip(0, 0, 1), skip(4, 0, 5)], [Some(0), Some(0), Some(4)]);
        assert_eq!([skip(1, 0, 0), skip(5, 0, 5), skip(2, 1, 5)], [None; 3]);
    }

    #[test]
    fn cursors_are_read_as_they_are_written() {
        for (item, part) in [(0, 0), (12, 0), (12, 3), (999_999_999, 999_999_999)] {
            let cursor = Cursor { item, part };
            assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        }
        for text in ["", ".", "1.", ".1", "-1", "+1", "1.2.3", "a", "1234567890", " 1", "1e3"] {
            assert_eq!(Cursor::parse(text), None, "{text}");
        }
    }
}
