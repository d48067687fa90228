//! The items of lists as callers want them: with chosen members, and as CSV.

mod csv;
mod members;

use std::collections::HashSet;

use serde_json::{Map, Value};
use utoipa::ToSchema;
use vidra::Include;

pub(crate) use csv::CsvWriter;
pub(crate) use members::Members;

/// The members that a caller chose with `fields`, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fields(Vec<String>);

/// The maximum number of chosen members.
const MAX_FIELDS: usize = 100;

impl Fields {
    /// Reads the paths of members, such as `thumbnails.high.url`.
    ///
    /// # Errors
    ///
    /// One line for each path that items of type `T` do not have.
    pub(crate) fn parse<T: ToSchema>(paths: &[&str]) -> Result<Self, Vec<String>> {
        if paths.len() > MAX_FIELDS {
            return Err(vec![format!("expected at most {MAX_FIELDS} names")]);
        }
        let known = Members::of::<T>();
        let unknown = paths.iter().filter(|path| !known.has(path));
        let faults: Vec<String> = unknown.map(|path| unknown_member(path, &known)).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut seen = HashSet::new();
        let distinct = paths.iter().filter(|path| seen.insert(**path));
        // A member includes its own members.
        let is_part = |path: &str| {
            let is_above =
                |other: &&str| path.strip_prefix(*other).is_some_and(|it| it.starts_with('.'));
            paths.iter().any(is_above)
        };
        let outer = distinct.filter(|path| !is_part(path));
        Ok(Self(outer.map(|path| (*path).to_owned()).collect()))
    }

    /// The item with the chosen members alone. A member that the item lacks is absent.
    pub(crate) fn of(&self, item: &Value) -> Value {
        let mut chosen = Map::new();
        for path in &self.0 {
            if let Some(value) = at(item, path) {
                insert(&mut chosen, path, value.clone());
            }
        }
        Value::Object(chosen)
    }

    /// The members of videos that the paths name, which are absent unless they are requested.
    pub(crate) fn include(&self) -> Include {
        let is_named = |word: &str| {
            self.0.iter().any(|path| path == word || path.starts_with(&format!("{word}.")))
        };
        let named = Include::ALL.iter().filter(|(word, _)| is_named(word));
        named.fold(Include::default(), |all, (_, one)| all.and(*one))
    }

    fn paths(&self) -> &[String] {
        &self.0
    }
}

/// The longest name that an error repeats.
const LONGEST_NAME: usize = 64;

fn unknown_member(path: &str, known: &Members) -> String {
    let shown: String = path.chars().take(LONGEST_NAME).collect();
    let (shown, names) = (shown.escape_debug(), known.at_the_top().join(", "));
    format!("no such member: {shown}; the members are {names}")
}

/// The member of a value at a path such as `thumbnails.high.url`.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, name| value.get(name))
}

fn insert(object: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => _ = object.insert(path.to_owned(), value),
        Some((name, rest)) => {
            let inner = object.entry(name).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vidra::{CommentThread, Video};

    use super::*;

    #[test]
    fn only_the_chosen_members_are_left() {
        let item = json!({
            "id": "a", "title": "b", "views": 3,
            "thumbnails": {"high": {"url": "c", "width": 4}, "default": {"url": "d"}}
        });
        let table = [
            (vec!["title", "id"], json!({"title": "b", "id": "a"})),
            (vec!["thumbnails.high.url"], json!({"thumbnails": {"high": {"url": "c"}}})),
            (
                vec!["thumbnails.high.url", "thumbnails.default.url", "id"],
                json!({"thumbnails": {"high": {"url": "c"}, "default": {"url": "d"}}, "id": "a"}),
            ),
            (vec!["thumbnails.maxres.url", "id", "id"], json!({"id": "a"})),
            (
                vec!["thumbnails.high.url", "thumbnails.high", "thumbnails.high.width"],
                json!({"thumbnails": {"high": {"url": "c", "width": 4}}}),
            ),
        ];
        for (paths, expected) in table {
            let fields = Fields::parse::<Video>(&paths).unwrap();
            assert_eq!(fields.of(&item).to_string(), expected.to_string(), "{paths:?}");
        }
    }

    #[test]
    fn unknown_members_are_named() {
        for path in ["nope", "title.x", "thumbnails.huge", "", ".", "id.", "replies.text"] {
            let faults = Fields::parse::<Video>(&[path]).unwrap_err();
            assert!(faults[0].starts_with("no such member"), "{path}: {faults:?}");
        }
        assert!(Fields::parse::<Video>(&vec!["id"; 101]).is_err());
        assert!(Fields::parse::<CommentThread>(&["topLevelComment.text", "replies"]).is_ok());
    }
}
