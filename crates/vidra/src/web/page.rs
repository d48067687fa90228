//! The watch page. It is fetched only if the player requires its session data.

use std::sync::OnceLock;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use tokio::time::{Instant, timeout_at};

use super::{ENGLISH, TranscriptContext, WebRequestKind, built};
use crate::error::{Reason, Result};
use crate::resilience::send::Fault;
use crate::transport::Answer;
use crate::web::egress::{Egress, Session};

/// The cookie that tells YouTube that consent was given.
pub(crate) const CONSENT_GIVEN: &str = "SOCS=CAI; PREF=hl=en&tz=UTC";

const BROWSER: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
                       Chrome/150.0.0.0 Safari/537.36";

impl TranscriptContext<'_> {
    /// Fetches the session data from the watch page and stores it for the address. Concurrent
    /// requests with the same outdated session share one fetch.
    ///
    /// The lock is held for one attempt at a time, and never during a backoff. The wait for it ends
    /// at the deadline.
    pub(crate) async fn renew_session(
        &self,
        egress: &Egress,
        outdated: Option<&Session>,
    ) -> Result<Session> {
        let consent = &OnceLock::new();
        let fetch = |is_retry| async move {
            let Ok(_only_one) = timeout_at(self.ctx.deadline, egress.renewing.lock()).await else {
                return Err(Fault::permanent(Reason::TimedOut.error(self.id).for_one_caller()));
            };
            let newer = egress.session(Instant::now()).filter(|known| Some(known) != outdated);
            if let Some(newer) = newer {
                return Ok(newer);
            }
            let mut answer = self.send_page(egress, consent.get(), is_retry).await?;
            if consent.get().is_none()
                && let Some(value) = consent_asked(&answer)
            {
                let value = consent.get_or_init(|| value);
                answer = self.send_page(egress, Some(value), is_retry).await?;
            }
            let session = self.read_page(&answer).map_err(Fault::permanent)?;
            egress.keep_session(session.clone(), Instant::now());
            Ok(session)
        };
        self.web.sender.with_retries(self.ctx, egress.breaker(WebRequestKind::Page), fetch).await
    }

    async fn send_page(
        &self,
        egress: &Egress,
        consent: Option<&String>,
        is_retry: bool,
    ) -> Result<Answer, Fault> {
        let request = self.page_request(consent).map_err(Fault::permanent)?;
        self.send_once(egress, WebRequestKind::Page, &request, is_retry).await
    }

    fn read_page(&self, answer: &Answer) -> Result<Session> {
        let page = String::from_utf8_lossy(&answer.body);
        if is_captcha(answer, &page) {
            return Err(Reason::Blocked.error(self.id));
        }
        let session = Session {
            key: setting(&page, "INNERTUBE_API_KEY"),
            visitor: setting(&page, "VISITOR_DATA"),
        };
        if session == Session::default() {
            return Err(Reason::PlatformChanged.error(self.id));
        }
        Ok(session)
    }

    /// Builds the page request. If a consent page requested a value, it also sends the older
    /// consent cookie.
    fn page_request(&self, consent: Option<&String>) -> Result<Request<Bytes>> {
        let cookie = match consent {
            None => CONSENT_GIVEN.to_owned(),
            Some(value) => format!("CONSENT=YES+{value}; {CONSENT_GIVEN}"),
        };
        let request = Request::get(format!("{}/watch?v={}", self.web.origin, self.id))
            .header(header::USER_AGENT, BROWSER)
            .header(header::ACCEPT_LANGUAGE, ENGLISH)
            .header(header::COOKIE, cookie);
        built(request.body(Bytes::new()))
    }
}

/// The value that a consent page requests. Empty if it gives none.
fn consent_asked(answer: &Answer) -> Option<String> {
    let redirect = answer.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
    if redirect.is_some_and(|to| to.starts_with("https://consent.youtube.com/")) {
        return Some(String::new());
    }
    let page = String::from_utf8_lossy(&answer.body);
    if !page.contains("action=\"https://consent.youtube.com/s\"") {
        return None;
    }
    let (_, rest) = page.split_once("name=\"v\" value=\"").unwrap_or_default();
    let value: String =
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_.+".contains(*c)).collect();
    Some(value)
}

fn is_captcha(answer: &Answer, page: &str) -> bool {
    answer.status == StatusCode::FORBIDDEN || page.contains("class=\"g-recaptcha\"")
}

/// Whether YouTube redirects to its page for suspected bots.
pub(crate) fn is_sorry(answer: &Answer) -> bool {
    let location = answer.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
    location.is_some_and(|to| to.contains("google.com/sorry"))
}

/// Finds a setting by its name, in any of the quotings of different years: `"NAME":"value"`, `NAME:
/// "value"`, `'NAME': "value"`, `\"NAME\":\"value\"`. The name must match completely, because pages
/// contain several keys.
fn setting(page: &str, name: &str) -> Option<String> {
    let is_whole = |at: usize| !page[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    page.match_indices(name).filter(|(at, _)| is_whole(*at)).find_map(|(at, _)| {
        let after = page[at + name.len()..].trim_start_matches(['"', '\'', '\\']);
        let value = after.strip_prefix(':')?.trim_start().trim_start_matches('\\');
        let value = value.strip_prefix(['"', '\''])?;
        let clean = |c: &char| c.is_ascii_alphanumeric() || "-_%=.".contains(*c);
        let value: String = value.chars().take_while(clean).take(512).collect();
        (!value.is_empty()).then_some(value)
    })
}
