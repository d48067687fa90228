//! Checks of keyless calls. A violation is recorded and does not fail the call.

use super::{client, secret};
use crate::call::Call;
use crate::route::Endpoint;

/// The violations of a keyless call: behaviour that a careful client avoids.
pub(crate) fn violations(call: &Call, seed: u64, data_key: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut report = |text: String| found.push(format!("{:?}: {text}", call.endpoint));
    if call.header("x-goog-api-key").is_some() {
        report("the header X-Goog-Api-Key".to_owned());
    }
    if call.query.get("key") == Some(data_key) {
        report("the key of the Data API in the URL".to_owned());
    }
    if matches!(call.endpoint, Endpoint::Watch | Endpoint::Player | Endpoint::TimedText)
        && !call.header("accept-language").is_some_and(|sent| sent.starts_with("en"))
    {
        report(format!("Accept-Language is {:?}, not English", call.header("accept-language")));
    }
    match call.endpoint {
        Endpoint::Watch => watch(call, &mut report),
        Endpoint::Player => player(call, seed, &mut report),
        Endpoint::TimedText => timed_text(call, &mut report),
        Endpoint::PotProvider => is_json(call, &mut report),
        _ => {}
    }
    found
}

fn watch(call: &Call, report: &mut impl FnMut(String)) {
    let cookies = call.header("cookie").unwrap_or_default();
    if !cookies.contains("SOCS=CAI") && !cookies.contains("CONSENT=YES+") {
        report(format!("no cookie SOCS=CAI in {cookies:?}"));
    }
}

fn is_json(call: &Call, report: &mut impl FnMut(String)) {
    if !call.header("content-type").is_some_and(|sent| sent.starts_with("application/json")) {
        report(format!("Content-Type is {:?}", call.header("content-type")));
    }
}

fn player(call: &Call, seed: u64, report: &mut impl FnMut(String)) {
    is_json(call, report);
    let context = &call.json["context"]["client"];
    let text = |name: &str| context[name].as_str();
    let name = text("clientName").unwrap_or_default();
    let Some(client) = client::find(name) else {
        report(format!("no such clientName: {name:?}"));
        return;
    };
    let number = call.header("x-youtube-client-name");
    if !number.is_some_and(|sent| client.numbers.contains(&sent)) {
        report(format!("X-YouTube-Client-Name is {number:?} for {name}"));
    }
    let version = call.header("x-youtube-client-version");
    if version.is_none() || version != text("clientVersion") {
        let in_body = text("clientVersion");
        report(format!("X-YouTube-Client-Version is {version:?}, clientVersion {in_body:?}"));
    }
    if !text("hl").is_some_and(|hl| hl == "en" || hl.starts_with("en-")) {
        report(format!("hl is {:?}", text("hl")));
    }
    let embeds = call.json["context"]["thirdParty"]["embedUrl"].is_string();
    if name == "WEB_EMBEDDED_PLAYER" && !embeds {
        report("no thirdParty.embedUrl for WEB_EMBEDDED_PLAYER".to_owned());
    }
    agent(call, client, (text("userAgent"), text("clientVersion")), report);
    let key = call.query.get("key");
    if key.is_some_and(|key| key != secret::innertube_key(seed)) {
        report("a key that is not the one of the watch page".to_owned());
    }
}

fn agent(
    call: &Call,
    client: &client::Client,
    (in_body, version): (Option<&str>, Option<&str>),
    report: &mut impl FnMut(String),
) {
    let agent = call.header("user-agent").unwrap_or_default();
    let versioned = client.agent.ends_with('/');
    let right = agent.starts_with(client.agent)
        && !agent.is_empty()
        && (!versioned || version.is_some_and(|version| agent.contains(version)));
    if !right || (client.is_app() && in_body.is_some_and(|in_body| in_body != agent)) {
        report(format!("User-Agent {agent:?} for {} (userAgent {in_body:?})", client.name));
    }
}

fn timed_text(call: &Call, report: &mut impl FnMut(String)) {
    for name in ["fmt", "tlang", "pot"] {
        let times = call.query.pairs().iter().filter(|(sent, _)| sent == name).count();
        if times > 1 {
            report(format!("{name} {times} times"));
        }
    }
    let (source, target) = (call.query.get("lang"), call.query.get("tlang"));
    if target.is_some() && target == source {
        report("a translation into the language it is in".to_owned());
    }
    if call.query.get("pot").is_some()
        && (call.query.get("potc") != Some("1") || call.query.get("c").is_none())
    {
        report("pot without potc=1 and c".to_owned());
    }
}
