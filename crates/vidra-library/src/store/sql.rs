//! Statements: one way to write them for SQLite and PostgreSQL.
//!
//! All statements are in the part of SQL that both databases have, with `?` or `?1` as parameters. Where they differ,
//! [`Statements::dialect`] decides.

use vidra::Result;

/// The SQL of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// Ends a query whose rows the transaction changes depending on their content. SQLite has one writer at a time.
    pub(super) fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR NO KEY UPDATE",
        }
    }

    /// Ends a query of rows that the transaction takes, and leaves out those that another one takes at this moment.
    pub(super) fn for_update_of_free_rows(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// The numbers of a parameter of type [`Numbers`], as a query.
    pub(super) fn numbers(self) -> &'static str {
        match self {
            Self::Sqlite => "SELECT value FROM json_each(?)",
            Self::Postgres => "SELECT unnest(?)",
        }
    }
}

/// A connection to a database, in a transaction.
pub(crate) type Connection = dyn Statements;

/// Runs the statements of a transaction.
pub(crate) trait Statements {
    fn dialect(&self) -> Dialect;

    /// Runs a statement, and returns the number of changed rows.
    fn run(&self, sql: &str, values: &[&dyn ToValue]) -> Result<usize>;

    /// Calls `each` with every row until it returns `false`.
    fn each_row(
        &self,
        sql: &str,
        values: &[&dyn ToValue],
        each: &mut dyn FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<()>;

    /// Runs several statements without parameters.
    fn run_batch(&self, sql: &str) -> Result<()>;
}

impl dyn Statements {
    /// Runs a statement, and returns the number of changed rows.
    pub(super) fn execute(&self, sql: &str, parameters: impl Parameters) -> Result<usize> {
        parameters.with(|values| self.run(sql, values))
    }

    /// All rows of a query.
    pub(super) fn query_map<T>(
        &self,
        sql: &str,
        parameters: impl Parameters,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = vec![];
        self.query_while(sql, parameters, |row| {
            found.push(read(row)?);
            Ok(true)
        })?;
        Ok(found)
    }

    /// Calls `each` with every row of a query until it returns `false`.
    pub(super) fn query_while(
        &self,
        sql: &str,
        parameters: impl Parameters,
        mut each: impl FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<()> {
        parameters.with(|values| self.each_row(sql, values, &mut each))
    }

    /// The first row of a query. `None` without one.
    pub(super) fn query_optional<T>(
        &self,
        sql: &str,
        parameters: impl Parameters,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.query_while(sql, parameters, |row| {
            found = Some(read(row)?);
            Ok(false)
        })?;
        Ok(found)
    }

    /// The first row of a query that always has one.
    pub(super) fn query_row<T>(
        &self,
        sql: &str,
        parameters: impl Parameters,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        let found = self.query_optional(sql, parameters, read)?;
        found.ok_or_else(|| vidra::Error::internal("a query of the library has no row"))
    }
}

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
    pub(super) fn read(row: &Row<'_>, index: usize, kind: Kind) -> Result<Self> {
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
pub(super) use params;

/// A row of a result.
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    /// The value of a column, by its index or its name.
    pub(super) fn get<I: ColumnIndex, T: Column>(&self, index: I) -> Result<T> {
        match self {
            Self::Sqlite(row) => T::from_sqlite(row.get_ref(index).map_err(super::sqlite::sql)?),
            Self::Postgres(row) => T::from_postgres(row, index.in_postgres(row)?),
        }
    }
}

/// The index or the name of a column.
pub(crate) trait ColumnIndex: rusqlite::RowIndex {
    fn in_postgres(&self, row: &tokio_postgres::Row) -> Result<usize>;
}

impl ColumnIndex for usize {
    fn in_postgres(&self, _row: &tokio_postgres::Row) -> Result<usize> {
        Ok(*self)
    }
}

impl ColumnIndex for &str {
    fn in_postgres(&self, row: &tokio_postgres::Row) -> Result<usize> {
        let position = row.columns().iter().position(|column| column.name() == *self);
        position.ok_or_else(|| vidra::Error::internal(format!("no column {self}")))
    }
}

/// The type of a column.
pub(crate) trait Column: Sized {
    fn from_sqlite(value: rusqlite::types::ValueRef<'_>) -> Result<Self>;
    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self>;
}

macro_rules! column {
    ($($type:ty),*) => {
        $(impl Column for $type {
            fn from_sqlite(value: rusqlite::types::ValueRef<'_>) -> Result<Self> {
                rusqlite::types::FromSql::column_result(value).map_err(vidra::Error::internal)
            }

            fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self> {
                row.try_get(index).map_err(vidra::Error::internal)
            }
        })*
    };
}

column!(bool, String, Vec<u8>);

impl Column for i64 {
    fn from_sqlite(value: rusqlite::types::ValueRef<'_>) -> Result<Self> {
        value.as_i64().map_err(vidra::Error::internal)
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self> {
        // Literals of statements are short.
        let is_short = row
            .columns()
            .get(index)
            .is_some_and(|it| *it.type_() == tokio_postgres::types::Type::INT4);
        let number = if is_short {
            row.try_get::<_, i32>(index).map(Self::from)
        } else {
            row.try_get(index)
        };
        number.map_err(vidra::Error::internal)
    }
}

impl Column for u32 {
    fn from_sqlite(value: rusqlite::types::ValueRef<'_>) -> Result<Self> {
        Self::try_from(i64::from_sqlite(value)?).map_err(vidra::Error::internal)
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self> {
        Self::try_from(i64::from_postgres(row, index)?).map_err(vidra::Error::internal)
    }
}

impl<T: Column> Column for Option<T> {
    fn from_sqlite(value: rusqlite::types::ValueRef<'_>) -> Result<Self> {
        match value {
            rusqlite::types::ValueRef::Null => Ok(None),
            value => T::from_sqlite(value).map(Some),
        }
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self> {
        /// Whether a value is null, of any type.
        struct IsNull(bool);

        impl<'a> tokio_postgres::types::FromSql<'a> for IsNull {
            fn from_sql(
                _: &tokio_postgres::types::Type,
                _: &'a [u8],
            ) -> std::result::Result<Self, Box<dyn std::error::Error + Sync + Send>> {
                Ok(Self(false))
            }

            fn from_sql_null(
                _: &tokio_postgres::types::Type,
            ) -> std::result::Result<Self, Box<dyn std::error::Error + Sync + Send>> {
                Ok(Self(true))
            }

            fn accepts(_: &tokio_postgres::types::Type) -> bool {
                true
            }
        }

        let IsNull(is_null) = row.try_get(index).map_err(vidra::Error::internal)?;
        if is_null { Ok(None) } else { T::from_postgres(row, index).map(Some) }
    }
}
