//! The nouns of the table: how many things an answer has that are paid for in groups.

use std::collections::BTreeSet;

use serde_json::Value;

use super::answer;
use super::requests::Case;
use crate::app::TestResponse;

/// The sizes of the lists that are paid for, in the answer to a case. Each list is divided into groups of its own.
pub(super) async fn sizes(noun: &str, case: &Case, response: &TestResponse) -> Vec<usize> {
    match noun {
        "distinct ids" => {
            let (_, ids) = case.path.split_once("ids=").expect("ids in the query");
            vec![ids.split(',').collect::<BTreeSet<_>>().len()]
        }
        "videos" => {
            // Only the results of a search have a type.
            let is_video = |item: &Value| item.get("type").is_none_or(|kind| kind == "video");
            vec![ids(&response.json(), is_video).len()]
        }
        "playlists" | "entries" | "threads" | "replies" => {
            vec![ids(&response.json(), |_| true).len()]
        }
        "videos that are read" => {
            let body: Value = serde_json::from_str(&case.body).unwrap();
            let is_part = body.get("filter").is_none() && body.get("sort").is_none();
            let end = body["range"]["end"].as_u64().filter(|_| is_part);
            let all = response.json()["originalCount"].as_u64().unwrap();
            vec![end.map_or(all, |end| end.min(all)) as usize]
        }
        "entries that are read, up to `to`" | "entries that are read, up to `to` or `since`" => {
            vec![response.json()["requestedRange"][1].as_u64().unwrap() as usize]
        }
        // The words of these cases are in no thread, so that all threads are read.
        "threads that are read" => {
            vec![ids(&without(case, "search").await, |_| true).len()]
        }
        "replies of each thread that has more than YouTube sent with it" => {
            let threads = without(case, "replies").await;
            let threads = items(&threads).iter().map(|thread| {
                let sent = thread["replies"].as_array().map_or(0, Vec::len);
                (thread["totalReplyCount"].as_u64().unwrap() as usize, sent)
            });
            threads.filter(|(all, sent)| all > sent).map(|(all, _)| all).collect()
        }
        other => panic!("no rule counts {other:?}"),
    }
}

/// The answer to the same request without a parameter.
async fn without(case: &Case, parameter: &str) -> Value {
    let (path, query) = case.path.split_once('?').unwrap_or((&case.path, ""));
    let is_other = |pair: &&str| pair.split('=').next() != Some(parameter);
    let query: Vec<&str> = query.split('&').filter(is_other).collect();
    let case = Case { path: format!("{path}?{}", query.join("&")), ..case.clone() };
    answer(true, &case).await.0.json()
}

/// The elements of the only list of an answer.
fn items(answer: &Value) -> &[Value] {
    let names = ["items", "videos", "videoIds"];
    let list = names.iter().find_map(|name| answer.get(name)).unwrap_or(answer);
    list.as_array().unwrap_or_else(|| panic!("a list: {answer}"))
}

fn ids(answer: &Value, is_counted: impl Fn(&Value) -> bool) -> BTreeSet<String> {
    let counted = items(answer).iter().filter(|item| is_counted(item));
    counted.map(|item| item.get("id").unwrap_or(item).to_string()).collect()
}
