//! The passages that match a word or a phrase.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::time::Instant;

use vidra::Result;
use vidra::transcript::FullTranscript;

use super::DEADLINE;
use super::candidates::{Condition, TRACK, Track, track};
use super::expression::{self, Expression};
use crate::passage::{PassageStart, read_layout};
use crate::search::{Atom, Clause, Passage, Postings};
use crate::store::error::search_timed_out;
use crate::store::index::PASSAGE_BITS;
use crate::store::sql::{Connection, Dialect, OwnedValue, Row, params};
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
    pub(super) fn check_deadline(&self) -> Result<()> {
        if Instant::now() < self.deadline { Ok(()) } else { Err(search_timed_out()) }
    }

    /// The condition that a row of a table matches the expression of a parameter.
    fn matches(&self, table: &str) -> String {
        match self.connection.dialect() {
            Dialect::Sqlite => format!("{table} MATCH ?"),
            Dialect::Postgres => format!("{table}.tokens @@ CAST(? AS tsquery)"),
        }
    }

    /// The tracks whose rows match an expression, in the order of their numbers.
    pub(super) fn tracks(
        &self,
        expression: &Expression,
        condition: &Condition,
    ) -> Result<Vec<Track>> {
        let words = format!("search_words_{}", self.index);
        let query = format!(
            "SELECT {TRACK} FROM {words} JOIN search_tracks AS t ON t.transcript = {words}.rowid
            WHERE {} AND {}",
            self.matches(&words),
            condition.sql
        );
        let text = expression.text(self.connection.dialect());
        let values = condition.values_after(OwnedValue::from(text));
        let mut found = self.connection.query_map(&query, &*values, track)?;
        found.retain(|it| it.transcript <= self.last);
        found.sort_unstable_by_key(|it| it.transcript);
        Ok(found)
    }

    /// The transcripts whose rows match an expression.
    pub(super) fn transcripts(&self, expression: &Expression) -> Result<HashSet<i64>> {
        let words = format!("search_words_{}", self.index);
        let query = format!("SELECT rowid FROM {words} WHERE {}", self.matches(&words));
        let text = expression.text(self.connection.dialect());
        let found = self.connection.query_map(&query, [text], |row| row.get(0))?;
        Ok(found.into_iter().filter(|it| *it <= self.last).collect())
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
        let rows = self.phrase(atom, None)?;
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
        match self.instances(atom, None, most)? {
            None if one_by_one => self.one_by_one(atom, among).map(Some),
            rows => Ok(rows),
        }
    }

    /// The passages of these tracks in which an atom matches. How often it matches is not counted.
    pub(super) fn one_by_one(&self, atom: &Atom, among: &[Track]) -> Result<Postings> {
        let mut all = vec![];
        for track in among {
            self.check_deadline()?;
            all.extend(self.phrase(atom, Some(track.transcript))?);
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
    ) -> Result<Option<Postings>> {
        let token = format!("{}{}", mark.map(String::from).unwrap_or_default(), atom.tokens[0]);
        let (mut found, mut occurrences): (Postings, usize) = (vec![], 0);
        let mut add = |row: i64, count: u32| {
            if transcript_of(row) > self.last {
                return true;
            }
            occurrences += count as usize;
            match found.last_mut() {
                Some((last, known)) if *last == row => *known += count,
                _ => found.push((row, count)),
            }
            occurrences <= most
        };
        match self.connection.dialect() {
            Dialect::Sqlite => self.each_instance(&token, atom.is_prefix, &mut add)?,
            Dialect::Postgres => self.each_passage(&token, atom.is_prefix, most, &mut add)?,
        }
        Ok((occurrences <= most).then(|| summed(found)))
    }

    /// Calls `each` with the passage of every occurrence of a token, until it returns `false`.
    fn each_instance(
        &self,
        token: &str,
        is_prefix: bool,
        each: &mut dyn FnMut(i64, u32) -> bool,
    ) -> Result<()> {
        let condition =
            if is_prefix { "term >= ? AND term < ?" } else { "term = ? AND ? IS NOT NULL" };
        let query = format!("SELECT doc FROM search_instances_{} WHERE {condition}", self.index);
        let end = format!("{token}\u{10FFFF}");
        self.connection.query_while(&query, params![token, end], |row| Ok(each(row.get(0)?, 1)))
    }

    /// Calls `each` with every passage that has a token and the number of its occurrences, until it returns `false`. After
    /// more than `most` passages it may end.
    fn each_passage(
        &self,
        token: &str,
        is_prefix: bool,
        most: usize,
        each: &mut dyn FnMut(i64, u32) -> bool,
    ) -> Result<()> {
        // If the query is one word, the rank by cover density is the sum of the weights of its occurrences. The sum
        // `rowid + 0` prevents a plan that reads all rows in the order of their numbers.
        let query = format!(
            "SELECT rowid, CAST(ts_rank_cd('{{1, 1, 1, 1}}', tokens, CAST(?1 AS tsquery)) AS bigint)
            FROM search_passages_{} WHERE tokens @@ CAST(?1 AS tsquery) AND rowid + 0 < ?2 LIMIT ?3",
            self.index
        );
        let word = Expression::Phrase { tokens: vec![token.to_owned()], is_prefix };
        let limit = i64::try_from(most.saturating_add(1)).unwrap_or(i64::MAX);
        let end = (self.last + 1) << PASSAGE_BITS;
        let parameters = params![word.text(Dialect::Postgres), end, limit];
        self.connection.query_while(&query, parameters, |row| Ok(each(row.get(0)?, row.get(1)?)))
    }

    /// The passages in which an atom begins, of one transcript or of all.
    fn phrase(&self, atom: &Atom, transcript: Option<i64>) -> Result<Postings> {
        let mut rows = self.rows("passages", &expression::phrase(atom), transcript)?;
        if atom.is_phrase() {
            let (across, is_certain) = expression::across_seam(atom);
            let mut across = self.rows("seams", &across, transcript)?;
            if !is_certain {
                across.retain(|row| rows.binary_search(row).is_err());
                across = self.verified(atom, across)?;
            }
            rows.extend(across);
        }
        let mut rows: Postings = rows.into_iter().map(|row| (row, 1)).collect();
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }

    /// The rows of a table that match, of one transcript or of all, in ascending order.
    fn rows(
        &self,
        table: &str,
        expression: &Expression,
        transcript: Option<i64>,
    ) -> Result<Vec<i64>> {
        let table = format!("search_{table}_{}", self.index);
        let query = format!("SELECT rowid FROM {table} WHERE {}", self.matches(&table));
        let text = expression.text(self.connection.dialect());
        let row = |row: &Row| row.get::<_, i64>(0);
        let mut found = match transcript {
            None => self.connection.query_map(&query, [text], row)?,
            Some(number) => {
                let (first, end) = (number << PASSAGE_BITS, (number + 1) << PASSAGE_BITS);
                let query = format!("{query} AND rowid >= ? AND rowid < ?");
                self.connection.query_map(&query, params![text, first, end], row)?
            }
        };
        found.retain(|row| transcript_of(*row) <= self.last);
        found.sort_unstable();
        Ok(found)
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
        let found = self.connection.query_optional(&query, [number], row)?;
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
