//! The syntax of a query: words, `"exact phrases"`, `OR`, `-without`, `prefix*` and `title:word`.

use vidra::{Error, Result};

use crate::passage::Spoken;
use crate::segment::{is_continuous, segment};

/// The longest query in characters.
const MAX_LENGTH: usize = 500;

/// The most words of a query.
const MAX_TOKENS: usize = 64;

/// The most words, phrases and exclusions of a query.
const MAX_ATOMS: usize = 16;

/// The most words that only name a beginning. Each of them reads many words of the index.
const MAX_PREFIXES: usize = 4;

/// The fewest characters before `*`, in scripts with spaces.
const MIN_PREFIX: usize = 2;

/// Quotation marks around a phrase. Telephones and word processors write others than programs.
const QUOTES: [char; 7] = ['"', '“', '”', '„', '‟', '«', '»'];

/// What excludes the word after it.
const DASHES: [char; 3] = ['-', '–', '−'];

/// A query: every clause has to match, and no exclusion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextQuery {
    pub(crate) clauses: Vec<Clause>,
    pub(crate) excluded: Vec<Atom>,
}

/// Alternatives, of which one has to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) atoms: Vec<Atom>,
}

/// A word or a phrase.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Atom {
    /// Whether only titles match.
    pub(crate) is_title: bool,
    /// Consecutive tokens.
    pub(crate) tokens: Vec<String>,
    /// Whether the last token is only the beginning of one.
    pub(crate) is_prefix: bool,
}

impl Atom {
    /// Whether it matches the tokens that begin at `at`.
    pub(crate) fn matches_at(&self, tokens: &[Spoken], at: usize) -> bool {
        let Some(found) = tokens.get(at..at + self.tokens.len()) else { return false };
        let last = self.tokens.len() - 1;
        self.tokens.iter().zip(found).enumerate().all(|(index, (wanted, token))| {
            match self.is_prefix && index == last {
                true => token.text.starts_with(wanted.as_str()),
                false => token.text == *wanted,
            }
        })
    }

    /// Whether the tokens contain it.
    pub(crate) fn is_in(&self, tokens: &[Spoken]) -> bool {
        (0..tokens.len()).any(|at| self.matches_at(tokens, at))
    }

    pub(crate) fn is_phrase(&self) -> bool {
        self.tokens.len() > 1
    }
}

/// A part of a query between spaces.
enum Part {
    Or { position: usize },
    Atom { atom: Option<Atom>, is_excluded: bool, position: usize },
}

impl TextQuery {
    /// Reads a query.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](vidra::Reason::InvalidInput), with the position of each fault in characters from 1.
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(text).map_err(|fault| {
            let message = format!("The query is not valid: {fault}");
            Error::invalid(message, vec![format!("q: {fault}")])
        })
    }

    fn read(text: &str) -> Result<Self, String> {
        let length = text.chars().count();
        if length > MAX_LENGTH {
            return Err(format!("must have at most {MAX_LENGTH} characters, and has {length}"));
        }
        let characters: Vec<char> = text.chars().collect();
        let mut parts = vec![];
        let mut at = 0;
        while at < characters.len() {
            if characters[at].is_whitespace() {
                at += 1;
                continue;
            }
            let (part, end) = part(&characters, at)?;
            parts.push(part);
            at = end;
        }
        let query = Self::combined(parts)?;
        query.check_bounds()?;
        Ok(query)
    }

    fn combined(parts: Vec<Part>) -> Result<Self, String> {
        let mut query = Self { clauses: vec![], excluded: vec![] };
        // The position of an OR that still needs its second side, and whether the last part can be its first side.
        let (mut pending, mut has_left) = (None, false);
        for part in parts {
            match part {
                Part::Or { position } if pending.is_some() || !has_left => {
                    return Err(format!("position {position}: OR needs a word on both sides"));
                }
                Part::Or { position } => pending = Some(position),
                Part::Atom { is_excluded: true, position, .. } if pending.is_some() => {
                    return Err(format!("position {position}: OR cannot be combined with -"));
                }
                Part::Atom { atom: Some(atom), is_excluded: true, .. } => {
                    query.excluded.push(atom);
                    has_left = false;
                }
                Part::Atom { atom: Some(atom), .. } => {
                    match query.clauses.last_mut().filter(|_| pending.take().is_some()) {
                        Some(clause) => clause.atoms.push(atom),
                        None => query.clauses.push(Clause { atoms: vec![atom] }),
                    }
                    has_left = true;
                }
                // Signs without a letter, such as the & of R&B after a space.
                Part::Atom { atom: None, .. } => {}
            }
        }
        match pending {
            Some(position) => Err(format!("position {position}: OR needs a word on both sides")),
            None => Ok(query),
        }
    }

    fn check_bounds(&self) -> Result<(), String> {
        if self.clauses.is_empty() {
            return Err(match self.excluded.is_empty() {
                true => "must have at least one word".to_owned(),
                false => "must have a word without - before it".to_owned(),
            });
        }
        let atoms = || self.atoms().chain(&self.excluded);
        if atoms().count() > MAX_ATOMS {
            return Err(format!("must have at most {MAX_ATOMS} words and phrases"));
        }
        if atoms().map(|it| it.tokens.len()).sum::<usize>() > MAX_TOKENS {
            return Err(format!("must have at most {MAX_TOKENS} words"));
        }
        // A single character of a script without spaces is no such word.
        let is_word =
            |it: &&Atom| !it.tokens.last().is_some_and(|it| it.starts_with(is_continuous));
        if atoms().filter(|it| it.is_prefix).filter(is_word).count() > MAX_PREFIXES {
            return Err(format!("must have at most {MAX_PREFIXES} beginnings of words"));
        }
        Ok(())
    }

    /// All words and phrases that are searched for.
    pub(crate) fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.clauses.iter().flat_map(|clause| &clause.atoms)
    }
}

