//! The file of caller keys. It contains a hash of each key and the limits of its holder.
//!
//! Keys are 256 random bits, so a plain SHA-256 can be neither guessed nor looked up.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::rate::Rate;
use crate::config_file::read_config_file;

/// The content of the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct KeyFile {
    keys: Vec<KeyEntry>,
    #[serde(flatten)]
    unknown: UnknownFields,
}

/// Fields of a later release. This one ignores them with a warning, so that a downgrade works, and writes them
/// back.
type UnknownFields = BTreeMap<String, Value>;

/// The key of one caller.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyEntry {
    /// The name of the key.
    pub name: KeyName,
    pub(super) sha256: KeyHash,
    /// The rate limit; `None` for the default of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Upstream units per day; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<u32>,
    /// Upstream searches per day; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searches: Option<u32>,
    /// Whether the holder may see the usage of all callers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub operator: bool,
    /// The date of creation, in UTC.
    pub created: String,
    #[serde(flatten)]
    unknown: UnknownFields,
}

/// The limits and the rights of a key, as in [`KeyEntry`].
#[derive(Debug, Clone, Copy, Default)]
#[expect(missing_docs, reason = "`KeyEntry` documents them")]
pub struct KeyLimits {
    pub rate: Option<Rate>,
    pub units: Option<u32>,
    pub searches: Option<u32>,
    pub operator: bool,
}

/// The name of a key: letters, digits, `.`, `_` and `-`, so that it is safe in tables and logs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct KeyName(String);

impl KeyName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for KeyName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_name = (1..=64).contains(&text.len()) && text.bytes().all(is_known);
        let wrong = "a name has 1 to 64 letters, digits, dots, hyphens or underscores";
        if is_name { Ok(Self(text)) } else { Err(wrong) }
    }
}

impl std::str::FromStr for KeyName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.to_owned().try_into()
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The SHA-256 of a key.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct KeyHash(pub(super) [u8; 32]);

impl KeyHash {
    pub(super) fn new(key: &[u8]) -> Self {
        Self(Sha256::digest(key).into())
    }

    /// The first bytes, as the key of a table.
    pub(super) fn prefix(self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|at| self.0[at]))
    }
}

impl TryFrom<String> for KeyHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap_or(0);
        // The message does not quote the text, which may be the key itself.
        let wrong = "sha256 has to be 64 hexadecimal digits";
        if is_hex { Ok(Self(std::array::from_fn(byte))) } else { Err(wrong) }
    }
}

