//! The passages that match a word or a phrase.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::time::Instant;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use vidra::Result;
use vidra::transcript::FullTranscript;

use super::DEADLINE;
use super::candidates::{Condition, TRACK, Track, track};
use super::expression;
use crate::passage::{PassageStart, read_layout};
use crate::search::{Atom, Clause, Passage, Postings};
use crate::store::error::{search_timed_out, sql};
use crate::store::index::PASSAGE_BITS;
use crate::store::transcripts::{PACKED, packed};

/// The most occurrences of a word in the whole library that are ranked. If there are more, the first videos by publication are.
pub(super) const CEILING: usize = 200_000;

/// The most occurrences of a word that are read if only a few transcripts can match. If there are more, each of these
/// transcripts is searched.
const FEW_OCCURRENCES: usize = 20_000;

/// How many transcripts are searched one by one, which takes about 0.06 ms each.
const FEW_TRACKS: usize = 500;

/// The index, as it was when the transcript with number `last` was the newest.
pub(super) struct Reader<'a> {
    pub(super) connection: &'a Connection,
    pub(super) index: i64,
    pub(super) last: i64,
    /// SQLite is interrupted after the deadline, but work between two statements is not.
    deadline: Instant,
    /// The passages of phrases that were read.
    phrases: RefCell<HashMap<Atom, Postings>>,
}

/// The number of the transcript of a row.
pub(super) fn transcript_of(row: i64) -> i64 {
    row >> PASSAGE_BITS
}

/// The index of the passage of a row.
pub(super) fn passage_of(row: i64) -> usize {
    (row & ((1 << PASSAGE_BITS) - 1)) as usize
}

impl<'a> Reader<'a> {
    pub(super) fn new(connection: &'a Connection, index: i64, last: i64) -> Self {
        let deadline = Instant::now() + DEADLINE;
        Self { connection, index, last, deadline, phrases: RefCell::default() }
    }

    /// # Errors
    ///
    /// [`Reason::SearchTimedOut`](vidra::Reason::SearchTimedOut) after the deadline.
    fn check_deadline(&self) -> Result<()> {
        if Instant::now() < self.deadline { Ok(()) } else { Err(search_timed_out()) }
    }

    /// The tracks whose rows match an expression.
    pub(super) fn tracks(
        &self,
        expression: &str,
        condition: &Condition,
    ) -> rusqlite::Result<Vec<Track>> {
        let words = format!("search_words_{}", self.index);
        let query = format!(
            "SELECT {TRACK} FROM {words} JOIN search_tracks AS t ON t.transcript = {words}.rowid
            WHERE {words} MATCH ? AND {words}.rowid <= ? AND {}",
            condition.sql
        );
        let values = [Value::from(expression.to_owned()), Value::from(self.last)];
        let values = values.into_iter().chain(condition.values.iter().cloned());
        let mut query = self.connection.prepare_cached(&query)?;
        query.query_map(params_from_iter(values), track)?.collect()
    }

    /// The transcripts whose rows match an expression.
    pub(super) fn transcripts(&self, expression: &str) -> rusqlite::Result<HashSet<i64>> {
        let words = format!("search_words_{}", self.index);
        let query = format!("SELECT rowid FROM {words} WHERE {words} MATCH ? AND rowid <= ?");
        let mut query = self.connection.prepare_cached(&query)?;
        query.query_map(params![expression, self.last], |row| row.get(0))?.collect()
    }

    /// The transcripts whose captions have a phrase.
    pub(super) fn transcripts_with_phrase(&self, atom: &Atom) -> Result<HashSet<i64>> {
        let rows = self.phrase_everywhere(atom)?;
        Ok(rows.into_iter().map(|(row, _)| transcript_of(row)).collect())
    }

    /// The passages in which a phrase begins.
    pub(super) fn phrase_everywhere(&self, atom: &Atom) -> Result<Postings> {
        if let Some(known) = self.phrases.borrow().get(atom) {
            return Ok(known.clone());
        }
        let rows = self.phrase(atom, None, usize::MAX)?.unwrap_or_default();
        self.phrases.borrow_mut().insert(atom.clone(), rows.clone());
        Ok(rows)
    }

    /// The passages in which a clause matches, and how often. `None` if there are more than can be ranked.
    pub(super) fn clause(&self, clause: &Clause, among: &[Track]) -> Result<Option<Postings>> {
        let mut all = vec![];
        for atom in clause.atoms.iter().filter(|it| !it.is_title) {
            let Some(rows) = self.atom(atom, among)? else { return Ok(None) };
            all.extend(rows);
        }
        Ok(Some(summed(all)))
    }

    fn atom(&self, atom: &Atom, among: &[Track]) -> Result<Option<Postings>> {
        if atom.is_phrase() {
            // To know which transcripts match, all its occurrences were read already.
            let rows = self.phrase_everywhere(atom)?;
            return Ok(Some(rows).filter(|rows| rows.len() <= CEILING));
        }
        let is_few = among.len() <= FEW_TRACKS;
        // FTS5 reads all occurrences of a prefix also for a single transcript.
        let one_by_one = is_few && !atom.is_prefix;
        let most = match (one_by_one, is_few) {
            (true, _) => FEW_OCCURRENCES,
            (false, true) => usize::MAX,
            (false, false) => CEILING,
        };
        match self.instances(atom, None, most).map_err(sql)? {
            None if one_by_one => self.one_by_one(atom, among).map(Some),
            rows => Ok(rows),
        }
    }

