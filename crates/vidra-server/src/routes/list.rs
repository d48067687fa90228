//! What the routes of lists have in common: pages, chosen members, CSV and NDJSON.

use axum::http::header::VARY;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use vidra::{Cached, Include, Lookup, Page, PlaylistId, PlaylistVideo, Resource, Selection, Vidra};

use super::responder::Responder;
use crate::accept::preferred_type;
use crate::drain::Drain;
use crate::error_body::{ApiError, Result};
use crate::extract::Query;
use crate::hot::{Answer, exact_bytes};
use crate::items::{CsvWriter, Fields};
use crate::respond::Tagged;
use crate::{respond, stream};

/// The cursor of the next page, for formats whose body has no place for it.
const X_NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");

pub(super) const CSV: &str = "text/csv; charset=utf-8; header=present";

/// The form of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListFormat {
    Json,
    Csv,
    Ndjson,
}

/// How a caller wants the items of a list.
#[derive(Debug)]
pub(super) struct ListForm {
    format: ListFormat,
    fields: Option<Fields>,
    /// The members of videos that are requested, by `include` or by `fields`.
    include: Include,
    /// Whether `Accept` decided about the format.
    is_by_accept: bool,
}

/// The page of a list that a caller requests.
#[derive(Debug)]
pub(super) struct PageQuery {
    pub(super) cursor: Option<String>,
    pub(super) limit: usize,
}

impl PageQuery {
    pub(super) fn read(query: &mut Query) -> Self {
        let cursor = query.text("cursor").map(str::to_owned);
        Self { cursor, limit: query.whole("limit", 1..=500, 50) }
    }
}

/// Reads `include`: the members of videos that are requested.
pub(super) fn read_include(query: &mut Query) -> Include {
    let words: Vec<String> = query.list("include").into_iter().map(str::to_owned).collect();
    let mut include = Include::default();
    for word in words {
        match Include::ALL.iter().find(|(known, _)| *known == word) {
            Some((_, member)) => include = include.and(*member),
            None => query.fault("include", "must be a list of details and chapters"),
        }
    }
    include
}

/// Reads `fields` for items of type `T`. `None` if it is not given.
pub(super) fn read_fields<T: ToSchema>(query: &mut Query) -> Option<Fields> {
    let paths = query.list("fields");
    if paths.is_empty() {
        return None;
    }
    match Fields::parse::<T>(&paths) {
        Ok(fields) => Some(fields),
        Err(faults) => {
            faults.iter().for_each(|fault| query.fault("fields", fault));
            None
        }
    }
}

/// These items as CSV.
pub(super) fn csv<T: ToSchema>(
    fields: Option<&Fields>,
    include: Include,
    items: &[Value],
) -> Bytes {
    let mut csv = CsvWriter::new::<T>(fields, include);
    items.iter().for_each(|item| csv.add(item));
    exact_bytes(csv.take())
}

impl ListForm {
    /// Reads `format` and `fields` for a list with items of type `T`.
    pub(super) fn read<T: ToSchema>(query: &mut Query, headers: &HeaderMap) -> Self {
        Self::among::<T>(
            query,
            headers,
            &[("application/json", ListFormat::Json), ("text/csv", ListFormat::Csv)],
        )
    }

    /// Reads `format` and `fields` for a list that can also be streamed as NDJSON.
    pub(super) fn read_paged<T: ToSchema>(query: &mut Query, headers: &HeaderMap) -> Self {
        let types = [
            ("application/json", ListFormat::Json),
            ("text/csv", ListFormat::Csv),
            ("application/x-ndjson", ListFormat::Ndjson),
        ];
        Self::among::<T>(query, headers, &types)
    }

    fn among<T: ToSchema>(
        query: &mut Query,
        headers: &HeaderMap,
        types: &[(&str, ListFormat)],
    ) -> Self {
        let is_by_accept = query.text("format").is_none();
        let format = match is_by_accept {
            true => preferred_type(headers, types).unwrap_or(ListFormat::Json),
            false => {
                query.choice("format", &[("json", ListFormat::Json), ("csv", ListFormat::Csv)])
            }
        };
        let fields = read_fields::<T>(query);
        let named = fields.as_ref().map(Fields::include).unwrap_or_default();
        let include = read_include(query).and(named);
        Self { format, fields, include, is_by_accept }
    }

