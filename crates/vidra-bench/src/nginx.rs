//! nginx in front of the bare server, answering from its `proxy_cache`.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::process::{Process, SERVER_CORE, pinned};

/// An nginx process with one worker, configured for speed.
pub(crate) struct Nginx {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
}

/// The path of the nginx binary, if it is installed.
pub(crate) fn binary() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&folders).chain(["/usr/sbin".into()]);
    folders.map(|folder| folder.join("nginx")).find(|file| file.exists())
}

impl Nginx {
    pub(crate) fn start(binary: &Path, folder: &Path, upstream: SocketAddr) -> io::Result<Self> {
        let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
        let file = folder.join("nginx.conf");
        fs::write(&file, config(folder, address, upstream))?;
        let child = pinned(SERVER_CORE, binary)
            .arg("-p")
            .arg(folder)
            .arg("-c")
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()?;
        let nginx = Self { process: Process(child), address };
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if started.elapsed() > Duration::from_secs(5) {
                return Err(io::Error::other("nginx did not start"));
            }
            std::thread::yield_now();
        }
        Ok(nginx)
    }
}

fn config(folder: &Path, address: SocketAddr, upstream: SocketAddr) -> String {
    let folder = folder.display();
    format!(
        "daemon off;
        master_process off;
        error_log {folder}/nginx-error.log;
        pid {folder}/nginx.pid;
        events {{ worker_connections 1024; }}
        http {{
          access_log off;
          sendfile on;
          keepalive_requests 1000000000;
          open_file_cache max=100;
          client_body_temp_path {folder}/nginx-body;
          proxy_temp_path {folder}/nginx-proxy;
          fastcgi_temp_path {folder}/nginx-fastcgi;
          uwsgi_temp_path {folder}/nginx-uwsgi;
          scgi_temp_path {folder}/nginx-scgi;
          proxy_cache_path {folder}/nginx-cache keys_zone=answers:1m;
          server {{
            listen {address};
            location / {{
              proxy_pass http://{upstream};
              proxy_cache answers;
            }}
          }}
        }}"
    )
}
