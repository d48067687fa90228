//! Videos, channels, playlists and comments as text for people.

use std::fmt::Write as _;

use vidra::format::Moment;
use vidra::{
    CaptionTrack, Channel, ChannelVideo, Comment, CommentThread, Language, Playlist, PlaylistIds,
    PlaylistInfo, Region, Selected, Video, VideoCategory, Withheld,
};

use super::table::{Column, table};
use crate::terminal::{FAINT, LINK, TITLE, clean, one_line, styled, wrapped};

/// The limit of a description; the JSON has all of it.
const MOST_LINES: usize = 12;

pub(crate) fn video(video: &Video, width: Option<usize>) -> String {
    let told = |count: &str, what: &str, name| match video.hidden.contains(&name) {
        true => format!("{what} hidden"),
        false => counted(count, what),
    };
    let numbers = [
        told(&video.views_fmt, "views", Withheld::Views),
        told(&video.likes_fmt, "likes", Withheld::Likes),
        told(&video.comments_fmt, "comments", Withheld::Comments),
    ];
    let source = [one_line(&video.channel), video.published.clone(), video.duration_fmt.clone()];
    let link = format!("https://youtu.be/{}", video.id);
    card(&video.title, &[joined(&source), joined(&numbers)], &link, &video.description, width)
}

pub(crate) fn channel(channel: &Channel, width: Option<usize>) -> String {
    let subscribers = match channel.hidden.contains(&Withheld::Subscribers) {
        true => "subscribers hidden".to_owned(),
        false => counted(&channel.subscribers_fmt, "subscribers"),
    };
    let numbers = [
        subscribers,
        counted(&vidra::format::compact(channel.video_count), "videos"),
        counted(&channel.total_views_fmt, "views"),
        channel.country.clone().unwrap_or_default(),
    ];
    let uploads = match channel.uploads_playlist_id.as_str() {
        "" => String::new(),
        id => format!("uploads: {id}"),
    };
    let link = format!("https://www.youtube.com/channel/{}", channel.id);
    let lines = [one_line(&channel.username), joined(&numbers), uploads];
    card(&channel.name, &lines, &link, "", width)
}

pub(crate) fn playlist_info(info: &PlaylistInfo, width: Option<usize>) -> String {
    card(&info.title, &[], &playlist_link(&info.id), &info.description, width)
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
    let columns = [
        Column::Number("#"),
        Column::Word("id"),
        Column::Text("title"),
        Column::Number("length"),
        Column::Number("views"),
        Column::Number("likes"),
        Column::Word("published"),
    ];
    let rows: Vec<Vec<String>> = playlist
        .videos
        .iter()
        .enumerate()
        .map(|(index, video)| {
            vec![
                (index + 1).to_string(),
                video.id.to_string(),
                video.title.clone(),
                video.duration_fmt.clone(),
                unless_hidden(&video.views_fmt, Withheld::Views, &video.hidden),
                unless_hidden(&video.likes_fmt, Withheld::Likes, &video.hidden),
                day(video.published_at),
            ]
        })
        .collect();
    text += "\n";
    text + &table(&columns, &rows, width)
}

pub(crate) fn videos(videos: &[Video], width: Option<usize>) -> String {
    let columns = [
        Column::Word("id"),
        Column::Text("title"),
        Column::Text("channel"),
        Column::Number("length"),
        Column::Number("views"),
        Column::Number("likes"),
        Column::Word("published"),
    ];
    let row = |video: &Video| {
        vec![
            video.id.to_string(),
            video.title.clone(),
            video.channel.clone(),
            video.duration_fmt.clone(),
            unless_hidden(&video.views_fmt, Withheld::Views, &video.hidden),
            unless_hidden(&video.likes_fmt, Withheld::Likes, &video.hidden),
            day(video.published_at),
        ]
    };
    rows(&columns, videos, row, width)
}

