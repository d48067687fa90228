//! Traces, as a collector receives them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

use crate::process::{Service, send, vidra};

/// A minimal collector. Posted requests arrive in the channel.
pub(crate) fn collector() -> (SocketAddr, mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, posted) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = sender.send(received(stream.unwrap()));
        }
    });
    (address, posted)
}

/// One request: its first line and its body.
fn received(mut stream: TcpStream) -> (String, Vec<u8>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    (first, body)
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == name)?;
    Some(match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => panic!("{other:?}"),
    })
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn requests_and_upstream_calls_are_spans_of_the_callers_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (address, posted) = collector();
    let mut command = vidra(folder.path());
    command.env("VIDRA_DEMO", "1").env("VIDRA_OTLP_ENDPOINT", format!("http://{address}"));
    let service = Service::start(&mut command);
    let headers = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\nx-request-id: mine\r\n");
    // A miss, then a hit.
    for _ in 0..2 {
        assert_eq!(send(service.address, "GET", "/api/video/quirkNoLike", &headers).0, 200);
    }
    assert_eq!(service.get("/api/transcript/plBotWall__").0, 502);
    let (code, log) = service.stop();
    assert_eq!(code, Some(0), "{log}");

    let mut spans: Vec<Span> = vec![];
    while let Ok((first, body)) = posted.try_recv() {
        assert!(first.starts_with("POST /v1/traces "), "{first}");
        let text = String::from_utf8_lossy(&body).into_owned();
        // Neither the key nor ids of callers' requests may appear in a trace.
        for secret in ["demo-key", "quirkNoLike", "plBotWall__"] {
            assert!(!text.contains(secret), "{secret}");
        }
        let request = ExportTraceServiceRequest::decode(&*body).unwrap();
        let scopes = request.resource_spans.into_iter().flat_map(|it| it.scope_spans);
        spans.extend(scopes.flat_map(|scope| scope.spans));
    }
    let named = |name: &str| spans.iter().filter(|it| it.name == name).collect::<Vec<_>>();
    let videos = named("/api/video/{id}");
    assert_eq!(videos.len(), 2, "{spans:?}");
    for span in &videos {
        assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.into(), PARENT.into()));
        assert_eq!(attribute(span, "request_id").as_deref(), Some("mine"));
        assert_eq!(attribute(span, "http.response.status_code").as_deref(), Some("200"));
    }
    let calls = named("videos");
    assert_eq!(calls.len(), 1, "{spans:?}");
    assert_eq!(attribute(calls[0], "outcome").as_deref(), Some("200"));
    assert!(videos.iter().any(|span| span.span_id == calls[0].parent_span_id), "{spans:?}");
    assert_eq!(hex(&calls[0].trace_id), TRACE);
    let transcripts = named("/api/transcript/{id}");
    assert_eq!(transcripts.len(), 1);
    assert_eq!(transcripts[0].status.as_ref().map(|status| status.code), Some(2), "an error");
    assert_eq!(named("player").len(), 1, "{spans:?}");
}

#[test]
fn missing_or_dead_trace_endpoint_does_not_affect_requests() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for endpoint in [None, Some(format!("http://{nobody}"))] {
        let mut command = vidra(folder.path());
        command.env("VIDRA_DEMO", "1");
        command.envs(endpoint.iter().map(|url| ("OTEL_EXPORTER_OTLP_ENDPOINT", url)));
        let service = Service::start(&mut command);
        assert_eq!(service.get("/api/video/quirkNoLike").0, 200);
        let (code, log) = service.stop();
        assert_eq!(code, Some(0), "{log}");
        let lines = log.lines().filter(|line| line.contains("\"request\"")).count();
        assert_eq!(lines, 1, "the log does not change: {log}");
    }
}