    /// The members of videos that are requested.
    pub(super) fn include(&self) -> Include {
        self.include
    }

    /// Whether the list is JSON, which has other members beside the items.
    pub(super) fn is_json(&self) -> bool {
        self.format == ListFormat::Json
    }

    /// Whether the list is to be streamed.
    pub(super) fn is_stream(&self) -> bool {
        self.format == ListFormat::Ndjson
    }

    /// An answer that is a JSON array, in this form.
    pub(super) fn apply<T: ToSchema>(&self, mut answer: Answer) -> Result<Answer> {
        answer.varies_by_accept = self.is_by_accept;
        if self.format == ListFormat::Json && self.fields.is_none() {
            return Ok(answer);
        }
        let items: Vec<Value> = answer.decode()?;
        match self.format {
            ListFormat::Csv => Ok(self.with_csv::<T>(answer, &items)),
            _ => answer.with_json(&self.chosen(&items)),
        }
    }

    /// A page, in this form.
    fn apply_to_page<T: ToSchema + Serialize>(
        &self,
        resource: Resource,
        page: Cached<Page<T>>,
    ) -> Result<Answer> {
        if self.format == ListFormat::Json && self.fields.is_none() {
            // As it is, so that members keep their order.
            let body = serde_json::to_vec(&page.body).map_err(ApiError::internal)?;
            let mut answer = Answer::new(resource, page.with_body(exact_bytes(body)));
            answer.varies_by_accept = self.is_by_accept;
            return Ok(answer);
        }
        let Page { items, next_cursor, total_estimate, .. } = &page.body;
        let total_estimate = *total_estimate;
        let items: Result<Vec<Value>, _> = items.iter().map(serde_json::to_value).collect();
        let (items, cursor) = (items.map_err(ApiError::internal)?, next_cursor.clone());
        let mut answer = Answer::new(resource, page.with_body(Bytes::new()));
        answer.varies_by_accept = self.is_by_accept;
        if self.format == ListFormat::Csv {
            let cursor = cursor.and_then(|cursor| HeaderValue::try_from(cursor).ok());
            answer.headers.extend(cursor.map(|cursor| (X_NEXT_CURSOR, cursor)));
            return Ok(self.with_csv::<T>(answer, &items));
        }
        let mut body = json!({"items": self.chosen(&items)});
        if let Some(cursor) = cursor {
            body["nextCursor"] = cursor.into();
        }
        if let Some(total) = total_estimate {
            body["totalEstimate"] = total.into();
        }
        answer.with_json(&body)
    }

    /// Sends the selected part of a playlist, with its videos in this form.
    pub(super) async fn query_playlist(
        &self,
        vidra: &Vidra,
        id: &PlaylistId,
        selection: &Selection,
    ) -> Result {
        // Serializing a video cannot fail.
        let value = |video: PlaylistVideo| serde_json::to_value(video).unwrap_or_default();
        let (content_type, body) = match &self.fields {
            fields if self.format == ListFormat::Csv => {
                let mut csv = CsvWriter::new::<PlaylistVideo>(fields.as_ref(), self.include);
                let head = csv.take();
                let row = |video| {
                    csv.add(&value(video));
                    csv.take()
                };
                (CSV, vidra.query_playlist_text(id, selection, &head, row).await?)
            }
            Some(fields) => {
                let item = |video| fields.of(&value(video));
                (respond::JSON, vidra.query_playlist_body(id, selection, item).await?)
            }
            // As they are, so that members keep their order.
            None => (respond::JSON, vidra.query_playlist_body(id, selection, |video| video).await?),
        };
        let mut response = respond::document(content_type, body).await?;
        if self.is_by_accept {
            response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
        }
        Ok(response)
    }

    /// Sends a page of items of type `T` that must not be cached. `whole` is the page as JSON, with all members.
    pub(super) fn page<T: ToSchema>(
        &self,
        whole: &impl Serialize,
        items: &[impl Serialize],
        next_cursor: Option<&str>,
    ) -> Result {
        let mut response = self.page_body::<T>(whole, items, next_cursor)?;
        if self.is_by_accept {
            response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
        }
        Ok(response)
    }

