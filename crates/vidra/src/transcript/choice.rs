//! The choice of a caption track.

use std::fmt;

use super::player::{Player, Track};
use super::query::CaptionKind;
use crate::error::{Error, Reason, Result};
use crate::language::LanguageCode;

/// The languages of a request, in order of preference. An empty list means the spoken language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Languages(Vec<LanguageCode>);

impl fmt::Display for Languages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codes: Vec<&str> = self.0.iter().map(LanguageCode::as_str).collect();
        f.write_str(&codes.join(","))
    }
}

impl Languages {
    /// Parses a list such as `de` or `de,en`, of at most 10 languages.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] if the list is empty, too long, or contains an invalid code.
    ///
    /// ```
    /// use vidra::Languages;
    /// assert_eq!(Languages::parse("PT_br, en").unwrap().to_string(), "pt-BR,en");
    /// assert!(Languages::parse("en;de").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let codes = text.split(',').map(str::trim).filter(|code| !code.is_empty());
        let codes: Vec<LanguageCode> = codes.map(str::parse).collect::<Result<_>>()?;
        let invalid = |message: &str| Err(Error::new(Reason::InvalidInput, message));
        match codes.len() {
            0 => invalid("must name a language"),
            1..=10 => Ok(Self(codes)),
            _ => invalid("must not name more than 10 languages"),
        }
    }
}

impl Player {
    /// All matching tracks, the best one first. If a track turns out to be empty, a caller can try
    /// the next one.
    pub fn candidates(
        &self,
        wanted: &Languages,
        captions: impl Into<Option<CaptionKind>>,
    ) -> Vec<&Track> {
        let captions = captions.into();
        let is_accepted = |track: &&Track| captions.is_none_or(|kind| kind == track.kind());
        let mut chosen: Vec<&Track> = vec![];
        if wanted.0.is_empty() {
            let spoken = spoken_language(self);
            chosen.extend(spoken.iter().flat_map(|code| in_language(&self.tracks, code)));
            chosen.extend(self.default_track.and_then(|index| self.tracks.get(index)));
            chosen.retain(is_accepted);
            if chosen.is_empty() {
                let accepted = self.tracks.iter().filter(is_accepted);
                // The first one, but one with the whole speech if there is any.
                chosen.extend(accepted.min_by_key(|track| track.is_forced));
            }
        } else {
            let named = wanted.0.iter().map(LanguageCode::as_str);
            chosen.extend(named.flat_map(|code| in_language(&self.tracks, code)));
            chosen.retain(is_accepted);
        }
        let mut distinct: Vec<&Track> = Vec::with_capacity(chosen.len());
        for track in chosen {
            // Two tracks can have the same language, so the comparison uses identity.
            if !distinct.iter().any(|known| std::ptr::eq(*known, track)) {
                distinct.push(track);
            }
        }
        distinct
    }
}

/// The spoken language: the recognised language, or else the language of the default audio track. A
/// dubbed video has several recognised languages, and the default audio track identifies the
/// original.
fn spoken_language(player: &Player) -> Option<String> {
    let recognised = || player.tracks.iter().filter(|track| track.is_auto_generated);
    let audio = player.audio_language.as_deref();
    let original =
        audio.and_then(|code| recognised().find(|track| base(&track.language_code) == base(code)));
    original
        .or_else(|| recognised().next())
        .map(|track| track.language_code.clone())
        .or_else(|| audio.map(str::to_owned))
}

/// The tracks for one code: exact matches before related ones, and written captions before
/// recognised ones. Forced tracks come last, because they contain only signs and foreign words.
fn in_language<'a>(tracks: &'a [Track], code: &str) -> Vec<&'a Track> {
    let mut found: Vec<_> = tracks
        .iter()
        .filter_map(|track| Some((distance(&track.language_code, code)?, track)))
        .collect();
    found.sort_by_key(|(distance, track)| (track.is_forced, *distance, track.is_auto_generated));
    found.into_iter().map(|(_, track)| track).collect()
}

/// 0 for an exact match, 1 for a related code, `None` for another language. `pt-BR` accepts `pt`,
/// and `en` accepts `en-GB`. `zh-Hans` does not accept `zh-Hant`.
fn distance(code: &str, wanted: &str) -> Option<u8> {
    if code.eq_ignore_ascii_case(wanted) {
        return Some(0);
    }
    let related = base(code).eq_ignore_ascii_case(base(wanted));
    let one_is_general = !code.contains('-') || !wanted.contains('-');
    (related && one_is_general).then_some(1)
}

