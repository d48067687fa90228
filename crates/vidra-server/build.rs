//! Compresses the files of the pages for the binary: everything in `web/`, and the files of Swagger UI that
//! `/docs` needs.

use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Read, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

/// The files of Swagger UI by their path in its archive, with their names here.
const SWAGGER_UI: [(&str, &str); 4] = [
    ("dist/swagger-ui-bundle.js", "swagger-ui/swagger-ui-bundle.js"),
    ("dist/swagger-ui.css", "swagger-ui/swagger-ui.css"),
    ("LICENSE", "swagger-ui/LICENSE.txt"),
    ("NOTICE", "swagger-ui/NOTICE.txt"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=web");
    let mut files = vec![];
    collect(Path::new("web"), "", &mut files);
    files.extend(swagger_ui());
    files.sort();
    let folder = std::env::var("OUT_DIR").expect("cargo names a folder");
    let mut table = String::from("&[\n");
    for (at, (name, bytes)) in files.iter().enumerate() {
        let packed = format!("{folder}/{at}.gz");
        fs::write(&packed, gzip(bytes)).expect("the folder can be written to");
        let tag: String = Sha256::digest(bytes)[..8].iter().fold(String::new(), |mut tag, byte| {
            let _ = write!(tag, "{byte:02x}");
            tag
        });
        let kind = content_type(name);
        let _ = writeln!(
            table,
            "File {{ name: {name:?}, content_type: {kind:?}, tag: {tag:?}, packed: include_bytes!({packed:?}) }},"
        );
    }
    table.push(']');
    fs::write(format!("{folder}/files.rs"), table).expect("the folder can be written to");
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name");
        let name = format!("{prefix}{name}");
        match path.is_dir() {
            true => collect(&path, &format!("{name}/"), files),
            false => files.push((name, fs::read(&path).expect("a file"))),
        }
    }
}

fn swagger_ui() -> impl Iterator<Item = (String, Vec<u8>)> {
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED)).expect("an archive");
    SWAGGER_UI.into_iter().map(move |(path, name)| {
        // The archive has one folder, which is named after the version.
        let is_it = |it: &String| it.split_once('/').is_some_and(|(_, rest)| rest == path);
        let paths = archive.file_names().map(|it| it.expect("a plain name").into_owned());
        let found = paths.into_iter().find(is_it).expect(path);
        let mut bytes = vec![];
        let mut file = archive.by_name(&found).expect(path);
        file.read_to_end(&mut bytes).expect("a complete archive");
        (name.to_owned(), bytes)
    })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory succeeds")
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        _ => panic!("no content type is known for {name}"),
    }
}
