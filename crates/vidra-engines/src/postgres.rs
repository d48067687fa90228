//! A PostgreSQL server.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, mpsc};
use std::thread;

use tempfile::TempDir;

use crate::free_port;

/// The password of the user `vidra`, the owner of all databases.
const PASSWORD: &str = "right";

/// A PostgreSQL server with data of its own. It is killed on drop, and with the process of the test.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
    process: Option<Child>,
    databases: AtomicU32,
}

/// The server that all tests of this process share, each with a database of its own. `None` if PostgreSQL is not
/// installed.
///
/// # Panics
///
/// If PostgreSQL is not installed and `VIDRA_REQUIRE_PEERS` is set.
pub fn shared_postgres() -> Option<&'static Postgres> {
    static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
    let start = || {
        let (sender, started) = mpsc::channel();
        // The kernel ends the server with the thread that started it, so this thread lives as long as the process.
        thread::spawn(move || {
            let _ = sender.send(Postgres::start());
            loop {
                thread::park();
            }
        });
        started.recv().expect("PostgreSQL starts")
    };
    SERVER.get_or_init(start).as_ref()
}

impl Postgres {
    /// Starts a server. `None` if PostgreSQL is not installed.
    ///
    /// # Panics
    ///
    /// If PostgreSQL is not installed and `VIDRA_REQUIRE_PEERS` is set, and if the server does not start.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            let is_required = std::env::var_os("VIDRA_REQUIRE_PEERS").is_some();
            assert!(!is_required, "PostgreSQL is missing: scripts/needs --tests installs it");
            println!("skipped: PostgreSQL is not installed");
            return None;
        };
        let folder = TempDir::with_prefix("vidra-postgres").unwrap();
        // The server does not run as root.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let databases = AtomicU32::new(0);
        let port = free_port();
        let mut server = Self { programs, folder, port, process: None, databases };
        let data = server.data();
        let made = server
            .command("initdb")
            .args(["--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync"])
            .args(["--username=postgres", "--encoding=UTF8", "--locale=C", "--pgdata"])
            .arg(data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.run();
        server.sql("postgres", &format!("CREATE ROLE vidra LOGIN PASSWORD '{PASSWORD}'"));
        Some(server)
    }

    /// Starts the server again after [`Self::kill`].
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn run(&mut self) {
        let mut process = self
            .command("postgres")
            .arg("-D")
            .arg(self.data())
            .args(["-p", &self.port.to_string(), "-k"])
            .arg(self.folder.path())
            // Tests kill processes, not machines.
            .args([
                "-c",
                "fsync=off",
                "-c",
                "max_connections=200",
                "-c",
                "listen_addresses=127.0.0.1",
            ])
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("PostgreSQL starts");
        let mut lines = BufReader::new(process.stderr.take().expect("its log")).lines();
        let mut log = vec![];
        loop {
            let Some(Ok(line)) = lines.next() else { panic!("PostgreSQL ended: {log:#?}") };
            let is_ready = line.contains("database system is ready to accept connections");
            log.push(line);
            if is_ready {
                break;
            }
        }
        // Drains its output, so that it does not block on a full pipe.
        thread::spawn(move || lines.count());
        self.process = Some(process);
    }

    /// Kills the server without a shutdown.
    ///
    /// # Panics
    ///
    /// If it cannot be killed.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Immediately and without a checkpoint, but not SIGKILL, after which its children hold the memory that a new
            // server needs.
            let id = process.id().to_string();
            assert!(Command::new("kill").args(["-QUIT", &id]).status().unwrap().success());
            process.wait().expect("it ends");
        }
    }

    /// Creates an empty database that belongs to the user `vidra`, and returns its name.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub fn database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} OWNER vidra TEMPLATE template0"));
        name
    }

    /// The URL of a database for the user `vidra`.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://vidra:{PASSWORD}@127.0.0.1:{}/{database}", self.port)
    }

    /// The port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Runs SQL as the administrator, and returns the rows with `|` between their columns.
    ///
    /// # Panics
    ///
    /// If the SQL fails.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let done = Command::new(self.programs.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h"])
            .arg(self.folder.path())
            .args(["-p", &self.port.to_string(), "-d", database, "-c", sql])
            .output()
            .unwrap();
        assert!(done.status.success(), "{sql}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A command that ends with the thread that starts it. PostgreSQL refuses to run as root.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "QUIT"]);
        if is_root() {
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
        }
        command.arg("--").arg(self.programs.join(program)).current_dir(self.folder.path());
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.trim_ascii() == b"0"
}

/// The folder of the newest installed version.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let versions = versions.filter_map(|version| {
        let version = version.ok()?.path();
        let number: u32 = version.file_name()?.to_str()?.parse().ok()?;
        Some((number, version.join("bin")))
    });
    let installed = versions.filter(|(_, folder)| is_complete(folder));
    installed.max_by_key(|(number, _)| *number).map(|(_, folder)| folder)
}

fn is_complete(folder: &Path) -> bool {
    ["initdb", "postgres", "psql"].iter().all(|program| folder.join(program).exists())
}
