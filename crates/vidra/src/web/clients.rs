//! The player clients that we identify as. YouTube retires versions every few months and treats
//! each client differently. They are data, so that a file can replace them without a release.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::{Error, Reason, Result};
use crate::ident::VideoId;

/// Player clients, in the order of use.
#[derive(Debug, Clone)]
pub struct Clients(Vec<Client>);

/// One player client.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Client {
    /// YouTube's `clientName`.
    pub(crate) name: String,
    /// YouTube's number of the client, for a header.
    pub(crate) id: u32,
    /// `clientVersion`.
    pub(crate) version: String,
    pub(crate) user_agent: String,
    /// Additional members of the client's context.
    #[serde(default)]
    context: Map<String, Value>,
    /// The page that embeds the player.
    #[serde(default)]
    embed_url: Option<String>,
}

impl Clients {
    /// The player clients of this release.
    pub fn builtin() -> Self {
        Self::from_json(include_str!("clients.json")).expect("a test reads the built-in players")
    }

    /// Parses a list in the format of `clients.json`.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] if the JSON or a client is not valid, or if the list is empty.
    pub fn from_json(text: &str) -> Result<Self> {
        let invalid = |message: String| Error::new(Reason::InvalidInput, message);
        let clients: Vec<Client> =
            serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?;
        if clients.is_empty() {
            return Err(invalid("at least one client is needed".to_owned()));
        }
        for (number, client) in (1..).zip(&clients) {
            if let Some(fault) = client.fault() {
                return Err(invalid(format!("client {number} ({:?}): {fault}", client.name)));
            }
        }
        Ok(Self(clients))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.0.iter()
    }
}

impl Client {
    /// Why the client does not fit into a URL or a header. `None` if it does.
    fn fault(&self) -> Option<&'static str> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let fits_header =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if self.name.is_empty() || !self.name.bytes().all(is_name) {
            return Some("name must be ASCII letters, digits and _");
        }
        if !fits_header(&self.version) {
            return Some("version must be visible ASCII");
        }
        if !fits_header(&self.user_agent) {
            return Some("userAgent must be visible ASCII");
        }
        None
    }

    /// The body of a player request. It uses English, because error messages are recognised by
    /// their words.
    pub(crate) fn player_body(&self, id: VideoId) -> String {
        let mut client = json!({
            "clientName": self.name,
            "clientVersion": self.version,
            "userAgent": self.user_agent,
            "hl": "en",
            "gl": "US",
            "timeZone": "UTC",
            "utcOffsetMinutes": 0,
        });
        if let Some(fields) = client.as_object_mut() {
            fields.extend(self.context.clone());
        }
        let mut context = json!({"client": client});
        if let Some(url) = &self.embed_url {
            context["thirdParty"] = json!({"embedUrl": url});
        }
        json!({
            "context": context,
            "videoId": id.as_str(),
            "contentCheckOk": true,
            "racyCheckOk": true,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_do_not_fit_a_url_or_header_are_rejected_by_name() {
        let with = |name: &str, version: &str, agent: &str| {
            let client =
                |name| json!({"name": name, "id": 3, "version": version, "userAgent": agent});
            Clients::from_json(&json!([client("ANDROID"), client(name)]).to_string())
        };
        assert!(with("TVHTML5_SIMPLY", "1.02", "agent/1 (a; b) gzip").is_ok());
        let name = "name must be ASCII letters, digits and _";
        let table = [
            (with("", "1", "a"), r#"client 2 (""): "#, name),
            (with("A&tlang=de", "1", "a"), r#"client 2 ("A&tlang=de"): "#, name),
            (with("\u{c4}", "1", "a"), "client 2 (\"\u{c4}\"): ", name),
            (with("A", "", "a"), r#"client 1 ("ANDROID"): "#, "version must be visible ASCII"),
            (with("A", "1\r\nx: y", "a"), "client 1", "version must be visible ASCII"),
            (with("A", "1", "a\tb"), "client 1", "userAgent must be visible ASCII"),
            (with("A", "1", "caf\u{e9}"), "client 1", "userAgent must be visible ASCII"),
        ];
        for (read, start, end) in table {
            let fault = read.unwrap_err();
            let fault = fault.message();
            assert!(fault.starts_with(start) && fault.ends_with(end), "{fault}");
        }
    }
}