    fn page_body<T: ToSchema>(
        &self,
        whole: &impl Serialize,
        items: &[impl Serialize],
        next_cursor: Option<&str>,
    ) -> Result<Response> {
        if self.format == ListFormat::Json && self.fields.is_none() {
            // As it is, so that members keep their order.
            return Ok(Tagged(whole).into_response());
        }
        let items: Result<Vec<Value>, _> = items.iter().map(serde_json::to_value).collect();
        let items = items.map_err(ApiError::internal)?;
        if self.format == ListFormat::Csv {
            let body = csv::<T>(self.fields.as_ref(), self.include, &items);
            let mut response = (respond::tagged_headers(CSV, &body), body).into_response();
            let cursor = next_cursor.and_then(|cursor| HeaderValue::try_from(cursor).ok());
            response.headers_mut().extend(cursor.map(|cursor| (X_NEXT_CURSOR, cursor)));
            return Ok(response);
        }
        let mut body = serde_json::to_value(whole).map_err(ApiError::internal)?;
        body["items"] = self.chosen(&items).into();
        // Trends have one more item.
        if let Some(undated) = body.get_mut("undated") {
            *undated = self.choose(undated);
        }
        Ok(Tagged(body).into_response())
    }

    /// Streams items as NDJSON.
    pub(super) async fn stream<T: Serialize>(
        self,
        items: impl Stream<Item = vidra::Result<T>> + Send + 'static,
        drain: Drain,
    ) -> Result {
        let item = move |item: vidra::Result<T>| {
            let value = serde_json::to_value(item?)
                .map_err(|error| vidra::Error::new(vidra::Reason::Internal, error.to_string()))?;
            Ok(self.choose(&value))
        };
        stream::respond_with_list(items.map(item), drain).await
    }

    fn with_csv<T: ToSchema>(&self, mut answer: Answer, items: &[Value]) -> Answer {
        answer.content_type = CSV;
        answer.cached.body = csv::<T>(self.fields.as_ref(), self.include, items);
        answer
    }

    fn chosen(&self, items: &[Value]) -> Vec<Value> {
        items.iter().map(|item| self.choose(item)).collect()
    }

    fn choose(&self, item: &Value) -> Value {
        self.fields.as_ref().map_or_else(|| item.clone(), |fields| fields.of(item))
    }
}

impl Responder {
    /// Reads a list through the cache, and sends it in the form that the caller wants.
    pub(super) async fn fetch_list<T: ToSchema>(&self, form: &ListForm, lookup: Lookup) -> Result {
        let answer = Answer::fetch(&self.vidra, lookup).await?;
        self.send_list::<T>(form, answer).await
    }

    /// Reads an object with a list `items` through the cache, and sends the list in the form that the caller wants. CSV
    /// has no place for the other members.
    pub(super) async fn fetch_items<T: ToSchema>(&self, form: &ListForm, lookup: Lookup) -> Result {
        let mut answer = Answer::fetch(&self.vidra, lookup).await?;
        answer.varies_by_accept = form.is_by_accept;
        if form.format == ListFormat::Json && form.fields.is_none() {
            return Ok(self.send(&answer).await);
        }
        let mut body: Value = answer.decode()?;
        let items = body["items"].as_array().cloned().unwrap_or_default();
        let answer = match form.format {
            ListFormat::Csv => form.with_csv::<T>(answer, &items),
            _ => {
                body["items"] = form.chosen(&items).into();
                answer.with_json(&body)?
            }
        };
        Ok(self.send(&answer).await)
    }

    /// Sends an answer that is a JSON array in the form that the caller wants.
    pub(super) async fn send_list<T: ToSchema>(&self, form: &ListForm, answer: Answer) -> Result {
        Ok(self.send(&form.apply::<T>(answer)?).await)
    }

    /// Sends a page in the form that the caller wants.
    pub(super) async fn send_page<T: ToSchema + Serialize>(
        &self,
        form: &ListForm,
        resource: Resource,
        page: Cached<Page<T>>,
    ) -> Result {
        Ok(self.send(&form.apply_to_page(resource, page)?).await)
    }

    /// Streams the items of a list as NDJSON.
    pub(super) async fn stream_list<T: Serialize>(
        self,
        form: ListForm,
        items: impl Stream<Item = vidra::Result<T>> + Send + 'static,
    ) -> Result<Response> {
        form.stream(items, self.drain()).await
    }
}
