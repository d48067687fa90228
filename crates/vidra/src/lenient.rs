//! Lenient parsing of YouTube's objects. A member with an unexpected type counts as absent. A page
//! of fifty videos must not fail because one title is a number.

/// Declares the members of an object. Every member is optional and parsed by [`member`].
macro_rules! shapes {
    ($($(#[$meta:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Default, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub(crate) struct $name {
            $(
                #[serde(deserialize_with = "crate::lenient::member")]
                pub(crate) $field: Option<$type>,
            )*
        }

        impl $crate::lenient::Member for $name {
            fn from_map<'de, A>(map: A) -> Result<Option<Self>, A::Error>
            where
                A: serde::de::MapAccess<'de>,
            {
                use $crate::lenient::Object;
                Object::from_map(map).map(|object| object.map(|Object(shape)| shape))
            }
        }
    )+};
}

pub(crate) use shapes;

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Number;

/// A type that can be a member. Each type accepts the JSON that it knows. Everything else counts as
/// absent.
pub(crate) trait Member: Sized {
    fn from_text(_text: &str) -> Option<Self> {
        None
    }

    fn from_number(_number: &Number) -> Option<Self> {
        None
    }

    fn from_bool(_flag: bool) -> Option<Self> {
        None
    }

    fn from_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn from_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Self>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// Parses a member, for `#[serde(deserialize_with)]`.
pub(crate) fn member<'de, D, M>(deserializer: D) -> Result<Option<M>, D::Error>
where
    D: Deserializer<'de>,
    M: Member,
{
    deserializer.deserialize_any(Reader(PhantomData))
}

impl Member for String {
    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn from_number(number: &Number) -> Option<Self> {
        Some(number.to_string())
    }
}

/// A count is a string in one resource and a number in another.
impl Member for u64 {
    fn from_text(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }

    fn from_number(number: &Number) -> Option<Self> {
        let rounded =
            || number.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64);
        number.as_u64().or_else(rounded)
    }
}

impl Member for bool {
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn from_bool(flag: bool) -> Option<Self> {
        Some(flag)
    }
}

/// The maximum number of elements of a list. No list of YouTube comes near it. Without a bound, a
/// body of a few kilobytes, compressed, could fill the memory.
pub(crate) const MAX_ELEMENTS: usize = 1_000;

/// A list. It omits elements of the wrong type. More than [`MAX_ELEMENTS`] are an error.
impl<M: Member> Member for Vec<M> {
    fn from_seq<'de, A: SeqAccess<'de>>(seq: A) -> Result<Option<Self>, A::Error> {
        elements(seq).map(Some)
    }
}

/// Parses the elements of a list.
pub(crate) fn elements<'de, A, M>(mut seq: A) -> Result<Vec<M>, A::Error>
where
    A: SeqAccess<'de>,
    M: Member,
{
    let (mut list, mut count) = (vec![], 0);
    while let Some(Lenient(element)) = seq.next_element()? {
        list.extend(element);
        count += 1;
        if count > MAX_ELEMENTS {
            return Err(A::Error::custom("a list with too many elements"));
        }
    }
    Ok(list)
}

/// Any type that is written as an object.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl<T: DeserializeOwned> Member for Object<T> {
    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Some(Self(object)))
    }
}

/// A member, for places where serde needs a type instead of a function.
#[derive(Debug)]
pub(crate) struct Lenient<M>(pub(crate) Option<M>);

impl<'de, M: Member> Deserialize<'de> for Lenient<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        member(deserializer).map(Self)
    }
}

struct Reader<M>(PhantomData<M>);

impl<'de, M: Member> Visitor<'de> for Reader<M> {
    type Value = Option<M>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(M::from_text(text))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(M::from_number(&number.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(M::from_number(&number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(number).and_then(|number| M::from_number(&number)))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(M::from_bool(flag))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        M::from_map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        M::from_seq(seq)
    }
}
