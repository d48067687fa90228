//! SIGHUP: reads keys and certificates again.

use std::path::PathBuf;

use vidra::Vidra;
use vidra_server::{Reloads, Serving, Tls};

use super::ServeArgs;
use crate::callers::Callers;
use crate::client::{key_file, key_from};
use crate::systemd;

/// The files that a running service reads again. Those that cannot be read stay as they were.
pub(super) struct Reload {
    callers: Callers,
    certificate: Option<Certificate>,
    api_key: Option<PathBuf>,
    vidra: Vidra,
    reloads: Reloads,
}

struct Certificate {
    tls: Tls,
    chain: PathBuf,
    key: PathBuf,
    http2: bool,
}

impl Reload {
    pub(super) fn new(
        args: &ServeArgs,
        callers: &Callers,
        serving: &Serving,
        vidra: &Vidra,
        reloads: &Reloads,
    ) -> Self {
        let files = args.tls_cert.clone().zip(args.tls_key.clone());
        let certificate = serving.tls.clone().zip(files);
        Self {
            callers: callers.clone(),
            certificate: certificate.map(|(tls, (chain, key))| Certificate {
                tls,
                chain,
                key,
                http2: args.http2,
            }),
            api_key: key_file(&args.client),
            vidra: vidra.clone(),
            reloads: reloads.clone(),
        }
    }

    /// Whether there is any file to reload.
    pub(super) fn has_files(&self) -> bool {
        self.callers.rules.keys.is_some() || self.certificate.is_some() || self.api_key.is_some()
    }

    /// Reloads all files. It reads from disk, so it needs a thread on which it may block.
    pub(super) fn run(&self) {
        tracing::info!("reloading files");
        systemd::reloading();
        if self.callers.rules.keys.is_some() {
            self.note("caller_keys", &self.callers.reload());
        }
        if let Some(Certificate { tls, chain, key, http2 }) = &self.certificate {
            self.note("certificate", &tls.renew(chain, key, *http2));
        }
        if let Some(file) = &self.api_key {
            let replace = |key| {
                self.vidra.replace_key(key);
            };
            self.note("api_key", &key_from(file).map(replace));
        }
        systemd::ready();
    }

    /// Counts and logs the reload of a file.
    fn note(&self, file: &'static str, outcome: &Result<(), String>) {
        self.reloads.note(file, outcome.is_ok());
        match outcome {
            Ok(()) => tracing::info!(file, "file reloaded"),
            Err(error) => tracing::error!(file, error, "reload failed; the old file stays in use"),
        }
    }
}
