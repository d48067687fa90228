//! The decoded query string of a request.

use percent_encoding::percent_decode_str;

/// Decoded name and value pairs in the order of the query string.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        let decode =
            |s: &str| percent_decode_str(&s.replace('+', " ")).decode_utf8_lossy().into_owned();
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(n, v)| (decode(n), decode(v)))
                .collect(),
        )
    }

    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// The first value of that name; an empty value counts as absent, as on the platform.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, v)| n == name && !v.is_empty()).map(|(_, v)| v.as_str())
    }

    /// All values of a list parameter. It may be repeated, contain commas, or both.
    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        let values = self.0.iter().filter(|(n, _)| n == name).flat_map(|(_, v)| v.split(','));
        values.map(str::trim).filter(|v| !v.is_empty()).collect()
    }

    /// The query with one parameter replaced.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let others = self.0.iter().filter(|(n, _)| n != name).cloned();
        Self(others.chain([(name.to_owned(), value.to_owned())]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_accept_repeated_parameters_and_commas() {
        let query = Query::parse("id=a%2Cb&id=c,,d&q=two+words&part=&empty");
        assert_eq!(query.list("id"), ["a", "b", "c", "d"]);
        assert_eq!(query.get("q"), Some("two words"));
        assert_eq!(query.get("part"), None);
        assert_eq!(query.with("id", "x").list("id"), ["x"]);
    }

    #[test]
    fn page_tokens_keep_their_padding() {
        assert_eq!(Query::parse("pageToken=QUFB%3D%3D").get("pageToken"), Some("QUFB=="));
        assert_eq!(Query::parse("pageToken=QUFB==").get("pageToken"), Some("QUFB=="));
    }
}