    /// The passages of these tracks in which an atom matches. How often it matches is not counted.
    pub(super) fn one_by_one(&self, atom: &Atom, among: &[Track]) -> Result<Postings> {
        let mut all = vec![];
        for track in among {
            self.check_deadline()?;
            all.extend(self.phrase(atom, Some(track.transcript), usize::MAX)?.unwrap_or_default());
        }
        Ok(summed(all))
    }

    /// The passages with a word or the beginning of one, with the number of its occurrences. `None` if there are more than
    /// `most` of them.
    pub(super) fn instances(
        &self,
        atom: &Atom,
        mark: Option<char>,
        most: usize,
    ) -> rusqlite::Result<Option<Postings>> {
        let token = format!("{}{}", mark.map(String::from).unwrap_or_default(), atom.tokens[0]);
        let condition =
            if atom.is_prefix { "term >= ? AND term < ?" } else { "term = ? AND ? IS NOT NULL" };
        let query = format!("SELECT doc FROM search_instances_{} WHERE {condition}", self.index);
        let mut query = self.connection.prepare_cached(&query)?;
        let mut rows = query.query(params![token, format!("{token}\u{10FFFF}")])?;
        let (mut found, mut occurrences): (Postings, usize) = (vec![], 0);
        while let Some(row) = rows.next()? {
            let row: i64 = row.get(0)?;
            if transcript_of(row) > self.last {
                continue;
            }
            occurrences += 1;
            match found.last_mut() {
                _ if occurrences > most => return Ok(None),
                Some((last, count)) if *last == row => *count += 1,
                _ => found.push((row, 1)),
            }
        }
        Ok(Some(summed(found)))
    }

    /// The passages in which an atom begins, of one transcript or of all. `None` if there are more than `most`.
    fn phrase(
        &self,
        atom: &Atom,
        transcript: Option<i64>,
        most: usize,
    ) -> Result<Option<Postings>> {
        let inside = self.rows("passages", &expression::phrase(atom), transcript, most);
        let Some(mut rows) = inside.map_err(sql)? else { return Ok(None) };
        if atom.is_phrase() {
            let (text, is_certain) = expression::across_seam(atom);
            let across = self.rows("seams", &text, transcript, most).map_err(sql)?;
            let Some(mut across) = across else { return Ok(None) };
            if !is_certain {
                across.retain(|row| rows.binary_search(row).is_err());
                across = self.verified(atom, across)?;
            }
            rows.extend(across);
        }
        let mut rows: Postings = rows.into_iter().map(|row| (row, 1)).collect();
        rows.sort_unstable();
        rows.dedup();
        Ok(Some(rows))
    }

    fn rows(
        &self,
        table: &str,
        expression: &str,
        transcript: Option<i64>,
        most: usize,
    ) -> rusqlite::Result<Option<Vec<i64>>> {
        let table = format!("search_{table}_{}", self.index);
        let query =
            format!("SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?");
        let first = transcript.map_or(0, |it| it << PASSAGE_BITS);
        let last = ((transcript.unwrap_or(self.last) + 1) << PASSAGE_BITS) - 1;
        let mut query = self.connection.prepare_cached(&query)?;
        let mut rows = query.query(params![expression, first, last])?;
        let mut found = vec![];
        while let Some(row) = rows.next()? {
            if found.len() >= most {
                return Ok(None);
            }
            found.push(row.get(0)?);
        }
        Ok(Some(found))
    }

    /// Those of the rows whose text has the atom.
    fn verified(&self, atom: &Atom, rows: Vec<i64>) -> Result<Vec<i64>> {
        let clause = [Clause { atoms: vec![atom.clone()] }];
        let mut found = vec![];
        for row in rows {
            let Some((transcript, layout)) = self.transcript(transcript_of(row))? else { continue };
            let passage = Passage::new(&transcript.cues, &layout, passage_of(row));
            if passage.is_some_and(|it| it.count(&clause) > 0) {
                found.push(row);
            }
        }
        Ok(found)
    }

    /// A transcript, and where its passages begin. `None` if it is damaged or not in the index.
    pub(super) fn transcript(
        &self,
        number: i64,
    ) -> Result<Option<(FullTranscript, Vec<PassageStart>)>> {
        self.check_deadline()?;
        let query = format!(
            "SELECT {PACKED}, starts FROM transcripts JOIN search_layouts_{} ON transcript = number WHERE number = ?",
            self.index
        );
        let row = |row: &Row| Ok((packed(row)?, row.get::<_, Vec<u8>>("starts")?));
        let found = self
            .connection
            .prepare_cached(&query)
            .and_then(|mut query| query.query_row([number], row).optional())
            .map_err(sql)?;
        let Some((text, starts)) = found else { return Ok(None) };
        Ok(text.searched().ok().map(|transcript| (transcript, read_layout(&starts))))
    }
}

/// Postings in ascending order, with the sum of the counts of each row.
pub(super) fn summed(mut rows: Postings) -> Postings {
    if !rows.is_sorted_by(|a, b| a.0 < b.0) {
        rows.sort_unstable_by_key(|(row, _)| *row);
        rows.dedup_by(|next, first| {
            let is_same = next.0 == first.0;
            if is_same {
                first.1 += next.1;
            }
            is_same
        });
    }
    rows
}
