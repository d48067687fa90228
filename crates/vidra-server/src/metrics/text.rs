//! The text that Prometheus reads, version 0.0.4.

use std::fmt::{Display, Write};

use super::histogram::Cumulated;

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a family of samples is.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// It only grows.
    Counter,
    /// It is what it is now.
    Gauge,
    /// Times by bucket.
    Histogram,
}

/// A page of metrics, family by family.
#[derive(Default)]
pub(crate) struct Page(String);

/// The samples of one name.
pub(crate) struct Family<'a> {
    page: &'a mut String,
    name: &'static str,
}

type Label<'a> = (&'a str, &'a str);

impl Page {
    pub(crate) fn family(
        &mut self,
        name: &'static str,
        kind: Kind,
        help: &'static str,
    ) -> Family<'_> {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family { page: &mut self.0, name }
    }

    /// A family of one sample without labels.
    pub(crate) fn one(
        &mut self,
        name: &'static str,
        kind: Kind,
        help: &'static str,
        value: impl Display,
    ) {
        self.family(name, kind, help).sample(&[], value);
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

impl Family<'_> {
    pub(crate) fn sample(&mut self, labels: &[Label<'_>], value: impl Display) {
        self.line("", labels, value);
    }

    pub(crate) fn histogram(&mut self, labels: &[Label<'_>], times: &Cumulated) {
        for (bound, count) in &times.up_to {
            let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
            self.line("_bucket", &[labels, &[("le", &bound)]].concat(), count);
        }
        self.line("_sum", labels, times.seconds);
        self.line("_count", labels, times.count());
    }

    fn line(&mut self, suffix: &str, labels: &[Label<'_>], value: impl Display) {
        let _ = write!(self.page, "{}{suffix}", self.name);
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

    #[test]
    fn names_labels_and_values_are_written_as_prometheus_reads_them() {
        let mut page = Page::default();
        page.one("up", Kind::Gauge, "Whether.", 1);
        let mut family = page.family("asked_total", Kind::Counter, "How often.");
        family.sample(&[("a", "x"), ("b", "\"\\\n")], 2.5);
        let expected = "# HELP up Whether.\n# TYPE up gauge\nup 1\n\
            # HELP asked_total How often.\n# TYPE asked_total counter\n\
            asked_total{a=\"x\",b=\"\\\"\\\\\\n\"} 2.5\n";
        assert_eq!(page.into_text(), expected);
    }
}