impl From<KeyHash> for String {
    fn from(hash: KeyHash) -> Self {
        hash.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl KeyFile {
    /// Reads a file; `None` if it does not exist. Errors name the line and never quote its content. The log
    /// warns of unknown fields, which may be limits that this release does not apply.
    pub fn read(path: &Path) -> Result<Option<Self>, String> {
        let shown = path.display();
        let text = match read_config_file(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot read {shown}: {error}")),
        };
        let file = Self::parse(&text).map_err(|error| format!("{shown}: {error}"))?;
        let unknown = file.unknown_fields();
        if !unknown.is_empty() {
            tracing::warn!(fields = unknown.join(", "), "unknown fields of caller keys ignored");
        }
        Ok(Some(file))
    }

    /// The names of unknown fields. A name that looks like no name is not quoted: it may be a key in the wrong
    /// place.
    fn unknown_fields(&self) -> Vec<&str> {
        let of_keys = self.keys.iter().flat_map(|entry| entry.unknown.keys());
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        let shown = self.unknown.keys().chain(of_keys).map(|name| {
            let is_name = name.len() <= 24 && name.bytes().all(is_word);
            if is_name { name.as_str() } else { "…" }
        });
        let mut names: Vec<&str> = shown.collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn parse(text: &[u8]) -> Result<Self, String> {
        let file: Self = serde_json::from_slice(text).map_err(|error| {
            // Quoted texts are removed: one may be a key in the wrong place.
            let error = error.to_string();
            let safe: Vec<&str> = error.split('"').step_by(2).collect();
            format!("this is no file of caller keys: {}", safe.join("…"))
        })?;
        for (index, entry) in file.keys.iter().enumerate() {
            let (before, name) = (&file.keys[..index], &entry.name);
            if before.iter().any(|other| other.name == *name) {
                return Err(format!("there are two keys named {name}"));
            }
            if let Some(other) = before.iter().find(|other| other.sha256 == entry.sha256) {
                return Err(format!("there is the same key for {} and {name}", other.name));
            }
        }
        Ok(file)
    }

    /// Replaces the file atomically. A new file is readable by its owner only.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        replace_file(path, self)
    }

    /// All keys, in the order of creation.
    pub fn keys(&self) -> &[KeyEntry] {
        &self.keys
    }

    /// Adds a key, created at `now`. Fails if the name is taken.
    pub fn add(
        &mut self,
        name: KeyName,
        key: &str,
        limits: KeyLimits,
        now: SystemTime,
    ) -> Result<(), String> {
        if self.keys.iter().any(|entry| entry.name == name) {
            return Err(format!("there is a key named {name} already: revoke it first"));
        }
        let now = Timestamp::try_from(now).map_err(|error| error.to_string())?;
        let created = now.to_zoned(TimeZone::UTC).date().to_string();
        let KeyLimits { rate, units, searches, operator } = limits;
        self.keys.push(KeyEntry {
            name,
            sha256: KeyHash::new(key.as_bytes()),
            rate,
            units,
            searches,
            operator,
            created,
            unknown: UnknownFields::new(),
        });
        Ok(())
    }

    /// Removes a key. Fails if there is none of that name.
    pub fn revoke(&mut self, name: &KeyName) -> Result<(), String> {
        let count = self.keys.len();
        self.keys.retain(|entry| entry.name != *name);
        if self.keys.len() < count { Ok(()) } else { Err(format!("there is no key named {name}")) }
    }
}

/// Replaces a file with JSON, atomically. It keeps the owner and the permissions of the old file; a new file
/// is readable by its owner only.
fn replace_file(path: &Path, value: &impl Serialize) -> io::Result<()> {
    // Replaces the target of a symbolic link, not the link.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    // A killed process may have left it, or an attacker may have planted a link under that name.
    let _ = fs::remove_file(&new);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&new)?;
    let mut write = || {
        if let Ok(old) = fs::metadata(path) {
            // The service must still be able to read a file that an administrator changed.
            let _ = fchown(&file, Some(old.uid()), Some(old.gid()));
            let _ = file.set_permissions(old.permissions());
        }
        file.write_all(&serde_json::to_vec_pretty(value)?)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&new)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    fn read(text: &str) -> Result<KeyFile, String> {
        KeyFile::parse(text.as_bytes())
    }

    /// Only a missing file means that there are no keys: otherwise a service with an unreadable file would start open.
    #[test]
    fn an_unreadable_key_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let shown = path.display();
        assert!(KeyFile::read(&path).unwrap().is_none());
        let text =
            format!(r#"{{"keys":[{{"name":"alice","sha256":"{HASH}","created":"2026-11-15"}}]}}"#);
        fs::write(&path, text).unwrap();
        let names: Vec<String> = KeyFile::read(&path)
            .unwrap()
            .expect("a file")
            .keys()
            .iter()
            .map(|entry| entry.name.to_string())
            .collect();
        assert_eq!(names, ["alice"]);
        fs::write(&path, "{").unwrap();
        let damaged = KeyFile::read(&path).unwrap_err();
        assert!(damaged.starts_with(&format!("{shown}: this is no file")), "{damaged}");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let unreadable = KeyFile::read(&path).unwrap_err();
        assert!(unreadable.starts_with(&format!("cannot read {shown}: ")), "{unreadable}");
    }

    #[test]
    fn a_planted_symlink_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [victim, path] = ["victim", "keys.json"].map(|name| folder.path().join(name));
        fs::write(&victim, "precious").unwrap();
        let planted = folder.path().join(format!("keys.json.{}.new", std::process::id()));
        std::os::unix::fs::symlink(&victim, planted).unwrap();
        KeyFile::default().write(&path).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(KeyFile::read(&path).unwrap().unwrap().keys().is_empty());
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn a_key_file_round_trips() {
        let mut file = KeyFile::default();
        let rate = "60/m".parse().ok();
        let limits = KeyLimits { rate, units: Some(500), searches: Some(0), operator: true };
        let day = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * 20_000);
        file.add("alice".parse().unwrap(), "test", limits, day).unwrap();
        file.add("bob".parse().unwrap(), "other", KeyLimits::default(), day).unwrap();
        let text = serde_json::to_string(&file).unwrap();
        let alice = format!(
            r#"{{"name":"alice","sha256":"{HASH}","rate":"60/m","units":500,"searches":0,"operator":true,"created":"2024-10-04"}}"#
        );
        assert!(text.contains(&alice), "{text}");
        assert!(!text.contains("test"), "only the hash of a key is stored");
        let again = serde_json::to_string(&read(&text).unwrap()).unwrap();
        assert_eq!(again, text);

        let taken = file.add("alice".parse().unwrap(), "x", limits, day).unwrap_err();
        assert!(taken.contains("a key named alice already"), "{taken}");
        file.revoke(&"alice".parse().unwrap()).unwrap();
        let gone = file.revoke(&"alice".parse().unwrap()).unwrap_err();
        assert_eq!(gone, "there is no key named alice");
        assert_eq!(file.keys().len(), 1);
    }

