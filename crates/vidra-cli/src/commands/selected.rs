//! The videos of `vidra query` as a list: with chosen members, and as CSV. The service sends them only as a part of a
//! JSON document.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::output::{Form, Output, csv_table, read};

/// The columns of a video, as in CSV of a playlist. The order of a query has no positions.
const COLUMNS: [&str; 27] = [
    "id",
    "title",
    "description",
    "channelTitle",
    "publishedAt",
    "duration",
    "durationFmt",
    "views",
    "viewsFmt",
    "likes",
    "likesFmt",
    "thumbnails.default.url",
    "thumbnails.default.width",
    "thumbnails.default.height",
    "thumbnails.medium.url",
    "thumbnails.medium.width",
    "thumbnails.medium.height",
    "thumbnails.high.url",
    "thumbnails.high.width",
    "thumbnails.high.height",
    "thumbnails.standard.url",
    "thumbnails.standard.width",
    "thumbnails.standard.height",
    "thumbnails.maxres.url",
    "thumbnails.maxres.width",
    "thumbnails.maxres.height",
    "hidden",
];

/// Columns with free text, which a spreadsheet could take for a formula.
const FREE_TEXT: [&str; 3] = ["title", "description", "channelTitle"];

/// The part of the answer that becomes a list.
#[derive(Deserialize)]
struct Answer {
    videos: Vec<Value>,
}

/// The members that `--fields` names, or all.
pub(super) struct Members<'a>(Option<Vec<&'a str>>);

impl<'a> Members<'a> {
    /// Fails if videos have no such member.
    pub(super) fn parse(fields: Option<&'a str>) -> Result<Self, Failure> {
        let Some(fields) = fields else { return Ok(Self(None)) };
        let paths: Vec<&str> = fields.split(',').map(str::trim).collect();
        match paths.iter().find(|path| columns_of(path).next().is_none()) {
            None => Ok(Self(Some(paths))),
            Some(unknown) => {
                let mut names: Vec<&str> =
                    COLUMNS.iter().map(|it| it.split('.').next().unwrap_or(it)).collect();
                names.dedup();
                let names = names.join(", ");
                let message =
                    format!("--fields: no such member: {unknown}; the members are {names}");
                Err(Failure::usage(message))
            }
        }
    }

    /// Writes the videos of an answer.
    pub(super) fn write(&self, body: &[u8], output: &mut Output) -> Result<(), Failure> {
        let Answer { videos } = read(body)?;
        if output.form == Form::Csv {
            return output.csv("", &self.table(&videos)?);
        }
        let videos: Vec<Value> = videos.into_iter().map(|video| self.chosen(video)).collect();
        let list = serde_json::to_vec(&videos).map_err(|error| error.to_string())?;
        output.json("", &list)
    }

    fn table(&self, videos: &[Value]) -> Result<Vec<u8>, Failure> {
        let mut columns: Vec<&str> = match &self.0 {
            Some(paths) => paths.iter().flat_map(|path| columns_of(path)).collect(),
            None => COLUMNS.to_vec(),
        };
        // A member includes its own members.
        let mut seen = HashSet::new();
        columns.retain(|column| seen.insert(*column));
        let rows = videos.iter().map(|video| {
            columns.iter().map(|column| cell(column, member(video, column))).collect()
        });
        csv_table(&columns, rows)
    }

    fn chosen(&self, video: Value) -> Value {
        let Some(paths) = &self.0 else { return video };
        let mut chosen = Map::new();
        for path in paths {
            if let Some(value) = member(&video, path) {
                insert(&mut chosen, path, value.clone());
            }
        }
        Value::Object(chosen)
    }
}

/// The columns of a member, which is one itself or has members.
fn columns_of(path: &str) -> impl Iterator<Item = &'static str> {
    let is_part = move |column: &&str| {
        column.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    COLUMNS.into_iter().filter(is_part)
}

fn member<'v>(video: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(video, |value, name| value.get(name))
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

/// The text of a cell, as the service writes it.
fn cell(column: &str, value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => {
            let is_formula =
                text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
            if is_formula && FREE_TEXT.contains(&column) {
                format!("'{text}")
            } else {
                text.clone()
            }
        }
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn video() -> Value {
        json!({"id": "-a", "title": "=1", "views": 3, "thumbnails": {"high": {"url": "u"}}, "hidden": ["likes"]})
    }

    #[test]
    fn members_are_chosen_by_their_paths() {
        let chosen =
            |fields: &str| Members::parse(Some(fields)).unwrap().chosen(video()).to_string();
        assert_eq!(chosen("title,id"), json!({"title": "=1", "id": "-a"}).to_string());
        assert_eq!(chosen("thumbnails.high.url"), r#"{"thumbnails":{"high":{"url":"u"}}}"#);
        assert_eq!(chosen("likes, id"), r#"{"id":"-a"}"#, "an absent member");
        for fields in ["nope", "", "id,", "title.x", "thumb", "position"] {
            let Err(Failure::Message(_, message)) = Members::parse(Some(fields)) else {
                panic!("{fields}")
            };
            assert!(message.ends_with("likes, likesFmt, thumbnails, hidden"), "{message}");
        }
    }

    #[test]
    fn cells_are_harmless() {
        let members =
            Members::parse(Some("id,title,views,thumbnails.high,hidden,id,thumbnails.high.url"))
                .unwrap();
        let table = String::from_utf8(members.table(&[video()]).unwrap()).unwrap();
        let (header, row) = table.split_once("\r\n").unwrap();
        assert_eq!(
            header,
            "id,title,views,thumbnails.high.url,thumbnails.high.width,thumbnails.high.height,hidden"
        );
        assert_eq!(row, "-a,'=1,3,u,,,\"[\"\"likes\"\"]\"\r\n");
    }
}
