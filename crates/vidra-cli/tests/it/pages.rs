//! Paged lists and formats, from a service that answers as the REST interface specifies.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver};

use crate::process::vidra;

/// A request: its target and its `Accept`.
type Seen = (String, String);

/// An answer: further headers, and the body.
type Answer = (&'static str, &'static str);

/// A service that sends these answers, one for each request. Returns its URL and the requests.
fn service(answers: Vec<Answer>) -> (String, Receiver<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for (headers, body) in answers {
            let (stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
            let target = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let accept = head.iter().find_map(|line| line.strip_prefix("accept: ")).unwrap();
            sender.send((target, accept.to_owned())).unwrap();
            let length = body.len();
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nx-quota-cost: 1\r\n");
            write!(&stream, "{head}connection: close\r\n{headers}\r\n{body}").unwrap();
        }
    });
    (url, requests)
}

/// Runs a command against the service. Returns its output, its errors and the targets with their `Accept`.
fn run(answers: Vec<Answer>, args: &[&str]) -> (String, String, Vec<Seen>) {
    let home = tempfile::tempdir().unwrap();
    let (url, requests) = service(answers);
    let mut command = vidra(home.path());
    let output = command.args(args).args(["--server", &url]).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), requests.try_iter().collect())
}

const PAGES: [Answer; 2] = [
    ("", r#"{"items":[{"id":"a"},{"id":"b"}],"nextCursor":"c+1"}"#),
    ("", r#"{"items":[{"id":"c"}]}"#),
];

#[test]
fn users_8_all_follows_the_pages() {
    let args = ["playlist", "PLa", "--all", "--fields", "id"];
    let (output, errors, requests) = run(PAGES.to_vec(), &args);
    assert_eq!(output, "{\"items\":[{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"c\"}]}\n", "{errors}");
    assert_eq!(errors, "vidra: cost: 2 units\n");
    let json = "application/json".to_owned();
    let second = "/api/playlist/PLa/videos?limit=500&cursor=c%2B1&fields=id".to_owned();
    assert_eq!(
        requests,
        [("/api/playlist/PLa/videos?limit=500&fields=id".to_owned(), json.clone()), (second, json)]
    );
    let (output, _, _) =
        run(PAGES.to_vec(), &["playlist", "PLa", "--all", "--ndjson", "--jq", ".id"]);
    assert_eq!(output, "a\nb\nc\n");
}

#[test]
fn users_8_a_limit_stops_and_names_the_cursor() {
    let args = ["uploads", "@fermata", "-l", "2", "--since", "2026-01-01", "--json"];
    let (output, errors, requests) = run(PAGES[..1].to_vec(), &args);
    assert_eq!(output, "{\"items\":[{\"id\":\"a\"},{\"id\":\"b\"}],\"nextCursor\":\"c+1\"}\n");
    let more =
        "vidra: there is more: --cursor c+1 continues the list, --all fetches it to its end\n";
    assert_eq!(errors, format!("{more}vidra: cost: 1 unit\n"));
    assert_eq!(requests[0].0, "/api/channel/%40fermata/uploads?since=2026%2D01%2D01&limit=2");
    let (_, _, requests) =
        run(PAGES[1..].to_vec(), &["uploads", "@fermata", "--cursor", "c+1", "--json", "-q"]);
    assert_eq!(requests[0].0, "/api/channel/%40fermata/uploads?limit=50&cursor=c%2B1");
}

#[test]
fn users_13_csv_has_one_header_row() {
    let answers =
        vec![("x-next-cursor: c1\r\n", "id,title\r\na,A\r\n"), ("", "id,title\r\nb,\"B\nb\"\r\n")];
    let args = ["playlist", "PLa", "--all", "--csv", "--fields", "id,title", "-q"];
    let (output, errors, requests) = run(answers, &args);
    assert_eq!((output.as_str(), errors.as_str()), ("id,title\r\na,A\r\nb,\"B\nb\"\r\n", ""));
    let targets: Vec<&str> = requests.iter().map(|(target, _)| target.as_str()).collect();
    assert_eq!(
        targets,
        [
            "/api/playlist/PLa/videos?limit=500&fields=id%2Ctitle",
            "/api/playlist/PLa/videos?limit=500&cursor=c1&fields=id%2Ctitle",
        ]
    );
    assert!(requests.iter().all(|(_, accept)| accept == "text/csv"), "{requests:?}");
}
