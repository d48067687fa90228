//! The rows of results.

use vidra::Result;

use crate::store::sqlite;

/// A row of a result.
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    /// The value of a column, by its index or its name.
    pub(in crate::store) fn get<I: ColumnIndex, T: Column>(&self, index: I) -> Result<T> {
        match self {
            Self::Sqlite(row) => T::from_sqlite(row.get_ref(index).map_err(sqlite::sql)?),
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
        // A number that is written in a statement is an `int4`.
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
