//! Answers to what never becomes a request: written by hand, because no route is ever reached.

use axum::http::StatusCode;

use crate::problem::ErrorBody;
use crate::request_id;

/// A whole answer after which the connection is closed.
pub(super) fn written(status: StatusCode, message: &str) -> Vec<u8> {
    let body = ErrorBody::plain(status, message);
    let body = serde_json::to_string(&body).expect("texts and a number");
    let wait = matches!(status.as_u16(), 429 | 503).then_some("retry-after: 1\r\n");
    let id = request_id::new();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nx-request-id: {}\r\n{}connection: close\r\n\r\n",
        body.len(),
        id.to_str().unwrap_or_default(),
        wait.unwrap_or_default()
    );
    (head + &body).into_bytes()
}

/// What hyper says of a head that it cannot read has no body. This is the same with one; `None` where
/// `bytes` is anything else.
pub(super) fn completed(bytes: &[u8]) -> Option<Vec<u8>> {
    let head = bytes.strip_prefix(b"HTTP/1.1 4")?.strip_suffix(b"\r\n\r\n")?;
    let head = str::from_utf8(head).ok().filter(|head| head.len() < LONGEST)?;
    let is_bare = head.contains("\r\ncontent-length: 0\r\n") && !head.contains("\r\n\r\n");
    let (status, message) = match head.get(..2)? {
        _ if !is_bare => return None,
        "00" => (StatusCode::BAD_REQUEST, "The request is not valid HTTP"),
        "14" => (StatusCode::URI_TOO_LONG, "The address of the request is too long"),
        "31" => (
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "The headers of the request are too many or too large",
        ),
        _ => return None,
    };
    Some(written(status, message))
}

/// No refusal of hyper's comes near it.
const LONGEST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_hyper_says_without_a_body_is_completed() {
        let bare = |status: &str| {
            format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\ndate: Sun, 15 Nov 2026\r\n\r\n")
        };
        let table = [
            ("400 Bad Request", Some("not valid HTTP")),
            ("414 URI Too Long", Some("too long")),
            ("431 Request Header Fields Too Large", Some("too many or too large")),
            ("200 OK", None),
            ("404 Not Found", None),
        ];
        for (status, expected) in table {
            let completed = completed(bare(status).as_bytes());
            let text = completed.map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(text.is_some(), expected.is_some(), "{status}");
            let (Some(text), Some(expected)) = (text, expected) else { continue };
            assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{text}");
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
            assert!(body.contains(expected) && body.contains(&status[..3]), "{body}");
        }
        assert_eq!(completed(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n"), None);
        assert_eq!(completed(b"{\"title\":\"HTTP/1.1 400 Bad Request\"}"), None);
    }
}
