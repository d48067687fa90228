//! The standard traits of identifiers, the same for all of them.

/// Implements the traits that read text: `FromStr` and `TryFrom` by the type's `parse`, and `Deserialize` by the
/// given function, which accepts what `Serialize` writes.
macro_rules! parse_traits {
    ($($id:ident: $kind:literal by $read:expr,)+) => {$(
        impl std::str::FromStr for $id {
            type Err = $crate::error::Error;

            fn from_str(text: &str) -> $crate::error::Result<Self> {
                Self::parse(text)
            }
        }

        impl TryFrom<&str> for $id {
            type Error = $crate::error::Error;

            fn try_from(text: &str) -> $crate::error::Result<Self> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $id {
            type Error = $crate::error::Error;

            fn try_from(text: String) -> $crate::error::Result<Self> {
                Self::parse(&text)
            }
        }

        impl<'de> serde::Deserialize<'de> for $id {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'_, str>::deserialize(deserializer)?;
                let read: fn(&str) -> Option<Self> = $read;
                let error = || format!("not a {}: {}", $kind, $crate::ident::shown(&text));
                read(&text).ok_or_else(|| serde::de::Error::custom(error()))
            }
        }
    )+};
}

/// Implements the traits that write text: `AsRef`, and `Display`, `Debug` and `Serialize` with a prefix.
macro_rules! text_traits {
    ($($id:ident => $prefix:literal),+) => {$(
        impl AsRef<str> for $id {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $id {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                // Also honours the width of the format.
                match $prefix {
                    "" => f.pad(self.as_str()),
                    prefix => f.pad(&[prefix, self.as_str()].concat()),
                }
            }
        }

        impl std::fmt::Debug for $id {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({self})", stringify!($id))
            }
        }

        impl serde::Serialize for $id {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )+};
}

pub(crate) use {parse_traits, text_traits};