    #[test]
    fn parse_errors_name_the_line_and_never_quote_the_content() {
        let entry = |name: &str, hash: &str, more: &str| {
            format!(
                "{{\"name\": \"{name}\", \"sha256\": \"{hash}\", \"created\": \"2026-11-15\"{more}}}"
            )
        };
        let other = HASH.replace('9', "8");
        let table = [
            (String::new(), "line 1"),
            ("{\"keys\": [\n  {]}".to_owned(), "line 2"),
            (format!("{{\"keys\": [\n\n{}]}}", entry("a", "vk_secret", "")), "line 3"),
            (format!("{{\"keys\": [{}]}}", entry("a b", HASH, "")), "a name has 1 to 64"),
            (format!("{{\"keys\": [{}]}}", entry("a", HASH, ", \"rate\": \"fast\"")), "100/s"),
            (
                format!("{{\"keys\": [{}]}}", entry("a", HASH, ", \"units\": \"vk_secret\"")),
                "line 1",
            ),
            (
                format!("{{\"keys\": [{}, {}]}}", entry("a", HASH, ""), entry("a", &other, "")),
                "two keys named a",
            ),
            (
                format!("{{\"keys\": [{}, {}]}}", entry("a", HASH, ""), entry("b", HASH, "")),
                "the same key for a and b",
            ),
        ];
        for (text, expected) in table {
            let error = read(&text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn review_o9_unknown_fields_are_ignored_and_written_back() {
        let text = format!(
            r#"{{"keys":[{{"name":"a","sha256":"{HASH}","created":"2026-11-15","expires":"2027","vk_1Secret":[1]}}],"version":2}}"#
        );
        let mut file = read(&text).unwrap();
        assert_eq!(file.unknown_fields(), ["expires", "version", "…"]);
        file.add("b".parse().unwrap(), "x", KeyLimits::default(), SystemTime::now()).unwrap();
        let again: Value = serde_json::to_value(&file).unwrap();
        assert_eq!(again["version"], 2);
        assert_eq!(
            (&again["keys"][0]["expires"], &again["keys"][0]["vk_1Secret"][0]),
            (&"2027".into(), &1.into())
        );
        assert!(again["keys"][1].get("expires").is_none());
    }

    #[test]
    fn debug_output_of_a_key_hash_hides_the_hash() {
        let text = format!("{:?}", KeyHash::new(b"test"));
        assert!(!text.contains("9f86") && !text.contains("159"), "{text}");
    }
}
