//! The flags that choose a service.

use std::env;

use clap::builder::FalseyValueParser;
use vidra_library::WorkerConfig;

use crate::client::ClientArgs;
use crate::cost::CostArgs;
use crate::database::DatabaseArgs;
use crate::failure::Failure;
use crate::values::Secret;

/// Which service a command uses.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceArgs {
    /// Send the request to a running service instead of YouTube [env: VIDRA_SERVER]
    // Not read by clap, which treats a variable like a flag: --demo has to win over it.
    #[arg(long, value_name = "URL")]
    pub(super) server: Option<String>,

    #[command(flatten)]
    pub(super) token: TokenArgs,

    /// Ignore cached answers
    #[arg(long, env = "VIDRA_REFRESH", value_parser = FalseyValueParser::new())]
    pub(super) refresh: bool,

    #[command(flatten)]
    pub(super) cost: CostArgs,

    #[command(flatten)]
    pub(super) client: ClientArgs,
}

impl ServiceArgs {
    /// # Errors
    ///
    /// If the command would use a library file of this machine, and there is none.
    pub(crate) fn require_library(&self, database: &DatabaseArgs) -> Result<(), Failure> {
        match self.server()? {
            Some(_) => Ok(()),
            None => database.require(&self.client),
        }
    }

    /// The running service that the flags and the environment select.
    pub(super) fn server(&self) -> Result<Option<String>, Failure> {
        let is_demo = self.client.demo;
        if self.server.is_some() && is_demo && env::var_os("VIDRA_DEMO").is_none() {
            return Err(Failure::usage("--server and --demo cannot be used together"));
        }
        let from_env = || env::var("VIDRA_SERVER").ok().filter(|url| !is_demo && !url.is_empty());
        Ok(self.server.clone().or_else(from_env))
    }

    /// Whether the user wants no stored answers.
    pub(crate) fn wants_refresh(&self) -> bool {
        self.refresh
    }

    /// A worker that runs jobs in the foreground.
    pub(crate) fn worker_config(&self) -> WorkerConfig {
        let usual = WorkerConfig::default();
        // A fifth of a small quota is left to other commands.
        usual.with_reserve_units(usual.reserve_units.min(self.client.quota_limit / 5))
    }
}

/// How a caller authenticates.
#[derive(Debug, clap::Args)]
pub(crate) struct TokenArgs {
    /// Caller key for the service
    ///
    /// Other users of this machine can read arguments: prefer the variable
    #[arg(long, env = "VIDRA_TOKEN", value_name = "KEY", hide_env_values = true)]
    pub(super) token: Option<Secret>,
}
