//! `playabilityStatus` of videos that are not playable.

use super::PlayerContext;
use crate::quirk::Refusal;
use crate::web::client::Family;
use serde_json::{Value, json};

/// The refusal for one client; `None` if this client may play the video.
pub(super) fn for_client(refusal: Refusal, client: &str) -> Option<Refusal> {
    let mobile = matches!(client, "ANDROID" | "ANDROID_VR" | "IOS");
    match refusal {
        Refusal::BotForMobile => mobile.then_some(Refusal::Bot),
        Refusal::AgeUnlessEmbedded => (client != "WEB_EMBEDDED_PLAYER").then_some(Refusal::Age),
        Refusal::Kids => matches!(client, "VISIONOS" | "ANDROID_VR").then_some(Refusal::Kids),
        Refusal::OnlyWeb => {
            (!matches!(client, "WEB" | "MWEB" | "WEB_EMBEDDED_PLAYER")).then_some(Refusal::OnlyWeb)
        }
        Refusal::OutdatedAndroid => (client == "ANDROID").then_some(Refusal::OutdatedApp),
        other => Some(other),
    }
}

/// Whether the answer contains `videoDetails` nevertheless.
pub(super) fn shows_details(refusal: Refusal) -> bool {
    !matches!(refusal, Refusal::Bot | Refusal::Captcha | Refusal::Private | Refusal::Unavailable)
}

/// `playabilityStatus`
pub(super) fn status(refusal: Refusal, player: &PlayerContext<'_>, id: &str) -> Value {
    let plain = |status: &str, reason: &str| message(player, status, reason, None);
    match refusal {
        Refusal::Bot | Refusal::BotForMobile => bot(player),
        Refusal::Captcha => captcha(player),
        Refusal::Age | Refusal::AgeUnlessEmbedded => age(player),
        Refusal::AgeStatus("CONTENT_CHECK_REQUIRED") => plain(
            "CONTENT_CHECK_REQUIRED",
            "The following content may contain suicide or self-harm topics.",
        ),
        Refusal::AgeStatus(status) => plain(status, "Sign in to confirm your age"),
        Refusal::Private => private(player),
        Refusal::Unavailable if player.client.family == Family::Web => {
            plain("ERROR", "Video unavailable")
        }
        Refusal::Unavailable => plain("ERROR", "This video is unavailable"),
        Refusal::GeoText | Refusal::GeoRuns => geo(player, refusal == Refusal::GeoRuns),
        Refusal::Members => plain(
            "UNPLAYABLE",
            "Join this channel to get access to members-only content like this video, and other exclusive perks.",
        ),
        Refusal::Premium => {
            plain("UNPLAYABLE", "This video is only available to Music Premium members")
        }
        Refusal::Processing => {
            plain("UNPLAYABLE", "We're processing this video. Check back later.")
        }
        Refusal::Offline => {
            plain("LIVE_STREAM_OFFLINE", "This live stream recording is not available.")
        }
        Refusal::Ended => plain("LIVE_STREAM_OFFLINE", "This live event has ended."),
        Refusal::Upcoming => upcoming(player, id),
        Refusal::TryLater => plain("UNPLAYABLE", "This content isn't available, try again later."),
        Refusal::UnknownStatus => plain("RATHER_NOT", "Not today"),
        Refusal::Kids => {
            plain("UNPLAYABLE", "This video is not available on this device. It is made for kids.")
        }
        Refusal::OnlyWeb => plain("UNPLAYABLE", "Video unavailable"),
        Refusal::OutdatedApp | Refusal::OutdatedAndroid => plain(
            "UNPLAYABLE",
            "The following content is not available on this app. Watch on the latest version of YouTube.",
        ),
        Refusal::Live | Refusal::LiveCaptions => live(id),
        Refusal::WrongVideo | Refusal::NoStatus | Refusal::EmptyObject => json!({"status": "OK"}),
    }
}

/// The platform answers in the language of the request. A client that parses reasons has to request
/// English.
fn localised<'a>(player: &PlayerContext<'_>, english: &'a str) -> &'a str {
    if player.hl.starts_with("en") {
        return english;
    }
    match english {
        BOT => "Melde dich an, um zu bestätigen, dass du kein Bot bist",
        "Sign in to confirm your age" => "Melde dich an, um dein Alter zu bestätigen",
        "Private video" => "Privates Video",
        "Video unavailable" | "This video is unavailable" => "Video nicht verfügbar",
        COUNTRY => "Der Uploader hat dieses Video nicht in deinem Land zur Verfügung gestellt",
        other => other,
    }
}

const BOT: &str = "Sign in to confirm you’re not a bot";
const COUNTRY: &str = "The uploader has not made this video available in your country";
const TRACKING: &str = "CAEQ8FsiEwie0pSoq9KJAxWgRHoFHQ0fLyg=";

/// Status, reason, and the screen that shows it.
fn message(
    player: &PlayerContext<'_>,
    status: &str,
    reason: &str,
    subreason: Option<Value>,
) -> Value {
    let reason = localised(player, reason);
    let mut screen = json!({
        "reason": player.client.text(reason),
        "thumbnail": {"thumbnails": [{"url": "//s.ytimg.com/yts/img/meh7-vflGevej7.png", "width": 140, "height": 100}]},
        "icon": {"iconType": "ERROR_OUTLINE"},
    });
    if let Some(subreason) = subreason {
        screen["subreason"] = subreason;
    }
    json!({
        "status": status,
        "reason": reason,
        "errorScreen": {"playerErrorMessageRenderer": screen},
        "contextParams": "Q0FFU0FnZ0M=",
    })
}

