//! The videos of a playlist as a table: `cargo run --example playlist_to_csv -- PLAYLIST > videos.csv`

mod demo;

use std::error::Error;

use vidra::{Playlist, PlaylistId};

const COLUMNS: [&str; 7] =
    ["id", "title", "channel", "published", "seconds", "views", "description"];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let vidra = demo::builder().build()?;
    let wanted = demo::argument(1).unwrap_or_else(|| "PLsize500".to_owned());
    let playlist = vidra.playlist(&PlaylistId::parse(&wanted)?).await?;
    write(&playlist, csv::Writer::from_writer(std::io::stdout()))?;

    // The table goes to standard output, and the summary to standard error.
    let Playlist { title, video_count, total_duration_fmt, unavailable_count, .. } = &playlist;
    eprintln!("{title}: {video_count} videos, {total_duration_fmt}");
    if *unavailable_count > 0 {
        eprintln!("{unavailable_count} more are private or deleted");
    }
    eprintln!("{} units", vidra.cost().units());
    Ok(())
}

/// Writes a header and a row for each video. The CSV writer quotes fields with commas, quotes or line breaks, which
/// are common in titles and descriptions.
fn write(playlist: &Playlist, mut table: csv::Writer<impl std::io::Write>) -> csv::Result<()> {
    table.write_record(COLUMNS)?;
    for video in &playlist.videos {
        table.write_record([
            video.id.as_str(),
            &video.title,
            &video.channel_title,
            &video.published_at.to_string(),
            &video.duration.to_string(),
            &video.views.to_string(),
            &video.description,
        ])?;
    }
    table.flush()?;
    Ok(())
}
