//! A running `vidra`, and the simplest client there is.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::midnight;

/// `vidra` with a clean environment in a folder of its own.
pub(crate) fn vidra(folder: &Path) -> Command {
    midnight::wait_out();
    let mut command = Command::new(env!("CARGO_BIN_EXE_vidra"));
    command.env_clear().env("HOME", folder).current_dir(folder);
    command
}

/// A service that answers, killed when dropped.
pub(crate) struct Service {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    /// Where the operator asks, if that is somewhere else.
    pub(crate) admin: Option<SocketAddr>,
    output: BufReader<ChildStdout>,
    /// Reads the log to its end, so that a full pipe never stops the service.
    log: Option<JoinHandle<String>>,
    /// The lines of the log that nobody has waited for yet.
    lines: Receiver<String>,
}

impl Service {
    /// Starts `command` on a free port and waits until it says where it listens.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_at(command, "127.0.0.1:0")
    }

    /// The same at another address.
    pub(crate) fn start_at(command: &mut Command, listen: &str) -> Self {
        let command = command.args(["serve", "--listen", listen]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("vidra starts");
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut seen = String::new();
        let address = loop {
            let start = seen.len();
            assert!(log.read_line(&mut seen).unwrap() > 0, "it ended: {seen}");
            if let Some(address) = told("address", &seen[start..]) {
                break address;
            }
        };
        let admin = told("admin", &seen);
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

    /// The same with more headers, each ended by a line break; gives the head too.
    pub(crate) fn get_with(&self, path: &str, headers: &str) -> (u16, String, String) {
        self.get_at_host(&self.address.to_string(), path, headers)
    }

    /// The same under another name.
    pub(crate) fn get_at_host(
        &self,
        host: &str,
        path: &str,
        headers: &str,
    ) -> (u16, String, String) {
        exchange(self.address, "GET", path, &format!("host: {host}\r\n{headers}"))
    }

    /// The transcripts of a playlist.
    pub(crate) fn batch(&self, playlist: &str, accept: &str) -> (u16, String) {
        let path = format!("/api/playlist/{playlist}/transcript");
        let headers = format!("accept: {accept}\r\ncontent-length: 0\r\n");
        send(self.address, "POST", &path, &headers)
    }

    /// The paths of the URLs that it prints when it starts, up to the last one.
    pub(crate) fn printed_paths(&mut self) -> Vec<String> {
        let base = format!("http://{}", self.address);
        let mut paths = vec![];
        while paths.last().is_none_or(|path| path != "/openapi.json") {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended");
            let url = line.split_whitespace().find_map(|word| word.strip_prefix(&*base));
            paths.extend(url.filter(|path| path.starts_with('/')).map(str::to_owned));
        }
        paths
    }

    /// Asks it to stop and gives the exit code and the whole log.
    pub(crate) fn stop(self) -> (Option<i32>, String) {
        let (code, _, log) = self.stop_and_tell();
        (code, log)
    }

    /// The same with what it wrote to standard output.
    pub(crate) fn stop_and_tell(mut self) -> (Option<i32>, String, String) {
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

    /// Sends a signal and waits for a line of the log that holds `text`; gives that line.
    pub(crate) fn log_until(&self, text: &str, signal: &str) -> String {
        self.signal(signal);
        let next = || self.lines.recv_timeout(Duration::from_secs(30)).expect("a line of the log");
        std::iter::repeat_with(next).find(|line| line.contains(text)).unwrap()
    }

    /// Ends it without a chance to tidy up; gives the whole log.
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

/// An address in the log, by its name: in JSON, or in text.
fn told(name: &str, log: &str) -> Option<SocketAddr> {
    let written = [format!("\"{name}\":\""), format!(" {name}=")];
    let (_, rest) = written.iter().find_map(|written| log.split_once(written))?;
    rest.split(['"', ' ', '\n']).next()?.parse().ok()
}

/// One request; the connection is closed behind it. Gives the status, and all that comes after the
/// head.
pub(crate) fn send(address: SocketAddr, method: &str, path: &str, headers: &str) -> (u16, String) {
    let headers = format!("host: {address}\r\n{headers}");
    let (status, _, body) = exchange(address, method, path, &headers);
    (status, body)
}

fn exchange(address: SocketAddr, method: &str, path: &str, headers: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\n{headers}");
    write!(stream, "{head}connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_owned(), body.to_owned())
}
