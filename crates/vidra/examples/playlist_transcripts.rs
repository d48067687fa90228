//! Writes the transcript of each video of a playlist to a file, and shows progress:
//! `cargo run --example playlist_transcripts -- PLAYLIST FOLDER`

mod demo;

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use futures_util::{StreamExt, pin_mut};
use vidra::{BatchEvent, BatchQuery, PlaylistId, VideoTranscript, to_text};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let vidra = demo::builder().build()?;
    let wanted = demo::argument(1).unwrap_or_else(|| "PLquirkMixed".to_owned());
    let folder = PathBuf::from(demo::argument(2).unwrap_or_else(|| "transcripts".to_owned()));
    fs::create_dir_all(&folder)?;

    let query = BatchQuery::default().with_concurrency(8);
    let events = vidra.playlist_transcripts(&PlaylistId::parse(&wanted)?, &query);
    // To stop the batch, drop the stream. The client then fetches nothing more.
    pin_mut!(events);
    let mut done = 0;
    while let Some(event) = events.next().await {
        match event? {
            BatchEvent::Started { total_videos: Some(total), .. } => println!("{total} videos"),
            BatchEvent::Waiting(pause) => println!("waiting {} s", pause.as_secs()),
            BatchEvent::Result(VideoTranscript { position, title, transcript, .. }) => {
                done += 1;
                match transcript {
                    Ok(transcript) => {
                        let lines = transcript.lines();
                        fs::write(folder.join(format!("{position:04}.txt")), to_text(lines))?;
                        println!("{done} done: {title}, {} lines", lines.len());
                    }
                    // A video without a transcript does not end the batch. The error has the cause.
                    Err(error) => println!("{done} done: {error}"),
                }
            }
            BatchEvent::Done(summary) => {
                println!("{} transcripts in {}", summary.succeeded, folder.display());
                println!("{} videos have none", summary.failed);
            }
            _ => {}
        }
    }
    Ok(())
}
