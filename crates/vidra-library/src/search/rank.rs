//! The order of moments.

/// The rows of a clause: passages in ascending order, each with the number of times that its words were said there.
pub(crate) type Postings = Vec<(i64, u32)>;

/// How soon another occurrence in the same passage adds less (k1 of BM25). Passages have nearly the same length, so that
/// the length needs no weight.
const SATURATION: f64 = 1.2;

/// The weight of a title, or of a chapter, that has all words of the query.
const TITLE_BOOST: f64 = 0.5;
const CHAPTER_BOOST: f64 = 0.3;

/// A passage with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scored {
    pub(crate) row: i64,
    /// The position of its video in the order of publication.
    pub(crate) position: u32,
    /// How many clauses match.
    pub(crate) clauses: u32,
    pub(crate) score: f64,
}

/// The clauses of a query in one ascending list of passages. `passages` is the number of all passages.
pub(crate) fn merge(clauses: &[Postings], passages: u64) -> Vec<Scored> {
    let mut all: Vec<Scored> = vec![];
    for postings in clauses {
        let weight = weight(postings.len() as f64, passages as f64);
        all.extend(postings.iter().map(|(row, count)| {
            let count = f64::from(*count);
            let score = weight * count * (SATURATION + 1.0) / (count + SATURATION);
            Scored { row: *row, position: 0, clauses: 1, score }
        }));
    }
    if clauses.len() > 1 {
        all.sort_by_key(|it| it.row);
        all.dedup_by(|next, first| {
            let is_same = next.row == first.row;
            if is_same {
                first.clauses += next.clauses;
                first.score += next.score;
            }
            is_same
        });
    }
    all
}

/// The weight of a clause that matches `found` of `all` passages (the inverse document frequency of BM25).
fn weight(found: f64, all: f64) -> f64 {
    (1.0 + (all.max(found) - found + 0.5) / (found + 0.5)).ln()
}

impl Scored {
    /// Raises the score by the parts of the clauses that the title and the chapter have.
    pub(crate) fn boost(&mut self, title: f64, chapter: f64) {
        self.score *= 1.0 + TITLE_BOOST * title + CHAPTER_BOOST * chapter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_and_repeated_words_score_more() {
        let merged = merge(&[vec![(1, 1), (2, 3)], vec![(2, 1), (5, 1), (6, 1), (7, 1)]], 100);
        let score = |row| merged.iter().find(|it| it.row == row).unwrap();
        assert_eq!(score(2).clauses, 2);
        assert!(score(2).score > score(1).score && score(1).score > score(5).score);
        assert!(merged.is_sorted_by_key(|it| it.row));
    }

    #[test]
    fn titles_count_more_than_chapters() {
        let boosted = |title, chapter| {
            let mut it = Scored { row: 1, position: 0, clauses: 1, score: 1.0 };
            it.boost(title, chapter);
            it.score
        };
        assert!(boosted(1.0, 0.0) > boosted(0.0, 1.0) && boosted(0.0, 1.0) > boosted(0.0, 0.0));
    }
}
