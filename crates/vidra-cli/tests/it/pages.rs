//! Paged lists and their formats, over the demo service.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::process::{Service, vidra};

/// Runs a command over the demo. Returns its output and its errors.
#[track_caller]
fn demo(args: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = vidra(folder.path());
    let command = command.env("VIDRA_DEMO", "1");
    let output = command.args(args).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, errors) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(0), "{errors}");
    (out, errors)
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn users_8_a_limit_pays_for_its_page_and_names_the_cursor() {
    let first = ["playlist", "PLsize5000", "--videos", "--limit", "2", "--json"];
    let (output, errors) = demo(&first);
    let page = document(&output);
    let cursor = page["nextCursor"].as_str().unwrap().to_owned();
    let more = format!("there is more: --cursor {cursor} continues the list, --all fetches");
    assert!(errors.starts_with(&format!("vidra: {more}")), "{errors}");
    assert!(errors.ends_with("vidra: cost: 2 units\n"), "{errors}");
    let positions = |page: &Value| {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["position"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(positions(&page), [1, 2]);

    let next = ["playlist", "PLsize5000", "--cursor", &cursor, "-l", "3", "--json", "-q"];
    let (output, errors) = demo(&next);
    assert_eq!((positions(&document(&output)), errors.as_str()), (vec![3, 4, 5], ""));
    let (table, _) = demo(&["playlist", "PLsize5000", "--videos", "-l", "2", "-q"]);
    let id = page["items"][0]["id"].as_str().unwrap();
    assert!(table.contains(id) && table.lines().count() >= 2, "{table}");
}

#[test]
fn users_8_all_follows_the_pages_and_csv_has_one_header_row() {
    let args = ["playlist", "PLsize5000", "--all", "--csv", "--fields", "position,id"];
    let (output, errors) = demo(&args);
    let mut rows = output.split_terminator("\r\n");
    assert_eq!(rows.next(), Some("position,id"));
    let positions: Vec<&str> = rows.map(|row| row.split_once(',').unwrap().0).collect();
    let expected: Vec<String> = (1..=5_000).map(|position: u32| position.to_string()).collect();
    assert_eq!(positions, expected);
    assert_eq!(errors, "vidra: cost: 200 units\n");
    let whole = ["playlist", "PLsize120", "--csv", "--fields", "id", "-q"];
    assert_eq!(demo(&whole).0.lines().count(), 121, "a playlist is complete without a flag");
}

#[test]
fn users_13_fields_choose_the_members_of_each_item() {
    let args = ["playlist", "PLsize120", "--all", "--fields", "position", "-q"];
    let expected: Vec<Value> = (1..=120).map(|position| json!({"position": position})).collect();
    assert_eq!(document(&demo(&args).0), json!({"items": expected}));
    let lines = ["playlist", "PLsize120", "--all", "--ndjson", "--jq", ".position", "-q"];
    let expected: String = (1..=120).map(|position| format!("{position}\n")).collect();
    assert_eq!(demo(&lines).0, expected);
}

#[test]
fn users_8_uploads_of_a_time_are_the_same_from_a_running_service() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(vidra(folder.path()).env("VIDRA_DEMO", "1"));
    let url = format!("http://{}", service.address);
    let fields = ["--fields", "id,publishedAt", "-q"];
    let (newest, _) = demo(&[&["uploads", "@fermata", "--limit", "60"], &fields[..]].concat());
    let newest = document(&newest)["items"].as_array().unwrap().clone();
    let day = |upload: &Value| upload["publishedAt"].as_str().unwrap()[..10].to_owned();
    let since = day(&newest[newest.len() / 2]);
    let expected: Vec<Value> =
        newest.iter().filter(|upload| day(upload) >= since).cloned().collect();
    assert!(expected.len() < newest.len(), "some are older than {since}");

    let args = [&["uploads", "@fermata", "--since", &since, "--all"], &fields[..]].concat();
    let (output, _) = demo(&args);
    assert_eq!(document(&output), json!({"items": expected}));
    let mut remote = vidra(folder.path());
    let remote = remote.args(&args).args(["--server", &url]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8(remote.stdout).unwrap(), output);
}

/// The ids of the items of a page.
fn ids(text: &str) -> Vec<String> {
    let page = document(text);
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn searches_follow_pages_of_50_and_have_an_estimate() {
    let (output, errors) = demo(&["search-videos", "in", "--limit", "60", "--json"]);
    let page = document(&output);
    assert_eq!(ids(&output).len(), 60);
    assert!(page["totalEstimate"].as_u64().unwrap() > 60, "{}", page["totalEstimate"]);
    assert!(page["items"].as_array().unwrap().iter().all(|item| item["type"] == "video"));
    // Two searches, and a unit for the videos of each.
    assert!(errors.ends_with("vidra: cost: 4 units\n"), "{errors}");

    let cursor = page["nextCursor"].as_str().unwrap();
    let next = ["search-videos", "in", "--cursor", cursor, "-l", "5", "--json", "-q"];
    let next = ids(&demo(&next).0);
    let whole = ids(&demo(&["search-videos", "in", "--limit=120", "--json", "-q"]).0);
    assert_eq!(([ids(&output), next].concat().as_slice(), true), (&whole[..65], whole.len() > 65));
    let (rows, _) = demo(&["search-videos", "in", "--limit=120", "--csv", "--fields", "id", "-q"]);
    assert_eq!(rows.split_terminator("\r\n").skip(1).collect::<Vec<_>>(), whole);
}

/// Searches are scarce. Other lists are filled up from the next page.
#[test]
fn a_search_with_deleted_videos_is_not_filled_up() {
    let (output, errors) = demo(&["search-videos", "quirk", "deleted", "--limit", "50", "--json"]);
    assert!((1..50).contains(&ids(&output).len()), "{output}");
    assert!(errors.ends_with("vidra: cost: 2 units\n"), "{errors}");
}

#[test]
fn flags_of_a_search_select_results() {
    let found = |flags: &[&str]| {
        let args = [&["search-videos", "session", "--json", "-q"], flags].concat();
        document(&demo(&args).0)["items"].as_array().unwrap().clone()
    };
    let all = found(&["--all"]);
    let is_medium = |video: &Value| (240..=1_200).contains(&video["duration"].as_u64().unwrap());
    type IsSelected = fn(&Value) -> bool;
    let table: [(&[&str], IsSelected); 4] = [
        (&["--all", "--duration=medium"], is_medium),
        (&["--all", "--since=2020-01-01"], |video| video["publishedAt"].as_str() >= Some("2020")),
        (&["--all", "--until=2019-12-31"], |video| video["publishedAt"].as_str() < Some("2020")),
        (&["--all", "--live=ended", "--include=details"], |video| {
            video["details"]["live"] == "ended"
        }),
    ];
    for (flags, is_selected) in table {
        let some = found(flags);
        assert!(some.iter().all(is_selected), "{flags:?}");
        assert!(some.len() < all.len(), "{flags:?}: {} of {}", some.len(), all.len());
    }
    assert!(all.iter().any(|video| !is_medium(video)));
    let newest = found(&["--order=date", "--limit=20"]);
    assert!(
        newest.is_sorted_by(|one, next| {
            one["publishedAt"].as_str() >= next["publishedAt"].as_str()
        })
    );
    let own = found(&["--channel=@fermata", "--limit=20"]);
    assert!(own.iter().all(|video| video["channel"] == "Fermata Sessions") && !own.is_empty());
}

#[test]
fn include_adds_members_to_each_list_of_videos() {
    let lists: [&[&str]; 6] = [
        &["videos", "fda4eREcaTQ", "chapPlain__"],
        &["playlist", "PLsize50", "--limit=2"],
        &["uploads", "@fermata", "--limit=2"],
        &["search-videos", "session", "--limit=2"],
        &["popular", "--limit=2"],
        &["query", "PLsize50", "--to=2"],
    ];
    for list in lists {
        let args = [list, &["--json", "-q", "--include", "details,chapters"]].concat();
        let answer = document(&demo(&args).0);
        let videos = match &answer {
            Value::Array(videos) => videos,
            page => page.get("items").unwrap_or(&page["videos"]).as_array().unwrap(),
        };
        assert_eq!(videos.len(), 2, "{list:?}");
        for video in videos {
            assert!(video["details"]["category"]["title"].is_string(), "{list:?}: {video}");
            assert!(video["chapters"].is_array(), "{list:?}: {video}");
        }
        let table = demo(&[list, &["-q", "--include=details"]].concat()).0;
        assert!(table.contains("category"), "{table}");
    }
    let card = demo(&["video", "chapPlain__", "-q", "--include", "details,chapters"]).0;
    assert!(card.contains("Music") && card.contains("chapters\n0:00  Intro\n"), "{card}");
}

#[test]
fn filters_of_a_query_select_videos() {
    let query = |flags: &[&str]| {
        let args = [&["query", "PLsize200", "--json", "-q"], flags].concat();
        document(&demo(&args).0)["videos"].as_array().unwrap().clone()
    };
    let all = query(&[]);
    let title = |video: &Value| video["title"].as_str().unwrap().to_lowercase();
    let with_word = all.iter().filter(|video| title(video).contains("walking"));
    let with_word: Vec<Value> = with_word.cloned().collect();
    assert!((1..all.len()).contains(&with_word.len()));
    assert_eq!(query(&["--title", "WALKING"]), with_word);
    let published = |video: &Value| video["publishedAt"].as_str().unwrap().to_owned();
    let day = published(&all[100])[..10].to_owned();
    let since: Vec<Value> =
        all.iter().filter(|video| published(video)[..10] >= *day).cloned().collect();
    assert_eq!(query(&["--since", &day]), since);
    assert_eq!(query(&["--since", &day, "--until", &day, "--to=1"]).len(), 1);
    assert!(query(&["--sort=title"]).is_sorted_by_key(title));
    assert!(query(&["--sort=published", "--order=asc"]).is_sorted_by_key(published));
    let last = query(&["--sort=position", "--order=desc", "--to=1"]);
    assert_eq!(last.as_slice(), &all[all.len() - 1..]);
}

#[test]
fn all_comments_are_read_page_by_page() {
    let id = "fda4eREcaTQ";
    let threads = |flags: &[&str]| demo(&[&["comments", id, "--json", "-q"], flags].concat()).0;
    let all = ids(&threads(&["--all"]));
    assert!(all.len() > 100, "{}", all.len());
    assert_eq!(ids(&threads(&["--limit=2001"])), all);
    let some = document(&threads(&["--limit=2000"]));
    assert_eq!(some.as_array().unwrap().len(), all.len(), "up to 2000 are one list");
    let words = ["--search", "again", "--replies=all"];
    let found = document(&threads(&words)).as_array().unwrap().len();
    assert!((1..20).contains(&found), "{found}");
    assert_eq!(ids(&threads(&[&words[..], &["--all"]].concat())).len(), found);
}

#[test]
fn feeds_and_playlists_of_several_ids_name_their_source() {
    let (one, other) = ("PLsize50", "UCB-2_pXPtFYDifLXZF-S8PA");
    let feed = document(&demo(&["feed", one, "--json", "-q"]).0);
    assert_eq!((&feed["source"], feed["items"].as_array().unwrap().len()), (&json!("feed"), 15));
    let both = document(&demo(&["feed", one, other, "--fields", "id", "-q"]).0);
    let both = both.as_array().unwrap();
    let of = |id: &str| both.iter().filter(|video| video["from"] == id).count();
    assert_eq!((of(one), of(other), both.len()), (15, 15, 30));

    let (output, errors) = demo(&["playlists", other, "--all", "--json"]);
    let playlists = ids(&output);
    assert!(playlists.len() > 50 && errors == "vidra: cost: 2 units\n", "{errors}");
    let page = demo(&["playlists", other, "--limit", "2", "--json", "-q"]).0;
    assert_eq!(ids(&page), playlists[..2]);
}

#[test]
fn charts_depend_on_region_and_category() {
    let chart = |flags: &[&str]| {
        ids(&demo(&[&["popular", "--limit=20", "--json", "-q"], flags].concat()).0)
    };
    assert_ne!(chart(&["--category=10"]), chart(&[]));
    let all = ids(&demo(&["popular", "--all", "--json", "-q"]).0);
    assert!((51..=200).contains(&all.len()), "{}", all.len());
    assert_eq!(all[..20], chart(&[]));
}
