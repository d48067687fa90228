//! Videos, channels, playlists and comments as text for people.

use std::fmt::Write as _;

use serde::Deserialize;
use vidra::format::Moment;
use vidra::{
    CaptionTrack, Channel, ChannelVideo, Comment, CommentThread, FeedAnswer, FeedSource,
    HiddenCount, Language, Playlist, PlaylistIds, PlaylistInfo, PlaylistVideo, Region, SearchItem,
    Selected, Video, VideoCategory,
};

use super::included::{Included, with_columns};
use super::table::Table;
use crate::terminal::{FAINT, LINK, TITLE, clean, one_line, styled, wrapped};

/// The limit of a description; the JSON has all of it.
const MOST_LINES: usize = 12;

pub(crate) fn video(video: &Video, width: Option<usize>) -> String {
    let hidden = &video.hidden;
    let numbers = [
        counted_unless_hidden(&video.views_fmt, "views", HiddenCount::Views, hidden),
        counted_unless_hidden(&video.likes_fmt, "likes", HiddenCount::Likes, hidden),
        counted_unless_hidden(&video.comments_fmt, "comments", HiddenCount::Comments, hidden),
    ];
    let source = [one_line(&video.channel), video.published.clone(), video.duration_fmt.clone()];
    let link = format!("https://youtu.be/{}", video.id);
    let included = Included::from(video);
    let [details, tags] = included.lines();
    let lines = [joined(&source), joined(&numbers), details, tags];
    let text = card(&video.title, &lines, &link, &video.description, width);
    match included.chapter_list() {
        chapters if chapters.is_empty() => text,
        chapters => format!("{text}\n{}\n{chapters}", styled(FAINT, "chapters")),
    }
}

pub(crate) fn channel(channel: &Channel, width: Option<usize>) -> String {
    let (subscribers, hidden) = (&channel.subscribers_fmt, &channel.hidden);
    let numbers = [
        counted_unless_hidden(subscribers, "subscribers", HiddenCount::Subscribers, hidden),
        counted(&vidra::format::compact(channel.video_count), "videos"),
        counted(&channel.total_views_fmt, "views"),
        channel.country.clone().unwrap_or_default(),
    ];
    let uploads = channel.uploads_playlist_id.as_ref();
    let uploads = uploads.map(|id| format!("uploads: {id}")).unwrap_or_default();
    let link = format!("https://www.youtube.com/channel/{}", channel.id);
    let lines = [one_line(&channel.username), joined(&numbers), uploads];
    card(&channel.name, &lines, &link, "", width)
}

pub(crate) fn playlist_info(info: &PlaylistInfo, width: Option<usize>) -> String {
    let count = info.item_count.map(|count| counted(&count.to_string(), "videos"));
    let facts = [one_line(&info.channel), count.unwrap_or_default()];
    card(&info.title, &[joined(&facts)], &playlist_link(&info.id), &info.description, width)
}

pub(crate) fn playlist_ids(ids: &PlaylistIds, _: Option<usize>) -> String {
    ids.video_ids.iter().map(|id| format!("{id}\n")).collect()
}

pub(crate) fn playlist(playlist: &Playlist, width: Option<usize>) -> String {
    let mut counts = vec![counted(&playlist.video_count.to_string(), "videos")];
    if playlist.unavailable_count > 0 {
        counts.push(format!("{} private or deleted", playlist.unavailable_count));
    }
    listed(playlist, counts, width)
}

pub(crate) fn selected(selected: &Selected, width: Option<usize>) -> String {
    let count = format!("{} of {} videos", selected.playlist.video_count, selected.original_count);
    listed(&selected.playlist, vec![count], width)
}

fn listed(playlist: &Playlist, mut counts: Vec<String>, width: Option<usize>) -> String {
    counts.push(playlist.total_duration_fmt.clone());
    let mut text =
        card(&playlist.title, &[joined(&counts)], &playlist_link(&playlist.id), "", width);
    if playlist.videos.is_empty() {
        return text;
    }
    let numbered: Vec<(u64, &PlaylistVideo)> = (1..).zip(&playlist.videos).collect();
    let table = entry_table(&numbered);
    text += "\n";
    text + &table.written(width)
}

/// An entry of a paged list of a playlist.
#[derive(Deserialize)]
pub(crate) struct Entry {
    position: u64,
    #[serde(flatten)]
    video: PlaylistVideo,
}

pub(crate) fn entries(entries: &[Entry], width: Option<usize>) -> String {
    let entries: Vec<(u64, &PlaylistVideo)> =
        entries.iter().map(|it| (it.position, &it.video)).collect();
    or_nothing(&entries, entry_table(&entries).written(width))
}

