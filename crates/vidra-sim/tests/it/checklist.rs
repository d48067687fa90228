//! The behaviours that a simulator of the keyless path needs, and their rows in the table.

use std::collections::BTreeSet;
use vidra_sim::{Kind, QUIRKS};

/// A behaviour, and the documented videos that have it.
const CHECKLIST: &[(&str, &[&str])] = &[
    ("made by a person and generated", &["txManualAsr"]),
    ("generated only", &["txAsrOnly__"]),
    ("18 translation languages", &["txTrans18__"]),
    ("no translation languages", &["txNoTransl_"]),
    ("one language twice", &["txSameLang2"]),
    ("many languages", &["txManyLang_"]),
    ("relative URL", &["txRelative_"]),
    ("no captions", &["txNoCaption"]),
    ("captions without tracks", &["txNoTracks_"]),
    ("generated variant without a body", &["txGemini___"]),
    ("PO token", &["txNeedsPot_", "txExpList__"]),
    (
        "hostile URL",
        &[
            "buLoopback_",
            "buFile_____",
            "buSuffix___",
            "buEvilHost_",
            "buUserInfo_",
            "buPort22___",
            "buOtherPath",
        ],
    ),
    ("bot wall", &["plBotWall__"]),
    ("captcha in the player", &["plCaptcha__"]),
    ("age", &["plAgeGate__", "plAgeEmbed_", "plAgeCheck_", "plAgeVerify", "plContent__"]),
    ("private", &["plPrivate__"]),
    ("unavailable", &["plGone_____"]),
    ("country", &["plGeoText__", "plGeoRuns__"]),
    ("members and premium", &["plMembers__", "plPremium__"]),
    (
        "live, offline or not yet",
        &["plOffline__", "plEnded____", "plUpcoming_", "plLiveNow__", "plLiveCapt_"],
    ),
    ("try again later", &["plTryLater_"]),
    ("another video", &["plWrongVid_"]),
    ("status absent, unknown, or nothing at all", &["plNoStatus_", "plUnknown__", "plEmptyObj_"]),
    ("a later client", &["plNext2nd__", "plWebOnly__", "plForKids__", "plOldAndr__"]),
    ("watch page: good", &["wpGood_____"]),
    ("watch page: key escaped, absent", &["wpEscaped__", "wpNoKey____"]),
    ("watch page: captcha, 429, 5xx then good", &["wpCaptcha__", "wpHttp429__", "wpHttp503x1"]),
    ("watch page: consent once, always, elsewhere", &["wpConsent1_", "wpConsentAl", "wpConsent30"]),
    (
        "player: 400, 403, 429, 5xx",
        &["plHttp400__", "plHttp403__", "plHttp429__", "plHttp500__", "plHttp503x1"],
    ),
    ("player: no JSON, slow, cut", &["plNotJson__", "plTruncated", "plSlow_____", "plCut______"]),
    ("player: wants the page", &["plNeedsPage"]),
    ("text: length missing", &["tcNoLength_"]),
    ("text: entities twice", &["tcEntities_"]),
    ("text: tags", &["tcTags_____"]),
    ("text: empty cues, newlines, noise", &["tcEmptyCues", "tcNewlines_", "tcNoise____"]),
    ("text: pens, ruby", &["tcStyled___", "tcRuby_____"]),
    ("timed text: empty, HTML", &["ttEmpty____", "ttHtml_____"]),
    ("timed text: 429 for translations only", &["ttNoTrans__"]),
    ("timed text: 404, 429", &["tt404______", "tt429______"]),
    (
        "timed text: huge, DOCTYPE, bomb, truncated",
        &["ttHuge_____", "ttDoctype__", "ttBomb_____", "ttTruncated"],
    ),
    ("timed text: expired", &["ttExpired__", "ttExpired1_"]),
];

#[test]
fn quirk_table_covers_the_checklist() {
    let known: BTreeSet<_> = QUIRKS
        .iter()
        .filter(|quirk| quirk.kind() == Kind::Transcript)
        .map(|quirk| quirk.id)
        .collect();
    for (item, ids) in CHECKLIST {
        for id in *ids {
            assert!(known.contains(id), "{item}: {id} is not in the table");
        }
    }
}

#[test]
fn every_documented_video_is_tested() {
    let tests = [
        include_str!("violations.rs"),
        include_str!("pages.rs"),
        include_str!("refusals.rs"),
        include_str!("texts.rs"),
        include_str!("timed_text.rs"),
        include_str!("tracks.rs"),
        include_str!("odd_texts.rs"),
    ]
    .concat();
    let untested: Vec<_> = QUIRKS
        .iter()
        .filter(|quirk| quirk.kind() == Kind::Transcript)
        .filter(|quirk| !tests.contains(&format!("\"{}\"", quirk.id)))
        .map(|quirk| quirk.id)
        .collect();
    assert!(untested.is_empty(), "{untested:?}");
}
