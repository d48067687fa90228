//! The webhooks of the service: destinations that the operator lists, and their secrets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use vidra_server::{Secret, Webhook, Webhooks, read_config_file};

use super::library::LIBRARY_SETTINGS;

/// The flags of webhooks.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = LIBRARY_SETTINGS)]
pub(crate) struct WebhookArgs {
    /// Destination of messages about jobs and collections: NAME=URL. Repeat the flag for several; the variable
    /// separates them with spaces
    #[arg(
        long,
        env = "VIDRA_WEBHOOK",
        hide_env_values = true,
        value_name = "NAME=URL",
        value_delimiter = ' ',
        requires = "webhook_secrets_file"
    )]
    pub(crate) webhook: Vec<String>,

    /// File with the secrets of webhooks: a line for each, NAME and whsec_SECRET separated by a space
    #[arg(long, env = "VIDRA_WEBHOOK_SECRETS_FILE", value_name = "FILE", requires = "webhook")]
    pub(crate) webhook_secrets_file: Option<PathBuf>,

    /// Name of a webhook that may have a private address, such as one on the same network; several with commas
    #[arg(
        long,
        env = "VIDRA_WEBHOOK_PRIVATE",
        value_name = "NAME",
        value_delimiter = ',',
        requires = "webhook"
    )]
    pub(crate) webhook_private: Vec<String>,
}

impl WebhookArgs {
    /// The destinations.
    ///
    /// # Errors
    ///
    /// If a destination, its secret or the file is not valid. The error names neither a secret nor a URL.
    pub(crate) fn open(&self) -> Result<Webhooks, String> {
        let mut secrets = match &self.webhook_secrets_file {
            Some(file) => read_secrets(file)?,
            None => BTreeMap::new(),
        };
        let mut all: Vec<Webhook> = vec![];
        let mut names = vec![];
        for entry in self.webhook.iter().filter(|entry| !entry.is_empty()) {
            let (name, url) = entry.split_once('=').ok_or("--webhook: expected NAME=URL")?;
            if names.contains(&name) {
                return Err(format!("--webhook: there are two named {name}"));
            }
            names.push(name);
            let missing = || format!("--webhook-secrets-file: has no line for {name}");
            let secret = secrets.remove(name).ok_or_else(missing)?;
            let is_private = self.webhook_private.iter().any(|it| it == name);
            let webhook = Webhook::new(name, url, secret, is_private);
            all.push(webhook.map_err(|why| format!("--webhook {name}: {why}"))?);
        }
        match self.webhook_private.iter().find(|it| !it.is_empty() && !names.contains(&it.as_str()))
        {
            Some(unknown) => Err(format!("--webhook-private: there is no --webhook {unknown}")),
            None => Ok(Webhooks::new(all)),
        }
    }
}

/// Reads the secrets of a file, by name.
fn read_secrets(file: &Path) -> Result<BTreeMap<String, Secret>, String> {
    let failed = |why: String| format!("--webhook-secrets-file {}: {why}", file.display());
    let bytes = read_config_file(file).map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| failed("is not UTF-8".to_owned()))?;
    let mut secrets = BTreeMap::new();
    let lines = (1..).zip(text.lines().map(str::trim));
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let failed = |why: &str| failed(format!("line {number}: {why}"));
        let (name, secret) =
            line.split_once(char::is_whitespace).ok_or_else(|| failed("expected NAME SECRET"))?;
        let secret = Secret::parse(secret).map_err(|why| failed(&why))?;
        if secrets.insert(name.to_owned(), secret).is_some() {
            return Err(failed("the name occurs twice"));
        }
    }
    Ok(secrets)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn open(webhooks: &[&str], private: &[&str], secrets: &str) -> Result<Webhooks, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secrets");
        std::fs::write(&file, secrets).unwrap();
        let owned = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
        let args = WebhookArgs {
            webhook: owned(webhooks),
            webhook_secrets_file: Some(file),
            webhook_private: owned(private),
        };
        args.open()
    }

    #[test]
    fn destinations_have_names_urls_and_secrets() {
        let secrets = format!("# ours\nops {SECRET}\n\nchat\t{SECRET}\n");
        open(&["ops=https://ops.example/hook?a=b", "chat=http://chat:8080/"], &["chat"], &secrets)
            .unwrap();
        let wrong: [(&[&str], &[&str], String); 7] = [
            (&["https://ops.example/"], &[], secrets.clone()),
            (&["ops=ops.example"], &[], secrets.clone()),
            (&["ops=https://a.example/", "ops=https://b.example/"], &[], secrets.clone()),
            (&["other=https://a.example/"], &[], secrets.clone()),
            (&["ops=https://a.example/"], &["chat"], secrets),
            (&["ops=https://a.example/"], &[], "ops hunter2".to_owned()),
            (&["ops=https://a.example/"], &[], "ops".to_owned()),
        ];
        for (webhooks, private, secrets) in wrong {
            let error = open(webhooks, private, &secrets).unwrap_err();
            assert!(!error.contains("hunter2") && !error.contains("a.example"), "{error}");
        }
    }
}
