//! The endpoint table of the guide, and the grammar of its costs:
//!
//! ```text
//! cost   = charge [", needs no API key"] {"; " condition " " ["up to "] charge}
//!        | "as the data it needs"
//! charge = term {" + " term}
//! term   = N [" more"] [" per " M " " noun] | "one search"
//! ```
//!
//! The charge of a condition is added to the first one, so that its units have `more`. Nouns are in `counts.rs`.

use std::sync::LazyLock;

use regex::Regex;

/// An endpoint of the table with its cost.
#[derive(Debug)]
pub(super) struct Row {
    /// Method and route, without a query. Rows of one route have a part of its body in addition: ``with `playlist` ``.
    pub(super) endpoint: String,
    pub(super) cost: Cost,
}

#[derive(Debug)]
pub(super) enum Cost {
    Stated {
        charge: Charge,
        needs_no_key: bool,
        conditions: Vec<Condition>,
    },
    /// The cost of another request.
    AsTheData,
}

#[derive(Debug)]
pub(super) struct Condition {
    pub(super) name: String,
    pub(super) is_upper_bound: bool,
    pub(super) charge: Charge,
}

pub(super) type Charge = Vec<Term>;

#[derive(Debug)]
pub(super) enum Term {
    Search,
    Units(i64),
    /// Units for each started group of `size` things.
    Per {
        units: i64,
        size: usize,
        noun: String,
    },
}

/// Every endpoint of the guide. A row can have several.
pub(super) fn rows() -> Vec<Row> {
    let guide = include_str!("../../../../../docs/guide/rest-api.md");
    let (_, section) = guide.split_once("\n## Endpoints\n").expect("the section of the table");
    let lines = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let lines = lines.take_while(|line| line.starts_with('|'));
    lines.flat_map(rows_of).collect()
}

fn rows_of(line: &str) -> Vec<Row> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [endpoints, _, cost] = cells[..] else { panic!("three cells: {line}") };
    let spans = endpoints.split('`').skip(1).step_by(2);
    let is_endpoint = |span: &&str| {
        ["GET ", "PUT ", "POST ", "DELETE "].iter().any(|method| span.starts_with(method))
    };
    let endpoints = spans.filter(is_endpoint);
    let endpoints: Vec<&str> = endpoints.map(|span| span.split('?').next().unwrap()).collect();
    assert!(!endpoints.is_empty(), "{line}");
    let body = cells[0].split_once("` with ").map(|(_, body)| format!(" with {body}"));
    let body = body.unwrap_or_default();
    let row =
        |endpoint: &str| Row { endpoint: format!("{endpoint}{body}"), cost: Cost::parse(cost) };
    endpoints.into_iter().map(row).collect()
}

static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?<name>.+?) (?<bound>up to )?(?<charge>(?:\d+ more|one search)\b.*)$").unwrap()
});
static TERM: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?<units>\d+)(?: per (?<size>\d+) (?<noun>.+))?$").unwrap());

impl Cost {
    pub(super) fn parse(text: &str) -> Self {
        if text == "as the data it needs" {
            return Self::AsTheData;
        }
        let mut clauses = text.split("; ");
        let first = clauses.next().unwrap();
        let (charge, needs_no_key) = match first.strip_suffix(", needs no API key") {
            Some(charge) => (charge, true),
            None => (first, false),
        };
        let charge = charge.split(" + ").map(Term::parse).collect();
        Self::Stated { charge, needs_no_key, conditions: clauses.map(Condition::parse).collect() }
    }
}

impl Condition {
    fn parse(text: &str) -> Self {
        let found = CONDITION.captures(text).unwrap_or_else(|| panic!("not a condition: {text}"));
        let terms = found["charge"].split(" + ").map(|term| match term {
            "one search" => Term::Search,
            term => {
                assert!(term.contains(" more"), "units of a condition are more: {text}");
                Term::parse(&term.replacen(" more", "", 1))
            }
        });
        Self {
            name: found["name"].to_owned(),
            is_upper_bound: found.name("bound").is_some(),
            charge: terms.collect(),
        }
    }
}

impl Term {
    fn parse(text: &str) -> Self {
        if text == "one search" {
            return Self::Search;
        }
        let found = TERM.captures(text).unwrap_or_else(|| panic!("not a cost: {text}"));
        let units = found["units"].parse().unwrap();
        match found.name("size") {
            None => Self::Units(units),
            Some(size) => {
                let size = size.as_str().parse().unwrap();
                Self::Per { units, size, noun: found["noun"].to_owned() }
            }
        }
    }
}
