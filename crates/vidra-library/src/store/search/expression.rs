//! Expressions of FTS5. They are made of our own tokens only, so that a query is never syntax.

use crate::passage::{AFTER, BEFORE, DESCRIPTION, SEAM, TITLE};
use crate::search::{Atom, Clause, SearchFields, TextQuery};

/// A string of FTS5: one token, or several that follow each other.
fn string<'a>(tokens: impl Iterator<Item = (Option<char>, &'a str)>, is_prefix: bool) -> String {
    let mut text = String::from("\"");
    for (mark, token) in tokens {
        if text.len() > 1 {
            text.push(' ');
        }
        text.extend(mark);
        // No token has a quotation mark. One would end the string.
        text.extend(token.chars().filter(|it| *it != '"'));
    }
    text.push('"');
    if is_prefix {
        text.push_str(" *");
    }
    text
}

/// One token, as it stands in the index with this mark.
pub(super) fn token(mark: Option<char>, token: &str) -> String {
    string(std::iter::once((mark, token)), false)
}

/// The tokens of an atom, one after the other.
pub(super) fn phrase(atom: &Atom) -> String {
    string(atom.tokens.iter().map(|token| (None, token.as_str())), atom.is_prefix)
}

/// All tokens of an atom, in any order.
fn tokens(atom: &Atom, mark: Option<char>) -> String {
    let last = atom.tokens.len() - 1;
    let each = atom.tokens.iter().enumerate().map(|(index, token)| {
        string(std::iter::once((mark, token.as_str())), atom.is_prefix && index == last)
    });
    format!("({})", each.collect::<Vec<_>>().join(" AND "))
}

/// An atom in the row of a transcript. For a phrase it only says that all its tokens are there.
pub(super) fn atom_in_words(atom: &Atom, fields: SearchFields) -> String {
    let speech = (fields.speech && !atom.is_title).then(|| tokens(atom, None));
    let title = (fields.title || atom.is_title).then(|| tokens(atom, Some(TITLE)));
    let description =
        (fields.description && !atom.is_title).then(|| tokens(atom, Some(DESCRIPTION)));
    let all: Vec<String> = speech.into_iter().chain(title).chain(description).collect();
    format!("({})", all.join(" OR "))
}

/// A clause in titles.
pub(super) fn clause_in_titles(clause: &Clause) -> String {
    let all = clause.atoms.iter().map(|atom| tokens(atom, Some(TITLE)));
    all.collect::<Vec<_>>().join(" OR ")
}

/// A query in the row of a transcript, with the tokens of filters. Phrases, and exclusions of phrases, have to be looked
/// at more closely.
pub(super) fn query_in_words(
    query: &TextQuery,
    fields: SearchFields,
    filters: &[String],
) -> String {
    let clauses = query.clauses.iter().map(|clause| {
        let atoms = clause.atoms.iter().map(|atom| atom_in_words(atom, fields));
        format!("({})", atoms.collect::<Vec<_>>().join(" OR "))
    });
    let filters = filters.iter().map(|filter| token(None, filter));
    let all = clauses.chain(filters).collect::<Vec<_>>().join(" AND ");
    let excluded = query.excluded.iter().filter(|atom| !atom.is_phrase());
    let excluded: Vec<String> = excluded.map(|atom| atom_in_words(atom, fields)).collect();
    match excluded.is_empty() {
        true => all,
        false => format!("({all}) NOT ({})", excluded.join(" OR ")),
    }
}

/// A phrase across the border of two passages: one alternative for each position of the border. Returns whether a match is
/// certain: a part that is longer than the seam has to be compared with the text.
pub(super) fn across_seam(atom: &Atom) -> (String, bool) {
    let count = atom.tokens.len();
    let alternatives = (1..count).map(|border| {
        let (before, after) = atom.tokens.split_at(border);
        let before = &before[before.len().saturating_sub(SEAM)..];
        let is_whole = after.len() <= SEAM;
        let after = &after[..after.len().min(SEAM)];
        let marked = before.iter().map(|token| (Some(BEFORE), token.as_str()));
        let marked = marked.chain(after.iter().map(|token| (Some(AFTER), token.as_str())));
        string(marked, atom.is_prefix && is_whole)
    });
    (alternatives.collect::<Vec<_>>().join(" OR "), count <= SEAM + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> TextQuery {
        TextQuery::parse(text).unwrap()
    }

    #[test]
    fn expressions_quote_every_token() {
        let all = SearchFields { speech: true, title: true, description: false };
        let text = query_in_words(&query("a OR bb* -cc -\"d e\""), all, &["x".to_owned()]);
        let title = |word: &str| format!("(\"{TITLE}{word}");
        let expected = format!(
            "((((\"a\") OR {}\")) OR ((\"bb\" *) OR {}\" *))) AND \"x\") NOT (((\"cc\") OR {}\")))",
            title("a"),
            title("bb"),
            title("cc")
        );
        assert_eq!(text, expected);
        let attack = query_in_words(&query("\"x NEAR(y\" col:z ^ AND {a}"), all, &[]);
        assert!(
            !attack.contains('^') && !attack.contains('{') && !attack.contains("NEAR"),
            "{attack}"
        );
    }

    #[test]
    fn a_phrase_has_an_alternative_for_each_border() {
        let atom = &query("\"one two three\"").clauses[0].atoms[0];
        let (text, is_certain) = across_seam(atom);
        assert_eq!(text, "\"bone atwo athree\" OR \"bone btwo athree\"");
        assert!(is_certain);
        let long = &query("\"a b c d e f g h i\"").clauses[0].atoms[0];
        assert!(!across_seam(long).1);
    }
}
