//! `vidra collection` as a process, over the simulator.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use serde_json::Value;

use crate::jobs::World;
use crate::process::Service;

#[test]
fn a_collection_in_a_local_file() {
    let world = World::new(Duration::ZERO);
    let (code, out, notice) =
        world.run(&["collection", "add", "news", "@crowd007", "txManualAsr", "--limit", "2"]);
    assert_eq!(code, Some(0), "{notice}");
    assert!(out.starts_with("news\nactive · every 6h · next sync "), "{out}");
    assert!(notice.contains("vidra collection sync news"), "{notice}");
    let (code, out, notice) = world.run(&["collection", "sync", "news"]);
    assert_eq!(code, Some(0), "{notice}");
    assert!(out.contains("sync of news") && out.contains("completed"), "{out}");
    let (_, out, _) = world.run(&["collection", "show", "news"]);
    assert!(out.contains("3 of 3 videos have a transcript"), "{out}");
    assert!(out.contains("@crowd007") && out.contains("Crowd 7"), "{out}");
    assert!(out.contains("last sync ") && out.contains("completed"), "{out}");
    let videos = world.json(&["collection", "show", "news", "--videos", "--all", "--json"]);
    assert_eq!(videos["items"].as_array().unwrap().len(), 3, "{videos}");
    let csv = world.run(&[
        "collection",
        "show",
        "news",
        "--videos",
        "--csv",
        "--fields",
        "videoId,state",
    ]);
    assert!(csv.1.starts_with("videoId,state\r\ntxManualAsr,transcribed\r\n"), "{}", csv.1);
    let (_, out, _) = world.run(&["collection", "list"]);
    assert!(out.contains("news") && out.contains("active"), "{out}");
    let paused = world.json(&["collection", "pause", "news", "--json"]);
    assert_eq!(paused["state"], "paused");
    assert_eq!(world.json(&["collection", "resume", "news", "--json"])["state"], "active");
    assert_eq!(world.run(&["collection", "remove", "news"]).1, "deleted news\n");
    let (code, _, error) = world.run(&["collection", "show", "news"]);
    assert_eq!(code, Some(1), "{error}");
    let (code, _, error) = world.run(&["collection", "add", "a b", "@crowd007"]);
    assert_eq!(code, Some(2), "{error}");
    let (code, _, error) = world.run(&["collection", "add", "news", "@crowd007", "--every", "1s"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("every: must be a time from 15m to 30d"), "{error}");
    // A local file has no webhooks.
    let (code, _, error) =
        world.run(&["collection", "add", "news", "@crowd007", "--webhook", "ops"]);
    assert_eq!(code, Some(2), "{error}");
}

/// A service syncs a collection by itself, and its webhook gets a signed message.
#[test]
fn a_service_keeps_a_collection_up_to_date_and_reports_it() {
    let world = World::new(Duration::ZERO);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let secrets = world.home.path().join("secrets");
    std::fs::write(&secrets, "ops whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
    let url = format!("ops=http://{}/hook", listener.local_addr().unwrap());
    let mut command = world.command(&[]);
    command.env("VIDRA_WEBHOOK", url).env("VIDRA_WEBHOOK_SECRETS_FILE", secrets);
    let service = Service::start(command.env("VIDRA_WEBHOOK_PRIVATE", "ops"));
    let url = format!("http://{}", service.address);
    let server = ["--server", &url];
    let run = |args: &[&str]| world.run(&[args, &server].concat());
    let add = ["collection", "add", "news", "@crowd007", "--limit", "2", "--webhook", "ops"];
    let (code, _, error) = run(&add);
    assert_eq!(code, Some(0), "{error}");
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = vec![];
    let mut buffer = [0; 4096];
    while !request.ends_with(b"}}}") {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&request));
        request.extend_from_slice(&buffer[..count]);
    }
    stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").unwrap();
    let request = String::from_utf8(request).unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("webhook-id: msg_") && head.contains("webhook-signature: v1,"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (&body["type"], &body["data"]["newVideos"]),
        (&"collection.updated".into(), &2.into())
    );
    let (_, shown, _) = run(&["collection", "show", "news"]);
    assert!(shown.contains("2 of 2 videos"), "{shown}");
    let (code, out, error) = run(&["collection", "sync", "news"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(out.contains("completed"), "{out}");
    let (code, out, error) = run(&["collection", "sync", "news", "--detach"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(out.contains("sync of news"), "{out}");
}
