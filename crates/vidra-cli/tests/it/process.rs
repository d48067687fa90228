//! A running `vidra`, and a minimal HTTP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::midnight;

/// `vidra` with a clean environment in a folder of its own. `VIDRA_BIN` names another build, because some long forms need
/// optimised code.
pub(crate) fn vidra(folder: &Path) -> Command {
    midnight::wait_out();
    let built = || env!("CARGO_BIN_EXE_vidra").into();
    let mut command = Command::new(std::env::var_os("VIDRA_BIN").unwrap_or_else(built));
    command.env_clear().env("HOME", folder).current_dir(folder);
    // No load balancer has to notice the end of a test.
    command.env("VIDRA_DRAIN_DELAY", "0");
    command
}

/// A running service, killed when dropped.
pub(crate) struct Service {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    /// The operator's address, if it is separate.
    pub(crate) admin: Option<SocketAddr>,
    output: BufReader<ChildStdout>,
    /// Drains the log, so that a full pipe does not block the service.
    log: Option<JoinHandle<String>>,
    /// The lines of the log that have not been read yet.
    lines: Receiver<String>,
}

impl Service {
    /// Starts `command` on a free port and waits until it logs its address.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_at(command, "127.0.0.1:0")
    }

    /// Starts `command` at an address and waits until it logs the address.
    pub(crate) fn start_at(command: &mut Command, listen: &str) -> Self {
        let command = command.args(["serve", "--listen", listen]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("vidra starts");
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut seen = String::new();
        let address = loop {
            let start = seen.len();
            assert!(log.read_line(&mut seen).unwrap() > 0, "the process ended: {seen}");
            if let Some(address) = address_in("address", &seen[start..]) {
                break address;
            }
        };
        let admin = address_in("admin", &seen);
        let (sender, lines) = mpsc::channel();
        let log = std::thread::spawn(move || {
            let mut start = seen.len();
            while log.read_line(&mut seen).unwrap() > 0 {
                let _ = sender.send(seen[start..].to_owned());
                start = seen.len();
            }
            seen
        });
        Self { child, address, admin, output, log: Some(log), lines }
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        send(self.address, "GET", path, "")
    }

    /// Sends a GET with additional headers, each ended by a line break. Returns status, head and body.
    pub(crate) fn get_with(&self, path: &str, headers: &str) -> (u16, String, String) {
        self.get_at_host(&self.address.to_string(), path, headers)
    }

    /// Sends a GET with another `Host`. Returns status, head and body.
    pub(crate) fn get_at_host(
        &self,
        host: &str,
        path: &str,
        headers: &str,
    ) -> (u16, String, String) {
        exchange(self.address, "GET", path, &format!("host: {host}\r\n{headers}"), "")
    }

    /// The transcripts that this body requests.
    pub(crate) fn transcripts(&self, body: &str) -> (u16, String) {
        let length = body.len();
        let headers = format!(
            "host: {}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n",
            self.address
        );
        let (status, _, body) = exchange(self.address, "POST", "/api/transcripts", &headers, body);
        (status, body)
    }

    /// The transcripts of a playlist.
    pub(crate) fn batch(&self, playlist: &str, accept: &str) -> (u16, String) {
        let path = format!("/api/playlist/{playlist}/transcript");
        let headers = format!("accept: {accept}\r\ncontent-length: 0\r\n");
        send(self.address, "POST", &path, &headers)
    }

    /// The paths of the URLs that the service prints at start, up to the last one.
    pub(crate) fn printed_paths(&mut self) -> Vec<String> {
        let base = format!("http://{}", self.address);
        let mut paths = vec![];
        while paths.last().is_none_or(|path| path != "/openapi.json") {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the process ended");
            let url = line.split_whitespace().find_map(|word| word.strip_prefix(&*base));
            paths.extend(url.filter(|path| path.starts_with('/')).map(str::to_owned));
        }
        paths
    }

    /// Sends SIGTERM and returns the exit code and the whole log.
    pub(crate) fn stop(self) -> (Option<i32>, String) {
        let (code, _, log) = self.stop_with_output();
        (code, log)
    }

    /// Sends SIGTERM and returns the exit code, standard output and the whole log.
    pub(crate) fn stop_with_output(mut self) -> (Option<i32>, String, String) {
        self.signal("-TERM");
        let code = self.child.wait().unwrap().code();
        let mut output = String::new();
        self.output.read_to_string(&mut output).unwrap();
        (code, output, self.log.take().unwrap().join().unwrap())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Sends a signal, waits for a log line that contains `text`, and returns that line.
    pub(crate) fn log_until(&self, text: &str, signal: &str) -> String {
        self.signal(signal);
        let next = || self.lines.recv_timeout(Duration::from_secs(30)).expect("a line of the log");
        std::iter::repeat_with(next).find(|line| line.contains(text)).unwrap()
    }

    /// Kills the process and returns the whole log.
    pub(crate) fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.log.take().unwrap().join().unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a process has ended by itself, and returns its exit code: `None` if a signal ended it. Panics with the
/// text of `context` if it still runs after `limit`.
pub(crate) fn exit_code_within(
    limit: Duration,
    child: &mut Child,
    context: impl Fn() -> String,
) -> Option<i32> {
    let pid = child.id().to_string();
    std::thread::scope(|scope| {
        let (sender, ended) = mpsc::channel();
        scope.spawn(move || sender.send(child.wait()));
        let Ok(status) = ended.recv_timeout(limit) else {
            // The scope waits for its thread, and the thread for the process.
            let _ = Command::new("kill").args(["-KILL", &pid]).status();
            panic!("the process still runs after {limit:?}: {}", context());
        };
        status.unwrap().code()
    })
}

/// The value of an address field in the log, as JSON or as text.
pub(crate) fn address_in(name: &str, log: &str) -> Option<SocketAddr> {
    let prefixes = [format!("\"{name}\":\""), format!(" {name}=")];
    let (_, rest) = prefixes.iter().find_map(|prefix| log.split_once(prefix))?;
    rest.split(['"', ' ', '\n']).next()?.parse().ok()
}

/// Sends one request with `Connection: close`. Returns the status and the body.
pub(crate) fn send(address: SocketAddr, method: &str, path: &str, headers: &str) -> (u16, String) {
    let headers = format!("host: {address}\r\n{headers}");
    let (status, _, body) = exchange(address, method, path, &headers, "");
    (status, body)
}

pub(crate) fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\n{headers}");
    write!(stream, "{head}connection: close\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_owned(), body.to_owned())
}
