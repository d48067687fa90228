//! The index of a library: it is built again, checked, and leaves nothing behind.

use std::path::PathBuf;

use rusqlite::Connection;
use tempfile::TempDir;
use vidra::VideoId;
use vidra_library::{Library, Limits};

use crate::Store;
use crate::search::{Video, found, library_of, long, page, request, store, three};

/// A new library in a file.
fn file() -> (TempDir, PathBuf, Library) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("library.db");
    let library = Library::open(&path, Limits::default()).unwrap();
    (folder, path, library)
}

async fn reindexing_changes_nothing(on: Store) {
    let library = library_of(&on, &three()).await;
    let before = found(&library, "climate OR plan*").await;
    assert_eq!(library.reindex(|_| ()).await.unwrap(), 3);
    assert_eq!(found(&library, "climate OR plan*").await, before);
    assert_eq!(library.complete_index(|_| ()).await.unwrap(), 0);
    store(&library, &Video::new(9, &["climate"])).await;
    assert_eq!(found(&library, "climate").await.len(), 3);
    assert!(library.check(false).await.unwrap().faults.is_empty());
}

/// A library of an earlier release has transcripts without an index.
#[tokio::test]
async fn transcripts_of_earlier_releases_are_indexed() {
    let (_folder, path, library) = file();
    for video in three() {
        store(&library, &video).await;
    }
    drop(library);
    let connection = Connection::open(&path).unwrap();
    let earlier = "DELETE FROM search_tracks; UPDATE search_indexes SET version = 0;
        DELETE FROM search_layouts_1; DELETE FROM search_passages_1; DELETE FROM search_seams_1; DELETE FROM search_words_1";
    connection.execute_batch(earlier).unwrap();
    drop(connection);
    let library = Library::open(&path, Limits::default()).unwrap();
    assert_eq!(found(&library, "climate").await, Vec::<String>::new());
    assert_eq!(library.complete_index(|_| ()).await.unwrap(), 3);
    assert_eq!(found(&library, "climate").await, ["1@2", "2@0"]);
}

/// Whether a file of the folder contains the text.
fn is_in_files(folder: &std::path::Path, text: &str) -> bool {
    let mut files = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    files.any(|file| {
        let bytes = std::fs::read(file).unwrap_or_default();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    })
}

#[tokio::test]
async fn forgetting_leaves_no_token_behind() {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::open(&folder.path().join("library.db"), Limits::default()).unwrap();
    for number in 1..20 {
        store(&library, &long(number, 300, &[3])).await;
    }
    let secret = Video {
        title: "zqtitle",
        description: "zqdescription",
        ..Video::new(50, &["zqsecret zqword"])
    };
    store(&library, &secret).await;
    for number in 60..90 {
        store(&library, &long(number, 300, &[3])).await;
    }
    assert!(is_in_files(folder.path(), "zqsecret"));
    library.forget(vec![VideoId::parse(&secret.id).unwrap()]).await.unwrap();
    for token in ["zqsecret", "zqword", "zqtitle", "zqdescription"] {
        assert!(!is_in_files(folder.path(), token), "{token}");
    }
    assert_eq!(page(&library, &request("needle")).await.total.videos, 49);
}

#[tokio::test]
async fn searches_go_on_while_the_index_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::open(&folder.path().join("library.db"), Limits::default()).unwrap();
    for number in 1..120 {
        store(&library, &long(number, 30, &[3])).await;
    }
    let during = async {
        let mut searches = 0;
        loop {
            assert_eq!(page(&library, &request("needle")).await.total.videos, 119);
            searches += 1;
            tokio::task::yield_now().await;
            if searches == 30 {
                return;
            }
        }
    };
    let (built, ()) = tokio::join!(library.reindex(|_| ()), during);
    assert_eq!(built.unwrap(), 119);
    assert_eq!(page(&library, &request("needle")).await.total.videos, 119);
}

/// A merge has already written a token when its video is forgotten.
#[tokio::test]
async fn forgetting_during_a_merge_leaves_no_token_behind() {
    let (folder, path, library) = file();
    let secret = Video::new(50, &["aaasecret zzzsecret"]);
    store(&library, &secret).await;
    for number in 1..30 {
        store(&library, &long(number, 300, &[3])).await;
    }
    let connection = Connection::open(&path).unwrap();
    for table in ["passages", "words"] {
        let merge =
            format!("INSERT INTO search_{table}_1 (search_{table}_1, rank) VALUES ('merge', -2)");
        connection.execute_batch(&merge).unwrap();
    }
    drop(connection);
    library.forget(vec![VideoId::parse(&secret.id).unwrap()]).await.unwrap();
    for token in ["aaasecret", "zzzsecret"] {
        assert!(!is_in_files(folder.path(), token), "{token}");
    }
    assert_eq!(page(&library, &request("needle")).await.total.videos, 29);
}

/// The names of all tables of indexes.
fn tables(path: &std::path::Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let query = "SELECT name FROM sqlite_schema WHERE name GLOB 'search_passages_[0-9]' OR name GLOB 'search_*_data' ORDER BY name";
    let mut query = connection.prepare(query).unwrap();
    let names = query.query_map([], |row| row.get(0)).unwrap();
    names.collect::<Result<_, _>>().unwrap()
}