fn entry_table<'a>(entries: &'a [(u64, &PlaylistVideo)]) -> Table<'a, (u64, &'a PlaylistVideo)> {
    let table = Table::new(entries)
        .number("#", |(position, _)| *position)
        .word("id", |(_, video)| video.id)
        .text("title", |(_, video)| video.title.clone());
    with_columns(table, entries, |(_, video)| Included::from(*video))
        .number("length", |(_, video)| video.duration_fmt.clone())
        .number("views", |(_, it)| unless_hidden(&it.views_fmt, HiddenCount::Views, &it.hidden))
        .number("likes", |(_, it)| unless_hidden(&it.likes_fmt, HiddenCount::Likes, &it.hidden))
        .word("published", |(_, video)| day(video.published_at))
}

pub(crate) fn videos(videos: &[Video], width: Option<usize>) -> String {
    let table =
        Table::new(videos).word("id", |video| video.id).text("title", |video| video.title.clone());
    let table = with_columns(table, videos, |video| Included::from(video))
        .text("channel", |video| video.channel.clone())
        .number("length", |video| video.duration_fmt.clone())
        .number("views", |it| unless_hidden(&it.views_fmt, HiddenCount::Views, &it.hidden))
        .number("likes", |it| unless_hidden(&it.likes_fmt, HiddenCount::Likes, &it.hidden))
        .word("published", |video| day(video.published_at));
    or_nothing(videos, table.written(width))
}

/// The results of a search, which are all of one type.
pub(crate) fn results(items: &[SearchItem], width: Option<usize>) -> String {
    let (mut found, mut channels, mut playlists) = (vec![], vec![], vec![]);
    for item in items {
        match item {
            SearchItem::Video(video) => found.push(Video::clone(video)),
            SearchItem::Channel(channel) => channels.push(channel),
            SearchItem::Playlist(playlist) => playlists.push(playlist),
            _ => {}
        }
    }
    let channel_table = Table::new(&channels)
        .word("id", |channel| channel.id.clone())
        .text("name", |channel| channel.name.clone())
        .text("description", |channel| channel.description.clone())
        .word("created", |channel| day(channel.published_at));
    let playlist_table = Table::new(&playlists)
        .word("id", |playlist| playlist.id.clone())
        .text("title", |playlist| playlist.title.clone())
        .text("channel", |playlist| playlist.channel.clone())
        .word("created", |playlist| day(playlist.published_at));
    match (channels.is_empty(), playlists.is_empty()) {
        (false, _) => channel_table.written(width),
        (_, false) => playlist_table.written(width),
        _ => videos(&found, width),
    }
}

pub(crate) fn playlists(playlists: &[PlaylistInfo], width: Option<usize>) -> String {
    let table = Table::new(playlists)
        .word("id", |playlist| playlist.id.clone())
        .text("title", |playlist| playlist.title.clone())
        .number("videos", |playlist| counted_or_dash(playlist.item_count))
        .word("created", |playlist| day(playlist.published_at));
    or_nothing(playlists, table.written(width))
}

pub(crate) fn feed(feed: &FeedAnswer, width: Option<usize>) -> String {
    let table = Table::new(&feed.items)
        .word("id", |video| video.id)
        .text("title", |video| video.title.clone())
        .text("channel", |video| video.channel.clone())
        .number("views", |video| counted_or_dash(video.views))
        .number("likes", |video| counted_or_dash(video.likes))
        .word("published", |video| day(video.published_at));
    let text = or_nothing(&feed.items, table.written(width));
    match feed.source {
        FeedSource::DataApi => {
            let note = "from the Data API, because YouTube did not serve the feed";
            format!("{text}{}\n", styled(FAINT, note))
        }
        _ => text,
    }
}

pub(crate) fn uploads(videos: &[ChannelVideo], width: Option<usize>) -> String {
    let table = Table::new(videos)
        .word("id", |video| video.id)
        .text("title", |video| video.title.clone())
        .number("length", |video| video.duration_fmt.clone())
        .number("views", |it| unless_hidden(&it.views_fmt, HiddenCount::Views, &it.hidden))
        .number("likes", |it| unless_hidden(&it.likes_fmt, HiddenCount::Likes, &it.hidden))
        .word("uploaded", |video| video.upload_age.clone());
    or_nothing(videos, table.written(width))
}