pub(crate) fn uploads(videos: &[ChannelVideo], width: Option<usize>) -> String {
    let columns = [
        Column::Word("id"),
        Column::Text("title"),
        Column::Number("length"),
        Column::Number("views"),
        Column::Number("likes"),
        Column::Word("uploaded"),
    ];
    let row = |video: &ChannelVideo| {
        vec![
            video.id.to_string(),
            video.title.clone(),
            video.duration_fmt.clone(),
            unless_hidden(&video.views_fmt, Withheld::Views, &video.hidden),
            unless_hidden(&video.likes_fmt, Withheld::Likes, &video.hidden),
            video.upload_age.clone(),
        ]
    };
    rows(&columns, videos, row, width)
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
    or_nothing(text)
}

pub(crate) fn comments(comments: &[Comment], width: Option<usize>) -> String {
    or_nothing(comments.iter().map(|it| comment(it, width, "")).collect())
}

fn comment(comment: &Comment, width: Option<usize>, indent: &str) -> String {
    let likes = match comment.like_count {
        0 => String::new(),
        count => counted(&vidra::format::compact(count), "likes"),
    };
    let about = joined(&[day(comment.published_at), likes]);
    let author = styled(TITLE, one_line(&comment.author_name));
    let head = wrapped(&format!("{author}  {}", styled(FAINT, about)), width, indent);
    let said = wrapped(&clean(&comment.text), width, indent);
    format!("{head}\n{said}\n\n")
}

pub(crate) fn tracks(tracks: &[CaptionTrack], width: Option<usize>) -> String {
    let columns = [
        Column::Word("code"),
        Column::Text("language"),
        Column::Word("made by"),
        Column::Word("translatable"),
    ];
    let row = |track: &CaptionTrack| {
        let maker = if track.is_auto_generated { "a machine" } else { "a person" };
        let translatable = if track.is_translatable { "yes" } else { "no" };
        let (code, name) = (track.language_code.clone(), track.language_name.clone());
        vec![code, name, maker.to_owned(), translatable.to_owned()]
    };
    rows(&columns, tracks, row, width)
}

pub(crate) fn regions(regions: &[Region], width: Option<usize>) -> String {
    let columns = [Column::Word("code"), Column::Text("region")];
    rows(&columns, regions, |it| vec![it.gl.clone(), it.name.clone()], width)
}

pub(crate) fn languages(languages: &[Language], width: Option<usize>) -> String {
    let columns = [Column::Word("code"), Column::Text("language")];
    rows(&columns, languages, |it| vec![it.hl.clone(), it.name.clone()], width)
}

pub(crate) fn categories(categories: &[VideoCategory], width: Option<usize>) -> String {
    let columns = [Column::Number("id"), Column::Text("category"), Column::Word("assignable")];
    let row = |it: &VideoCategory| {
        let assignable = if it.assignable { "yes" } else { "no" };
        vec![it.id.clone(), it.title.clone(), assignable.to_owned()]
    };
    rows(&columns, categories, row, width)
}

fn rows<T>(
    columns: &[Column],
    all: &[T],
    row: impl Fn(&T) -> Vec<String>,
    width: Option<usize>,
) -> String {
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    if rows.is_empty() { or_nothing(String::new()) } else { table(columns, &rows, width) }
}

fn card(
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

fn joined(parts: &[String]) -> String {
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
    parts.join(" · ")
}

/// `2 likes`, `1 like`.
fn counted(count: &str, what: &str) -> String {
    format!("{count} {}", if count == "1" { what.trim_end_matches('s') } else { what })
}

fn or_nothing(text: String) -> String {
    if text.is_empty() { styled(FAINT, "nothing") + "\n" } else { text }
}

fn unless_hidden(count: &str, name: Withheld, hidden: &[Withheld]) -> String {
    if hidden.contains(&name) { "–".to_owned() } else { count.to_owned() }
}

fn playlist_link(id: &vidra::PlaylistId) -> String {
    format!("https://www.youtube.com/playlist?list={id}")
}

/// `2026-03-26`, or empty.
fn day(at: Moment) -> String {
    at.timestamp().map(|at| vidra::format::iso_millis(at)[..10].to_owned()).unwrap_or_default()
}
