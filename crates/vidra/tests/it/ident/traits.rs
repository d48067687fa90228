//! The standard traits of identifiers.

use std::collections::{BTreeSet, HashSet};
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use vidra::{
    ChannelId, ChannelRef, CommentId, Error, Handle, LanguageCode, PlaylistId, Reason, VideoId,
};

use super::{CHANNEL, COMMENT, LIST, VIDEO};

/// The traits that every identifier has.
trait Identifier:
    Clone
    + Debug
    + Display
    + Ord
    + Hash
    + Serialize
    + DeserializeOwned
    + FromStr<Err = Error>
    + for<'a> TryFrom<&'a str, Error = Error>
    + TryFrom<String, Error = Error>
{
}

impl<T> Identifier for T where
    T: Clone
        + Debug
        + Display
        + Ord
        + Hash
        + Serialize
        + DeserializeOwned
        + FromStr<Err = Error>
        + for<'a> TryFrom<&'a str, Error = Error>
        + TryFrom<String, Error = Error>
{
}

/// Checks that all conversions agree, and that JSON is read back and checked.
fn check<T: Identifier>(text: &str, json: &str, wrong: &str) {
    let id: T = text.parse().unwrap();
    let all = [T::try_from(text).unwrap(), T::try_from(text.to_owned()).unwrap(), id.clone()];
    assert_eq!(HashSet::from(all.clone()).len(), 1);
    assert_eq!(BTreeSet::from(all).len(), 1);
    assert_eq!(serde_json::to_value(&id).unwrap(), json!(json));
    assert!(serde_json::from_value::<T>(json!(json)).unwrap() == id, "{json}");
    assert_eq!(wrong.parse::<T>().unwrap_err().reason(), Reason::InvalidInput);
    for wrong in [json!(wrong), json!(""), json!(7), json!(null)] {
        assert!(serde_json::from_value::<T>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn l5_identifiers_have_the_standard_traits() {
    check::<VideoId>(VIDEO, VIDEO, "nope");
    check::<VideoId>("https://youtu.be/dQw4w9WgXcQ", VIDEO, "youtu.be/x");
    check::<PlaylistId>(LIST, LIST, "nonsense");
    check::<ChannelId>(CHANNEL, CHANNEL, "UCshort");
    check::<Handle>("GoogleDevelopers", "@GoogleDevelopers", "@a b");
    check::<Handle>("youtube.com/@GoogleDevelopers", "@GoogleDevelopers", "@a b");
    check::<CommentId>(COMMENT, COMMENT, "a.");
    check::<LanguageCode>("zh_cn", "zh-CN", "?");
}

#[test]
fn l5_a_channel_is_read_back_as_the_same_variant() {
    for (text, json) in [
        (CHANNEL, CHANNEL),
        ("@somebody", "@somebody"),
        ("youtube.com/user/somebody", "https://www.youtube.com/user/somebody"),
        ("youtube.com/c/%C3%89cole", "https://www.youtube.com/c/École"),
    ] {
        check::<ChannelRef>(text, json, "a,b");
    }
    let id: ChannelId = CHANNEL.parse().unwrap();
    assert_eq!(ChannelRef::from(id), CHANNEL.parse().unwrap());
    let handle: Handle = "somebody".parse().unwrap();
    assert_eq!(ChannelRef::from(handle), "@somebody".parse().unwrap());
}

#[test]
fn l5_identifiers_are_text() {
    fn length(id: impl AsRef<str>) -> usize {
        id.as_ref().len()
    }
    assert_eq!(length(VideoId::parse(VIDEO).unwrap()), 11);
    assert_eq!(length(Handle::parse("@abc").unwrap()), 3);
    assert_eq!(length(LanguageCode::parse("pt_br").unwrap()), 5);
    assert_eq!(
        format!("{:>13}|{:<5}|", VideoId::parse(VIDEO).unwrap(), Handle::parse("abc").unwrap()),
        format!("  {VIDEO}|@abc |")
    );
    let error = serde_json::from_value::<VideoId>(json!("a\u{1b}b")).unwrap_err();
    assert_eq!(error.to_string(), "not a video id: a\\u{1b}b");
}
