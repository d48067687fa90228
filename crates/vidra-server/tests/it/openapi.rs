//! The document tells the truth: it equals the one in the repo and covers every route.

use std::path::Path;

use serde_json::Value;

use crate::app::TestApp;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

fn document() -> Value {
    serde_json::to_value(vidra_server::routes::openapi()).unwrap()
}

/// Run with `VIDRA_UPDATE_DOCS=1` to write the file anew.
#[test]
fn the_document_in_the_repo_is_current() {
    let current = serde_json::to_string_pretty(&vidra_server::routes::openapi()).unwrap() + "\n";
    if std::env::var_os("VIDRA_UPDATE_DOCS").is_some() {
        std::fs::write(DOCUMENT, &current).unwrap();
    }
    let kept = std::fs::read_to_string(Path::new(DOCUMENT)).unwrap();
    assert!(
        kept == current,
        "docs/openapi.json is out of date: VIDRA_UPDATE_DOCS=1 writes it anew"
    );
}

#[tokio::test]
async fn it_is_served_as_3_1() {
    let got = TestApp::new().get("/openapi.json").await;
    assert_eq!(got.json(), document());
    assert!(got.json()["openapi"].as_str().unwrap().starts_with("3.1"));
}

#[test]
fn every_operation_is_complete() {
    let document = document();
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            operations += 1;
            let name = format!("{method} {path}");
            assert!(operation["summary"].is_string(), "{name} has no summary");
            assert!(operation["tags"].is_array(), "{name} has no tag");
            assert!(operation["operationId"].is_string(), "{name} has no id");
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.contains_key("200"), "{name} has no success");
            let fallible = path.starts_with("/api/") && path != "/api/quota";
            assert_eq!(responses.contains_key("400"), fallible, "{name}");
            for (status, response) in responses {
                let content = &response["content"]["application/json"];
                assert!(content["schema"].is_object(), "{name} {status} has no schema");
                assert!(response["description"].as_str().is_some_and(|text| !text.is_empty()));
                if status != "200" {
                    assert_eq!(
                        content["schema"]["$ref"], "#/components/schemas/ErrorBody",
                        "{name} {status}"
                    );
                    assert!(content["example"].is_object(), "{name} {status} has no example");
                }
            }
            let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
            for parameter in parameters {
                assert!(parameter["description"].is_string(), "{name}: {parameter}");
            }
            let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
            assert_eq!(in_path, path.matches('{').count(), "{name}");
        }
    }
    assert_eq!(operations, 20);
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    let text = document.to_string();
    let references = text.match_indices("\"#/").map(|(at, _)| {
        let rest = &text[at + 2..];
        &rest[..rest.find('"').unwrap()]
    });
    let mut count = 0;
    for reference in references {
        assert!(document.pointer(reference).is_some(), "{reference}");
        count += 1;
    }
    assert!(count > 50);
}

#[tokio::test]
async fn every_route_of_the_document_is_there() {
    let app = TestApp::new();
    for (path, methods) in document()["paths"].as_object().unwrap() {
        // An identifier that is none: the route is there if the answer is not "no such route".
        let concrete = path.replace("{id}", "!").replace("{videoId}", "!");
        for method in methods.as_object().unwrap().keys() {
            let got = app.method(method.to_uppercase().parse().unwrap(), &concrete).await;
            assert!(!matches!(got.status.as_u16(), 404 | 405), "{method} {path}: {}", got.text);
        }
    }
}

#[test]
fn the_readme_tells_of_every_endpoint() {
    let readme = include_str!("../../../../README.md");
    for (path, methods) in document()["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let endpoint = format!("`{} {path}", method.to_uppercase());
            assert!(readme.contains(&endpoint), "{endpoint} is not in the README");
        }
    }
}