/// Reads the part at this index. Returns it with the index of its end.
fn part(text: &[char], start: usize) -> Result<(Part, usize), String> {
    let position = start + 1;
    let mut at = start;
    let is_excluded = DASHES.contains(&text[at]);
    at += usize::from(is_excluded);
    let title = ['t', 'i', 't', 'l', 'e', ':'];
    let is_title = text
        .get(at..at + title.len())
        .is_some_and(|it| it.iter().map(char::to_ascii_lowercase).eq(title));
    at += if is_title { title.len() } else { 0 };
    if text.get(at).is_some_and(|it| QUOTES.contains(it)) {
        let end = (at + 1..text.len()).find(|index| QUOTES.contains(&text[*index]));
        let end =
            end.ok_or_else(|| format!("position {}: the quotation mark is not closed", at + 1))?;
        let phrase: String = text[at + 1..end].iter().collect();
        let is_open = phrase.trim_end().ends_with('*');
        let atom = atom(phrase.trim_end().trim_end_matches('*'), is_title, is_open, position)?;
        if atom.is_none() {
            return Err(format!("position {position}: the phrase has no word"));
        }
        return Ok((Part::Atom { atom, is_excluded, position }, end + 1));
    }
    let end = (at..text.len()).find(|index| text[*index].is_whitespace()).unwrap_or(text.len());
    let word: String = text[at..end].iter().collect();
    if word == "OR" && !is_excluded && !is_title {
        return Ok((Part::Or { position }, end));
    }
    let plain = word.trim_end_matches('*');
    if let Some(star) = plain.chars().position(|it| it == '*') {
        return Err(format!("position {}: * can only be at the end of a word", at + star + 1));
    }
    let is_open = plain.len() < word.len();
    let found = atom(plain, is_title, is_open, position)?;
    if found.is_none() && (is_open || is_title) {
        return Err(format!("position {}: there is no word", at + 1));
    }
    Ok((Part::Atom { atom: found, is_excluded, position }, end))
}

/// The atom of a word or phrase. `None` if it has no letter or digit.
fn atom(
    text: &str,
    is_title: bool,
    is_open: bool,
    position: usize,
) -> Result<Option<Atom>, String> {
    let mut found = vec![];
    segment(text, |token| found.push((token.text.to_owned(), token.in_run)));
    let Some((last, in_run)) = found.last() else { return Ok(None) };
    let mut is_prefix = is_open;
    match in_run {
        None if is_open && last.chars().count() < MIN_PREFIX => {
            return Err(format!(
                "position {position}: * needs at least {MIN_PREFIX} characters before it"
            ));
        }
        None => {}
        // A run can go on in the text: its last pair includes its last character, and a single character begins a token.
        Some(_) => {
            let is_after_pair =
                found.len() > 1 && found[found.len() - 2].1.is_some_and(|it| !it.is_last);
            is_prefix = !is_after_pair;
            if is_after_pair {
                found.pop();
            }
        }
    }
    let tokens = found.into_iter().map(|(text, _)| text).collect();
    Ok(Some(Atom { is_title, tokens, is_prefix }))
}

#[cfg(test)]
mod tests;
