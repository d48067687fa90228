//! Captions: the tracks of a video, computed from its coordinates.

pub(crate) mod cue;
mod odd;
pub(crate) mod timeline;

use super::World;
use super::video::Video;
use crate::hash::Dice;
use crate::quirk::{Scene, Tracks, VideoQuirk};
use cue::Cue;

/// How a track was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maker {
    Person,
    /// Speech recognition: `kind` is `asr`.
    Machine,
    /// Only speech in another language than that of the video: `kind` is `frc`.
    Forced,
}

/// One track of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Track {
    pub(crate) language: &'static str,
    pub(crate) maker: Maker,
    /// Distinguishes two tracks of one language; mostly empty.
    pub(crate) name: &'static str,
    pub(crate) variant: Option<&'static str>,
}

impl Track {
    const fn new(language: &'static str, maker: Maker) -> Self {
        Self { language, maker, name: "", variant: None }
    }

    const fn named(language: &'static str, name: &'static str) -> Self {
        Self { language, maker: Maker::Person, name, variant: None }
    }

    /// `.en`, `a.en`, `.en.CC1`: the identifier of a track within its video.
    pub(crate) fn vss_id(&self) -> String {
        let made = if self.maker == Maker::Machine { "a" } else { "" };
        let dot = if self.name.is_empty() { "" } else { "." };
        format!("{made}.{}{dot}{}", self.language, self.name)
    }

    /// `asr`, `frc` or `None`.
    pub(crate) const fn kind(&self) -> Option<&'static str> {
        match self.maker {
            Maker::Person => None,
            Maker::Machine => Some("asr"),
            Maker::Forced => Some("frc"),
        }
    }
}

/// The languages of a video with tracks in many languages.
const MANY: &[&str] = &[
    "ar", "zh", "zh-Hans", "zh-Hant", "en", "en-US", "fil", "fr", "de", "hi", "id", "it", "ja",
    "ko", "pt", "pt-BR", "pt-PT", "ru", "es", "es-419", "tr",
];
/// Languages that viewers translate into.
const COMMUNITY_LANGUAGES: &[&str] =
    &["en", "de", "fr", "es", "pt-BR", "it", "ja", "ko", "zh-Hans", "es-419"];

impl World {
    /// The tracks of a video in the order of the player; none if it has no captions.
    pub(crate) fn tracks(&self, video: &Video) -> Vec<Track> {
        match (video.scene, video.quirk) {
            _ if video.awaits_captions || video.is_live_until_later() => Vec::new(),
            (Some(Scene::Tracks(tracks)), _) => staged(tracks),
            // Videos with odd texts have a manual and a generated track.
            (Some(_), _) => both("en"),
            (None, Some(VideoQuirk::Private | VideoQuirk::Deleted | VideoQuirk::Absent)) => {
                Vec::new()
            }
            (None, _) if !video.has_recording() => Vec::new(),
            (None, _) => self.ordinary(video),
        }
    }

    /// The tracks of an ordinary video. Most have a generated track, about half of those a manual one too,
    /// and one in seven has translations by viewers.
    fn ordinary(&self, video: &Video) -> Vec<Track> {
        let mut dice = self.caption_dice(video);
        let language = video.channel.language;
        let shape = dice.below(100);
        let mut tracks = match shape {
            0..=9 => vec![Track::new(language, Maker::Person)],
            10..=54 => vec![Track::new(language, Maker::Machine)],
            _ => both(language),
        };
        if !(2..86).contains(&shape) {
            let first = dice.below(COMMUNITY_LANGUAGES.len() as u64) as usize;
            let translations =
                COMMUNITY_LANGUAGES.iter().cycle().skip(first).filter(|code| **code != language);
            let count = 1 + dice.below(5) as usize;
            tracks.extend(translations.take(count).map(|code| Track::new(code, Maker::Person)));
            tracks.sort_by_key(|track| (english_name(track.language), track.kind()));
        }
        tracks
    }

    fn caption_dice(&self, video: &Video) -> Dice {
        self.dice("captions", &[u64::from(video.key.0), u64::from(video.key.1)])
    }