/// An index of another time or release, of which a part is already removed.
fn leave_index(path: &std::path::Path, number: i64, version: i64) {
    let tables = ["passages", "seams", "words"].map(|table| {
        let name = format!("search_{table}_{number}");
        format!(
            "CREATE VIRTUAL TABLE {name} USING fts5(tokens, content='', contentless_delete=1);
            INSERT INTO {name} (rowid, tokens) VALUES (65536, 'some words'), (65537, 'needle');
            DELETE FROM {name}_data WHERE id > 10;"
        )
    });
    let rest = format!(
        "CREATE TABLE search_layouts_{number} (transcript INTEGER PRIMARY KEY, starts BLOB NOT NULL) STRICT;
        CREATE VIRTUAL TABLE search_instances_{number} USING fts5vocab(search_passages_{number}, instance);
        INSERT INTO search_indexes VALUES ({number}, {version}, 0);"
    );
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(&format!("{}{rest}", tables.concat())).unwrap();
}

#[tokio::test]
async fn former_indexes_are_removed() {
    let (_folder, path, library) = file();
    for number in 1..40 {
        store(&library, &long(number, 300, &[3])).await;
    }
    let second = [
        "search_passages_2",
        "search_passages_2_data",
        "search_seams_2_data",
        "search_words_2_data",
    ];
    assert_eq!(library.reindex(|_| ()).await.unwrap(), 39);
    assert_eq!(tables(&path), second);
    // A process was stopped while it removed an index, and one of another release while it built one.
    leave_index(&path, 1, 1);
    leave_index(&path, 3, 0);
    leave_index(&path, 4, 99);
    // They are in nobody's way.
    assert_eq!(library.complete_index(|_| ()).await.unwrap(), 0);
    let faults = library.check(false).await.unwrap().index_faults;
    assert!(faults.iter().all(|it| it.contains("_4")), "{faults:?}");
    store(&library, &long(40, 300, &[3])).await;
    assert_eq!(page(&library, &request("needle")).await.total.videos, 40);
    library.forget(vec![VideoId::parse("v0000000040").unwrap()]).await.unwrap();
    assert_eq!(tables(&path), second);
    assert!(library.check(false).await.unwrap().index_faults.is_empty());
    assert_eq!(page(&library, &request("needle")).await.total.videos, 39);
}

/// An unfinished index may be the faulty one.
#[tokio::test]
async fn a_faulty_unfinished_index_is_built_again() {
    let (_folder, path, library) = file();
    for video in three() {
        store(&library, &video).await;
    }
    leave_index(&path, 2, 1);
    assert!(!library.check(false).await.unwrap().index_faults.is_empty());
    library.check(true).await.unwrap();
    assert!(library.check(false).await.unwrap().index_faults.is_empty());
    assert_eq!(found(&library, "climate").await, ["1@2", "2@0"]);
    assert_eq!(tables(&path)[0], "search_passages_3");
}

/// Two processes build the same index, and others store meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn two_processes_build_one_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("library.db");
    let first = Library::open(&path, Limits::default()).unwrap();
    let second = Library::open(&path, Limits::default()).unwrap();
    for number in 1..60 {
        store(&first, &long(number, 60, &[3])).await;
    }
    let stores = async {
        for number in 60..80 {
            store(&second, &long(number, 60, &[3])).await;
        }
    };
    let (one, two, ()) = tokio::join!(first.reindex(|_| ()), second.reindex(|_| ()), stores);
    one.unwrap();
    two.unwrap();
    first.complete_index(|_| ()).await.unwrap();
    let check = first.check(false).await.unwrap();
    assert!(check.faults.is_empty() && check.index_faults.is_empty(), "{check:?}");
    assert_eq!(tables(&path).len(), 4);
    assert_eq!(page(&first, &request("needle")).await.total.videos, 79);
}

#[tokio::test]
async fn a_faulty_index_is_found_and_built_again() {
    let damages = [
        (
            "INSERT INTO search_layouts_1 VALUES (77, x'')",
            "the search index has removed transcripts: 1",
        ),
        ("DELETE FROM search_passages_1_data WHERE id > 10", "fts5: corruption"),
    ];
    for (damage, expected) in damages {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library.db");
        let library = Library::open(&path, Limits::default()).unwrap();
        for video in three() {
            store(&library, &video).await;
        }
        drop(library);
        Connection::open(&path).unwrap().execute_batch(damage).unwrap();
        let library = Library::open(&path, Limits::default()).unwrap();
        let check = library.check(false).await.unwrap();
        assert!(check.faults.is_empty(), "{check:?}");
        assert!(check.index_faults[0].contains(expected), "{check:?}");
        library.check(true).await.unwrap();
        assert!(library.check(false).await.unwrap().index_faults.is_empty(), "{damage}");
        assert_eq!(found(&library, "climate").await, ["1@2", "2@0"]);
    }
}

crate::on_each_store!(reindexing_changes_nothing);
