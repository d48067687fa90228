//! The name that a misspelt one was probably meant to be.

/// The nearest name, if it is near enough that a reader takes it for a misspelling: one wrong letter in four, or two
/// names of which one begins with the other.
pub(crate) fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.trim_start_matches('-').to_lowercase().replace('_', "-");
    let most = given.chars().count().div_ceil(4);
    let distance = |name: &str| {
        let is_start = given.len() >= 3 && (name.starts_with(&given) || given.starts_with(name));
        match strsim::osa_distance(&given, name) {
            distance if distance <= most => Some(distance),
            // After all misspellings, and the shortest first.
            _ if is_start => Some(most + 1 + name.len().abs_diff(given.len())),
            _ => None,
        }
    };
    let near = names.filter_map(|name| Some((distance(name)?, name)));
    let nearest = near.min_by_key(|(distance, name)| (*distance, name.len().abs_diff(given.len())));
    nearest.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_14_only_misspellings_have_a_nearest_name() {
        let names =
            ["regions", "video", "videos", "transcript", "transcripts", "json", "serve", "keys"];
        let table = [
            ("version", None),
            ("vidoe", Some("video")),
            ("vidio", Some("video")),
            ("transcripst", Some("transcripts")),
            ("trans", Some("transcript")),
            ("--jsn", Some("json")),
            ("sreve", Some("serve")),
            ("region", Some("regions")),
            ("key", Some("keys")),
            ("search", None),
            ("x", None),
            ("", None),
        ];
        for (given, name) in table {
            assert_eq!(nearest(given, names.into_iter()), name, "{given}");
        }
    }
}
