//! The imports between the modules of one crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Checks that the crate lists all its modules and that its imports point downwards only.
/// `manifest_dir` is the folder of its `Cargo.toml`: `env!("CARGO_MANIFEST_DIR")`.
///
/// # Panics
///
/// With a list of all faults, one per line. Also when a source file cannot be read.
pub fn check(manifest_dir: &str) {
    let source = Path::new(manifest_dir).join("src");
    let (root, text) = root_file(&source);
    let rooms = rooms(&text);
    let mut found = unlisted(&rooms, &text);
    for file in files(&source) {
        let path = file.strip_prefix(&source).unwrap();
        // The root lies above every room. The root of a program beside a library is another crate.
        if path == Path::new(root) || path == Path::new("main.rs") {
            continue;
        }
        let room = path.components().next().unwrap().as_os_str().to_str().unwrap();
        let depth = path.components().count();
        let code = code(&read(&file));
        let faults = faults(&rooms, room.trim_end_matches(".rs"), depth, &code);
        found.extend(faults.into_iter().map(|fault| format!("{}: {fault}", path.display())));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// The name and the text of the root file: that of the library, or of the program if there is no
/// library.
fn root_file(source: &Path) -> (&'static str, String) {
    let root = if source.join("lib.rs").exists() { "lib.rs" } else { "main.rs" };
    (root, read(&source.join(root)))
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Every Rust file under `folder`, in a stable order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let (folders, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|path| path.is_dir());
    let nested = folders.iter().flat_map(|folder| self::files(folder));
    let all = files.into_iter().chain(nested);
    all.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The rooms from the top down, as the section `# Rooms` of the root file lists them.
fn rooms(root: &str) -> Vec<&str> {
    let section = root.lines().skip_while(|line| *line != "//! # Rooms").skip(1);
    let section = section.take_while(|line| line.starts_with("//!") && !line.starts_with("//! #"));
    let listed = section.filter_map(|line| line.strip_prefix("//! - `")?.split_once('`'));
    listed.map(|(room, _)| room).collect()
}

/// Differences between the list of rooms and the modules that the root file declares.
fn unlisted(rooms: &[&str], root: &str) -> Vec<String> {
    let modules = root.lines().filter_map(|line| line.strip_suffix(';')?.split_once("mod "));
    let modules: BTreeSet<&str> = modules.map(|(_, name)| name).collect();
    let listed: BTreeSet<&str> = rooms.iter().copied().collect();
    let missing = modules.difference(&listed).map(|room| format!("# Rooms does not list {room}"));
    let unknown =
        listed.difference(&modules).map(|room| format!("# Rooms lists {room}, no module"));
    let mut faults: Vec<String> = missing.chain(unknown).collect();
    if listed.len() != rooms.len() {
        faults.push("# Rooms lists a room twice".to_owned());
    }
    faults
}

/// Source text without comments, which may link upwards.
fn code(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| line.split(" // ").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn is_identifier_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The first segment of every path that begins with `crate::`, also within braces.
fn imports(code: &str) -> BTreeSet<String> {
    let first = |path: &str| {
        path.trim_start().chars().take_while(|c| is_identifier_char(*c)).collect::<String>()
    };
    let mut found = BTreeSet::new();
    for (at, keyword) in code.match_indices("crate::") {
        if code[..at].ends_with(is_identifier_char) {
            continue;
        }
        let rest = &code[at + keyword.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.insert(first(rest));
            continue;
        };
        let (mut depth, mut begins) = (0, true);
        for (at, c) in group.char_indices() {
            if begins && !c.is_whitespace() {
                found.insert(first(&group[at..]));
                begins = false;
            }
            match c {
                '}' if depth == 0 => break,
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' => begins = depth == 0,
                _ => {}
            }
        }
    }
    found.remove("");
    found
}

/// Whether a chain of `super::` leaves the room. `depth` is 1 for the file of a room and grows by one
/// with each folder; an inline module, as rustfmt lays it out, adds one.
fn leaves_the_room(depth: usize, code: &str) -> bool {
    let mut inline: Vec<String> = vec![];
    for line in code.lines() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if inline.last().is_some_and(|end| end == line) {
            inline.pop();
        }
        let is_module = line
            .strip_suffix('{')
            .is_some_and(|head| head.split_whitespace().rev().nth(1) == Some("mod"));
        if is_module {
            inline.push(format!("{indent}}}"));
        }
        let mut rest = line;
        while let Some(at) = rest.find("super::") {
            let chain = &rest[at..];
            let after = chain.trim_start_matches("super::");
            let steps = (chain.len() - after.len()) / "super::".len();
            if steps >= depth + inline.len() {
                return true;
            }
            rest = after;
        }
    }
    false
}

/// The faults in the imports of a file of `room`.
fn faults(rooms: &[&str], room: &str, depth: usize, code: &str) -> Vec<String> {
    let height = |name: &str| rooms.iter().position(|room| *room == name);
    let mut faults = vec![];
    for import in imports(code) {
        match (height(room), height(&import)) {
            (Some(own), Some(other)) if other >= own => {}
            (_, Some(_)) => faults.push(format!("{room} imports {import}, which lies above it")),
            (_, None) => faults.push(format!("{room} imports {import}, which is no room")),
        }
    }
    if leaves_the_room(depth, code) {
        faults.push(format!("{room} leaves its room through super:: instead of crate::"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upward_imports_are_found_in_every_syntax() {
        let rooms = ["top", "middle", "bottom"];
        let table = [
            ("middle", "use crate::bottom::{self, Thing};", true),
            ("middle", "use crate::{bottom, middle::inner};", true),
            ("middle", "// use crate::top::Thing;", true),
            ("middle", "use my_crate::top::Thing;", true),
            ("middle", "mod tests {\n    use super::{Thing, run};\n}", true),
            ("middle", "use crate::top::Thing;", false),
            ("middle", "pub(crate) use crate::top::Thing;", false),
            ("middle", "fn f() { crate::top::run() }", false),
            ("middle", "use crate::{\n    bottom::{A, B},\n    top,\n};", false),
            ("bottom", "use crate::{middle::{A, B}};", false),
            ("middle", "use crate::App;", false),
            ("unlisted", "use crate::bottom::Thing;", false),
            ("middle", "use super::top::Thing;", false),
            ("middle", "mod tests {\n    use super::super::top::Thing;\n}", false),
            ("middle", "mod tests {\n    use super::*;\n}\nuse super::top::Thing;", false),
        ];
        for (room, text, is_allowed) in table {
            let found = faults(&rooms, room, 1, &code(text));
            assert_eq!(found.is_empty(), is_allowed, "{text}: {found:?}");
        }
    }

    #[test]
    fn super_is_allowed_within_a_room() {
        let text = "pub(super) fn f() { super::super::run() }";
        assert!(!leaves_the_room(3, text));
        assert!(leaves_the_room(2, text));
        assert!(!leaves_the_room(1, "pub(super) struct Thing;"));
    }

    #[test]
    fn room_list_is_compared_with_the_modules() {
        let root = "//! - `not_a_room`: before\n//!\n//! # Rooms\n//!\n//! - `a`: one\n//! - `b`: two\n//!\n\
            //! # More\n//!\n//! - `nor_this`: after\n\nmod a;\n#[cfg(test)]\npub(crate) mod b;\n";
        let rooms = rooms(root);
        assert_eq!(rooms, ["a", "b"]);
        assert!(unlisted(&rooms, root).is_empty());
        assert_eq!(unlisted(&["a"], root), ["# Rooms does not list b"]);
        assert_eq!(unlisted(&["a", "b", "c"], root), ["# Rooms lists c, no module"]);
        assert_eq!(unlisted(&["a", "b", "a"], root), ["# Rooms lists a room twice"]);
    }
}
