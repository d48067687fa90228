//! `/llms.txt`: what the service can do, for language models.

use vidra_mcp::ToolList;
use vidra_server::Config;

use crate::app::TestApp;

/// The rest of each line that begins with this text.
fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.strip_prefix(start)).collect()
}

#[tokio::test]
async fn llms_txt_has_the_form_of_llmstxt_org() {
    let app = TestApp::new();
    let got = app.get("/llms.txt").await;
    assert_eq!(got.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(got.cost(), 0);
    let text = &got.text;
    assert!(text.starts_with("# vidra\n\n> "), "a title and a summary: {text}");
    assert_eq!(lines(text, "# ").len(), 1);
    assert_eq!(lines(text, "## "), ["Documents", "Tools", "REST endpoints"]);
    let links: Vec<&str> =
        text.split("](").skip(1).map(|it| it.split(')').next().unwrap()).collect();
    assert_eq!(links, ["/openapi.json", "/docs"]);
    for link in links {
        assert_eq!(app.get(link).await.status, 200, "{link}");
    }
}

/// The lists come from the code, so that they are complete.
#[tokio::test]
async fn llms_txt_lists_the_offered_tools_and_every_endpoint() {
    let app = TestApp::new();
    let text = app.get("/llms.txt").await.text;
    let (_, after) = text.split_once("## Tools\n").unwrap();
    let (tools, endpoints) = after.split_once("## REST endpoints\n").unwrap();
    let tools = lines(tools, "- `");
    // This service has no library.
    let offered: Vec<_> = ToolList::Short.tools(false).collect();
    assert_eq!(tools.len(), offered.len());
    for (line, tool) in tools.iter().zip(offered) {
        let (name, sentence) = line.split_once("`: ").unwrap();
        assert_eq!(name, tool.name);
        assert!(tool.description.starts_with(sentence) && sentence.ends_with('.'), "{line}");
    }
    let mut expected = vec![];
    for (path, methods) in app.get("/openapi.json").await.json()["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if operation["tags"][0] != "Service" {
                let summary = operation["summary"].as_str().unwrap();
                expected.push(format!("{} {path}`: {summary}", method.to_uppercase()));
            }
        }
    }
    let mut listed = lines(endpoints, "- `");
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn llms_txt_is_cached_by_its_tag() {
    let app = TestApp::new();
    let etag = app.get("/llms.txt").await.header("etag").unwrap().to_owned();
    let request = axum::http::Request::get("/llms.txt").header("if-none-match", etag);
    let got = app.send(request.body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!((got.status.as_u16(), &*got.text), (304, ""));
}

#[tokio::test]
async fn llms_txt_names_the_mcp_endpoint_if_there_is_one() {
    for mcp in [true, false] {
        let app = TestApp::configured(|builder| builder, Config { mcp, ..Config::default() });
        let text = app.get("/llms.txt").await.text;
        assert_eq!(text.contains("`/mcp`"), mcp, "{text}");
    }
}
