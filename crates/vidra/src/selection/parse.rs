//! Parses JSON into a [`Selection`], and reports all faults at once.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Bounds, Filter, PositionRange, Selection, Sort, SortField, SortOrder};
use crate::error::{Error, Result};
use crate::list::DateRange;
use crate::video::LiveState;
use crate::whole;

impl Selection {
    /// Parses `{"filter": …, "sort": …, "range": …}`. All fields are optional.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](crate::Reason::InvalidInput), with one detail for each fault.
    ///
    /// ```
    /// use vidra::Selection;
    /// let wrong = serde_json::json!({"range": {"start": 3, "end": 2}, "order": "asc"});
    /// let error = Selection::from_json(&wrong).unwrap_err();
    /// assert_eq!(error.details(), ["order: unknown field", "range: start is greater than end"]);
    /// ```
    pub fn from_json(body: &Value) -> Result<Self> {
        let mut reader = Reader::default();
        let selection = reader.selection(body);
        if reader.faults.is_empty() {
            Ok(selection)
        } else {
            Err(Error::invalid("The query is not valid", reader.faults))
        }
    }
}

/// Parses the body and collects its faults.
#[derive(Default)]
struct Reader {
    faults: Vec<String>,
}

impl Reader {
    fn selection(&mut self, body: &Value) -> Selection {
        let Some(fields) = self.object(body, "body", &["filter", "sort", "range"]) else {
            return Selection::default();
        };
        Selection {
            filter: fields.get("filter").map(|value| self.filter(value)).unwrap_or_default(),
            sort: fields.get("sort").and_then(|value| self.sort(value)),
            range: fields.get("range").map(|value| self.position_range(value)).unwrap_or_default(),
        }
    }

    fn filter(&mut self, value: &Value) -> Filter {
        let known = ["duration", "views", "likes", "published", "title", "live", "isShort"];
        let Some(fields) = self.object(value, "filter", &known) else {
            return Filter::default();
        };
        let mut bounds = |name: &str| {
            let path = format!("filter.{name}");
            fields.get(name).map(|value| self.bounds(value, &path)).unwrap_or_default()
        };
        let (duration, views, likes) = (bounds("duration"), bounds("views"), bounds("likes"));
        let published = fields.get("published").map(|value| self.dates(value));
        Filter {
            duration,
            views,
            likes,
            published: published.unwrap_or_default(),
            title: fields.get("title").and_then(|value| self.title(value)),
            live: fields.get("live").and_then(|value| self.live(value)),
            is_short: fields.get("isShort").and_then(|value| match value {
                Value::Bool(is_short) => Some(*is_short),
                _ => self.fault("filter.isShort", "must be true or false"),
            }),
        }
    }

    fn dates(&mut self, value: &Value) -> DateRange {
        let Some(fields) = self.object(value, "filter.published", &["since", "until"]) else {
            return DateRange::default();
        };
        let mut date = |name: &str, parse: fn(&str) -> Result<Timestamp>| {
            let parsed = fields.get(name)?.as_str().and_then(|text| parse(text).ok());
            let must = "must be a date (2026-01-31) or a time (2026-01-31T18:30:00Z)";
            parsed.or_else(|| self.fault(&format!("filter.published.{name}"), must))
        };
        let since = date("since", DateRange::parse_since);
        let until = date("until", DateRange::parse_until);
        if DateRange::new(since, until).is_err() {
            let _: Option<()> = self.fault("filter.published", "since is later than until");
        }
        DateRange { since, until }
    }

    fn title(&mut self, value: &Value) -> Option<String> {
        let text = value.as_str().filter(|text| (1..=200).contains(&text.trim().chars().count()));
        let text = text.map(|text| text.trim().to_owned());
        text.or_else(|| self.fault("filter.title", "must be text of 1 to 200 characters"))
    }

    fn live(&mut self, value: &Value) -> Option<LiveState> {
        let live = LiveState::deserialize(value).ok();
        let must = "must be \"none\", \"upcoming\", \"live\" or \"ended\"";
        live.or_else(|| self.fault("filter.live", must))
    }

    fn bounds(&mut self, value: &Value, path: &str) -> Bounds {
        let (min, max) = self.pair(value, path, ["min", "max"], 0);
        Bounds { min, max }
    }

    fn position_range(&mut self, value: &Value) -> PositionRange {
        let (start, end) = self.pair(value, "range", ["start", "end"], 1);
        PositionRange { start, end }
    }

    fn sort(&mut self, value: &Value) -> Option<Sort> {
        let fields = self.object(value, "sort", &["field", "order"])?;
        let field = fields.get("field").and_then(|field| SortField::deserialize(field).ok());
        let field = field.or_else(|| {
            let must = "must be \"duration\", \"views\", \"likes\", \"published\", \"title\", \
                        \"comments\" or \"position\"";
            self.fault("sort.field", must)
        });
        let order = match fields.get("order").map(Value::as_str) {
            None | Some(Some("asc")) => Some(SortOrder::Asc),
            Some(Some("desc")) => Some(SortOrder::Desc),
            _ => self.fault("sort.order", "must be \"asc\" or \"desc\""),
        };
        Some(Sort { field: field?, order: order? })
    }

    /// Parses two optional whole numbers. The first must not exceed the second.
    fn pair(
        &mut self,
        value: &Value,
        path: &str,
        [low, high]: [&'static str; 2],
        least: u64,
    ) -> (Option<u64>, Option<u64>) {
        let Some(fields) = self.object(value, path, &[low, high]) else { return (None, None) };
        let mut whole = |name: &str| {
            let number = fields.get(name)?;
            let number =
                number.as_number().and_then(whole::whole).filter(|number| *number >= least);
            let must = format!("must be a whole number, {least} or more");
            number.or_else(|| self.fault(&format!("{path}.{name}"), &must))
        };
        let (from, to) = (whole(low), whole(high));
        if from.zip(to).is_some_and(|(from, to)| from > to) {
            let _: Option<()> = self.fault(path, &format!("{low} is greater than {high}"));
        }
        (from, to)
    }

    /// Returns the fields of an object, and reports unknown fields as faults.
    fn object<'a>(
        &mut self,
        value: &'a Value,
        path: &str,
        known: &[&str],
    ) -> Option<&'a Map<String, Value>> {
        let Some(fields) = value.as_object() else {
            return self.fault(path, "must be an object");
        };
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            let name = crate::ident::shown(name);
            let path = if path == "body" { name } else { format!("{path}.{name}") };
            let _: Option<()> = self.fault(&path, "unknown field");
        }
        Some(fields)
    }

    fn fault<T>(&mut self, path: &str, what: &str) -> Option<T> {
        self.faults.push(format!("{path}: {what}"));
        None
    }
}
