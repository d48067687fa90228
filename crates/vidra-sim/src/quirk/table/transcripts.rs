//! The rows of the keyless path. All of them are ordinary videos for the Data API.

use crate::quirk::scene::{BadUrl as U, Page, Refusal as R, Scene, Text, Tracks, Trouble as X};
use crate::quirk::{Case, Quirk};

const fn row(id: &'static str, scene: Scene, what: &'static str) -> Quirk {
    Quirk { id, what, case: Case::Transcript(scene) }
}

const fn tracks(id: &'static str, tracks: Tracks, what: &'static str) -> Quirk {
    row(id, Scene::Tracks(tracks), what)
}

const fn text(id: &'static str, text: Text, what: &'static str) -> Quirk {
    row(id, Scene::Text(text), what)
}

const fn url(id: &'static str, url: U, what: &'static str) -> Quirk {
    row(id, Scene::Url(url), what)
}

const fn refusal(id: &'static str, refusal: R, what: &'static str) -> Quirk {
    row(id, Scene::Refusal(refusal), what)
}

const fn player(id: &'static str, trouble: X, what: &'static str) -> Quirk {
    row(id, Scene::Player(trouble), what)
}

const fn page(id: &'static str, page: Page, what: &'static str) -> Quirk {
    row(id, Scene::Watch(page), what)
}

const fn timed(id: &'static str, trouble: X, what: &'static str) -> Quirk {
    row(id, Scene::TimedText(trouble), what)
}

