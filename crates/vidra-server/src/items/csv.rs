//! Items as CSV (RFC 4180).

use csv::{Terminator, Writer, WriterBuilder};
use serde_json::Value;
use utoipa::ToSchema;
use vidra::Include;
use vidra::format::csv_text;

use super::{Fields, Members, at};

/// Members with free text, which a spreadsheet could take for a formula. Identifiers and numbers are not changed.
const FREE_TEXT: [&str; 10] = [
    "title",
    "description",
    "name",
    "channel",
    "channelTitle",
    "text",
    "authorName",
    "languageName",
    "chapter",
    "message",
];

/// Writes the items of a list, one row each, after a row with the names of the columns.
pub(crate) struct CsvWriter {
    columns: Vec<Column>,
    /// Whether replies to comments get rows of their own.
    has_replies: bool,
    writer: Writer<Vec<u8>>,
}

struct Column {
    path: String,
    is_free_text: bool,
}

/// The member of a comment thread with its replies, and that with its first comment.
const REPLIES: &str = "replies";
const FIRST_COMMENT: &str = "topLevelComment";
/// The member of a reply with the id of its thread.
const PARENT_ID: &str = "parentId";

impl CsvWriter {
    /// A writer for items of type `T`, with all columns or the chosen ones. Without a choice there are no columns for
    /// members that are not requested.
    pub(crate) fn new<T: ToSchema>(fields: Option<&Fields>, include: Include) -> Self {
        let members = Members::of::<T>();
        let mut paths: Vec<&str> = match fields {
            Some(fields) => fields.paths().iter().flat_map(|path| members.leaves(path)).collect(),
            None => members.leaves("").filter(|path| !is_left_out(path, include)).collect(),
        };
        let is_thread = members.has(FIRST_COMMENT);
        let has_replies = is_thread && paths.contains(&REPLIES);
        if paths == [REPLIES] {
            paths.extend(members.leaves(FIRST_COMMENT));
        }
        if has_replies {
            // Replies are rows, which need the id of their thread instead.
            let own = format!("{FIRST_COMMENT}.{PARENT_ID}");
            paths.retain(|path| *path != REPLIES && *path != own);
            paths.insert(paths.len().min(1), PARENT_ID);
        }
        let columns = paths
            .into_iter()
            .map(|path| Column { path: path.to_owned(), is_free_text: is_free_text(path) });
        let mut csv = Self { columns: columns.collect(), has_replies, writer: writer() };
        let names: Vec<String> = csv.columns.iter().map(|column| column.path.clone()).collect();
        csv.write(names);
        csv
    }

    /// Adds the row of an item, and those of its replies.
    pub(crate) fn add(&mut self, item: &Value) {
        self.write(self.columns.iter().map(|column| column.cell(at(item, &column.path))).collect());
        let replies = item.get(REPLIES).and_then(Value::as_array).filter(|_| self.has_replies);
        for reply in replies.into_iter().flatten() {
            let cell = |column: &Column| {
                let first =
                    column.path.strip_prefix(FIRST_COMMENT).and_then(|path| path.strip_prefix('.'));
                let of_thread = || match column.path.as_str() {
                    PARENT_ID => item.get("id"),
                    path => item.get(path).filter(|_| path.ends_with("Id")),
                };
                column.cell(at(reply, first.unwrap_or(&column.path)).or_else(of_thread))
            };
            self.write(self.columns.iter().map(cell).collect());
        }
    }

    /// Takes the text so far.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        // Writing to memory cannot fail.
        let _ = self.writer.flush();
        std::mem::replace(&mut self.writer, writer()).into_inner().unwrap_or_default()
    }

    fn write(&mut self, row: Vec<String>) {
        // Writing to memory cannot fail, and all rows have the same length.
        let _ = self.writer.write_record(row);
    }
}

/// Whether a member of a video is absent because nobody requested it.
fn is_left_out(path: &str, include: Include) -> bool {
    let name = path.split('.').next().unwrap_or_default();
    Include::ALL.iter().any(|(word, one)| *word == name && include.and(*one) != include)
}

