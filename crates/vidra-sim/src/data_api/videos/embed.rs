//! `player`: the embedded player and its size.

use crate::data_api::error::ApiError;
use crate::query::Query;
use crate::quirk::Frame;
use crate::world::video::Video;
use serde_json::{Value, json};

/// `maxWidth` and `maxHeight`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    width: Option<u32>,
    height: Option<u32>,
}

impl Limits {
    pub(super) fn read(query: &Query) -> Result<Self, ApiError> {
        let read = |name: &str| match query.get(name) {
            Some(_) => query.number(name, 0, 72..=8192).map(Some),
            None => Ok(None),
        };
        Ok(Self { width: read("maxWidth")?, height: read("maxHeight")? })
    }

    /// The largest size within the limits; `None` without a limit.
    fn fit(self, (width, height): (u32, u32)) -> Option<(u32, u32)> {
        match (self.width, self.height) {
            (None, None) => None,
            (Some(most), None) => Some((most, most * height / width)),
            (None, Some(most)) => Some((most * width / height, most)),
            (Some(w), Some(h)) if w * height < h * width => Some((w, w * height / width)),
            (Some(_), Some(h)) => Some((h * width / height, h)),
        }
    }
}

/// The platform reports the size only if a limit was sent and it knows the shape of the video.
pub(super) fn player(video: &Video, limits: Limits) -> Value {
    let size = match video.frame {
        Frame::Wide => limits.fit((16, 9)),
        Frame::Vertical => limits.fit((9, 16)),
        Frame::Square => limits.fit((1, 1)),
        Frame::Unknown => None,
    };
    let (width, height) = size.unwrap_or((480, 270));
    let html = format!(
        "<iframe width=\"{width}\" height=\"{height}\" src=\"//www.youtube.com/embed/{}\" frameborder=\"0\" allow=\"accelerometer; autoplay; clipboard-write; encrypted-media; gyroscope; picture-in-picture; web-share\" referrerpolicy=\"strict-origin-when-cross-origin\" allowfullscreen></iframe>",
        video.id
    );
    let mut player = json!({"embedHtml": html});
    if size.is_some() {
        player["embedWidth"] = width.to_string().into();
        player["embedHeight"] = height.to_string().into();
    }
    player
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn player_fits_within_its_limits() {
        let fit =
            |query: &str, shape| Limits::read(&Query::parse(query)).map(|l| l.fit(shape)).ok();
        assert_eq!(fit("", (16, 9)), Some(None));
        assert_eq!(fit("maxHeight=720", (16, 9)), Some(Some((1280, 720))));
        assert_eq!(fit("maxHeight=1600", (9, 16)), Some(Some((900, 1600))));
        assert_eq!(fit("maxWidth=90", (9, 16)), Some(Some((90, 160))));
        assert_eq!(fit("maxWidth=160&maxHeight=8192", (16, 9)), Some(Some((160, 90))));
        assert_eq!(fit("maxWidth=8192&maxHeight=8192", (9, 16)), Some(Some((4608, 8192))));
        for wrong in ["maxWidth=71", "maxHeight=8193", "maxHeight=tall"] {
            assert_eq!(fit(wrong, (16, 9)), None, "{wrong}");
        }
    }
}
