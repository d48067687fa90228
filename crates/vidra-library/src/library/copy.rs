//! Copies a library into another one, so that it can outgrow its machine.

use serde::Serialize;
use vidra::{Error, Reason, Result};

use super::Library;
use crate::store::copy::{self, DERIVED, Rest, Sum, TABLES, Table};

/// A copied library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Copied {
    /// The copied tables with the numbers of their rows. Each was compared with the source.
    pub tables: Vec<(&'static str, u64)>,
    /// The transcripts that were added to the search index of the target.
    pub indexed: u64,
}

/// A step of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyStep {
    /// This many rows of a table were copied in this run.
    Copied(&'static str, u64),
    /// A table is being compared.
    Compares(&'static str),
    /// This many transcripts were added to the search index.
    Indexed(u64),
}

impl Library {
    /// Copies everything of a library file into this library, which is in PostgreSQL and empty. A copy that was
    /// interrupted continues. In the end the number and a checksum of the rows of each table are compared. `progress`
    /// gets each step.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryInUse`] if a worker uses one of them, [`Reason::LibraryDamaged`] if a table differs in the end, and
    /// [`Reason::InvalidInput`] if this library is not empty, and for libraries of other kinds.
    pub async fn copy_from(
        &self,
        source: &Self,
        mut progress: impl FnMut(CopyStep),
    ) -> Result<Copied> {
        if !self.database().is_on_a_server() || source.database().is_on_a_server() {
            let message = "A library is copied from a SQLite file to PostgreSQL";
            return Err(Error::new(Reason::InvalidInput, message));
        }
        for library in [source, self] {
            if library.database().has_workers().await? {
                let message = "A service works on the library; stop it during the copy";
                return Err(Error::new(Reason::LibraryInUse, message));
            }
        }
        self.database().write(copy::begin).await?;
        let mut tables = vec![];
        for name in TABLES {
            let table = source.database().read(move |it| Table::read(it, name)).await?;
            self.copy_table(source, &table, &mut progress).await?;
            tables.push(table);
        }
        let rest = source.database().read(Rest::read).await?;
        self.database().write(move |it| rest.store(it)).await?;
        tables.push(source.database().read(|it| Table::read(it, DERIVED)).await?);
        let mut compared = vec![];
        for table in tables {
            progress(CopyStep::Compares(table.name));
            let (before, after) = (source.sum(&table).await?, self.sum(&table).await?);
            if !before.is_same(&after) {
                let message = format!(
                    "The table {} has {} rows in the source and {} in the target, or they differ; \
                    drop the schema vidra_library of the target, and copy again",
                    table.name, before.rows, after.rows
                );
                return Err(Error::new(Reason::LibraryDamaged, message));
            }
            compared.push((table.name, after.rows));
        }
        let indexed =
            self.complete_index(|transcripts| progress(CopyStep::Indexed(transcripts))).await?;
        self.database().write(copy::end).await?;
        Ok(Copied { tables: compared, indexed })
    }

    /// Copies the rows of a table after the last one that this library has.
    async fn copy_table(
        &self,
        source: &Self,
        table: &Table,
        progress: &mut impl FnMut(CopyStep),
    ) -> Result<()> {
        let of = table.clone();
        let mut last = self.database().read(move |it| of.last_key(it)).await?;
        let mut count = 0;
        loop {
            let (of, after) = (table.clone(), last.clone());
            let rows = source.database().read(move |it| of.page(it, after.as_deref())).await?;
            let Some(end) = rows.last() else { return Ok(()) };
            last = Some(table.key_of(end));
            count += rows.len() as u64;
            let of = table.clone();
            self.database().write(move |it| of.insert(it, &rows)).await?;
            progress(CopyStep::Copied(table.name, count));
        }
    }

    /// The number and the hash of all rows of a table.
    async fn sum(&self, table: &Table) -> Result<Sum> {
        let (mut sum, mut last) = (Sum::default(), None);
        loop {
            let (of, after) = (table.clone(), last.clone());
            let rows = self.database().read(move |it| of.page(it, after.as_deref())).await?;
            let Some(end) = rows.last() else { return Ok(sum) };
            last = Some(table.key_of(end));
            sum.add(&rows);
        }
    }
}