    /// Whether the WEB client needs a token for the captions of this video.
    pub(crate) fn guarded_for_web(&self, video: &Video) -> bool {
        let mut dice = self.dice("guarded", &[u64::from(video.key.0), u64::from(video.key.1)]);
        dice.chance(60)
    }

    /// The cues of a track.
    pub(crate) fn cues(&self, video: &Video, track: &Track) -> Vec<Cue> {
        match video.scene {
            Some(Scene::Text(text)) => odd::cues(text, track),
            Some(Scene::Tracks(Tracks::OneCue)) => {
                self.spoken(video, track).into_iter().take(1).collect()
            }
            Some(Scene::Tracks(Tracks::NoCues)) => Vec::new(),
            _ => self.spoken(video, track),
        }
    }
}

fn both(language: &'static str) -> Vec<Track> {
    vec![Track::new(language, Maker::Person), Track::new(language, Maker::Machine)]
}

/// The tracks of a documented video.
fn staged(tracks: Tracks) -> Vec<Track> {
    let person = |language| Track::new(language, Maker::Person);
    let machine = |language| Track::new(language, Maker::Machine);
    match tracks {
        Tracks::AsrOnly | Tracks::OneHour | Tracks::NeedsPot | Tracks::ExpList => {
            vec![machine("en")]
        }
        Tracks::ManualOnly | Tracks::OneCue | Tracks::NoCues => vec![person("en")],
        Tracks::AsrFirst => vec![machine("de"), Track::named("de", "IEiJcQzJ7go")],
        Tracks::SameLanguageTwice => {
            vec![Track::named("en", "CC1"), Track::named("en", "DTVCC1"), machine("en")]
        }
        Tracks::ManyLanguages | Tracks::Dubbed => {
            let mut all: Vec<_> = MANY.iter().map(|code| person(code)).collect();
            all.insert(5, machine("en"));
            all
        }
        Tracks::ForeignFirst => vec![person("zh"), person("cs"), person("en"), machine("en")],
        Tracks::Forced => {
            vec![Track::new("en", Maker::Forced), person("en"), machine("en")]
        }
        Tracks::Rtl => vec![person("ar"), machine("ar")],
        Tracks::Gemini => {
            vec![Track { variant: Some("gemini"), ..machine("en") }, machine("en")]
        }
        Tracks::NoMember | Tracks::NoList => Vec::new(),
        Tracks::ManualAndAsr
        | Tracks::Translations18
        | Tracks::NoTranslations
        | Tracks::Relative
        | Tracks::Minimal
        | Tracks::Untranslatable => both("en"),
    }
}

/// The English name of a language. The platform sorts tracks by it.
pub(crate) fn english_name(code: &str) -> &str {
    LANGUAGES.iter().find(|(known, _)| *known == code).map_or(code, |(_, name)| name)
}

pub(crate) use languages::{FEW, LANGUAGES};

mod languages;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_public_video_has_captions_in_its_channels_language() {
        let world = &World::new(1);
        let (mut asr, mut manual, mut several, mut all) = (0, 0, 0, 0);
        for video in (0..24).flat_map(|c| (0..20).filter_map(move |i| world.video((c, i)))) {
            let tracks = world.tracks(&video);
            let own = |maker| {
                tracks.iter().any(|t| t.maker == maker && t.language == video.channel.language)
            };
            assert!(own(Maker::Machine) || own(Maker::Person), "{}", video.id);
            let names: HashSet<_> = tracks.iter().map(Track::vss_id).collect();
            assert_eq!(names.len(), tracks.len());
            asr += u32::from(own(Maker::Machine));
            manual += u32::from(own(Maker::Person));
            several += u32::from(tracks.len() > 2);
            all += 1;
        }
        assert!(asr * 100 > all * 80 && manual * 100 > all * 40 && several * 100 > all * 8);
    }

    #[test]
    fn every_language_has_a_name() {
        for code in MANY.iter().chain(COMMUNITY_LANGUAGES).chain(FEW) {
            assert_ne!(english_name(code), *code);
        }
    }
}
