//! An identifier that YouTube may leave out: `None` is an empty string in JSON, for `#[serde(with)]`. Text that is no
//! identifier is read as `None`.

use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<T: Serialize, S: Serializer>(
    id: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => id.serialize(serializer),
        None => serializer.serialize_str(""),
    }
}

pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: for<'text> Deserialize<'text>,
    D: Deserializer<'de>,
{
    let text = std::borrow::Cow::<'_, str>::deserialize(deserializer)?;
    let text: StrDeserializer<'_, Error> = (&*text).into_deserializer();
    Ok(T::deserialize(text).ok())
}
