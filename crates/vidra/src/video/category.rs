//! Categories of videos.

use serde::{Deserialize, Serialize};

/// The category of a video.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Category {
    /// YouTube's id of the category.
    #[cfg_attr(feature = "openapi", schema(example = "10"))]
    pub id: String,
    /// The English title. Absent if the id is not one of YouTube's known categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "Music"))]
    pub title: Option<String>,
}

impl Category {
    /// A category by its id, with the English title from a table. It sends no request.
    ///
    /// ```
    /// use vidra::Category;
    /// assert_eq!(Category::from_id("10").title.as_deref(), Some("Music"));
    /// assert_eq!(Category::from_id("999").title, None);
    /// ```
    pub fn from_id(id: &str) -> Self {
        let known = TITLES.iter().find(|(known, _)| *known == id);
        Self { id: id.to_owned(), title: known.map(|(_, title)| (*title).to_owned()) }
    }
}

/// Every category of YouTube with its title in English. The ids between them were never used.
const TITLES: [(&str, &str); 32] = [
    ("1", "Film & Animation"),
    ("2", "Autos & Vehicles"),
    ("10", "Music"),
    ("15", "Pets & Animals"),
    ("17", "Sports"),
    ("18", "Short Movies"),
    ("19", "Travel & Events"),
    ("20", "Gaming"),
    ("21", "Videoblogging"),
    ("22", "People & Blogs"),
    ("23", "Comedy"),
    ("24", "Entertainment"),
    ("25", "News & Politics"),
    ("26", "Howto & Style"),
    ("27", "Education"),
    ("28", "Science & Technology"),
    ("29", "Nonprofits & Activism"),
    ("30", "Movies"),
    ("31", "Anime/Animation"),
    ("32", "Action/Adventure"),
    ("33", "Classics"),
    ("34", "Comedy"),
    ("35", "Documentary"),
    ("36", "Drama"),
    ("37", "Family"),
    ("38", "Foreign"),
    ("39", "Horror"),
    ("40", "Sci-Fi/Fantasy"),
    ("41", "Thriller"),
    ("42", "Shorts"),
    ("43", "Shows"),
    ("44", "Trailers"),
];
