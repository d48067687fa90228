//! Lists that the service sends page by page: `{"items": […], "nextCursor": "…"}`.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{CommandContext, Tally, Wanted};
use crate::failure::Failure;
use crate::output::{Form, read};
use crate::service::RestRequest;
use crate::values::count_in;

/// Which part of a list is requested.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PageArgs {
    /// Maximum number of items [default: 50]
    #[arg(long, short, value_name = "COUNT", value_parser = count_in::<u64>(1..=u64::MAX))]
    pub(super) limit: Option<u64>,

    /// Fetch the list to its end
    #[arg(long, conflicts_with = "limit")]
    pub(super) all: bool,

    /// Continue where an earlier command stopped, with the cursor that it printed
    #[arg(long, value_name = "CURSOR")]
    pub(super) cursor: Option<String>,

    /// Whether each page costs a search. Such a list has smaller pages, and a page with fewer items than requested
    /// is not filled up.
    #[arg(skip)]
    pub(super) is_search: bool,

    /// A line for people about the members of a page besides its items.
    #[arg(skip)]
    pub(super) summary: Option<fn(&Value) -> Option<String>>,
}

impl PageArgs {
    /// The most items that the flags request; `None` for a list to its end.
    pub(super) fn most(&self) -> Option<u64> {
        if self.all { None } else { Some(self.limit.unwrap_or(USUAL)) }
    }

    /// Whether a flag requests a part of a list.
    pub(super) fn is_given(&self) -> bool {
        self.limit.is_some() || self.all || self.cursor.is_some()
    }
}

/// The number of items without a flag.
const USUAL: u64 = 50;

/// The most items of one page.
pub(super) const MOST: u64 = 500;

/// The most results of one page of a search.
const MOST_RESULTS: u64 = 50;

/// A page of a list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    pub(super) next_cursor: Option<String>,
}

/// The members of a page besides its items and its cursor.
fn other_members(page: &[u8]) -> Result<Map<String, Value>, Failure> {
    let mut members: Map<String, Value> = read(page)?;
    members.retain(|name, _| name != "items" && name != "nextCursor");
    Ok(members)
}

impl CommandContext {
    /// Prints the requested part of each list, one list after the other. Pages that are not needed are not
    /// fetched. If a list breaks off, the items that came are printed. `is_one` is whether the output is the only
    /// list itself.
    pub(super) async fn pages<T: DeserializeOwned>(
        &mut self,
        wanted: Wanted,
        ids: &[String],
        is_one: bool,
        part: &PageArgs,
        request: impl Fn(&str) -> RestRequest,
        shown: fn(&[T], Option<usize>) -> String,
    ) -> Result<(), Failure> {
        if part.cursor.is_some() && ids.len() != 1 {
            return Err(Failure::usage("--cursor continues one list: name one id"));
        }
        if !is_one {
            self.begin_several()?;
        }
        let mut tally = Tally::default();
        let mut done = Ok(());
        for id in ids {
            let listed = self.list(id, part, &request(id), shown, is_one).await;
            let listed = listed.map_err(|failure| wanted.kind.hint(id, failure));
            done = if is_one { tally.note(listed) } else { tally.note_one(id, listed) };
            if done.is_err() {
                break;
            }
        }
        self.end(done.and_then(|()| tally.end())).await
    }

    async fn list<T: DeserializeOwned>(
        &mut self,
        id: &str,
        part: &PageArgs,
        request: &RestRequest,
        shown: fn(&[T], Option<usize>) -> String,
        is_one: bool,
    ) -> Result<(), Failure> {
        let mut left = part.most().unwrap_or(u64::MAX);
        let mut cursor = part.cursor.clone();
        let mut items: Vec<Box<RawValue>> = vec![];
        let mut members = Map::new();
        let most = if part.is_search { MOST_RESULTS } else { MOST };
        let ended = loop {
            let size = left.min(most);
            let request = request.clone().parameter("limit", Some(size));
            let request = self.shaped(request.parameter("cursor", cursor.as_ref()));
            let (body, next) = match self.service.fetch_page(&request).await {
                Ok(page) => page,
                Err(failure) => break Err(failure),
            };
            if self.output.form == Form::Csv {
                self.output.csv(id, &body)?;
                (left, cursor) = (left - size, next);
            } else {
                let Page::<Box<RawValue>> { items: page, next_cursor } = read(&body)?;
                cursor = next_cursor;
                if members.is_empty() {
                    members = other_members(&body)?;
                }
                if part.is_search {
                    left -= size;
                } else {
                    left = left.saturating_sub(page.len() as u64);
                }
                match self.output.form {
                    Form::Ndjson => self.output.json(id, &json_list(&page))?,
                    _ => items.extend(page),
                }
            }
            if cursor.is_none() || left == 0 {
                break Ok(());
            }
        };
        match self.output.form {
            _ if ended.is_err() && items.is_empty() => {}
            Form::Json if is_one => {
                self.output.json(id, &document(&items, cursor.as_deref(), &members))?;
            }
            Form::Json => self.output.json(id, &json_list(&items))?,
            Form::People => {
                self.output
                    .answer(id, &json_list(&items), |items: &Vec<T>, width| shown(items, width))?;
            }
            Form::Ndjson | Form::Csv => {}
        }
        if let Some(summary) = part.summary.filter(|_| self.output.form == Form::People)
            && ended.is_ok()
            && let Some(line) = summary(&Value::Object(members))
        {
            self.output.notice(&line);
        }
        let is_new = cursor != part.cursor;
        let next = cursor.map(|cursor| format!("--cursor {cursor} continues the list"));
        match (ended, next) {
            (Err(failure), Some(next)) if is_new => Err(failure.with_hint(&next)),
            (Ok(()), Some(next)) => {
                self.output.notice(&format!("there is more: {next}, --all fetches it to its end"));
                Ok(())
            }
            (ended, _) => ended,
        }
    }
}

pub(super) fn json_list(items: &[Box<RawValue>]) -> Vec<u8> {
    let items: Vec<&str> = items.iter().map(|item| item.get()).collect();
    format!("[{}]", items.join(",")).into_bytes()
}

/// The list as the service sends a page.
fn document(
    items: &[Box<RawValue>],
    next_cursor: Option<&str>,
    members: &Map<String, Value>,
) -> Vec<u8> {
    let mut document = [br#"{"items":"#, &*json_list(items)].concat();
    if let Some(next) = next_cursor {
        document.extend(format!(r#","nextCursor":{}"#, Value::from(next)).bytes());
    }
    for (name, value) in members {
        document.extend(format!(",{}:{value}", Value::from(name.as_str())).bytes());
    }
    document.push(b'}');
    document
}
