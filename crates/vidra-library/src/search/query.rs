//! The syntax of a query: words, `"exact phrases"`, `OR`, `-without`, `prefix*` and `title:word`.

use vidra::{Error, Result};

use crate::passage::SpokenToken;
use crate::segment::{is_continuous, is_hebrew_quote, segment};

/// The longest query in characters.
const MAX_LENGTH: usize = 500;

/// The most words of a query.
const MAX_TOKENS: usize = 64;

/// The most words, phrases and exclusions of a query.
const MAX_ATOMS: usize = 16;

/// The most prefixes. Each of them reads many words of the index.
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
    pub(crate) fn matches_at(&self, tokens: &[SpokenToken], at: usize) -> bool {
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
    pub(crate) fn is_in(&self, tokens: &[SpokenToken]) -> bool {
        (0..tokens.len()).any(|at| self.matches_at(tokens, at))
    }

    pub(crate) fn is_phrase(&self) -> bool {
        self.tokens.len() > 1
    }
}

/// The part before an `OR`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    None,
    Word,
    Excluded,
}

/// The size of a query so far.
#[derive(Debug, Default)]
struct QuerySize {
    atoms: usize,
    tokens: usize,
    prefixes: usize,
}

impl QuerySize {
    fn add(&mut self, atom: &Atom) -> Result<(), String> {
        self.atoms += 1;
        self.tokens += atom.tokens.len();
        // A single character of a script without spaces is stored as a prefix, and is none for the caller.
        let is_word = !atom.tokens.last().is_some_and(|it| it.starts_with(is_continuous));
        self.prefixes += usize::from(atom.is_prefix && is_word);
        let bounds = [
            (self.atoms, MAX_ATOMS, "words and phrases"),
            (self.tokens, MAX_TOKENS, "words"),
            (self.prefixes, MAX_PREFIXES, "prefixes"),
        ];
        match bounds.iter().find(|(count, most, _)| count > most) {
            Some((_, most, what)) => Err(format!("a query has at most {most} {what}")),
            None => Ok(()),
        }
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
    /// [`Reason::InvalidInput`](vidra::Reason::InvalidInput), with the position of the first fault in characters from 1.
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(text).map_err(|fault| {
            let message = format!("The query is not valid: {fault}");
            Error::invalid(message, vec![format!("q: {fault}")])
        })
    }

    fn read(text: &str) -> Result<Self, String> {
        let characters: Vec<char> = text.chars().collect();
        let length = characters.len();
        if length > MAX_LENGTH {
            return Err(format!("must have at most {MAX_LENGTH} characters, and has {length}"));
        }
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
        Self::combined(parts)
    }

    fn combined(parts: Vec<Part>) -> Result<Self, String> {
        let mut query = Self { clauses: vec![], excluded: vec![] };
        let mut size = QuerySize::default();
        // The position of an OR that still needs its second side.
        let mut pending = None;
        let mut last = Side::None;
        for part in parts {
            match part {
                Part::Or { position } if last == Side::Excluded => {
                    return Err(format!("position {position}: OR cannot be combined with -"));
                }
                Part::Or { position } if pending.is_some() || last == Side::None => {
                    return Err(format!("position {position}: OR needs a word on both sides"));
                }
                Part::Or { position } => pending = Some(position),
                // Signs without a letter, such as the & of R & B.
                Part::Atom { atom: None, .. } => {}
                Part::Atom { is_excluded: true, position, .. } if pending.is_some() => {
                    return Err(format!("position {position}: OR cannot be combined with -"));
                }
                Part::Atom { atom: Some(atom), is_excluded, position } => {
                    size.add(&atom).map_err(|fault| format!("position {position}: {fault}"))?;
                    let clause = query.clauses.last_mut().filter(|_| pending.take().is_some());
                    match clause {
                        _ if is_excluded => query.excluded.push(atom),
                        Some(clause) => clause.atoms.push(atom),
                        None => query.clauses.push(Clause { atoms: vec![atom] }),
                    }
                    last = if is_excluded { Side::Excluded } else { Side::Word };
                }
            }
        }
        match pending {
            Some(position) => Err(format!("position {position}: OR needs a word on both sides")),
            None if !query.clauses.is_empty() => Ok(query),
            None if query.excluded.is_empty() => Err("must have at least one word".to_owned()),
            None => Err("must have a word without - before it".to_owned()),
        }
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
    let is_dash = |at: usize| text.get(at).is_some_and(|it| DASHES.contains(it));
    if is_title && is_dash(at) && text.get(at + 1).is_some_and(|it| !it.is_whitespace()) {
        return Err(format!("position {}: - must be before title:", at + 1));
    }
    if text.get(at).is_some_and(|it| QUOTES.contains(it)) {
        let end = (at + 1..text.len()).find(|index| QUOTES.contains(&text[*index]));
        let end =
            end.ok_or_else(|| format!("position {}: the quotation mark is not closed", at + 1))?;
        let phrase: String = text[at + 1..end].iter().collect();
        let (plain, is_open) = without_star(&phrase, at + 1)?;
        let atom = atom(plain, is_title, is_open, position)?;
        if atom.is_none() {
            return Err(format!("position {position}: the phrase has no word"));
        }
        return Ok((Part::Atom { atom, is_excluded, position }, end + 1));
    }
    let is_end = |index: &usize| {
        let (before, after) = (text.get(index.wrapping_sub(1)), text.get(index + 1));
        let is_quote = QUOTES.contains(&text[*index])
            && !is_hebrew_quote(before.copied(), text[*index], after.copied());
        text[*index].is_whitespace() || is_quote
    };
    let end = (at..text.len()).find(is_end).unwrap_or(text.len());
    let word: String = text[at..end].iter().collect();
    if word == "OR" && !is_excluded && !is_title {
        return Ok((Part::Or { position }, end));
    }
    let (plain, is_open) = without_star(&word, at)?;
    let found = atom(plain, is_title, is_open, position)?;
    if found.is_none() && (is_open || is_title) {
        return Err(format!("position {}: there is no word", at + 1));
    }
    Ok((Part::Atom { atom: found, is_excluded, position }, end))
}

/// The text without the `*` at its end, and whether it had one. It begins at this index of the query.
fn without_star(text: &str, start: usize) -> Result<(&str, bool), String> {
    let text = text.trim_end();
    let plain = text.trim_end_matches('*');
    match plain.chars().position(|it| it == '*') {
        Some(star) => {
            Err(format!("position {}: * can only be at the end of a word", start + star + 1))
        }
        None => Ok((plain, plain.len() < text.len())),
    }
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
