//! `vidra health`.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use crate::process::{Service, vidra};

/// The exit code and standard error of a check of `address`.
fn check(vidra: &mut Command, address: &str) -> (Option<i32>, String) {
    let output = vidra.arg("health").env("VIDRA_LISTEN", address).output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn running_service_is_healthy_and_stopped_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    let address = service.address.to_string();
    assert_eq!(check(&mut vidra(folder.path()), &address), (Some(0), String::new()));
    // As in a container: the service listens on all addresses and the check uses one of them.
    let everywhere = format!("0.0.0.0:{}", service.address.port());
    assert_eq!(check(&mut vidra(folder.path()), &everywhere), (Some(0), String::new()));
    // The check uses the operator's address if there is one, because the public one may require TLS.
    let mut both = vidra(folder.path());
    both.env("VIDRA_ADMIN_LISTEN", &address);
    assert_eq!(check(&mut both, "127.0.0.1:1"), (Some(0), String::new()));
    service.kill();
    let (code, why) = check(&mut vidra(folder.path()), &address);
    assert!(code == Some(1) && why.contains(&address), "{why}");
}

#[test]
fn any_response_but_200_is_unhealthy() {
    let folder = tempfile::tempdir().unwrap();
    let table = [
        ("HTTP/1.1 503 Service Unavailable\r\n\r\n", "answered 503"),
        ("HTTP/1.1 404 Not Found\r\n\r\n", "answered 404"),
        ("200 OK\r\n", "not HTTP"),
        ("", "not HTTP"),
    ];
    for (answer, expected) in table {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let count = stream.read(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&request[..count]).into_owned()
        });
        let (code, why) = check(&mut vidra(folder.path()), &address);
        assert!(code == Some(1) && why.contains(expected), "{answer}: {why}");
        let received = server.join().unwrap();
        assert!(received.starts_with("GET /readyz HTTP/1.1\r\n"), "{received}");
        assert!(received.contains(&format!("host: {address}\r\n")), "{received}");
    }
}
