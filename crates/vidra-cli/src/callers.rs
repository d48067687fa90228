//! Access control of the service: its flags, and the tasks that reload keys and save usage.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::FalseyValueParser;
use jiff::Timestamp;
use tokio::task::spawn_blocking;
use tokio::time::MissedTickBehavior;
use vidra::{Allowances, Database};
use vidra_server::gate::{AllowedHost, KeyFile, Keys, Origin, Rate, Rules, TrustedProxy};

use crate::values::OrOff;

/// The file of the callers' spending and usage in the state folder.
pub(crate) const USAGE_FILE: &str = "callers.json";

/// How often processes exchange the usage of callers by that file.
const SAVE_EVERY: Duration = Duration::from_secs(5);

/// How often machines exchange the usage of callers by a database.
const SETTLE_EVERY: Duration = Duration::from_secs(1);

/// The file of the machine's identity in the state folder.
const MACHINE_FILE: &str = "machine-id";

/// The rate limit of each address for a public service. It stops one address from crowding out the others.
/// It does not protect the daily quota, which takes keys with budgets.
const PUBLIC_RATE: &str = "600/m";

/// Access to the service, and its rate limits.
#[derive(Debug, Args)]
pub(crate) struct CallerArgs {
    /// File of caller keys, written by vidra keys add. With it every caller needs a key. SIGHUP reloads it
    #[arg(long, env = "VIDRA_CALLER_KEYS_FILE", value_name = "FILE")]
    caller_keys_file: Option<PathBuf>,

    /// Allow listening beyond loopback without caller keys
    #[arg(long, env = "VIDRA_PUBLIC", value_parser = FalseyValueParser::new())]
    public: bool,

    /// Rate limit for each key without its own rate, or for each address if there are no keys: 100/s,
    /// 600/m, 10000/h or off [default: 600/m with --public beyond loopback and without keys; otherwise
    /// off]
    #[arg(long, env = "VIDRA_RATE_LIMIT", value_name = "RATE")]
    rate_limit: Option<OrOff<Rate>>,

    /// Address or network of a proxy whose X-Forwarded-For is trusted. Repeat the flag, or separate with
    /// commas, for several
    #[arg(long, env = "VIDRA_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',')]
    trusted_proxy: Vec<TrustedProxy>,

    /// Origin whose web pages may read responses, such as https://app.example.org. Repeat the flag, or
    /// separate with commas, for several
    #[arg(long, env = "VIDRA_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',')]
    cors_origin: Vec<Origin>,

    /// Host name that requests may use. On loopback it is needed behind a proxy; beyond loopback every
    /// name is accepted unless one is set. Repeat the flag, or separate with commas, for several
    #[arg(long, env = "VIDRA_ALLOWED_HOST", value_name = "NAME", value_delimiter = ',')]
    allowed_host: Vec<AllowedHost>,
}

impl CallerArgs {
    /// The rules for an address. Fails if everybody could use the service and `--public` is not set.
    fn rules(
        &self,
        listen: SocketAddr,
        keys: Option<Arc<Keys>>,
        open_usage: Arc<Allowances>,
    ) -> Result<Rules, String> {
        let on_loopback = listen.ip().to_canonical().is_loopback();
        let is_open = !on_loopback && keys.is_none();
        if is_open && !self.public {
            return Err(format!(
                "anyone who can reach {listen} could use up your quota: require keys with \
                 --caller-keys-file (see vidra keys add --help), or allow it with --public"
            ));
        }
        let rate = match self.rate_limit {
            Some(OrOff::At(rate)) => Some(rate),
            Some(OrOff::Off) => None,
            None => PUBLIC_RATE.parse().ok().filter(|_| is_open),
        };
        Ok(Rules {
            keys,
            rate,
            trusted_proxies: self.trusted_proxy.clone(),
            origins: self.cors_origin.clone(),
            on_loopback,
            allowed_hosts: self.allowed_host.clone(),
            open_usage,
            shared_rates: None,
        })
    }
}

/// The callers of a running service. Clones share keys and usage.
#[derive(Clone)]
pub(crate) struct Callers {
    pub(crate) rules: Rules,
    key_file: Option<PathBuf>,
    /// The database of all machines, and the identity of this one.
    shared: Option<(Database, String)>,
}

impl Callers {
    /// Reads the keys and the usage of callers.
    pub(crate) fn open(
        args: &CallerArgs,
        listen: SocketAddr,
        state_dir: Option<&Path>,
    ) -> Result<Self, String> {
        let key_file = args.caller_keys_file.clone();
        let entries = key_file.as_deref().map(read).transpose()?;
        if entries.as_ref().is_some_and(|entries| entries.keys().is_empty()) {
            tracing::warn!("the caller keys file has no keys: add one with vidra keys add");
        }
        // An unusable file is logged and reported by `/readyz`: it must not prevent the service from starting.
        let open = |folder: &Path| Allowances::open(folder.join(USAGE_FILE), Timestamp::now());
        let usage = Arc::new(state_dir.map(open).unwrap_or_default());
        let keys =
            entries.map(|entries| Arc::new(Keys::with_allowances(&entries, Arc::clone(&usage))));
        Ok(Self { rules: args.rules(listen, keys, usage)?, key_file, shared: None })
    }

