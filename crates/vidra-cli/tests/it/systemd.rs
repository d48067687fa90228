//! The service under systemd: an inherited socket, notifications and the watchdog.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::process::{send, vidra};

/// A service that was started as systemd does it.
struct Activated {
    child: Child,
    manager: UnixDatagram,
}

impl Activated {
    /// Starts `vidra serve` with these sockets as file descriptors 3 and 4. A test cannot pass other descriptors
    /// than the standard ones, so a shell moves them.
    fn start(folder: &Path, service: TcpListener, admin: Option<TcpListener>, flags: &str) -> Self {
        let path = folder.join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        manager.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
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
        Self { child: command.stderr(Stdio::null()).spawn().unwrap(), manager }
    }

    /// The next notification that is no ping of the watchdog.
    fn notified(&self) -> String {
        std::iter::repeat_with(|| self.next()).find(|it| it != "WATCHDOG=1\n").unwrap()
    }

    /// The next notification.
    fn next(&self) -> String {
        let mut buffer = [0; 256];
        let length = self.manager.recv(&mut buffer).expect("a notification");
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
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
fn review_o8_an_inherited_socket_is_served_and_systemd_is_notified() {
    let folder = tempfile::tempdir().unwrap();
    let ((socket, address), (admin, admin_address)) = (socket(), socket());
    // The manager keeps the socket, so that callers can connect while the service restarts.
    let kept = socket.try_clone().unwrap();
    let mut service = Activated::start(folder.path(), socket, Some(admin), "--demo");
    assert_eq!(service.notified(), "READY=1\n");
    assert_eq!(send(address, "GET", "/api/video/quirkNoLike", "").0, 200);
    assert_eq!(send(address, "GET", "/metrics", "").0, 404);
    assert_eq!(send(admin_address, "GET", "/metrics", "").0, 200, "the second is the operator's");

    while service.next() != "WATCHDOG=1\n" {}

    service.signal("-HUP");
    let reloading = service.notified();
    let time = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").expect(&reloading);
    assert!(time.trim_end().parse::<u64>().unwrap() > 0, "{reloading}");
    assert_eq!(service.notified(), "READY=1\n");

    service.signal("-TERM");
    assert_eq!(service.notified(), "STOPPING=1\n");
    assert_eq!(service.child.wait().unwrap().code(), Some(0));
    assert_eq!(kept.local_addr().unwrap(), address);
}

/// The access rules depend on the address. `--listen` has its default here, which is loopback.
#[test]
fn review_o8_a_public_inherited_socket_needs_caller_keys() {
    let folder = tempfile::tempdir().unwrap();
    let socket = TcpListener::bind("0.0.0.0:0").unwrap();
    let mut service = Activated::start(folder.path(), socket, None, "--demo");
    assert_eq!(service.child.wait().unwrap().code(), Some(2));
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
