//! The path of a cached response. A request for the exact target of a rendered response is answered
//! before routing, without JSON, and with at most three allocations.

mod access_log;
mod answer;
mod gzip;
mod rendered;
mod request_head;
mod request_id;
mod request_log;
mod response_cache;
mod static_body;
mod trace;

pub use access_log::AccessLog;
pub(crate) use answer::{Answer, exact_bytes};
pub(crate) use gzip::accepts_gzip;
pub(crate) use request_head::{HeaderLines, RequestHead, SEC_FETCH_SITE};
pub(crate) use request_id::new_request_id;
pub(crate) use request_log::{Observers, RequestLog, ResponseFacts, RouteInfo, Sender};
pub(crate) use response_cache::ResponseCache;
pub(crate) use static_body::StaticBody;
