//! Compares the costs in the endpoint table of the guide with the simulator's bill.

mod counts;
mod requests;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Body;
use axum::http::Request;
use vidra::clock::SystemClock;
use vidra::{ApiKey, InProcess, Vidra};
use vidra_library::{Library, Limits, Memory, WorkerConfig};
use vidra_server::gate::{KeyFile, KeyLimits, Keys, Rules};
use vidra_server::{App, Config, LibraryConfig, LibraryFile};
use vidra_sim::Simulator;

use crate::app::{TestApp, TestResponse};
use crate::midnight;
use requests::{Case, cases};
use table::{Charge, Cost, Row, Term, rows};

/// Units and searches.
type Bill = (i64, i64);

/// A service without caches. Its only caller is an operator, because `/api/usage` needs one.
fn uncached(has_api_key: bool) -> TestApp {
    midnight::wait_out();
    let sim = Simulator::new();
    let mut builder = Vidra::builder()
        .cache_bytes(0)
        .data_api_url("http://sim.invalid/youtube/v3")
        .web_url("http://sim.invalid")
        .transport(InProcess(sim.clone()));
    if has_api_key {
        builder = builder.key(ApiKey::new("demo-key"));
    }
    let mut file = KeyFile::default();
    let limits = KeyLimits { operator: true, ..KeyLimits::default() };
    file.add("operator".parse().unwrap(), "vk_operator", limits, SystemTime::UNIX_EPOCH).unwrap();
    let gate = Rules { keys: Some(Arc::new(Keys::new(&file))), ..Rules::default() };
    let clock = Arc::new(SystemClock);
    let library = Library::in_memory(&Memory::new().unwrap(), Limits::default(), clock).unwrap();
    let file = LibraryFile::new(library);
    let library = Some(LibraryConfig::new(file, WorkerConfig::default()));
    let config = Config { response_cache_bytes: 0, gate, library, ..Config::default() };
    TestApp { sim, app: App::new(builder.build().unwrap(), config) }
}

/// Sends the request to a service of its own. Returns the answer and the platform's bill.
async fn answer(has_api_key: bool, case: &Case) -> (TestResponse, Bill) {
    let app = uncached(has_api_key);
    let method = case.endpoint.split(' ').next().unwrap();
    let mut path = case.path.clone();
    if path.contains(requests::JOB) {
        let started = send(&app, "POST", "/api/jobs", r#"{"sources": ["txManualAsr"]}"#).await;
        path = path.replace(requests::JOB, started.json()["id"].as_str().unwrap());
        // The stream of events ends with its job.
        if let Some(job) = path.strip_suffix("/events") {
            send(&app, "POST", &format!("{job}/cancel"), "").await;
        }
    }
    if path.contains(requests::COLLECTION) {
        path = path.replace(requests::COLLECTION, "news");
        send(&app, "PUT", "/api/collections/news", r#"{"sources": ["txManualAsr"]}"#).await;
    }
    let response = send(&app, method, &path, &case.body).await;
    assert!(response.status.is_success(), "{}: {}", case.path, response.text);
    let units = app.sim.record().units;
    if let Some(cost) = response.header("x-quota-cost") {
        assert_eq!(cost, (units.default + units.search).to_string(), "{}: X-Quota-Cost", case.path);
    }
    (response, (units.default as i64, units.search as i64))
}

async fn send(app: &TestApp, method: &str, path: &str, body: &str) -> TestResponse {
    let request = Request::builder().method(method).uri(path).header("x-api-key", "vk_operator");
    let request = request.header("content-type", "application/json");
    app.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

async fn bill_of(charge: &Charge, case: &Case, response: &TestResponse) -> Bill {
    let mut bill = (0, 0);
    for term in charge {
        match term {
            Term::Search => bill.1 += 1,
            Term::Units(units) => bill.0 += units,
            Term::Per { units, size, noun } => {
                let sizes = counts::sizes(noun, case, response).await.into_iter();
                bill.0 += units * sizes.map(|count| count.div_ceil(*size) as i64).sum::<i64>();
            }
        }
    }
    bill
}

/// The costs in the table that a request is needed for: endpoints with their conditions.
fn stated(rows: &[Row]) -> BTreeSet<(String, String)> {
    let conditions = |row: &Row| match &row.cost {
        Cost::AsTheData => vec![String::new()],
        Cost::Stated { conditions, .. } => {
            let names = conditions.iter().map(|condition| condition.name.clone());
            [String::new()].into_iter().chain(names).collect()
        }
    };
    let all = rows.iter().flat_map(|row| {
        conditions(row).into_iter().map(|condition| (row.endpoint.clone(), condition))
    });
    all.collect()
}

/// Whether a path is one of the route of an endpoint.
fn is_of_route(case: &Case) -> bool {
    let route = case.endpoint.split(' ').nth(1).unwrap();
    let path = case.path.split('?').next().unwrap();
    let (route, path): (Vec<_>, Vec<_>) = (route.split('/').collect(), path.split('/').collect());
    let is_same =
        |(expected, given): (&&str, &&str)| expected.starts_with('{') || expected == given;
    route.len() == path.len() && route.iter().zip(&path).all(is_same)
}

#[test]
fn every_stated_cost_has_a_request() {
    let tested: BTreeSet<(String, String)> =
        cases().iter().map(|case| (case.endpoint.to_owned(), case.condition.to_owned())).collect();
    let stated = stated(&rows());
    let untested: Vec<_> = stated.symmetric_difference(&tested).collect();
    assert!(untested.is_empty(), "only in the guide, or only in the test: {untested:?}");
    for case in cases() {
        assert!(is_of_route(&case), "{case:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_guide_states_what_the_platform_bills() {
    let rows: BTreeMap<String, Cost> =
        rows().into_iter().map(|row| (row.endpoint, row.cost)).collect();
    let mut costs: Vec<(String, Bill, Bill)> = vec![];
    // For each upper bound, the most that a request was billed for the condition.
    let mut bounds: BTreeMap<String, (Bill, Bill)> = BTreeMap::new();
    for case in cases() {
        let (response, billed) = answer(true, &case).await;
        let expected = match &rows[case.endpoint] {
            Cost::AsTheData => {
                let path = case.same_as.expect("another request").to_owned();
                let same = Case { endpoint: "GET", path, body: String::new(), ..case.clone() };
                answer(true, &same).await.1
            }
            Cost::Stated { charge, needs_no_key, conditions } => {
                let plain = bill_of(charge, &case, &response).await;
                let condition = conditions.iter().find(|it| it.name == case.condition);
                let more = match condition {
                    None => (0, 0),
                    Some(condition) => bill_of(&condition.charge, &case, &response).await,
                };
                if condition.is_some_and(|it| it.is_upper_bound) {
                    let cost = format!("{} {}", case.endpoint, case.condition);
                    let (most, _) = bounds.entry(cost).or_insert(((0, 0), more));
                    *most = (*most).max((billed.0 - plain.0, billed.1 - plain.1));
                    continue;
                }
                if *needs_no_key && condition.is_none() {
                    assert_eq!(answer(false, &case).await.1, (0, 0), "{}", case.path);
                }
                (plain.0 + more.0, plain.1 + more.1)
            }
        };
        costs.push((format!("{} {}", case.endpoint, case.path), billed, expected));
    }
    costs.extend(bounds.into_iter().map(|(cost, (most, bound))| (cost, most, bound)));
    costs.retain(|(_, billed, expected)| billed != expected);
    assert_eq!(costs, [], "request, bill, and cost in the guide");
}
