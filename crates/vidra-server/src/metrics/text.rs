//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write};

use super::table::Metric;
use vidra::CumulativeHistogram;

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text of all metric families.
#[derive(Default)]
pub(crate) struct Page(String);

/// The samples of one metric.
pub(crate) struct Family<'a> {
    page: &'a mut String,
    metric: &'static Metric,
}

type Label<'a> = (&'a str, &'a str);

impl Page {
    pub(crate) fn family(&mut self, metric: &'static Metric) -> Family<'_> {
        let Metric { name, kind, help, .. } = metric;
        let kind = kind.name();
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family { page: &mut self.0, metric }
    }

    /// Writes a family of one sample without labels.
    pub(crate) fn one(&mut self, metric: &'static Metric, value: impl Display) {
        self.family(metric).sample(&[], value);
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

impl Family<'_> {
    pub(crate) fn sample(&mut self, labels: &[Label<'_>], value: impl Display) {
        self.check(labels);
        self.line("", labels, value);
    }

    pub(crate) fn histogram(&mut self, labels: &[Label<'_>], times: &CumulativeHistogram) {
        self.check(labels);
        for (bound, count) in &times.buckets {
            let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
            self.line("_bucket", &[labels, &[("le", &bound)]].concat(), count);
        }
        self.line("_sum", labels, times.seconds);
        self.line("_count", labels, times.count());
    }

    /// A sample has the labels of the table, which is what the documentation lists.
    fn check(&self, labels: &[Label<'_>]) {
        debug_assert!(
            labels.iter().map(|(name, _)| *name).eq(self.metric.labels.iter().copied()),
            "{} has other labels",
            self.metric.name
        );
    }

    fn line(&mut self, suffix: &str, labels: &[Label<'_>], value: impl Display) {
        let _ = write!(self.page, "{}{suffix}", self.metric.name);
        for (at, (name, value)) in labels.iter().enumerate() {
            let _ = write!(self.page, "{}{name}=\"", if at == 0 { '{' } else { ',' });
            for c in value.chars() {
                match c {
                    '\\' => self.page.push_str("\\\\"),
                    '"' => self.page.push_str("\\\""),
                    '\n' => self.page.push_str("\\n"),
                    other => self.page.push(other),
                }
            }
            self.page.push('"');
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.page, "{close} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::table::Kind;

    static UP: Metric =
        Metric { name: "up", kind: Kind::Gauge, labels: &[], help: "Whether it runs." };
    static CALLS: Metric = Metric {
        name: "calls_total",
        kind: Kind::Counter,
        labels: &["a", "b"],
        help: "Number of calls.",
    };

    #[test]
    fn names_labels_and_values_are_written_as_prometheus_reads_them() {
        let mut page = Page::default();
        page.one(&UP, 1);
        page.family(&CALLS).sample(&[("a", "x"), ("b", "\"\\\n")], 2.5);
        let expected = "# HELP up Whether it runs.\n# TYPE up gauge\nup 1\n\
            # HELP calls_total Number of calls.\n# TYPE calls_total counter\n\
            calls_total{a=\"x\",b=\"\\\"\\\\\\n\"} 2.5\n";
        assert_eq!(page.into_text(), expected);
    }
}
