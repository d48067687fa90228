//! The service under systemd: an inherited socket, notifications and the watchdog.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::process::{exit_code_within, send, vidra};

/// How long the service may take for a notification, or to end.
const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// A service that was started as systemd does it.
struct Activated {
    child: Child,
    manager: UnixDatagram,
    /// The file of its standard error.
    log: PathBuf,
}

impl Activated {
    /// Starts `vidra serve` with these sockets as file descriptors 3 and 4. A test cannot pass other descriptors
    /// than the standard ones, so a shell moves them.
    fn start(folder: &Path, service: TcpListener, admin: Option<TcpListener>, flags: &str) -> Self {
        let path = folder.join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        manager.set_read_timeout(Some(WAIT_LIMIT)).unwrap();
        let count = 1 + usize::from(admin.is_some());
        let of_admin = if admin.is_some() { "4<&1" } else { "" };
        let script = format!(
            "exec 3<&0 {of_admin} </dev/null >/dev/null; \
             LISTEN_FDS={count} LISTEN_PID=$$ exec {} serve {flags}",
            env!("CARGO_BIN_EXE_vidra")
        );
        let stdio = |socket: TcpListener| Stdio::from(OwnedFd::from(socket));
        let mut command = Command::new("sh");
        command.args(["-c", &script]).env_clear().env("HOME", folder).current_dir(folder);
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "200000");
        command.stdin(stdio(service)).stdout(admin.map_or_else(Stdio::null, stdio));
        let log = folder.join("log");
        command.stderr(File::create(&log).unwrap());
        Self { child: command.spawn().unwrap(), manager, log }
    }

    /// The standard error of the service, for the messages of failed tests.
    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// The next notification that is no ping of the watchdog.
    fn notified(&self) -> String {
        std::iter::repeat_with(|| self.next()).find(|it| it != "WATCHDOG=1\n").unwrap()
    }

    /// The next notification.
    fn next(&self) -> String {
        let mut buffer = [0; 256];
        let received = self.manager.recv(&mut buffer);
        let length =
            received.unwrap_or_else(|error| panic!("no notification: {error}: {}", self.log()));
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(sent.success(), "{name}: {}", self.log());
    }

    /// The exit code of a service that ends by itself.
    fn exit_code(&mut self) -> Option<i32> {
        let log = self.log.clone();
        exit_code_within(WAIT_LIMIT, &mut self.child, || fs::read_to_string(&log).unwrap())
    }
}

impl Drop for Activated {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn socket() -> (TcpListener, SocketAddr) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

#[test]
fn review_o8_inherited_sockets_are_served_and_systemd_is_notified() {
    let folder = tempfile::tempdir().unwrap();
    let ((socket, address), (admin, admin_address)) = (socket(), socket());
    // The manager keeps the socket, so that callers can connect while the service restarts.
    let kept = socket.try_clone().unwrap();
    // With a second socket the flag is ignored: the service could not bind its own address again.
    let flags = format!("--demo --admin-listen {address}");
    let mut service = Activated::start(folder.path(), socket, Some(admin), &flags);
    assert_eq!(service.notified(), "READY=1\n", "{}", service.log());
    let status = |address, path| send(address, "GET", path, "").0;
    assert_eq!(status(address, "/api/video/quirkNoLike"), 200, "{}", service.log());
    assert_eq!(status(address, "/metrics"), 404, "{}", service.log());
    assert_eq!(status(admin_address, "/metrics"), 200, "the operator's: {}", service.log());

    while service.next() != "WATCHDOG=1\n" {}

    service.signal("-HUP");
    let reloading = service.notified();
    let time = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").expect(&reloading);
    assert!(time.trim_end().parse::<u64>().unwrap() > 0, "{reloading}");
    assert_eq!(service.notified(), "READY=1\n", "{}", service.log());

    service.signal("-TERM");
    assert_eq!(service.notified(), "STOPPING=1\n", "{}", service.log());
    assert_eq!(service.exit_code(), Some(0), "{}", service.log());
    assert_eq!(kept.local_addr().unwrap(), address);
}

/// The usual unit: one socket on loopback, behind a proxy. It serves callers and the operator.
#[test]
fn review_o8_one_inherited_loopback_socket_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, address) = socket();
    let mut service = Activated::start(folder.path(), socket, None, "--demo");
    assert_eq!(service.notified(), "READY=1\n", "{}", service.log());
    for path in ["/api/video/quirkNoLike", "/metrics", "/readyz"] {
        assert_eq!(send(address, "GET", path, "").0, 200, "{path}: {}", service.log());
    }
    service.signal("-TERM");
    assert_eq!(service.notified(), "STOPPING=1\n", "{}", service.log());
    assert_eq!(service.exit_code(), Some(0), "{}", service.log());
}

/// The access rules depend on the address. `--listen` has its default here, which is loopback.
#[test]
fn review_o8_a_public_inherited_socket_needs_caller_keys() {
    let folder = tempfile::tempdir().unwrap();
    let socket = TcpListener::bind("0.0.0.0:0").unwrap();
    let mut service = Activated::start(folder.path(), socket, None, "--demo");
    assert_eq!(service.exit_code(), Some(2), "{}", service.log());
    assert!(service.log().contains("--caller-keys-file"), "{}", service.log());
}

#[test]
fn sockets_of_another_process_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    // Variables of another process: of a parent that does not pass them on.
    let mut command = vidra(folder.path());
    command.env("LISTEN_PID", "1").env("LISTEN_FDS", "1").env("VIDRA_DEMO", "1");
    let service = crate::process::Service::start(&mut command);
    assert_eq!(service.get("/healthz").0, 200);
    assert_eq!(service.stop().0, Some(0));
}
