//! The clients of innertube.

use serde_json::{Value, json};

/// A client and its headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    pub(crate) name: &'static str,
    /// The valid values of `X-YouTube-Client-Name`.
    pub(crate) numbers: &'static [&'static str],
    pub(crate) family: Family,
    /// The prefix of the `User-Agent`.
    pub(crate) agent: &'static str,
}

/// Clients whose answers have the same shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Names as `runs`, `&fmt=srv3` in URLs, few languages.
    Android,
    /// Names as `runs`, few languages.
    Ios,
    /// Names as `runs`, many languages.
    Vision,
    /// Names as `simpleText`, many languages.
    Web,
    /// Names as `simpleText`, few languages.
    Tv,
}

const fn client(
    name: &'static str,
    numbers: &'static [&'static str],
    family: Family,
    agent: &'static str,
) -> Client {
    Client { name, numbers, family, agent }
}

const BROWSER: &str = "Mozilla/5.0";

const CLIENTS: &[Client] = &[
    client("ANDROID", &["3"], Family::Android, "com.google.android.youtube/"),
    client("ANDROID_VR", &["28"], Family::Android, "com.google.android.apps.youtube.vr"),
    client("IOS", &["5"], Family::Ios, "com.google.ios.youtube/"),
    client("VISIONOS", &["101"], Family::Vision, ""),
    client("WEB", &["1"], Family::Web, BROWSER),
    client("MWEB", &["2"], Family::Web, BROWSER),
    client("WEB_EMBEDDED_PLAYER", &["56"], Family::Web, BROWSER),
    client("WEB_REMIX", &["67"], Family::Web, BROWSER),
    client("WEB_CREATOR", &["62"], Family::Web, BROWSER),
    client("TVHTML5", &["7"], Family::Tv, BROWSER),
    // Projects disagree about its number.
    client("TVHTML5_SIMPLY", &["74", "75"], Family::Tv, BROWSER),
    client("TVHTML5_SIMPLY_EMBEDDED_PLAYER", &["85"], Family::Tv, BROWSER),
];

/// The client of the watch page.
pub(crate) const WEB: &Client = &CLIENTS[4];

/// The client of that name.
pub(crate) fn find(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}

impl Client {
    /// A text in the shape for this client.
    pub(crate) fn text(&self, text: &str) -> Value {
        match self.family {
            Family::Web | Family::Tv => json!({"simpleText": text}),
            _ => json!({"runs": [{"text": text}]}),
        }
    }

    /// Whether its answers list all languages of translation.
    pub(crate) const fn lists_all_languages(&self) -> bool {
        matches!(self.family, Family::Web | Family::Vision)
    }

    /// An application on a device, with a `User-Agent` that names it.
    pub(crate) const fn is_app(&self) -> bool {
        matches!(self.family, Family::Android | Family::Ios | Family::Vision)
    }
}
