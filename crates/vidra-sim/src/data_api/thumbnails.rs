//! Thumbnail sets with the platform's URLs and sizes.

use crate::world::World;
use serde_json::{Map, Value, json};

/// Name, file, width and height, from the smallest to the largest.
const SIZES: [(&str, &str, u32, u32); 5] = [
    ("default", "default", 120, 90),
    ("medium", "mqdefault", 320, 180),
    ("high", "hqdefault", 480, 360),
    ("standard", "sddefault", 640, 480),
    ("maxres", "maxresdefault", 1280, 720),
];

/// The first `count` thumbnail sizes of a video. Thumbnails of `live` videos have another file name.
pub(crate) fn video(id: &str, count: usize, live: bool) -> Value {
    let suffix = if live { "_live" } else { "" };
    let sizes = SIZES.iter().take(count).map(|(name, file, width, height)| {
        let url = format!("https://i.ytimg.com/vi/{id}/{file}{suffix}.jpg");
        ((*name).to_owned(), json!({"url": url, "width": width, "height": height}))
    });
    Value::Object(sizes.collect::<Map<_, _>>())
}

/// The thumbnails of an album: no `default`, and square images if `square`.
pub(crate) fn playlist_without_default(id: &str, square: bool) -> Value {
    let one = |file: &str, width: u32, height: u32| {
        let url =
            format!("https://i9.ytimg.com/s_p/{id}/{file}.jpg?sqp=CPSUnOAF&rs=AOn4CLCS&v=5a9f2048");
        json!({"url": url, "width": width, "height": height})
    };
    if square {
        json!({"medium": one("mqdefault", 180, 180), "standard": one("sddefault", 640, 640), "maxres": one("maxresdefault", 1200, 1200)})
    } else {
        json!({"medium": one("mqdefault", 320, 180), "standard": one("sddefault", 640, 480)})
    }
}

/// The thumbnails of a channel.
pub(crate) fn channel(world: &World, id: &str) -> Value {
    let base = format!("https://yt3.ggpht.com/{}", world.etag(&format!("picture/{id}")));
    let one = |size: u32| json!({"url": format!("{base}=s{size}-c-k-c0x00ffffff-no-rj"), "width": size, "height": size});
    json!({"default": one(88), "medium": one(240), "high": one(800)})
}

/// The thumbnails of a channel in a search result, which lack their sizes.
pub(crate) fn channel_without_sizes(world: &World, id: &str) -> Value {
    let mut all = channel(world, id);
    for one in all.as_object_mut().into_iter().flat_map(Map::values_mut) {
        *one = json!({"url": one["url"]});
    }
    all
}

/// The URL of the author's image in a comment.
pub(crate) fn avatar(world: &World, id: &str) -> String {
    format!(
        "https://yt3.ggpht.com/ytc/{}=s48-c-k-c0x00ffffff-no-rj",
        world.etag(&format!("picture/{id}"))
    )
}