fn sign_in(style: &str) -> Value {
    json!({"buttonRenderer": {
        "style": style,
        "size": "SIZE_DEFAULT",
        "isDisabled": false,
        "text": {"simpleText": "Sign in"},
        "navigationEndpoint": {
            "clickTrackingParams": TRACKING,
            "commandMetadata": {"webCommandMetadata": {"url": "https://accounts.google.com/ServiceLogin?service=youtube", "webPageType": "WEB_PAGE_TYPE_UNKNOWN", "rootVe": 83769}},
            "signInEndpoint": {"nextEndpoint": {"clickTrackingParams": TRACKING, "urlEndpoint": {"url": ""}}},
        },
        "trackingParams": TRACKING,
    }})
}

fn bot(player: &PlayerContext<'_>) -> Value {
    let link = "https://support.google.com/youtube/answer/3037019#zippy=%2Ccheck-that-youre-signed-into-youtube";
    let subreason = json!({"runs": [
        {"text": "This helps protect our community. "},
        {"text": "Learn more", "navigationEndpoint": {"clickTrackingParams": TRACKING, "urlEndpoint": {"url": link}}},
    ]});
    let mut status = message(player, "LOGIN_REQUIRED", BOT, Some(subreason));
    status["errorScreen"]["playerErrorMessageRenderer"]["proceedButton"] = sign_in("STYLE_PRIMARY");
    status["skip"] = json!({"playabilityErrorSkipConfig": {"skipOnPlayabilityError": false}});
    status
}

fn captcha(player: &PlayerContext<'_>) -> Value {
    json!({
        "status": "LOGIN_REQUIRED",
        "reason": localised(player, "Complete the captcha to continue"),
        "errorScreen": {"playerCaptchaViewModel": {"captchaParams": "CgtxdWlyaw==", "siteKey": "6Lf39AMTAAAAAExample"}},
        "contextParams": "Q0FFU0FnZ0M=",
    })
}

/// The wording differs between kinds of clients.
fn age(player: &PlayerContext<'_>) -> Value {
    const WORDS: &str = "This video may be inappropriate for some users.";
    match player.client.family {
        Family::Tv => json!({"status": "UNPLAYABLE", "reason": "Please sign in"}),
        Family::Web => {
            let subreason = json!({"runs": [{"text": WORDS}]});
            let mut status =
                message(player, "LOGIN_REQUIRED", "Sign in to confirm your age", Some(subreason));
            status["errorScreen"]["playerErrorMessageRenderer"]["proceedButton"] =
                sign_in("STYLE_OVERLAY");
            status["desktopLegacyAgeGateReason"] = 1.into();
            status
        }
        _ => {
            let button = |text: &str| json!({"buttonRenderer": {"style": "STYLE_BLUE_TEXT", "size": "SIZE_DEFAULT", "isDisabled": false, "text": {"runs": [{"text": text}]}, "trackingParams": TRACKING}});
            json!({
                "status": "LOGIN_REQUIRED",
                "reason": WORDS,
                "errorScreen": {"confirmDialogRenderer": {
                    "title": {"runs": [{"text": "You must sign in to view this video"}]},
                    "trackingParams": TRACKING,
                    "dialogMessages": [{"runs": [{"text": WORDS}]}],
                    "confirmButton": button("Sign in"),
                    "cancelButton": button("Go back"),
                }},
                "desktopLegacyAgeGateReason": 1,
                "reasonTitle": "You must sign in to view this video",
                "contextParams": "Q0FFU0FnZ0I=",
            })
        }
    }
}

/// Without `reason`: the text is in `messages`, and a shorter one is on the error screen.
fn private(player: &PlayerContext<'_>) -> Value {
    let subreason = json!({"simpleText": "Sign in if you've been granted access to this video"});
    let mut status = message(player, "LOGIN_REQUIRED", "Private video", Some(subreason));
    status.as_object_mut().and_then(|members| members.remove("reason"));
    status["messages"] =
        json!(["This is a private video. Please sign in to verify that you may see it."]);
    status["errorScreen"]["playerErrorMessageRenderer"]["proceedButton"] = sign_in("STYLE_OVERLAY");
    status
}

fn geo(player: &PlayerContext<'_>, runs: bool) -> Value {
    let country = localised(player, COUNTRY);
    let subreason = match runs {
        true => json!({"runs": [{"text": country}]}),
        false => json!({"simpleText": country}),
    };
    message(player, "UNPLAYABLE", "Video unavailable", Some(subreason))
}

/// A scheduled stream. Its time contains a narrow no-break space.
fn upcoming(player: &PlayerContext<'_>, id: &str) -> Value {
    json!({
        "status": "LIVE_STREAM_OFFLINE",
        "reason": localised(player, "This live event will begin in 18 hours."),
        "playableInEmbed": true,
        "liveStreamability": {"liveStreamabilityRenderer": {
            "videoId": id,
            "offlineSlate": {"liveStreamOfflineSlateRenderer": {
                "scheduledStartTime": "1780336800",
                "mainText": {"runs": [{"text": "Live in "}, {"text": "18 hours"}]},
                "subtitleText": {"simpleText": "June 1 at 6:00\u{202f}PM UTC"},
                "thumbnail": {"thumbnails": [{"url": format!("https://i.ytimg.com/vi/{id}/hqdefault_live.jpg"), "width": 168, "height": 94}]},
                "offlineSlateStyle": "OFFLINE_SLATE_STYLE_WAITING_SCREEN",
            }},
            "pollDelayMs": "15000",
        }},
        "contextParams": "Q0FFU0FnZ0M=",
    })
}

fn live(id: &str) -> Value {
    json!({
        "status": "OK",
        "playableInEmbed": true,
        "liveStreamability": {"liveStreamabilityRenderer": {"videoId": id, "broadcastId": format!("{id}.1"), "pollDelayMs": "15000"}},
        "contextParams": "Q0FFU0FnZ0M=",
    })
}
