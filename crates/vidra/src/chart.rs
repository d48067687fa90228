//! Charts: which one to list.

use std::fmt;

/// The chart to list. Without a region it is the chart of the United States, and without a category that of all
/// categories.
///
/// ```
/// use vidra::ChartQuery;
/// let music = ChartQuery::default().with_region("DE".to_owned()).with_category("10".to_owned());
/// assert_eq!(music.to_string(), "region DE, category 10");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChartQuery {
    /// The two-letter code of the region.
    pub region: Option<String>,
    /// The id of the category.
    pub category: Option<String>,
}

impl ChartQuery {
    /// Sets the region.
    pub fn with_region(self, region: impl Into<Option<String>>) -> Self {
        Self { region: region.into(), ..self }
    }

    /// Sets the category.
    pub fn with_category(self, category: impl Into<Option<String>>) -> Self {
        Self { category: category.into(), ..self }
    }
}

/// For messages.
impl fmt::Display for ChartQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "region {}", self.region.as_deref().unwrap_or("US"))?;
        match &self.category {
            Some(category) => write!(f, ", category {category}"),
            None => Ok(()),
        }
    }
}