fn writer() -> Writer<Vec<u8>> {
    let mut builder = WriterBuilder::new();
    // One for each row of some lists, so the buffer is small.
    builder.terminator(Terminator::CRLF).buffer_capacity(512).from_writer(vec![])
}

impl Column {
    fn cell(&self, value: Option<&Value>) -> String {
        match value {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) if self.is_free_text => csv_text(text).into_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        }
    }
}

fn is_free_text(path: &str) -> bool {
    let name = path.rsplit('.').next().unwrap_or(path);
    FREE_TEXT.contains(&name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vidra::{CommentThread, TranscriptLine, Video};

    use super::*;

    fn csv<T: ToSchema>(fields: &[&str], items: &[Value]) -> String {
        let fields = (!fields.is_empty()).then(|| Fields::parse::<T>(fields).unwrap());
        let mut writer = CsvWriter::new::<T>(fields.as_ref(), Include::default());
        items.iter().for_each(|item| writer.add(item));
        String::from_utf8(writer.take()).unwrap()
    }

    #[test]
    fn cells_are_quoted_and_harmless() {
        let table = [
            (json!("plain"), "plain"),
            (json!("a,b"), "\"a,b\""),
            (json!("a \"b\""), "\"a \"\"b\"\"\""),
            (json!("two\nlines"), "\"two\nlines\""),
            (json!("=1+1"), "'=1+1"),
            (json!("+1"), "'+1"),
            (json!("-1"), "'-1"),
            (json!("@sum"), "'@sum"),
            (json!("\tx"), "'\tx"),
            (json!("\rx"), "\"'\rx\""),
            (json!(" =1"), " =1"),
            (json!(null), ""),
        ];
        for (title, expected) in table {
            let written = csv::<Video>(
                &["id", "title", "views"],
                &[json!({"id": "-abc_def123", "title": title, "views": -5})],
            );
            assert_eq!(
                written,
                format!("id,title,views\r\n-abc_def123,{expected},-5\r\n"),
                "{title}"
            );
        }
    }

    /// Chapters come from the description of a video, which its owner writes.
    #[test]
    fn chapters_of_hits_are_harmless() {
        let hit = json!({"chapter": "@SUM(A1)", "text": "+1"});
        let written = csv::<vidra_library::Hit>(&["chapter", "text"], &[hit]);
        assert_eq!(written, "chapter,text\r\n'@SUM(A1),'+1\r\n");
    }

    #[test]
    fn nested_members_are_columns_and_arrays_are_json() {
        let item = json!({"id": "a", "thumbnails": {"high": {"url": "u", "width": 1}}, "hidden": ["likes", "views"]});
        let written = csv::<Video>(&["thumbnails.high", "hidden"], &[item]);
        assert_eq!(
            written,
            "thumbnails.high.url,thumbnails.high.width,thumbnails.high.height,hidden\r\nu,1,,\"[\"\"likes\"\",\"\"views\"\"]\"\r\n"
        );
        assert!(csv::<TranscriptLine>(&[], &[]).starts_with("text,"));
    }

    #[test]
    fn replies_are_rows_with_the_id_of_their_thread() {
        let thread = json!({
            "id": "T", "videoId": "V", "channelId": "C", "totalReplyCount": 1,
            "topLevelComment": {"id": "T", "text": "=first"},
            "replies": [{"id": "T.1", "text": "-second", "likeCount": 4}],
        });
        let paths = ["id", "videoId", "topLevelComment.text", "totalReplyCount", "replies"];
        let written = csv::<CommentThread>(&paths, std::slice::from_ref(&thread));
        let rows = [
            "id,parentId,videoId,topLevelComment.text,totalReplyCount",
            "T,,V,'=first,1",
            "T.1,T,V,'-second,",
        ];
        assert_eq!(written, rows.join("\r\n") + "\r\n");
        let without = csv::<CommentThread>(&["id"], std::slice::from_ref(&thread));
        assert_eq!(without, "id\r\nT\r\n");
        let only = csv::<CommentThread>(&["replies"], std::slice::from_ref(&thread));
        assert!(only.contains("'-second"), "{only}");
        let all = csv::<CommentThread>(&[], &[thread]);
        assert!(all.starts_with("id,parentId,videoId,"), "{all}");
        assert_eq!(all.lines().count(), 3);
    }
}
