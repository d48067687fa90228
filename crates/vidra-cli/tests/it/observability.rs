//! Observability of a running service: metrics, request ids, the operator's address.

use crate::process::{Service, send, vidra};

/// The value of the first sample with this prefix.
fn value(page: &str, sample: &str) -> f64 {
    let line = page.lines().find(|line| line.starts_with(sample));
    let line = line.unwrap_or_else(|| panic!("{sample} in {page}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn metrics_are_public_without_an_admin_address() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    assert_eq!(service.get("/api/video/quirkNoLike").0, 200);
    let (status, page) = service.get("/metrics");
    assert_eq!((status, service.admin), (200, None));
    let requests = "vidra_requests_total{route=\"/api/video/{id}\",method=\"GET\",status=\"200\"}";
    assert_eq!(value(&page, requests), 1.0);
    // The connection of the request before may just be closing.
    assert!((1.0..=2.0).contains(&value(&page, "vidra_connections_open")), "{page}");
}

#[test]
fn admin_address_serves_metrics_but_not_the_api() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = vidra(folder.path());
    command.env("VIDRA_DEMO", "1").env("VIDRA_ADMIN_LISTEN", "127.0.0.1:0");
    let service = Service::start(&mut command);
    let admin = service.admin.expect("the log names the address");
    let get_admin = |path| send(admin, "GET", path, "");
    assert_eq!(service.get("/api/video/quirkNoLike").0, 200);
    assert_eq!(service.get("/metrics").0, 404);
    let (status, page) = get_admin("/metrics");
    assert_eq!(status, 200);
    let requests = "vidra_requests_total{route=\"/api/video/{id}\",method=\"GET\",status=\"200\"}";
    assert_eq!(value(&page, requests), 1.0);
    for path in ["/healthz", "/readyz"] {
        assert_eq!((get_admin(path).0, service.get(path).0), (200, 200), "{path}");
    }
    assert_eq!(get_admin("/api/video/quirkNoLike").0, 404);
    assert_eq!(service.stop().0, Some(0));
}

#[test]
fn failed_request_is_logged_with_its_error() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    assert_eq!(service.get("/api/transcript/plBotWall__").0, 502);
    assert_eq!(service.get("/api/video/quirkUnknwn").0, 404);
    let (_, log) = service.stop();
    let failed: Vec<&str> =
        log.lines().filter(|line| line.contains("\"level\":\"WARN\"")).collect();
    let of_request: Vec<_> = failed.iter().filter(|line| line.contains("request failed")).collect();
    assert_eq!(of_request.len(), 1, "404 is not logged as a failure: {failed:?}");
    for part in ["\"request_id\":\"", "\"status\":502", "\"error\":\"YouTube blocks requests"] {
        assert!(of_request[0].contains(part), "{part}: {}", of_request[0]);
    }
}

#[test]
fn requests_are_logged_with_their_id() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    // A miss, a hit, and a rejected request.
    for path in ["/api/video/quirkNoLike", "/api/video/quirkNoLike", "/api/video/nope"] {
        send(service.address, "GET", path, "x-request-id: from-outside\r\n");
    }
    send(service.address, "GET", "/healthz", "x-request-id: two words\r\n");
    let (_, log) = service.stop();
    let lines = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert_eq!(lines("\"request_id\":\"from-outside\",\"method\":\"GET\""), 3, "{log}");
    assert!(lines("two words") == 0 && lines("\"request_id\":\"") == 4, "{log}");
}
