//! Cached answers at a steady rate, alone and beside other work of the service.

use std::io;

use crate::open::{self, Phase, PhaseResult};
use crate::overload::paths;
use crate::report::{Report, expect};
use crate::service::Service;

/// The rate of cached answers as a share of the most that the service answers.
const SHARE: f64 = 0.3;

const CONNECTIONS: usize = 32;

/// The length of a measurement, in seconds.
const SECONDS: f64 = 10.0;

/// Requests for cached answers of a service.
pub(crate) struct CachedLoad<'a> {
    service: &'a Service,
    known: Vec<String>,
    /// Requests a second.
    rate: f64,
}

impl<'a> CachedLoad<'a> {
    /// Fills the cache, and measures how many answers the service sends at most.
    pub(crate) fn new(service: &'a Service) -> io::Result<Self> {
        let known = paths(service, "PLsize50")?;
        for path in &known {
            service.get(path)?;
        }
        let mut load = Self { service, known, rate: 0.0 };
        // Both rates 0: each request is sent as soon as the last one is answered.
        load.rate = SHARE * load.answers()?.count(is_good) as f64 / SECONDS;
        Ok(load)
    }

    /// Requests cached answers for [`SECONDS`]. Returns their p99 in ms.
    pub(crate) fn p99(&self) -> io::Result<f64> {
        let result = self.answers()?;
        let failed = result.count(|kind| !is_good(kind)) + result.broken;
        // Fewer than would change the p99.
        let is_sent = result.unsent * 1_000 < result.count(is_good);
        expect(failed == 0 && is_sent, &format!("cached answers failed: {result:?}"))?;
        Ok(result.times("0 200").p99)
    }

    /// Compares the p99 alone with that beside other work, which `beside` does while it calls [`CachedLoad::p99`].
    pub(crate) fn compare(
        &self,
        runs: usize,
        work: &str,
        report: &mut Report,
        mut beside: impl FnMut(&Self) -> io::Result<f64>,
    ) -> io::Result<()> {
        let (mut ratios, mut alone, mut busy) = (vec![], vec![], vec![]);
        for _ in 0..runs {
            let (one, other) = (self.p99()?, beside(self)?);
            ratios.push(other / one);
            alone.push(one);
            busy.push(other);
        }
        let name = format!("cached answers at 30 % load ({:.0}/s) {work}", self.rate);
        report.row(&format!("{name}: p99 over that alone"), "≤ 2", &ratios, "");
        report.row("the same: p99", "", &busy, "ms");
        report.row("the same: p99 alone", "", &alone, "ms");
        Ok(())
    }

    fn answers(&self) -> io::Result<PhaseResult> {
        let phases = vec![Phase { rates: [self.rate, 0.0], seconds: SECONDS }];
        let address = self.service.address;
        let args = open::Args { address, connections: CONNECTIONS, phases };
        let mut results = open::run(&args, [&self.known, &self.known])?;
        results.pop().ok_or_else(|| io::Error::other("no result"))
    }
}

fn is_good(kind: &str) -> bool {
    kind.ends_with(" 200")
}