    /// Shares budgets and usage with all machines that use the same database.
    pub(crate) fn share(&mut self, database: Database, state_dir: Option<&Path>) {
        self.shared = Some((database, machine_id(state_dir)));
    }

    /// Starts to save usage periodically. Without a file this assigns it to its day.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    pub(crate) fn watch(&self) {
        let callers = self.clone();
        let every = if self.shared.is_some() { SETTLE_EVERY } else { SAVE_EVERY };
        let mut interval = tokio::time::interval(every);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::spawn(async move {
            loop {
                interval.tick().await;
                callers.save().await;
            }
        });
    }

    /// Reloads the keys, if there is a file of them. An invalid file changes nothing: existing keys stay valid.
    pub(crate) fn reload(&self) -> Result<(), String> {
        if let Some((keys, file)) = self.rules.keys.as_ref().zip(self.key_file.as_ref()) {
            keys.replace(&read(file)?);
        }
        Ok(())
    }

    /// Saves usage, and shares it with the other machines.
    pub(crate) async fn save(&self) {
        let (usage, now) = (Arc::clone(self.rules.allowances()), Timestamp::now());
        match &self.shared {
            // A failure is logged with the other ones of the database, and repeated a second later.
            Some((database, machine)) => _ = usage.settle(database, machine, now).await,
            None => _ = spawn_blocking(move || usage.save(now)).await,
        }
    }
}

/// The identity of the state folder among the machines that share a database. Without a folder, it is one of this process.
fn machine_id(state_dir: Option<&Path>) -> String {
    let new = format!("{:016x}", fastrand::u64(..));
    let Some(file) = state_dir.map(|folder| folder.join(MACHINE_FILE)) else { return new };
    let stored = || {
        let text = fs::read_to_string(&file).ok()?;
        let text = text.trim();
        let is_id = text.len() == new.len() && text.bytes().all(|it| it.is_ascii_hexdigit());
        is_id.then(|| text.to_owned())
    };
    if let Some(id) = stored() {
        return id;
    }
    match store_machine_id(&file, &new) {
        Ok(()) => new.clone(),
        // Another process of this machine was faster.
        Err(error) => stored().unwrap_or_else(|| {
            tracing::warn!(file = %file.display(), %error, "machine id not stored");
            new.clone()
        }),
    }
}

/// Stores the identity completely or not at all. Fails if there is a file.
fn store_machine_id(file: &Path, id: &str) -> io::Result<()> {
    // A file without an id is left from a full disk.
    if fs::metadata(file).is_ok_and(|file| file.len() == 0) {
        fs::remove_file(file)?;
    }
    let unfinished = file.with_extension(id);
    let written = File::create_new(&unfinished).and_then(|mut file| {
        file.write_all(id.as_bytes())?;
        file.sync_all()
    });
    let stored = written.and_then(|()| fs::hard_link(&unfinished, file));
    let _ = fs::remove_file(&unfinished);
    stored
}

fn read(file: &Path) -> Result<KeyFile, String> {
    let shown = file.display();
    KeyFile::read(file)?.ok_or_else(|| {
        format!(
            "{shown} does not exist: create it with vidra keys add NAME --caller-keys-file {shown}"
        )
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        callers: CallerArgs,
    }

    #[test]
    fn access_rules_depend_on_listen_address_keys_and_flags() {
        let keys = || Some(Arc::new(Keys::new(&KeyFile::default())));
        let none = || None;
        // Listen address, keys, flags; then whether it is on loopback, and the rate limit.
        type Case<'a> =
            (&'a str, fn() -> Option<Arc<Keys>>, &'a [&'a str], Option<(bool, &'a str)>);
        let table: [Case<'_>; 13] = [
            ("127.0.0.1:3000", none, &[], Some((true, "off"))),
            ("[::1]:3000", none, &[], Some((true, "off"))),
            ("127.0.0.1:3000", none, &["--public"], Some((true, "off"))),
            ("127.0.0.1:3000", none, &["--rate-limit=5/s"], Some((true, "5/s"))),
            ("0.0.0.0:3000", none, &[], None),
            ("[::]:3000", none, &[], None),
            ("192.0.2.1:3000", none, &["--rate-limit=5/s"], None),
            ("0.0.0.0:3000", none, &["--public"], Some((false, "600/m"))),
            ("0.0.0.0:3000", none, &["--public", "--rate-limit=off"], Some((false, "off"))),
            ("0.0.0.0:3000", none, &["--public", "--rate-limit=9/h"], Some((false, "9/h"))),
            ("0.0.0.0:3000", keys, &[], Some((false, "off"))),
            ("0.0.0.0:3000", keys, &["--public"], Some((false, "off"))),
            ("0.0.0.0:3000", keys, &["--rate-limit=9/h"], Some((false, "9/h"))),
        ];
        for (listen, keys, flags, expected) in table {
            let flags = Flags::try_parse_from([&["vidra"], flags].concat()).unwrap();
            let rules = flags.callers.rules(listen.parse().unwrap(), keys(), Arc::default());
            let found = rules.as_ref().ok().map(|it| (it.on_loopback, it.rate));
            let expected = expected.map(|(loopback, rate)| (loopback, rate.parse().ok()));
            assert_eq!(found, expected, "{listen}");
            if let Err(error) = rules {
                assert!(error.contains("--caller-keys-file") && error.contains("--public"));
            }
        }
    }
}
