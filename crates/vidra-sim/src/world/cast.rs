//! The cast: more than two dozen invented channels. Names, handles and descriptions are fixed, so that the
//! documentation can refer to them; numbers and titles come from the seed.

use super::text::Theme;

/// The fixed properties of a channel.
#[derive(Debug)]
pub(crate) struct Role {
    pub(crate) title: &'static str,
    /// Without its `@`.
    pub(crate) handle: Option<&'static str>,
    /// The name for `forUsername`.
    pub(crate) username: Option<&'static str>,
    pub(crate) country: Option<&'static str>,
    pub(crate) language: &'static str,
    pub(crate) theme: Theme,
    pub(crate) about: &'static str,
    pub(crate) programme: Programme,
}

/// The kind of videos on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Programme {
    Mixed,
    /// Vertical videos, most with `#shorts` in the title.
    Shorts,
    /// Broadcasts: upcoming, live and ended.
    Broadcasts,
    /// Descriptions with lists of times.
    Chapters,
}

type Known = (&'static str, Option<&'static str>);

const fn role(
    name: Known,
    country: Option<&'static str>,
    language: &'static str,
    theme: Theme,
    about: &'static str,
) -> Role {
    Role {
        title: name.0,
        handle: name.1,
        username: None,
        country,
        language,
        theme,
        about,
        programme: Programme::Mixed,
    }
}

/// Channel number n is entry n.
pub(crate) const CAST: &[Role] = &[
    role(
        ("Fermata Sessions", Some("fermata")),
        Some("IE"),
        "en",
        Theme::Music,
        "Live rooms, one microphone, no second take.\n\nNew session every other Friday.",
    ),
    role(
        ("Müsliküche", Some("müsliküche")),
        Some("CH"),
        "de",
        Theme::Cooking,
        "Frühstück aus aller Welt. Jeden Sonntag ein neues Rezept 🥣",
    ),
    Role {
        title: "Night Train Diaries",
        handle: Some("nighttrains"),
        username: Some("NightTrainDiaries"),
        country: Some("GB"),
        language: "en",
        theme: Theme::Trains,
        about: "Sleeper compartments, timetables and the people who still run them.\r\n\r\nFilmed on the rails since 2010.",
        programme: Programme::Mixed,
    },
    role(
        ("青空観測所", Some("ao.zora-obs")),
        Some("JP"),
        "ja",
        Theme::Stars,
        "小さな望遠鏡で見る大きな空。毎週土曜日更新。",
    ),
    role(
        ("Bench & Chisel", Some("benchandchisel")),
        Some("US"),
        "en",
        Theme::Wood,
        "Hand-tool woodworking in a garage of nine square metres.",
    ),
    role(
        ("Compile Time", Some("compiletime")),
        Some("NL"),
        "en",
        Theme::Code,
        "One bug, one hour, no edits. Source of every episode in the description.",
    ),
    role(
        ("Jardín Vertical", Some("jardinvertical")),
        Some("MX"),
        "es",
        Theme::Garden,
        "Huertos en balcones, azoteas y ventanas. ¡Suscríbete! 🌱",
    ),
    role(
        ("Kettle & Kilometre", Some("kettlekm")),
        Some("AU"),
        "en",
        Theme::Cycling,
        "Long rides, short edits, too much tea.",
    ),
    role(
        ("مطبخ الحارة", Some("matbakh_alhara")),
        Some("JO"),
        "ar",
        Theme::Cooking,
        "وصفات الحارة القديمة، خطوة بخطوة.",
    ),
    role(
        ("Pixel Foundry", Some("pixelfoundry")),
        Some("SE"),
        "en",
        Theme::Games,
        "Small games, taken apart and put back together.",
    ),
    role(
        ("The Slow Atlas", Some("slowatlas")),
        Some("CA"),
        "en",
        Theme::Travel,
        "One map sheet per film. We walk all of it.",
    ),
    role(
        ("Radio Tidal", Some("radiotidal")),
        Some("PT"),
        "pt",
        Theme::Music,
        "Discos de maré baixa. Sets ao vivo todas as quintas.",
    ),
    role(
        ("Kleine Werkstatt", Some("kleinewerkstatt")),
        Some("AT"),
        "de",
        Theme::Wood,
        "Holz, Leim und Geduld.",
    ),
    role(
        ("Orbit Club", Some("orbitclub")),
        Some("US"),
        "en",
        Theme::Stars,
        "Backyard astronomy for people who have to get up early.",
    ),
    role(
        ("두부 한 모", Some("dubuhanmo")),
        Some("KR"),
        "ko",
        Theme::Cooking,
        "두부 한 모로 만드는 오늘의 한 끼 🍲",
    ),
    role(
        ("Null Pointer Theatre", Some("nullpointer")),
        Some("DE"),
        "en",
        Theme::Code,
        "Conference talks that were too strange for the conference.",
    ),
    role(
        ("Allotment 47", Some("allotment47")),
        Some("GB"),
        "en",
        Theme::Garden,
        "A year on one rented plot, told weekly.",
    ),
    role(
        ("Vélo du Nord", Some("velodunord")),
        Some("FR"),
        "fr",
        Theme::Cycling,
        "Le vent de face, toujours.",
    ),
    role(
        ("Save Point Museum", Some("savepoint")),
        Some("PL"),
        "en",
        Theme::Games,
        "Playing every game in our cellar, in order of purchase.",
    ),
    role(
        ("Ferry to Anywhere", Some("ferrytoanywhere")),
        None,
        "en",
        Theme::Travel,
        "If a ship carries foot passengers, we are on it.",
    ),
    role(
        ("Signal & Siding", Some("signalandsiding")),
        Some("IN"),
        "en",
        Theme::Trains,
        "Signal boxes, level crossings and branch lines of the plains.",
    ),
    role(("Cassette Garden", Some("cassettegarden")), Some("BR"), "pt", Theme::Music, ""),
    role(
        ("Two Pans", Some("twopans")),
        Some("NZ"),
        "en",
        Theme::Cooking,
        "Dinner with two pans and what is left in the fridge.",
    ),
    role(
        ("Lecture Hall Zero", Some("lecturehall0")),
        Some("FI"),
        "en",
        Theme::Code,
        "A whole course on operating systems, from reset vector to shell.",
    ),
    Role {
        programme: Programme::Shorts,
        ..role(
            ("Pocket Workshop", Some("pocketworkshop")),
            Some("US"),
            "en",
            Theme::Wood,
            "One tool, one minute.",
        )
    },
    Role {
        programme: Programme::Broadcasts,
        ..role(
            ("Harbour Webcam", Some("harbourwebcam")),
            Some("NO"),
            "en",
            Theme::Travel,
            "The harbour, live, whenever a ship comes in.",
        )
    },
    Role {
        programme: Programme::Chapters,
        ..role(
            ("Table of Contents", Some("tableofcontents")),
            Some("GB"),
            "en",
            Theme::Garden,
            "Long walks through gardens, with times for the impatient.",
        )
    },
];
