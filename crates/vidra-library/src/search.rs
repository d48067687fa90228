//! Searches: the syntax of queries, filters, hits and their order.

mod excerpt;
mod filter;
mod hit;
mod period;
mod query;
mod rank;

pub(crate) use excerpt::{Excerpt, Passage, field_moment};
pub use filter::{LibraryFilter, SearchFields, SearchGroup, SearchSort, TextSearch};
pub use hit::{
    Hit, HitItem, HitMoment, HitPage, HitTotal, HitVideo, LibraryVideo, SearchCoverage, Trend,
    Trends, VideoHit,
};
pub use period::Period;
pub use query::TextQuery;
pub(crate) use query::{Atom, Clause};
pub(crate) use rank::{Postings, Scored, merge};
