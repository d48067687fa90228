//! Generates natural titles, descriptions and comments.

pub(crate) mod speech;
mod words;

pub(crate) use words::Theme;

use crate::hash::Dice;
use words::{COMMENTS, FAMILY, GIVEN, REPLIES, SENTENCES, lexicon};

/// A video's title.
pub(crate) fn title(theme: Theme, dice: &mut Dice) -> String {
    let words = lexicon(theme);
    let (shape, thing) = (dice.pick(words.titles), dice.pick(words.things));
    let mut title = shape.replace("{}", thing);
    if let Some(first) = title.chars().next().filter(char::is_ascii_lowercase) {
        title.replace_range(..1, &first.to_ascii_uppercase().to_string());
    }
    title
}

/// The category number of a theme.
pub(crate) const fn category(theme: Theme) -> &'static str {
    lexicon(theme).category
}

/// The names of the Wikipedia articles about a theme.
pub(crate) const fn topics(theme: Theme) -> &'static [&'static str] {
    match theme {
        Theme::Music => &["Music", "Independent_music"],
        Theme::Cooking => &["Food", "Lifestyle_(sociology)"],
        Theme::Trains => &["Vehicle", "Lifestyle_(sociology)", "Tourism"],
        Theme::Stars => &["Knowledge"],
        Theme::Wood => &["Hobby", "Lifestyle_(sociology)"],
        Theme::Code => &["Technology", "Knowledge"],
        Theme::Garden => &["Hobby"],
        Theme::Cycling => &["Sport", "Lifestyle_(sociology)"],
        Theme::Games => &["Video_game_culture", "Action-adventure_game", "Role-playing_video_game"],
        Theme::Travel => &["Tourism", "Lifestyle_(sociology)"],
    }
}

/// The tags of a video; one video in eight has none.
pub(crate) fn tags(theme: Theme, title: &str, dice: &mut Dice) -> Vec<String> {
    if dice.chance(12) {
        return Vec::new();
    }
    let words = title.split_whitespace().map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()));
    let from_title = words.filter(|w| w.chars().count() > 3).take(6).map(str::to_lowercase);
    [lexicon(theme).tag.to_owned()].into_iter().chain(from_title).collect()
}

/// A description. One in ten is empty, one in three has chapters, one in eight has CRLF.
pub(crate) fn description(theme: Theme, title: &str, dice: &mut Dice) -> String {
    if dice.chance(10) {
        return String::new();
    }
    let mut lines = vec![format!("{title}."), String::new()];
    lines.extend((0..=dice.below(3)).map(|_| dice.pick(SENTENCES).to_owned()));
    if dice.chance(33) {
        let chapters = [
            "0:00 Hello",
            "1:12 What we need",
            "4:40 The hard part",
            "9:05 What I would do differently",
        ];
        lines.push(String::new());
        lines.extend(chapters.map(str::to_owned));
    }
    lines.push(String::new());
    lines.push(format!("#{}", lexicon(theme).tag.replace(' ', "")));
    lines.join(if dice.chance(12) { "\r\n" } else { "\n" })
}

/// The plain text of a comment or, with `reply`, of a reply.
pub(crate) fn comment(reply: bool, dice: &mut Dice) -> &'static str {
    dice.pick(if reply { REPLIES } else { COMMENTS })
}

/// The text of a comment by its index, for the video that has one of each.
pub(crate) fn comment_number(n: usize) -> &'static str {
    COMMENTS[n % COMMENTS.len()]
}

/// The number of different comment texts.
pub(crate) const fn comment_count() -> usize {
    COMMENTS.len()
}

/// A viewer's name.
pub(crate) fn viewer(dice: &mut Dice) -> String {
    format!("{} {}", dice.pick(GIVEN), dice.pick(FAMILY))
}

/// A playlist's title.
pub(crate) fn playlist_title(theme: Theme, dice: &mut Dice) -> String {
    let shape = dice.pick(&[
        "Start here",
        "The best of {}",
        "{} – the complete series",
        "Everything about {}",
        "{}, season 2",
        "Late night {}",
    ]);
    shape.replace("{}", dice.pick(lexicon(theme).things))
}