/// `tx` tracks, `tc` cues, `bu` URLs, `pl` player, `wp` watch page, `tt` timed text.
#[rustfmt::skip] // one row per line
pub(super) const TRANSCRIPTS: &[Quirk] = &[
    // Tracks.
    tracks("txManualAsr", Tracks::ManualAndAsr, "English twice: a manual track (`.en`) and a generated one (`a.en`)"),
    tracks("txAsrOnly__", Tracks::AsrOnly, "only one generated track"),
    tracks("txManualOnl", Tracks::ManualOnly, "only one manual track"),
    tracks("txAsrFirst_", Tracks::AsrFirst, "German: the generated track comes first, the other is named (`.de.IEiJcQzJ7go`)"),
    tracks("txForeign1_", Tracks::ForeignFirst, "Chinese and Czech come first; the audio track marks English as the default"),
    tracks("txTrans18__", Tracks::Translations18, "18 translation languages for every client, with `translationSourceTrackIndices`"),
    tracks("txNoTransl_", Tracks::NoTranslations, "`translationLanguages` absent although tracks are translatable; `tlang` works nevertheless"),
    tracks("txFixedLang", Tracks::Untranslatable, "`isTranslatable` is false; `tlang` is 400"),
    tracks("txSameLang2", Tracks::SameLanguageTwice, "English three times: `.en.CC1`, `.en.DTVCC1` and `a.en`, with different words"),
    tracks("txManyLang_", Tracks::ManyLanguages, "22 tracks, among them `zh`, `zh-Hans`, `zh-Hant`, `pt-BR`, `pt-PT`, `es-419`, `en-US`, `fil`"),
    tracks("txDubbed___", Tracks::Dubbed, "the tracks of `txManyLang_` and four audio tracks; the default one is the third (`audioTrackId` `en.4`)"),
    tracks("txForced___", Tracks::Forced, "a forced track (`kind` is `frc`) before the full one"),
    tracks("txRtlArabic", Tracks::Rtl, "Arabic: `rtl` is true"),
    tracks("txMinimal__", Tracks::Minimal, "tracks with only `baseUrl`, `languageCode`, `name` and `kind`; no `audioTracks`"),
    tracks("txRelative_", Tracks::Relative, "`baseUrl` begins with `/api/timedtext`"),
    tracks("txNoCaption", Tracks::NoMember, "playable, no `captions` member: captions are disabled"),
    tracks("txNoTracks_", Tracks::NoList, "`captions` without `captionTracks`"),
    tracks("txGemini___", Tracks::Gemini, "first a `variant=gemini` track whose body is empty, then the usual generated one"),
    tracks("txNeedsPot_", Tracks::NeedsPot, "`exp=xpe` for every client: an empty body without a PO token for this video"),
    tracks("txExpList__", Tracks::ExpList, "`exp=foo,xpv`: an empty body without a PO token for this video"),
    tracks("txOneHour__", Tracks::OneHour, "an hour of generated words; about a megabyte as json3"),
    tracks("txOneCue___", Tracks::OneCue, "a single cue"),
    tracks("txNoCues___", Tracks::NoCues, "a track without cues"),
    // Cues.
    text("tcEntities_", Text::Entities, "`&`, `<`, `>`, quotes and apostrophes: escaped twice in srv1, once in srv3; a literal `&amp;`"),
    text("tcTags_____", Text::Tags, "`<i>`, `<b>` and `<font>` typed into the text"),
    text("tcNoLength_", Text::NoDuration, "cues without `dur`, `d` and `dDurationMs`"),
    text("tcEmptyCues", Text::EmptyCues, "cues with no text, with a space and with a newline"),
    text("tcNewlines_", Text::Newlines, "newlines inside, before and after the text"),
    text("tcNoise____", Text::Noise, "`[Music]`, `>> `, `NAME: `, `♪`"),
    text("tcArrows___", Text::Arrows, "`-->`, blank lines, `WEBVTT`, `NOTE` and a number as text"),
    text("tcRounding_", Text::Rounding, "times of 0.999 s, 59.999 s, 3599.999 s and beyond 100 h"),
    text("tcDisorder_", Text::OutOfOrder, "cues out of order, at the same time, with no duration"),
    text("tcScripts__", Text::Scripts, "CJK, right-to-left text, joined emoji, combining marks, zero-width and no-break spaces"),
    text("tcStyled___", Text::Styled, "srv3 with pens, `ws`, `wp`, comments and zero-width spaces, after a byte order mark"),
    text("tcRuby_____", Text::Ruby, "srv3 with ruby: base, brackets, reading"),
    // URLs.
    url("buLoopback_", U::Fixed("http://127.0.0.1:9/"), "`baseUrl` is `http://127.0.0.1:9/`"),
    url("buMetadata_", U::Fixed("http://169.254.169.254/latest/meta-data/"), "`baseUrl` is `http://169.254.169.254/latest/meta-data/`"),
    url("buFile_____", U::Fixed("file:///etc/passwd"), "`baseUrl` is `file:///etc/passwd`"),
    url("buSuffix___", U::At("https://www.youtube.com.evil.example"), "`baseUrl` with the host `www.youtube.com.evil.example`"),
    url("buEvilHost_", U::At("https://evil.example"), "`baseUrl` with the host `evil.example`"),
    url("buUserInfo_", U::At("https://www.youtube.com@evil.example"), "`baseUrl` with the name of the real host before an `@`"),
    url("buPassword_", U::At("https://user:word@www.youtube.com"), "`baseUrl` with user and password"),
    url("buPort22___", U::At("https://www.youtube.com:22"), "`baseUrl` with port 22"),
    url("buPlainHttp", U::At("http://www.youtube.com"), "`baseUrl` without TLS"),
    url("buNoScheme_", U::At("//evil.example"), "`baseUrl` without a scheme, with the host `evil.example`"),
    url("buBackslash", U::At("https://evil.example\\@www.youtube.com"), "`baseUrl` with a backslash in its host"),
    url("buOtherPath", U::Path("/redirect"), "`baseUrl` with the path `/redirect`"),
    url("buDotDot___", U::Path("/api/timedtext/../../redirect"), "`baseUrl` with `..` in its path"),
    url("buNotAnUrl_", U::Fixed("::not a url::"), "`baseUrl` is not a URL"),
    url("buAbsent___", U::Absent, "tracks without a `baseUrl`"),
    // The player refuses.
    refusal("plBotWall__", R::Bot, "`LOGIN_REQUIRED`, \"Sign in to confirm you’re not a bot\" with U+2019"),
    refusal("plCaptcha__", R::Captcha, "`LOGIN_REQUIRED` with `errorScreen.playerCaptchaViewModel`"),
    refusal("plAgeGate__", R::Age, "age gate for every client, with the texts of WEB, ANDROID and TV"),
    refusal("plAgeEmbed_", R::AgeUnlessEmbedded, "age gate for all clients except WEB_EMBEDDED_PLAYER"),
    refusal("plAgeCheck_", R::AgeStatus("AGE_CHECK_REQUIRED"), "`AGE_CHECK_REQUIRED`"),
    refusal("plAgeVerify", R::AgeStatus("AGE_VERIFICATION_REQUIRED"), "`AGE_VERIFICATION_REQUIRED`"),
    refusal("plContent__", R::AgeStatus("CONTENT_CHECK_REQUIRED"), "`CONTENT_CHECK_REQUIRED`"),
    refusal("plPrivate__", R::Private, "private: `LOGIN_REQUIRED`, no `reason`, the text only in `messages`"),
    refusal("plGone_____", R::Unavailable, "`ERROR`, \"This video is unavailable\" (WEB: \"Video unavailable\"), no `videoDetails`"),
    refusal("plGeoText__", R::GeoText, "`UNPLAYABLE`; the country only in `subreason.simpleText`"),
    refusal("plGeoRuns__", R::GeoRuns, "`UNPLAYABLE`; the country only in `subreason.runs`"),
    refusal("plMembers__", R::Members, "`UNPLAYABLE`: for members of the channel"),
    refusal("plPremium__", R::Premium, "`UNPLAYABLE`: for Music Premium members"),
    refusal("plProcess__", R::Processing, "`UNPLAYABLE`: still being processed"),
    refusal("plOffline__", R::Offline, "`LIVE_STREAM_OFFLINE`: a stream whose recording is not available"),
    refusal("plEnded____", R::Ended, "`LIVE_STREAM_OFFLINE`: a stream that has ended"),
    refusal("plUpcoming_", R::Upcoming, "`LIVE_STREAM_OFFLINE`: begins in 18 hours; a narrow no-break space in its time"),
    refusal("plLiveNow__", R::Live, "live now: `OK`, `lengthSeconds` is \"0\", no captions"),
    refusal("plLiveCapt_", R::LiveCaptions, "live now: `captions.playerCaptionsRenderer` instead of a list of tracks"),
    refusal("plTryLater_", R::TryLater, "`UNPLAYABLE`, \"This content isn't available, try again later.\": the session is limited"),
    refusal("plWrongVid_", R::WrongVideo, "the answer is for another video (`aQvGIIdgFDM`)"),
    refusal("plNoStatus_", R::NoStatus, "no `playabilityStatus`, but captions"),
    refusal("plEmptyObj_", R::EmptyObject, "the body is `{}`"),
    refusal("plUnknown__", R::UnknownStatus, "an unknown status: `RATHER_NOT`"),
    refusal("plForKids__", R::Kids, "`UNPLAYABLE` for VISIONOS and ANDROID_VR (made for kids), playable for all others"),
    refusal("plNext2nd__", R::BotForMobile, "a bot wall for ANDROID and IOS, playable for all others"),
    refusal("plWebOnly__", R::OnlyWeb, "`UNPLAYABLE` except for WEB_EMBEDDED_PLAYER, WEB and MWEB"),
    refusal("plOldApp___", R::OutdatedApp, "`UNPLAYABLE`, \"The following content is not available on this app.\": every client is too old"),
    refusal("plOldAndr__", R::OutdatedAndroid, "the same for ANDROID, playable for all others"),
    // The player fails.
    player("plHttp400__", X::Precondition, "400 `FAILED_PRECONDITION` for every request"),
    player("plHttp403__", X::Status(403), "403 `PERMISSION_DENIED`"),
    player("plHttp404__", X::Status(404), "404 `NOT_FOUND`"),
    player("plHttp429__", X::Status(429), "429 `RESOURCE_EXHAUSTED`"),
    player("plHttp500__", X::Status(500), "500 `INTERNAL`"),
    player("plHttp503x1", X::StatusOnce(503), "503 for the first request, then playable"),
    player("plSorry302_", X::Sorry, "302 to `https://www.google.com/sorry/index`"),
    player("plNeedsPage", X::NeedsPage, "400 `FAILED_PRECONDITION` without the watch page's visitor (`X-Goog-Visitor-Id`) or key"),
    player("plNotJson__", X::NotJson, "200 with text that is not JSON"),
    player("plHtml_____", X::Html, "200 with an HTML page"),
    player("plTruncated", X::Truncated, "200 with half of the JSON in a complete HTTP body"),
    player("plEmpty____", X::Empty, "200 with an empty body"),
    player("plOddShape_", X::OtherShape, "200 with JSON of an unexpected structure"),
    player("plHuge_____", X::Huge, "200 with 200 MB of JSON that is never complete"),
    player("plSlow_____", X::Slow, "a correct answer after five seconds"),
    player("plCut______", X::Cut, "half of the promised body, then the connection drops"),
    player("plReset____", X::Reset, "the connection drops without an answer"),
    // The watch page. Without it the player of these is 400 `FAILED_PRECONDITION`.
    page("wpGood_____", Page::Good, "a good page of about a megabyte: key, visitor, and other `AIza…` strings that are not the key"),
    page("wpEscaped__", Page::EscapedKey, "the key only in the escaped form `INNERTUBE_API_KEY\\\":\\\"`"),
    page("wpNoKey____", Page::NoKey, "no key and no visitor, but a player response"),
    page("wpNoVisitor", Page::NoVisitor, "a key, no visitor"),
    page("wpCaptcha__", Page::Captcha, "200 with a captcha page (`class=\"g-recaptcha\"`)"),
    page("wpHttp429__", Page::Status(429), "429 with a captcha page"),
    page("wpHttp503x1", Page::StatusOnce(503), "503 for the first request, then a good page"),
    page("wpConsent1_", Page::ConsentOnce, "a consent page unless the cookie `SOCS=CAI…` or `CONSENT=YES+<v>` is sent"),
    page("wpConsentAl", Page::ConsentAlways, "a consent page for every request"),
    page("wpConsent30", Page::ConsentRedirect, "302 to `consent.youtube.com` unless the cookie is sent"),
    // Timed text.
    timed("ttEmpty____", X::Empty, "200 with an empty body, on every track"),
    timed("ttHtml_____", X::Html, "200 with an HTML page"),
    timed("ttNoTrans__", X::NoTranslations, "429 with `tlang`, captions without it"),
    timed("tt404______", X::Status(404), "404"),
    timed("tt403______", X::Status(403), "403"),
    timed("tt429______", X::Status(429), "429"),
    timed("tt500______", X::Status(500), "500"),
    timed("tt503x1____", X::StatusOnce(503), "503 for the first request, then captions"),
    timed("ttExpired__", X::Expired, "all URLs of the player have expired: an empty body"),
    timed("ttExpired1_", X::ExpiredOnce, "the URLs of the first player call have expired, those of the next call are valid"),
    timed("ttHuge_____", X::Huge, "200 with 200 MB of cues"),
    timed("ttDoctype__", X::Doctype, "XML with a `DOCTYPE` (also for json3)"),
    timed("ttBomb_____", X::EntityBomb, "XML whose entities expand to a gigabyte"),
    timed("ttTruncated", X::Truncated, "XML or JSON that ends in the middle"),
    timed("ttNotUtf8__", X::NotUtf8, "bytes that are not UTF-8"),
    timed("ttOddShape_", X::OtherShape, "JSON or XML of an unexpected structure"),
    timed("ttSrv3only_", X::AlwaysSrv3, "srv3 for every `fmt`"),
    timed("ttSlow_____", X::Slow, "a correct answer after five seconds"),
    timed("ttCut______", X::Cut, "half of the promised body, then the connection drops"),
    timed("ttReset____", X::Reset, "the connection drops without an answer"),
];
