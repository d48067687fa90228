//! The players we say we are. The platform retires versions every few months and treats each player
//! differently, so they are data: a file can replace them without a new release.

use http::HeaderValue;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::ident::VideoId;

/// Players in the order they are tried.
#[derive(Debug, Clone)]
pub struct Clients(Vec<Client>);

/// One player.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Client {
    /// `clientName`, as the platform calls it.
    pub(crate) name: String,
    /// The number of that name, for a header.
    pub(crate) id: u32,
    /// `clientVersion`.
    pub(crate) version: String,
    pub(crate) user_agent: String,
    /// More members of the client's context.
    #[serde(default)]
    context: Map<String, Value>,
    /// The page that an embedded player claims to be on.
    #[serde(default)]
    embed_url: Option<String>,
}

impl Clients {
    /// The players that this release was made with.
    pub fn builtin() -> Self {
        Self::from_json(include_str!("clients.json")).expect("a test reads the built-in players")
    }

    /// Reads a list of players as it stands in `clients.json`; `Err` says what is wrong with it.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let clients: Vec<Client> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if clients.is_empty() {
            return Err("at least one client is needed".to_owned());
        }
        for client in &clients {
            let in_headers = [&client.version, &client.user_agent];
            if !in_headers.iter().all(|text| HeaderValue::from_str(text).is_ok()) {
                return Err(format!("{}: version and userAgent must fit a header", client.name));
            }
        }
        Ok(Self(clients))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.0.iter()
    }
}

impl Client {
    /// The body of a player call. In English, because reasons are told apart by their words.
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
