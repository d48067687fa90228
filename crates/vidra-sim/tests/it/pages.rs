//! Watch pages, captcha pages and consent pages.

use crate::keyless_client::{get, watch};
use bytes::Bytes;
use http::Request;
use vidra_sim::Simulator;

async fn page(platform: &Simulator, id: &str, cookie: &str) -> crate::keyless_client::Reply {
    get(platform, &format!("/watch?v={id}"), cookie).await.expect("an answer")
}

#[tokio::test]
async fn watch_page_key_is_plain_escaped_or_absent() {
    let platform = Simulator::new();
    let key = platform.innertube_key();
    let good = watch(&platform, "wpGood_____").await.body;
    assert!(good.contains(&format!("\"INNERTUBE_API_KEY\":\"{key}\"")));
    assert!(good.find("AIzaSy") < good.find(&key), "a decoy comes first");
    let escaped = watch(&platform, "wpEscaped__").await.body;
    assert!(escaped.contains(&format!("INNERTUBE_API_KEY\\\":\\\"{key}\\\"")));
    assert!(!escaped.contains(&format!("\"INNERTUBE_API_KEY\":\"{key}\"")));
    let none = watch(&platform, "wpNoKey____").await.body;
    assert!(!none.contains(&platform.visitor_data()));
    assert!(
        !none.contains(&key) && none.contains("AIzaSy") && none.contains("ytInitialPlayerResponse")
    );
    let no_visitor = watch(&platform, "wpNoVisitor").await.body;
    assert!(no_visitor.contains(&key) && !no_visitor.contains(",\"VISITOR_DATA\""));
}

#[tokio::test]
async fn captcha_and_error_pages_are_served() {
    let platform = Simulator::new();
    for (id, status) in [("wpCaptcha__", 200), ("wpHttp429__", 429)] {
        let reply = watch(&platform, id).await;
        assert_eq!(reply.status, status);
        assert!(reply.body.contains("class=\"g-recaptcha\"") && !reply.body.contains("AIzaSy"));
        assert!(reply.body.contains("action=\"/das_captcha?fw=1\""));
    }
    assert_eq!(watch(&platform, "wpHttp503x1").await.status, 503);
    assert_eq!(watch(&platform, "wpHttp503x1").await.status, 200);
    platform.reset_record();
    assert_eq!(watch(&platform, "wpHttp503x1").await.status, 503);
}

#[tokio::test]
async fn either_consent_cookie_is_accepted() {
    let platform = Simulator::new();
    let is_consent_page = |body: &str| body.contains("action=\"https://consent.youtube.com/s\"");
    let first = page(&platform, "wpConsent1_", "").await.body;
    assert!(is_consent_page(&first));
    let from = first.find("name=\"v\" value=\"").expect("the input") + "name=\"v\" value=\"".len();
    let version = first[from..].split('"').next().unwrap_or_default();
    for cookie in ["SOCS=CAI", "PREF=hl=en; SOCS=CAISEwgDEgk", &format!("CONSENT=YES+{version}")] {
        assert!(!is_consent_page(&page(&platform, "wpConsent1_", cookie).await.body), "{cookie}");
        assert!(is_consent_page(&page(&platform, "wpConsentAl", cookie).await.body), "{cookie}");
    }
    for cookie in ["SOCS=CAA", "CONSENT=YES+other", "CONSENT=PENDING+999"] {
        assert!(is_consent_page(&page(&platform, "wpConsent1_", cookie).await.body), "{cookie}");
    }
}

#[tokio::test]
async fn consent_redirect_returns_to_the_watch_page() {
    let platform = Simulator::new();
    let reply = page(&platform, "wpConsent30", "").await;
    assert_eq!(reply.status, 302);
    let location = reply.header("location").to_owned();
    assert!(
        location.starts_with("https://consent.youtube.com/m?continue=https%3A%2F%2F"),
        "{location}"
    );
    assert_eq!(page(&platform, "wpConsent30", "SOCS=CAI").await.status, 200);
    let consent =
        get(&platform, location.trim_start_matches("https://consent.youtube.com"), "").await;
    assert!(consent.is_some_and(|reply| reply.body.contains("name=\"v\"")));
    let form = "continue=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3DwpConsent30&gl=DE";
    let request = Request::post("/s").body(Bytes::from_static(form.as_bytes())).expect("valid");
    let reply = crate::keyless_client::send(&platform, request).await.expect("an answer");
    assert_eq!(reply.status, 303);
    assert_eq!(reply.header("location"), "https://www.youtube.com/watch?v=wpConsent30&ucbcb=1");
    assert!(reply.header("set-cookie").starts_with("SOCS=CAI"));
}
