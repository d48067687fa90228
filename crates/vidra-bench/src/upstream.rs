//! The simulator as the platform behind the services under measurement.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Request;
use serde_json::Value;
use tokio::runtime::Runtime;
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::service::{Service, Setup};

/// The simulator, listening.
#[derive(Clone, Copy)]
pub(crate) struct Upstream<'a> {
    pub(crate) sim: &'a Simulator,
    pub(crate) runtime: &'a Runtime,
    pub(crate) address: SocketAddr,
    /// The URLs of the Data API and of the public pages.
    pub(crate) urls: (&'a str, &'a str),
}

/// Text that extends the simulator's short descriptions to the usual length on the platform.
const MORE_DESCRIPTION: &str = "All of it was made by hand, from the first note to the last. ";
const TIMES: usize = 18;

impl Upstream<'_> {
    pub(crate) fn service(&self, setup: &Setup) -> io::Result<Service> {
        Service::start_as(self.urls.0, self.urls.1, setup)
    }

    /// The path and query of the upstream call for a video, up to the `=` before its id.
    pub(crate) fn video_call(&self, service: &Service) -> io::Result<String> {
        self.sim.reset_record();
        service.get("/api/video/quirkDurDay")?;
        let record = self.sim.record();
        let call = record.requests_to(Endpoint::Videos).next();
        let call = call.ok_or_else(|| io::Error::other("the service did not request a video"))?;
        let rest = call.query.iter().filter(|(name, _)| name != "id");
        let rest: Vec<String> = rest.map(|(name, value)| format!("{name}={value}")).collect();
        Ok(format!("{}?{}&id=", call.path, rest.join("&")))
    }

    /// Extends the descriptions of the videos behind `path` to the usual length on the platform.
    pub(crate) fn enlarge_videos(&self, path: &str) -> io::Result<()> {
        let service = self.service(&Setup::default())?;
        let call = self.video_call(&service)?;
        self.sim.reset_record();
        service.get(path)?;
        for recorded in self.sim.record().requests_to(Endpoint::Videos) {
            let ids = recorded.parameter("id").unwrap_or_default();
            let request = Request::get(format!("{call}{ids}"))
                .header("x-goog-api-key", "demo-key")
                .body(Bytes::new())
                .map_err(io::Error::other)?;
            let answer = self.runtime.block_on(self.sim.call(request)).map_err(io::Error::other)?;
            let body = self.runtime.block_on(answer.into_body().collect());
            let mut body: Value =
                serde_json::from_slice(&body.map_err(io::Error::other)?.to_bytes())?;
            for video in body["items"].as_array_mut().into_iter().flatten() {
                let description = &mut video["snippet"]["description"];
                let more = MORE_DESCRIPTION.repeat(TIMES);
                *description = format!("{}\n{more}", description.as_str().unwrap_or("")).into();
            }
            let action = Action::Status { status: 200, body: body.to_string(), retry_after: None };
            let first = ids.split(',').next().unwrap_or_default();
            self.sim.inject(Fault::on(Endpoint::Videos, action).when("id", first));
        }
        Ok(())
    }
}
