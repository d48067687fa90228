//! The values of parameters: patterns and enums of the document against what the service accepts.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::document;
use crate::app::TestApp;

/// The service accepts the values that match the pattern of a parameter, and rejects all others. The module of the
/// patterns lists the values that the service accepts beyond them.
#[tokio::test]
async fn patterns_match_exactly_what_the_service_accepts() {
    let app = TestApp::new();
    let document = document();
    let long = format!("PL{}", "x".repeat(63));
    let eleven = ["de"; 11].join(",");
    let table: [(&str, &str, &[&str], &[&str]); 12] = [
        (
            "/api/video/{id}",
            "id",
            &[
                "fda4eREcaTQ",
                "https://www.youtube.com/watch?v=fda4eREcaTQ",
                "https://www.youtube.com/watch?list=PLsize1&t=5&v=fda4eREcaTQ&pp=x%20y",
                "http://m.youtube.com/shorts/fda4eREcaTQ?feature=share",
                "youtu.be/fda4eREcaTQ?si=abc",
            ],
            &["fda4eREcaT", "fda4eREcaTQx", "https://example.com/watch?v=fda4eREcaTQ", "ünicode"],
        ),
        (
            "/api/channel/{id}",
            "id",
            &[
                "@fermata",
                "fermata",
                "UCB-2_pXPtFYDifLXZF-S8PA",
                "@日本語",
                "@Größe",
                "@мир",
                "@한국어",
                "https://www.youtube.com/@fermata?x=y",
                "https://www.youtube.com/channel/UCB-2_pXPtFYDifLXZF-S8PA",
                "youtube.com/c/fermata",
            ],
            &[
                "@",
                "...",
                "two words",
                "https://youtu.be/fda4eREcaTQ",
                "a_name_of_more_than_30_letters_",
            ],
        ),
        (
            "/api/playlist/{id}/info",
            "id",
            &[
                "PLsize1",
                "https://www.youtube.com/playlist?list=PLsize1&si=x",
                "https://www.youtube.com/watch?v=fda4eREcaTQ&list=PLsize1&index=2",
                "https://youtu.be/fda4eREcaTQ?si=x&list=PLsize1",
            ],
            &["P", &long, "https://www.youtube.com/watch?v=fda4eREcaTQ"],
        ),
        (
            "/api/comment-replies/{id}",
            "id",
            &[
                "UgquirkManyReplies04AaABAg",
                "UgquirkManyReplies04AaABAg.child",
                "https://www.youtube.com/watch?v=fda4eREcaTQ&lc=UgquirkManyReplies04AaABAg",
            ],
            &["U", "Ug.", "Ug.x.y", "https://www.youtube.com/watch?v=fda4eREcaTQ"],
        ),
        (
            "/api/videos",
            "ids",
            &[
                "fda4eREcaTQ",
                "fda4eREcaTQ,quirkNoLike",
                "https://youtu.be/fda4eREcaTQ, quirkNoLike",
            ],
            &["", "nope", "fda4eREcaTQ,nope"],
        ),
        (
            "/api/video-categories",
            "ids",
            &["", "10", "10,22", "10, 22"],
            &["x", "1234567890", "10;22"],
        ),
        ("/api/charts/popular", "category", &["", "10", " 10"], &["x", "1234567890", "10,22"]),
        ("/api/charts/popular", "region", &["", "de", "US "], &["D", "DEU", "1A"]),
        ("/api/transcript/{id}", "lang", &["", "en", "pt_BR", "de, en"], &["e", "de;en", &eleven]),
        (
            "/api/i18n/regions",
            "fields",
            &["", "gl", "id,name", "id , gl"],
            &["1d", "id;gl", "id,,gl.", "*"],
        ),
        (
            "/api/channel/{id}/uploads",
            "since",
            &["", "2024-01-31", "2024-01-31T18:30:00Z", "2024-01-31T18:30:00.5+02:00"],
            &["24-1-31", "2024-01-31 18:30", "2024-01-31T18:30:00", "yesterday"],
        ),
        (
            "/api/i18n/regions",
            "hl",
            &["", " ", "en ", "zh-Hans"],
            &["x", "e n", "\r", "en\n", "a_code_of_21_letters_"],
        ),
    ];
    for (path, name, allowed, refused) in table {
        let parameters = &document["paths"][path]["get"]["parameters"];
        let parameter = parameters.as_array().unwrap().iter().find(|it| it["name"] == name);
        let pattern = parameter.unwrap()["schema"]["pattern"].as_str().unwrap();
        let pattern = regex::Regex::new(pattern).unwrap();
        let samples =
            allowed.iter().map(|it| (it, true)).chain(refused.iter().map(|it| (it, false)));
        for (sample, is_allowed) in samples {
            assert_eq!(pattern.is_match(sample), is_allowed, "{path} {name}: {sample}");
            let value = utf8_percent_encode(sample, NON_ALPHANUMERIC).to_string();
            let target = match path.contains(&format!("{{{name}}}")) {
                true => path.replace("{id}", &value),
                false if name == "ids" => format!("{path}?{name}={value}"),
                false => format!("{}{name}={value}", with_id(path)),
            };
            let status = app.get(&target).await.status;
            assert_eq!(status != 400, is_allowed, "{target} is {status}");
        }
    }
}

