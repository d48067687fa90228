//! Shows the details of a video: `cargo run --example video -- https://youtu.be/dQw4w9WgXcQ`

mod demo;

use vidra::VideoId;

#[tokio::main]
async fn main() -> vidra::Result<()> {
    let vidra = demo::builder().build()?;
    // Any link to a video works. For anything else, `parse` fails before a request costs units.
    let wanted = demo::argument(1).unwrap_or_else(|| "https://youtu.be/fda4eREcaTQ".to_owned());
    let id = VideoId::parse(&wanted)?;

    let video = vidra.video(id).await?;
    println!("{} by {}", video.title, video.channel);
    println!("{} long, published {}", video.duration_fmt, video.published);
    println!("{} views, {} likes", video.views_fmt, video.likes_fmt);
    if !video.hidden.is_empty() {
        println!("hidden: {:?}", video.hidden);
    }

    // The second request is a cache hit, which costs nothing.
    let again = vidra.metered();
    let cached = again.video(id).await?;
    assert_eq!(cached, video);
    println!("second request: {} units", again.cost().units());
    Ok(())
}
