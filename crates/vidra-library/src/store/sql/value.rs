//! The values of parameters.

use vidra::Result;

use super::Row;

/// A value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Integer(i64),
    Boolean(bool),
    Text(&'a str),
    Bytes(&'a [u8]),
    Integers(&'a [i64]),
    Texts(&'a [String]),
}

/// The type of a parameter, also if it has no value: PostgreSQL has to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    Boolean,
    Text,
    Bytes,
    Integers,
    Texts,
}

/// A parameter of a statement.
pub(crate) trait ToValue {
    fn value(&self) -> Value<'_>;
    fn kind(&self) -> Kind;
}

/// A type whose values are all of one kind.
pub(crate) trait OfKind {
    const KIND: Kind;
}

macro_rules! parameter {
    ($type:ty, $kind:ident, |$it:ident| $value:expr) => {
        impl OfKind for $type {
            const KIND: Kind = Kind::$kind;
        }

        impl ToValue for $type {
            fn value(&self) -> Value<'_> {
                let $it = self;
                Value::$kind($value)
            }

            fn kind(&self) -> Kind {
                Kind::$kind
            }
        }
    };
}

parameter!(i64, Integer, |it| *it);
parameter!(i32, Integer, |it| i64::from(*it));
parameter!(u32, Integer, |it| i64::from(*it));
parameter!(bool, Boolean, |it| *it);
parameter!(str, Text, |it| it);
parameter!(String, Text, |it| it);
parameter!([u8], Bytes, |it| it);
parameter!(Vec<u8>, Bytes, |it| it);
parameter!(Numbers, Integers, |it| &it.0);
parameter!(Texts, Texts, |it| &it.0);

/// Numbers as one parameter, see [`Dialect::numbers`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbers(pub(crate) Vec<i64>);

/// Texts as one parameter, for PostgreSQL alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Texts(pub(crate) Vec<String>);

/// A parameter of a statement that is put together from parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnedValue {
    Null(Kind),
    Integer(i64),
    Boolean(bool),
    Text(String),
    Bytes(Vec<u8>),
}

impl OwnedValue {
    /// Reads a column of this kind.
    pub(in crate::store) fn read(row: &Row<'_>, index: usize, kind: Kind) -> Result<Self> {
        let value = match kind {
            Kind::Boolean => row.get::<_, Option<bool>>(index)?.map(Self::Boolean),
            Kind::Text => row.get::<_, Option<String>>(index)?.map(Self::Text),
            Kind::Bytes => row.get::<_, Option<Vec<u8>>>(index)?.map(Self::Bytes),
            _ => row.get::<_, Option<i64>>(index)?.map(Self::Integer),
        };
        Ok(value.unwrap_or(Self::Null(kind)))
    }
}

impl From<i64> for OwnedValue {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<String> for OwnedValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl ToValue for OwnedValue {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Null(_) => Value::Null,
            Self::Integer(number) => Value::Integer(*number),
            Self::Boolean(is_true) => Value::Boolean(*is_true),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Null(kind) => *kind,
            Self::Integer(_) => Kind::Integer,
            Self::Boolean(_) => Kind::Boolean,
            Self::Text(_) => Kind::Text,
            Self::Bytes(_) => Kind::Bytes,
        }
    }
}

impl<T: OfKind + ?Sized> OfKind for &T {
    const KIND: Kind = T::KIND;
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn value(&self) -> Value<'_> {
        (**self).value()
    }

    fn kind(&self) -> Kind {
        (**self).kind()
    }
}

impl<T: ToValue + OfKind> ToValue for Option<T> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, T::value)
    }

    fn kind(&self) -> Kind {
        T::KIND
    }
}

/// The parameters of a statement: an array of values of one type, or [`params!`].
pub(crate) trait Parameters {
    fn with<R>(self, work: impl FnOnce(&[&dyn ToValue]) -> R) -> R;
}

impl<T: ToValue, const N: usize> Parameters for [T; N] {
    fn with<R>(self, work: impl FnOnce(&[&dyn ToValue]) -> R) -> R {
        work(&self.each_ref().map(|it| it as &dyn ToValue))
    }
}

impl Parameters for () {
    fn with<R>(self, work: impl FnOnce(&[&dyn ToValue]) -> R) -> R {
        work(&[])
    }
}

impl Parameters for &[OwnedValue] {
    fn with<R>(self, work: impl FnOnce(&[&dyn ToValue]) -> R) -> R {
        let values: Vec<&dyn ToValue> = self.iter().map(|it| it as &dyn ToValue).collect();
        work(&values)
    }
}

impl Parameters for &[&dyn ToValue] {
    fn with<R>(self, work: impl FnOnce(&[&dyn ToValue]) -> R) -> R {
        work(self)
    }
}

impl<const N: usize> Parameters for &[&dyn ToValue; N] {
    fn with<R>(self, work: impl FnOnce(&[&dyn ToValue]) -> R) -> R {
        work(self)
    }
}

/// Parameters of several types.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$(&$value as &dyn $crate::store::sql::ToValue),*]
    };
}
pub(in crate::store) use params;
