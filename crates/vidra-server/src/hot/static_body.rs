//! A body that never changes, in both of its forms.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use super::gzip::{accepts_gzip, compress, gzip_etag};
use crate::respond::etag;

/// A body that never changes, with its compressed form.
pub(crate) struct StaticBody {
    content_type: &'static str,
    plain: Bytes,
    etag: HeaderValue,
    gzip: Option<(Bytes, HeaderValue)>,
}

impl StaticBody {
    pub(crate) fn new(content_type: &'static str, plain: Bytes) -> Self {
        let etag = etag(&plain);
        let gzip = compress(&plain).map(|body| (body, gzip_etag(&etag)));
        Self { content_type, plain, etag, gzip }
    }

    /// The response to one request. Caches may store it, and must revalidate it.
    pub(crate) fn response(&self, request_headers: &HeaderMap) -> Response {
        let gzip = self.gzip.as_ref().filter(|_| accepts_gzip(request_headers));
        let (body, etag) = gzip.map_or((&self.plain, &self.etag), |(body, etag)| (body, etag));
        let encoding = gzip.map(|_| (header::CONTENT_ENCODING, HeaderValue::from_static("gzip")));
        let mut response = (self.headers(etag.clone()), body.clone()).into_response();
        response.headers_mut().extend(encoding);
        response
    }

    fn headers(&self, etag: HeaderValue) -> [(HeaderName, HeaderValue); 4] {
        [
            (header::CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            (header::VARY, HeaderValue::from_static("accept-encoding")),
            (header::ETAG, etag),
        ]
    }
}
