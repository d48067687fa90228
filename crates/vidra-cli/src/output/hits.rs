//! Hits of searches and trends as text for people.

use serde::Deserialize;
use vidra::format::clock;

use super::cards::{joined, or_nothing};
use super::table::Table;
use crate::terminal::{FAINT, LINK, MATCH, TITLE, clean, one_line, styled, wrapped};

/// A hit, as the service sends it: a moment, or a video with its best moments.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HitView {
    video_id: String,
    title: String,
    channel: String,
    published_at: Option<String>,
    lang: String,
    moment_count: Option<u64>,
    /// With `group=video`.
    moments: Option<Vec<MomentView>>,
    /// With `group=moment`.
    #[serde(flatten)]
    moment: Option<MomentView>,
}

#[derive(Debug, Deserialize)]
struct MomentView {
    start: f64,
    url: String,
    chapter: Option<String>,
    #[serde(rename = "in")]
    field: Option<String>,
    text: String,
    highlights: Vec<[usize; 2]>,
}

/// The hits, each with its time, its text and its link. Hits of one video that follow each other have one heading.
pub(crate) fn hits(all: &[HitView], width: Option<usize>) -> String {
    let mut text = String::new();
    let mut last = None;
    for hit in all {
        if last != Some(&hit.video_id) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&heading(hit));
        }
        last = Some(&hit.video_id);
        for moment in hit.moments.iter().flatten().chain(&hit.moment) {
            text.push_str(&shown(moment, width));
        }
        let more = hit
            .moment_count
            .unwrap_or(0)
            .saturating_sub(hit.moments.as_ref().map_or(0, Vec::len) as u64);
        if more > 0 {
            text.push_str(&format!("  {}\n", styled(FAINT, format!("and {more} more"))));
        }
    }
    text
}

fn heading(hit: &HitView) -> String {
    let date = hit.published_at.as_deref().map(|at| at.get(..10).unwrap_or(at).to_owned());
    let rest = joined(&[one_line(&hit.channel), date.unwrap_or_default(), hit.lang.clone()]);
    let title = if hit.title.is_empty() { &hit.video_id } else { &hit.title };
    format!("{}  {}\n", styled(TITLE, one_line(title)), styled(FAINT, rest))
}

fn shown(moment: &MomentView, width: Option<usize>) -> String {
    let label = match &moment.field {
        Some(field) => field.clone(),
        None => clock(moment.start as u64),
    };
    let chapter = moment.chapter.as_deref().map(one_line).unwrap_or_default();
    let text = wrapped(&emphasised(moment), width, "    ");
    format!("  {}\n{text}\n    {}\n", joined(&[label, chapter]), styled(LINK, &moment.url))
}

/// The text with its words in bold.
fn emphasised(moment: &MomentView) -> String {
    let characters: Vec<char> = moment.text.chars().collect();
    let part = |from: usize, to: usize| -> String {
        let range = from.min(characters.len())..to.clamp(from, characters.len().max(from));
        characters.get(range).map(|it| it.iter().collect()).unwrap_or_default()
    };
    let mut text = String::new();
    let mut at = 0;
    for [from, to] in &moment.highlights {
        text.push_str(&clean(&part(at, *from)));
        // Each word, because the text is wrapped.
        let words = part(*from, *to);
        let words: Vec<String> = words.split(' ').map(|word| styled(MATCH, word)).collect();
        text.push_str(&words.join(" "));
        at = *to;
    }
    text.push_str(&clean(&part(at, characters.len())));
    text
}

/// Trends, as the service sends them.
#[derive(Debug, Deserialize)]
pub(crate) struct TrendsView {
    items: Vec<TrendView>,
    undated: Option<TrendView>,
    #[serde(default)]
    approximate: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrendView {
    period: Option<String>,
    count: u64,
    words: u64,
    per_million: f64,
    videos: u64,
}

/// The width of the longest bar.
const BAR: usize = 40;

/// A chart: a bar a period. The bars are occurrences in a million words, because periods have different lengths.
pub(crate) fn trends(it: &TrendsView, width: Option<usize>) -> String {
    let room = width.map_or(BAR, |width| width.saturating_sub(45).clamp(8, BAR));
    let rows: Vec<&TrendView> = it.items.iter().chain(&it.undated).collect();
    let most = rows.iter().map(|it| it.per_million).fold(0.0, f64::max);
    let period = |it: &&TrendView| it.period.clone().unwrap_or_else(|| "undated".to_owned());
    let table = Table::new(&rows)
        .word("period", period)
        .word("per million words", |it| bar(it, most, room))
        .number("count", |it| it.count)
        .number("videos", |it| it.videos)
        .number("words", |it| it.words);
    let about = if it.approximate {
        "approximate: a frequent phrase counts once in each passage\n"
    } else {
        ""
    };
    or_nothing(&rows, format!("{}{about}", table.written(None)))
}

fn bar(it: &TrendView, most: f64, room: usize) -> String {
    const PARTS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
    let eighths = match most > 0.0 {
        true => (it.per_million.min(most) / most * room as f64 * 8.0).round() as usize,
        false => 0,
    };
    let mut bar = "█".repeat(eighths / 8);
    if eighths % 8 > 0 {
        bar.push(PARTS[eighths % 8 - 1]);
    }
    let space = if bar.is_empty() { "" } else { " " };
    format!("{bar}{space}{:.1}", it.per_million)
}