#[test]
fn every_string_parameter_has_a_pattern_or_an_enum() {
    for (path, methods) in document()["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let schema = &parameter["schema"];
                let is_restricted = schema["pattern"].is_string() || schema["enum"].is_array();
                assert!(schema["type"] != "string" || is_restricted, "{path}: {parameter}");
            }
        }
    }
}

/// Every word of an enum works, and another word does not.
#[tokio::test]
async fn users_10_choices_are_enums() {
    let (app, document) = (TestApp::new(), document());
    let mut found = vec![];
    // Jobs, collections and searches need a library, and have tests of their own.
    let paths = document["paths"].as_object().unwrap();
    let is_stored = |path: &str| {
        ["/api/jobs", "/api/collections", "/api/library"].iter().any(|it| path.starts_with(it))
    };
    for (path, methods) in paths.iter().filter(|(path, _)| !is_stored(path)) {
        let parameters = methods["get"]["parameters"].as_array().into_iter().flatten();
        for parameter in parameters.filter(|it| it["schema"]["enum"].is_array()) {
            let name = parameter["name"].as_str().unwrap();
            let path = with_id(path);
            for word in parameter["schema"]["enum"].as_array().unwrap() {
                let got = app.get(&format!("{path}{name}={}", word.as_str().unwrap())).await;
                assert_eq!(got.status, 200, "{path} {name} {word}");
            }
            let got = app.get(&format!("{path}{name}=nonsense")).await;
            assert_eq!(got.problem(400).1.len(), 1, "{path} {name}");
            found.push(name.to_owned());
        }
    }
    found.sort_unstable();
    found.dedup();
    for name in ["download", "format", "order", "replies"] {
        assert!(found.iter().any(|it| it == name), "{name} is no enum");
    }
    let tools = &document["paths"]["/api/tools/{name}"]["post"]["parameters"][0]["schema"]["enum"];
    assert_eq!(tools.as_array().map(Vec::len), Some(vidra_mcp::tools().len()));
}

/// The path with an identifier that exists, before a query parameter.
fn with_id(path: &str) -> String {
    let id = match path.split('/').nth(2) {
        Some("channel") => "@fermata",
        Some("playlist") => "PLsize1",
        Some("comment-replies") => "UgquirkManyReplies04AaABAg",
        _ => "txManualAsr",
    };
    let path = path.replace("{id}", id).replace("{videoId}", "fda4eREcaTQ");
    // Without them it is 400.
    let query = match path.as_str() {
        "/api/videos" => "ids=fda4eREcaTQ&",
        "/api/search" => "q=trio&",
        _ => "",
    };
    format!("{path}?{query}")
}
