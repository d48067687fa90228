//! What the documented videos of the keyless path do: watch page, player, timed text.

/// One documented behaviour. Whatever it does not name is as for any other video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scene {
    /// Which tracks there are and how the player tells of them.
    Tracks(Tracks),
    /// What the tracks say.
    Text(Text),
    /// A `baseUrl` nobody should follow.
    Url(BadUrl),
    /// The player answers something else than a list of tracks.
    Refusal(Refusal),
    /// The player's answer does not come as it should.
    Player(Trouble),
    /// The watch page; the player of these asks for what is on it.
    Watch(Page),
    /// The timed text does not come as it should.
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
    /// Instead of the right one.
    Fixed(&'static str),
    /// Before the path and query of the right one.
    At(&'static str),
    /// The right query at another path.
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
    /// Unplayable but for WEB_EMBEDDED_PLAYER and WEB.
    OnlyWeb,
    /// Too old a player, every one of them.
    OutdatedApp,
    /// Too old an ANDROID only.
    OutdatedAndroid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Status(u16),
    /// The first call only; the next is answered.
    StatusOnce(u16),
    Precondition,
    /// 302 to the captcha page of google.com.
    Sorry,
    /// Without what the watch page holds.
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
    /// 429 where a translation is asked for.
    NoTranslations,
    /// The first URL handed out is past its time; the next is not.
    ExpiredOnce,
    Expired,
    /// Whatever format is asked for.
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
    /// Whether the player wants the visitor or the key of the watch page.
    pub(crate) fn needs_page(self) -> bool {
        matches!(self, Self::Watch(_) | Self::Player(Trouble::NeedsPage))
    }
}
