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

impl Page {
    pub(crate) fn family(&mut self, metric: &'static Metric) -> Family<'_> {
        let Metric { name, kind, help, .. } = metric;
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family { page: &mut self.0, metric }
    }

    /// Writes a family of one sample without labels.
    pub(crate) fn one(&mut self, metric: &'static Metric, value: impl Display) {
        self.family(metric).sample(&[], value);
    }

    /// Writes a family with one label: a sample for each value of the label.
    pub(crate) fn each<L: AsRef<str>, V: Display>(
        &mut self,
        metric: &'static Metric,
        samples: impl IntoIterator<Item = (L, V)>,
    ) {
        let mut family = self.family(metric);
        for (label, value) in samples {
            family.sample(&[label.as_ref()], value);
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

impl Family<'_> {
    /// Writes a sample. `labels` has the values of the labels in the order of the table.
    pub(crate) fn sample(&mut self, labels: &[&str], value: impl Display) {
        self.line("", labels, None, value);
    }

    pub(crate) fn histogram(&mut self, labels: &[&str], times: &CumulativeHistogram) {
        for (bound, count) in &times.buckets {
            let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
            self.line("_bucket", labels, Some(("le", &bound)), count);
        }
        self.line("_sum", labels, None, times.seconds);
        self.line("_count", labels, None, times.count());
    }

    fn line(
        &mut self,
        suffix: &str,
        labels: &[&str],
        bound: Option<(&str, &str)>,
        value: impl Display,
    ) {
        let Metric { name, labels: names, .. } = self.metric;
        debug_assert_eq!(labels.len(), names.len(), "{name} has other labels");
        let labels = names.iter().copied().zip(labels.iter().copied()).chain(bound);
        let labels = labels.map(|(name, value)| {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("{name}=\"{value}\"")
        });
        let labels = labels.collect::<Vec<_>>().join(",");
        let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        let _ = writeln!(self.page, "{name}{suffix}{labels} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static UP: Metric = Metric { name: "up", kind: "gauge", labels: &[], help: "Whether it runs." };
    static CALLS: Metric = Metric {
        name: "calls_total",
        kind: "counter",
        labels: &["a", "b"],
        help: "Number of calls.",
    };

    #[test]
    fn samples_follow_the_prometheus_text_format() {
        let mut page = Page::default();
        page.one(&UP, 1);
        page.family(&CALLS).sample(&["x", "\"\\\n"], 2.5);
        let expected = "# HELP up Whether it runs.\n# TYPE up gauge\nup 1\n\
            # HELP calls_total Number of calls.\n# TYPE calls_total counter\n\
            calls_total{a=\"x\",b=\"\\\"\\\\\\n\"} 2.5\n";
        assert_eq!(page.into_text(), expected);
    }
}