pub(crate) fn threads(threads: &[CommentThread], width: Option<usize>) -> String {
    let mut text = String::new();
    for thread in threads {
        text += &comment(&thread.top_level_comment, width, "");
        for reply in &thread.replies {
            text += &comment(reply, width, "    ");
        }
        let more = thread.total_reply_count.saturating_sub(thread.replies.len() as u64);
        if more > 0 {
            let hint = format!("{more} more: vidra replies {}", thread.id);
            let _ = writeln!(text, "{}\n", wrapped(&styled(FAINT, hint), width, "    "));
        }
    }
    or_nothing(threads, text)
}

pub(crate) fn comments(comments: &[Comment], width: Option<usize>) -> String {
    or_nothing(comments, comments.iter().map(|it| comment(it, width, "")).collect())
}

fn comment(comment: &Comment, width: Option<usize>, indent: &str) -> String {
    let likes = match comment.like_count {
        0 => String::new(),
        count => counted(&vidra::format::compact(count), "likes"),
    };
    let about = joined(&[day(comment.published_at), likes]);
    let author = styled(TITLE, one_line(&comment.author_name));
    let head = wrapped(&format!("{author}  {}", styled(FAINT, about)), width, indent);
    let text = wrapped(&clean(&comment.text), width, indent);
    format!("{head}\n{text}\n\n")
}

pub(crate) fn tracks(tracks: &[CaptionTrack], width: Option<usize>) -> String {
    let table = Table::new(tracks)
        .word("code", |track| track.language_code.clone())
        .text("language", |track| track.language_name.clone())
        .word("made by", |track| if track.is_auto_generated { "a machine" } else { "a person" })
        .word("translatable", |track| yes_or_no(track.is_translatable));
    or_nothing(tracks, table.written(width))
}

pub(crate) fn regions(regions: &[Region], width: Option<usize>) -> String {
    let table =
        Table::new(regions).word("code", |it| it.gl.clone()).text("region", |it| it.name.clone());
    or_nothing(regions, table.written(width))
}

pub(crate) fn languages(languages: &[Language], width: Option<usize>) -> String {
    let table = Table::new(languages)
        .word("code", |it| it.hl.clone())
        .text("language", |it| it.name.clone());
    or_nothing(languages, table.written(width))
}

pub(crate) fn categories(categories: &[VideoCategory], width: Option<usize>) -> String {
    let table = Table::new(categories)
        .number("id", |it| it.id.clone())
        .text("category", |it| it.title.clone())
        .word("assignable", |it| yes_or_no(it.assignable));
    or_nothing(categories, table.written(width))
}

pub(super) fn yes_or_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}

pub(super) fn card(
    title: &str,
    lines: &[String],
    link: &str,
    description: &str,
    width: Option<usize>,
) -> String {
    let mut text = wrapped(&styled(TITLE, one_line(title)), width, "") + "\n";
    for line in lines.iter().filter(|line| !line.is_empty()) {
        let _ = writeln!(text, "{}", wrapped(line, width, ""));
    }
    let _ = writeln!(text, "{}", styled(LINK, link));
    let description = wrapped(&clean(description.trim()), width, "");
    if description.is_empty() {
        return text;
    }
    let all = description.lines().count();
    let shown: Vec<&str> = description.lines().take(MOST_LINES).collect();
    let _ = writeln!(text, "\n{}", shown.join("\n"));
    if all > MOST_LINES {
        let more = format!("… {} more lines: --json has them all", all - MOST_LINES);
        let _ = writeln!(text, "{}", styled(FAINT, more));
    }
    text
}

pub(super) fn joined(parts: &[String]) -> String {
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
    parts.join(" · ")
}

/// `2 likes`, `1 like`.
fn counted(count: &str, what: &str) -> String {
    format!("{count} {}", if count == "1" { what.trim_end_matches('s') } else { what })
}

fn counted_unless_hidden(
    count: &str,
    what: &str,
    name: HiddenCount,
    hidden: &[HiddenCount],
) -> String {
    if hidden.contains(&name) { format!("{what} hidden") } else { counted(count, what) }
}

pub(super) fn or_nothing<T>(items: &[T], text: String) -> String {
    if items.is_empty() { styled(FAINT, "nothing") + "\n" } else { text }
}

fn counted_or_dash(count: Option<u64>) -> String {
    count.map_or_else(|| "–".to_owned(), vidra::format::compact)
}

fn unless_hidden(count: &str, name: HiddenCount, hidden: &[HiddenCount]) -> String {
    if hidden.contains(&name) { "–".to_owned() } else { count.to_owned() }
}

fn playlist_link(id: &vidra::PlaylistId) -> String {
    format!("https://www.youtube.com/playlist?list={id}")
}

/// `2026-03-26`, or empty.
fn day(at: Moment) -> String {
    at.to_string().chars().take(10).collect()
}
