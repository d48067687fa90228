//! The simulator on loopback, a `vidra` in front of it, and the figures of `/proc` about that process.

use std::fs;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use vidra_sim::{Listening, Simulator};

use crate::process::{Service, vidra};

/// The platform, on a runtime that lives as long as the test, and the folder of the service.
pub(crate) struct Platform {
    pub(crate) sim: Simulator,
    pub(crate) runtime: tokio::runtime::Runtime,
    listening: Listening,
    folder: TempDir,
}

impl Platform {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let sim = Simulator::builder().limits(u64::MAX, u64::MAX).build();
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let listening = runtime.block_on(sim.listen(loopback)).unwrap();
        Self { sim, runtime, listening, folder: tempfile::tempdir().unwrap() }
    }

    /// `vidra` with additional settings.
    pub(crate) fn command(&self, settings: &[(&str, &str)]) -> Command {
        let mut command = vidra(self.folder.path());
        command
            .env("YOUTUBE_API_KEY", "demo-key")
            .env("VIDRA_DATA_API_URL", self.listening.data_api_url())
            .env("VIDRA_WEB_URL", self.listening.web_url())
            .env("VIDRA_QUOTA_LIMIT", "4000000000")
            .env("RUST_LOG", "info,vidra_server=warn")
            .envs(settings.iter().copied());
        command
    }

    pub(crate) fn service(&self, settings: &[(&str, &str)]) -> Running {
        Running(Service::start(&mut self.command(settings)))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The paths of the videos of a playlist, each once.
    pub(crate) fn videos(service: &Service, playlist: &str) -> Vec<String> {
        let (status, body) = service.get(&format!("/api/playlist/{playlist}/ids"));
        assert_eq!(status, 200, "{body}");
        let (_, ids) = body.split_once("\"videoIds\":[").unwrap();
        let ids = ids.split(']').next().unwrap().split(',');
        let mut paths: Vec<_> =
            ids.map(|id| format!("/api/video/{}", id.trim_matches('"'))).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}

/// A service, with the figures of `/proc` about its process.
pub(crate) struct Running(pub(crate) Service);

impl Deref for Running {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.0
    }
}

impl Running {
    /// Waits until the process ends and returns its exit code.
    pub(crate) fn ended(mut self) -> Option<i32> {
        self.0.child.wait().unwrap().code()
    }

    fn proc_file(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap()
    }

    /// Resident memory in KB.
    pub(crate) fn memory(&self) -> u64 {
        let status = self.proc_file("status");
        let (_, rest) = status.split_once("VmRSS:").unwrap();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// The CPU time used so far, in hundredths of a second.
    pub(crate) fn cpu(&self) -> u64 {
        let stat = self.proc_file("stat");
        // The name in parentheses may hold anything.
        let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
        fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    }

    /// The number of open files.
    pub(crate) fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// The value of a metric; 0 if the page does not list it. `sample` includes the labels as written.
    pub(crate) fn metric(&self, sample: &str) -> f64 {
        let page = self.get("/metrics").1;
        let line = page.lines().find_map(|line| line.strip_prefix(sample));
        line.map_or(0.0, |value| value.trim().parse().unwrap())
    }
}
