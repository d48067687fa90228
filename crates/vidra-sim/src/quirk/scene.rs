//! The behaviour of documented videos on the keyless interface: watch page, player, timed text.

/// One documented behaviour. Everything else is as for any other video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scene {
    /// Which tracks the player lists, and how.
    Tracks(Tracks),
    /// The text of the tracks.
    Text(Text),
    /// A `baseUrl` that no client should follow.
    Url(BadUrl),
    /// The player rejects the video or answers something else.
    Refusal(Refusal),
    /// The player's answer is broken.
    Player(Trouble),
    /// The watch page is odd, and the player requires its contents.
    Watch(Page),
    /// The timed text is broken.
    TimedText(Trouble),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracks {
    ManualAndAsr,
    AsrOnly,
    ManualOnly,
    AsrFirst,
    ForeignFirst,
    Translations18,
    NoTranslations,
    Untranslatable,
    SameLanguageTwice,
    ManyLanguages,
    Dubbed,
    Forced,
    Rtl,
    Minimal,
    Relative,
    NoMember,
    NoList,
    Gemini,
    NeedsPot,
    ExpList,
    OneHour,
    OneCue,
    NoCues,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    Entities,
    Tags,
    NoDuration,
    EmptyCues,
    Newlines,
    Noise,
    Arrows,
    Rounding,
    OutOfOrder,
    Scripts,
    Styled,
    Ruby,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadUrl {
    /// Replaces the correct URL.
    Fixed(&'static str),
    /// Another origin, with the path and query of the correct URL.
    At(&'static str),
    /// Another path, with the correct query.
    Path(&'static str),
    Absent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Bot,
    Captcha,
    Age,
    AgeUnlessEmbedded,
    AgeStatus(&'static str),
    Private,
    Unavailable,
    GeoText,
    GeoRuns,
    Members,
    Premium,
    Processing,
    Offline,
    Ended,
    Upcoming,
    Live,
    LiveCaptions,
    TryLater,
    WrongVideo,
    NoStatus,
    EmptyObject,
    UnknownStatus,
    Kids,
    /// A bot wall for ANDROID and IOS only.
    BotForMobile,
    /// Unplayable except for WEB_EMBEDDED_PLAYER, WEB and MWEB.
    OnlyWeb,
    /// Every client is too old.
    OutdatedApp,
    /// Only ANDROID is too old.
    OutdatedAndroid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Status(u16),
    /// Only the first call fails.
    StatusOnce(u16),
    Precondition,
    /// 302 to the captcha page of google.com.
    Sorry,
    /// An error unless the call carries data of the watch page.
    NeedsPage,
    NotJson,
    Truncated,
    Slow,
    Cut,
    Reset,
    Html,
    Empty,
    NotUtf8,
    Huge,
    Doctype,
    EntityBomb,
    OtherShape,
    /// 429 for translations.
    NoTranslations,
    /// The first URL has expired; later ones have not.
    ExpiredOnce,
    Expired,
    /// srv3, whatever format is requested.
    AlwaysSrv3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Good,
    EscapedKey,
    NoKey,
    NoVisitor,
    Captcha,
    Status(u16),
    StatusOnce(u16),
    ConsentOnce,
    ConsentAlways,
    ConsentRedirect,
}

impl Scene {
    /// Whether the player requires the visitor or the key of the watch page.
    pub(crate) fn needs_page(self) -> bool {
        matches!(self, Self::Watch(_) | Self::Player(Trouble::NeedsPage))
    }
}
