//! What YouTube tells about a video: `cargo run --example video -- https://youtu.be/dQw4w9WgXcQ`

mod demo;

use vidra::VideoId;

#[tokio::main]
async fn main() -> vidra::Result<()> {
    let vidra = demo::builder().build()?;
    // Any link to a video will do. What is no video ends here, before anything is asked or paid for.
    let wanted = demo::argument(1).unwrap_or_else(|| "https://youtu.be/fda4eREcaTQ".to_owned());
    let id = VideoId::parse(&wanted)?;

    let video = vidra.video(id).await?;
    println!("{} by {}", video.title, video.channel);
    println!("{} long, published {}", video.duration_fmt, video.published);
    println!("{} views, {} likes", video.views_fmt, video.likes_fmt);
    if !video.hidden.is_empty() {
        println!("not told: {:?}", video.hidden);
    }

    // Asked for a second time it comes from the cache, which costs nothing.
    let again = vidra.metered();
    let known = again.video(id).await?;
    assert_eq!(known, video);
    println!("asked again: {} units", again.cost().units());
    Ok(())
}
