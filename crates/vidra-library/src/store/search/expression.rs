//! Expressions of full-text searches. They are made of our own tokens only, so that a query is never syntax.

use crate::passage::{AFTER, BEFORE, DESCRIPTION, SEAM, TITLE};
use crate::search::{Atom, Clause, SearchFields, TextQuery};
use crate::store::index::tsvector::quoted;
use crate::store::sql::Dialect;

/// An expression that the rows of an index match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expression {
    /// Tokens that follow each other. With `is_prefix` the last one is the beginning of a token.
    Phrase {
        tokens: Vec<String>,
        is_prefix: bool,
    },
    All(Vec<Expression>),
    Any(Vec<Expression>),
    /// The first, and not the second.
    Without(Box<Expression>, Box<Expression>),
}

impl Expression {
    /// One token, as it stands in the index with this mark.
    fn token(mark: Option<char>, token: &str, is_prefix: bool) -> Self {
        let marked = mark.into_iter().chain(token.chars()).collect();
        Self::Phrase { tokens: vec![marked], is_prefix }
    }

    /// The expression in the language of a database.
    pub(super) fn text(&self, dialect: Dialect) -> String {
        let (and, or, without) = match dialect {
            Dialect::Sqlite => (" AND ", " OR ", " NOT "),
            Dialect::Postgres => (" & ", " | ", " & !"),
        };
        let joined = |all: &[Self], word: &str| {
            let all: Vec<String> = all.iter().map(|it| it.text(dialect)).collect();
            format!("({})", all.join(word))
        };
        match self {
            Self::Phrase { tokens, is_prefix } => match dialect {
                Dialect::Sqlite => fts5_string(tokens, *is_prefix),
                Dialect::Postgres => tsquery_phrase(tokens, *is_prefix),
            },
            Self::All(all) => joined(all, and),
            Self::Any(all) => joined(all, or),
            Self::Without(all, excluded) => {
                format!("({}{without}{})", all.text(dialect), excluded.text(dialect))
            }
        }
    }
}

fn fts5_string(tokens: &[String], is_prefix: bool) -> String {
    // No token has a quotation mark. One would end the string.
    let tokens = tokens.join(" ").replace('"', "");
    let star = if is_prefix { " *" } else { "" };
    format!("\"{tokens}\"{star}")
}

fn tsquery_phrase(tokens: &[String], is_prefix: bool) -> String {
    let tokens: Vec<String> = tokens.iter().map(|token| quoted(token)).collect();
    let star = if is_prefix { ":*" } else { "" };
    format!("({}{star})", tokens.join(" <-> "))
}

/// The tokens of an atom, one after the other.
pub(super) fn phrase(atom: &Atom) -> Expression {
    Expression::Phrase { tokens: atom.tokens.clone(), is_prefix: atom.is_prefix }
}

/// All tokens of an atom, in any order.
fn tokens(atom: &Atom, mark: Option<char>) -> Expression {
    let last = atom.tokens.len() - 1;
    let each = atom.tokens.iter().enumerate();
    let each = each.map(|(at, it)| Expression::token(mark, it, atom.is_prefix && at == last));
    Expression::All(each.collect())
}

/// An atom in the row of a transcript. For a phrase it only says that all its tokens are there.
pub(super) fn atom_in_words(atom: &Atom, fields: SearchFields) -> Expression {
    let speech = (fields.speech && !atom.is_title).then(|| tokens(atom, None));
    let title = (fields.title || atom.is_title).then(|| tokens(atom, Some(TITLE)));
    let description =
        (fields.description && !atom.is_title).then(|| tokens(atom, Some(DESCRIPTION)));
    Expression::Any(speech.into_iter().chain(title).chain(description).collect())
}

/// A clause in titles.
pub(super) fn clause_in_titles(clause: &Clause) -> Expression {
    Expression::Any(clause.atoms.iter().map(|atom| tokens(atom, Some(TITLE))).collect())
}

/// A query in the row of a transcript, with the tokens of filters. Phrases, and exclusions of phrases, have to be looked
/// at more closely.
pub(super) fn query_in_words(
    query: &TextQuery,
    fields: SearchFields,
    filters: &[String],
) -> Expression {
    let any = |atoms: &mut dyn Iterator<Item = &Atom>| {
        Expression::Any(atoms.map(|atom| atom_in_words(atom, fields)).collect())
    };
    let clauses = query.clauses.iter().map(|clause| any(&mut clause.atoms.iter()));
    let filters = filters.iter().map(|filter| Expression::token(None, filter, false));
    let all = Expression::All(clauses.chain(filters).collect());
    let mut excluded = query.excluded.iter().filter(|atom| !atom.is_phrase()).peekable();
    match excluded.peek() {
        None => all,
        Some(_) => Expression::Without(Box::new(all), Box::new(any(&mut excluded))),
    }
}

/// A phrase across the border of two passages: one alternative for each position of the border. Returns whether a match is
/// certain: a part that is longer than the seam has to be compared with the text.
pub(super) fn across_seam(atom: &Atom) -> (Expression, bool) {
    let count = atom.tokens.len();
    let alternatives = (1..count).map(|border| {
        let (before, after) = atom.tokens.split_at(border);
        let before = &before[before.len().saturating_sub(SEAM)..];
        let is_whole = after.len() <= SEAM;
        let after = &after[..after.len().min(SEAM)];
        let marked = before.iter().map(|token| format!("{BEFORE}{token}"));
        let marked = marked.chain(after.iter().map(|token| format!("{AFTER}{token}")));
        Expression::Phrase { tokens: marked.collect(), is_prefix: atom.is_prefix && is_whole }
    });
    (Expression::Any(alternatives.collect()), count <= SEAM + 1)
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
        let expression = query_in_words(&query("a OR bb* -cc -\"d e\""), all, &["x".to_owned()]);
        let fts5 = format!(
            "(((((\"a\") OR (\"{TITLE}a\")) OR ((\"bb\" *) OR (\"{TITLE}bb\" *))) AND \"x\") NOT (((\"cc\") OR (\"{TITLE}cc\"))))"
        );
        assert_eq!(expression.text(Dialect::Sqlite), fts5);
        let tsquery = format!(
            "((((('a')) | (('{TITLE}a'))) | ((('bb':*)) | (('{TITLE}bb':*)))) & ('x')) & !((((('cc')) | (('{TITLE}cc'))))))"
        );
        let found = expression.text(Dialect::Postgres);
        assert_eq!(found.replace(['(', ')'], ""), tsquery.replace(['(', ')'], ""));
        let attack = query_in_words(&query("\"x NEAR(y\" col:z ^ AND {a}"), all, &[]);
        for dialect in [Dialect::Sqlite, Dialect::Postgres] {
            let text = attack.text(dialect);
            assert!(!text.contains('^') && !text.contains('{') && !text.contains("NEAR"), "{text}");
        }
    }

    #[test]
    fn a_phrase_has_an_alternative_for_each_border() {
        let atom = &query("\"one two three\"").clauses[0].atoms[0];
        let (expression, is_certain) = across_seam(atom);
        let fts5 = "(\"bone atwo athree\" OR \"bone btwo athree\")";
        assert_eq!(expression.text(Dialect::Sqlite), fts5);
        let tsquery = "(('bone' <-> 'atwo' <-> 'athree') | ('bone' <-> 'btwo' <-> 'athree'))";
        assert_eq!(expression.text(Dialect::Postgres), tsquery);
        assert!(is_certain);
        let long = &query("\"a b c d e f g h i\"").clauses[0].atoms[0];
        assert!(!across_seam(long).1);
    }
}