fn base(code: &str) -> &str {
    code.split('-').next().unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A track from its language code and an optional kind: `en`, `en:auto`, `en:forced`.
    fn track(text: &str) -> Track {
        let (code, kind) = text.split_once(':').unwrap_or((text, ""));
        Track {
            language_code: code.to_owned(),
            language_name: text.to_owned(),
            is_auto_generated: kind == "auto",
            is_forced: kind == "forced",
            is_translatable: true,
            base_url: String::new(),
        }
    }

    fn player(tracks: &str, audio: &str, default_track: Option<usize>) -> Player {
        Player {
            tracks: tracks.split_whitespace().map(track).collect(),
            default_track,
            audio_language: (!audio.is_empty()).then(|| audio.to_owned()),
            ..Player::default()
        }
    }

    fn chosen(player: &Player, wanted: &Languages) -> String {
        chosen_of(player, wanted, None)
    }

    fn chosen_of(player: &Player, wanted: &Languages, kind: Option<CaptionKind>) -> String {
        let names = player.candidates(wanted, kind).into_iter().map(|track| &*track.language_name);
        names.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lists_of_languages_are_displayed_in_order() {
        for (written, shown) in [
            ("en", "en"),
            ("de,en", "de,en"),
            ("en, de", "en,de"),
            (" PT_br ,zh-HANS,", "pt-BR,zh-Hans"),
        ] {
            assert_eq!(Languages::parse(written).unwrap().to_string(), shown);
        }
        assert_eq!(Languages::default().to_string(), "");
        let ten = "aa,bb,cc,dd,ee,ff,gg,hh,ii,jj";
        assert_eq!(Languages::parse(ten).unwrap().to_string(), ten);
        let eleven = Languages::parse(&format!("{ten},kk"));
        assert_eq!(eleven.unwrap_err().message(), "must not name more than 10 languages");
        assert_eq!(Languages::parse(" , ").unwrap_err().message(), "must name a language");
    }

    #[test]
    fn requested_languages_select_exact_tracks_before_related_ones() {
        let table = [
            ("en de", "en", "en"),
            ("en de", "fr", ""),
            ("en de", "de,en", "de en"),
            ("en de", "en,en", "en"),
            // The general code and a regional one replace each other.
            ("en-GB", "en", "en-GB"),
            ("pt", "pt-BR", "pt"),
            ("en-GB en en-US", "en", "en en-GB en-US"),
            ("en-GB en en-US", "en-US", "en-US en"),
            ("EN-gb", "en-GB", "EN-gb"),
            ("EN", "en-GB", "EN"),
            // Two regions or scripts do not.
            ("zh-Hans", "zh-Hant", ""),
            ("zh-Hans zh-Hant", "zh-Hant", "zh-Hant"),
            ("pt-PT", "pt-BR", ""),
            ("zh-Hans zh", "zh-Hant", "zh"),
            // Another language with the same first letters.
            ("fil", "fi", ""),
            ("de", "d-e", ""),
            // Written captions, then recognised ones, then forced ones, in any input order.
            ("en:auto en", "en", "en en:auto"),
            ("en:forced en:auto en", "en", "en en:auto en:forced"),
            ("en-GB en:auto", "en", "en:auto en-GB"),
            ("en:forced en-GB:auto", "en", "en-GB:auto en:forced"),
        ];
        for (tracks, wanted, expected) in table {
            let wanted = Languages::parse(wanted).unwrap();
            assert_eq!(
                chosen(&player(tracks, "", None), &wanted),
                expected,
                "{tracks}: {wanted:?}"
            );
        }
    }

    #[test]
    fn without_a_request_the_spoken_language_is_selected() {
        let table = [
            // Tracks, language of the audio, default track.
            ("de en:auto en", "", None, "en en:auto"),
            ("de en", "en", None, "en"),
            // A dubbed video: the audio track identifies the original among the recognised
            // languages.
            ("de:auto en:auto fr:auto", "en", None, "en:auto"),
            ("de:auto en:auto en fr:auto", "en-US", None, "en en:auto"),
            ("de:auto en-US:auto", "en", None, "en-US:auto"),
            // The audio's language was not recognised, so the first recognised language wins.
            ("es de:auto en:auto", "fr", None, "de:auto"),
            ("de:auto en:auto", "", None, "de:auto"),
            // The default track comes next, once.
            ("de en:auto en", "", Some(0), "en en:auto de"),
            ("de en:auto en", "", Some(2), "en en:auto"),
            ("de en", "fr", Some(1), "en"),
            ("de en", "", Some(1), "en"),
            // The spoken language is unknown.
            ("de en", "", None, "de"),
            ("de en", "fr", None, "de"),
            ("de en", "", Some(7), "de"),
            ("de:forced fr", "", None, "fr"),
            ("de:forced", "", None, "de:forced"),
            ("", "en", Some(0), ""),
        ];
        for (tracks, audio, default_track, expected) in table {
            let player = player(tracks, audio, default_track);
            let case = format!("{tracks} with audio {audio:?} and default {default_track:?}");
            assert_eq!(chosen(&player, &Languages::default()), expected, "{case}");
        }
    }

    #[test]
    fn tracks_of_the_same_language_are_all_candidates() {
        let player = player("en en", "", None);
        let found = player.candidates(&Languages::parse("en,en").unwrap(), None);
        assert_eq!(found.len(), 2);
        assert!(std::ptr::eq(found[0], &player.tracks[0]));
        assert!(std::ptr::eq(found[1], &player.tracks[1]));
    }

    #[test]
    fn a_requested_kind_of_captions_excludes_the_other() {
        use CaptionKind::{Auto, Manual};
        let table = [
            ("de en:auto en", "", Manual, "en"),
            ("de en:auto en", "", Auto, "en:auto"),
            // No captions of this kind in the spoken language: the first of another language.
            ("de en:auto", "", Manual, "de"),
            ("en:auto", "", Manual, ""),
            ("de en", "", Auto, ""),
            // A requested language is never replaced.
            ("de en:auto", "en", Manual, ""),
            ("de en:auto", "en,de", Manual, "de"),
            ("en en-GB:auto en:auto", "en", Auto, "en:auto en-GB:auto"),
        ];
        for (tracks, wanted, kind, expected) in table {
            let languages = match wanted {
                "" => Languages::default(),
                wanted => Languages::parse(wanted).unwrap(),
            };
            let found = chosen_of(&player(tracks, "", None), &languages, Some(kind));
            assert_eq!(found, expected, "{tracks}: {wanted} {kind:?}");
        }
    }
}
