//! The alert rules and the dashboard, executed by a real Prometheus that scrapes two running services.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::process::{Service, send, vidra};

const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");

/// How long Prometheus may take for a few scrapes, one each second, and for a first evaluation of the rules.
const WAIT_LIMIT: Duration = Duration::from_secs(120);

/// Nothing happens in this test that these count.
const MAY_BE_EMPTY: [&str; 1] = ["vidra_connections_refused_total"];

/// Whether Prometheus is installed. Panics without it if `VIDRA_REQUIRE_PEERS` is set.
fn is_installed() -> bool {
    let runs = |program: &str| {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let is_installed = ["prometheus", "promtool"].into_iter().all(runs);
    if !is_installed {
        assert!(std::env::var_os("VIDRA_REQUIRE_PEERS").is_none(), "prometheus is not installed");
        println!("SKIPPED: prometheus and promtool are not installed");
    }
    is_installed
}

#[test]
fn alert_rules_are_valid_and_fire_for_their_problems() {
    if !is_installed() {
        return;
    }
    for (action, file) in [("check", "alerts.yml"), ("test", "alerts-test.yml")] {
        let mut command = Command::new("promtool");
        let output = command.args([action, "rules", file]).current_dir(DEPLOY).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A running Prometheus, killed when dropped.
struct Prometheus {
    child: Child,
    address: SocketAddr,
}

impl Prometheus {
    /// Scrapes these targets every second.
    fn start(folder: &Path, targets: &[SocketAddr]) -> Self {
        let targets: Vec<String> = targets.iter().map(|it| format!("\"{it}\"")).collect();
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             rule_files: [\"{DEPLOY}/alerts.yml\"]\n\
             scrape_configs: [{{job_name: vidra, static_configs: [{{targets: [{}]}}]}}]\n",
            targets.join(", ")
        );
        fs::write(folder.join("prometheus.yml"), config).unwrap();
        let flags = [
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            "--web.listen-address=127.0.0.1:0",
            "--log.format=json",
        ];
        let mut command = Command::new("prometheus");
        command.args(flags).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut address = None;
        loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "Prometheus ended");
            let line: Value = serde_json::from_str(&line).unwrap_or_default();
            let named = line["address"].as_str().and_then(|it| it.parse::<SocketAddr>().ok());
            address = named.filter(|address| address.port() != 0).or(address);
            if line["msg"].as_str().is_some_and(|text| text.contains("ready to receive")) {
                break;
            }
        }
        let address = address.expect("the log names the address");
        // A full pipe would block it.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self { child, address }
    }

    /// The data of an API request.
    fn get(&self, path: &str) -> Result<Value, String> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        // HTTP/1.0, so that the body is not chunked.
        write!(stream, "GET /api/v1/{path} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").expect("a head and a body").1;
        let mut body: Value = serde_json::from_str(body).map_err(|_| answer.clone())?;
        match body["status"].as_str() {
            Some("success") => Ok(body["data"].take()),
            _ => Err(body["error"].to_string()),
        }
    }

    /// The samples that an expression returns.
    fn query(&self, expression: &str) -> Result<Vec<Value>, String> {
        let query = utf8_percent_encode(expression, NON_ALPHANUMERIC);
        let data = self.get(&format!("query?query={query}"))?;
        Ok(data["result"].as_array().cloned().unwrap_or_default())
    }

    /// The first value that an expression returns; 0 without one.
    fn value(&self, expression: &str) -> f64 {
        let samples = self.query(expression).unwrap();
        let value = samples.first().and_then(|sample| sample["value"][1].as_str());
        value.map_or(0.0, |value| value.parse().unwrap())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The queries of all panels, with the variables of Grafana replaced.
fn dashboard_queries() -> Vec<String> {
    let text = fs::read_to_string(format!("{DEPLOY}/grafana-dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    let replaced = |target: &Value| {
        let query = target["expr"].as_str().unwrap();
        let query = query.replace("$job", "vidra").replace("$instance", ".*");
        query.replace("$__rate_interval", "1m")
    };
    targets.map(replaced).collect()
}

/// Names, types and help texts follow the conventions of Prometheus.
fn check_metrics(page: &str) {
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = command.spawn().unwrap();
    promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Something of everything that is counted.
fn send_traffic(service: &Service) {
    for path in ["video/quirkNoLike", "video/quirkUnknwn", "transcript/txManualAsr"] {
        service.get(&format!("/api/{path}"));
    }
    assert_eq!(service.get("/api/transcript/plBotWall__").0, 502, "a refusal: blocked");
    service.batch("PLquirkMixed", "application/x-ndjson");
}

#[test]
fn dashboard_and_alerts_work_with_a_real_prometheus() {
    if !is_installed() {
        return;
    }
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [plain, encrypted, data] = folders.each_ref().map(tempfile::TempDir::path);
    let mut command = vidra(plain);
    command.env("VIDRA_DEMO", "1").env("VIDRA_CACHE", format!("fs:{}/cache", plain.display()));
    // The address stays blocked for the whole test.
    let plain = Service::start(command.env("VIDRA_BLOCK_PAUSE", "15m"));

    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (encrypted.join("cert.pem"), encrypted.join("key.pem"));
    fs::write(&certificate, issued.cert.pem()).unwrap();
    fs::write(&key, issued.signing_key.serialize_pem()).unwrap();
    let mut command = vidra(encrypted);
    command.env("VIDRA_TLS_CERT", &certificate).env("VIDRA_TLS_KEY", &key);
    command.env("VIDRA_DEMO", "1").env("VIDRA_ADMIN_LISTEN", "127.0.0.1:0");
    let encrypted = Service::start(&mut command);
    fs::write(&certificate, "nonsense").unwrap();
    encrypted.log_until("reload failed", "-HUP");

    let admin = encrypted.admin.expect("the log names the address");
    send_traffic(&plain);
    check_metrics(&plain.get("/metrics").1);
    check_metrics(&send(admin, "GET", "/metrics", "").1);
    let prometheus = Prometheus::start(data, &[plain.address, admin]);
    // A rate takes two scrapes of each service, with traffic in between.
    let deadline = Instant::now() + WAIT_LIMIT;
    loop {
        let scrapes = prometheus.value("min(count_over_time(vidra_build_info[5m]))");
        let targets = prometheus.value("count(up == 1)");
        if scrapes >= 3.0 && targets >= 2.0 {
            break;
        }
        let seen = || prometheus.get("targets").map_or_else(|why| why, |data| data.to_string());
        assert!(
            Instant::now() < deadline,
            "{targets} of 2 targets are up, with {scrapes} of 3 scrapes: {}",
            seen()
        );
        send_traffic(&plain);
    }

    let queries = dashboard_queries();
    assert!(queries.len() > 40, "{queries:#?}");
    for query in queries {
        let found = prometheus.query(&query).unwrap_or_else(|error| panic!("{query}: {error}"));
        let may_be_empty = MAY_BE_EMPTY.iter().any(|metric| query.contains(metric));
        assert!(may_be_empty || !found.is_empty(), "no data: {query}");
    }
    assert_eq!(prometheus.value("vidra_degraded{what=\"reload_failed\"} == 1"), 1.0);
    assert!(prometheus.value("vidra_limited_total{reason=\"blocked\"}") >= 1.0);

    // Prometheus has evaluated every rule without an error.
    let deadline = Instant::now() + WAIT_LIMIT;
    let rules = loop {
        let data = prometheus.get("rules").unwrap();
        let rules = data["groups"][0]["rules"].as_array().cloned().unwrap_or_default();
        if !rules.is_empty() && rules.iter().all(|rule| rule["health"] != "unknown") {
            break rules;
        }
        assert!(Instant::now() < deadline, "some rules were not evaluated: {rules:#?}");
    };
    assert!(rules.len() >= 15);
    for rule in rules {
        let name = &rule["name"];
        assert_eq!(rule["health"], "ok", "{name}: {}", rule["lastError"]);
        let expression = rule["query"].as_str().unwrap();
        prometheus.query(expression).unwrap_or_else(|error| panic!("{name}: {error}"));
        // This test has caused some of them, which wait for their time now.
        let is_active = matches!(rule["state"].as_str(), Some("pending" | "firing"));
        let is_expected =
            ["VidraReloadFailed", "VidraAddressesBlocked"].contains(&name.as_str().unwrap());
        assert!(!is_expected || is_active, "{name} is {}", rule["state"]);
        assert!(name != "VidraDown" || !is_active, "{name} is {}", rule["state"]);
    }
}
