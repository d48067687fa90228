//! A strict parser of the Prometheus text format.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::app::TestApp;

pub(crate) type Labels = BTreeMap<String, String>;

/// A parsed page: names, labels and values.
pub(crate) struct Scrape {
    pub(crate) samples: Vec<(String, Labels, f64)>,
}

pub(crate) async fn scrape(app: &TestApp) -> Scrape {
    let got = app.get("/metrics").await;
    assert_eq!(got.status, 200);
    assert_eq!(got.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert_eq!(got.header("cache-control"), Some("no-store"));
    Scrape::parse(&got.text)
}

impl Scrape {
    /// Panics at anything that Prometheus rejects or that breaks its naming rules.
    pub(crate) fn parse(text: &str) -> Self {
        let (mut samples, mut helped, mut kinds) = (vec![], HashSet::new(), HashMap::new());
        let mut current = String::new();
        assert!(text.ends_with('\n'));
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect(line);
                assert!(is_name(name) && !help.is_empty() && helped.insert(name), "{line}");
                current = name.to_owned();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect(line);
                assert_eq!(name, current, "the type follows the help");
                assert!(matches!(kind, "counter" | "gauge" | "histogram"), "{line}");
                assert!(kinds.insert(name, kind).is_none(), "{line}");
                assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            } else {
                let (name, labels, value) = sample(line);
                let kind = kinds.get(current.as_str()).expect("a type before samples");
                let suffix = name.strip_prefix(&current).expect("families are not mixed");
                let is_part = matches!(suffix, "_bucket" | "_sum" | "_count");
                assert!(if *kind == "histogram" { is_part } else { suffix.is_empty() }, "{line}");
                assert!(*kind == "gauge" || value >= 0.0, "{line}");
                samples.push((name, labels, value));
            }
        }
        let all: HashSet<_> = samples.iter().map(|(name, labels, _)| (name, labels)).collect();
        assert_eq!(all.len(), samples.len(), "each series appears once");
        let histograms = kinds.iter().filter(|(_, kind)| **kind == "histogram");
        for (name, _) in histograms {
            check_histogram(name, &samples);
        }
        Self { samples }
    }

    /// The value of a series; 0 if it is absent.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let labels: Labels =
            labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let found = self.samples.iter().find(|(known, has, _)| known == name && *has == labels);
        found.map_or(0.0, |(_, _, value)| *value)
    }

    /// The sum over all labels.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        self.samples.iter().filter(|(known, ..)| known == name).map(|(_, _, value)| value).sum()
    }
}

fn check_histogram(name: &str, samples: &[(String, Labels, f64)]) {
    let series = |suffix: &str| {
        let wanted = format!("{name}{suffix}");
        samples.iter().filter(move |(name, ..)| *name == wanted)
    };
    for (_, labels, count) in series("_count") {
        let mut buckets: Vec<(f64, f64)> = vec![];
        for (_, has, value) in series("_bucket") {
            let mut rest = has.clone();
            let bound = rest.remove("le").expect("a bucket has a bound");
            if rest == *labels {
                buckets.push((bound.parse().unwrap(), *value));
            }
        }
        let grows = |pair: &[(f64, f64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
        assert!(buckets.windows(2).all(grows), "{name} {labels:?}: {buckets:?}");
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, *count)), "{name} {labels:?}");
        assert_eq!(series("_sum").filter(|(_, has, _)| has == labels).count(), 1);
    }
}

fn is_name(name: &str) -> bool {
    let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_good)
}

/// `name{label="value",…} value`.
fn sample(line: &str) -> (String, Labels, f64) {
    let end = line.find(['{', ' ']).expect(line);
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = Labels::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").expect(line);
            let (value, after) = quoted(after);
            assert!(is_name(label) && labels.insert(label.to_owned(), value).is_none(), "{line}");
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None => {
                    rest = after.strip_prefix('}').expect(line);
                    break;
                }
            }
        }
    }
    let value = rest.strip_prefix(' ').expect(line);
    assert!(!value.contains(' '), "{line}");
    (name.to_owned(), labels, value.parse().expect(line))
}

/// The value of a label up to its closing quote, and the rest of the text.
fn quoted(text: &str) -> (String, &str) {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    loop {
        match chars.next().expect("a closing quote") {
            (at, '"') => return (value, &text[at + 1..]),
            (_, '\\') => value.push(match chars.next().expect("something escaped").1 {
                'n' => '\n',
                known @ ('\\' | '"') => known,
                other => panic!("\\{other}"),
            }),
            (_, other) => value.push(other),
        }
    }
}
